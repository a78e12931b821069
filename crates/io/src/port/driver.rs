//! Drivers: what is behind a port. A port calls its driver by one interface, [`Driver`], and knows nothing else of it; a driver acts by
//! the [`Context`] of the call. What is to be known before there is an instance is its [`DriverType`]; the table of these is `drivers.rs`.
//!
//! DR1. A driver is called under its port's lock, by one thread at a time, and waits for nothing. Only `open` may wait, where the type
//!      says so, and `stop`, where the instance does.
//! DR2. A driver that ends its port during a call ([`Context::exit`], [`Context::fail`]) is stopped when that call has returned.
//! DR3. [`Driver::begin`] is the first call. Between [`Driver::start`] and [`Driver::stop`] come all calls but those that output needs (`output`, `flush`), which may come
//!      before the start. After the stop there is none.

use super::backlog::{self, Limits};
use super::options::{Settings, Target};
use super::poll::{self, Watch};
use super::shared_lock::SharedLock;
use super::tell::Tell;
use super::{Common, Phase, Port, State, System, Task};
use crate::bytes::{Output, Piece};
use myriad_process::{Payload, TimerId};
use myriad_sync::Arc;
use myriad_sync::atomic::Ordering;
use myriad_term::{Atom, Pid, Term, am};
use myriad_vm::Vm;
use myriad_vm::timer::Action;
use myriad_vm::tracer::flags;
use rustix::io::Errno;
use std::any::Any;

/// An instance of a driver, behind one port.
pub trait Driver: Send + Any {
    /// The port has its place and is its opener's; `open_port/2` has not answered.
    ///
    /// # Errors
    /// The reason that `erts_internal:open_port/2` gives instead of the port, which is gone then, without a word to anyone.
    fn begin(&mut self, _: &mut Context<'_>) -> Result<(), Atom> {
        Ok(())
    }

    /// Does its opener wait, when `begin` has returned, until the driver says that it has begun ([`Context::begun`])?
    fn acknowledges_start(&self) -> bool {
        false
    }

