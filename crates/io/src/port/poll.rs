//! Waiting until file descriptors are ready or programs have ended, and calling the ports then.
//!
//! Each scheduler has a *poller* of its own (`poller.rs`), and so has the I/O thread. A port is at *home* with one of them: its descriptors
//! are registered there (`watch.rs`), once and edge-triggered where that can be. A scheduler without work waits in its own poller, so in a dialogue with the world
//! outside no other thread has to be woken, and schedulers share nothing that an event writes. One that has no descriptors sleeps by its parker, which costs less to end.
//!
//! W1. Who meets the events of a scheduler: itself, when it waits for them because it has nothing to run; itself, looking each 100 us between two slices, as long as it has
//!     not been busy for longer than 2 ms, as in a burst of requests; and after that the I/O thread, which waits for them as well (W2), until the scheduler waits again. One
//!     that ends no slice in that time is seen to by the lookout (`sched::lookout`) if there is an idle scheduler, else its events wait for the end of the slice.
//! W2. Each scheduler's poller is registered in that of the I/O thread; the scheduler switches on, when it is busy, and off, before it waits, that the I/O thread waits for it
//!     there. So the I/O thread sees that there are events, and takes them from the scheduler's poller. An event is given to one of the two: whoever takes it first.
//! W3. A thread that is woken while it waits is interrupted through its poller's `wake`, whose every write is an event ([`OutsideWait`](myriad_sync::OutsideWait)).
//!     The I/O thread that takes such an event from a scheduler's poller passes it on if need be.
//! W4. A port moves: when its home is a scheduler that is not active, and its driver is called, as for the next event that comes there, then it is at home with one that is
//!     (so where few are active they meet all events, and the others sleep); when a scheduler that is not busy itself calls its driver while the I/O thread waits for its home too, then the port is at home with that scheduler from now on; and when
//!     the I/O thread has taken some events of it from a scheduler's poller, with the I/O thread. What is in the hands of another thread by then is still served there; the port's turn decides.
//! W5. A scheduler looks whether it has descriptors, and sleeps by its parker if not. Who registers the first one of another scheduler wakes it afterwards.
//! W6. Before it waits, the I/O thread rests where all schedulers are busy and many processes wait for each: one that an event makes runnable would wait behind them, and to be
//!     woken for each event by itself would cost a change of threads that the schedulers pay for. It rests for as long as the shortest turns of those that wait take, and
//!     not longer than a millisecond; a scheduler without work ends that, and so does who tells the thread something.
//!
//! At home with the I/O thread are signals, standard input at boot, and what dirty schedulers and private threads arm.
//! In the sequential VM there is no such thread, and one poller: its scheduler waits there, looks at it while it is busy, and does the I/O
//! thread's lists each time (`CAN_SPAWN` is false).
//!
//! What epoll does not take (regular files and some devices) is always ready: its keys stand in a list that the I/O thread goes
//! through without waiting, one step of each port at a time.
//!
//! What was not done: one poller for all, whose post idle schedulers take in turn, as it was: an event lay for a millisecond while no thread
//! waited, and one thread met the events of all. To look at the poller between slices for as long as the scheduler is busy: each look is a call of the system, and where all schedulers are
//! busy, an answer took 200 us in the place of 50. The I/O thread after 100 us already: in bursts of small HTTP requests its share of the VM's processor
//! time was 9 %. An idle scheduler in the place of the I/O thread: to enter and to leave that place are two calls for each wait.

mod poller;
mod pollers;
mod programs;
mod watch;

use self::poller::Poller;
use self::programs::{PROGRAM, Programs};
use self::watch::{Armed, BOTH};
use super::{Port, System, Task};
use myriad_sched::Readiness;
use myriad_sched::microstate::{State, within};
use myriad_sync::atomic::{AtomicBool, Ordering};
use myriad_sync::thread::CAN_SPAWN;
use myriad_sync::{Arc, LockClass, Mutex, Parker};
use myriad_term::Port as PortId;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::io::Errno;
use std::cell::RefCell;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

