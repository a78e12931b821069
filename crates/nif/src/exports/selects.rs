//! Descriptors that are waited for.

use crate::abi::{AnyTerm, Identifier, Message, Object};
use crate::define::checked_exports;
use crate::env::{Env, MessageEnv};
use crate::load;
use crate::resource;
use crate::select::{CUSTOM, FAILED, Waiter, select};
use myriad_process::Payload;
use myriad_term::magic::{Magic, magic_reference};
use myriad_term::{Build, Pid, Term, am};
use std::ffi::c_int;

/// `{select, Object, Reference, ready_input | ready_output | ready_error}`
fn ready(object: Magic, reference: Term, mode: usize) -> Payload {
    let what = [am::ready_input, am::ready_output, am::ready_error][mode];
    Payload::build(16 + myriad_heap::copied_size(reference), |draft| {
        let reference = myriad_heap::copy_term(reference, draft);
        let object = magic_reference(draft, object);
        draft.tuple(&[Term::atom(am::select), object, reference, Term::atom(what)])
    })
}

/// Selects, with messages that are the caller's or made of a reference.
fn select_with(
    env: Option<&mut Env>,
    descriptor: c_int,
    flags: c_int,
    object: Object,
    pid: Option<&Identifier>,
    message: impl Fn(Magic, usize) -> Payload,
) -> c_int {
    let Some(vm) = load::vm() else { return FAILED };
    let to: Option<Pid> = match pid {
        Some(pid) => pid.0.term().as_local_pid(),
        None => env.and_then(Env::ctx).map(|ctx| ctx.pid()),
    };
    // SAFETY: ABI1: an object that is alive.
    let holder = unsafe { resource::keep(object.0) };
    let waiter = |mode| Some(Waiter { to: to?, message: message(holder.clone(), mode) });
    select(vm, descriptor, flags, holder.clone(), waiter)
}

checked_exports! {
    /// Has a process told when a descriptor is ready, by `{select, Object, Reference, ready_input | ready_output | ready_error}`, or no more.
    fn enif_select(
        env: Option<&mut Env>,
        descriptor: c_int,
        flags: c_int,
        object: Object,
        pid: Option<&Identifier>,
        reference: AnyTerm,
    ) -> c_int {
        select_with(env, descriptor, flags & !CUSTOM, object, pid, |object, mode| ready(object, reference.0.term(), mode))
    }

    /// The same, with another message: one of an environment of its own, which is empty then, or a copy of one of the caller's.
    fn enif_select_x(
        env: Option<&mut Env>,
        descriptor: c_int,
        flags: c_int,
        object: Object,
        pid: Option<&Identifier>,
        message: Message,
        own: MessageEnv<'_>,
    ) -> c_int {
        let is_custom = flags & CUSTOM != 0;
        let answer = select_with(env, descriptor, flags, object, pid, |object, mode| {
            if is_custom { Payload::copy(message.0.term()) } else { ready(object, message.0.term(), mode) }
        });
        if let Some(own) = own.0 {
            own.clear();
        }
        answer
    }
}
