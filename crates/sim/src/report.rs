//! What a simulated run came to: figures on a line between processes, and tables for people and programs.

use crate::cores::Outcome;
pub use crate::cores::Spent;
use crate::locks::Waits;
use myriad_heap::meter::{self, Counts};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// So many lock classes and places in the source are named to people, those that cost most.
const NAMED: usize = 8;

/// The figures of a run, over all its cores. Times are nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Figures {
    /// Cores.
    pub cores: u64,
    /// Virtual time from the first step to the program's end.
    pub ns: u64,
    /// Where the cores' time went.
    pub spent: Spent,
    /// Of all that happened.
    pub digest: u64,
    /// What work was done.
    pub done: Counts,
    /// Waits for locks by class.
    pub waits: BTreeMap<String, Waits>,
    /// What lines cost by the place in the source that accessed them: time, and how often one was fetched.
    pub places: BTreeMap<String, (u64, u64)>,
    /// How long each processor was busy.
    pub used: Vec<u64>,
}

impl Figures {
    /// Those of a run that has ended.
    pub fn of(outcome: &Outcome) -> Figures {
        let mut all = Spent::default();
        for core in &outcome.cores {
            for (sum, part) in all.parts_mut().into_iter().zip(core.parts()) {
                *sum += part;
            }
        }
        Figures {
            cores: outcome.cores.len() as u64,
            ns: outcome.ns,
            spent: all,
            digest: outcome.digest,
            done: outcome.done,
            waits: outcome.waits.iter().map(|(class, waits)| ((*class).to_owned(), *waits)).collect(),
            places: outcome.places.iter().map(|((file, line), cost)| (format!("{file}:{line}"), *cost)).collect(),
            used: outcome.used.clone(),
        }
    }

    /// As a text that [`Figures::from_text`] reads: a line of numbers, one for each lock class, one for each place, one for each processor.
    pub fn to_text(&self) -> String {
        let mut text = format!("{} {} {}", self.cores, self.ns, self.digest);
        for part in self.spent.parts() {
            let _ = write!(text, " {part}");
        }
        for units in self.done {
            let _ = write!(text, " {units}");
        }
        for (class, Waits { taken, waited, ns }) in &self.waits {
            let _ = write!(text, "\nlock {taken} {waited} {ns} {class}");
        }
        for (place, (ns, times)) in &self.places {
            let _ = write!(text, "\nplace {ns} {times} {place}");
        }
        for ns in &self.used {
            let _ = write!(text, "\nused {ns}");
        }
        text
    }

    /// From such a text; `None`: it is none.
    pub fn from_text(text: &str) -> Option<Figures> {
        let mut lines = text.split('\n');
        let mut figures = Figures::from_line(lines.next()?)?;
        for line in lines {
            match line.split_once(' ')? {
                ("lock", rest) => {
                    let ([taken, waited, ns], class) = numbers(rest)?;
                    figures.waits.insert(class.to_owned(), Waits { taken, waited, ns });
                }
                ("place", rest) => {
                    let ([ns, times], place) = numbers(rest)?;
                    figures.places.insert(place.to_owned(), (ns, times));
                }
                ("used", ns) => figures.used.push(ns.parse().ok()?),
                _ => return None,
            }
        }
        Some(figures)
    }

    fn from_line(line: &str) -> Option<Figures> {
        let mut numbers = line.split(' ').map(str::parse);
        let mut next = || numbers.next()?.ok();
        let (cores, ns, digest) = (next()?, next()?, next()?);
        let mut spent = Spent::default();
        for part in spent.parts_mut() {
            *part = next()?;
        }
        let mut done: Counts = meter::NOTHING;
        for units in &mut done {
            *units = next()?;
        }
        let (waits, places, used) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        numbers.next().is_none().then_some(Figures { cores, ns, digest, done, spent, waits, places, used })
    }
}

/// So many numbers, and the text behind them.
fn numbers<const N: usize>(mut rest: &str) -> Option<([u64; N], &str)> {
    let mut numbers = [0; N];
    for number in &mut numbers {
        let (first, behind) = rest.split_once(' ')?;
        (*number, rest) = (first.parse().ok()?, behind);
    }
    Some((numbers, rest))
}

impl Spent {
    /// The names of the parts, in their order.
    pub const NAMES: [&str; 14] = [
        "running",
        "messages",
        "collecting",
        "sharing",
        "memory",
        "lines",
        "locks",
        "looking",
        "waking",
        "idle beside work",
        "searching",
        "idle",
        "reductions",
        "wakes",
    ];
    /// So many of them are times.
    pub const TIMES: usize = 12;

    /// The parts.
    pub fn parts(mut self) -> [u64; 14] {
        self.parts_mut().map(|part| *part)
    }

