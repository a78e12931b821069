//! From the bytes of a .beam file to a module that only has to be published.
//!
//! Names become atoms, literals become terms of the module's own literal area, imports become exports, funs become fun
//! entries, and each function gets its place in a table whose addresses never change. Code is not decoded here: a function
//! starts at the engine's stub, which decodes it when it is first called.
//!
//! L1. Preparing publishes nothing but names (atoms, exports and fun entries without code), which live for ever anyway. So
//!     it may run on any thread, and dropping the result undoes it.
//! L2. Functions that the table of built-ins names are bound to it here, whatever their Erlang body is: OTP's modules hold
//!     stubs in their place. NIFs stay Erlang functions until `erlang:load_nif/2`.
//! L3. Input is untrusted: what `myriad_beam` and the external term decoder accept is bounded by the size of the file (or by
//!     what a compressed part declares), and whatever they refuse is an error here.

use crate::module::Constants;
use crate::{BuiltIns, Executor, Function, Module, Runtime};
use myriad_heap::LiteralArea;
use myriad_sync::atomic::{AtomicPtr, AtomicU32};
use myriad_sync::{LockClass, Mutex, OnceLock, Pins};
use myriad_term::atom::AtomError;
use myriad_term::{Arena, Atom, Build, Export, FunEntry, FunId, Mfa, Term};
use std::fmt;
use std::ptr::{self, NonNull};

/// Why a module could not be prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// The file is not as a compiler makes it.
    File(myriad_beam::LoadError),
    /// A literal is not a valid external term.
    Literal(u32),
    /// The attributes or the compile information are not a valid external term.
    Information,
    /// The atom table is full.
    Atoms,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::Literal(index) => write!(f, "literal {index} is no external term"),
            Self::Information => write!(f, "attributes or compile information are no external term"),
            Self::Atoms => write!(f, "the atom table is full"),
        }
    }
}

impl From<myriad_beam::LoadError> for LoadError {
    fn from(error: myriad_beam::LoadError) -> Self {
        LoadError::File(error)
    }
}

impl From<AtomError> for LoadError {
    fn from(_: AtomError) -> Self {
        LoadError::Atoms
    }
}

/// A module that is ready to be published and that no other thread knows yet.
pub struct Prepared<R: Runtime> {
    module: NonNull<Module<R>>,
}

// SAFETY: it owns the module, which is `Send` and `Sync`.
unsafe impl<R: Runtime> Send for Prepared<R> {}
// SAFETY: as above; a shared reference only reads.
unsafe impl<R: Runtime> Sync for Prepared<R> {}

impl<R: Runtime> Prepared<R> {
    /// The module that was prepared; no export leads to it yet.
    pub fn module(&self) -> &Module<R> {
        // SAFETY: owned, and made in `prepare`.
        unsafe { self.module.as_ref() }
    }

    /// The name of the module that was prepared.
    pub fn name(&self) -> Atom {
        self.module().name
    }

    /// Does it have an on_load function?
    pub fn has_on_load(&self) -> bool {
        self.module().on_load.is_some()
    }

    /// Forgets the places in source files: OTP's preloaded modules have none in stack traces.
    pub fn forget_lines(&mut self) {
        // SAFETY: owned, and made in `prepare`; not published yet.
        unsafe { self.module.as_mut() }.beam.lines = Default::default();
    }

    /// Hands the module over.
    pub(crate) fn into_module(self) -> NonNull<Module<R>> {
        std::mem::ManuallyDrop::new(self).module
    }
}

impl<R: Runtime> Drop for Prepared<R> {
    fn drop(&mut self) {
        // SAFETY: came from a Box in `prepare`; never published, so nothing refers to it.
        drop(unsafe { Box::from_raw(self.module.as_ptr()) });
    }
}

static PREPARED_CLASS: LockClass = LockClass::nested("prepared_code", 310);

/// What `erts_internal:prepare_loading/2` gives Erlang code, behind a magic reference: a module that can be loaded once.
pub struct PreparedCode<R: Runtime> {
    slot: Mutex<Option<Prepared<R>>>,
    /// The module's name.
    pub name: Atom,
    /// Does it have an on_load function?
    pub has_on_load: bool,
}

impl<R: Runtime> PreparedCode<R> {
    /// Wraps a prepared module.
    pub fn new(prepared: Prepared<R>) -> PreparedCode<R> {
        let (name, has_on_load) = (prepared.name(), prepared.has_on_load());
        PreparedCode { slot: Mutex::new(&PREPARED_CLASS, Some(prepared)), name, has_on_load }
    }

    /// Has it not been loaded yet?
    pub fn is_fresh(&self) -> bool {
        self.slot.lock().is_some()
    }

    /// Takes the module out: it can be loaded only once.
    pub(crate) fn take(&self) -> Option<Prepared<R>> {
        self.slot.lock().take()
    }
}

