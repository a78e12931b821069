//! The pollers of all threads: which is whose, and which has whose descriptors.

use super::poller::{Poller, SHARED, WAKE};
use myriad_sync::CachePadded;
use myriad_sync::atomic::{AtomicUsize, Ordering};
use myriad_sync::thread::CAN_SPAWN;
use myriad_term::Pid;
use myriad_vm::Vm;
use rustix::event::epoll::{Event, EventFlags};
use rustix::io::Errno;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// One for each thread that waits.
pub(crate) struct Pollers {
    /// Those of schedulers, of the first ones only where descriptors are scarce; none in the sequential VM.
    own: Box<[CachePadded<Poller>]>,
    /// That of the I/O thread, or the only one.
    pub(super) common: Poller,
    /// Sockets that belong to no port and are registered (a statistic).
    pub(super) sockets: AtomicUsize,
}

/// How many pollers schedulers may have: their two descriptors each are at most a quarter of those that the system allows.
fn most_pollers() -> usize {
    let allowed = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    allowed.map_or(usize::MAX, |allowed| usize::try_from(allowed / 8).unwrap_or(usize::MAX))
}

impl Pollers {
    /// For so many schedulers.
    ///
    /// # Errors
    ///
    /// Of the system, when it has no descriptor or memory left.
    pub(super) fn new(schedulers: usize) -> Result<Pollers, Errno> {
        let common = Poller::new()?;
        let own = if CAN_SPAWN { schedulers.min(most_pollers()) } else { 0 };
        let of_scheduler = |number| {
            let poller = Poller::new().ok()?;
            poller.join(&common, number).ok()?;
            Some(CachePadded::new(poller))
        };
        Ok(Pollers { own: (0..own).map_while(of_scheduler).collect(), common, sockets: AtomicUsize::new(0) })
    }

    /// The descriptors that are registered, and how many of them are sockets that belong to no port: figures.
    pub(crate) fn polled(&self) -> (usize, usize) {
        let all: usize = (0..=self.of_io_thread()).map(|number| self.get(number).registered()).sum();
        // Relaxed: a statistic.
        (all, self.sockets.load(Ordering::Relaxed).min(all))
    }

    /// The poller of this number: a scheduler's, or else the I/O thread's.
    pub(super) fn get(&self, number: usize) -> &Poller {
        self.own.get(number).map_or(&self.common, |poller| poller)
    }

    /// The poller that a scheduler waits in, if it does not sleep by its parker (io/W5).
    pub(super) fn waited_in_by(&self, scheduler: usize) -> Option<&Poller> {
        if CAN_SPAWN { self.own.get(scheduler).map(|poller| &**poller) } else { Some(&self.common) }
    }

