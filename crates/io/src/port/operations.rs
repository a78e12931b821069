//! Operations on ports: who wants one does it itself if the port is free and nothing waits for it; else it is left, and done in its turn by a
//! scheduler that has the port as a job in its run queue (`sync::Turn`, `sched::jobs`).
//!
//! OP1. Operations of one process, or of one descriptor, are done in the order in which it has asked for them (sync.turn/TU2).
//!      While one of a process's is parked (`commands.rs`), so are those that it leaves after that.
//! OP2. A port that is gone is in no run queue: what is still left for it is done by who finds so, for that only says that there is no port.
//! OP3. With the option `parallelism` processes leave their operations where several schedulers are active: they go on at once.

use super::{Command, Common, Operation, Port, State, System, Task, Work};
use myriad_heap::Draft;
use myriad_process::{Message, Payload};
use myriad_sched::Job;
use myriad_sync::ToSchedule;
use myriad_sync::atomic::Ordering;
use myriad_term::{Build, Pid, RefNumbers, Term, TermRef};
use myriad_trace::running;
use myriad_vm::bif::BifResult;
use myriad_vm::{Ctx, Signal};

/// Reductions that an operation counts for: what one call of a process costs it.
const COST: u32 = 100;
/// A port gives way when its operations have cost so many.
const TURN: u32 = 2000;
/// Of a process's slice.
pub(super) const SLICE: u32 = 4000;

/// What the caller of a built-in is answered: the value, and how many words it may take in a message.
pub(super) trait Answer: Send {
    /// Builds it.
    fn build<'h, B: Build<'h>>(self, memory: &mut B) -> TermRef<'h>;
    /// Words that it takes, about.
    fn words(&self) -> usize;
}

impl Answer for Term {
    fn build<'h, B: Build<'h>>(self, _: &mut B) -> TermRef<'h> {
        debug_assert!(self.is_immediate(), "it stands in no heap");
        self
    }

    fn words(&self) -> usize {
        0
    }
}

