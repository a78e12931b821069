//! Loaded code: modules, functions, continuations, and how a code pointer finds what it belongs to.
//!
//! Above `heap`, `beam` and `process` in the crate order (docs/architecture.md). It runs nothing and knows no built-in: what executes code
//! ([`Executor`]) and what stands in place of functions ([`BuiltIns`]) are traits, and how their definitions look is the layer
//! above's to say ([`Runtime`]).
//!
//! | module | holds |
//! | --- | --- |
//! | [`module`] | a module, its functions and return points |
//! | [`loader`] | from the bytes of a .beam file to a module that only has to be published |
//! | [`server`] | which versions of which modules are loaded, and the switch from one to the next: its page has the states of a version |
//! | [`purge`] | how the old version of a module goes |
//! | [`nif`] | binding the functions of built-in NIF modules |
//! | [`stack`] | walking an Erlang stack |
//! | [`info`] | what a module says of itself |
//! | `undefined` | what an export runs while no module defines it |

mod entry;
pub mod info;
pub mod loader;
pub mod module;
pub mod nif;
pub mod purge;
pub mod server;
pub mod stack;
mod undefined;

pub use entry::{Entry, NativePtr};
pub use info::{export_list, function_list, location_of, nif_list};
pub use loader::{LoadError, Prepared, PreparedCode, prepare};
pub use module::{Continuation, Function, Module, bytes, count_bytes};
pub use nif::{NifBinding, NifTarget};
pub use purge::{MissingFun, PurgeStep, Purged, Retired};
pub use server::{CodeServer, Deleted, FinishError, ModuleState};
pub use stack::{Frame, Register, StackWalk};
pub use undefined::install as install_undefined;

use myriad_term::{Atom, Mfa};
use std::ops::Range;

/// What the layer above decides.
pub trait Runtime: Sized + 'static {
    /// The definition of a built-in function, as its tables hold it.
    type BuiltIn: BuiltIn;
}

/// A built-in function.
pub trait BuiltIn: Sync + 'static {
    /// Does it replace its function only once the module asks for it (`erlang:load_nif/2`)?
    fn is_nif(&self) -> bool;
}

/// Where a version of a module has its NIFs from.
pub trait NifLibrary: Send + Sync {
    /// The version has been purged: nothing leads into it any more. Called once.
    fn leave(&self);
}

/// The VM itself has the NIFs.
pub struct BuiltInNifs;

impl NifLibrary for BuiltInNifs {
    fn leave(&self) {}
}

/// The built-ins that stand in place of functions of loaded modules.
pub trait BuiltIns<R: Runtime> {
    /// The one that replaces this function from the beginning.
    fn bif(&self, mfa: Mfa) -> Option<&'static R::BuiltIn>;

    /// The one that replaces this function once the module loads its NIFs.
    fn nif(&self, mfa: Mfa) -> Option<&'static R::BuiltIn>;

    /// Do functions of the module with this name and MD5 run as intrinsics, as far as they have one?
    fn runs_intrinsics(&self, module: Atom, md5: [u8; 16]) -> bool;
}

/// What executes code, as far as modules that come and go concern it.
pub trait Executor<R: Runtime> {
    /// Where functions begin that are not decoded yet: it decodes the function and runs it.
    fn undecoded(&self) -> Entry;

    /// Where an export without code begins: it calls `error_handler:undefined_function/3`.
    fn undefined(&self) -> Entry;

    /// Where functions with a [breakpoint](Function::breakpoint) begin.
    fn breakpoint(&self) -> Entry;

    /// Where a function begins by what it has now, a built-in or code that the executor has made, if it has no breakpoint.
    fn entry_behind(&self, function: &Function<R>) -> Entry;

    /// Adds the address ranges of what the executor has made for this function so far: its code and its continuations. By them
    /// a process finds out whether it still runs in an old version.
    fn code_ranges(&self, function: &Function<R>, ranges: &mut Vec<Range<usize>>);

    /// Frees what the executor made for this function; no process runs it or has a continuation into it.
    fn release(&self, function: &Function<R>);
}
