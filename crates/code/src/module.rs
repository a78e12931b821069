//! A module in memory: its functions, their return points, and the layout of the frames that they make.
//!
//! K1. [`Export::code`](myriad_term::Export) is never null once the VM runs: it points at a [`Function`]; of an undefined
//!     export at a function of its own whose entry is the executor's undefined stub. A program has one [`Runtime`]: exports and fun
//!     entries are untyped, and all of them lead to functions of that type.
//! K2. A [`Continuation`] (return point) is 16-byte aligned, so that its address looks like a small integer on the Erlang
//!     stack; it leads to its function, line and live frame, and to its entry in either tier (docs/design.md, section 3):
//!     the code of tier 0 follows it, so that a return need not read it. Those of the executor's own stubs have no function.
//! K3. A module's memory is freed only after a purge has found no process with a code pointer, fun or literal of it, and
//!     after thread progress.
//!
//! Frames: a call pushes the caller's continuation; `allocate N` makes room for N Y registers below it (Y0 at the stack
//! pointer); a return pops N and jumps to the continuation. Continuation `frame` says how many Y registers lie above
//! the continuation's own slot in the frame that it returns to, so a stack is walked exactly:
//! `[y0..y(n-1)][continuation c][c.frame slots][next continuation]...`

use crate::{Executor, NifLibrary, Runtime};
use myriad_heap::LiteralArea;
use myriad_process::CodePtr;
use myriad_sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use myriad_sync::{EntryWords, LockClass, Mutex, OnceLock, Pins, ShardedCounter};
use myriad_term::{Atom, Build, Export, FunEntry, Mfa, Term};
use std::any::Any;
use std::collections::HashMap;

/// One function of one version of a module (or an undefined export, or a built-in): what exports and funs point at.
#[repr(C, align(16))]
pub struct Function<R: Runtime> {
    /// Where it begins in tier 0, and in machine code (code.entry).
    pub(crate) entry: EntryWords,
    /// Name.
    pub mfa: Mfa,
    /// Index in the module's function table; `u32::MAX` for functions without a module.
    pub index: u32,
    /// The module; null for functions without one.
    pub module: *const Module<R>,
    /// The built-in that stands in for the body.
    pub bif: AtomicPtr<R::BuiltIn>,
    /// What the engine made when it decoded the function.
    pub decoded: AtomicPtr<()>,
    /// What is done at its calls for tracing's sake, or null: the tracer's own, which alone follows it and stores it.
    pub breakpoint: AtomicPtr<()>,
}

// SAFETY: the fields that change are atomic; `module` lives as long as the function (K3).
unsafe impl<R: Runtime> Send for Function<R> {}
// SAFETY: the fields that change are atomic; `module` lives as long as the function (K3).
unsafe impl<R: Runtime> Sync for Function<R> {}

impl<R: Runtime> Function<R> {
    /// The built-in that stands in for the body.
    #[inline]
    pub fn bif(&self) -> Option<&'static R::BuiltIn> {
        // Acquire: pairs with the Release of `bind_bif`; definitions are static tables.
        let def = self.bif.load(Ordering::Acquire);
        // SAFETY: only `bind_bif` stores here, from a `&'static`.
        unsafe { def.as_ref() }
    }

    /// Makes a built-in stand in for the body.
    pub fn bind_bif(&self, def: &'static R::BuiltIn, executor: &dyn Executor<R>) {
        debug_assert!(self.bif().is_none_or(|old| std::ptr::eq(old, def)), "it is bound to another built-in");
        // Release: pairs with the Acquire in `bif`.
        self.bif.store(std::ptr::from_ref(def).cast_mut(), Ordering::Release);
        self.settle_entry(executor);
    }

    /// The module that defines it; `None` for undefined exports and stand-ins.
    pub fn module(&self) -> Option<&Module<R>> {
        // SAFETY: K3.
        unsafe { self.module.as_ref() }
    }

    /// The function that an export runs now.
    #[inline(always)]
    pub fn of_export(export: &Export) -> &'static Function<R> {
        // Acquire: pairs with the Release in the code server. SAFETY: K1; K3 keeps it while a process runs in it.
        unsafe { &*export.code.load(Ordering::Acquire).cast::<Function<R>>() }
    }

    /// The function that a local fun runs now, if its module's version is loaded.
    #[inline(always)]
    pub fn of_fun(entry: &FunEntry) -> Option<&'static Function<R>> {
        // Acquire: pairs with the Release in the code server. SAFETY: K3.
        unsafe { entry.code.load(Ordering::Acquire).cast::<Function<R>>().as_ref() }
    }
}

/// A return point, as it stands on the Erlang stack (K2).
#[repr(C, align(16))]
pub struct Continuation<R: Runtime> {
    /// Where a return from machine code goes on; the executor's way into tier 0 for those whose code is there alone.
    pub native: AtomicPtr<u8>,
    /// The function it is in.
    pub function: *const Function<R>,
    /// Index into the module's line table, 0 = unknown.
    pub line: u32,
    /// Y registers of the frame it returns to.
    pub frame: u32,
    /// The number of the call in the function's body: of one call there is a record in each tier.
    pub call: u32,
}

