//! How many processors' time the VM really has, watched while it runs.

use super::quota::Quotas;
use super::steal::{Ticks, Times};
use super::{Files, Machine};
use crate::atomic::{AtomicU64, Ordering};
use crate::{LockClass, Mutex};

/// The watch looks so often (nanoseconds). A look reads a few files, of which `/proc/stat` takes the kernel up to a millisecond on
/// machines of hundreds of processors: less than a hundredth of one processor. CFS refills quotas as often.
pub const LOOK_NS: u64 = 100_000_000;
/// So many looks after each other find the same processors usable: masks and processors change seldom, and to read of them costs as much as
/// all else.
const LOOKS_PER_MASK: u32 = 10;
/// Time over which stolen time is averaged (nanoseconds): the kernel counts it in ticks of 10 ms, of which a look sees ten.
const SMOOTH_NS: u64 = 8 * LOOK_NS;
/// Thousandths in a processor.
const THOUSAND: u64 = 1000;

/// How much processors' time there is for this process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capacity {
    /// Processors that it may use; at least 1.
    pub usable: usize,
    /// Thousandths of a processor that the control groups leave it.
    pub quota_millis: Option<u64>,
    /// Thousandths of a processor that the host takes from the usable ones.
    pub stolen_millis: u64,
}

impl Capacity {
    /// What the machine leaves this process now, when nothing is stolen.
    pub(super) fn of_the_system() -> Capacity {
        if cfg!(any(loom, miri)) {
            return Machine::read().capacity();
        }
        let files = Files::of_the_system();
        let quota = Quotas::find(&files).least(&files);
        Capacity {
            usable: Machine::usable_of(&files).len(),
            quota_millis: quota.map(|quota| quota.millis),
            stolen_millis: 0,
        }
    }

    /// Thousandths of a processor. What is stolen goes from the processors, not from the quota: of eight processors with a quota of
    /// two, one may be stolen without loss.
    pub fn millis(&self) -> u64 {
        let left = (self.usable as u64 * THOUSAND).saturating_sub(self.stolen_millis);
        left.min(self.quota_millis.unwrap_or(u64::MAX))
    }

    /// How many threads can make use of it: at least 1, at most [`Capacity::usable`].
    pub fn rounded_up(&self) -> usize {
        usize::try_from(self.millis().div_ceil(THOUSAND)).unwrap_or(usize::MAX).clamp(1, self.usable.max(1))
    }
}

static CLASS: LockClass = LockClass::new("capacity", 895);

/// Follows the capacity. Who is busy asks it often; one of them reads the files when that is due.
#[derive(Debug)]
pub struct Watch {
    due_ns: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    files: Files,
    quotas: Quotas,
    /// As last read, and in how many looks they are read again.
    usable: Vec<u32>,
    looks_left: u32,
    /// At the last look.
    ticks: Option<Ticks>,
    last_ns: u64,
    /// Averaged, in millionths of a processor's time.
    stolen_millionths: u64,
}

impl Watch {
    /// Of what these files tell. Nothing is read yet.
    pub fn new(files: Files) -> Watch {
        let quotas = Quotas::find(&files);
        let state =
            State { files, quotas, usable: Vec::new(), looks_left: 0, ticks: None, last_ns: 0, stolen_millionths: 0 };
        Watch { due_ns: AtomicU64::new(0), state: Mutex::new(&CLASS, state) }
    }

    /// The capacity now, if it is time to look and nobody else does.
    #[inline]
    pub fn look(&self, now_ns: u64) -> Option<Capacity> {
        // Relaxed: a hint; the lock lets one look at a time.
        if now_ns < self.due_ns.load(Ordering::Relaxed) { None } else { self.look_now(now_ns) }
    }

    #[cold]
    #[inline(never)]
    fn look_now(&self, now_ns: u64) -> Option<Capacity> {
        let mut state = self.state.try_lock()?;
        // Relaxed: as above. Another may have looked since this one asked.
        if now_ns < self.due_ns.load(Ordering::Relaxed) {
            return None;
        }
        self.due_ns.store(now_ns + LOOK_NS, Ordering::Relaxed);
        Some(state.look(now_ns))
    }
}

impl State {
    fn look(&mut self, now_ns: u64) -> Capacity {
        if self.looks_left == 0 {
            self.looks_left = LOOKS_PER_MASK;
            let usable = Machine::usable_of(&self.files);
            if usable != self.usable {
                // Times of other processors are not to be compared.
                (self.usable, self.ticks) = (usable, None);
            }
        }
        self.looks_left -= 1;
        let ticks = Times::read(&self.files).of(&self.usable);
        if let Some(before) = self.ticks.replace(ticks) {
            // After a rest what was measured before it counts less.
            let weight = now_ns.saturating_sub(self.last_ns).min(SMOOTH_NS);
            let stolen = u128::from(ticks.since(before).stolen_millis()) * 1000 * u128::from(weight);
            let kept = u128::from(self.stolen_millionths) * u128::from(SMOOTH_NS - weight);
            self.stolen_millionths = ((stolen + kept) / u128::from(SMOOTH_NS)) as u64;
        }
        self.last_ns = now_ns;
        Capacity {
            usable: self.usable.len(),
            quota_millis: self.quotas.least(&self.files).map(|quota| quota.millis),
            stolen_millis: self.stolen_millionths * self.usable.len() as u64 / 1000,
        }
    }
}

