//! The tables of results: printed, written to a page as they come, and to a file of JSON in the end.

use super::measure::{Pair, Spread};
use crate::files;
use crate::json::Json;
use crate::stop::Stop;
use std::path::{Path, PathBuf};

/// Which of two figures is the better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// The smaller one: times and sizes.
    Less,
    /// The larger one: rates.
    More,
}

/// A figure of a table.
struct Row {
    table: String,
    name: String,
    unit: &'static str,
    pair: Pair,
    ratio: Option<f64>,
}

/// All tables.
pub struct Tables {
    page: PathBuf,
    text: String,
    table: String,
    rows: Vec<Row>,
    wrong: bool,
}

impl Tables {
    /// No table yet; the page gets each line as it comes.
    pub fn new(page: &Path) -> Tables {
        Tables { page: page.to_owned(), text: String::new(), table: String::new(), rows: vec![], wrong: false }
    }

    /// A line.
    pub fn say(&mut self, line: &str) -> Result<(), Stop> {
        println!("{line}");
        self.text += line;
        self.text.push('\n');
        files::write(&self.page, &self.text)
    }

    /// Begins a table of `erl` and Myriad.
    pub fn begin(&mut self, title: &str) -> Result<(), Stop> {
        self.begin_for(title, ["erl", "Myriad"])
    }

    /// Begins a table of two VMs: the one in `erl`'s place, and the one that is measured.
    pub fn begin_for(&mut self, title: &str, vms: [&str; 2]) -> Result<(), Stop> {
        title.clone_into(&mut self.table);
        self.say("")?;
        self.say(&format!("| {title} | {} | {} | ratio |", vms[0], vms[1]))?;
        self.say("| --- | ---: | ---: | ---: |")
    }

    /// A row of the table.
    pub fn row(&mut self, name: &str, unit: &'static str, better: Better, pair: Pair) -> Result<(), Stop> {
        let table = self.table.clone();
        let ratio = self.keep(&table, name, unit, better, pair);
        let figure = |value: Option<f64>| value.map_or_else(|| "failed".to_owned(), |value| value.to_string());
        let shown = ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
        self.say(&format!("| {name} | {} {unit} | {} {unit} | {shown} |", figure(pair.erl), figure(pair.vm)))
    }

    /// Keeps a pair for the file of JSON without a row of its own; its ratio.
    pub fn keep(&mut self, table: &str, name: &str, unit: &'static str, better: Better, pair: Pair) -> Option<f64> {
        let ratio = pair.ratio(better);
        self.rows.push(Row { table: table.to_owned(), name: name.to_owned(), unit, pair, ratio });
        ratio
    }

    /// Says that a program does not do what it should.
    pub fn wrong(&mut self, what: &str) -> Result<(), Stop> {
        self.wrong = true;
        self.say(&format!("WRONG: {what}"))
    }

    /// Did all programs do what they should, as far as that is looked at?
    pub fn good(&self) -> bool {
        !self.wrong
    }

    /// The geometric mean of a table's ratios, and of how many it is.
    pub fn mean_of(&self, table: &str) -> String {
        let ratios: Vec<f64> = self.rows.iter().filter(|row| row.table == table).filter_map(|row| row.ratio).collect();
        geometric_mean(&ratios).map_or_else(|| "-".to_owned(), |mean| format!("{mean:.2} (of {})", ratios.len()))
    }

    /// Begins a table whose rows are figures of one VM's own, each with what Myriad's is to be.
    pub fn begin_figures(&mut self, title: &str) -> Result<(), Stop> {
        title.clone_into(&mut self.table);
        self.say("")?;
        self.say(&format!("| {title} | erl | Myriad | aim |"))?;
        self.say("| --- | ---: | ---: | ---: |")
    }

    /// A row of it: medians, in brackets the least and the most of the runs. `-` stands where there is nothing to measure, on `erl` only.
    pub fn figure(
        &mut self,
        name: &str,
        unit: &'static str,
        [erl, vm]: [Option<Spread>; 2],
        aim: &str,
    ) -> Result<(), Stop> {
        let median = |of: Option<Spread>| of.map(|spread| spread.median);
        let shown = |of: Option<Spread>, none: &str| of.map_or_else(|| none.to_owned(), |spread| spread.shown(unit));
        self.say(&format!("| {name} | {} | {} | {aim} |", shown(erl, "-"), shown(vm, "failed")))?;
        let pair = Pair { erl: median(erl), vm: median(vm) };
        self.rows.push(Row { table: self.table.clone(), name: name.to_owned(), unit, pair, ratio: None });
        Ok(())
    }

    /// The last row of a table: the geometric mean of its ratios.
    pub fn mean(&mut self) -> Result<(), Stop> {
        let mean = self.mean_of(&self.table);
        self.say(&format!("| geometric mean | | | {mean} |"))
    }

