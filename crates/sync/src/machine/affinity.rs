//! On which processors a thread may run.
//!
//! The process's own mask is what a thread has that was never bound. Threads and programs that a bound thread starts would be bound as
//! it is; [`while_unbound`] starts them otherwise.

use std::io;
use std::sync::OnceLock;

/// The mask of the first thread that was bound, before it was; empty until then.
static OWN_MASK: OnceLock<Mask> = OnceLock::new();

/// A thread, as the operating system numbers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Thread(i32);

/// A set of processors, 64 to a word.
#[derive(PartialEq, Eq, Debug)]
struct Mask(Vec<u64>);

impl Mask {
    fn of(processor: u32) -> Mask {
        let mut words = vec![0; processor as usize / 64 + 1];
        words[processor as usize / 64] = 1 << (processor % 64);
        Mask(words)
    }
}

impl Thread {
    /// The one that calls. `None`: the system cannot bind threads.
    pub fn current() -> Option<Thread> {
        system::current().map(Thread)
    }

    /// From now on the thread runs on this processor only.
    pub fn bind(self, processor: u32) -> io::Result<()> {
        if OWN_MASK.get().is_none() {
            let mask = system::mask(self.0)?;
            let _ = OWN_MASK.set(mask);
        }
        system::set_mask(self.0, &Mask::of(processor))
    }

    /// From now on it runs wherever the process may.
    pub fn unbind(self) -> io::Result<()> {
        OWN_MASK.get().map_or(Ok(()), |mask| system::set_mask(self.0, mask))
    }
}

impl Thread {
    /// How long processors have worked for the thread, nanoseconds. `None`: it has ended, or the system does not tell.
    pub fn worked_ns(self) -> Option<u64> {
        system::worked_ns(self.0)
    }
}

/// A thread may not run on one processor of those that it may else run on.
#[derive(Debug)]
#[must_use = "it stays off that processor until it is let back"]
pub struct KeptOff {
    thread: Thread,
    before: Mask,
    now: Mask,
}

impl Thread {
    /// Keeps the thread off a processor. `None`: it may not run there anyway, or nowhere else, or the system refuses.
    pub fn keep_off(self, processor: u32) -> Option<KeptOff> {
        let (before, off) = (system::mask(self.0).ok()?, Mask::of(processor));
        let without = |(at, word): (usize, &u64)| word & !off.0.get(at).copied().unwrap_or(0);
        let now = Mask(before.0.iter().enumerate().map(without).collect());
        if now == before || now.0.iter().all(|word| *word == 0) {
            return None;
        }
        system::set_mask(self.0, &now).ok()?;
        Some(KeptOff { thread: self, before, now })
    }
}

impl KeptOff {
    /// The thread may run there again, unless it has been bound otherwise meanwhile.
    pub fn let_back(self) {
        if system::mask(self.thread.0).is_ok_and(|mask| mask == self.now) {
            // If that is not allowed any more, what it has is left.
            let _ = system::set_mask(self.thread.0, &self.before);
        }
    }
}

/// The processor that the calling thread runs on at the moment, if the system says so.
#[inline]
pub fn current_processor() -> Option<u32> {
    system::current_processor()
}

/// The processors that a thread may run on.
pub fn allowed_processors(thread: Thread) -> io::Result<Vec<u32>> {
    let Mask(words) = system::mask(thread.0)?;
    let has = |one: &u32| words[*one as usize / 64] >> (one % 64) & 1 == 1;
    Ok((0..words.len() as u32 * 64).filter(has).collect())
}

/// Does something for which the calling thread should not be bound: what it starts inherits that.
pub fn while_unbound<T>(work: impl FnOnce() -> T) -> T {
    // Nothing has ever been bound, or nothing can be.
    let Some((own, thread)) = OWN_MASK.get().zip(system::current()) else { return work() };
    let before = system::mask(thread).ok().filter(|mask| mask.0 != own.0);
    let unbound = before.filter(|_| system::set_mask(thread, own).is_ok());
    let result = work();
    if let Some(mask) = unbound {
        // It was bound so before: if that is not allowed any more, unbound is what is left.
        let _ = system::set_mask(thread, &mask);
    }
    result
}

