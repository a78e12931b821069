//! The report of a process that ends by an error that nobody caught, as OTP's emulator sends it to the logger.

use myriad_heap::Fragment;
use myriad_term::{Build, Term, am};
use myriad_vm::Ctx;
use myriad_vm::message::Message;
use myriad_vm::registry::Named;
use myriad_vm::signal::Signal;

/// Most terms of a reason that is printed without the logger.
const REPORT_LIMIT: usize = 2000;

/// Sends `{log, error, Format, [Pid, Reason], Metadata}` to the process registered as `logger`, or prints the report if there is none.
pub fn crashed(ctx: &mut Ctx<'_>, reason: Term) {
    let Some(Named::Process(logger)) = ctx.vm.names.whereis(am::logger) else {
        // Before the logger runs, and after: straight to standard error.
        let pid = myriad_term::print::pid_text(ctx.pid().term());
        eprintln!("Error in process {pid} with exit value:\n{}\n", myriad_term::print::text(reason, REPORT_LIMIT));
        return;
    };
    let (pid, leader) = (ctx.pid().term(), ctx.proc.group_leader);
    let atom = Term::atom;
    let time = ctx.vm.machine.system_ns() / 1000;
    let format = ctx.string("Error in process ~p with exit value:~n~p~n");
    let arguments = ctx.list(&[pid, reason]);
    let kind = myriad_term::map::from_pairs(ctx, &[(atom(am::tag), atom(am::error)), (atom(am::emulator), Term::TRUE)]);
    let time = ctx.int(time);
    let metadata =
        [(atom(am::error_logger), kind), (atom(am::gl), leader), (atom(am::pid), pid), (atom(am::time), time)];
    let metadata = myriad_term::map::from_pairs(ctx, &metadata);
    let report = ctx.tuple(&[atom(am::log), atom(am::error), format, arguments, metadata]);
    let (term, fragment) = Fragment::copy_of(report);
    ctx.vm.signal_pid(logger, Signal::Message(Message { term, fragment, token: Term::NONE }));
}
