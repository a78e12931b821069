//! `erlang:load_nif/2` for C libraries.
//!
//! LO1. A library stays mapped as long as it is held: by the version of the module that has loaded it, until that is purged, which finds no
//!      process in it; by types of resources with functions of its (nif.resource/RT1); by calls on dirty schedulers and calls that are to
//!      follow, whose process may have ended; by calls as a tracer, of which no process tells. Then `unload` is called, and it goes.
//! LO2. One process at a time loads a library for a module ([`Turn`]): `load` and `upgrade` run once for each version.

use crate::abi::{Function, FunctionEntry, LibraryEntry, VERSION};
use crate::check;
use crate::env::{self, Env, Nif};
use crate::{linker, resource, taints};
use myriad_sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use myriad_sync::{Count, LockClass, OnceLock, SpinLock};
use myriad_term::{Atom, Mfa, Pid, Term, TermRef, am};
use myriad_vm::bif::{BifDef, BifKind, Foreign};
use myriad_vm::code::{BuiltIns, NifBinding, NifLibrary, NifTarget};
use myriad_vm::{BifResult, Ctx, Vm};
use std::collections::{HashMap, HashSet};
use std::ffi::{CString, c_int, c_void};
use std::os::raw::c_uint;

/// A library that a module has loaded. This stays for ever, for what leads to it; what is mapped goes (LO1).
pub struct Library {
    /// The module.
    pub(crate) module: Atom,
    /// Its file.
    pub(crate) file: Box<[u8]>,
    /// The library's own data (`enif_priv_data`).
    pub(crate) private: AtomicPtr<c_void>,
    /// The system's handle of what is mapped.
    handle: AtomicPtr<c_void>,
    /// Its table, there as long as it is mapped.
    entry: &'static LibraryEntry,
    /// Its own `load` or `upgrade` has been well.
    has_begun: AtomicBool,
    /// Who holds it (LO1).
    holders: Count,
}

static CLASS: LockClass = LockClass::new("nif_libraries", 908);
/// The libraries that versions of modules have, in the order in which they were loaded.
static LIBRARIES: SpinLock<Vec<&'static Library>> = SpinLock::new(&CLASS, Vec::new());

/// The VM that libraries run in.
static VM: OnceLock<&'static Vm> = OnceLock::new();

/// Libraries run in this VM.
pub fn run_in(vm: &'static Vm) {
    VM.get_or_init(|| vm);
    if vm.config.nif_check {
        check::turn_on(vm);
    }
}

/// The VM, once it has loaded a library.
pub(crate) fn vm() -> Option<&'static Vm> {
    VM.get().copied()
}

/// Is this a thread of the VM's that counts for thread progress: a scheduler's, or one on which a library's function runs?
pub(crate) fn is_vm_thread() -> bool {
    myriad_sched::current().is_some() || env::is_calling()
}

/// The kind of this thread (`enif_thread_type`): 1 a scheduler, 2 and 3 a dirty one of either kind, 0 any other.
pub(crate) fn thread_kind() -> c_int {
    match myriad_sched::current() {
        Some(_) => 1,
        None => env::dirty_kind().unwrap_or(c_int::from(env::is_calling())),
    }
}