#[cfg(all(test, not(any(loom, miri))))]
mod tests {
    use super::{Capacity, LOOK_NS, LOOKS_PER_MASK, Watch};
    use crate::machine::trees::{self, Tree};

    fn capacity(usable: usize, quota_millis: Option<u64>, stolen_millis: u64) -> (u64, usize) {
        let capacity = Capacity { usable, quota_millis, stolen_millis };
        (capacity.millis(), capacity.rounded_up())
    }

    #[test]
    fn what_is_left() {
        assert_eq!(capacity(8, None, 0), (8000, 8));
        assert_eq!(capacity(8, Some(2500), 0), (2500, 3));
        assert_eq!(capacity(8, Some(2500), 1000), (2500, 3));
        assert_eq!(capacity(8, None, 1001), (6999, 7));
        assert_eq!(capacity(8, Some(0), 0), (0, 1));
        assert_eq!(capacity(2, Some(u64::MAX), 5000), (0, 1));
        assert_eq!(capacity(2, Some(64_000), 0), (2000, 2));
    }

    fn stat(ticks: u64, stolen: u64) -> String {
        let of_one = |name: &str| format!("{name} {} 0 0 0 0 0 0 {stolen} 0 0\n", ticks - stolen);
        format!(
            "cpu  {} 0 0 0 0 0 0 0 0 0\n{}{}{}{}",
            ticks * 4,
            of_one("cpu0"),
            of_one("cpu1"),
            of_one("cpu2"),
            of_one("cpu3")
        )
    }

    #[test]
    fn stolen_time_and_quotas_are_followed() {
        let tree = Tree::new(trees::VIRTUAL);
        let watch = Watch::new(tree.files());
        let mut now = 1_000_000;
        let first = watch.look(now).unwrap();
        assert_eq!((first.usable, first.quota_millis, first.stolen_millis), (4, None, 0));
        assert_eq!(watch.look(now + LOOK_NS - 1), None);
        // From each processor a quarter of the time is stolen: one processor in all.
        let mut last = first;
        for i in 1..=60 {
            now += LOOK_NS;
            tree.write("/proc/stat", &stat(200_000 + i * 12, 50_000 + i * 3));
            last = watch.look(now).unwrap();
            if i == 3 {
                // The first look after the recorded tree's figures weighs an eighth.
                assert!(last.stolen_millis < 900, "{last:?}");
            }
        }
        assert!((990..=1000).contains(&last.stolen_millis), "{last:?}");
        assert_eq!(last.rounded_up(), 4);
        // Half of it, after a long rest.
        now += 100 * LOOK_NS;
        tree.write("/proc/stat", &stat(200_720 + 1000, 50_180 + 500));
        assert_eq!(watch.look(now).unwrap().millis(), 2000);
        // Then a group gets a quota, and loses it.
        now += LOOK_NS;
        tree.write("/sys/fs/cgroup/vm.slice/cpu.max", "130000 100000\n");
        assert_eq!(watch.look(now).unwrap().rounded_up(), 2);
        now += LOOK_NS;
        tree.write("/sys/fs/cgroup/vm.slice/cpu.max", "max 100000\n");
        tree.write("/proc/self/status", "Cpus_allowed_list:\t2\n");
        let looks = (0..LOOKS_PER_MASK).map(|_| {
            now += LOOK_NS;
            watch.look(now).unwrap()
        });
        let seen: Vec<Capacity> = looks.collect();
        assert!(seen.iter().any(|capacity| capacity.usable == 4));
        assert_eq!(seen.last().map(|capacity| capacity.usable), Some(1));
        // Files that have gone are no limit.
        tree.write("/proc/stat", "");
        tree.write("/sys/fs/cgroup/vm.slice/cpu.max", "");
        assert_eq!(watch.look(now + LOOK_NS).unwrap().quota_millis, None);
    }

    #[test]
    fn one_looks_at_a_time() {
        let watch = Watch::new(Tree::new(trees::VIRTUAL).files());
        let held = watch.state.lock();
        assert_eq!(watch.look(LOOK_NS), None);
        drop(held);
        assert!(watch.look(LOOK_NS).is_some());
        assert_eq!(watch.look(LOOK_NS), None);
    }
}
