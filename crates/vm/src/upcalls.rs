//! What the VM asks of the crates above it. It states the traits, they implement them, and [`Parts`](crate::vm::Parts) brings them
//! to the VM when it is made.
//!
//! | trait | implemented by |
//! | --- | --- |
//! | [`Engine`] | the interpreter (crate `interp`) |
//! | [`Tracer`] | crate `trace` |
//! | [`Observer`] | crate `observe` |
//! | [`Subsystem`] | each upper crate, one value |
//! | [`PortOps`] | crate `io` |
//!
//! They stand in one file because their types depend on each other: the VM holds these traits, a context holds the VM, and the
//! traits' methods get a context.

pub use crate::parts::Part;

use crate::bif::{BifDef, BifResult, IntrinsicDef, Resumption};
use crate::ctx::Ctx;
use crate::engine::SliceEnd;
use crate::heap_walk::Visit;
use crate::runtime::{OwnerState, Process, Signal, TraceFrame};
use crate::tracer::events::{Activity, Collection, SpawnMessages};
use crate::vm::Vm;
use myriad_code::Executor;
use myriad_process::{Message, Payload};
use myriad_term::{Atom, Magic, Mfa, Pid, Port, RefNumbers, Term, TermRef};
use std::any::Any;
use std::io::{self, Write};