/// Runs with the processes of the VM held in place, on whatever thread this is.
pub(crate) fn with_processes<R>(look: impl FnOnce(&'static Vm) -> R) -> Option<R> {
    let vm = vm()?;
    // Threads of the VM count for thread progress while a library runs on them.
    let pinned = (!is_vm_thread()).then(|| vm.progress.pin());
    let result = look(vm);
    drop(pinned);
    Some(result)
}

/// Why a library is not loaded: the reason and the text of `{error, {Reason, Text}}`.
pub struct Refusal {
    /// `load_failed`, `bad_lib`, `reload`, `upgrade` or `load`.
    pub reason: Atom,
    /// In words.
    pub text: Vec<u8>,
}

fn refuse<T>(reason: Atom, text: impl Into<Vec<u8>>) -> Result<T, Refusal> {
    Err(Refusal { reason, text: text.into() })
}

impl Foreign for Nif {
    fn call(&self, ctx: &mut Ctx<'_>, arguments: &[Term]) -> BifResult {
        env::call(ctx, self, arguments)
    }

    fn observe(&self, caller: Option<Pid>, arguments: &[TermRef<'_>]) -> Option<Atom> {
        // It may be told to unload meanwhile.
        let _held = Held::unless_gone(self.library)?;
        env::observe(caller, self.function, arguments, self.library)
    }
}

/// The functions of a library, by name.
struct Functions(HashMap<Mfa, &'static BifDef>);

impl BuiltIns<Vm> for Functions {
    fn bif(&self, _: Mfa) -> Option<&'static BifDef> {
        None
    }

    fn nif(&self, mfa: Mfa) -> Option<&'static BifDef> {
        self.0.get(&mfa).copied()
    }

    fn runs_intrinsics(&self, _: Atom, _: [u8; 16]) -> bool {
        false
    }
}

/// The turn to load a library for a module: until this goes, nobody else has it.
pub struct Turn(Atom);

/// The modules that libraries are being loaded for.
static LOADING: SpinLock<Vec<Atom>> = SpinLock::new(&LOADING_CLASS, Vec::new());
static LOADING_CLASS: LockClass = LockClass::new("nif_loading", 907);

impl Turn {
    /// The turn, if nobody has it.
    pub fn of(module: Atom) -> Option<Turn> {
        let mut loading = LOADING.lock();
        if loading.contains(&module) {
            return None;
        }
        loading.push(module);
        Some(Turn(module))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        LOADING.lock().retain(|module| *module != self.0);
    }
}

/// Loads the library in this file for the module whose turn it is, with the argument of `load_nif/2`.
///
/// # Errors
/// What `load_nif/2` answers.
pub fn load(ctx: &mut Ctx<'_>, turn: &Turn, file: &[u8], info: Term) -> Result<(), Refusal> {
    let module = turn.0;
    let NifTarget { functions: own, is_upgrade } = match ctx.vm.code.functions_for_nifs(module) {
        Ok(found) => found,
        Err(NifBinding::Again) => {
            return refuse(am::reload, "NIF library already loaded (reload disallowed since OTP 20).");
        }
        Err(_) => return refuse(am::load_failed, "the module is not loaded"),
    };
    run_in(ctx.vm);
    let mapped = open(file)?;
    check(mapped.entry, module)?;
    let names = names(mapped.entry, module, &own)?;
    let library = Library::new(module, file, mapped);
    let loading = Held::of(library);
    let functions = functions(library, names);
    let old = LIBRARIES.lock().iter().rev().copied().find(|old| old.module == module && is_upgrade);
    begin(ctx, library, old, info)?;
    let bound = ctx.vm.code.bind_nifs(module, &functions, ctx.vm.engine(), Box::new(OfVersion(library)));
    if bound != NifBinding::Bound {
        // It was deleted meanwhile.
        resource::close_types(library);
        return refuse(am::load_failed, "the module is not loaded");
    }
    LIBRARIES.lock().push(library);
    taints::add(module);
    // It is the version's.
    std::mem::forget(loading);
    Ok(())
}

impl Library {
    /// The library that is mapped there, which the caller holds.
    fn new(module: Atom, file: &[u8], mapped: Mapped) -> &'static Library {
        let mapped = std::mem::ManuallyDrop::new(mapped);
        Box::leak(Box::new(Library {
            module,
            file: file.into(),
            private: AtomicPtr::default(),
            handle: AtomicPtr::new(mapped.handle),
            entry: mapped.entry,
            has_begun: AtomicBool::new(false),
            holders: Count::new(),
        }))
    }

    /// One more holds it; who calls does, or knows that another does meanwhile.
    pub(crate) fn hold(&'static self) {
        self.holders.hold();
    }

    /// One less; after the last it is told to unload, and unmapped (LO1).
    pub(crate) fn release(&'static self) {
        if !self.holders.release() {
            return;
        }
        // Relaxed, here and below: what the holders have done is done (sync.count/N1).
        if let Some(unload) = self.entry.unload.filter(|_| self.has_begun.load(Ordering::Relaxed)) {
            // SAFETY: ABI1: the library's own function.
            env::for_callback(Some(self), "unload", |env| unsafe { unload(env, self.private.load(Ordering::Relaxed)) });
        }
        // SAFETY: an open handle, of whose library nothing is in use: nobody holds it.
        unsafe { libc::dlclose(self.handle.load(Ordering::Relaxed)) };
    }
}