    fn parts_mut(&mut self) -> [&mut u64; 14] {
        [
            &mut self.running,
            &mut self.messages,
            &mut self.collecting,
            &mut self.sharing,
            &mut self.memory,
            &mut self.lines,
            &mut self.locks,
            &mut self.looking,
            &mut self.waking,
            &mut self.idle_beside_work,
            &mut self.searching,
            &mut self.idle,
            &mut self.reductions,
            &mut self.wakes,
        ]
    }
}

/// A run, and the same one with pieces of half the size.
pub struct Row {
    /// The run.
    pub figures: Figures,
    /// Its virtual time with half the piece.
    pub halved_ns: u64,
}

impl Row {
    /// By what part of itself the time changes when pieces are halved.
    fn piece_error(&self) -> f64 {
        self.halved_ns.abs_diff(self.figures.ns) as f64 / self.figures.ns.max(1) as f64
    }
}

/// A sweep.
pub struct Sweep {
    /// The machine's name.
    pub machine: String,
    /// How true what the machine's file says of work is, in a line.
    pub truth: String,
    /// The runs, by rising numbers of cores.
    pub rows: Vec<Row>,
    /// What the sequential VM takes on one core, where a run on one core is part of the sweep.
    pub sequential_ns: Option<u64>,
}

impl Sweep {
    /// How many times as fast a run is as the sequential VM.
    pub fn absolute(&self, row: &Row) -> Option<f64> {
        self.sequential_ns.map(|ns| ns as f64 / row.figures.ns.max(1) as f64)
    }
}

/// The tables for people: how true they are, the runs, and what cost most in the last of them where cores met.
pub fn table(sweep: &Sweep) -> String {
    let Sweep { machine, truth, rows, .. } = sweep;
    let against = "Speed-up against the first line, and absolute against the sequential VM; shares of all cores' time.";
    let mut text = format!("Machine: {machine} (simulated). {against}\n{truth}\n\n");
    let names = Spent::NAMES[..Spent::TIMES].join(" | ");
    let _ = writeln!(text, "| cores | time | speed-up | absolute | {names} | half a piece |");
    let _ = writeln!(text, "|{}", " ---: |".repeat(Spent::TIMES + 5));
    let first = rows.first().map_or(0, |row| row.figures.ns);
    for row in rows {
        let Figures { cores, ns, spent, .. } = row.figures;
        let absolute = sweep.absolute(row).map_or("-".to_owned(), |gained| format!("{gained:.2}"));
        let gained = first as f64 / ns.max(1) as f64;
        let _ = write!(text, "| {cores} | {:.3} ms | {gained:.2} | {absolute} |", ns as f64 / 1e6);
        for part in &spent.parts()[..Spent::TIMES] {
            let _ = write!(text, " {} |", share(*part, &row.figures));
        }
        let _ = writeln!(text, " {:.1} % |", row.piece_error() * 100.0);
    }
    if let Some(last) = rows.last() {
        text += &meetings(&last.figures);
    }
    text
}

/// For people: the processors that a run used, each with its share of the time.
pub fn processors(figures: &Figures) -> String {
    let used = figures.used.iter().enumerate().filter(|(_, ns)| **ns > 0);
    let shares: Vec<String> =
        used.map(|(number, ns)| format!("{number} ({:.0} %)", *ns as f64 * 100.0 / figures.ns.max(1) as f64)).collect();
    format!("\nProcessors used, {} cores: {}\n", figures.cores, shares.join(", "))
}

/// A part of all cores' time.
fn share(part: u64, figures: &Figures) -> String {
    format!("{:.1} %", part as f64 * 100.0 / (figures.ns.max(1) * figures.cores) as f64)
}

/// Where cores met: the locks that were waited for, and the places that fetched lines from other cores.
fn meetings(figures: &Figures) -> String {
    let mut text = String::new();
    let mut locks: Vec<(&String, &Waits)> = figures.waits.iter().filter(|(_, waits)| waits.ns > 0).collect();
    locks.sort_by_key(|(_, waits)| std::cmp::Reverse(waits.ns));
    if !locks.is_empty() {
        let _ = writeln!(text, "\n| lock class, {} cores | waiting | taken | waited |", figures.cores);
        text += "| --- | ---: | ---: | ---: |\n";
        for (class, Waits { taken, waited, ns }) in locks.into_iter().take(NAMED) {
            let _ = writeln!(text, "| {class} | {} | {taken} | {waited} |", share(*ns, figures));
        }
    }
    let mut places: Vec<(&String, &(u64, u64))> = figures.places.iter().collect();
    places.sort_by_key(|(_, (ns, _))| std::cmp::Reverse(*ns));
    if !places.is_empty() {
        let _ = writeln!(text, "\n| line fetched by, {} cores | time | times |", figures.cores);
        text += "| --- | ---: | ---: |\n";
        for (place, (ns, times)) in places.into_iter().take(NAMED) {
            let _ = writeln!(text, "| {place} | {} | {times} |", share(*ns, figures));
        }
    }
    text
}

