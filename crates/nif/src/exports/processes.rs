//! Processes: who calls, messages, scheduling.

use crate::abi::{Function, Identifier, Message, Out, Row, Text, Word};
use crate::check::{self, registry};
use crate::define::checked_exports;
use crate::env::{Env, Later, MessageEnv, OwnEnv, is_observing};
use crate::load::with_processes;
use myriad_process::names::Named;
use myriad_process::{self as process, Payload};
use myriad_sched::DirtyKind;
use myriad_term::{Atom, Pid, Term};
use myriad_vm::{Signal, Vm};
use std::ffi::c_int;
use std::ptr::NonNull;

/// The process of an identifier.
fn pid_of(identifier: &Identifier) -> Option<Pid> {
    identifier.0.term().as_local_pid()
}

/// The memory of an environment that is no more, until this goes.
struct Freed(NonNull<Env>);

// SAFETY: memory that nobody uses.
unsafe impl Send for Freed {}

impl Drop for Freed {
    fn drop(&mut self) {
        super::system::enif_free(self.0.as_ptr().cast());
    }
}

fn is_alive(vm: &'static Vm, pid: Pid) -> bool {
    vm.processes.get(pid).is_some_and(|process| !process.is_exiting())
}

/// A message: all that an environment of a library's own has, which is empty then, or a copy of a term of a process.
fn payload(env: Option<&mut Env>, term: Term) -> Payload {
    let Some(env) = env else { return Payload::copy(term) };
    let memory = env.take_terms();
    env.clear();
    if check::is_on() {
        registry::env_is_sent((&raw const *env).addr());
    }
    if term.is_immediate() {
        return Payload::immediate(term);
    }
    // SAFETY: ABI1: the message is of this environment, all of whose memory this is.
    unsafe { Payload::of(term, memory) }
}