pub(super) use pollers::Pollers;
pub(super) use watch::Side;
pub(crate) use watch::Watch;

static READY_CLASS: LockClass = LockClass::new("poll_ready", 360);
static LATER_CLASS: LockClass = LockClass::new("poll_later", 370);
static PROGRAMS_CLASS: LockClass = LockClass::new("poll_children", 350);
static CALLS_CLASS: LockClass = LockClass::new("poll_calls", 355);

/// Marks what is called when a descriptor is readable.
const CALL: u64 = 1 << 61;
/// Marks the keys of [`Sockets`].
const SOCKET: u64 = 1 << 59;
/// So many events of a port the I/O thread takes from a scheduler's poller before the port moves to its own (W4).
const TAKEN: u8 = 16;
/// The I/O thread rests where so many processes or more wait for each active scheduler, for each of them so long, and not longer than that in all (W6).
const LONG_QUEUE: usize = 16;
const TURN: Duration = Duration::from_micros(10);
const MOST_REST: Duration = Duration::from_millis(1);
/// As much as OTP reads at a time.
const READ: usize = 64 << 10;

/// What a port's descriptor is ready for.
#[derive(Clone, Copy, Debug)]
struct Ready {
    input: bool,
    output: bool,
    /// The end of the input is known to be there.
    hung_up: bool,
}

