//! The platform below the scheduler: time, randomness and parking come only from here, so that the scheduler that is tested or
//! simulated from a seed is the one that ships (docs/design.md, section 7).

use crate::wake_places::WakePlaces;
use myriad_sync::machine::{Capacity, Files, Place, Watch};
use myriad_sync::thread::Instant;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// What the scheduler asks of the platform.
pub trait Platform: Send + Sync {
    /// Monotonic time in nanoseconds since some fixed moment.
    fn now_ns(&self) -> u64;
    /// Wall clock time in nanoseconds since 1970.
    fn system_ns(&self) -> i64;
    /// Time that processors have worked for this program, nanoseconds.
    fn cpu_ns(&self) -> u64 {
        self.now_ns()
    }
    /// Time that processors have worked for a scheduler's thread, nanoseconds, if the platform tells.
    fn worked_ns(&self, _scheduler: usize) -> Option<u64> {
        None
    }
    /// Where the schedulers run, if the platform says so: else it follows from how they are bound.
    fn places(&self) -> Option<Vec<Place>> {
        None
    }
    /// How many processors' time there is, when it is time to look: a scheduler that is busy asks each few slices.
    fn look_at_capacity(&self, _now_ns: u64) -> Option<Capacity> {
        None
    }
    /// A seed for a scheduler's own generator.
    fn seed(&self, scheduler: usize) -> u64;
    /// Waits until scheduler `scheduler` is unparked, or the time is over.
    fn park(&self, scheduler: usize, timeout: Option<Duration>);
    /// Wakes scheduler `scheduler`, or makes its next park return at once.
    fn unpark(&self, scheduler: usize);
    /// As [`Platform::unpark`], by a scheduler that works on: the other one had better work beside it.
    fn unpark_beside(&self, scheduler: usize) {
        self.unpark(scheduler);
    }
    /// From now on a scheduler that parks may wait for this as well.
    fn wait_for(&self, _: Box<dyn Readiness>) {}
    /// After a park: serves what it has met; `false` if that was nothing.
    fn serve(&self) -> bool {
        false
    }
    /// Serves what this scheduler would wait for, if it is there by now: it calls this now and then while it is busy.
    fn look_at_events(&self, _scheduler: usize) {}
    /// Has another thread serve what this scheduler would wait for, until it waits itself: it calls this when it has been busy for long, and who looks
    /// after it if it does not get on.
    fn meet_events(&self, _scheduler: usize) {}
    /// Is there something that this scheduler would wait for if it were not busy, and that nobody waits for?
    fn may_miss_events(&self, _scheduler: usize) -> bool {
        false
    }
    /// Is offered the turns of the I/O thread, which serves what comes while schedulers are busy: each call is one, that may wait or not. Nothing: it gives them
    /// itself, and no thread is started.
    fn take_io_turns(&self, turns: IoTurns) -> Option<IoTurns> {
        Some(turns)
    }
    /// From now on, where no thread waits for it, whoever serves calls this when the descriptor has become readable.
    fn call_when_readable(&self, _: OwnedFd, _: Box<dyn Fn() + Send + Sync>) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}

/// A turn of the I/O thread; `true`: it may wait.
pub type IoTurns = Box<dyn FnMut(bool) + Send>;

/// Readiness of file descriptors: what a scheduler without work may wait for instead of just sleeping. Crate `io` has it.
pub trait Readiness: Send + Sync {
    /// Waits until there is something to serve, another thread calls [`Readiness::wake`], or the time is over. `false`, at once: this
    /// scheduler has nothing to wait for. `was_woken` says whether the scheduler was woken since it last asked.
    fn wait(&self, scheduler: usize, timeout: Option<Duration>, was_woken: &dyn Fn() -> bool) -> bool;
    /// As [`Readiness::wait`], for who gives all schedulers their turns: this one begins to wait. `false`: it has nothing to wait for.
    fn begin_wait(&self, scheduler: usize) -> bool;
    /// The scheduler that has begun to wait waits no more, and takes what there is.
    fn end_wait(&self, scheduler: usize);
    /// The schedulers whose descriptors are ready, or that were woken while they waited; the number after the last one stands for the I/O thread.
    fn ready(&self) -> Vec<usize>;
    /// Ends the wait of this scheduler. It was marked as woken before.
    fn wake(&self, scheduler: usize);
    /// Serves what the calling thread's wait has met; `false` if that was nothing.
    fn serve(&self) -> bool;
    /// As [`Platform::look_at_events`].
    fn look_at_events(&self, scheduler: usize);
    /// As [`Platform::meet_events`].
    fn meet_events(&self, scheduler: usize);
    /// As [`Platform::may_miss_events`].
    fn may_miss_events(&self, scheduler: usize) -> bool;
    /// As [`Platform::call_when_readable`].
    fn call_when_readable(&self, descriptor: OwnedFd, call: Box<dyn Fn() + Send + Sync>) -> std::io::Result<()>;
}

