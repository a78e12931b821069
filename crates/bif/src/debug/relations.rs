//! `erts_debug:get_internal_state({link_list, Pid})` and `{monitor_list, Pid}`: what a process knows of its links and monitors, as
//! the records that OTP's tests read.
//!
//! The process asked answers, as with any other question about it.

use myriad_heap::{Draft, Payload};
use myriad_process::Message;
use myriad_process::links::{Link, Tables, Target};
use myriad_term::{Build, Pid, RefNumbers, Term, TermRef, am};
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx, Signal};

/// What is asked for.
pub(super) type List = for<'b> fn(&Tables, &mut Draft<'b>) -> Vec<TermRef<'b>>;

/// Asks a process; `[]` from one that is gone.
pub(super) fn ask(ctx: &mut Ctx<'_>, pid: Term, list: List) -> BifResult {
    let Some(pid) = pid.as_local_pid() else { return badarg() };
    let reference = ctx.make_ref();
    let Some(numbers) = reference.as_local_ref() else { return badarg() };
    let from = ctx.pid();
    let question = Signal::Call(Box::new(move |ctx| answer(ctx, from, numbers, list)));
    if ctx.ask(pid, question) { crate::process::await_result(ctx, reference) } else { Ok(Term::NIL) }
}

fn answer(ctx: &mut Ctx<'_>, to: Pid, reference: RefNumbers, list: List) {
    let answer = Payload::build(64, |draft| {
        let all = ctx.state.relations.get().map(|tables| list(tables, draft)).unwrap_or_default();
        let all = draft.list(&all);
        let reference = draft.reference(reference);
        draft.tuple(&[reference, all])
    });
    ctx.signal_to(to, Signal::Message(Message::new(answer, Term::NONE)));
}

/// `{erl_link, process | port, Other, linked | unlinking, Id}` each.
pub(super) fn links<'b>(tables: &Tables, memory: &mut Draft<'b>) -> Vec<TermRef<'b>> {
    let one = |(other, link): &(Term, Link)| {
        let kind = if other.is_port() { am::port } else { am::process };
        let (state, id) = match link {
            Link::Active => (am::linked, Term::small(0)),
            Link::Unlinking(id) => (am::unlinking, memory.uint(*id)),
        };
        memory.tuple(&[am::erl_link.term(), kind.term(), *other, state.term(), id])
    };
    tables.links.values().map(one).collect()
}

/// `{erl_monitor, process | port | time_offset | suspend, origin | target, Reference | [], Other, Name | []}` each.
pub(super) fn monitors<'b>(tables: &Tables, memory: &mut Draft<'b>) -> Vec<TermRef<'b>> {
    let mut all = Vec::new();
    let mut tell =
        |kind: myriad_term::Atom, from: myriad_term::Atom, reference: Option<RefNumbers>, other, name: Term| {
            let reference = reference.map_or(Term::NIL, |numbers| memory.reference(numbers));
            let name = if name.is_some() { name } else { Term::NIL };
            all.push(memory.tuple(&[am::erl_monitor.term(), kind.term(), from.term(), reference, other, name]));
        };
    for (reference, monitor) in &tables.monitors {
        let (kind, other) = match monitor.target {
            Target::Process(pid) => (am::process, pid.term()),
            Target::Port(port) => (am::port, port.term()),
            Target::TimeOffset => (am::time_offset, am::clock_service.term()),
            Target::Gone | Target::GonePort => continue,
        };
        tell(kind, am::origin, Some(*reference), other, monitor.name);
    }
    for (reference, watcher) in &tables.watchers {
        tell(am::process, am::target, Some(*reference), watcher.from.term(), watcher.name);
    }
    for pid in tables.suspending.keys() {
        tell(am::suspend, am::origin, None, pid.term(), Term::NONE);
    }
    all
}
