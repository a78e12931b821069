//! Waiting until file descriptors are ready or programs have ended, and calling the ports then.
//!
//! One thread at a time waits in `epoll_wait`: the *waiter*. As long as little comes, that is the I/O thread. When it meets
//! events while schedulers are idle, it leaves the post to them: a scheduler about to park then waits there instead, and
//! in a dialogue with a program no other thread has to be woken (OTP's schedulers poll for the same reason). The I/O thread
//! looks in now and then. If it finds no thread waiting, the schedulers are busy, and it waits itself again; if nothing has come for
//! a while, it takes the post back, so that an idle VM sleeps. A scheduler that sleeps already does not come for the post: after
//! events that gave no process a message, so that no scheduler is about to park, the I/O thread waits again itself (a large packet
//! comes in many parts, and the process gets a message with the last).
//!
//! W1. While no thread waits, the I/O thread sleeps for GRACE at most: that long an event may be left lying.
//! W2. A scheduler that is woken while it waits is interrupted through `wake`, whose every write is an event. It takes the post
//!     before it looks whether it was woken; its waker looks afterwards which thread has the post. [`LeaderSlot`] has the protocol.
//! W3. The thread that has waited serves the events. Two threads may be about one port: its lock decides.
//!
//! In the sequential VM there is no I/O thread. Its scheduler waits here whenever it parks, looks without waiting now and then while it
//! is busy, and does the I/O thread's lists each time (`CAN_SPAWN` is false).
//!
//! What epoll does not take (regular files and some devices) is always ready: its keys stand in a list that the I/O thread goes
//! through without waiting, one step of each port at a time.

use super::{Port, System};
use myriad_sched::Readiness;
use myriad_sched::microstate::{State, within};
use myriad_sync::atomic::{AtomicBool, Ordering};
use myriad_sync::thread::CAN_SPAWN;
use myriad_sync::{Arc, LeaderSlot, LockClass, Mutex, Parker};
use myriad_term::Port as PortId;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

static READY_CLASS: LockClass = LockClass::new("poll_ready", 360);
static LATER_CLASS: LockClass = LockClass::new("poll_later", 370);
static CHILDREN_CLASS: LockClass = LockClass::new("poll_children", 350);
static CALLS_CLASS: LockClass = LockClass::new("poll_calls", 355);

/// Marks the keys of programs.
const CHILD: u64 = 1 << 62;
/// Marks what is called when a descriptor is readable.
const CALL: u64 = 1 << 61;
/// Marks the keys of descriptors that are waited for in both directions.
const BOTH: u64 = 1 << 60;
/// Marks the keys of [`Sockets`].
const SOCKET: u64 = 1 << 59;
/// The key of [`Poll::wake`].
const WAKE: u64 = u64::MAX;
/// How long there may be no waiter (W1).
const GRACE: Duration = Duration::from_millis(1);
/// The I/O thread takes the post back when schedulers have waited for this many times GRACE and met no event.
const QUIET: u32 = 20;
/// How often a program is asked whether it has ended, where nothing tells of it (Linux before 5.3, valgrind).
const ASKED: Duration = Duration::from_millis(10);
/// Most events taken at a time.
const EVENTS: usize = 32;
/// As much as OTP reads at a time.
const READ: usize = 64 << 10;

/// The waiter as a number: the I/O thread, or a scheduler (its number and [`SCHEDULERS`]).
const IO_THREAD: usize = 0;
const SCHEDULERS: usize = 1;

/// Which side of a port a file descriptor is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    Input,
    Output,
    Both,
}

/// What a port's descriptor is ready for.
#[derive(Clone, Copy, Debug)]
struct Ready {
    input: bool,
    output: bool,
    /// The end of the input is known to be there.
    hung_up: bool,
}

/// A program that runs.
struct Child {
    pid: u32,
    port: PortId,
    /// Ready when it has ended, or, where there are no descriptors of processes, every [`ASKED`].
    handle: OwnedFd,
}