/// A library that is held.
pub(crate) struct Held(&'static Library);

impl Held {
    /// The caller holds it, and this gives that back.
    fn of(library: &'static Library) -> Held {
        Held(library)
    }

    /// Holds it, which others may have ceased to do: nothing if nobody does any more. What is mapped may go; this stays (LO1).
    fn unless_gone(library: &'static Library) -> Option<Held> {
        library.holders.try_hold().then_some(Held(library))
    }

    /// Holds it once more.
    pub(crate) fn again(library: &'static Library) -> Held {
        library.hold();
        Held(library)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.release();
    }
}

/// A version's hold of its library.
struct OfVersion(&'static Library);

impl NifLibrary for OfVersion {
    fn leave(&self) {
        LIBRARIES.lock().retain(|library| !std::ptr::eq(*library, self.0));
        resource::close_types(self.0);
        self.0.release();
    }
}

/// A library that is mapped, until this goes or is kept.
struct Mapped {
    handle: *mut c_void,
    entry: &'static LibraryEntry,
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: an open handle, of whose library nothing is in use: its own code has not run.
        unsafe { libc::dlclose(self.handle) };
    }
}

/// Maps a library, and asks it what it has.
fn open(file: &[u8]) -> Result<Mapped, Refusal> {
    let failed = |what: &str, why: Vec<u8>| refuse(am::load_failed, [what.as_bytes(), b": '", &why, b"'"].concat());
    let Ok(path) = CString::new(file) else { return failed("Failed to load NIF library", b"a zero byte".to_vec()) };
    let handle = match linker::open(&path) {
        Ok(handle) => handle,
        Err(why) => return failed("Failed to load NIF library", why),
    };
    let names = [c"nif_init", c"_nif_init"].into_iter();
    // SAFETY: an open handle and a name.
    let mut found = names.map(|name| unsafe { libc::dlsym(handle, name.as_ptr()) });
    let Some(init) = found.find(|init| !init.is_null()) else {
        let why = linker::error();
        // SAFETY: an open handle, of which nothing is in use.
        unsafe { libc::dlclose(handle) };
        return refuse(am::bad_lib, [b"Failed to find library init function: '", &why[..], b"'"].concat());
    };
    // SAFETY: ABI1: the function of this name gives the library's table, which stays as long as that is mapped.
    let entry = unsafe {
        let init: unsafe extern "C" fn() -> *const LibraryEntry = std::mem::transmute(init);
        init().as_ref()
    };
    match entry {
        Some(entry) => Ok(Mapped { handle, entry }),
        None => refuse(am::bad_lib, "Library init-call unsuccessful"),
    }
}

/// Is the table one that this VM knows, and this module's?
fn check(entry: &LibraryEntry, module: Atom) -> Result<(), Refusal> {
    let (major, minor) = (entry.major, entry.minor);
    if major != VERSION.0 || !(0..=VERSION.1).contains(&minor) {
        return refuse(
            am::bad_lib,
            format!("Library version ({major}.{minor}) not compatible (with {}.{})", VERSION.0, VERSION.1),
        );
    }
    let variant = entry.variant();
    if variant != b"beam.vanilla" {
        let text = [b"Library (", variant, b") not compiled for this vm variant (beam.vanilla)."].concat();
        return refuse(am::bad_lib, text);
    }
    if entry.module.bytes() != module.text().as_bytes() {
        let text = [b"Library module name '", entry.module.bytes(), b"' does not match calling module '"].concat();
        return refuse(am::bad_lib, [&text, module.text().as_bytes(), b"'"].concat());
    }
    Ok(())
}

/// The names of a library's functions, each of which is one of the module's `own` that may be a NIF, and how they are to be called.
fn names(entry: &LibraryEntry, module: Atom, own: &[(Mfa, bool)]) -> Result<Vec<(Mfa, BifKind, Function)>, Refusal> {
    let name = |FunctionEntry { name: text, arity, function, flags }| {
        let name = std::str::from_utf8(text.bytes()).ok().and_then(Atom::existing);
        let mfa = name.map(|function| Mfa { module, function, arity: arity as u8 });
        let mfa = mfa.filter(|mfa| u32::from(mfa.arity) == arity);
        let wrong = match mfa.and_then(|mfa| own.iter().find(|(own, _)| *own == mfa)) {
            Some((mfa, true)) => return Ok((*mfa, kind(flags, *mfa)?, function)),
            Some((_, false)) => "declared as nif",
            None => "found",
        };
        let (module, arity) = (module.text(), format!("/{arity}"));
        let what = ["Function not ", wrong, " ", module, ":"].concat();
        refuse(am::bad_lib, [what.as_bytes(), text.bytes(), arity.as_bytes()].concat())
    };
    let names = entry.functions().into_iter().map(name).collect::<Result<Vec<_>, _>>()?;
    let mut seen = HashSet::new();
    match names.iter().find(|(mfa, ..)| !seen.insert(*mfa)) {
        Some((Mfa { function, arity, .. }, ..)) => {
            let (module, function) = (module.text(), function.text());
            refuse(am::bad_lib, format!("Duplicate NIF entry for {module}:{function}/{arity}"))
        }
        None => Ok(names),
    }
}

fn kind(flags: c_uint, mfa: Mfa) -> Result<BifKind, Refusal> {
    const CPU: c_uint = 1;
    const IO: c_uint = 2;
    match flags {
        0 => Ok(BifKind::Nif),
        CPU => Ok(BifKind::NifDirtyCpu),
        IO => Ok(BifKind::NifDirtyIo),
        flags => {
            let (module, name) = (mfa.module.text(), mfa.function.text());
            refuse(am::bad_lib, format!("Illegal flags field value {flags} for NIF {module}:{name}/{}", mfa.arity))
        }
    }
}

/// The definitions of a library's functions, which stay as it does.
fn functions(library: &'static Library, names: Vec<(Mfa, BifKind, Function)>) -> Functions {
    let define = |(mfa, kind, function)| {
        let nif: &'static Nif = Box::leak(Box::new(Nif { name: mfa, function, library }));
        (mfa, &*Box::leak(Box::new(BifDef::foreign(mfa, kind, nif))))
    };
    Functions(names.into_iter().map(define).collect())
}

/// The library's own beginning: with `load`, or where the module's version before has a library, with `upgrade`. What these put where the
/// library's own data stands is seen at once, by what they call too.
fn begin(
    ctx: &mut Ctx<'_>,
    library: &'static Library,
    old: Option<&'static Library>,
    info: Term,
) -> Result<(), Refusal> {
    let private = library.private.as_ptr();
    let mut env = Env::of_loading(ctx, library, old.is_some());
    let (reason, what, code): (Atom, &str, c_int) = match (old, library.entry.upgrade, library.entry.load) {
        (Some(_), None, _) => return refuse(am::upgrade, "Upgrade not supported by this library."),
        (Some(old), Some(upgrade), _) => {
            let old = old.private.as_ptr();
            // SAFETY: ABI1: the library's own function. One process at a time is here (LO2).
            let run = |env: &mut Env| unsafe { upgrade(env, private, old, env.word(info)) };
            let code = env::within(&mut env, "upgrade", run);
            (am::upgrade, "Library upgrade-call unsuccessful", code)
        }
        (None, _, Some(load)) => {
            // SAFETY: ABI1: the library's own function. One process at a time is here (LO2).
            let run = |env: &mut Env| unsafe { load(env, private, env.word(info)) };
            let code = env::within(&mut env, "load", run);
            (am::load, "Library load-call unsuccessful", code)
        }
        (None, _, None) => (am::load, "", 0),
    };
    if code != 0 {
        return refuse(reason, format!("{what} ({code})."));
    }
    // Relaxed: the binding of its functions is seen by who purges their version.
    library.has_begun.store(true, Ordering::Relaxed);
    env.take_opened().into_iter().for_each(resource::Opened::settle);
    Ok(())
}
