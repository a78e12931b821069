//! Reports of the emulator itself to the logger, in OTP's words: a process that ends by an error that it did not catch, a heap that
//! outgrew its limit.

use crate::Signal;
use crate::ctx::Ctx;
use myriad_heap::{Draft, MaxHeapExceeded, Payload};
use myriad_process::{Message, Named};
use myriad_term::{Build, Term, TermRef, am};

/// Most terms of a reason that is printed without the logger.
const REPORT_LIMIT: usize = 2000;

const CRASHED: &str = "Error in process ~p with exit value:~n~p~n";
const HEAP: &str = "     Process:            ~p ~n     Context:            maximum heap size reached~n     \
    Max Heap Size:      ~p~n     Total Heap Size:    ~p~n     Kill:               ~p~n     Error Logger:       ~p~n     \
    Message Queue Len:  ~p~n     GC Info:            ~p~n";

/// Sends `{log, error, Format, Arguments, Metadata}` to the system logger, which is the process registered as `logger` unless
/// someone has set another; `false` if there is none.
fn send(ctx: &Ctx<'_>, format: &str, arguments: impl for<'b> FnOnce(&mut Draft<'b>) -> TermRef<'b>) -> bool {
    let system_logger = ctx.vm.defaults.system_logger();
    if system_logger.is_am(am::undefined) {
        return true;
    }
    let named = || match ctx.vm.names.whereis(am::logger) {
        Some(Named::Process(logger)) => Some(logger),
        _ => None,
    };
    let Some(logger) = system_logger.as_local_pid().or_else(named) else { return false };
    let atom = Term::atom;
    // Not in the process's own heap, which may be at its limit.
    let report = Payload::build(256, |draft| {
        let arguments = arguments(draft);
        let format = draft.string(format);
        let leader = myriad_heap::copy_term(ctx.state.group_leader, draft);
        let time = draft.int(ctx.vm.platform.system_ns() / 1000);
        let kind = [(atom(am::tag), atom(am::error)), (atom(am::emulator), Term::TRUE)];
        let kind = myriad_term::map::from_pairs(draft, &kind);
        let pid = ctx.pid().term();
        let metadata =
            [(atom(am::error_logger), kind), (atom(am::gl), leader), (atom(am::pid), pid), (atom(am::time), time)];
        let metadata = myriad_term::map::from_pairs(draft, &metadata);
        draft.tuple(&[atom(am::log), atom(am::error), format, arguments, metadata])
    });
    ctx.vm.signal_pid(logger, Signal::Message(Message::new(report, Term::NONE)));
    true
}

/// A line of text; dropped if there is no logger.
pub fn line(ctx: &Ctx<'_>, text: &str) {
    send(ctx, "~s~n", |f| {
        let text = f.string(text);
        f.list(&[text])
    });
}

/// The process ends by an error that it did not catch.
pub fn crashed(ctx: &mut Ctx<'_>, reason: Term) {
    let pid = ctx.pid().term();
    let sent = send(ctx, CRASHED, |f| {
        let reason = myriad_heap::copy_term(reason, f);
        f.list(&[pid, reason])
    });
    if !sent {
        // Before the logger runs, and after: straight to standard error.
        let pid = myriad_term::print::pid_text(pid);
        eprintln!("Error in process {pid} with exit value:\n{}\n", myriad_term::print::text(reason, REPORT_LIMIT));
    }
}

/// The heap has reached its limit.
pub(crate) fn heap_exceeded(ctx: &Ctx<'_>, exceeded: &MaxHeapExceeded) {
    let limit = ctx.state.heap.max_heap_size();
    if !limit.error_logger {
        return;
    }
    let number = |n: usize| Term::small(n as i64);
    let (pid, queue) = (ctx.pid().term(), ctx.state.messages.len());
    let told = exceeded.info.named();
    send(ctx, HEAP, |f| {
        let items: Vec<_> = told.iter().map(|(name, n)| f.tuple(&[name.term(), number(*n)])).collect();
        let items = f.list(&items);
        f.list(&[
            pid,
            number(limit.size),
            number(exceeded.total_words),
            Term::bool(limit.kill),
            Term::TRUE,
            number(queue),
            items,
        ])
    });
}
