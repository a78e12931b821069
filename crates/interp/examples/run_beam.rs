//! Runs `Module:main/0` of a .beam file without OTP's boot, prints its value and how long it took: what the interpreter
//! alone can do.
//!
//! `cargo run --release -p myriad-interp --example run_beam -- file.beam`

use myriad_term::{Atom, Export, Mfa};
use myriad_vm::code::{PreparedCode, load_preloaded, prepare};
use myriad_vm::spawn::{SpawnOptions, spawn_orphan};
use myriad_vm::vm::{Config, Parts, Vm};
use std::path::{Path, PathBuf};

fn main() {
    let path = std::env::args().nth(1).expect("the path of a .beam file");
    let bytes = std::fs::read(&path).expect("a readable file");
    let module = Path::new(&path).file_stem().and_then(|s| s.to_str()).expect("a module name");
    let root = PathBuf::from(std::env::var_os("MYRIAD_OTP_ROOT").unwrap_or_else(|| "/usr/lib/erlang".into()));
    let release = myriad_vm::release::Release::find(&root).expect("an OTP root");
    let mut bifs: Vec<&'static [myriad_vm::BifDef]> = myriad_bif::TABLES.to_vec();
    bifs.push(EXAMPLE);
    let parts = Parts { engine: Box::new(myriad_interp::Interpreter), bifs, exit_hooks: Vec::new() };
    let vm = Vm::new(config(root), release, parts);
    load_preloaded(vm).expect("preloaded modules");
    let prepared = prepare(&bytes, &vm.bifs, vm.engine()).unwrap_or_else(|_| panic!("not a module"));
    let _ = vm.code.finish_loading(&[&PreparedCode::new(prepared)]);
    let atom = |text: &str| Atom::new(text).expect("an atom");
    let export = Export::intern(Mfa { module: atom(module), function: atom("main"), arity: 0 });
    let _ = spawn_orphan(vm, export, &[], &SpawnOptions::new(vm));
    std::process::exit(vm.run());
}

fn config(root: PathBuf) -> Config {
    Config {
        schedulers: 1,
        schedulers_online: 1,
        dirty_cpu: 1,
        dirty_io: 1,
        process_limit: 1 << 18,
        port_limit: 1024,
        atom_limit: 1 << 20,
        heap: myriad_heap::Settings::default(),
        off_heap_messages: false,
        root,
        arguments: Vec::new(),
        emulator_flags: Vec::new(),
        backtrace_depth: 8,
    }
}

// `example:stop(Value)` prints the value and ends the VM.
myriad_vm::bifs! { EXAMPLE = "example" {
    "stop" / 1 Plain => |ctx, a| { println!("{}", a[0]); ctx.vm.stop(0); Ok(a[0]) };
}}
