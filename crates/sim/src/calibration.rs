//! What is known of how true a machine's file is: where and when its costs were measured, and by how much simulated runs of the four programs of
//! Zhang 2011 differed from real ones then. Each report tells it.

use std::collections::BTreeMap;
use std::fmt::Write;

/// The programs that a calibration is judged by, none of them a kernel that it rests on.
pub const PROGRAMS: [&str; 4] = ["mandelbrot", "bigbang", "hackbench", "random"];
/// An error of more than this is no result of a calibration (ten times the real time).
pub const MOST_ERROR: f64 = 9.0;

/// A table `[calibration]` of a machine's file.
#[derive(Clone, PartialEq, Debug)]
pub struct Calibration {
    /// The processor, as the system names it.
    pub processor: String,
    /// The day: year, month and day.
    pub date: String,
    /// By program, in the order of [`PROGRAMS`]: the relative error on 1 core and on 2.
    pub errors: [[f64; 2]; PROGRAMS.len()],
}

impl Calibration {
    /// From the texts and the errors of a file, by key.
    ///
    /// # Errors
    /// One line: something is missing, or is none of it, or too much.
    pub fn new(
        mut texts: BTreeMap<String, String>,
        mut errors: BTreeMap<String, Vec<f64>>,
    ) -> Result<Calibration, String> {
        let mut text = |key: &str| {
            let found = texts.remove(key).filter(|text| !text.is_empty() && !text.contains('\n'));
            found.ok_or_else(|| format!("`calibration.{key}` is to be a line of text"))
        };
        let (processor, date) = (text("processor")?, text("date")?);
        let mut all = [[0.0; 2]; PROGRAMS.len()];
        for (program, place) in PROGRAMS.iter().zip(&mut all) {
            let pair = errors.remove(*program).and_then(|pair| <[f64; 2]>::try_from(pair).ok());
            let pair = pair.filter(|pair| pair.iter().all(|error| (-1.0..=MOST_ERROR).contains(error)));
            let why = || format!("`calibration.{program}` is to be two errors from -1 to {MOST_ERROR}");
            *place = pair.ok_or_else(why)?;
        }
        match texts.keys().chain(errors.keys()).next() {
            Some(key) => Err(format!("`calibration.{key}` is unknown")),
            None => Ok(Calibration { processor, date, errors: all }),
        }
    }

    /// The table, as the file of a machine has it.
    pub fn to_toml(&self) -> String {
        let mut text = String::from(
            "# Simulated time against real time on 1 core and on 2, as a part of the real time.\n[calibration]\n",
        );
        let _ = writeln!(text, "processor = \"{}\"\ndate = \"{}\"", self.processor, self.date);
        for (program, [one, two]) in PROGRAMS.iter().zip(self.errors) {
            let _ = writeln!(text, "{program} = [{one:.3}, {two:.3}]");
        }
        text
    }
}

/// The line of a report.
pub fn line(calibration: Option<&Calibration>) -> String {
    let Some(Calibration { processor, date, errors }) = calibration else {
        return "Not calibrated: nothing of this machine was measured.".to_owned();
    };
    let mut text =
        format!("Costs of work calibrated on {processor}, {date}; simulated against real there, 1 and 2 cores:");
    for (program, [one, two]) in PROGRAMS.iter().zip(errors) {
        let _ = write!(text, " {program} {:+.0} % {:+.0} %,", one * 100.0, two * 100.0);
    }
    text.truncate(text.len() - 1);
    text + "."
}

#[cfg(test)]
mod tests {
    use super::{Calibration, line};

    #[test]
    fn a_report_tells_of_each_program() {
        let errors = [[0.01, -0.02], [0.1, 0.2], [0.0, 0.0], [-0.5, 1.0]];
        let calibration = Calibration { processor: "A 1".to_owned(), date: "2026-11-25".to_owned(), errors };
        let told = line(Some(&calibration));
        assert!(told.starts_with("Costs of work calibrated on A 1, 2026-11-25;"), "{told}");
        assert!(
            told.ends_with("mandelbrot +1 % -2 %, bigbang +10 % +20 %, hackbench +0 % +0 %, random -50 % +100 %."),
            "{told}"
        );
        assert!(line(None).starts_with("Not calibrated"));
    }
}
