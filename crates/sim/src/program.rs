//! A program to be simulated: its modules and those of OTP that they name, loaded into a VM whose cores are simulated.
//!
//! There is no boot and no code server: what the program's modules import, and what those import, is loaded from the release's libraries, or
//! from beside the program's file, before it begins. A call of any other module is `undef`.

use crate::clients;
use crate::clock::VirtualClock;
use myriad_beam::Module;
use myriad_sync::Arc;
use myriad_term::{Arena, Atom, Build, Export, Mfa, Term, TermRef};
use myriad_trace::Tracing;
use myriad_vm::bif::BifResult;
use myriad_vm::code::{PreparedCode, load_preloaded, prepare};
use myriad_vm::observer::NoObserver;
use myriad_vm::release::Release;
use myriad_vm::spawn::{SpawnOptions, spawn_orphan};
use myriad_vm::subsystem::{Functions, Subsystem};
use myriad_vm::vm::{Config, Parts, Vm};
use myriad_vm::{BifDef, Ctx};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Most processes of a simulated program.
const PROCESSES: usize = 1 << 20;
/// Most ports of a simulated program.
const MOST_PORTS: usize = 1 << 16;
/// What a program calls by name alone: its group leader's functions, and what formats.
const ROOTS: [&str; 2] = ["io", "io_lib"];
/// Modules that are named by many and need a code server, which there is none of: a call of an unknown function is just `undef`.
const WITHOUT: [&str; 1] = ["error_handler"];
/// The applications whose modules may be named.
const APPLICATIONS: [&str; 3] = ["stdlib-", "kernel-", "compiler-"];

/// Loops of which idle cores take parts (docs/parallel.md).
const PARALLEL: &[u8] = include_bytes!("../../../erl/ebin/parallel.beam");
static OWN: &[u8] = include_bytes!("../../../erl/ebin/myriad_sim.beam");

fn print(_: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    // A reader that has gone does not end the program.
    let _ = std::io::stdout().write_all(&args[0].as_binary().unwrap_or_default());
    Ok(Term::OK)
}

/// Says why the program ended, if that was not by its own will: for a function that is not there its name, else the reason.
fn failed(_: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let text = |term: Term| String::from_utf8_lossy(&myriad_term::print::display(term)).into_owned();
    match args[0].as_tuple_of::<3>() {
        Some([module, function, arity]) => eprintln!(
            "myriad sim: {}:{}/{} is not to be had: the simulator has no ports, files, sockets, applications or code server",
            text(module),
            text(function),
            text(arity),
        ),
        _ => eprintln!("myriad sim: the program failed: {}", text(args[1])),
    }
    Ok(Term::OK)
}

/// The descriptors of the connections to the clients, for its ports; none where there are no clients, or from the second time on.
fn clients(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let now_ns = ctx.vm.platform.now_ns();
    let descriptors = clients::with(|clients| clients.connect(now_ns)).unwrap_or_default();
    let descriptors: Vec<Term> = descriptors.into_iter().map(|fd| Term::small(i64::from(fd))).collect();
    Ok(ctx.list(&descriptors))
}

myriad_vm::bifs! { PRINTING = "myriad_sim_out" {
    "print" / 1 Plain => print;
    "failed" / 2 Plain => failed;
    "clients" / 0 Plain => clients;
}}

/// A VM of so many simulated cores; `with_ports`: what it does with sockets works, and the driver gives the I/O thread its turns.
///
/// # Errors
/// One line: there is no release at the root, or it cannot be loaded.
pub fn vm(root: &Path, cores: usize, with_ports: bool, clock: Arc<VirtualClock>) -> Result<&'static Vm, String> {
    let config = Config {
        schedulers: cores,
        schedulers_online: cores,
        dirty_cpu: 1,
        dirty_cpu_online: 1,
        dirty_io: 1,
        process_limit: PROCESSES,
        port_limit: MOST_PORTS,
        root: root.to_owned(),
        ..Config::default()
    };
    let release = Release::find(&config.root)?;
    static OWN_TABLES: [&[BifDef]; 1] = [PRINTING];
    let mut subsystems: Vec<Box<dyn Subsystem>> =
        vec![Box::<myriad_ets::Tables>::default(), Box::<myriad_bif::Builtins>::default(), Functions::of(&OWN_TABLES)];
    if with_ports {
        subsystems.push(Box::<myriad_io::Io>::default());
    }
    let parts = Parts {
        engine: Box::new(myriad_interp::Interpreter::new()),
        subsystems,
        tracer: Box::new(Tracing::new(|_, _| None)),
        observer: Box::new(NoObserver),
    };
    let vm = Vm::on_platform(config, release, parts, clock);
    vm.start_subsystems()?;
    load_preloaded(vm)?;
    Ok(vm)
}

