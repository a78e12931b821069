//! `cargo xtask differential`: the same random calls of built-ins on OTP and on Myriad, results and exceptions compared to the last
//! detail.

pub mod compare;
mod runs;

use crate::files::{self, top};
use crate::heaps::{self, Heap};
use crate::json::{self, Json};
use crate::otp::{self, Otp};
use crate::stop::{Done, Stop, verdict};
use crate::words::Words;
use compare::{Calls, Difference};
use runs::{Made, Runs};

/// The words that the command takes.
pub const TAKES: &str = "[--seed N] [--calls N] [--module MODULE] [--flags WORDS] [--heap HOW] [--shown N] [--width N] [--timeout S] [--json FILE]
  [--show NUMBER]
  --seed N          what is drawn; a new one without it
  --calls N         how many calls (300000)
  --module MODULE   only calls of this module. diff_patterns makes regular expressions and matches with them, diff_formats formats
                    with arguments, diff_printing terms to be printed in lines, diff_etf external terms with faults
  --show NUMBER     this call of the seed alone, with its outcome on both VMs
  --flags WORDS     further flags for both VMs, such as '+pc unicode'
  --heap HOW        Myriad's processes have their memory so: private, hybrid, shared
  --shown N         show so many of the calls that differ (12); --width N: so much of a line (500)
  --timeout S       the seconds that a VM may take (1800)
  --json FILE       the result for other programs
";

/// The functions that are counted where calls differ.
const FUNCTIONS_SHOWN: usize = 30;

/// Makes the calls, and says which differ.
pub fn main(words: &[String]) -> Done {
    let valued = [
        "--seed",
        "--calls",
        "--module",
        "--flags",
        "--shown",
        "--width",
        "--timeout",
        "--show",
        "--json",
        heaps::OPTION,
    ];
    let words = Words::parse(words, &[], &valued)?.nothing_else()?;
    let shown = Shown {
        calls: words.number("--shown")?.unwrap_or(12),
        width: words.number("--width")?.unwrap_or(500),
        each: words.value("--module").is_some(),
    };
    let one: Option<u64> = words.number("--show")?;
    let otp = Otp::find()?;
    let work = top().join("target/differential");
    let runs = Runs {
        seed: words.seed()?,
        calls: words.number("--calls")?.unwrap_or(300_000),
        module: words.value("--module").unwrap_or_default().to_owned(),
        flags: words.value("--flags").unwrap_or_default().split_whitespace().map(str::to_owned).collect(),
        heap: Heap::asked_for(&words)?,
        timeout: words.number("--timeout")?.unwrap_or(1800),
        oracle: otp.erl(),
        here: otp::here(),
        work,
    };
    otp::compile(&otp, &runs.ebin(), &[], &files::ending(&top().join("tests/differential"), ".erl"))?;
    match one {
        Some(number) => show_one(&runs, number, shown.width, &words),
        None => compare_all(&runs, &shown, &words),
    }
}

/// How much is shown of what differs.
struct Shown {
    calls: usize,
    width: usize,
    /// All calls of a function, not one of each.
    each: bool,
}

fn show_one(runs: &Runs, number: u64, width: usize, words: &Words) -> Done {
    let (otp, here) = runs.show(number)?;
    print!("{}", compare::cut(&otp, width));
    let same = otp == here;
    println!("{}", if same { "(Myriad the same)" } else { "-- Myriad:" });
    print!("{}", if same { String::new() } else { compare::cut(&here, width) });
    json::result(words, "differential", same, || vec![("seed", runs.seed.into()), ("number", number.into())])?;
    Ok(verdict(same))
}

