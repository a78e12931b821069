//! `trace_delivered/1`: a message that comes after all trace messages sent so far.
//!
//! Trace messages are sent by the thread that does what they report, straight into the tracer's queue. So the call waits until
//! every thread has finished the slice it is in: for thread progress.

use myriad_heap::Payload;
use myriad_process::Message;
use myriad_term::{Build, Pid, RefNumbers, Term, am};
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx, Signal, Vm};

/// The message, sent when this is dropped, by any thread.
struct Notice {
    vm: &'static Vm,
    to: Pid,
    whose: Term,
    reference: RefNumbers,
}

impl Drop for Notice {
    fn drop(&mut self) {
        let notice = Payload::build(12, |draft| {
            let reference = draft.reference(self.reference);
            draft.tuple(&[Term::atom(am::trace_delivered), self.whose, reference])
        });
        self.vm.signal_pid(self.to, Signal::Message(Message::new(notice, Term::NONE)));
    }
}

pub(super) fn trace_delivered_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let whose = args[0];
    if whose.as_local_pid().is_none() && !whose.is_am(am::all) {
        return badarg();
    }
    let numbers = ctx.sched.next_ref();
    let reference = ctx.reference(numbers);
    let notice = Notice { vm: ctx.vm, to: ctx.pid(), whose, reference: numbers };
    ctx.sched.slot.retire(move || drop(notice));
    Ok(reference)
}