impl<R: Runtime> Continuation<R> {
    /// Are both behind the same call?
    #[inline]
    pub fn is_of_call(&self, other: &Continuation<R>) -> bool {
        std::ptr::eq(self.function, other.function) && self.call == other.call
    }

    /// Where a return continues in tier 0.
    #[inline(always)]
    pub fn code(record: *const Continuation<R>) -> CodePtr {
        CodePtr(record.wrapping_add(1).cast())
    }
}

static CONSTANTS_CLASS: LockClass = LockClass::new("module_constants", 890);

/// The terms that come and go with a version of a module. What is in its literal table is made when it is loaded; integers
/// that stand in the code and fit no word, when a function with them is decoded.
pub(crate) struct Constants {
    area: LiteralArea,
    /// By sign and magnitude.
    integers: HashMap<(bool, Vec<u64>), Term>,
}

/// One version of a loaded module.
pub struct Module<R: Runtime> {
    /// The module's name: an atom, under which the code server finds it.
    pub name: Atom,
    /// The file's contents, from which functions are decoded.
    pub beam: myriad_beam::Module,
    /// The module's atoms by file index (index 0 unused).
    pub atoms: Vec<Term>,
    /// Literals by file index, in the area of `constants`.
    pub literals: Vec<Term>,
    /// Names of source files as strings, by the line table's file number; in that area.
    pub files: Vec<Term>,
    /// The same as atoms, which is what traces keep; none for the module's own.
    pub file_atoms: Vec<Option<Atom>>,
    /// Where the literals live, and what of the code's own integers has been asked for.
    pub(crate) constants: Mutex<Constants>,
    /// Imports by file index.
    pub imports: Vec<&'static Export>,
    /// Fun entries by file index.
    pub funs: Vec<&'static FunEntry>,
    /// Functions by file index; addresses are fixed.
    pub functions: Box<[Function<R>]>,
    /// What it exports: the export and the index of its function.
    pub exports: Vec<(&'static Export, u32)>,
    /// How to call its on_load function: an export that is in no table.
    pub on_load: Option<Box<Export>>,
    /// How many of its functions have a breakpoint; the tracer changes it, under a lock of its own.
    pub breakpoints: AtomicU32,
    /// Where its NIFs are from, once `erlang:load_nif/2` has succeeded; set under the code server's lock.
    pub nifs: OnceLock<Box<dyn NifLibrary>>,
    /// What the engine has found out about this version's code, once it has looked.
    pub learnt: OnceLock<Box<dyn Any + Send + Sync>>,
    /// Who reads the version for longer than a slice: compilers (code/U4).
    pub pins: Pins,
    /// MD5 of the essential chunks.
    pub md5: [u8; 16],
    /// Do its functions run as intrinsics, as far as they have one ([`crate::BuiltIns::runs_intrinsics`])?
    pub runs_intrinsics: bool,
}

/// Bytes of loaded code.
static BYTES: ShardedCounter = ShardedCounter::new();

/// Bytes that all loaded code takes, decoded functions included, literals not: `erlang:memory(code)`.
pub fn bytes() -> usize {
    // A sum that races changes may see code go and not come: never below nothing.
    usize::try_from(BYTES.sum()).unwrap_or(0)
}

/// Adds to the bytes of loaded code, or takes away.
pub fn count_bytes(change: i64) {
    BYTES.add(change);
}

impl Constants {
    /// Those of a module that is being loaded.
    pub(crate) fn shared(area: LiteralArea) -> Mutex<Constants> {
        Mutex::new(&CONSTANTS_CLASS, Constants { area, integers: HashMap::new() })
    }

    /// Takes out where they live: they are to go.
    pub(crate) fn take_area(&mut self) -> LiteralArea {
        self.integers.clear();
        std::mem::replace(&mut self.area, LiteralArea::new())
    }
}

impl<R: Runtime> Module<R> {
    /// Are calls of any of its functions traced?
    #[inline]
    pub fn is_traced(&self) -> bool {
        // Relaxed: a breakpoint that another thread sets counts from the next call on.
        self.breakpoints.load(Ordering::Relaxed) != 0
    }

    /// The integer of this sign and magnitude (least significant limb first), which lives as long as the version's literals do.
    pub fn integer(&self, negative: bool, limbs: Vec<u64>) -> Term {
        let Constants { area, integers } = &mut *self.constants.lock();
        *integers.entry((negative, limbs)).or_insert_with_key(|(negative, limbs)| area.big(*negative, limbs))
    }

    /// What it takes, without literals and decoded functions.
    pub fn bytes(&self) -> i64 {
        let tables =
            self.atoms.len() + self.literals.len() + self.imports.len() + self.funs.len() + 2 * self.exports.len();
        let bytes = size_of::<Module<R>>() + size_of_val(&*self.functions) + tables * 8 + self.beam.bytes();
        bytes as i64
    }
}

// SAFETY: immutable after loading, but for the atomics in `functions` and what is behind locks.
unsafe impl<R: Runtime> Send for Module<R> {}
// SAFETY: immutable after loading, but for the atomics in `functions` and what is behind locks.
unsafe impl<R: Runtime> Sync for Module<R> {}