    /// The port is there and its opener is linked to it: it may begin to take input.
    fn start(&mut self, _: &mut Context<'_>) {}

    /// `sender` sends these bytes out: those of one `command`.
    fn output(&mut self, port: &mut Context<'_>, sender: Pid, data: Piece);

    /// As `output`, for one that can send several pieces without putting them together.
    fn output_pieces(&mut self, port: &mut Context<'_>, sender: Pid, data: Output) {
        self.output(port, sender, data.into_one());
    }

    /// `port_control/3`: the bytes of the answer; nothing if there is no such operation.
    fn control(&mut self, _: &mut Context<'_>, _caller: Pid, _operation: u32, _data: &[u8]) -> Option<Vec<u8>> {
        None
    }

    /// Has it operations of `control` at all?
    fn has_control(&self) -> bool {
        true
    }

    /// Has it operations of `call` at all?
    fn has_call(&self) -> bool {
        false
    }

    /// Are the answers of `control` binaries? Else they are lists of bytes.
    fn answers_in_binaries(&self) -> bool {
        false
    }

    /// `port_call/3`: question and answer are terms in the external format; nothing if there is no such operation.
    fn call(&mut self, _: &mut Context<'_>, _caller: Pid, _operation: u32, _data: &[u8]) -> Option<Vec<u8>> {
        None
    }

    /// A descriptor has input, or its end. `hung_up`: it is known that the end is there behind it. `buffer` is for the time of the call.
    fn ready_input(&mut self, _: &mut Context<'_>, _hung_up: bool, _buffer: &mut [u8]) {}

    /// A descriptor takes output again.
    fn ready_output(&mut self, _: &mut Context<'_>) {}

    /// The time of a timer is over ([`Context::set_timer`]). If that still counts, [`Context::timed_out`] is called first.
    fn timeout(&mut self, _: &mut Context<'_>, _timer: u64) {}

    /// The port is at home with another poller: what it has armed is to [follow](Context::follow).
    fn moved(&mut self, _: &mut Context<'_>) {}

    /// The program that it has started ([`Opened::os_pid`]) has ended with this exit status.
    fn program_ended(&mut self, _: &mut Context<'_>, _status: i32) {}

    /// The port closes, or the VM halts: writes what it keeps back, and if the port is not open, takes no more input. While there is
    /// something [queued](Driver::queued) then, the port stays.
    fn flush(&mut self, _: &mut Context<'_>) {}

    /// The port is gone: gives back what it has.
    fn stop(&mut self, _: &mut Context<'_>) {}

    /// Does it answer at once who has it write so many bytes? Only for drivers that answer by `{inet_reply, Port, Result}`.
    fn answers_at_once(&self, _: usize) -> bool {
        false
    }

    /// May [`Driver::stop`] wait, against DR1, because the program has asked for that? Then the port is closed on a dirty I/O scheduler.
    fn stop_waits(&self) -> bool {
        false
    }

    /// What `{inet_async, Port, Number, Answer}` would answer at once who asks it to receive so many bytes (0: a packet); nothing, and nothing is
    /// done, if it would not be at once.
    fn receive_at_once(&mut self, _: &mut Context<'_>, _caller: Pid, _length: u32) -> Option<Payload> {
        None
    }

    /// Bytes of output that are not written yet.
    fn queued(&self) -> usize {
        0
    }

    /// Bytes that it holds beside those.
    fn memory(&self) -> usize {
        0
    }

    /// The processes that it monitors.
    fn monitors(&self) -> Vec<Pid> {
        Vec::new()
    }

    /// The lock that its port shares with other ports of the driver. Asked for once, when the port is made.
    fn shared_lock(&self) -> Option<Arc<SharedLock>> {
        None
    }

    /// Does its input come from where the VM's own comes from?
    fn reads_standard_input(&self) -> bool {
        false
    }
}

/// A driver, as it is known before a port is opened on it.
pub struct DriverType {
    /// The first word of what `open_port/2` is asked for.
    pub(super) name: &'static str,
    /// Makes an instance; `Err`: the reason that `erts_internal:open_port/2` gives.
    pub(super) open: fn(&Target, &Settings) -> Result<Opened, Atom>,
    /// To open one keeps the thread: it is done on a dirty I/O scheduler.
    pub(super) open_blocks: bool,
    /// It takes output in pieces: of so many bytes a binary stands for itself.
    pub(super) apart: Option<usize>,
    /// It says itself when its port is busy ([`Context::set_busy`]): what is queued does not.
    pub(super) sets_busy: bool,
    /// Output can be forced on a busy port.
    pub(super) soft_busy: bool,
    /// Its port is the system's: processes cannot end it.
    pub(super) of_system: bool,
    /// OTP has it and this VM lacks it.
    pub(super) is_absent: bool,
    /// Limits of the queues of its ports, unless `open_port/2` is asked for others.
    pub(super) queue_limits: Limits,
    /// What a crash dump says of its ports.
    pub(super) description: &'static str,
}

/// An instance, with what its port shows of it.
pub struct Opened {
    /// The instance.
    pub driver: Box<dyn Driver>,
    /// The port's name, as `port_info/2` shows it.
    pub name: Vec<u8>,
    /// The program that it has started.
    pub os_pid: Option<u32>,
}

/// Finds a driver by its name, if there is one that is not built in.
pub type Finder = fn(&[u8]) -> Option<&'static DriverType>;

impl DriverType {
    /// Most have nothing special.
    pub const fn new(name: &'static str, open: fn(&Target, &Settings) -> Result<Opened, Atom>) -> DriverType {
        let description = "Port controls linked-in driver";
        DriverType {
            name,
            open,
            open_blocks: false,
            apart: None,
            sets_busy: false,
            soft_busy: false,
            of_system: false,
            is_absent: false,
            queue_limits: backlog::DEFAULT,
            description,
        }
    }

    /// One that says itself when its port is busy, and whether output can be forced on it then.
    pub const fn that_sets_busy(self, soft_busy: bool) -> DriverType {
        DriverType { sets_busy: true, soft_busy, ..self }
    }

    /// One that takes output in pieces, where a binary of so many bytes stands for itself.
    pub const fn that_takes_pieces(self, apart: usize) -> DriverType {
        DriverType { apart: Some(apart), ..self }
    }

    /// One whose ports' queues are never full.
    pub const fn without_queue_limits(self) -> DriverType {
        DriverType { queue_limits: Limits::NONE, ..self }
    }

    /// One that OTP has and this VM lacks: opening it fails, rather than run a program of that name.
    pub(super) const fn absent(name: &'static str) -> DriverType {
        DriverType { is_absent: true, ..DriverType::new(name, |_, _| Err(am::badarg)) }
    }
}

/// How a port ends that its driver ends.
enum End {
    /// An immediate term.
    Exit(Term),
    Failed(Errno),
}

/// By what a driver acts while it is called: its port, which is locked.
pub struct Context<'a> {
    pub(super) system: &'static System,
    pub(super) port: &'a Port,
    pub(super) common: &'a mut Common,
    end: Option<End>,
}

impl Context<'_> {
    /// The process that gets what comes in.
    pub fn owner(&self) -> Pid {
        self.common.owner
    }

    /// Has that process ended, or does it end?
    pub(super) fn owner_is_gone(&self) -> bool {
        !self.system.lives(self.owner())
    }

    /// Is the port open?
    pub fn is_open(&self) -> bool {
        self.common.is_open()
    }

    /// Sends the owner a message.
    pub(super) fn tell_owner(&self, what: Tell<'_>) {
        self.tell(self.owner(), what);
    }

    /// Sends a process a message.
    pub(super) fn tell(&self, to: Pid, what: Tell<'_>) {
        self.port.tell(self.system, to, what);
    }

    /// Counts bytes that have come in: before the owner gets them.
    pub fn count_input(&mut self, bytes: usize) {
        self.common.input += bytes as u64;
        self.system.traffic.read(bytes);
    }

    /// Waits until a descriptor is ready, which a call of [`Driver::ready_input`] or [`Driver::ready_output`] tells.
    pub(super) fn arm(&self, watch: &mut Watch) -> Result<(), Errno> {
        poll::arm(self.system, watch, self.port.id, self.common.home)
    }

    /// In [`Driver::moved`]: waits there now for what is told of without being armed again. What waits to be told once is told where it was.
    pub(super) fn follow(&mut self, watch: &mut Watch) {
        if watch.tells_by_itself()
            && let Err(errno) = self.arm(watch)
        {
            self.fail(errno);
        }
    }

    /// After so many milliseconds [`Driver::timeout`] is called with this number, if the port is still there.
    pub fn set_timer(&self, after_ms: u64, timer: u64) -> TimerId {
        let (vm, port) = (self.system.vm, self.port.id);
        let at_ns = vm.platform.now_ns().saturating_add(after_ms.saturating_mul(1_000_000));
        let expire = move |vm: &'static Vm| {
            if let Some(system) = System::of(vm)
                && let Some(port) = system.get(port)
            {
                port.perform(system, None, Task::Other, move |system, port| {
                    port.with_driver(system, |driver, context| driver.timeout(context, timer));
                });
            }
        };
        let id = vm.timers.reserve(myriad_sched::current().unwrap_or(0));
        vm.set_timer(id, at_ns, Action::Call(Box::new(expire)));
        id
    }

    /// What a timer was set for is over.
    pub fn timed_out(&self) {
        self.port.trace(self.system, flags::RECEIVE, am::receive, &[am::timeout.term()]);
    }

    /// Takes a timer back, unless it has gone off.
    pub fn cancel_timer(&self, timer: TimerId) {
        self.system.vm.timers.cancel(timer);
    }

    /// Makes the port busy, or lets those go on who wait for it.
    pub fn set_busy(&mut self, busy: bool) {
        self.common.busy = busy;
        if !busy {
            self.port.wake_waiters(self.system, self.common);
        }
    }

    /// The driver has begun: its opener is given the port. Or not: its opener is given the reason, and no exit signal, and the port ends.
    pub fn begun(&mut self, outcome: Result<(), Atom>) {
        if self.common.rare.get().is_none_or(|rare| rare.opener.is_none()) {
            return;
        }
        if outcome.is_err() {
            self.unlink_owner();
            self.exit(am::normal);
        }
        let answer = outcome.map_or_else(Term::atom, |()| self.port.id.term());
        self.port.answer_opener(self.system, self.common, answer);
    }

    /// The driver has used so many hundredths of a slice, 1 to 100. Is it over?
    pub fn use_slice(&self, hundredths: u32) -> bool {
        let hundredths = hundredths.clamp(1, 100);
        // Relaxed: under the port's lock.
        self.port.slice.fetch_add(hundredths, Ordering::Relaxed) + hundredths >= 100
    }

    /// The limits of the port's queue of operations.
    pub fn queue_limits(&self) -> Limits {
        self.port.backlog.limits()
    }

    /// Gives the queue other limits.
    pub fn set_queue_limits(&self, limits: Limits) {
        self.system.wake(self.port.backlog.set_limits(limits));
    }

    /// Has [`Driver::ready_output`] and [`Driver::ready_input`] called again, after what waits for the port by now.
    pub fn again(&self) {
        poll::call_again(self.system, self.port);
    }

    /// Takes the link to the owner back: it is told otherwise of the end of the port.
    pub fn unlink_owner(&mut self) {
        let (owner, port) = (self.owner(), self.port.id.term());
        if self.common.links.remove(owner) {
            let unlink = move |ctx: &mut myriad_vm::Ctx<'_>| {
                ctx.state.relations.drop_link(port);
            };
            self.system.signal(owner, myriad_vm::Signal::Call(Box::new(unlink)));
        }
    }

    /// Ends the port for this reason (DR2).
    pub fn exit(&mut self, reason: Atom) {
        self.end.get_or_insert(End::Exit(reason.term()));
    }

    /// Ends the port for a number (DR2).
    pub fn exit_for(&mut self, reason: i32) {
        self.end.get_or_insert(End::Exit(Term::small(i64::from(reason))));
    }

    /// Ends the port because input or output has failed (DR2).
    pub fn fail(&mut self, errno: Errno) {
        self.end.get_or_insert(End::Failed(errno));
    }
}

impl Port {
    /// Lets the driver begin; if it does not want to, the port is gone.
    pub(super) fn begin_driver(&self, system: &'static System) -> Result<(), Atom> {
        let mut state = self.lock();
        let begun = self.call_driver(system, &mut state, |driver, context| driver.begin(context));
        if begun.is_err() {
            self.gone(system, &mut state);
        }
        begun
    }

    /// Calls the driver, and does what it has asked for then (DR2).
    pub(super) fn call_driver<T>(
        &self,
        system: &'static System,
        state: &mut State,
        call: impl FnOnce(&mut dyn Driver, &mut Context<'_>) -> T,
    ) -> T {
        let State { common, driver } = &mut *state;
        let mut context = Context { system, port: self, common, end: None };
        if let Some(home) = system.poll.pollers.new_home(context.common.home, system.vm.schedulers.active()) {
            (context.common.home, context.common.taken) = (home, 0);
            driver.moved(&mut context);
        }
        let result = call(&mut **driver, &mut context);
        let end = context.end;
        match end {
            // What has kept it may be written now.
            None if state.common.phase == Phase::Closing && state.driver.queued() == 0 => self.gone(system, state),
            None => {}
            Some(End::Exit(reason)) => self.exit(system, state, reason, false),
            Some(End::Failed(errno)) => self.fail(system, state, errno),
        }
        result
    }

    /// In the port's turn: calls the driver, unless the port is gone by now (DR3). The caller does not hold the port.
    pub(super) fn with_driver(&self, system: &'static System, call: impl FnOnce(&mut dyn Driver, &mut Context<'_>)) {
        let mut state = self.lock();
        if !state.common.is_gone() {
            self.call_driver(system, &mut state, call);
        }
    }
}
