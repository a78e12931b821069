//! One thread's poller: the descriptors that it waits for, and how its wait is ended.

use myriad_sched::microstate::{State, within};
use myriad_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use myriad_sync::{LockClass, Mutex, OutsideWait};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

static SHARING_CLASS: LockClass = LockClass::new("poll_sharing", 372);

/// Marks, in the I/O thread's poller, the numbers of other pollers.
pub(super) const SHARED: u64 = 1 << 58;
/// The key of [`Poller::wake`].
pub(super) const WAKE: u64 = u64::MAX;
/// Most events taken at a time.
const EVENTS: usize = 32;

/// What one thread waits for.
pub(super) struct Poller {
    pub(super) epoll: OwnedFd,
    /// An `eventfd`, edge-triggered and never read: each write ends the wait.
    wake: OwnedFd,
    /// Whether its thread waits here (io/W3).
    pub(super) wait: OutsideWait,
    /// Descriptors of ports that are at home here (io/W5).
    registered: AtomicUsize,
    /// The I/O thread waits for its events too (io/W2). It changes with what the system knows of that, under `sharing`: or else, where its scheduler
    /// and the lookout meet, one could say so and the other have undone it, and nobody would wait for a busy scheduler's events.
    shared: AtomicBool,
    sharing: Mutex<()>,
}

