//! Terms for processes.

use crate::abi::{Handle, Word};
use crate::call::with_vm;
use crate::port::with_port;
use crate::terms::build;
use myriad_io::port::linked_in;
use myriad_nif::abi::{Row, Text};
use myriad_nif::exports;
use myriad_process::{Message, Payload};
use myriad_term::{Pid, Port, Term};
use myriad_vm::Signal;
use std::ffi::c_int;

/// The words of a description.
fn words(data: Row<u64>, len: c_int) -> &'static [u64] {
    data.slice(usize::try_from(len).unwrap_or(0))
}

/// To the owner of a port. 1: sent; 0: there is no such port; -1: no term is described.
fn to_owner(port: Handle, data: Row<u64>, len: c_int) -> c_int {
    let Some(message) = build(words(data, len)) else { return -1 };
    if crate::call::is_under_way(port) {
        let sent = with_port(port, |_, context| {
            let is_open = context.is_open();
            if is_open {
                context.send(context.owner(), message);
            }
            is_open
        });
        return c_int::from(sent == Some(true));
    }
    c_int::from(with_vm(|vm| linked_in::send_to_owner(vm, port.id(), message)) == Some(true))
}

/// To a process, from a port that is open. 1: sent; 0: there is none; -1: no term is described.
fn to_process(port: Handle, to: Word, data: Row<u64>, len: c_int) -> c_int {
    let is_called = crate::call::is_under_way(port);
    let is_open = if is_called {
        with_port(port, |_, context| context.is_open())
    } else {
        with_vm(|vm| linked_in::is_there(vm, port.id()))
    };
    if is_open != Some(true) {
        return 0;
    }
    let Some(to) = to.term().and_then(Term::as_local_pid) else { return 0 };
    let Some(message) = build(words(data, len)) else { return -1 };
    let sent = match is_called {
        true => with_port(port, |_, context| context.send(to, message)),
        false => with_vm(|vm| send(vm, to, message)),
    };
    c_int::from(sent == Some(true))
}

/// Out of turn, and not traced.
fn send(vm: &'static myriad_vm::Vm, to: Pid, message: Payload) -> bool {
    let lives = vm.processes.get(to).is_some_and(|process| !process.is_exiting());
    if lives {
        vm.signal_pid(to, Signal::Message(Message::new(message, Term::NONE)));
    }
    lives
}

fn port_of(term: Word) -> Option<Port> {
    term.term()?.as_local_port()
}

exports! {
    /// An atom; the text is in Latin-1.
    fn driver_mk_atom(text: Text) -> Word { Term::atom(crate::words::word(&crate::words::latin1(text.bytes()))).into() }

    /// A port as a term.
    fn driver_mk_port(port: Handle) -> Word { Term::port(port.id()).into() }

    /// `[]`
    fn driver_mk_term_nil() -> Word { Term::NIL.into() }

    /// The owner of a port.
    fn driver_connected(port: Handle) -> Word {
        with_port(port, |_, context| context.owner()).map_or(Term::NIL, Term::pid).into()
    }

    /// The process whose request is served; without one, the owner.
    fn driver_caller(port: Handle) -> Word {
        let caller = with_port(port, |instance, context| instance.caller.unwrap_or(context.owner()));
        caller.map_or(Term::NIL, Term::pid).into()
    }

    /// Sends a term to the owner.
    fn driver_output_term(port: Handle, data: Row<u64>, len: c_int) -> c_int { to_owner(port, data, len) }

    /// Sends a term to the owner, from any thread.
    fn erl_drv_output_term(port: Word, data: Row<u64>, len: c_int) -> c_int {
        port_of(port).map_or(-1, |port| to_owner(Handle::from(port), data, len))
    }

    /// Sends a term to a process.
    fn driver_send_term(port: Handle, to: Word, data: Row<u64>, len: c_int) -> c_int { to_process(port, to, data, len) }

    /// Sends a term to a process, from any thread.
    fn erl_drv_send_term(port: Word, to: Word, data: Row<u64>, len: c_int) -> c_int {
        port_of(port).map_or(-1, |port| to_process(Handle::from(port), to, data, len))
    }
}
