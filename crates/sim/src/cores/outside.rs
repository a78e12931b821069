//! The world outside of the simulated machine: clients that ask, events that wake who waits for them, and the I/O thread.
//!
//! A core that parks begins to wait in its poller, if it has descriptors (`sched::Readiness`), and takes what is there when it is up again. After each turn the driver asks which
//! pollers have events, as the system would end their threads' waits. The I/O thread is one more core, on the processor behind those of the schedulers, which the
//! report does not count: it has its turns when its poller has events, or its lists something to do.

use super::{Core, Cores, State};
use crate::clients;
use crate::clock::IoTurn;
use crate::machine::MOST_CORES;
use myriad_heap::meter;
use myriad_sched::Readiness;
use myriad_sync::cost;
use std::cmp::Reverse;

/// A call of the system that asks a poller (nanoseconds).
const POLL_NS: u64 = 1000;
/// The two calls that receive a request and send its answer. What they take in the kernel differs by machine and kind of socket; here it only keeps cores busy.
const EXCHANGE_NS: u64 = 4000;

/// What there is besides cores.
pub(super) struct Outside {
    io_turn: IoTurn,
    /// As whom the I/O thread accesses lines.
    place: usize,
    /// When its turn is over.
    busy_until: u64,
    /// Its next turn is in the agenda.
    is_due: bool,
}

impl Outside {
    /// For this machine, where the program has ports.
    pub(super) fn new(io_turn: IoTurn, schedulers: usize, places: usize) -> Outside {
        Outside { io_turn, place: schedulers.min(places - 1), busy_until: 0, is_due: false }
    }
}

/// The core begins to wait for its events, if it has some to wait for.
pub(super) fn begin_wait(readiness: Option<&dyn Readiness>, core: &mut Core, id: usize) {
    core.waits_outside = readiness.is_some_and(|readiness| readiness.begin_wait(id));
}

/// The core is up: it serves what it has waited for.
pub(super) fn end_wait(readiness: Option<&dyn Readiness>, core: &mut Core, id: usize) {
    if core.waits_outside
        && let Some(readiness) = readiness
    {
        readiness.end_wait(id);
    }
    core.scheduler.after_park(true);
    if std::mem::take(&mut core.waits_outside) {
        core.scheduler.serve();
    }
}

/// What the answers that have been sent in this turn took.
fn answers_ns(at: u64) -> u64 {
    clients::with(|clients| clients.take_answers(at)).unwrap_or(0) * EXCHANGE_NS
}

impl Cores<'_> {
    /// When a client asks, if that comes before anything else of the agenda does.
    pub(super) fn next_request(&self) -> Option<u64> {
        self.outside.as_ref()?;
        let asks = clients::with(|clients| clients.next())??;
        let first = self.agenda.peek().is_none_or(|Reverse((at, ..))| asks <= *at);
        first.then_some(asks)
    }

    /// A client asks.
    pub(super) fn ask(&mut self, at: u64) {
        self.pass_time(at);
        self.clock.set(at);
        clients::with(|clients| clients.ask());
        self.tell_of_events(at);
    }

    /// Has who waits for events that are there now serve them.
    pub(super) fn tell_of_events(&mut self, at: u64) {
        if self.outside.is_none() {
            return;
        }
        for id in self.clock.readiness().map(Readiness::ready).unwrap_or_default() {
            match self.cores.get(id) {
                Some(core) if core.waits_outside && matches!(core.state, State::Parked) => self.wake(at, id),
                Some(_) => {}
                None => self.wake_io_thread(at),
            }
        }
    }

    fn wake_io_thread(&mut self, at: u64) {
        let number = self.cores.len();
        let Some(outside) = &mut self.outside else { return };
        if !outside.is_due {
            outside.is_due = true;
            let up = if at < outside.busy_until { outside.busy_until } else { at + self.machine.wake_ns };
            self.agenda.push(Reverse((up, number, 0)));
        }
    }

    /// The turn of the I/O thread.
    pub(super) fn io_turn(&mut self, at: u64) {
        let number = self.cores.len().min(MOST_CORES - 1);
        let Some(outside) = &mut self.outside else { return };
        self.clock.set(at);
        outside.is_due = false;
        self.contention.begin(outside.place, at);
        myriad_sched::leave_scheduler();
        cost::run_on(number, self.contention, || (outside.io_turn)());
        let shared = self.contention.end();
        let worked = self.machine.costs.of(&meter::take(), 0, &mut Default::default());
        let took = shared.lines + shared.locks + worked.running + worked.messages + POLL_NS;
        outside.busy_until = at + took + answers_ns(at);
        self.deliver_wake_ups(at);
        self.tell_of_events(at);
    }

    /// What a core's calls of the system took in this step; `waited`: it has asked its poller.
    pub(super) fn calls_ns(&self, waited: bool) -> u64 {
        if self.outside.is_none() {
            return 0;
        }
        answers_ns(self.seen_ns) + if waited { POLL_NS } else { 0 }
    }
}