/// What has to be done where no port's lock is held.
type Job = Box<dyn FnOnce(&'static System) + Send>;

/// What is done when a descriptor is readable.
type Call = Arc<dyn Fn() + Send + Sync>;

/// What the waiter waits for.
pub(super) struct Poll {
    epoll: OwnedFd,
    /// An `eventfd`, edge-triggered and never read: each write ends the waiter's wait.
    wake: OwnedFd,
    /// The waiter's post.
    post: LeaderSlot,
    /// Where the I/O thread sleeps while schedulers wait.
    thread: Parker,
    /// May schedulers wait?
    lent: AtomicBool,
    /// Schedulers have met events since the I/O thread last looked.
    met: AtomicBool,
    ready: Mutex<Vec<u64>>,
    later: Mutex<Vec<Job>>,
    children: Mutex<(u64, HashMap<u64, Child>)>,
    /// Descriptors that are waited for until the VM ends.
    calls: Mutex<Vec<(OwnedFd, Call)>>,
}

/// A file descriptor that is waited for at times.
pub(crate) struct Watch {
    fd: OwnedFd,
    side: Side,
    /// Waited for all the time: an event for each time that it becomes ready.
    edge: bool,
    state: Registered,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Registered {
    No,
    Yes,
    /// Not in epoll: always ready.
    Always,
}

/// What one thread waits and reads with.
struct Hands {
    events: Vec<Event>,
    buffer: Vec<u8>,
}

thread_local! {
    static HANDS: RefCell<Hands> = const { RefCell::new(Hands { events: Vec::new(), buffer: Vec::new() }) };
    /// Has this thread told a process of anything since it last asked?
    static TOLD: Cell<bool> = const { Cell::new(false) };
}

/// This thread has told a process of something, which may wake a scheduler.
pub(super) fn told() {
    TOLD.set(true);
}

fn key_of(port: PortId, side: Side) -> u64 {
    match side {
        Side::Input => port.number() << 1,
        Side::Output => port.number() << 1 | 1,
        Side::Both => port.number() << 1 | BOTH,
    }
}

impl Watch {
    /// For a file descriptor, not waited for yet.
    pub(super) fn new(fd: OwnedFd, side: Side) -> Watch {
        Watch { fd, side, edge: false, state: Registered::No }
    }

    /// For reading from a non-blocking pipe: once armed it need not be armed again after it has been seen empty.
    pub(super) fn of_pipe(fd: OwnedFd) -> Watch {
        Watch { edge: true, ..Watch::new(fd, Side::Input) }
    }

    /// For a non-blocking socket, which need be armed once only. With `output`, both directions are told of.
    pub(crate) fn of_socket(fd: OwnedFd, output: bool) -> Watch {
        Watch { edge: true, ..Watch::new(fd, if output { Side::Both } else { Side::Input }) }
    }

    /// The file descriptor.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Does it report what comes without being armed again, once it has been seen empty?
    pub(crate) fn tells_by_itself(&self) -> bool {
        self.edge && self.state == Registered::Yes
    }

    /// Waits until it is ready, once, or from now on, and tells this port.
    pub(super) fn arm(&mut self, system: &System, port: PortId) -> io::Result<()> {
        self.arm_as(system, key_of(port, self.side))
    }

    /// As [`Watch::arm`]; tells the socket of this number ([`Sockets`]).
    pub(crate) fn arm_socket(&mut self, system: &System, number: u64) -> io::Result<()> {
        self.arm_as(system, SOCKET | number)
    }

    fn arm_as(&mut self, system: &System, key: u64) -> io::Result<()> {
        let poll = &system.poll;
        let side = match self.side {
            Side::Input => EventFlags::IN | EventFlags::RDHUP,
            Side::Output => EventFlags::OUT,
            Side::Both => EventFlags::IN | EventFlags::RDHUP | EventFlags::OUT,
        };
        let flags = side | if self.edge { EventFlags::ET } else { EventFlags::ONESHOT };
        match self.state {
            Registered::Yes => return Ok(epoll::modify(&poll.epoll, &self.fd, EventData::new_u64(key), flags)?),
            Registered::Always => {}
            Registered::No => match epoll::add(&poll.epoll, &self.fd, EventData::new_u64(key), flags) {
                Ok(()) => {
                    self.state = Registered::Yes;
                    return Ok(());
                }
                // Another port has the same descriptor (`fd` of `gen_udp`): the latest is told, as in OTP.
                Err(Errno::EXIST) => {
                    epoll::modify(&poll.epoll, &self.fd, EventData::new_u64(key), flags)?;
                    self.state = Registered::Yes;
                    return Ok(());
                }
                Err(Errno::PERM) => self.state = Registered::Always,
                Err(errno) => return Err(errno.into()),
            },
        }
        poll.ready.lock().push(key);
        poll.notify();
        Ok(())
    }

    /// Waits no more, and closes it.
    pub(crate) fn close(self, system: &System) {
        if self.state == Registered::Yes {
            // It is registered; and if that fails, closing ends it too, but for copies of the descriptor.
            let _ = epoll::delete(&system.poll.epoll, &self.fd);
        }
    }
}

impl Poll {
    pub(super) fn new() -> io::Result<Poll> {
        let poll = Poll {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            post: LeaderSlot::new(),
            thread: Parker::new(),
            lent: AtomicBool::new(!CAN_SPAWN),
            met: AtomicBool::new(false),
            ready: Mutex::new(&READY_CLASS, Vec::new()),
            later: Mutex::new(&LATER_CLASS, Vec::new()),
            children: Mutex::new(&CHILDREN_CLASS, (0, HashMap::new())),
            calls: Mutex::new(&CALLS_CLASS, Vec::new()),
        };
        epoll::add(&poll.epoll, &poll.wake, EventData::new_u64(WAKE), EventFlags::IN | EventFlags::ET)?;
        Ok(poll)
    }

    /// Has the I/O thread do this soon; what is asked for in turn is done in turn.
    pub(super) fn later(&self, job: impl FnOnce(&'static System) + Send + 'static) {
        self.later.lock().push(Box::new(job));
        self.notify();
    }

    /// Has the I/O thread look at its lists.
    fn notify(&self) {
        self.thread.unpark();
        self.interrupt(IO_THREAD);
    }

    /// Ends the wait of this one, which was marked as woken before, if it is the waiter (W2).
    fn interrupt(&self, who: usize) {
        if self.post.is_led_by(who) {
            // It can only fail when the counter is full, after 2^64 writes.
            let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
        }
    }

    /// The I/O thread has no use for the post while schedulers hold it: sleeps a little.
    fn look_in(&self, quiet: &mut u32) {
        let sleep = within(State::Sleep);
        self.thread.park(Some(GRACE));
        drop(sleep);
        // Relaxed: a hint.
        *quiet = if self.met.swap(false, Ordering::Relaxed) { 0 } else { *quiet + 1 };
        if *quiet >= QUIET {
            // Relaxed: a waiter that has not seen it yet is interrupted the next time.
            self.lent.store(false, Ordering::Relaxed);
            self.post.leader().into_iter().for_each(|who| self.interrupt(who));
        }
    }

    /// Does the I/O thread, or the one that stands for it, have something to do besides waiting?
    fn has_lists(&self) -> bool {
        !self.ready.lock().is_empty() || !self.later.lock().is_empty()
    }

    /// Adds a descriptor that is waited for until the VM ends.
    fn call_when_readable(&self, descriptor: OwnedFd, call: Call) -> io::Result<()> {
        let mut calls = self.calls.lock();
        let key = EventData::new_u64(CALL | calls.len() as u64);
        epoll::add(&self.epoll, &descriptor, key, EventFlags::IN)?;
        calls.push((descriptor, call));
        Ok(())
    }

    fn call(&self, index: usize) {
        let call = self.calls.lock().get(index).map(|(_, call)| call.clone());
        if let Some(call) = call {
            call();
        }
    }

    /// Waits; whether there were events besides a wake-up is the answer.
    fn wait(&self, timeout: Option<Duration>) -> bool {
        HANDS.with(|hands| {
            let Ok(mut hands) = hands.try_borrow_mut() else { return false };
            hands.events.clear();
            hands.events.reserve(EVENTS);
            let spare = rustix::buffer::spare_capacity(&mut hands.events);
            let looks = timeout.is_some_and(|timeout| timeout.is_zero());
            let state = within(if looks { State::CheckIo } else { State::Sleep });
            let waited = epoll_wait(self.epoll.as_fd(), spare, timeout);
            drop(state);
            match waited {
                Ok(_) | Err(Errno::INTR) => {}
                // Nothing else can fail; a moment's rest keeps it from filling a processor.
                Err(_) => myriad_sync::thread::sleep(Duration::from_millis(1)),
            }
            hands.events.retain(|event| event.data.u64() != WAKE);
            !hands.events.is_empty()
        })
    }
}

fn epoll_wait(
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

/// Waits for the end of a program that a port has started.
pub(super) fn watch_child(system: &System, port: PortId, pid: u32) -> io::Result<()> {
    let Some(process) = rustix::process::Pid::from_raw(pid as i32) else { return Ok(()) };
    let handle =
        rustix::process::pidfd_open(process, rustix::process::PidfdFlags::empty()).or_else(|_| ticks(ASKED))?;
    let mut children = system.poll.children.lock();
    children.0 += 1;
    let key = CHILD | children.0;
    epoll::add(&system.poll.epoll, &handle, EventData::new_u64(key), EventFlags::IN | EventFlags::ET)?;
    children.1.insert(key, Child { pid, port, handle });
    Ok(())
}

/// A descriptor that becomes readable again and again, this far apart.
fn ticks(apart: Duration) -> Result<OwnedFd, Errno> {
    use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
    let apart = rustix::time::Timespec { tv_sec: 0, tv_nsec: i64::from(apart.subsec_nanos()) };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &Itimerspec { it_interval: apart, it_value: apart })?;
    Ok(timer)
}

/// A timer's next interval begins when the timer is read.
fn begin_next_tick(timer: &OwnedFd) {
    // What it tells, how many intervals have passed, is of no interest.
    let _ = rustix::io::read(timer, &mut [0u8; 8]);
}

/// The exit status of a program, as the shell counts it: 128 and the signal if one has ended it. `None`: it runs.
fn reap(pid: u32) -> Option<i32> {
    let mut status = 0;
    loop {
        // SAFETY: looks at our own child; writes only to `status`.
        let got = unsafe { libc::waitpid(pid as i32, &raw mut status, libc::WNOHANG) };
        if got == pid as i32 {
            break;
        }
        if got == 0 {
            return None;
        }
        if io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            // Another part of the program has reaped it: its exit status is lost.
            return Some(0);
        }
    }
    if libc::WIFEXITED(status) {
        Some(libc::WEXITSTATUS(status))
    } else if libc::WIFSIGNALED(status) {
        Some(128 + libc::WTERMSIG(status))
    } else {
        Some(0)
    }
}

/// A program has ended, or it is time to ask.
fn look_at_child(system: &'static System, key: u64) {
    let mut children = system.poll.children.lock();
    let Some(child) = children.1.get(&key) else { return };
    let status = reap(child.pid);
    if status.is_none() {
        begin_next_tick(&child.handle);
    }
    let ended = status.and_then(|status| Some((children.1.remove(&key)?, status)));
    drop(children);
    if let Some((child, status)) = ended {
        let _ = epoll::delete(&system.poll.epoll, &child.handle);
        if let Some(port) = system.get(child.port) {
            port.perform(system, move |system, port| {
                port.with_driver(system, |driver, context| driver.program_ended(context, status));
            });
        }
    }
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
        port.ready(system, ready, buffer);
        port.end(system);
    } else {
        let operation = move |system, port: &Port| with_buffer(|buffer| port.ready(system, ready, buffer));
        port.leave(system, Box::new(operation));
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
    port.leave(system, Box::new(operation));
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
        if ready.output {
            self.writable(system);
        }
        if ready.input {
            self.with_driver(system, |driver, context| driver.ready_input(context, ready.hung_up, buffer));
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
            if key & CHILD != 0 {
                look_at_child(system, key);
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
        system.poll.wait(Some(time));
        serve(system);
        serve_lists(system);
    }
}

/// What idle schedulers wait with.
pub(super) struct Waiting(pub(super) &'static System);

impl Readiness for Waiting {
    fn wait(&self, scheduler: usize, timeout: Option<Duration>, was_woken: &dyn Fn() -> bool) -> bool {
        let poll = &self.0.poll;
        // Relaxed: a hint.
        if !poll.lent.load(Ordering::Relaxed) {
            return false;
        }
        let Some(post) = poll.post.try_lead(SCHEDULERS + scheduler) else { return false };
        let timeout = if !CAN_SPAWN && poll.has_lists() { Some(Duration::ZERO) } else { timeout };
        let met = !was_woken() && poll.wait(timeout);
        drop(post);
        if met {
            // Relaxed: a hint.
            poll.met.store(true, Ordering::Relaxed);
        }
        // What it was woken for it finds now.
        was_woken();
        true
    }

    fn wake(&self, scheduler: usize) {
        self.0.poll.interrupt(SCHEDULERS + scheduler);
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

    fn poll(&self) {
        self.0.poll.wait(Some(Duration::ZERO));
        self.serve();
    }

    fn call_when_readable(&self, descriptor: OwnedFd, call: Box<dyn Fn() + Send + Sync>) -> io::Result<()> {
        self.0.poll.call_when_readable(descriptor, call.into())
    }
}

/// Starts the thread, where there can be one.
pub(super) fn start(system: &'static System) -> Result<(), String> {
    if !CAN_SPAWN {
        return Ok(());
    }
    let slot = system.vm.progress.register().ok_or("too many threads")?;
    let body = move || {
        let poll = &system.poll;
        system.vm.adopt_thread();
        system.vm.account_thread(system.vm.microstates.poll_thread(), State::CheckIo);
        let mut quiet = 0;
        while !system.vm.schedulers.is_stopping() {
            slot.park();
            let busy = !poll.ready.lock().is_empty();
            let post = poll.post.try_lead(IO_THREAD);
            let waits = post.is_some();
            if waits {
                let met = !poll.thread.take_notice() && poll.wait(busy.then_some(Duration::ZERO));
                if met {
                    quiet = 0;
                    // Relaxed: a hint. Busy schedulers would let events lie.
                    poll.lent.store(system.vm.schedulers.has_idle(), Ordering::Relaxed);
                }
            }
            drop(post);
            slot.unpark();
            serve(system);
            serve_lists(system);
            slot.quiescent();
            let told = TOLD.replace(false);
            // If another thread waits, this one looks in; after it has waited itself, it does so if a scheduler may come for the post.
            // Relaxed: a hint.
            if !busy && (told || !waits) && poll.lent.load(Ordering::Relaxed) {
                slot.park();
                poll.look_in(&mut quiet);
                slot.unpark();
            }
        }
    };
    myriad_sync::thread::spawn("io_poll", body).map(drop).map_err(|e| format!("cannot start the I/O thread: {e}"))
}

#[cfg(test)]
mod tests {
    use super::{Event, EventData, EventFlags, begin_next_tick, epoll, epoll_wait, reap, ticks};
    use rustix::event::epoll::CreateFlags;
    use std::os::fd::AsFd;
    use std::process::Command;
    use std::time::Duration;

    #[test]
    fn a_program_is_asked_until_it_has_ended() {
        let epoll = epoll::create(CreateFlags::CLOEXEC).unwrap();
        let timer = ticks(Duration::from_millis(1)).unwrap();
        epoll::add(&epoll, &timer, EventData::new_u64(7), EventFlags::IN | EventFlags::ET).unwrap();
        let program = Command::new("sh").args(["-c", "read line; exit 3"]).stdin(std::process::Stdio::piped()).spawn();
        let mut program = program.unwrap();
        assert_eq!(reap(program.id()), None, "it waits for its input");
        drop(program.stdin.take());
        let mut events: Vec<Event> = Vec::with_capacity(4);
        let status = (0..10_000).find_map(|_| {
            events.clear();
            let room = rustix::buffer::spare_capacity(&mut events);
            assert_eq!(epoll_wait(epoll.as_fd(), room, Some(Duration::from_secs(10))), Ok(1));
            begin_next_tick(&timer);
            reap(program.id())
        });
        assert_eq!(status, Some(3));
        assert_eq!(reap(program.id()), Some(0), "somebody else has reaped it");
        assert!(program.wait().is_err(), "nothing is left to wait for");
    }
}