/// Makes a module from the bytes of a .beam file.
pub fn prepare<R: Runtime>(
    bytes: &[u8],
    bifs: &dyn BuiltIns<R>,
    engine: &dyn Executor<R>,
) -> Result<Prepared<R>, LoadError> {
    let beam = myriad_beam::Module::load(bytes)?;
    let names = beam.atoms.iter().map(Atom::new).collect::<Result<Vec<Atom>, _>>()?;
    let name_of = |index: u32| index.checked_sub(1).and_then(|i| names.get(i as usize)).copied();
    // The file's tables were checked: an index without a name does not occur.
    let missing = LoadError::File(myriad_beam::LoadError::NotBeam);
    let name = name_of(1).ok_or(missing.clone())?;
    let mfa_of = |module: Atom, function: u32, arity: u8| Some(Mfa { module, function: name_of(function)?, arity });

    let readable = |bytes| crate::info::decode_first(&mut &Arena::new(), bytes).is_some();
    if ![&beam.attributes, &beam.compile_info].into_iter().all(|bytes| readable(bytes)) {
        return Err(LoadError::Information);
    }
    let mut literal_area = LiteralArea::new();
    let literals = decode_literals(&beam, &mut literal_area)?;
    let own_file = format!("{}.erl", name.text());
    let named = beam.lines.files.iter().map(|file| Atom::new(file).ok().filter(|_| !file.is_empty()));
    let file_atoms = std::iter::once(None).chain(named).collect();
    let files = std::iter::once(own_file.as_str()).chain(beam.lines.files.iter().map(|f| &**f));
    let files = files.map(|file| literal_area.string(file)).collect();

    let imports = beam
        .imports
        .iter()
        .map(|row| Some(Export::intern(mfa_of(name_of(row.module)?, row.function, row.arity)?)))
        .collect::<Option<Vec<_>>>()
        .ok_or(missing.clone())?;
    let exports = beam
        .exports
        .iter()
        .map(|row| Some((Export::intern(mfa_of(name, row.function, row.arity)?), beam.function_at(row.label)?)))
        .collect::<Option<Vec<_>>>()
        .ok_or(missing.clone())?;
    let md5 = beam.md5();
    let fun = |(old_index, row): (i32, &myriad_beam::Lambda)| {
        let (index, old_uniq, arity, free) = (row.index as i32, row.old_uniq as i32, row.arity - row.free, row.free);
        FunEntry::intern(FunId { module: name, index, old_index, old_uniq, uniq: md5, arity, free })
    };
    let funs = (0..).zip(&beam.lambdas).map(fun).collect();
    let functions = (0_u32..)
        .zip(&beam.functions)
        .map(|(index, row)| Some(Function::new(mfa_of(name, row.name, row.arity)?, engine.undecoded(), index)))
        .collect::<Option<Box<[Function<R>]>>>()
        .ok_or(missing)?;
    let atoms = std::iter::once(Term::NIL).chain(names.iter().map(|a| a.term())).collect();

    let module = Box::new(Module {
        name,
        beam,
        atoms,
        literals,
        files,
        file_atoms,
        constants: Constants::shared(literal_area),
        imports,
        funs,
        functions,
        exports,
        on_load: None,
        breakpoints: AtomicU32::new(0),
        nifs: OnceLock::new(),
        learnt: OnceLock::new(),
        pins: Pins::new(),
        md5,
        runs_intrinsics: bifs.runs_intrinsics(name, md5),
    });
    Ok(Prepared { module: link(module, bifs, engine) })
}

/// Lets the functions know their module, and binds the built-in ones (L2).
fn link<R: Runtime>(
    mut module: Box<Module<R>>,
    bifs: &dyn BuiltIns<R>,
    engine: &dyn Executor<R>,
) -> NonNull<Module<R>> {
    let at: *const Module<R> = &raw const *module;
    debug_assert!(module.exports.iter().all(|(_, index)| (*index as usize) < module.functions.len()));
    debug_assert!(module.literals.len() == module.beam.literals.len());
    for function in &mut module.functions {
        debug_assert!(function.module.is_null(), "it is of another module");
        function.module = at;
        if let Some(def) = bifs.bif(function.mfa) {
            function.bind_bif(def, engine);
        }
    }
    let on_load = module.beam.on_load.and_then(|index| module.functions.get(index as usize));
    module.on_load = on_load.map(|function| {
        let code = ptr::from_ref(function).cast_mut().cast();
        Box::new(Export { code: AtomicPtr::new(code), undefined: AtomicPtr::new(code), mfa: function.mfa })
    });
    NonNull::from(Box::leak(module))
}

fn decode_literals(beam: &myriad_beam::Module, area: &mut LiteralArea) -> Result<Vec<Term>, LoadError> {
    let decode = |(index, bytes): (u32, &[u8])| crate::info::decode(area, bytes).ok_or(LoadError::Literal(index));
    (0_u32..).zip(beam.literals.iter()).map(decode).collect()
}
