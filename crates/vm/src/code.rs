//! Code of a VM: the types of crate `code` as this VM has them, and what of loading and purging concerns processes.

mod check;
#[cfg(test)]
mod loader_tests;
mod preload;
mod purging;
#[cfg(test)]
mod server_tests;
#[cfg(test)]
mod test_support;

pub use crate::runtime::{
    CodeServer, Continuation, Frame, Function, Module, ModuleState, Prepared, PreparedCode, Register, StackWalk,
};
pub use myriad_code::{
    BuiltInNifs, BuiltIns, Deleted, FinishError, LoadError, MissingFun, NifBinding, NifLibrary, NifTarget, PurgeStep,
    bytes, count_bytes, export_list, function_list, install_undefined, location_of, nif_list, prepare,
};
pub use preload::load_preloaded;

use crate::bif::{BifDef, Registry};
use crate::vm::Vm;
use myriad_code::BuiltIn;
use myriad_term::{Atom, Mfa, am};

/// Modules that come with the VM, and are loaded when one of their functions is called and the program has no module of the same name.
pub const LOADED_LATER: [Atom; 2] = [am::parallel, am::elixir_parallel];

impl BuiltIn for BifDef {
    fn is_nif(&self) -> bool {
        self.kind.is_nif()
    }
}

impl BuiltIns<Vm> for Registry {
    fn bif(&self, mfa: Mfa) -> Option<&'static BifDef> {
        Registry::bif(self, mfa)
    }

    fn nif(&self, mfa: Mfa) -> Option<&'static BifDef> {
        Registry::nif(self, mfa)
    }

    fn runs_intrinsics(&self, module: Atom, md5: [u8; 16]) -> bool {
        Registry::runs_intrinsics(self, module, md5)
    }
}
