//! Myriad's own Erlang modules: part of the emulator. Some are loaded at start beside the release's preloaded ones; those that a program may call, whose names it
//! may have given to modules of its own, when one of their functions is called and the program has no such module (`myriad:undefined_function/3`).
//!
//! So they are there without a path entry or a flag. Their compiled files stand in `erl/ebin`, made by `make own-modules`, so that
//! building the emulator needs no Erlang. OTP's tools do not take them for preloaded modules: of those they want the sources.

use myriad_sync::{LockClass, Mutex};
use myriad_term::Term;
use myriad_vm::code::{LOADED_LATER, PreparedCode, prepare};
use myriad_vm::subsystem::Subsystem;
use myriad_vm::{BifDef, Vm};

static MODULES: [&[u8]; 3] = [
    include_bytes!("../../../erl/ebin/myriad.beam"),
    include_bytes!("../../../erl/ebin/myriad_native.beam"),
    include_bytes!("../../../erl/ebin/myriad_run.beam"),
];

/// Of [`LOADED_LATER`].
static LATER: [&[u8]; LOADED_LATER.len()] =
    [include_bytes!("../../../erl/ebin/parallel.beam"), include_bytes!("../../../erl/ebin/Elixir.Parallel.beam")];

static CLASS: LockClass = LockClass::new("own_modules", 280);

/// One process at a time loads one of [`LATER`].
static LOADING: Mutex<()> = Mutex::new(&CLASS, ());

/// Loads those that are there at start.
pub(crate) fn load(vm: &Vm) -> Result<(), String> {
    MODULES.iter().try_for_each(|bytes| load_one(vm, bytes))
}

fn load_one(vm: &Vm, bytes: &[u8]) -> Result<(), String> {
    let module = prepare(bytes, &vm.bifs, vm.engine()).map_err(|e| format!("an own module cannot be loaded: {e}"))?;
    vm.code.finish_loading(&[&PreparedCode::new(module)]).map_err(|e| format!("an own module: {e:?}"))
}

/// Loads one that is not there at start, if it is not loaded; is it now?
fn load_later(vm: &Vm, name: Term) -> bool {
    let Some((name, bytes)) = LOADED_LATER.into_iter().zip(LATER).find(|(later, _)| name.is_am(*later)) else {
        return false;
    };
    let _one = LOADING.lock();
    vm.code.current(name).is_some() || load_one(vm, bytes).is_ok()
}

myriad_vm::bifs! { pub MODULES_TO_LOAD = "myriad_modules" {
    "load" / 1 Plain => |ctx, a| Ok(Term::bool(load_later(ctx.vm, a[0])));
}}

/// What loads them has a table of built-in functions.
pub(crate) struct OwnModules;

impl Subsystem for OwnModules {
    fn tables(&self) -> &'static [&'static [BifDef]] {
        const TABLES: &[&[BifDef]] = &[MODULES_TO_LOAD];
        TABLES
    }
}
