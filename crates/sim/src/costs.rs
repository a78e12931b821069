//! What work takes on a machine: so much for a unit of each kind ([`Work`]), and for a reduction.
//!
//! A machine either says what a reduction takes, whatever it does, or what each kind of work takes, as a calibration measures it. Sums are kept
//! in picoseconds, and what is less than a nanosecond for the next piece: pieces are short.

use myriad_heap::meter::{Counts, Work};

/// Picoseconds of a nanosecond.
const PS: u64 = 1000;

/// What the time of work is told as.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Worked {
    /// Running Erlang code and built-ins.
    pub running: u64,
    /// Messages and their words.
    pub messages: u64,
    /// Collections.
    pub collecting: u64,
}

/// What work takes: picoseconds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Costs {
    reduction: u64,
    units: [u64; Work::ALL.len()],
}

impl Costs {
    /// From nanoseconds by key, of a reduction and of the units of each kind.
    ///
    /// # Errors
    /// The first one of `of`; or one line, as no time would pass.
    pub fn new(mut of: impl FnMut(&str) -> Result<f64, String>) -> Result<Costs, String> {
        let ps = |ns: f64| (ns * PS as f64).round() as u64;
        let reduction = ps(of("reduction_ns")?);
        let mut units = [0; Work::ALL.len()];
        for work in Work::ALL {
            units[work as usize] = ps(of(work.key())?);
        }
        if reduction + units[Work::Call as usize] == 0 {
            return Err("either `reduction_ns` or `call_ns` is to be more than 0, or time stands still".to_owned());
        }
        Ok(Costs { reduction, units })
    }

    /// Nanoseconds of a unit of a kind.
    pub fn ns(&self, work: Work) -> f64 {
        self.units[work as usize] as f64 / PS as f64
    }

    /// What so much work and so many reductions take, in nanoseconds; `rest` is what is left of one from before, and then from now.
    pub fn of(&self, done: &Counts, reductions: u32, rest: &mut Worked) -> Worked {
        rest.running += u64::from(reductions) * self.reduction;
        for work in Work::ALL {
            let place = match work {
                Work::Message | Work::CopiedWord => &mut rest.messages,
                Work::Allocated | Work::Collection | Work::CollectedWord => &mut rest.collecting,
                _ => &mut rest.running,
            };
            *place += done[work as usize] * self.units[work as usize];
        }
        let whole = |ps: &mut u64| std::mem::replace(ps, *ps % PS) / PS;
        Worked {
            running: whole(&mut rest.running),
            messages: whole(&mut rest.messages),
            collecting: whole(&mut rest.collecting),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Costs, Worked};
    use myriad_heap::meter::Work;

    fn costs(values: &[(&str, f64)]) -> Result<Costs, String> {
        Costs::new(|key| Ok(values.iter().find(|(known, _)| *known == key).map_or(0.0, |(_, ns)| *ns)))
    }

    #[test]
    fn parts_of_a_nanosecond_are_kept() {
        let costs = costs(&[("reduction_ns", 0.7), ("message_ns", 2.5), ("collected_word_ns", 0.4)]).unwrap();
        let mut done = [0; Work::ALL.len()];
        done[Work::Message as usize] = 1;
        done[Work::CollectedWord as usize] = 2;
        let mut rest = Worked::default();
        let first = costs.of(&done, 1, &mut rest);
        assert_eq!(first, Worked { running: 0, messages: 2, collecting: 0 });
        let second = costs.of(&done, 1, &mut rest);
        assert_eq!(second, Worked { running: 1, messages: 3, collecting: 1 });
    }

    #[test]
    fn time_passes() {
        assert!(costs(&[("message_ns", 1.0)]).is_err());
        assert!(costs(&[("call_ns", 1.0)]).is_ok());
    }
}
