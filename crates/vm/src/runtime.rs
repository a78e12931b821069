//! What processes keep for the layers above them ([`myriad_process::Runtime`]), and the process types that come of it.

use crate::bif::Suspended;
use crate::code::{Function, Module};
use crate::ctx::Ctx;
use crate::deliver::Question;
use crate::dirty_call::Returned;
use crate::exit::Ending;
use crate::task::Tasks;
use crate::tracer::watched::Watched;
use crate::vm::Vm;
use myriad_process::Runtime;

impl Runtime for Vm {
    type Module = Module;
    type Function = Function;
    type Suspended = Suspended;
    type Tasks = Tasks;
    type Ending = Ending;
    type Watched = Watched;
    type Request = Box<dyn FnOnce(&mut Ctx<'_>) + Send>;
    type Question = Box<dyn Question>;
    type Returned = Returned;
}

/// A process.
///
/// No larger than a size of the allocator: one word more would cost each process 128 bytes.
pub type Process = myriad_process::Process<Vm>;
/// The part of a process that only its owner touches.
pub type OwnerState = myriad_process::OwnerState<Vm>;
/// Where a process resumes.
pub type Resume = myriad_process::Resume<Vm>;
/// The processes.
pub type ProcessTable = myriad_process::ProcessTable<Vm>;
/// All processes of one moment.
pub type Listing = myriad_process::Listing<Vm>;
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
