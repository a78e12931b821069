//! Interleavings drawn from a seed: what the back end `interleaved` (`--cfg interleaved`) is for.
//!
//! ```text
//! myriad_sync::interleave::explore(100, || { /* starts threads that use the facade, and asserts */ });
//! ```
//!
//! The threads are the system's, but one at a time has the *turn*. At each access to an atomic, each lock, sleep, wake-up and pause of the
//! facade the seed decides who has it next. Time is virtual: a step takes some nanoseconds, and when all threads sleep it is the time at
//! which the first wakes. Stores may be seen late (`stores`). So a run repeats exactly from its seed, and ends in
//! an error if all threads sleep for ever, one panics, or there is no end.
//!
//! Two ways to choose are tried in turn: by chance, which mixes much, and by priorities, which lets one thread run far ahead of another.
//! Nothing is exhausted: loom tries all interleavings of a few steps, and this some of a whole scheduler. Nor does a load ever see what
//! was overwritten for longer than a store takes: that an Acquire is left out only loom finds. And cells are not watched.
//!
//! The crate `shuttle` is the known means for this. Its threads are coroutines of one system thread, which share each `thread_local!` that is
//! not its own, and all it runs is sequentially consistent: it could not see that a fence is missing (sync/SL1). It
//! would bring 35 crates (0.9), rand in a second version among them.

mod schedule;
mod stores;

use schedule::{Event, Next, PAUSE_NS, STEP_NS, Schedule};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Nobody's turn.
const NOBODY: usize = usize::MAX;
/// A run takes some milliseconds. One that takes this long waits for something that is not the facade's.
const STUCK: Duration = Duration::from_secs(60);

/// One run.
struct Run {
    schedule: Mutex<Schedule>,
    turn: AtomicUsize,
    /// To wake them when it is their turn.
    threads: Mutex<Vec<std::thread::Thread>>,
    /// How it has ended: a number that tells runs apart, or what went wrong.
    outcome: Mutex<Option<Result<u64, String>>>,
    ended: Condvar,
}

/// The calling thread's place in a run.
#[derive(Clone)]
struct Seat(Arc<Run>, usize);

thread_local! {
    static SEAT: RefCell<Option<Seat>> = const { RefCell::new(None) };
}

fn seat() -> Option<Seat> {
    SEAT.try_with(|seat| seat.borrow().clone()).ok().flatten()
}

fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `body` by this many seeds, in a thread of the run's own. The environment may name one `SEED` instead, or by `TIMES` many times more.
///
/// # Panics
/// When a run fails: with the seed, what each thread does, and the last steps. The threads of that run stay where they are.
pub fn explore(seeds: u64, body: impl Fn() + Send + Sync + 'static) {
    let body = Arc::new(body);
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let seeds = match number("SEED") {
        Some(seed) => seed..=seed,
        None => 1..=seeds * number("TIMES").unwrap_or(1),
    };
    for seed in seeds {
        let body = body.clone();
        if let Err(report) = run(seed, move || body()) {
            panic!("{report}");
        }
    }
}

/// Runs `body` by this seed: a number that two runs which differ hardly share, or what went wrong.
fn run(seed: u64, body: impl FnOnce() + Send + 'static) -> Result<u64, String> {
    let run = Arc::new(Run {
        schedule: Mutex::new(Schedule::new(seed)),
        turn: AtomicUsize::new(0),
        threads: Mutex::default(),
        outcome: Mutex::new(None),
        ended: Condvar::new(),
    });
    let first = run.begin("first", Location::caller(), body).map_err(|error| error.to_string())?;
    let outcome = locked(&run.outcome);
    let (mut outcome, _) = run
        .ended
        .wait_timeout_while(outcome, STUCK, |outcome| outcome.is_none())
        .unwrap_or_else(PoisonError::into_inner);
    let stuck = || Err(locked(&run.schedule).report("a thread waits for something that is not the facade's"));
    let outcome = outcome.take().unwrap_or_else(stuck);
    if outcome.is_ok() {
        // It has ended.
        let _ = first.join();
    }
    outcome
}

/// Has `check` called with the time, outside of the run, whenever all threads sleep and time is about to pass. It says what is wrong then.
pub fn at_standstill(check: impl Fn(Duration) -> Result<(), String> + Send + Sync + 'static) {
    if let Some(Seat(run, _)) = seat() {
        locked(&run.schedule).check = Some(Arc::new(check));
    }
}

/// A number below `most`, by the seed.
pub fn draw(most: u64) -> u64 {
    seat().map_or(0, |Seat(run, _)| locked(&run.schedule).random.below(most))
}