fn compare_all(runs: &Runs, shown: &Shown, words: &Words) -> Done {
    let (otp, here) = runs.both()?;
    if otp.status != 0 {
        return Err(Stop::Failed(format!("OTP itself failed (seed {})\n{}", runs.seed, otp.log)));
    }
    let compared = Calls::compare(&otp.outcomes, &here.outcomes);
    let good = compared.same && here.status == 0;
    json::result(words, "differential", good, || found(runs, &compared, &here))?;
    let (seed, calls) = (runs.seed, runs.calls);
    if good {
        let ended =
            if compared.died == 0 { String::new() } else { format!("; {} have no outcome on OTP", compared.died) };
        println!("differential: {calls} calls agree (seed {seed}){ended}");
    } else {
        tell_all(runs, shown, &compared, &here)?;
    }
    Ok(verdict(good))
}

/// The result for other programs.
fn found(runs: &Runs, compared: &Calls, here: &Made) -> Vec<(&'static str, Json)> {
    let differ = compared.differ.iter().map(|difference| {
        let function = difference.function.as_str();
        Json::Object(vec![("number", difference.number.into()), ("function", function.into())])
    });
    vec![
        ("seed", runs.seed.into()),
        ("calls", runs.calls.into()),
        ("status", Json::Number(here.status.into())),
        ("reached", compare::last_number(&here.outcomes).into()),
        ("without_outcome_on_otp", compared.died.into()),
        ("differ", Json::List(differ.collect())),
    ]
}

/// Says which calls differ, and shows some.
fn tell_all(runs: &Runs, shown: &Shown, compared: &Calls, here: &Made) -> Result<(), Stop> {
    let (seed, calls) = (runs.seed, runs.calls);
    if here.status != 0 {
        let lines: Vec<&str> = here.log.lines().collect();
        lines[lines.len().saturating_sub(3)..].iter().for_each(|line| println!("{line}"));
        println!(
            "differential: the VM ended with status {} after call {} (seed {seed})",
            here.status,
            compare::last_number(&here.outcomes)
        );
    }
    println!("differential: {} of {calls} calls differ (seed {seed})", compared.differ.len());
    compare::by_function(&compared.differ)
        .iter()
        .take(FUNCTIONS_SHOWN)
        .for_each(|(function, count)| println!("{count:>7} {function}"));
    for difference in compare::to_show(&compared.differ, shown.each).into_iter().take(shown.calls) {
        tell(runs, difference, shown.width)?;
    }
    Ok(())
}

/// Shows a call that differs, and how.
fn tell(runs: &Runs, difference: &Difference, width: usize) -> Result<(), Stop> {
    let number = difference.number;
    println!("-- call {number} of seed {}: the call, OTP (<), Myriad (>)", runs.seed);
    let (otp, here) = runs.show(number)?;
    let (call, outcome) = otp.split_once('\n').unwrap_or((&otp, ""));
    let (other_call, other_outcome) = here.split_once('\n').unwrap_or((&here, ""));
    println!("{}", call.chars().take(400).collect::<String>());
    print!("{}", compare::cut(&compare::lines_that_differ(outcome, other_outcome), width));
    if call != other_call {
        println!("   (the arguments differ as well)");
    }
    println!("   again with: cargo xtask differential {}--seed {} --show {number}", runs.options(), runs.seed);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_names_the_calls_that_differ() {
        let [seed, calls] = [7, 3];
        let nowhere = std::path::PathBuf::new();
        let (module, flags, oracle) = (String::new(), vec![], nowhere.clone());
        let runs =
            Runs { seed, calls, module, flags, heap: None, timeout: 1, oracle, here: nowhere.clone(), work: nowhere };
        let outcomes = "1 a m:f/1\n2 b m:g/1\n";
        let here = Made { status: 139, outcomes: outcomes.to_owned(), log: String::new(), starts: vec![1] };
        let compared = Calls::compare("1 a m:f/1\n2 c m:g/1\n3 d m:h/1\n", outcomes);
        let expected = "{\n  \"seed\": 7,\n  \"calls\": 3,\n  \"status\": 139,\n  \"reached\": 2,\n  \
                        \"without_outcome_on_otp\": 0,\n  \"differ\": [\n    {\"number\": 2, \"function\": \"m:g/1\"}\n  ]\n}\n";
        assert_eq!(Json::Object(found(&runs, &compared, &here)).to_text(), expected);
    }
}
