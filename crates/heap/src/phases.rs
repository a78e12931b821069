//! Where the time of sends and collections goes (`+JMphases true`): the parts of Johansson, Sagonas and Wilhelmsson 2002, figures 7 to 12.
//!
//! Off, a part is a look at one word that nobody writes, and all else stands apart from the code that runs then. On, its beginning and its end
//! each read a clock; what that takes by itself is measured when it is switched on and taken off again.
//!
//! PH1. Times are own times: what a part takes inside another one counts for the inner one alone.

use myriad_sync::atomic::{AtomicBool, Ordering};
use myriad_sync::{OnceLock, ShardedCounter};
use std::cell::Cell;
use std::time::Instant;

/// A part of the work of sending and collecting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// A send to a process: the receiver is found, the message made and queued.
    Send,
    /// A pass over a term that counts its words.
    Size,
    /// A copy of a term for another process, and a message that moves to its receiver's heap.
    Copy,
    /// A minor collection.
    Minor,
    /// A collection of both generations.
    Major,
}

impl Phase {
    /// All parts.
    pub const ALL: [Phase; 5] = [Phase::Send, Phase::Size, Phase::Copy, Phase::Minor, Phase::Major];
}

/// Of each part, in the order of [`Phase::ALL`]: how often there was one, and the nanoseconds of it alone (PH1).
pub type Figures = [(u64, u64); Phase::ALL.len()];

static ON: AtomicBool = AtomicBool::new(false);
static TIMES: [ShardedCounter; Phase::ALL.len()] = [const { ShardedCounter::new() }; Phase::ALL.len()];
static COUNTS: [ShardedCounter; Phase::ALL.len()] = [const { ShardedCounter::new() }; Phase::ALL.len()];
/// Since when it is on: for what a tick is.
static ORIGIN: OnceLock<Origin> = OnceLock::new();

struct Origin {
    time: Instant,
    ticks: u64,
    /// Ticks that pass between two looks at the clock.
    look: u64,
}

thread_local! {
    /// The ticks of all parts that this thread has ended, for those around them.
    static ENDED: Cell<u64> = const { Cell::new(0) };
}

/// Parts are measured from now on.
pub fn switch_on() {
    ORIGIN.get_or_init(|| {
        let look = (0..100).map(|_| ticks()).map(|before| ticks().saturating_sub(before)).min().unwrap_or(0);
        Origin { time: Instant::now(), ticks: ticks(), look }
    });
    // Relaxed: a part may be missed; `ORIGIN` orders itself.
    ON.store(true, Ordering::Relaxed);
}

/// Are parts measured? Where work is short and frequent, the measured form of it stands apart, so that the other one stays inlined.
#[inline(always)]
pub fn is_on() -> bool {
    // Relaxed: see `switch_on`.
    ON.load(Ordering::Relaxed)
}

/// Does a part of the work, and measures it if parts are measured.
#[inline(always)]
pub fn measured<T>(phase: Phase, work: impl FnOnce() -> T) -> T {
    if is_on() { timed(phase, work) } else { work() }
}

#[cold]
#[inline(never)]
fn timed<T>(phase: Phase, work: impl FnOnce() -> T) -> T {
    let (ended, start) = (ENDED.get(), ticks());
    let result = work();
    let look = ORIGIN.get().map_or(0, |origin| origin.look);
    let whole = ticks().saturating_sub(start).saturating_sub(look);
    let inside = ENDED.get().wrapping_sub(ended);
    ENDED.set(ended.wrapping_add(whole));
    TIMES[phase as usize].add(whole.saturating_sub(inside) as i64);
    COUNTS[phase as usize].add(1);
    result
}

/// What has been measured since it was switched on; nothing while it is off.
pub fn figures() -> Option<Figures> {
    let origin = ORIGIN.get()?;
    let per_tick = origin.time.elapsed().as_nanos() as f64 / ticks().saturating_sub(origin.ticks).max(1) as f64;
    let ns = |ticks: u64| (ticks as f64 * per_tick) as u64;
    let sum = |counter: &ShardedCounter| u64::try_from(counter.sum()).unwrap_or(0);
    Some(std::array::from_fn(|phase| (sum(&COUNTS[phase]), ns(sum(&TIMES[phase])))))
}

/// A clock that takes little to read.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn ticks() -> u64 {
    // SAFETY: each processor of this architecture has the instruction; it reads a counter and nothing else.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Nanoseconds.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn ticks() -> u64 {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    BEGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The one test that switches it on: other tests' collections may be counted, too.
    #[test]
    #[cfg_attr(miri, ignore = "it measures time, which passes otherwise there")]
    fn parts_are_counted_apart_from_those_inside_them() {
        assert_eq!((figures(), measured(Phase::Send, || 5)), (None, 5));
        switch_on();
        let before = figures().unwrap();
        let slept = || std::thread::sleep(std::time::Duration::from_millis(20));
        measured(Phase::Send, || measured(Phase::Copy, slept));
        let after = figures().unwrap();
        let grew = |phase: Phase| {
            let [(count, ns), (count_before, ns_before)] = [&after, &before].map(|figures| figures[phase as usize]);
            (count - count_before, ns.saturating_sub(ns_before))
        };
        assert!(grew(Phase::Copy).1 >= 15_000_000 && grew(Phase::Send).1 < 10_000_000);
        assert_eq!(grew(Phase::Send).0, 1);
    }
}