#[cfg(all(target_os = "linux", not(any(loom, miri))))]
mod system {
    use super::Mask;
    use std::io;

    /// Words of the largest mask that the kernel is asked for: processors' numbers are below 2^16.
    const MOST_WORDS: usize = (1 << 16) / 64;

    pub(super) fn current() -> Option<i32> {
        // SAFETY: the call takes nothing and cannot fail.
        let id = unsafe { libc::syscall(libc::SYS_gettid) };
        i32::try_from(id).ok()
    }

    #[inline]
    pub(super) fn current_processor() -> Option<u32> {
        // SAFETY: the call takes nothing.
        u32::try_from(unsafe { libc::sched_getcpu() }).ok()
    }

    pub(super) fn worked_ns(thread: i32) -> Option<u64> {
        // The clock of a thread by its number, as `pthread_getcpuclockid` names it: the complement of the number, then 4 for a thread's clock and 2 for
        // the time that the scheduler counts.
        let clock = !thread << 3 | 6;
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the call writes to `time` alone; it fails for a clock that is not there.
        let failed = unsafe { libc::clock_gettime(clock, &raw mut time) };
        (failed == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }

    pub(super) fn mask(thread: i32) -> io::Result<Mask> {
        let mut words = vec![0; MOST_WORDS];
        // SAFETY: the kernel writes at most so many bytes, and the words have as many.
        let bytes = unsafe { libc::syscall(libc::SYS_sched_getaffinity, thread, MOST_WORDS * 8, words.as_mut_ptr()) };
        words.truncate(usize::try_from(bytes).map_err(|_| io::Error::last_os_error())? / 8);
        Ok(Mask(words))
    }

    pub(super) fn set_mask(thread: i32, Mask(words): &Mask) -> io::Result<()> {
        // SAFETY: the kernel reads so many bytes, and the words have as many.
        let result = unsafe { libc::syscall(libc::SYS_sched_setaffinity, thread, words.len() * 8, words.as_ptr()) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Where threads cannot be bound, and in models.
#[cfg(not(all(target_os = "linux", not(any(loom, miri)))))]
mod system {
    use super::Mask;
    use std::io;

    pub(super) fn current() -> Option<i32> {
        None
    }

    pub(super) fn current_processor() -> Option<u32> {
        None
    }

    pub(super) fn worked_ns(_: i32) -> Option<u64> {
        None
    }

    pub(super) fn mask(_: i32) -> io::Result<Mask> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn set_mask(_: i32, _: &Mask) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(all(test, target_os = "linux", not(any(loom, miri))))]
mod tests {
    use super::{Thread, while_unbound};
    use crate::machine::Machine;

    fn allowed() -> String {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim().to_owned()
    }

    #[test]
    fn a_thread_is_told_how_long_it_has_worked() {
        let thread = Thread::current().unwrap();
        let before = thread.worked_ns().unwrap();
        let until = before + 2_000_000;
        while thread.worked_ns().unwrap() < until {}
        std::thread::sleep(std::time::Duration::from_millis(30));
        assert!(thread.worked_ns().unwrap() < until + 20_000_000, "sleep is no work");
    }

    #[test]
    fn a_thread_is_bound_and_unbound() {
        let last = *Machine::read().usable().last().unwrap();
        let bound = move || {
            let (before, thread) = (allowed(), Thread::current().unwrap());
            thread.bind(last).unwrap();
            assert_eq!(allowed(), last.to_string());
            // What it starts is not bound, and it itself is again.
            assert_eq!(while_unbound(|| std::thread::spawn(allowed).join().unwrap()), before);
            assert_eq!(allowed(), last.to_string());
            thread.unbind().unwrap();
            assert_eq!(allowed(), before);
            // A processor that is not there.
            assert!(thread.bind(65_535).is_err());
            assert_eq!(while_unbound(allowed), before);
        };
        std::thread::spawn(bound).join().unwrap();
    }
}