/// The time of the run.
pub(crate) fn now() -> Duration {
    seat().map_or(Duration::ZERO, |Seat(run, _)| Duration::from_nanos(locked(&run.schedule).now_ns))
}

impl Run {
    /// Starts a thread of the run, which waits for its turn.
    fn begin<T: Send + 'static>(
        self: &Arc<Self>,
        name: &str,
        at: &'static Location<'static>,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> std::io::Result<std::thread::JoinHandle<Option<T>>> {
        // The new thread finds its number once it is listed.
        let mut threads = locked(&self.threads);
        let id = locked(&self.schedule).add(name, at);
        let run = self.clone();
        let body = move || {
            drop(locked(&run.threads));
            run.wait_for_turn(id);
            SEAT.set(Some(Seat(run.clone(), id)));
            let result = catch_unwind(AssertUnwindSafe(body));
            SEAT.set(None);
            match result {
                Ok(result) => {
                    run.end(id);
                    Some(result)
                }
                Err(panic) => {
                    let text = panic.downcast_ref::<String>().map(String::as_str);
                    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
                    run.fail(locked(&run.schedule).report(text));
                    None
                }
            }
        };
        let handle = std::thread::Builder::new().name(name.to_owned()).spawn(body)?;
        threads.push(handle.thread().clone());
        Ok(handle)
    }

    fn wait_for_turn(&self, id: usize) {
        while self.turn.load(Ordering::Acquire) != id {
            std::thread::park();
        }
    }

    fn give_turn(&self, next: usize) {
        self.turn.store(next, Ordering::Release);
        if let Some(thread) = locked(&self.threads).get(next) {
            thread.unpark();
        }
    }

    fn fail(&self, report: String) {
        self.turn.store(NOBODY, Ordering::Release);
        *locked(&self.outcome) = Some(Err(report));
        self.ended.notify_all();
    }

    /// For a thread that cannot go on after a failure, and must not unwind over what others hold.
    fn fail_for_good(&self, report: String) -> ! {
        self.fail(report);
        loop {
            std::thread::park();
        }
    }

    /// Gives the turn to `next`, and waits for it to come back to `me`.
    fn hand_over<'a>(&'a self, schedule: MutexGuard<'a, Schedule>, me: usize, next: usize) -> MutexGuard<'a, Schedule> {
        if next == me {
            return schedule;
        }
        drop(schedule);
        self.give_turn(next);
        self.wait_for_turn(me);
        locked(&self.schedule)
    }

    /// A step of `me`, after which another may go on.
    fn step(&self, me: usize, at: &'static Location<'static>, ns: u64, pauses: bool) -> MutexGuard<'_, Schedule> {
        let mut schedule = locked(&self.schedule);
        if !schedule.count_step(me, at, ns) {
            let report = schedule.report("no end");
            drop(schedule);
            self.fail_for_good(report);
        }
        let next = if pauses { schedule.after_pause(me) } else { schedule.after_step(me) };
        self.hand_over(schedule, me, next)
    }

    /// Chooses who goes on where `me` does not. `None`: all have ended.
    fn next<'a>(&'a self, mut schedule: MutexGuard<'a, Schedule>) -> Option<usize> {
        loop {
            match schedule.next() {
                Next::Thread(next) => return Some(next),
                Next::Over => return None,
                Next::Deadlock => {
                    let report = schedule.report("deadlock");
                    drop(schedule);
                    self.fail_for_good(report);
                }
                Next::Standstill(until) => {
                    if let Some(check) = schedule.check.clone() {
                        let now = Duration::from_nanos(schedule.now_ns);
                        drop(schedule);
                        // A thread of its own takes no turn, and holds no lock.
                        let wrong = std::thread::scope(|scope| scope.spawn(|| check(now)).join());
                        let wrong = wrong.unwrap_or_else(|_| Err("the check at a standstill has panicked".to_owned()));
                        schedule = locked(&self.schedule);
                        if let Err(wrong) = wrong {
                            let report = schedule.report(&wrong);
                            drop(schedule);
                            self.fail_for_good(report);
                        }
                    }
                    schedule.now_ns = until;
                }
            }
        }
    }

    /// `me` sleeps; was it until the time was over?
    fn sleep(&self, mut schedule: MutexGuard<'_, Schedule>, me: usize, event: Event, time: Option<Duration>) -> bool {
        let ns = time.map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        schedule.sleep(me, event, ns);
        // It has not ended itself.
        let next = self.next(schedule).unwrap_or(me);
        let schedule = locked(&self.schedule);
        self.hand_over(schedule, me, next).awake(me)
    }

    fn end(&self, me: usize) {
        let mut schedule = locked(&self.schedule);
        schedule.end(me);
        let digest = schedule.digest();
        match self.next(schedule) {
            Some(next) => self.give_turn(next),
            None => {
                *locked(&self.outcome) = Some(Ok(digest));
                self.ended.notify_all();
            }
        }
    }
}