/// Threads of the operating system.
pub struct Threads {
    parkers: Box<[myriad_sync::CachePadded<myriad_sync::Parker>]>,
    start: Instant,
    readiness: myriad_sync::OnceLock<Box<dyn Readiness>>,
    watch: Watch,
    places: WakePlaces,
}

impl Threads {
    /// For `schedulers` schedulers.
    pub fn new(schedulers: usize) -> Threads {
        let parkers = (0..schedulers).map(|_| myriad_sync::CachePadded::new(myriad_sync::Parker::new())).collect();
        let watch = Watch::new(Files::of_the_system());
        let places = WakePlaces::new(schedulers);
        Threads { parkers, start: Instant::now(), readiness: myriad_sync::OnceLock::new(), watch, places }
    }
}

impl Platform for Threads {
    fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn system_ns(&self) -> i64 {
        match std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |ns| -ns),
        }
    }

    fn cpu_ns(&self) -> u64 {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the clock exists on every system that this runs on, and `time` is valid for writing.
        let result = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
        if result == 0 { time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64 } else { self.now_ns() }
    }

    fn worked_ns(&self, scheduler: usize) -> Option<u64> {
        self.places.worked_ns(scheduler)
    }

    fn look_at_capacity(&self, now_ns: u64) -> Option<Capacity> {
        self.watch.look(now_ns)
    }

    fn seed(&self, scheduler: usize) -> u64 {
        self.system_ns() as u64 ^ (scheduler as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn park(&self, scheduler: usize, timeout: Option<Duration>) {
        let parker = &self.parkers[scheduler];
        self.places.sleeps(scheduler);
        let waited = self.readiness.get().is_some_and(|r| r.wait(scheduler, timeout, &|| parker.take_notice()));
        if !waited {
            parker.park(timeout);
        }
        self.places.is_up(scheduler, || self.now_ns());
    }

    fn unpark(&self, scheduler: usize) {
        self.parkers[scheduler].unpark();
        if let Some(readiness) = self.readiness.get() {
            readiness.wake(scheduler);
        }
    }

    fn unpark_beside(&self, scheduler: usize) {
        self.places.wakes(scheduler, self.now_ns());
        self.unpark(scheduler);
    }

    fn wait_for(&self, readiness: Box<dyn Readiness>) {
        let _ = self.readiness.set(readiness);
    }

    fn serve(&self) -> bool {
        self.readiness.get().is_some_and(|r| r.serve())
    }

    fn look_at_events(&self, scheduler: usize) {
        if let Some(readiness) = self.readiness.get() {
            readiness.look_at_events(scheduler);
        }
    }

    fn meet_events(&self, scheduler: usize) {
        if let Some(readiness) = self.readiness.get() {
            readiness.meet_events(scheduler);
        }
    }

    fn may_miss_events(&self, scheduler: usize) -> bool {
        self.readiness.get().is_some_and(|r| r.may_miss_events(scheduler))
    }

    fn call_when_readable(&self, descriptor: OwnedFd, call: Box<dyn Fn() + Send + Sync>) -> std::io::Result<()> {
        match self.readiness.get() {
            Some(readiness) => readiness.call_when_readable(descriptor, call),
            None => Err(std::io::ErrorKind::Unsupported.into()),
        }
    }
}