/// The compiled modules of the release's libraries by name.
fn library(root: &Path) -> Result<BTreeMap<String, PathBuf>, String> {
    let entries = |place: &Path| -> Result<Vec<PathBuf>, String> {
        let list = std::fs::read_dir(place).map_err(|why| format!("cannot read {}: {why}", place.display()))?;
        let mut paths: Vec<PathBuf> = list.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        Ok(paths)
    };
    let named = |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned).unwrap_or_default();
    let mut modules = BTreeMap::new();
    for application in entries(&root.join("lib"))? {
        if APPLICATIONS.iter().any(|prefix| named(&application).starts_with(prefix)) {
            for file in entries(&application.join("ebin")).unwrap_or_default() {
                if let Some(module) = named(&file).strip_suffix(".beam") {
                    modules.insert(module.to_owned(), file);
                }
            }
        }
    }
    Ok(modules)
}

/// Loads a program's files, and what they name of the release's libraries and of what lies beside the first one. Gives the first one's name.
///
/// # Errors
/// One line: a file cannot be read, or is no module.
pub fn load(vm: &'static Vm, files: &[PathBuf]) -> Result<Atom, String> {
    let library = library(&vm.config.root)?;
    let preloaded = vm.code.preloaded();
    let mut known: BTreeSet<String> = WITHOUT.iter().map(|name| (*name).to_owned()).collect();
    let mut first = None;
    let mut wanted = load_one(vm, OWN, "myriad_sim", &mut known)?;
    for file in files {
        let bytes = std::fs::read(file).map_err(|why| format!("cannot read {}: {why}", file.display()))?;
        let module = Module::load(&bytes).map_err(|why| format!("{}: {why}", file.display()))?;
        first.get_or_insert(module.name().to_owned());
        wanted.extend(load_one(vm, &bytes, &file.display().to_string(), &mut known)?);
    }
    wanted.extend(ROOTS.map(str::to_owned));
    let beside = |name: &str| {
        let file = files.first()?.with_file_name(name).with_extension("beam");
        file.is_file().then_some(file)
    };
    while let Some(name) = wanted.pop_first() {
        let is_preloaded = Atom::new(&name).is_ok_and(|atom| preloaded.contains(&atom));
        if known.contains(&name) || is_preloaded {
            continue;
        }
        if let Some(file) = library.get(&name).cloned().or_else(|| beside(&name)) {
            let bytes = std::fs::read(&file).map_err(|why| format!("cannot read {}: {why}", file.display()))?;
            wanted.extend(load_one(vm, &bytes, &file.display().to_string(), &mut known)?);
        } else if name == "parallel" {
            wanted.extend(load_one(vm, PARALLEL, "parallel", &mut known)?);
        }
    }
    let first = first.ok_or("no module to run")?;
    Atom::new(&first).map_err(|_| format!("no room for the name {first}"))
}

/// Loads a module; gives the names of those that it imports.
fn load_one(
    vm: &'static Vm,
    bytes: &[u8],
    file: &str,
    known: &mut BTreeSet<String>,
) -> Result<BTreeSet<String>, String> {
    let module = Module::load(bytes).map_err(|why| format!("{file}: {why}"))?;
    let prepared = PreparedCode::new(prepare(bytes, &vm.bifs, vm.engine()).map_err(|why| format!("{file}: {why}"))?);
    // A module that wants to do something before it is used is one that needs a system around it.
    if prepared.has_on_load {
        known.insert(module.name().to_owned());
        return Ok(BTreeSet::new());
    }
    vm.code.finish_loading(&[&prepared]).map_err(|why| format!("{file}: {why:?}"))?;
    known.insert(module.name().to_owned());
    Ok(module.imports.iter().map(|import| module.atom(import.module).to_owned()).collect())
}

/// Makes the first process: `myriad_sim:start(Module, Args)`, with texts as arguments. It halts the VM when the program ends.
///
/// # Errors
/// There is no room for it.
pub fn start(vm: &'static Vm, module: Atom, args: &[String]) -> Result<(), String> {
    let mut arena = &Arena::new();
    let texts: Vec<TermRef<'_>> = args.iter().map(|text| text_list(&mut arena, text)).collect();
    let list = arena.list(&texts);
    let name = |text: &str| Atom::new(text).map_err(|_| "no room for a name");
    let export = Export::intern(Mfa { module: name("myriad_sim")?, function: name("start")?, arity: 2 });
    let made = spawn_orphan(vm, export, &[Term::atom(module), list], &SpawnOptions::new(vm));
    made.map(|_| ()).map_err(|_| "no room for a process".to_owned())
}

fn text_list<'h>(arena: &mut &'h Arena, text: &str) -> TermRef<'h> {
    let characters: Vec<TermRef<'h>> = text.chars().map(|c| Term::small(i64::from(u32::from(c)))).collect();
    arena.list(&characters)
}
