//! How many bytes ports have read and written: statistics, counted by each scheduler in a line of its own.
//!
//! They were two numbers for all, which each event of each scheduler wrote: on 60 simulated cores they moved from core to core for every request (docs/scaling.md).

use myriad_sync::CachePadded;
use myriad_sync::atomic::{AtomicUsize, Ordering};

/// Bytes read and written. Relaxed everywhere: statistics.
#[derive(Default)]
struct Counts {
    input: AtomicUsize,
    output: AtomicUsize,
}

/// See the module.
pub(super) struct Traffic(Box<[CachePadded<Counts>]>);

impl Traffic {
    /// Of so many schedulers; all other threads count together.
    pub(super) fn new(schedulers: usize) -> Traffic {
        Traffic((0..=schedulers).map(|_| CachePadded::new(Counts::default())).collect())
    }

    fn own(&self) -> &Counts {
        let others = self.0.len() - 1;
        &self.0[myriad_sched::current().unwrap_or(others).min(others)]
    }

    /// A port has read so many bytes.
    pub(super) fn read(&self, bytes: usize) {
        self.own().input.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A port was given so many bytes to write.
    pub(super) fn wrote(&self, bytes: usize) {
        self.own().output.fetch_add(bytes, Ordering::Relaxed);
    }

    /// All bytes read, and all written.
    pub(super) fn sums(&self) -> (usize, usize) {
        let add = |(input, output): (usize, usize), counts: &CachePadded<Counts>| {
            let (read, written) = (counts.input.load(Ordering::Relaxed), counts.output.load(Ordering::Relaxed));
            (input.wrapping_add(read), output.wrapping_add(written))
        };
        self.0.iter().fold((0, 0), add)
    }
}

#[cfg(test)]
mod tests {
    use super::Traffic;

    #[test]
    fn what_threads_count_is_one_sum() {
        let traffic = Traffic::new(2);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| (0..100).for_each(|_| (traffic.read(2), traffic.wrote(3)).0));
            }
        });
        assert_eq!(traffic.sums(), (600, 900));
    }
}
