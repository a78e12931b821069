//! Time that the host took from this machine's virtual processors, as `/proc/stat` tells.

use super::files::Files;
use std::path::Path;

/// Time of one processor since the machine started, in the kernel's ticks.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Ticks {
    /// All of it, idle or not.
    pub all: u64,
    /// While the processor was wanted here and the host ran something else on the real one.
    pub stolen: u64,
}

impl Ticks {
    /// What has come since `before`. A count that fell, as some kernels' do, has not risen.
    pub fn since(self, before: Ticks) -> Ticks {
        Ticks { all: self.all.saturating_sub(before.all), stolen: self.stolen.saturating_sub(before.stolen) }
    }

    /// Thousandths of the time that were stolen.
    pub fn stolen_millis(self) -> u64 {
        if self.all == 0 { 0 } else { (u128::from(self.stolen.min(self.all)) * 1000 / u128::from(self.all)) as u64 }
    }
}

/// The times of the processors.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Times {
    /// Of all processors together.
    pub total: Ticks,
    /// By number.
    pub of_each: Vec<(u32, Ticks)>,
}

impl Times {
    /// As they are now; nothing where the kernel does not tell.
    pub fn read(files: &Files) -> Times {
        let mut times = Times::default();
        for line in files.text(Path::new("/proc/stat")).unwrap_or_default().lines() {
            // The processors come first.
            let Some((name, figures)) = line.strip_prefix("cpu").and_then(|line| line.split_once(' ')) else { break };
            match (name, name.parse()) {
                ("", _) => times.total = ticks(figures),
                (_, Ok(number)) => times.of_each.push((number, ticks(figures))),
                _ => {}
            }
        }
        times
    }

    /// The time of these processors together.
    pub fn of(&self, numbers: &[u32]) -> Ticks {
        let wanted = self.of_each.iter().filter(|(number, _)| numbers.binary_search(number).is_ok());
        wanted.fold(Ticks::default(), |sum, (_, ticks)| Ticks {
            all: sum.all.saturating_add(ticks.all),
            stolen: sum.stolen.saturating_add(ticks.stolen),
        })
    }
}

/// user, nice, system, idle, iowait, irq, softirq, steal; guests' time, which follows, is within user's.
fn ticks(figures: &str) -> Ticks {
    const STEAL: usize = 7;
    let figures: Vec<u64> = figures.split_whitespace().take(STEAL + 1).map_while(|word| word.parse().ok()).collect();
    let all = figures.iter().fold(0, |sum: u64, figure| sum.saturating_add(*figure));
    Ticks { all, stolen: figures.get(STEAL).copied().unwrap_or(0) }
}

#[cfg(all(test, not(any(loom, miri))))]
mod tests {
    use super::{Ticks, Times};
    use crate::machine::trees::Tree;

    fn times(stat: &str) -> Times {
        Times::read(&Tree::new(&[("/proc/stat", stat)]).files())
    }

    #[test]
    fn steal_of_each_and_of_all() {
        let times = times(
            "cpu  10 0 10 60 0 0 0 20 5 0\ncpu0 5 0 5 30 0 0 0 10 0 0\ncpu3 5 0 5 30 0 0 0 10 5 0\nintr 9\ncpu9 1\n",
        );
        assert_eq!(times.total, Ticks { all: 100, stolen: 20 });
        assert_eq!(times.of_each, [(0, Ticks { all: 50, stolen: 10 }), (3, Ticks { all: 50, stolen: 10 })]);
        assert_eq!(times.of(&[0]).stolen_millis(), 200);
        assert_eq!(times.of(&[0, 3]), Ticks { all: 100, stolen: 20 });
        assert_eq!(times.of(&[7]).stolen_millis(), 0);
        assert_eq!(times.total.since(Ticks { all: 90, stolen: 25 }), Ticks { all: 10, stolen: 0 });
    }

    #[test]
    fn text_that_tells_nothing() {
        for text in ["", "intr 5", "cpu", "cpux 1 2 3", "cpu0"] {
            assert_eq!(times(text), Times::default(), "{text}");
        }
        assert_eq!(times("cpu0 a b c\n").of(&[0]), Ticks::default());
        // An old kernel tells no steal.
        assert_eq!(times("cpu0 1 2 3 4\n").of(&[0]), Ticks { all: 10, stolen: 0 });
        let most = u64::MAX;
        assert_eq!(times(&format!("cpu0 {most} {most} 0 0 0 0 0 {most}\n")).of(&[0]).stolen_millis(), 1000);
    }
}
