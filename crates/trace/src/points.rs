//! What becomes of what the VM tells at its trace points.

use crate::{Tracing, collecting, event, life, messages, monitor, profile, running, saved_calls, sequential};
use myriad_process::{Message, Payload};
use myriad_term::{Atom, Mfa, Pid, Term, TermRef};
use myriad_vm::engine::SliceEnd;
use myriad_vm::tracer::{Activity, Collection, SpawnMessages, Tracer};
use myriad_vm::{Ctx, OwnerState, Process, Vm};

impl Tracer for Tracing {
    fn event(&self, ctx: &mut Ctx<'_>, flags: u32, tag: Atom, parts: &[TermRef<'_>]) {
        event::about(ctx, flags, tag, parts);
    }

    fn sends(&self, ctx: &mut Ctx<'_>, to: Term, message: Term) {
        messages::sent(ctx, to, message);
    }

    fn receives(&self, ctx: &mut Ctx<'_>, from: TermRef<'_>, message: &Message) {
        let from = sequential::Token::of(message.token()).map_or(from, |token| token.sender);
        messages::received(ctx, from, message.term());
    }

    fn spawns(&self, ctx: &mut Ctx<'_>, child: &Process, call: Mfa, args: &[Term], linked: bool) {
        life::spawned(ctx, child, call, args, linked);
    }

    fn saved_calls_end(&self, ctx: &mut Ctx<'_>) {
        saved_calls::set(ctx, 0);
    }

    fn slice_begins(&self, ctx: &mut Ctx<'_>) {
        running::slice_begins(ctx);
    }

    fn slice_ends(&self, ctx: &mut Ctx<'_>, end: SliceEnd) {
        running::slice_ends(ctx, end);
    }

    fn slice_took(&self, ctx: &mut Ctx<'_>, since_ns: u64, from: Option<Mfa>) {
        monitor::slice_took(ctx, since_ns, from);
    }

    fn collection_begins(&self, ctx: &mut Ctx<'_>, collection: &Collection, need: usize) {
        collecting::begins(ctx, collection, need);
    }

    fn collection_ends(&self, ctx: &mut Ctx<'_>, collection: &Collection) {
        collecting::ends(ctx, collection);
    }

    fn sends_with_token(&self, ctx: &mut Ctx<'_>, to: Term, message: Term, payload: Payload) -> Message {
        sequential::sent(ctx, to, message, payload)
    }

    fn exits_with_token(&self, ctx: &mut Ctx<'_>, to: Term, reason: Term) -> Option<Payload> {
        sequential::exited(ctx, to, reason)
    }

    fn spawns_with_token(
        &self,
        ctx: &mut Ctx<'_>,
        new: &mut OwnerState,
        child: Pid,
        messages: SpawnMessages<'_>,
    ) -> Option<Payload> {
        sequential::spawned(ctx, new, child, messages)
    }

    fn process_wakes(&self, vm: &'static Vm, process: &Process) {
        profile::process_wakes(vm, process);
    }

    fn process_changes(&self, ctx: &mut Ctx<'_>, activity: Activity) {
        profile::process_changes(ctx, activity);
    }

    fn scheduler_changes(&self, vm: &'static Vm, scheduler: usize, active: bool, awake: usize) {
        profile::scheduler(vm, scheduler, active, awake);
    }

    fn is_profiler(&self, pid: Pid) -> bool {
        self.profile.is_by(pid.term())
    }
}