    /// The numbers of the pollers that have events, in their order.
    pub(super) fn ready(&self) -> Vec<usize> {
        use rustix::event::{PollFd, PollFlags};
        let all = (0..=self.of_io_thread()).map(|number| &self.get(number).epoll);
        let mut all: Vec<PollFd<'_>> = all.map(|epoll| PollFd::new(epoll, PollFlags::IN)).collect();
        // If it fails none is seen to be ready, as when it is interrupted.
        let _ = rustix::event::poll(&mut all, Some(&rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 }));
        all.iter().enumerate().filter(|(_, fd)| !fd.revents().is_empty()).map(|(number, _)| number).collect()
    }

    /// The number of the I/O thread's poller.
    pub(super) fn of_io_thread(&self) -> usize {
        self.own.len()
    }

    /// Where a new port of this process is at home: with the scheduler that runs, or else the one on which the process ran last.
    pub(crate) fn first_home(&self, vm: &Vm, owner: Pid) -> usize {
        // Relaxed: a hint.
        let last = || vm.processes.get(owner).map(|process| process.home.load(Ordering::Relaxed) as usize);
        myriad_sched::current().or_else(last).unwrap_or(self.of_io_thread()).min(self.of_io_thread())
    }

    /// The number of the calling thread's poller, if it is a scheduler, or else of the I/O thread's.
    pub(super) fn here(&self) -> usize {
        myriad_sched::current().unwrap_or(self.of_io_thread()).min(self.of_io_thread())
    }

    /// Where a port is to be at home from now on whose driver this thread calls, where so many schedulers are active, if not where it is (io/W4).
    #[inline]
    pub(crate) fn new_home(&self, home: usize, active: usize) -> Option<usize> {
        self.home_after_call(myriad_sched::current()?, home, active)
    }

    fn home_after_call(&self, here: usize, home: usize, active: usize) -> Option<usize> {
        if (active..self.of_io_thread()).contains(&home) {
            return Some((here % active).min(self.of_io_thread()));
        }
        if here == home {
            return None;
        }
        let is_busy = |number: usize| self.own.get(number).is_none_or(|poller| poller.is_shared());
        (is_busy(home) && !is_busy(here)).then_some(here)
    }

    /// Registers a descriptor with the poller of this number.
    ///
    /// # Errors
    ///
    /// As [`Poller::register`].
    pub(super) fn register(
        &self,
        vm: &Vm,
        number: usize,
        fd: BorrowedFd<'_>,
        key: u64,
        flags: EventFlags,
    ) -> Result<(), Errno> {
        let is_first = self.get(number).register(fd, key, flags)?;
        if is_first && number < self.of_io_thread() && myriad_sched::current() != Some(number) {
            // io/W5
            vm.platform.unpark(number);
        }
        Ok(())
    }

    /// A descriptor comes from elsewhere that a port may have registered: it is told of no more.
    pub(crate) fn forget(&self, fd: BorrowedFd<'_>) {
        (0..=self.of_io_thread()).for_each(|number| self.get(number).forget(fd));
    }

    /// Waits in this poller, and appends its events, with those of others that it tells of (io/W2).
    pub(super) fn wait(&self, poller: &Poller, timeout: Option<Duration>, events: &mut Vec<Event>) {
        let mut at = events.len();
        poller.wait(events, timeout);
        while let Some(event) = events.get(at) {
            let key = event.data.u64();
            if key & SHARED == 0 {
                at += 1;
                continue;
            }
            events.swap_remove(at);
            if key != WAKE {
                self.get((key & !SHARED) as usize).take(events);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_sync::Parker;
    use std::os::fd::{AsFd, OwnedFd};

    /// What the poller's events are now, taken by the calling thread.
    fn met(pollers: &Pollers, poller: &Poller) -> Vec<u64> {
        let mut events = Vec::new();
        pollers.wait(poller, Some(Duration::ZERO), &mut events);
        events.iter().map(|event| event.data.u64()).collect()
    }

    /// Pollers of two schedulers, and a pipe at home with the second, edge-triggered, with key 7.
    fn with_pipe() -> Option<(Pollers, OwnedFd, OwnedFd)> {
        if !CAN_SPAWN {
            // There is one poller, and nobody to wake it.
            return None;
        }
        let pollers = Pollers::new(2).unwrap();
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        assert_eq!(pollers.get(1).register(reader.as_fd(), 7, EventFlags::IN | EventFlags::ET), Ok(true));
        Some((pollers, reader, writer))
    }

    /// io/W3, with a notice before, at any moment of, and during the wait, while another thread takes events in the place of this one.
    #[test]
    fn who_waits_is_woken() {
        let Some((pollers, _reader, _writer)) = with_pipe() else { return };
        let (poller, notice) = (pollers.get(1), Parker::new());
        std::thread::scope(|scope| {
            for round in 0..200 {
                scope.spawn(|| {
                    notice.unpark();
                    poller.interrupt();
                });
                if round % 2 == 0 {
                    poller.share(&pollers.common, 1);
                    scope.spawn(|| met(&pollers, &pollers.common));
                } else {
                    poller.keep(&pollers.common, 1);
                }
                let began = std::time::Instant::now();
                while !notice.take_notice() {
                    let _outside = poller.wait.begin();
                    if notice.take_notice() {
                        break;
                    }
                    pollers.wait(poller, Some(Duration::from_secs(30)), &mut Vec::new());
                }
                assert!(began.elapsed() < Duration::from_secs(20), "round {round}");
            }
        });
    }

    /// io/W4.
    #[test]
    fn who_rests_gives_its_ports_to_those_that_are_active() {
        let Some((pollers, _reader, _writer)) = with_pipe() else { return };
        assert_eq!([0, 1].map(|here| pollers.home_after_call(here, 1, 2)), [None, None]);
        assert_eq!([0, 1].map(|here| pollers.home_after_call(here, 1, 1)), [Some(0), Some(0)]);
        // Its events go to the I/O thread, and what is at home with that does not rest.
        assert_eq!([0, 1].map(|here| pollers.home_after_call(here, 2, 2)), [Some(0), Some(1)]);
    }

    /// io/W2: an event is met by the I/O thread while it is shared, and by one of the two only.
    #[test]
    fn an_event_is_met_once_by_whoever_looks() {
        let Some((pollers, reader, writer)) = with_pipe() else { return };
        let poller = pollers.get(1);
        let write = || rustix::io::write(&writer, b"x").unwrap();
        assert_eq!(met(&pollers, poller), []);
        write();
        assert_eq!(met(&pollers, &pollers.common), [], "it is not shared");
        poller.share(&pollers.common, 1);
        assert_eq!(met(&pollers, &pollers.common), [7], "it came before that");
        assert_eq!(met(&pollers, poller), [], "it was met");
        write();
        assert_eq!(met(&pollers, poller), [7]);
        assert_eq!(met(&pollers, &pollers.common), [], "it was met");
        poller.keep(&pollers.common, 1);
        write();
        assert_eq!(met(&pollers, &pollers.common), []);
        assert_eq!(met(&pollers, poller), [7]);
        poller.remove(reader.as_fd());
        assert!(!poller.has_any());
    }
}