impl Port {
    /// Does something, for a process or for none, as soon as it is the port's turn: now, if possible.
    pub(super) fn perform(
        &self,
        system: &'static System,
        by: Option<Pid>,
        task: Task,
        operation: impl FnOnce(&'static System, &Port) + Send + 'static,
    ) {
        if self.turn.begin() && self.keep_turn(system, by.is_some()) {
            self.trace_in(system, task);
            operation(system, self);
            self.end(system);
        } else {
            self.leave(system, by, operation);
        }
    }

    /// Is a process to do an operation itself, now? Then [`Port::end_for`] must follow.
    #[inline]
    pub(super) fn begin_for(&self, ctx: &Ctx<'_>, system: &'static System, task: Task) -> bool {
        // OP3
        let is_left = self.parallelism && system.vm.schedulers.active() > 1;
        let begun = !is_left && self.turn.begin() && self.keep_turn(system, true);
        if begun {
            running::stands_aside(ctx, true);
            self.trace_in(system, task);
        }
        begun
    }

    /// The operation that a process has begun is done.
    #[inline]
    pub(super) fn end_for(&self, ctx: &Ctx<'_>, system: &'static System) {
        self.end(system);
        running::stands_aside(ctx, false);
    }

    /// Gives the turn that was begun back where a process might overtake what is parked (OP1).
    #[inline]
    fn keep_turn(&self, system: &'static System, by_process: bool) -> bool {
        // Relaxed: written in the port's turn.
        let keeps = !by_process || self.parked.load(Ordering::Relaxed) == 0;
        if !keeps {
            self.end(system);
        }
        keeps
    }

    /// The operation that was begun is done.
    #[inline]
    pub(super) fn end(&self, system: &'static System) {
        self.take_slice(0);
        self.trace_out(system);
        if self.turn.end() == ToSchedule(true) {
            self.schedule(system);
        }
    }

    /// The part of a slice of so many reductions that the driver has used since this was asked for last, in reductions.
    #[inline]
    pub(super) fn take_slice(&self, slice: u32) -> u32 {
        // Relaxed: written in the port's turn; out of turn a driver's use may count for another's.
        match self.slice.load(Ordering::Relaxed) {
            0 => 0,
            used => {
                self.slice.store(0, Ordering::Relaxed);
                slice * used.min(100) / 100
            }
        }
    }

    /// Gives the process that waits for the driver to begin an answer.
    pub(super) fn answer_opener(&self, system: &System, common: &mut Common, answer: Term) {
        if let Some((opener, reference)) = common.rare.present().and_then(|rare| rare.opener.take()) {
            reply(system, opener, reference, 0, |_| answer);
        }
    }

    /// Leaves an operation, of a process or of none.
    pub(super) fn leave(
        &self,
        system: &'static System,
        by: Option<Pid>,
        operation: impl FnOnce(&'static System, &Port) + Send + 'static,
    ) {
        self.put(system, Operation { by, work: Work::Any(Box::new(operation)) });
    }

    /// Leaves a command, which counts for the limits of the queue.
    pub(super) fn leave_command(&self, system: &'static System, command: Command) {
        self.backlog.add(command.bytes());
        self.put(system, command.into());
    }

    fn put(&self, system: &'static System, operation: Operation) {
        if self.turn.leave(operation) == ToSchedule(true) {
            self.schedule(system);
        }
    }

    /// Has the caller's built-in answered by what `work` gives, at once or by the message `{Reference, Answer}`, for which OTP's `erlang` waits.
    pub(super) fn ask<A: Answer>(
        &self,
        ctx: &mut Ctx<'_>,
        system: &'static System,
        task: Task,
        work: impl FnOnce(&'static System, &Port, Pid) -> A + Send + 'static,
    ) -> BifResult {
        let caller = ctx.pid();
        if self.begin_for(ctx, system, task) {
            let answer = work(system, self, caller);
            ctx.bump(self.take_slice(SLICE) as usize);
            self.end_for(ctx, system);
            return Ok(answer.build(ctx));
        }
        let reference = ctx.sched.next_ref();
        let operation = move |system: &'static System, port: &Port| {
            let answer = work(system, port, caller);
            reply(system, caller, reference, answer.words(), |draft| answer.build(draft));
        };
        self.leave(system, Some(caller), operation);
        Ok(ctx.reference(reference))
    }

    /// Puts it in a run queue, or does what is left (OP2).
    #[cold]
    fn schedule(&self, system: &'static System) {
        if self.lock().common.is_gone() {
            self.turn.take();
            while let Some(operation) = self.turn.next() {
                self.operate(system, operation);
            }
            return;
        }
        self.enqueue(system);
    }

    /// Puts it in a run queue.
    pub(super) fn enqueue(&self, system: &'static System) {
        let id = self.id;
        system.vm.schedulers.enqueue_job(Job::new(move || system.get(id).map_or(0, |port| port.run(system))));
    }

    /// Does what is left, or some of it; gives the reductions.
    fn run(&self, system: &'static System) -> u32 {
        let _work = self.works(system);
        self.turn.take();
        let mut used = 0;
        while let Some(operation) = self.next_left(system) {
            self.operate(system, operation);
            used += COST + self.take_slice(TURN);
            if used >= TURN {
                self.trace_out(system);
                self.turn.give_way();
                self.schedule(system);
                break;
            }
        }
        used
    }

    /// The next operation that was left; with the last one the turn is over.
    fn next_left(&self, system: &'static System) -> Option<Operation> {
        if self.is_told_in() && self.turn.is_empty() {
            self.trace_out(system);
        }
        let operation = self.turn.next()?;
        if !self.is_told_in() {
            self.trace_in(system, Task::Other);
        }
        Some(operation)
    }

    /// Does an operation that was left, or parks it.
    fn operate(&self, system: &'static System, operation: Operation) {
        let Some(operation) = self.park_if_behind(operation) else { return };
        match operation.work {
            Work::Any(work) => work(system, self),
            Work::Command(command) => command.send_in_turn(self, system),
        }
    }
}

/// Answers a built-in that has gone on: `{Reference, Answer}`.
pub(super) fn reply(
    system: &System,
    to: Pid,
    reference: RefNumbers,
    words: usize,
    answer: impl for<'b> FnOnce(&mut Draft<'b>) -> TermRef<'b>,
) {
    let message = Payload::build(words + 16, |draft| {
        let answer = answer(draft);
        let reference = draft.reference(reference);
        draft.tuple(&[reference, answer])
    });
    system.signal(to, Signal::Message(Message::new(message, Term::NONE)));
}

/// What is seen of a port that is not gone.
pub(super) fn seen<T>(port: &Port, look: impl FnOnce(&State) -> T) -> Option<T> {
    let state = port.lock();
    (!state.common.is_gone()).then(|| look(&state))
}
