//! What has been compiled, in numbers.

use crate::compile::Why;
use crate::reason::{REASONS, place};
use myriad_native::code::{Code, Figures};
use myriad_sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counts that several threads add to, without order: all accesses are Relaxed, for nothing else is read by what they say.
#[derive(Default)]
struct Count(AtomicU64);

impl Count {
    fn add(&self, number: u64) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counts since the start of the VM.
#[derive(Default)]
pub(crate) struct Counters {
    compiled: Count,
    plain: Count,
    reasons: [Count; REASONS.len()],
    nanoseconds: Count,
    queued: AtomicU64,
    exits: Count,
    points: Count,
    flag_branches: Count,
    flag_registers: Count,
    cache_hits: Count,
    cache_misses: Count,
}

/// What [`Counters`] say at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Functions that were compiled.
    pub compiled: u64,
    /// Those of them for which the optimising way was declined.
    pub plain: u64,
    /// Functions that stay in tier 0, by [`REASONS`].
    pub reasons: [u64; REASONS.len()],
    /// Time that was spent compiling, that of functions that stay in tier 0 too.
    pub time: Duration,
    /// Functions that wait to be compiled.
    pub queued: u64,
    /// Sums of the figures of compiled functions, as in [`Figures`].
    pub exits: u64,
    /// The same.
    pub points: u64,
    /// The same.
    pub flag_branches: u64,
    /// The same.
    pub flag_registers: u64,
    /// Functions whose code was found in a cache.
    pub cache_hits: u64,
    /// Those that were looked for there in vain.
    pub cache_misses: u64,
}

impl Counters {
    /// A function was compiled, or not, in so much time.
    pub(crate) fn done(&self, result: Result<&Code, &Why>, time: Duration) {
        self.nanoseconds.add(time.as_nanos() as u64);
        match result {
            Ok(code) => {
                let Figures { exits, points, flag_branches, flag_registers, .. } = code.figures;
                self.compiled.add(1);
                self.plain.add(code.declined.is_some().into());
                self.exits.add(exits.into());
                self.points.add(points.into());
                self.flag_branches.add(flag_branches.into());
                self.flag_registers.add(flag_registers.into());
            }
            Err(why) => {
                if let Some(place) = place(why) {
                    self.reasons[place].add(1);
                }
            }
        }
    }

    /// So many functions wait now. Who calls holds the queue's lock.
    pub(crate) fn wait(&self, functions: usize) {
        // Relaxed: see `Count`.
        self.queued.store(functions as u64, Ordering::Relaxed);
    }

    /// A function's code was looked for in a cache, and found or not.
    pub(crate) fn looked_up(&self, hit: bool) {
        if hit { &self.cache_hits } else { &self.cache_misses }.add(1);
    }

    /// What they say now.
    pub(crate) fn counted(&self) -> Counted {
        Counted {
            compiled: self.compiled.get(),
            plain: self.plain.get(),
            reasons: std::array::from_fn(|place| self.reasons[place].get()),
            time: Duration::from_nanos(self.nanoseconds.get()),
            // Relaxed: see `Count`.
            queued: self.queued.load(Ordering::Relaxed),
            exits: self.exits.get(),
            points: self.points.get(),
            flag_branches: self.flag_branches.get(),
            flag_registers: self.flag_registers.get(),
            cache_hits: self.cache_hits.get(),
            cache_misses: self.cache_misses.get(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::translate::Declined;
    use myriad_native::code::Refused;

    #[test]
    fn what_is_done_is_counted() {
        let counters = Counters::default();
        let figures = Figures { exits: 3, points: 2, flag_branches: 5, flag_registers: 1, ..Figures::default() };
        let declined = Some(Refused::Unexpected("prologue".into()));
        let code = |declined| Code {
            bytes: Vec::new(),
            align: 16,
            relocations: Vec::new(),
            entry: 0,
            points: Vec::new(),
            sources: Vec::new(),
            declined,
            figures,
        };
        let millisecond = Duration::from_millis(1);
        counters.done(Ok(&code(None)), millisecond);
        counters.done(Ok(&code(declined)), millisecond);
        counters.done(Err(&Why::Declined(Declined::Loops)), millisecond);
        counters.done(Err(&Why::Late), millisecond);
        counters.wait(7);
        counters.looked_up(true);
        counters.looked_up(false);
        counters.looked_up(false);
        let mut reasons = [0; REASONS.len()];
        reasons[3] = 1;
        let expected = Counted {
            compiled: 2,
            plain: 1,
            reasons,
            time: 4 * millisecond,
            queued: 7,
            exits: 6,
            points: 4,
            flag_branches: 10,
            flag_registers: 2,
            cache_hits: 1,
            cache_misses: 2,
        };
        assert_eq!(counters.counted(), expected);
    }
}
