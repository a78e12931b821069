//! What a simulated run came to: figures on a line between processes, and tables for people and programs.

use crate::cores::{Outcome, Spent};
use std::fmt::Write;

/// The figures of a run, over all its cores. Times are nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Figures {
    /// Cores.
    pub cores: u64,
    /// Virtual time from the first step to the program's end.
    pub ns: u64,
    /// Where the cores' time went.
    pub spent: Spent,
    /// Of all that happened.
    pub digest: u64,
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
        Figures { cores: outcome.cores.len() as u64, ns: outcome.ns, spent: all, digest: outcome.digest }
    }

    /// As a line that [`Figures::from_line`] reads.
    pub fn to_line(self) -> String {
        let mut line = format!("{} {} {}", self.cores, self.ns, self.digest);
        for part in self.spent.parts() {
            let _ = write!(line, " {part}");
        }
        line
    }

    /// From such a line; `None`: it is none.
    pub fn from_line(line: &str) -> Option<Figures> {
        let mut numbers = line.split(' ').map(str::parse);
        let mut next = || numbers.next()?.ok();
        let (cores, ns, digest) = (next()?, next()?, next()?);
        let mut spent = Spent::default();
        for part in spent.parts_mut() {
            *part = next()?;
        }
        numbers.next().is_none().then_some(Figures { cores, ns, digest, spent })
    }
}

impl Spent {
    /// The names of the parts, in their order.
    pub const NAMES: [&str; 9] =
        ["running", "messages", "collecting", "looking", "waking", "idle beside work", "idle", "reductions", "wakes"];
    /// So many of them are times.
    pub const TIMES: usize = 7;

    /// The parts.
    pub fn parts(mut self) -> [u64; 9] {
        self.parts_mut().map(|part| *part)
    }

    fn parts_mut(&mut self) -> [&mut u64; 9] {
        [
            &mut self.running,
            &mut self.messages,
            &mut self.collecting,
            &mut self.looking,
            &mut self.waking,
            &mut self.idle_beside_work,
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

/// A table for people.
pub fn table(machine: &str, rows: &[Row]) -> String {
    let mut text =
        format!("Machine: {machine} (simulated). Speed-up against the first line; shares of all cores' time.\n\n");
    text += "| cores | time | speed-up | running | messages | collecting | looking | waking | idle beside work | idle | half a piece |\n";
    text += "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
    let first = rows.first().map_or(0, |row| row.figures.ns);
    for row in rows {
        let Figures { cores, ns, spent, .. } = row.figures;
        let _ = write!(text, "| {cores} | {:.3} ms | {:.2} |", ns as f64 / 1e6, first as f64 / ns.max(1) as f64);
        for part in &spent.parts()[..Spent::TIMES] {
            let _ = write!(text, " {:.1} % |", *part as f64 * 100.0 / (ns.max(1) * cores) as f64);
        }
        let _ = writeln!(text, " {:.1} % |", row.piece_error() * 100.0);
    }
    text
}

/// The same for programs: times in nanoseconds.
pub fn csv(rows: &[Row]) -> String {
    let names = Spent::NAMES.map(|name| name.replace(' ', "_")).join(",");
    let mut text = format!("cores,ns,halved_piece_ns,digest,{names}\n");
    for Row { figures, halved_ns } in rows {
        let parts = figures.spent.parts().map(|part| part.to_string()).join(",");
        let _ = writeln!(text, "{},{},{halved_ns},{:016x},{parts}", figures.cores, figures.ns, figures.digest);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Figures, Row, Spent, csv, table};

    fn figures() -> Figures {
        let spent = Spent {
            running: 600,
            messages: 100,
            collecting: 100,
            looking: 50,
            waking: 50,
            idle: 100,
            reductions: 9,
            wakes: 2,
            idle_beside_work: 0,
        };
        Figures { cores: 2, ns: 500, spent, digest: 77 }
    }

    #[test]
    fn figures_survive_their_line() {
        let line = figures().to_line();
        assert_eq!(Figures::from_line(&line), Some(figures()));
        assert_eq!(Figures::from_line(&line[1..line.len() - 2]), None);
        assert_eq!(Figures::from_line("1 2"), None);
    }

    #[test]
    fn shares_are_of_all_cores_time() {
        let row = Row { figures: figures(), halved_ns: 510 };
        let table = table("a machine", &[row]);
        assert!(
            table.ends_with(
                "| 2 | 0.001 ms | 1.00 | 60.0 % | 10.0 % | 10.0 % | 5.0 % | 5.0 % | 0.0 % | 10.0 % | 2.0 % |\n"
            ),
            "{table}"
        );
    }

    #[test]
    fn each_figure_has_a_column() {
        let text = csv(&[Row { figures: figures(), halved_ns: 510 }]);
        let columns: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert_eq!(columns, [13, 13]);
        assert!(text.ends_with("2,500,510,000000000000004d,600,100,100,50,50,0,100,9,2\n"), "{text}");
    }
}