/// An executor of Erlang code.
pub trait Engine: Executor<Vm> + Send + Sync {
    /// Runs the process of `ctx` from its saved state ([`crate::OwnerState::resume`]) until the slice ends, and saves the state.
    fn run(&self, ctx: &mut Ctx<'_>) -> SliceEnd;

    /// Makes the one call of a built-in that the process stopped before with [`SliceEnd::Dirty`], on what the call has of the
    /// process (`dirty_call.rs`); the process goes on with the result as with that of a resumption.
    fn run_dirty(&self, ctx: &mut Ctx<'_>) -> BifResult;

    /// Does it know [`crate::Escape::Room`]?
    fn makes_room(&self) -> bool {
        false
    }

    /// Where a process is: its function first, then the return points, at most `depth` in all. The process is stopped, or in
    /// a built-in function.
    fn backtrace(&self, process: &OwnerState, depth: usize) -> Vec<TraceFrame>;

    /// Is there a loop of the process's of which a part could be handed over?
    fn has_part(&self, _: &mut Ctx<'_>) -> bool {
        false
    }

    /// Is something that the process does wanted no more, so that its next slice begins with an exception?
    fn is_to_stop(&self, _: &mut Ctx<'_>) -> bool {
        false
    }

    /// Hands over a part of the process's outermost loop that has something left (docs/parallel.md). The process is stopped.
    fn hand_over(&self, _: &mut Ctx<'_>) {}

    /// Words on the stack below the first return point: the Y registers of the function that a process is in. As
    /// [`Engine::backtrace`].
    fn frame_words(&self, process: &OwnerState) -> usize {
        process.heap.stack_words()
    }
}

/// Whoever is told what happens (vm/TR1). The messages about a process are told by the thread that runs it, which `ctx` belongs to.
pub trait Tracer: Any + Send + Sync {
    /// The process wants this told for one of these flags: a message with `tag` and `parts`.
    fn event(&self, ctx: &mut Ctx<'_>, flags: u32, tag: Atom, parts: &[TermRef<'_>]);

    /// The process, which has the flag `send`, sends `message` to the pid, port, alias or name `to`.
    fn sends(&self, ctx: &mut Ctx<'_>, to: Term, message: Term);

    /// A message comes to the process, which has the flag `'receive'`; the sender is [`Term::NONE`] where it is not known.
    fn receives(&self, ctx: &mut Ctx<'_>, from: TermRef<'_>, message: &Message);

    /// The process has made `child`, which calls `call` with `args` and which nobody else knows yet.
    fn spawns(&self, ctx: &mut Ctx<'_>, child: &Process, call: Mfa, args: &[Term], linked: bool);

    /// The process, which saves its calls, ends.
    fn saved_calls_end(&self, ctx: &mut Ctx<'_>);

    /// A slice begins of a process that has flags or a stopwatch.
    fn slice_begins(&self, ctx: &mut Ctx<'_>);

    /// It is over.
    fn slice_ends(&self, ctx: &mut Ctx<'_>, end: SliceEnd);

    /// A slice that began in the function `from` has taken the time since then ([`switches::SLICES`](crate::tracer::switches::SLICES)).
    fn slice_took(&self, ctx: &mut Ctx<'_>, since_ns: u64, from: Option<Mfa>);

    /// A collection begins, so that `need` words become free.
    fn collection_begins(&self, ctx: &mut Ctx<'_>, collection: &Collection, need: usize);

    /// It is over.
    fn collection_ends(&self, ctx: &mut Ctx<'_>, collection: &Collection);

    /// The process, which has a token, sends `message` to `to`: makes what is sent of `payload`, the copy, and the token.
    fn sends_with_token(&self, ctx: &mut Ctx<'_>, to: Term, message: Term, payload: Payload) -> Message;

    /// The process, which has a token, sends an exit signal to `to`; gives the token that goes along.
    fn exits_with_token(&self, ctx: &mut Ctx<'_>, to: Term, reason: Term) -> Option<Payload>;

    /// The process, which has a token, makes `new`, whose pid is `child`; gives the token of a reply that comes as a message.
    fn spawns_with_token(
        &self,
        ctx: &mut Ctx<'_>,
        new: &mut OwnerState,
        child: Pid,
        messages: SpawnMessages<'_>,
    ) -> Option<Payload>;

    /// A signal has made `process` runnable, and it is in no run queue yet, so that nobody else runs it
    /// ([`switches::RUNNABLE_PROCESSES`](crate::tracer::switches::RUNNABLE_PROCESSES)).
    fn process_wakes(&self, vm: &'static Vm, process: &Process);

    /// The process of `ctx` has changed so ([`switches::RUNNABLE_PROCESSES`](crate::tracer::switches::RUNNABLE_PROCESSES)).
    fn process_changes(&self, ctx: &mut Ctx<'_>, activity: Activity);

    /// A scheduler wakes or goes to sleep; so many are awake then ([`switches::SCHEDULERS`](crate::tracer::switches::SCHEDULERS)).
    fn scheduler_changes(&self, vm: &'static Vm, scheduler: usize, active: bool, awake: usize);

    /// Is this the process that is told of processes and schedulers? Nothing is told of its own running.
    fn is_profiler(&self, pid: Pid) -> bool;
}

/// Whoever tells people what goes on in the VM.
pub trait Observer: Send + Sync {
    /// The VM cannot go on: says why, and writes a crash dump. The caller stops the VM.
    fn fatal(&self, slogan: &str);

    /// All of the process that runs, in the words of a crash dump (`{process_dump}` in a match specification).
    fn process_dump(&self, ctx: &Ctx<'_>) -> String;
}

/// Statistics that a subsystem may keep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Statistic {
    /// Tables.
    Tables,
    /// Bytes in tables.
    TableBytes,
    /// Tables and their rows.
    TableBlocks,
    /// Open ports.
    Ports,
    /// Bytes that ports have read since the VM started.
    InputBytes,
    /// Bytes that ports have written since then.
    OutputBytes,
    /// Descriptors that the system is asked to tell of.
    Polled,
    /// Descriptors that ports and their drivers wait for.
    PolledByPorts,
    /// Descriptors that NIFs wait for.
    PolledByNifs,
    /// Of those that are waited for, the ones that somebody has closed.
    PolledInVain,
}

/// An upper crate, as the VM sees it. What one has nothing to do with it leaves out.
pub trait Subsystem: Send + Sync {
    /// Its mutable state, each part of a type of its own: [`Vm::part`] finds it by that.
    fn parts(&'static self) -> Vec<Part> {
        Vec::new()
    }

    /// Its built-in functions.
    fn tables(&self) -> &'static [&'static [BifDef]];

    /// Its intrinsics.
    fn intrinsics(&self) -> &'static [IntrinsicDef] {
        &[]
    }

    /// Begins to work; no process runs yet.
    ///
    /// # Errors
    /// Why the VM cannot start, in words.
    fn start(&'static self, _: &'static Vm) -> Result<(), String> {
        Ok(())
    }

    /// Releases what a process that ends holds outside its own memory. What would take long is given back, to be run in slices
    /// until it no longer yields.
    fn process_exits(&self, _: &mut Ctx<'_>) -> Option<Resumption> {
        None
    }

    /// Writes out what it still holds, before the VM halts. Bounded in time; runs on a dirty I/O scheduler.
    fn before_halt(&self) {}

    /// The port system, if it is this one.
    fn ports(&self) -> Option<&dyn PortOps> {
        None
    }

    /// Calls `visit` with each object of the terms that it holds, but for those behind magic references.
    fn each_object(&self, _visit: Visit<'_>) {}

    /// Calls `visit` with each object of the terms that it holds behind this magic reference, if that is its own.
    fn each_object_of(&self, _: &Magic, _visit: Visit<'_>) {}

    /// Writes its sections of a crash dump.
    ///
    /// # Errors
    /// As `out` has them.
    fn dump(&self, _: &'static Vm, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    /// Terms that it keeps for all processes, with their keys: a crash dump has a section of them.
    fn persistent_terms(&self) -> Vec<(Term, Term)> {
        Vec::new()
    }

    /// The locks of what programs can name (a table, a port), by their identity in the lock profile, each with that name: an immediate term.
    fn locks(&self) -> Vec<(usize, Term)> {
        Vec::new()
    }

    /// A statistic; 0 if it does not keep this one.
    fn statistic(&self, _: Statistic) -> usize {
        0
    }
}

/// What a port has made of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Handed {
    /// It has it; that has cost so many reductions.
    Taken(usize),
    /// It is too busy, and wakes the sender when that is to try again.
    Busy,
}

/// The operations of crate `io` on ports that processes need (the lower crate states them, the upper implements).
pub trait PortOps: Send + Sync {
    /// Sends a message of the process that runs to a port (`Port ! {Owner, Command}`). `may_wait`: the sender can send it again, if the port is too busy.
    fn message(&self, ctx: &Ctx<'_>, port: Port, message: Term, may_wait: bool) -> Handed;
    /// Sends bytes to a port, whoever its owner is; false if it is none that is open, or they are no iodata. `soon`: not at once, from
    /// one who may hold another port.
    fn command(&self, vm: &'static Vm, port: Port, from: Option<Pid>, data: Term, soon: bool) -> bool;
    /// A signal for a port: link, unlink, exit, monitor.
    fn signal(&self, vm: &'static Vm, port: Port, signal: Signal);
    /// Takes a monitor on a port back.
    fn demonitor(&self, vm: &'static Vm, port: Port, reference: RefNumbers);
    /// Is there such a port, and open?
    fn is_open(&self, vm: &'static Vm, port: Port) -> bool;
    /// A trace message for a port that is a tracer: it gets it in the external format.
    fn trace_output(&self, vm: &'static Vm, port: Port, message: Payload);
    /// The same, soon, from one who may hold another port.
    fn trace_output_soon(&self, vm: &'static Vm, port: Port, message: Payload);
    /// Lets `f` see whether and by whom a port is traced, if there is such a port.
    fn with_tracee(&self, vm: &'static Vm, port: Port, f: &mut dyn FnMut(&myriad_process::Tracee));
    /// All ports.
    fn all(&self, vm: &'static Vm) -> Vec<Port>;
    /// The number that the next port gets; `set` makes it have these bits, as far as they go.
    fn next(&self, vm: &'static Vm, set: Option<u64>) -> u64;
    /// Would who sends it a message be suspended?
    fn is_busy(&self, vm: &'static Vm, port: Port) -> bool;
}