checked_exports! {
    /// The process that calls; nothing where none does.
    fn enif_self(env: &mut Env, to: Out<Identifier>) -> *const Identifier {
        match env.caller() {
            Some(pid) => {
                let place = to.place();
                to.set(Identifier(Term::pid(pid).into()));
                place
            }
            None => std::ptr::null(),
        }
    }

    /// A pid of this node.
    fn enif_get_local_pid(_env: Option<&mut Env>, term: Word, to: Out<Identifier>) -> c_int {
        to.set_if(term.term().as_local_pid().map(|_| Identifier(term)))
    }

    /// A port of this node.
    fn enif_get_local_port(_env: Option<&mut Env>, term: Word, to: Out<Identifier>) -> c_int {
        to.set_if(term.term().as_local_port().map(|_| Identifier(term)))
    }

    /// No process.
    fn enif_set_pid_undefined(to: Out<Identifier>) { to.set(Identifier(Term::UNDEFINED.into())); }

    /// Is it no process?
    fn enif_is_pid_undefined(pid: &Identifier) -> c_int { c_int::from(pid.0.term().is(Term::UNDEFINED)) }

    /// The process that has a name.
    fn enif_whereis_pid(_env: Option<&mut Env>, name: Word, to: Out<Identifier>) -> c_int {
        let found = name.term().as_atom().and_then(|name| with_processes(|vm| vm.names.whereis(name))).flatten();
        to.set_if(match found {
            Some(Named::Process(pid)) => Some(Identifier(Term::pid(pid).into())),
            _ => None,
        })
    }

    /// The port that has a name.
    fn enif_whereis_port(_env: Option<&mut Env>, name: Word, to: Out<Identifier>) -> c_int {
        let found = name.term().as_atom().and_then(|name| with_processes(|vm| vm.names.whereis(name))).flatten();
        to.set_if(match found {
            Some(Named::Port(port)) => Some(Identifier(Term::port(port).into())),
            _ => None,
        })
    }

    /// Is there such a process?
    fn enif_is_process_alive(_env: Option<&mut Env>, pid: &Identifier) -> c_int {
        let alive = pid_of(pid).and_then(|pid| with_processes(|vm| is_alive(vm, pid)));
        c_int::from(alive == Some(true))
    }

    /// Has the process that calls not ended meanwhile?
    fn enif_is_current_process_alive(env: &mut Env) -> c_int {
        c_int::from(env.ctx().is_some_and(|ctx| !ctx.process.is_exiting()))
    }

    /// Sends a message: one of an environment of its own, which is empty then, or a copy of one of the caller's. Is there such a process, and
    /// has that which has called not ended?
    fn enif_send(caller: Option<&mut Env>, to: &Identifier, env: MessageEnv<'_>, message: Message) -> c_int {
        let (env, term) = (env.0, message.0.term());
        let Some(to) = pid_of(to) else { return 0 };
        if caller.and_then(Env::ctx).is_some_and(|ctx| ctx.process.is_exiting()) {
            return 0;
        }
        let sent = with_processes(|vm| is_alive(vm, to) && {
            vm.signal_pid(to, Signal::Message(process::Message::new(payload(env, term), Term::NONE)));
            // One that ends between the two is as one that ends right afterwards.
            true
        });
        c_int::from(sent == Some(true))
    }

    /// Is there such a port?
    fn enif_is_port_alive(_env: Option<&mut Env>, port: &Identifier) -> c_int {
        let alive = port.0.term().as_local_port().and_then(|port| with_processes(|vm| vm.ports()?.is_open(vm, port).then_some(())));
        c_int::from(alive.flatten().is_some())
    }

    /// Sends iodata to a port, whoever its owner is; an environment of its own is empty then. Is there such a port, and are these iodata? A
    /// tracer's are sent soon.
    fn enif_port_command(caller: Option<&mut Env>, port: &Identifier, env: MessageEnv<'_>, data: Message) -> c_int {
        let Some(port) = port.0.term().as_local_port() else { return 0 };
        let from = caller.and_then(Env::ctx).map(|ctx| ctx.pid());
        let soon = is_observing();
        let sent = with_processes(|vm| vm.ports()?.command(vm, port, from, data.0.term(), soon).then_some(()));
        if let Some(env) = env.0 {
            env.clear();
        }
        c_int::from(sent.flatten().is_some())
    }

    /// So many hundredths of a slice are used; is the slice over?
    fn enif_consume_timeslice(env: &mut Env, percent: c_int) -> c_int {
        let Some(ctx) = env.ctx() else { return 0 };
        ctx.bump(myriad_sched::SLICE_REDUCTIONS as usize * percent.clamp(1, 100) as usize / 100);
        c_int::from(ctx.exhausted())
    }

    /// Has another function follow whose result is that of this call: in a later slice, or on a dirty scheduler.
    fn enif_schedule_nif(env: &mut Env, name: Text, flags: c_int, function: Function, count: c_int, arguments: Row<Word>) -> Word {
        let arguments = arguments.terms(usize::try_from(count).unwrap_or(0));
        let name = super::terms::decode(name.bytes(), crate::abi::LATIN1).and_then(|name| Atom::new(&name).ok());
        let dirty = match flags {
            0 => None,
            1 => Some(DirtyKind::Cpu),
            2 => Some(DirtyKind::Io),
            _ => return env.badarg(),
        };
        let (Some(name), 0..=255) = (name, arguments.len()) else { return env.badarg() };
        let arguments = arguments.iter().map(|word| word.term()).collect();
        env.follow(Later { name, function, arguments, dirty })
    }

    /// An environment of its own.
    fn enif_alloc_env() -> *mut Env {
        // Of the library's own memory: what gives it back by `enif_free`, as on OTP goes well, only wastes what it has.
        let env = super::system::enif_alloc(size_of::<Env>()).cast::<Env>();
        if !env.is_null() {
            // SAFETY: fresh memory of this size, aligned as `malloc` does.
            unsafe { env.write(Env::own(None)) };
            if check::is_on() {
                registry::env_comes(env.addr(), registry::Kind::Own, None);
            }
        }
        env
    }

    /// The environment goes, with its terms.
    fn enif_free_env(env: OwnEnv<'_>) {
        let Some(env) = env.0.map(NonNull::from) else { return };
        if check::is_on() {
            registry::env_goes(env.addr().get());
        }
        // SAFETY: ABI1: one of `enif_alloc_env`, used no more.
        unsafe { env.drop_in_place() };
        if check::is_on() {
            registry::keep(Box::new(Freed(env)), size_of::<Env>(), Some(env.addr().get()));
        } else {
            drop(Freed(env));
        }
    }

    /// Its terms go.
    fn enif_clear_env(env: OwnEnv<'_>) { env.0.into_iter().for_each(Env::clear); }

    /// A reference.
    fn enif_make_ref(env: &mut Env) -> Word {
        match env.ctx() {
            Some(ctx) => ctx.make_ref().into(),
            None => super::resources::reference(env),
        }
    }
}
