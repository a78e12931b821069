//! What the crates below keep for this VM: the values that processes, signals and code hold of its types
//! ([`myriad_process::Runtime`], [`myriad_code::Runtime`]), and the types of processes and code that come of it.

use crate::bif::{BifDef, BifResult, Suspended};
use crate::ctx::Ctx;
use crate::tracer::watched::Watched;
use crate::vm::Vm;
use myriad_heap::Fragment;
use myriad_process::Runtime;
use myriad_term::{Arena, Term, TermRef};

impl Runtime for Vm {
    type Module = Module;
    type Function = Function;
    type Suspended = Suspended;
    type Watched = Watched;
    type Request = Box<dyn FnOnce(&mut Ctx<'_>) + Send>;
    type Question = Box<dyn Question>;
    type Returned = Returned;
}

impl myriad_code::Runtime for Vm {
    type BuiltIn = BifDef;
}

/// What one process asks another: the asker makes it, and the other answers in its own thread, between its own instructions.
pub trait Question: Send {
    /// The answer of the process that runs: a term of its own, or one made in `memory`.
    fn answer<'m>(&self, ctx: &mut Ctx<'_>, memory: &'m Arena) -> TermRef<'m>;

    /// The answer for a process that has ended: an immediate.
    fn of_the_dead(&self) -> Term;

    /// Where the question holds its terms, if it has any.
    fn memory(&self) -> Option<&Fragment>;
}

/// A call of a built-in on a dirty scheduler that is over (`dirty_call.rs`).
pub struct Returned {
    pub(crate) state: Box<OwnerState>,
    pub(crate) result: BifResult,
}

// ---- processes

/// A process.
///
/// No larger than a size of the allocator: one word more would cost each process 128 bytes.
pub type Process = myriad_process::Process<Vm>;
/// The part of a process that only its owner touches.
pub type OwnerState = myriad_process::OwnerState<Vm>;
/// Where a process resumes.
pub type Resume = myriad_process::Resume<Vm>;
/// How far a process has come with its end.
pub type Ending = myriad_process::Ending<Vm>;
/// The processes.
pub type ProcessTable = myriad_process::ProcessTable<Vm>;
/// All processes of one moment.
pub type Listing = myriad_process::Listing<ProcessTable>;
/// What one process, or the machine, says to another.
pub type Signal = myriad_process::Signal<Vm>;
/// Signals that were taken out of an outer queue.
pub type Signals = myriad_process::Signals<Vm>;
/// An exception on its way.
pub type Exception = myriad_process::Exception<Vm>;
/// One frame of a raw trace.
pub type TraceFrame = myriad_process::TraceFrame<Vm>;

#[cfg(not(loom))]
const _: () = assert!(size_of::<Process>() <= 512);

// ---- code

/// One function of one version of a module.
pub type Function = myriad_code::Function<Vm>;
/// One version of a module.
pub type Module = myriad_code::Module<Vm>;
/// A return point.
pub type Continuation = myriad_code::Continuation<Vm>;
/// A module that only has to be published.
pub type Prepared = myriad_code::Prepared<Vm>;
/// One as Erlang code holds it.
pub type PreparedCode = myriad_code::PreparedCode<Vm>;
/// Which versions of which modules are loaded.
pub type CodeServer = myriad_code::CodeServer<Vm>;
/// What is loaded of one module.
pub type ModuleState = myriad_code::ModuleState<Vm>;
/// Iterator over the frames of a stack.
pub type StackWalk<'s> = myriad_code::StackWalk<'s, Vm>;
/// A frame of a stack.
pub type Frame<'s> = myriad_code::Frame<'s, Vm>;
/// What a Y register holds.
pub type Register = myriad_code::Register<Vm>;