/// What has to be done where no port's lock is held.
type Job = Box<dyn FnOnce(&'static System) + Send>;

/// What is done when a descriptor is readable.
type Call = Arc<dyn Fn() + Send + Sync>;

/// What threads wait for, and what the I/O thread does besides.
pub(super) struct Poll {
    /// In which they wait.
    pub(super) pollers: Pollers,
    /// How the I/O thread is told that there is something in its lists.
    thread: Parker,
    /// It rests (W6).
    rests: AtomicBool,
    ready: Mutex<Vec<u64>>,
    later: Mutex<Vec<Job>>,
    programs: Programs,
    /// Descriptors that are waited for until the VM ends.
    calls: Mutex<Vec<(OwnedFd, Call)>>,
}

/// What one thread waits and reads with.
struct Hands {
    events: Vec<Event>,
    buffer: Vec<u8>,
}

thread_local! {
    static HANDS: RefCell<Hands> = const { RefCell::new(Hands { events: Vec::new(), buffer: Vec::new() }) };
}

impl Poll {
    /// In the I/O thread, whose turn may wait or not: rests for that time first, if for any, so that events come together whose processes would have to wait anyhow (W6).
    /// May it still wait? Not if it was told of something meanwhile.
    fn may_wait(&self, may_wait: bool, rest: impl FnOnce() -> Option<Duration>) -> bool {
        // A rest is a wait, too: where time is not the machine's, nobody rests.
        if !may_wait {
            return false;
        }
        let Some(time) = rest() else { return true };
        // Relaxed: a scheduler that does not see it lets the thread rest to its end.
        self.rests.store(true, Ordering::Relaxed);
        let was_told = self.thread.park(Some(time));
        // Relaxed: a scheduler that still sees it wakes the thread once for nothing.
        self.rests.store(false, Ordering::Relaxed);
        !was_told
    }

    /// A scheduler has nothing to run: the I/O thread rests no longer (W6).
    fn end_rest(&self) {
        // Relaxed: as in `may_wait`.
        if self.rests.load(Ordering::Relaxed) {
            self.thread.unpark();
        }
    }

    /// For so many schedulers.
    ///
    /// # Errors
    ///
    /// Of the system, when it has no descriptor or memory left.
    pub(super) fn new(schedulers: usize) -> Result<Poll, Errno> {
        Ok(Poll {
            pollers: Pollers::new(schedulers)?,
            thread: Parker::new(),
            rests: AtomicBool::new(false),
            ready: Mutex::new(&READY_CLASS, Vec::new()),
            later: Mutex::new(&LATER_CLASS, Vec::new()),
            programs: Programs::new(&PROGRAMS_CLASS),
            calls: Mutex::new(&CALLS_CLASS, Vec::new()),
        })
    }

    /// Has the I/O thread do this soon; what is asked for in turn is done in turn.
    pub(super) fn later(&self, job: impl FnOnce(&'static System) + Send + 'static) {
        self.later.lock().push(Box::new(job));
        self.notify();
    }

    /// Has the I/O thread look at its lists.
    fn notify(&self) {
        self.thread.unpark();
        self.pollers.common.interrupt();
    }

    /// Does the I/O thread, or the one that stands for it, have something to do besides waiting?
    fn has_lists(&self) -> bool {
        !self.ready.lock().is_empty() || !self.later.lock().is_empty()
    }

    /// Adds a descriptor that is waited for until the VM ends.
    fn call_when_readable(&self, descriptor: OwnedFd, call: Call) -> io::Result<()> {
        let mut calls = self.calls.lock();
        let key = EventData::new_u64(CALL | calls.len() as u64);
        epoll::add(&self.pollers.common.epoll, &descriptor, key, EventFlags::IN)?;
        calls.push((descriptor, call));
        Ok(())
    }

    fn call(&self, index: usize) {
        let call = self.calls.lock().get(index).map(|(_, call)| call.clone());
        if let Some(call) = call {
            call();
        }
    }

    /// Waits in this poller, and keeps the events for [`serve`].
    fn wait(&self, poller: &Poller, timeout: Option<Duration>) {
        HANDS.with(|hands| {
            let Ok(mut hands) = hands.try_borrow_mut() else { return };
            hands.events.clear();
            self.pollers.wait(poller, timeout, &mut hands.events);
        });
    }
}

/// How long the I/O thread rests before it waits, if it does (W6).
fn rest(system: &System) -> Option<Duration> {
    let schedulers = &system.vm.schedulers;
    let waiting: usize = schedulers.iter().map(|queue| queue.len()).sum();
    rest_of(waiting / schedulers.active().max(1)).filter(|_| !schedulers.has_idle())
}

/// As [`rest`], where all schedulers are busy and so many processes wait for each.
fn rest_of(each: usize) -> Option<Duration> {
    (each >= LONG_QUEUE).then(|| TURN.saturating_mul(u32::try_from(each).unwrap_or(u32::MAX)).min(MOST_REST))
}

fn port_ready(system: &'static System, key: u64, flags: EventFlags, buffer: &mut [u8]) {
    let Some(port) = system.get(PortId::from_number((key & !BOTH) >> 1)) else { return };
    let over = EventFlags::HUP | EventFlags::ERR;
    let ready = if key & BOTH == 0 {
        Ready { input: key & 1 == 0, output: key & 1 == 1, hung_up: flags.intersects(over | EventFlags::RDHUP) }
    } else {
        Ready {
            input: flags.intersects(over | EventFlags::IN | EventFlags::RDHUP),
            output: flags.intersects(over | EventFlags::OUT),
            hung_up: flags.intersects(over | EventFlags::RDHUP),
        }
    };
    if port.turn.begin() {
        port.trace_in(system, Task::Other);
        port.ready(system, ready, buffer);
        port.end(system);
    } else {
        let operation = move |system, port: &Port| with_buffer(|buffer| port.ready(system, ready, buffer));
        port.leave(system, None, operation);
    }
}

/// The sockets that belong to no port, by the numbers that they are armed with.
pub(crate) trait Sockets: Send + Sync {
    /// One of them is ready for this.
    fn ready(&self, system: &'static System, number: u64, input: bool, output: bool);
}

fn socket_ready(system: &'static System, number: u64, flags: EventFlags) {
    let over = EventFlags::HUP | EventFlags::ERR;
    let (input, output) = (over | EventFlags::IN | EventFlags::RDHUP, over | EventFlags::OUT);
    system.sockets.ready(system, number, flags.intersects(input), flags.intersects(output));
}

/// Calls a port's driver as if its descriptor were ready, after what is left to be done for the port by now.
pub(super) fn call_again(system: &'static System, port: &Port) {
    let ready = Ready { input: true, output: true, hung_up: false };
    let operation = move |system, port: &Port| with_buffer(|buffer| port.ready(system, ready, buffer));
    port.leave(system, None, operation);
}

/// Lends the thread's buffer.
pub(crate) fn with_buffer<R>(work: impl FnOnce(&mut [u8]) -> R) -> R {
    HANDS.with(|hands| match hands.try_borrow_mut() {
        Ok(mut hands) => {
            hands.buffer.resize(READ, 0);
            work(&mut hands.buffer)
        }
        // The thread serves events: it is in use.
        Err(_) => work(&mut vec![0; READ]),
    })
}

impl Port {
    /// In the port's turn: a descriptor is ready.
    fn ready(&self, system: &'static System, ready: Ready, buffer: &mut [u8]) {
        let _work = self.works(system);
        if CAN_SPAWN && myriad_sched::current().is_none() {
            self.count_taken(system);
        }
        if ready.output {
            self.writable(system);
        }
        if ready.input {
            self.with_driver(system, |driver, context| driver.ready_input(context, ready.hung_up, buffer));
        }
    }
}

/// A program has ended, or it is time to ask.
///
/// What it has left is told first: that it takes no more output may be known to another poller, or not be served yet.
fn look_at_program(system: &'static System, key: u64) {
    let poll = &system.poll;
    if let Some((port, status)) = poll.programs.ended(&poll.pollers, key)
        && let Some(port) = system.get(port)
    {
        port.perform(system, None, Task::Other, move |system, port| {
            port.writable(system);
            port.with_driver(system, |driver, context| driver.program_ended(context, status));
        });
    }
}

/// Waits for the end of a program that a port has started, where the port is at home.
///
/// # Errors
///
/// Of the system, when it has no descriptor or memory left.
pub(super) fn watch_program(system: &System, port: &Port, pid: u32) -> Result<(), Errno> {
    let home = port.lock().common.home;
    system.poll.programs.watch(system.vm, &system.poll.pollers, home, port.id, pid)
}

/// Waits until a descriptor of a port is ready, once, or from now on.
///
/// # Errors
///
/// As [`Watch::arm`].
pub(super) fn arm(system: &System, watch: &mut Watch, port: PortId, home: usize) -> Result<(), Errno> {
    let poll = &system.poll;
    if let Armed::Ready(key) = watch.arm(system.vm, &poll.pollers, port, home)? {
        poll.ready.lock().push(key);
        poll.notify();
    }
    Ok(())
}

/// As [`arm`], of a socket that belongs to no port: tells that of this number ([`Sockets`]).
///
/// # Errors
///
/// As [`Watch::arm`].
pub(crate) fn arm_socket(system: &System, watch: &mut Watch, number: u64) -> Result<(), Errno> {
    let pollers = &system.poll.pollers;
    let before = watch.is_polled();
    // It never is always ready.
    let armed = watch.arm_as(system.vm, pollers, SOCKET | number, pollers.here()).map(drop);
    if watch.is_polled() && !before {
        // Relaxed: a statistic.
        pollers.sockets.fetch_add(1, Ordering::Relaxed);
    }
    armed
}

/// Ends waiting for a socket that belongs to no port, and closes it.
pub(crate) fn close_socket(system: &System, watch: Watch) {
    if watch.is_polled() {
        // Relaxed: a statistic.
        system.poll.pollers.sockets.fetch_sub(1, Ordering::Relaxed);
    }
    watch.close(&system.poll.pollers);
}

impl Port {
    /// The I/O thread has taken an event of it (W4).
    fn count_taken(&self, system: &'static System) {
        let mut state = self.lock();
        let (home, common) = (system.poll.pollers.of_io_thread(), &mut state.common);
        if common.home == home || common.is_gone() {
            return;
        }
        common.taken += 1;
        if common.taken >= TAKEN {
            (common.home, common.taken) = (home, 0);
            self.call_driver(system, &mut state, |driver, context| driver.moved(context));
        }
    }
}

/// Tells the ports of the events that this thread's wait has met.
fn serve(system: &'static System) {
    HANDS.with(|hands| {
        let Ok(mut hands) = hands.try_borrow_mut() else { return };
        let Hands { events, buffer } = &mut *hands;
        if events.is_empty() {
            return;
        }
        buffer.resize(READ, 0);
        for event in events.drain(..) {
            let key = event.data.u64();
            if key & PROGRAM != 0 {
                look_at_program(system, key);
            } else if key & CALL != 0 {
                system.poll.call((key & !CALL) as usize);
            } else if key & SOCKET != 0 {
                socket_ready(system, key & !SOCKET, event.flags);
            } else {
                port_ready(system, key, event.flags, buffer);
            }
        }
    });
}

/// Does what the I/O thread has been asked for, and one step of each port that is always ready.
fn serve_lists(system: &'static System) {
    let jobs = std::mem::take(&mut *system.poll.later.lock());
    for job in jobs {
        job(system);
    }
    let ready = std::mem::take(&mut *system.poll.ready.lock());
    if ready.is_empty() {
        return;
    }
    HANDS.with(|hands| {
        let Ok(mut hands) = hands.try_borrow_mut() else { return };
        hands.buffer.resize(READ, 0);
        for key in ready {
            port_ready(system, key, EventFlags::empty(), &mut hands.buffer);
        }
    });
}

/// Lets output go on for a moment, while its caller waits for it.
pub(super) fn let_write(system: &'static System, time: Duration) {
    if CAN_SPAWN {
        myriad_sync::thread::sleep(time);
    } else {
        system.poll.wait(&system.poll.pollers.common, Some(time));
        serve(system);
        serve_lists(system);
    }
}

/// What idle schedulers wait with.
pub(super) struct Waiting(pub(super) &'static System);

impl Readiness for Waiting {
    fn wait(&self, scheduler: usize, timeout: Option<Duration>, was_woken: &dyn Fn() -> bool) -> bool {
        let poll = &self.0.poll;
        poll.end_rest();
        let Some(poller) = poll.pollers.waited_in_by(scheduler).filter(|poller| !CAN_SPAWN || poller.has_any()) else {
            return false;
        };
        poller.keep(&poll.pollers.common, scheduler);
        let timeout = if !CAN_SPAWN && poll.has_lists() { Some(Duration::ZERO) } else { timeout };
        let outside = poller.wait.begin();
        if !was_woken() {
            poll.wait(poller, timeout);
        }
        drop(outside);
        // What it was woken for it finds now.
        was_woken();
        true
    }

    fn begin_wait(&self, scheduler: usize) -> bool {
        let pollers = &self.0.poll.pollers;
        let Some(poller) = pollers.waited_in_by(scheduler).filter(|poller| poller.has_any()) else { return false };
        poller.keep(&pollers.common, scheduler);
        // Until `end_wait`.
        std::mem::forget(poller.wait.begin());
        true
    }

    fn end_wait(&self, scheduler: usize) {
        let poll = &self.0.poll;
        if let Some(poller) = poll.pollers.waited_in_by(scheduler) {
            poll.wait(poller, Some(Duration::ZERO));
            poller.wait.end();
        }
    }

    fn ready(&self) -> Vec<usize> {
        let poll = &self.0.poll;
        let mut ready = poll.pollers.ready();
        if poll.has_lists() && ready.last() != Some(&poll.pollers.of_io_thread()) {
            ready.push(poll.pollers.of_io_thread());
        }
        ready
    }

    fn wake(&self, scheduler: usize) {
        if let Some(poller) = self.0.poll.pollers.waited_in_by(scheduler) {
            poller.interrupt();
        }
    }

    fn serve(&self) -> bool {
        let any = HANDS.with(|hands| hands.try_borrow().is_ok_and(|hands| !hands.events.is_empty()));
        let lists = !CAN_SPAWN && self.0.poll.has_lists();
        if any || lists {
            let _io = within(State::CheckIo);
            serve(self.0);
            if lists {
                serve_lists(self.0);
            }
        }
        any || lists
    }

    fn look_at_events(&self, scheduler: usize) {
        let poll = &self.0.poll;
        if let Some(poller) = poll.pollers.waited_in_by(scheduler).filter(|poller| !CAN_SPAWN || poller.has_any()) {
            poll.wait(poller, Some(Duration::ZERO));
            self.serve();
        }
    }

    fn meet_events(&self, scheduler: usize) {
        let poll = &self.0.poll;
        if let Some(poller) = poll.pollers.waited_in_by(scheduler).filter(|_| CAN_SPAWN) {
            poller.share(&poll.pollers.common, scheduler);
        }
    }

    fn may_miss_events(&self, scheduler: usize) -> bool {
        let poller = self.0.poll.pollers.waited_in_by(scheduler);
        poller.is_some_and(|poller| poller.has_any() && !poller.wait.is_on() && !poller.is_shared())
    }

    fn call_when_readable(&self, descriptor: OwnedFd, call: Box<dyn Fn() + Send + Sync>) -> io::Result<()> {
        self.0.poll.call_when_readable(descriptor, call.into())
    }
}

/// Starts the thread, where there can be one and the platform does not give it its turns.
pub(super) fn start(system: &'static System) -> Result<(), String> {
    if !CAN_SPAWN {
        return Ok(());
    }
    let slot = system.vm.progress.register().ok_or("too many threads")?;
    let turn = move |may_wait: bool| {
        let poll = &system.poll;
        slot.park();
        let may_wait = poll.may_wait(may_wait, || rest(system));
        let busy = !may_wait || !poll.ready.lock().is_empty();
        let outside = poll.pollers.common.wait.begin();
        if !poll.thread.take_notice() || !may_wait {
            poll.wait(&poll.pollers.common, busy.then_some(Duration::ZERO));
        }
        drop(outside);
        slot.unpark();
        serve(system);
        serve_lists(system);
        slot.quiescent();
    };
    let Some(mut turn) = system.vm.platform.take_io_turns(Box::new(turn)) else { return Ok(()) };
    let body = move || {
        system.vm.adopt_thread();
        system.vm.account_thread(system.vm.microstates.poll_thread(), State::CheckIo);
        while !system.vm.schedulers.is_stopping() {
            turn(true);
        }
    };
    myriad_sync::thread::spawn("io_poll", body).map(drop).map_err(|e| format!("cannot start the I/O thread: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_queues_have_the_io_thread_rest_but_not_for_long() {
        assert_eq!(rest_of(LONG_QUEUE - 1), None);
        assert_eq!(rest_of(LONG_QUEUE), Some(TURN * 16));
        assert_eq!((rest_of(1000), rest_of(usize::MAX)), (Some(MOST_REST), Some(MOST_REST)));
    }

    /// So that none of a simulated machine's turns, which may not wait, takes real time.
    #[test]
    fn a_turn_that_may_not_wait_does_not_rest() {
        let poll = Poll::new(1).unwrap();
        assert!(!poll.may_wait(false, || unreachable!("it rests")));
        assert!(poll.may_wait(true, || None) && poll.may_wait(true, || Some(TURN)));
        poll.notify();
        assert!(!poll.may_wait(true, || Some(Duration::from_secs(3600))), "it was told of something");
    }
}
