//! Looking inside: `erts_debug` and `erts_internal` functions that answer for an emulator without the thing asked about.

use myriad_process::{Message, Payload};
use myriad_term::{Build, Term, am};
use myriad_vm::{BifResult, Ctx, Signal};
use std::io::Write;

myriad_vm::bifs! { pub DEBUG = "erts_debug" {
    "instructions" / 0 Plain => |_, _| Ok(Term::NIL);
    "interpreter_size" / 0 Plain => |_, _| Ok(Term::small(0));
    "disassemble" / 1 Plain => |_, _| Ok(Term::FALSE);
}}

myriad_vm::bifs! { pub INTERNAL_DEBUG = "erts_internal" {
    "process_display" / 2 Plain => process_display_2;
}}

/// Writes a process's stack to standard error: its own at once, another's in that process's thread, which tells by a message
/// `{Reference, true}` when it is done.
fn process_display_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(pid) = args[0].as_local_pid() else { return Ok(Term::atom(am::badarg)) };
    if !args[1].is_am(am::backtrace) {
        return Ok(Term::atom(am::badopt));
    }
    if pid == ctx.pid() {
        display(ctx);
        return Ok(Term::TRUE);
    }
    let (numbers, from) = (ctx.sched.next_ref(), ctx.pid());
    let call = Signal::Call(Box::new(move |ctx| {
        display(ctx);
        let answer = Payload::build(8, |draft| {
            let reference = draft.reference(numbers);
            draft.tuple(&[reference, Term::TRUE])
        });
        ctx.vm.signal_pid(from, Signal::Message(Message::new(answer, Term::NONE)));
    }));
    match ctx.vm.signal_pid(pid, call) {
        true => Ok(ctx.reference(numbers)),
        false => Ok(Term::atom(am::badarg)),
    }
}

fn display(ctx: &Ctx<'_>) {
    // In one piece, its lines ending as on a raw terminal. There is nowhere to report an error.
    let text = myriad_observe::stack::backtrace(ctx.vm.engine(), ctx.state).replace('\n', "\r\n");
    let _ = std::io::stderr().write_all(text.as_bytes());
}