    /// All figures for other programs.
    pub fn found(&self) -> Vec<(&'static str, Json)> {
        vec![("figures", Json::List(self.rows.iter().map(Row::to_json).collect()))]
    }
}

impl Pair {
    /// How much better Myriad is.
    fn ratio(self, better: Better) -> Option<f64> {
        let (erl, vm) = (self.erl.filter(|value| *value > 0.0)?, self.vm.filter(|value| *value > 0.0)?);
        Some(match better {
            Better::Less => erl / vm,
            Better::More => vm / erl,
        })
    }
}

impl Spread {
    /// The median, and the least and the most in brackets.
    pub fn shown(self, unit: &str) -> String {
        let decimals = self.decimals();
        let [least, most] = [self.least, self.most].map(|value| format!("{value:.decimals$}"));
        format!("{} ({least} to {most})", self.middle(unit))
    }

    /// The median alone.
    pub fn middle(self, unit: &str) -> String {
        let (median, decimals) = (self.median, self.decimals());
        let space = if unit.is_empty() { "" } else { " " };
        format!("{median:.decimals$}{space}{unit}")
    }

    /// As many as such figures are good for.
    fn decimals(self) -> usize {
        match self.median.abs() {
            100.0.. => 0,
            10.0.. => 1,
            _ => 2,
        }
    }
}

impl Row {
    fn to_json(&self) -> Json {
        let number = |value: Option<f64>| value.map_or(Json::Null, Json::Number);
        Json::Object(vec![
            ("table", self.table.as_str().into()),
            ("name", self.name.as_str().into()),
            ("unit", self.unit.into()),
            ("erl", number(self.pair.erl)),
            ("myriad", number(self.pair.vm)),
            ("ratio", number(self.ratio)),
        ])
    }
}

/// The geometric mean of some ratios; nothing of none.
pub fn geometric_mean(ratios: &[f64]) -> Option<f64> {
    let logarithms: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    (!ratios.is_empty()).then(|| (logarithms / ratios.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_above_one_are_ours() {
        let pair = Pair { erl: Some(2.0), vm: Some(4.0) };
        assert_eq!((pair.ratio(Better::Less), pair.ratio(Better::More)), (Some(0.5), Some(2.0)));
        assert_eq!(Pair { erl: None, ..pair }.ratio(Better::Less), None);
    }

    #[test]
    fn tables_are_markdown() {
        let folder = std::env::temp_dir().join(format!("xtask-table-{}", std::process::id()));
        files::make_folder(&folder).unwrap();
        let mut tables = Tables::new(&folder.join("page"));
        tables.begin("Time").unwrap();
        tables.row("a", "ms", Better::Less, Pair { erl: Some(4.5), vm: Some(2.25) }).unwrap();
        tables.row("b", "ms", Better::Less, Pair { erl: Some(1.0), vm: Some(2.0) }).unwrap();
        tables.row("c", "ms", Better::Less, Pair { erl: Some(1.0), vm: None }).unwrap();
        tables.mean().unwrap();
        tables.begin_figures("Own").unwrap();
        let spread = Some(Spread { median: 0.965, least: 0.9, most: 1.0 });
        let large = Some(Spread { median: 1234.5, least: 900.25, most: 2000.0 });
        tables.figure("c", "us", [None, large], "100 us").unwrap();
        tables.figure("d", "", [spread, None], "0.95").unwrap();
        let expected = "\n| Time | erl | Myriad | ratio |\n| --- | ---: | ---: | ---: |\n| a | 4.5 ms | 2.25 ms | 2.00 |\n\
                        | b | 1 ms | 2 ms | 0.50 |\n| c | 1 ms | failed ms | - |\n| geometric mean | | | 1.00 (of 2) |\n\
                        \n| Own | erl | Myriad | aim |\n| --- | ---: | ---: | ---: |\n| c | - | 1234 us (900 to 2000) | 100 us |\n\
                        | d | 0.96 (0.90 to 1.00) | failed | 0.95 |\n";
        assert_eq!(files::read(&folder.join("page")).unwrap(), expected);
        assert_eq!(tables.keep("Kept", "e", "ms", Better::Less, Pair { erl: Some(3.0), vm: Some(1.0) }), Some(3.0));
        assert_eq!((tables.mean_of("Kept").as_str(), tables.mean_of("None").as_str()), ("3.00 (of 1)", "-"));
        assert!(tables.good());
        tables.wrong("f").unwrap();
        assert!(!tables.good());
        assert!(Json::Object(tables.found()).to_text().contains(r#""erl": 4.5, "myriad": 2.25, "ratio": 2}"#));
        files::remove_folder(&folder);
    }
}
