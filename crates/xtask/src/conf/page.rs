//! The result as a page, `docs/conformance.md`.

use super::report::{Report, Row};
use crate::otp::Otp;

/// The page's text.
pub fn page(report: &Report, otp: &Otp) -> String {
    let Otp { release, erts, .. } = otp;
    let mut page = format!(
        "# OTP's own test suites\n\nWritten by `make conformance`. Cases that OTP {release} (ERTS {erts}) passes in our runner; those that\n\
         need a distributed node are counted apart, as there is none yet. The ratio is of the others: run, and passed.\n\n\
         | suite | OTP passes | need a node | run | Myriad passes | ratio |\n\
         | --- | ---: | ---: | ---: | ---: | ---: |\n"
    );
    for each in report.rows() {
        page += &row(&each.suite, each, "-");
    }
    page += &row("**all**", &report.total(), "0.0 %");
    page += "\n## What fails, and why\n\n";
    let lost: String = report.lost().map(|(suite, case, why)| format!("| {suite} | `{case}` | {why} |\n")).collect();
    if lost.is_empty() {
        page += "Nothing.\n";
    } else {
        page += &format!("| suite | case | reason |\n| --- | --- | --- |\n{lost}");
    }
    page
}

/// A row of the table; `none` stands for the ratio where nothing was run.
fn row(name: &str, row: &Row, none: &str) -> String {
    let ratio = match row.run() {
        0 => none.to_owned(),
        run => format!("{:.1} %", 100.0 * row.passed as f64 / run as f64),
    };
    format!("| {name} | {} | {} | {} | {} | {ratio} |\n", row.otp, row.nodes, row.run(), row.passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_a_row_for_each_suite_and_failure() {
        let otp = Otp { root: "".into(), release: "25".to_owned(), erts: "13".to_owned() };
        let page = page(&super::super::report::tests::sample(), &otp);
        for line in [
            "Written by `make conformance`. Cases that OTP 25 (ERTS 13) passes in our runner; those that",
            "| a/x | 6 | 0 | 5 | 3 | 60.0 % |",
            "| **all** | 8 | 1 | 6 | 4 | 66.7 % |",
            "| a/x | `bad` | not looked into |",
        ] {
            assert!(page.lines().any(|other| other == line), "{line}\n{page}");
        }
        assert_eq!(row("none", &Row::default(), "-"), "| none | 0 | 0 | 0 | 0 | - |\n");
    }
}
