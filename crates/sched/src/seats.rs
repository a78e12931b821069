//! [`Seats`]: where processes with private threads wait for these, and which threads have none (sched.private_threads/PT1 to PT4).

use crate::Runtime;
use crate::load::Load;
use crate::run_queue::Runnable;
use myriad_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use myriad_sync::thread::JoinHandle;
use myriad_sync::{LockClass, Mutex, OnceLock, Parker, SpinLock};
use std::io;

static POOL: LockClass = LockClass::new("private_threads", 620);
static SEAT: LockClass = LockClass::new("private_thread", 621);

/// What others see of a private thread.
pub(crate) struct Seat<R: Runtime> {
    /// Its process, if that is to run and it has not taken it up yet (sched.private_threads/PT2).
    pub(crate) next: SpinLock<Option<Runnable<R>>>,
    pub(crate) parker: Parker,
    pub(crate) load: Load,
}

#[derive(Default)]
struct Pool {
    /// Threads without a process.
    idle: Vec<usize>,
    /// Threads that were ever begun: those with lower numbers.
    begun: usize,
    handles: Vec<JoinHandle<()>>,
}

/// The private threads of a VM, as others see them.
pub(crate) struct Seats<R: Runtime> {
    all: Box<[OnceLock<Box<Seat<R>>>]>,
    pool: Mutex<Pool>,
    /// Those that run slices, or are about to (sched.private_threads/PT4).
    live: AtomicUsize,
    /// Multi-scheduling is blocked.
    blocked: AtomicBool,
}

impl<R: Runtime> Seats<R> {
    /// At most so many.
    pub(crate) fn new(most: usize) -> Self {
        Seats {
            all: (0..most).map(|_| OnceLock::new()).collect(),
            pool: Mutex::new(&POOL, Pool::default()),
            live: AtomicUsize::new(0),
            blocked: AtomicBool::new(false),
        }
    }

    pub(crate) fn seat(&self, thread: usize) -> &Seat<R> {
        self.all[thread].get().expect("PT1: it has been begun")
    }

    pub(crate) fn each(&self) -> impl Iterator<Item = &Seat<R>> {
        self.all.iter().map_while(|seat| seat.get()).map(|seat| &**seat)
    }

    /// How many there are that must be stopped before the world is (sched.private_threads/PT4).
    pub(crate) fn live(&self) -> usize {
        // Acquire: pairs with the Release in `begin` and in `ended`.
        self.live.load(Ordering::Acquire)
    }

    pub(crate) fn unpark_all(&self) {
        self.each().for_each(|seat| seat.parker.unpark());
    }

    /// Multi-scheduling is blocked, or no more. The caller unparks all.
    pub(crate) fn set_blocked(&self, blocked: bool) {
        // Relaxed: sched.multi/B1 waits for progress, in which private threads take part.
        self.blocked.store(blocked, Ordering::Relaxed);
    }

    pub(crate) fn is_blocked(&self) -> bool {
        // Relaxed: as above.
        self.blocked.load(Ordering::Relaxed)
    }

    /// An idle thread, or (`true`) a number for a new one.
    pub(crate) fn reserve(&self) -> Option<(usize, bool)> {
        let mut pool = self.pool.lock();
        if let Some(thread) = pool.idle.pop() {
            return Some((thread, false));
        }
        let seat = self.all.get(pool.begun)?;
        let new = Seat { next: SpinLock::new(&SEAT, None), parker: Parker::new(), load: Load::default() };
        // A thread that could not be started has left one.
        let _ = seat.set(Box::new(new));
        pool.begun += 1;
        Some((pool.begun - 1, true))
    }

    /// Starts a thread that has been reserved as a new one.
    pub(crate) fn begin(
        &self,
        thread: usize,
        start: impl FnOnce(usize) -> io::Result<JoinHandle<()>>,
    ) -> io::Result<()> {
        // Release: pairs with the Acquire in `live`.
        self.live.fetch_add(1, Ordering::Release);
        match start(thread) {
            Ok(handle) => {
                self.pool.lock().handles.push(handle);
                Ok(())
            }
            Err(error) => {
                self.live.fetch_sub(1, Ordering::Release);
                let mut pool = self.pool.lock();
                // Others may have begun later ones meanwhile: this number is then lost.
                if pool.begun == thread + 1 {
                    pool.begun = thread;
                }
                Err(error)
            }
        }
    }

    /// Its process has no private thread any more.
    pub(crate) fn give_back(&self, thread: usize) {
        debug_assert!(self.seat(thread).next.lock().is_none(), "PT2: its process is not in its queue");
        let mut pool = self.pool.lock();
        debug_assert!(!pool.idle.contains(&thread), "PT1: it belonged to one process");
        pool.idle.push(thread);
    }

    /// A thread has ended.
    pub(crate) fn ended(&self) {
        // Release: pairs with the Acquire in `live`.
        self.live.fetch_sub(1, Ordering::Release);
    }

    /// A thread that nobody has joined yet.
    pub(crate) fn to_be_joined(&self) -> Option<JoinHandle<()>> {
        self.pool.lock().handles.pop()
    }

    /// How many there may be.
    pub(crate) fn most(&self) -> usize {
        self.all.len()
    }
}