/// The same for programs: times in nanoseconds, and a column for each lock class that was waited for.
pub fn csv(Sweep { rows, sequential_ns, .. }: &Sweep) -> String {
    let sequential = sequential_ns.map_or_else(String::new, |ns| ns.to_string());
    let waited =
        |row: &Row| row.figures.waits.iter().filter(|(_, w)| w.ns > 0).map(|(class, _)| class.clone()).collect();
    let classes: BTreeSet<String> = rows.iter().flat_map::<Vec<String>, _>(waited).collect();
    let names = Spent::NAMES.map(|name| name.replace(' ', "_")).join(",");
    let mut text = format!("cores,ns,halved_piece_ns,sequential_ns,digest,{names}");
    for class in &classes {
        let _ = write!(text, ",lock {class}");
    }
    for Row { figures, halved_ns } in rows {
        let parts = figures.spent.parts().map(|part| part.to_string()).join(",");
        let _ =
            write!(text, "\n{},{},{halved_ns},{sequential},{:016x},{parts}", figures.cores, figures.ns, figures.digest);
        for class in &classes {
            let _ = write!(text, ",{}", figures.waits.get(class).map_or(0, |waits| waits.ns));
        }
    }
    text + "\n"
}

#[cfg(test)]
pub mod tests {
    use super::{Figures, Row, Spent, Sweep, Waits, csv, table};
    use std::collections::BTreeMap;

    fn figures() -> Figures {
        let spent = Spent {
            running: 500,
            messages: 100,
            collecting: 90,
            sharing: 10,
            memory: 20,
            lines: 40,
            locks: 40,
            looking: 50,
            waking: 50,
            idle_beside_work: 0,
            searching: 20,
            idle: 80,
            reductions: 9,
            wakes: 2,
        };
        let waits = BTreeMap::from([
            ("run queue".to_owned(), Waits { taken: 8, waited: 3, ns: 40 }),
            ("free".to_owned(), Waits { taken: 5, waited: 0, ns: 0 }),
        ]);
        let places = BTreeMap::from([("a file.rs:7".to_owned(), (60, 4))]);
        Figures {
            cores: 2,
            ns: 500,
            spent,
            digest: 77,
            done: std::array::from_fn(|work| work as u64),
            waits,
            places,
            used: vec![400, 100],
        }
    }

    /// A row with some of everything.
    pub fn row() -> Row {
        Row { figures: figures(), halved_ns: 510 }
    }

    /// A sweep of such rows, with a sequential run.
    pub fn sweep(machine: &str, rows: Vec<Row>) -> Sweep {
        Sweep { machine: machine.to_owned(), truth: "True.".to_owned(), rows, sequential_ns: Some(250) }
    }

    #[test]
    fn figures_survive_their_text() {
        let text = figures().to_text();
        assert_eq!(Figures::from_text(&text), Some(figures()));
        for cut in ["", "1 2", &text[2..], &text[..text.len() - "7 a file.rs:7".len()]] {
            assert_eq!(Figures::from_text(cut), None, "{cut}");
        }
    }

    #[test]
    fn processors_that_were_not_used_are_not_named() {
        let mut figures = figures();
        figures.used = vec![400, 0, 250];
        assert_eq!(super::processors(&figures), "\nProcessors used, 2 cores: 0 (80 %), 2 (50 %)\n");
    }

    #[test]
    fn shares_are_of_all_cores_time() {
        let table = table(&sweep("a machine", vec![row()]));
        let lines: Vec<&str> = table.lines().collect();
        let times = "50.0 % | 10.0 % | 9.0 % | 1.0 % | 2.0 % | 4.0 % | 4.0 % | 5.0 % | 5.0 % | 0.0 % | 2.0 % | 8.0 %";
        assert_eq!(lines[5], format!("| 2 | 0.001 ms | 1.00 | 0.50 | {times} | 2.0 % |"));
        assert_eq!(
            lines[7..10],
            [
                "| lock class, 2 cores | waiting | taken | waited |",
                "| --- | ---: | ---: | ---: |",
                "| run queue | 4.0 % | 8 | 3 |"
            ]
        );
        assert_eq!(lines[13], "| a file.rs:7 | 6.0 % | 4 |");
        assert_eq!(lines[1], "True.");
        assert_eq!(lines.len(), 14);
        assert_eq!(lines[3].matches('|').count(), lines[4].matches('|').count());
    }

    #[test]
    fn each_figure_has_a_column() {
        let text = csv(&sweep("a machine", vec![row()]));
        let columns: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert_eq!(columns, [20, 20]);
        assert!(
            text.ends_with("2,500,510,250,000000000000004d,500,100,90,10,20,40,40,50,50,0,20,80,9,2,40\n"),
            "{text}"
        );
    }
}
