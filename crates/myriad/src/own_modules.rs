//! Myriad's own Erlang modules: part of the emulator, and loaded at start beside the release's preloaded ones.
//!
//! So they are there without a path entry or a flag. Their compiled files stand in `erl/ebin`, made by `make own-modules`, so that
//! building the emulator needs no Erlang. OTP's tools do not take them for preloaded modules: of those they want the sources.

use myriad_vm::Vm;
use myriad_vm::code::{PreparedCode, prepare};

static MODULES: [&[u8]; 3] = [
    include_bytes!("../../../erl/ebin/myriad.beam"),
    include_bytes!("../../../erl/ebin/myriad_native.beam"),
    include_bytes!("../../../erl/ebin/myriad_run.beam"),
];

/// Loads them.
pub(crate) fn load(vm: &Vm) -> Result<(), String> {
    for bytes in MODULES {
        let module =
            prepare(bytes, &vm.bifs, vm.engine()).map_err(|e| format!("an own module cannot be loaded: {e}"))?;
        vm.code.finish_loading(&[&PreparedCode::new(module)]).map_err(|e| format!("an own module: {e:?}"))?;
    }
    Ok(())
}
