//! Runs one function of some .beam files without booting OTP: `run_erl FILE.beam... -- Module Function`.
//!
//! The preloaded modules and those named are loaded; a call of any other module is `undef`. Prints what the process ended
//! with: call `exit(Result)` in the function.

use myriad_process::Status;
use myriad_term::{Atom, Export, Mfa, Term};
use myriad_trace::Tracing;
use myriad_vm::bif::{BifResult, Resumption};
use myriad_vm::code::{PreparedCode, prepare};
use myriad_vm::observer::NoObserver;
use myriad_vm::release::Release;
use myriad_vm::scheduler::{Scheduler, Step};
use myriad_vm::spawn::{SpawnOptions, spawn_orphan};
use myriad_vm::subsystem::{Functions, Subsystem};
use myriad_vm::vm::{Config, Parts, Vm};
use myriad_vm::{BifDef, Ctx};
use std::path::PathBuf;

/// `run_erl:print/1` writes a binary.
fn print(_: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    use std::io::Write;
    let _ = std::io::stdout().write_all(&args[0].as_binary().unwrap_or_default());
    Ok(Term::OK)
}

myriad_vm::bifs! { RUN_ERL = "run_erl" {
    "print" / 1 Plain => print;
}}

fn show_end(ctx: &mut Ctx<'_>) -> Option<Resumption> {
    let text = myriad_term::print::display(ctx.state.exit_reason);
    println!("{} {}", ctx.pid().number(), String::from_utf8_lossy(&text));
    None
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let split = args.iter().position(|a| a == "--").expect("FILE.beam... -- Module Function");
    let config = Config {
        dirty_cpu: 1,
        dirty_cpu_online: 1,
        dirty_io: 1,
        process_limit: 262_144,
        port_limit: 1024,
        root: PathBuf::from("/usr/lib/erlang"),
        ..Config::default()
    };
    let release = Release::find(&config.root).expect("an OTP root");
    static OWN: [&[BifDef]; 1] = [RUN_ERL];
    let own = Functions { tables: &OWN, process_exits: show_end };
    let subsystems: Vec<Box<dyn Subsystem>> = vec![Box::<myriad_bif::Builtins>::default(), Box::new(own)];
    let parts = Parts {
        engine: Box::new(myriad_interp::Interpreter::new()),
        subsystems,
        tracer: Box::new(Tracing::new(|_, _| None)),
        observer: Box::new(NoObserver),
    };
    let vm = Vm::new(config, release, parts);
    myriad_vm::code::load_preloaded(vm).expect("preloaded modules");
    for file in &args[..split] {
        let bytes = std::fs::read(file).expect("a readable file");
        let prepared = PreparedCode::new(prepare(&bytes, &vm.bifs, vm.engine()).expect("a good module"));
        vm.code.finish_loading(&[&prepared]).unwrap_or_else(|_| panic!("cannot load {file}"));
    }
    let atom = |text: &str| Atom::new(text).expect("room for atoms");
    let export = Export::intern(Mfa { module: atom(&args[split + 1]), function: atom(&args[split + 2]), arity: 0 });
    let started = std::time::Instant::now();
    let pid = spawn_orphan(vm, export, &[], &SpawnOptions::new(vm)).expect("room for a process");
    let mut scheduler = Scheduler::new(vm, 0).expect("the first thread");
    loop {
        match scheduler.step() {
            Step::Ran(_) => {}
            Step::Idle(Some(ns)) => myriad_sync::thread::sleep(std::time::Duration::from_nanos(ns)),
            Step::Idle(None) => {
                if let Some(p) = vm.processes.get(pid)
                    && p.status() == Status::Waiting
                {
                    println!("waits for ever");
                }
                break;
            }
            Step::Stop => break,
        }
        if vm.processes.get(pid).is_none() {
            break;
        }
    }
    eprintln!("{:?}", started.elapsed());
}
