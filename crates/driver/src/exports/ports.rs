//! Ports: their ends, whether they are busy, others like them.

use crate::abi::{Data, Handle, Word, refusal};
use crate::call;
use crate::instance::Instance;
use crate::port::with_port;
use crate::table;
use myriad_io::port::driver::{Context, Driver};
use myriad_io::port::linked_in::{Limits, Settings};
use myriad_io::posix;
use myriad_nif::abi::Text;
use myriad_nif::exports;
use myriad_term::{Atom, Term, am};
use std::ffi::c_int;

/// Ends a port for this reason.
fn end(port: Handle, reason: Atom) -> c_int {
    with_port(port, |_, context| context.exit(reason)).map_or(-1, |()| 0)
}

/// The input of a port is at its end.
fn end_of_input(instance: &mut Instance, context: &mut Context<'_>) {
    if let Some(rest) = instance.lines.as_mut().and_then(|lines| lines.finish()) {
        context.deliver_frame(rest);
    }
    if context.keeps_at_end() {
        context.deliver_atom(am::eof);
    } else {
        context.exit(am::normal);
    }
}

/// The reason that a number of the system's stands for.
fn reason_of(error: c_int) -> Atom {
    if error == 0 { am::normal } else { posix::atom(crate::words::errno(error)) }
}

exports! {
    /// The port's input is at its end.
    fn driver_failure_eof(port: Handle) -> c_int { with_port(port, end_of_input).map_or(-1, |()| 0) }

    /// Ends the port for a reason in words.
    fn driver_failure_atom(port: Handle, reason: Text) -> c_int { end(port, crate::words::word(&crate::words::latin1(reason.bytes()))) }

    /// Ends the port for an error of the system's.
    fn driver_failure_posix(port: Handle, error: c_int) -> c_int { end(port, reason_of(error)) }

    /// Ends the port for a number; 0 is the end of its input.
    fn driver_failure(port: Handle, error: c_int) -> c_int {
        if error == 0 {
            return with_port(port, end_of_input).map_or(-1, |()| 0);
        }
        with_port(port, |_, context| context.exit_for(error)).map_or(-1, |()| 0)
    }

    /// Ends the port without a word to its owner; 0 for `normal`.
    fn driver_exit(port: Handle, error: c_int) -> c_int {
        let ended = with_port(port, |_, context| {
            context.unlink_owner();
            context.exit(reason_of(error));
        });
        ended.map_or(-1, |()| 0)
    }

    /// The port takes no commands, or does again.
    fn set_busy_port(port: Handle, on: c_int) {
        if call::is_under_way(port) {
            with_port(port, |_, context| context.set_busy(on != 0));
        } else {
            // Those who wait go on in the port's turn.
            call::with_vm(|vm| crate::port::in_turn(vm, port, move |_, context| context.set_busy(on != 0)));
        }
    }

    /// 1: answers of `control` are binaries.
    fn set_port_control_flags(port: Handle, flags: c_int) {
        with_port(port, |instance, _| instance.control_flags = flags);
    }

    /// 1: the port gives binaries; 2: lines.
    fn get_port_flags(port: Handle) -> c_int {
        let flags = |instance: &mut Instance, _: &mut Context<'_>| {
            c_int::from(instance.is_binary) | c_int::from(instance.lines.is_some()) << 1
        };
        with_port(port, flags).unwrap_or(0)
    }

    /// Another port of the driver's, for data that it has made.
    fn driver_create_port(creator: Handle, owner: Word, name: Text, data: Data) -> Handle {
        let Some(owner) = owner.term().and_then(Term::as_local_pid) else { return Handle::NONE };
        let made = with_port(creator, |instance, context| {
            let settings = Settings::default();
            let new = Instance::started(instance.library.another(), data, &settings);
            context.create_port(Box::new(new), name.bytes(), owner, &settings)
        });
        made.flatten().map_or(Handle::NONE, Handle::from)
    }

    /// The driver stays for ever.
    fn driver_lock_driver(port: Handle) -> c_int {
        let library = with_port(port, |instance, _| instance.library.library().clone());
        let locked = library.zip(call::vm()).is_some_and(|(library, vm)| table::lock(vm, &library));
        if locked { 0 } else { -1 }
    }

    /// What `port_info/2` shows as the port's program; a negative number for none.
    fn erl_drv_set_os_pid(port: Handle, pid: isize) {
        with_port(port, |_, context| context.set_os_pid(u64::try_from(pid).ok()));
    }

    /// The port has begun, or not, for what `start` would return.
    fn erl_drv_init_ack(port: Handle, result: Data) {
        let error = std::io::Error::last_os_error().raw_os_error();
        with_port(port, |instance, context| {
            let outcome = match result.0 as isize {
                refusal::GENERAL => Err(am::einval),
                refusal::ERRNO => Err(reason_of(error.unwrap_or(libc::EINVAL))),
                refusal::BADARG => Err(am::badarg),
                _ => Ok(()),
            };
            if instance.acknowledges_start() && outcome.is_ok() {
                instance.set_data(result);
            }
            context.begun(outcome);
        });
    }

    /// With how many bytes in it the port's queue is full, and with how many it no longer is; asked for where a limit is 0. The largest number of all: it
    /// is never full, for ever.
    fn erl_drv_busy_msgq_limits(port: Handle, low: Option<&mut usize>, high: Option<&mut usize>) {
        with_port(port, |_, context| {
            let known = context.queue_limits();
            let asked = [low.as_deref(), high.as_deref()].map(|limit| limit.copied().unwrap_or(0));
            let limits = match asked {
                _ if known == Limits::NONE => known,
                [usize::MAX, _] | [_, usize::MAX] => Limits::NONE,
                [0, 0] => known,
                [0, high] => Limits { low: known.low.min(high), high },
                [low, 0] => Limits { low, high: known.high.max(low) },
                [low, high] => Limits { low: low.min(high), high },
            };
            context.set_queue_limits(limits);
            if limits == Limits::NONE && known != limits {
                return;
            }
            for (given, now) in [(low, limits.low), (high, limits.high)] {
                if let Some(given) = given {
                    *given = now;
                }
            }
        });
    }
}