/// A step that may be interrupted before it; then calls `f` with the schedule and the thread's number. `None`: the thread is in no run.
#[track_caller]
fn step<T>(f: impl FnOnce(&mut Schedule, usize) -> T) -> Option<T> {
    let Seat(run, me) = seat()?;
    Some(f(&mut run.step(me, Location::caller(), STEP_NS, false), me))
}

/// A load of this word: what the thread sees there, if not what memory holds.
#[track_caller]
pub(crate) fn load(word: usize) -> Option<usize> {
    step(|schedule, me| schedule.stores.seen_by(me, word)).flatten()
}

/// Before a store to this word, which holds what `old` gives.
#[track_caller]
pub(crate) fn store(word: usize, old: impl FnOnce() -> usize, order: Ordering) {
    step(|schedule, me| {
        if order == Ordering::SeqCst || !schedule.delays() {
            schedule.stores.settle(word, Some(me));
            schedule.stores.drain(me);
        } else {
            schedule.stores.delay(me, word, old(), order == Ordering::Release);
        }
    });
}

/// Before a read-modify-write of this word.
#[track_caller]
pub(crate) fn update(word: usize, order: Ordering) {
    step(|schedule, me| {
        schedule.stores.settle(word, None);
        if matches!(order, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst) {
            schedule.stores.drain(me);
        }
    });
}

/// A fence.
#[track_caller]
pub fn fence(order: Ordering) {
    step(|schedule, me| {
        if order != Ordering::Acquire {
            schedule.stores.drain(me);
        }
    });
}

/// The word is no more, or in the hands of one thread alone.
pub(crate) fn forget(word: usize) {
    if let Some(Seat(run, _)) = seat() {
        locked(&run.schedule).stores.forget(word);
    }
}

/// Another thread goes on, if any can.
#[track_caller]
pub(crate) fn pause() {
    if let Some(Seat(run, me)) = seat() {
        drop(run.step(me, Location::caller(), PAUSE_NS, true));
    }
}

/// Sleeps while `holds` says so of this word, at most `time`. Says whether the time ran out.
#[track_caller]
pub(crate) fn wait(word: usize, holds: impl FnOnce(Option<usize>) -> bool, time: Option<Duration>) -> bool {
    let Some(Seat(run, me)) = seat() else { panic!("a thread that is in no run would sleep") };
    let schedule = run.step(me, Location::caller(), STEP_NS, false);
    holds(schedule.stores.seen_by(me, word)) && run.sleep(schedule, me, Event::Word(word), time)
}

/// Wakes threads that sleep by this word, at most so many.
#[track_caller]
pub(crate) fn wake(word: usize, most: usize) {
    step(|schedule, me| {
        schedule.stores.drain(me);
        schedule.wake(Event::Word(word), most);
    });
}

/// Sleeps so long.
#[track_caller]
pub(crate) fn sleep(time: Duration) {
    if let Some(Seat(run, me)) = seat() {
        let schedule = run.step(me, Location::caller(), STEP_NS, false);
        run.sleep(schedule, me, Event::Time, Some(time));
    }
}

/// A thread of a run.
#[derive(Debug)]
pub struct JoinHandle<T> {
    handle: std::thread::JoinHandle<Option<T>>,
    id: usize,
}

impl<T> JoinHandle<T> {
    /// Waits for the end of the thread, and gives its result.
    #[track_caller]
    pub fn join(self) -> std::thread::Result<T> {
        if let Some(Seat(run, me)) = seat() {
            let schedule = run.step(me, Location::caller(), STEP_NS, false);
            if !schedule.has_ended(self.id) {
                run.sleep(schedule, me, Event::End(self.id), None);
            }
        }
        self.handle.join().map(|result| result.expect("a run with a thread that has panicked goes on no more"))
    }
}

/// Starts a thread of the caller's run.
#[track_caller]
pub(crate) fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<JoinHandle<T>> {
    let Some(Seat(run, _)) = seat() else { panic!("threads are started within `interleave::explore`") };
    let at = Location::caller();
    let handle = run.begin(name, at, body)?;
    let id = locked(&run.threads).len() - 1;
    // What the caller has stored is seen there.
    fence(Ordering::SeqCst);
    Ok(JoinHandle { handle, id })
}

#[cfg(test)]
mod tests;