impl Poller {
    /// One without descriptors.
    ///
    /// # Errors
    ///
    /// Of the system, when it has no descriptor or memory left.
    pub(super) fn new() -> Result<Poller, Errno> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &wake, EventData::new_u64(WAKE), EventFlags::IN | EventFlags::ET)?;
        let (registered, shared) = (AtomicUsize::new(0), AtomicBool::new(false));
        let sharing = Mutex::new(&SHARING_CLASS, ());
        Ok(Poller { epoll, wake, wait: OutsideWait::new(), registered, shared, sharing })
    }

    /// Is there a descriptor of a port's?
    pub(super) fn has_any(&self) -> bool {
        self.registered() > 0
    }

    /// How many there are.
    pub(super) fn registered(&self) -> usize {
        // Relaxed: io/W5.
        self.registered.load(Ordering::Relaxed)
    }

    /// Registers a descriptor, or registers it anew. Is it the first (io/W5)?
    ///
    /// # Errors
    ///
    /// `PERM`: it is always ready, and not registered. Others of the system, when it has no memory left.
    pub(super) fn register(&self, fd: BorrowedFd<'_>, key: u64, flags: EventFlags) -> Result<bool, Errno> {
        match epoll::add(&self.epoll, fd, EventData::new_u64(key), flags) {
            // Another port has the same descriptor (`fd` of `gen_udp`): the latest is told, as in OTP.
            Err(Errno::EXIST) => epoll::modify(&self.epoll, fd, EventData::new_u64(key), flags)?,
            added => added?,
        }
        // Relaxed: who has to see it is woken afterwards (io/W5).
        Ok(self.registered.fetch_add(1, Ordering::Relaxed) == 0)
    }

    /// As [`Poller::register`], of one that is registered: it is told again if it is ready by now.
    ///
    /// # Errors
    ///
    /// `NOENT`: it is registered no more. Others as there.
    pub(super) fn renew(&self, fd: BorrowedFd<'_>, key: u64, flags: EventFlags) -> Result<(), Errno> {
        epoll::modify(&self.epoll, fd, EventData::new_u64(key), flags)
    }

    /// Takes a descriptor out that was registered.
    pub(super) fn remove(&self, fd: BorrowedFd<'_>) {
        // Only one that another port has taken out fails (`fd` of `gen_udp`).
        let _ = epoll::delete(&self.epoll, fd);
        // Relaxed: a scheduler that has not seen it yet waits here once more (io/W5).
        self.registered.fetch_sub(1, Ordering::Relaxed);
    }

    /// Takes a descriptor out that may be registered; whoever has registered it does not know.
    pub(super) fn forget(&self, fd: BorrowedFd<'_>) {
        // It fails where the descriptor is not registered.
        let _ = epoll::delete(&self.epoll, fd);
    }

    /// Has another thread wait for these events too, by its own poller `other`, from now on; `number` is which this is (io/W2). Before the first
    /// time [`Poller::join`] must have been called.
    pub(super) fn share(&self, other: &Poller, number: usize) {
        if self.has_any() {
            self.set_shared(true, other, number);
        }
    }

    /// Ends [`Poller::share`].
    pub(super) fn keep(&self, other: &Poller, number: usize) {
        self.set_shared(false, other, number);
    }

    fn set_shared(&self, shared: bool, other: &Poller, number: usize) {
        // Mostly it is so already.
        if self.is_shared() == shared {
            return;
        }
        let _sharing = self.sharing.lock();
        // Relaxed: changed under the lock alone; outside it is a hint.
        if self.shared.load(Ordering::Relaxed) != shared {
            let flags = if shared { EventFlags::IN } else { EventFlags::empty() };
            // It cannot fail: it is registered there, and nothing more is needed for a change.
            let _ = epoll::modify(&other.epoll, &self.epoll, EventData::new_u64(SHARED | number as u64), flags);
            self.shared.store(shared, Ordering::Relaxed);
        }
    }

    /// Registers it with another poller, which waits for nothing here yet. While this one is empty: the system looks through all that is
    /// registered here for circles.
    ///
    /// # Errors
    ///
    /// Of the system, when it has no memory left.
    pub(super) fn join(&self, other: &Poller, number: usize) -> Result<(), Errno> {
        epoll::add(&other.epoll, &self.epoll, EventData::new_u64(SHARED | number as u64), EventFlags::empty())
    }

    /// Does another thread wait for its events?
    pub(super) fn is_shared(&self) -> bool {
        // Relaxed: a hint.
        self.shared.load(Ordering::Relaxed)
    }

    /// Ends the wait of its thread, which was notified before, if it waits here (io/W3).
    pub(super) fn interrupt(&self) {
        if self.wait.needs_interrupt() {
            // It can only fail when the counter is full, after 2^64 writes.
            let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
        }
    }

    /// Takes the events in the place of its thread, and appends them.
    pub(super) fn take(&self, events: &mut Vec<Event>) {
        let own = events.len();
        self.wait(events, Some(Duration::ZERO));
        if events.extract_if(own.., |event| event.data.u64() == WAKE).count() > 0 {
            // io/W3
            self.interrupt();
        }
    }

    /// Waits, and appends the events. A failure is as if the time were over.
    pub(super) fn wait(&self, events: &mut Vec<Event>, timeout: Option<Duration>) {
        events.reserve(EVENTS);
        let looks = timeout.is_some_and(|timeout| timeout.is_zero());
        let state = within(if looks { State::CheckIo } else { State::Sleep });
        let waited = epoll_wait(self.epoll.as_fd(), rustix::buffer::spare_capacity(events), timeout);
        drop(state);
        match waited {
            Ok(_) | Err(Errno::INTR) => {}
            // Nothing else can fail; a moment's rest keeps it from filling a processor.
            Err(_) => myriad_sync::thread::sleep(Duration::from_millis(1)),
        }
    }
}

pub(super) fn epoll_wait(
    epoll: BorrowedFd<'_>,
    room: rustix::buffer::SpareCapacity<'_, Event>,
    timeout: Option<Duration>,
) -> Result<usize, Errno> {
    use rustix::event::Timespec;
    // In whole milliseconds, rounded up, as OTP's timers are.
    let millis = timeout.map(|t| t.as_nanos().div_ceil(1_000_000).min(i32::MAX as u128) as i64);
    let limit = millis.map(|ms| Timespec { tv_sec: ms / 1000, tv_nsec: ms % 1000 * 1_000_000 });
    epoll::wait(epoll, room, limit.as_ref())
}
