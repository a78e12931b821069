//! What terms say about code: exports and fun entries, each made once and never freed.
//!
//! C1. An [`Export`] or [`FunEntry`] lives for ever once made, because funs, stack traces and other nodes may name it after
//!     its module has gone. Only its `code` changes, when a module is loaded or purged.
//! C2. Nothing leaves the tables of names, and arrays that they have outgrown stay: so who looks for a name takes no lock, and need not be
//!     inside thread progress.

use crate::atom::Atom;
use crate::secret_hash::secret_hash;
use foldhash::fast::SeedableRandomState;
use myriad_sync::atomic::{AtomicPtr, Ordering};
use myriad_sync::{LazyLock, LockClass, OnceLock, RcuTable, Retirer};
use std::cell::Cell;
use std::cmp::Ordering as Order;
use std::hash::BuildHasher;

/// Module, function, arity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Mfa {
    /// The module that exports the function.
    pub module: Atom,
    /// The function's name.
    pub function: Atom,
    /// Number of arguments.
    pub arity: u8,
}

/// The place that calls `M:F/A` go through.
#[repr(C, align(16))]
pub struct Export {
    /// The code to run now; what it points at is the code server's (crate `vm`).
    pub code: AtomicPtr<()>,
    /// The code to run while no module defines it: what [`on_new_export`]'s function made.
    pub undefined: AtomicPtr<()>,
    /// The name.
    pub mfa: Mfa,
}

/// What tells `fun` expressions apart: one of each version of a module has all of these.
///
/// Those that compilers make differ in `module`, `index` and `uniq` already. What comes from outside may claim anything: it is
/// another fun, one without code, if any of this is not as the module has it. Among terms only some of it counts
/// ([`FunId::compare`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FunId {
    /// Module that defines it.
    pub module: Atom,
    /// Index in the module's fun table.
    pub index: i32,
    /// The same of the old kind.
    pub old_index: i32,
    /// Unique value of the old kind.
    pub old_uniq: i32,
    /// MD5 of the module.
    pub uniq: [u8; 16],
    /// Arguments of a call.
    pub arity: u8,
    /// Free variables: the code takes them behind the arguments, so it is never run with another number of them.
    pub free: u8,
}

impl FunId {
    /// As terms with as many free variables, and the same, compare.
    pub fn compare(&self, other: &FunId) -> Order {
        crate::identity::compare_atoms(self.module, other.module)
            .then(self.index.cmp(&other.index))
            .then(self.old_uniq.cmp(&other.old_uniq))
    }

    /// Do they compare equal?
    pub fn is_like(&self, other: &FunId) -> bool {
        (self.module, self.index, self.old_uniq) == (other.module, other.index, other.old_uniq)
    }
}

/// The entry of local funs of one identity.
#[repr(C, align(16))]
pub struct FunEntry {
    /// The code to run now; what it points at is the code server's (crate `vm`).
    pub code: AtomicPtr<()>,
    /// What they are.
    pub id: FunId,
}

static EXPORT_CLASS: LockClass = LockClass::new("export_tab", 800);
static FUN_CLASS: LockClass = LockClass::new("fun_tab", 801);

/// The exports and fun entries of one VM. Each thread works for one VM at a time, and names those of that VM.
pub struct CodeNames {
    exports: RcuTable<&'static Export>,
    funs: RcuTable<&'static FunEntry>,
    seed: SeedableRandomState,
}

impl Default for CodeNames {
    fn default() -> CodeNames {
        CodeNames { exports: RcuTable::new(&EXPORT_CLASS), funs: RcuTable::new(&FUN_CLASS), seed: secret_hash() }
    }
}

/// Those of threads that work for no VM.
static OF_NO_VM: LazyLock<CodeNames> = LazyLock::new(CodeNames::default);

impl CodeNames {
    /// Makes these the ones that the calling thread names from now on.
    pub fn enter(&'static self) {
        CURRENT.set(Some(self));
        RECENT.with(|recent| recent.iter().for_each(|place| place.set(None)));
    }

    /// Those that the calling thread names.
    fn current() -> &'static CodeNames {
        CURRENT.get().unwrap_or_else(|| &OF_NO_VM)
    }
}

/// Exports that a thread may remember.
const RECENT_EXPORTS: usize = 512;

thread_local! {
    static CURRENT: Cell<Option<&'static CodeNames>> = const { Cell::new(None) };

    /// Exports that this thread has looked up last, each in the place of its name: `Module:function()` calls name the same ones
    /// again and again. They are never freed (C1), so nothing here goes out of date before the thread enters other names.
    static RECENT: [Cell<Option<&'static Export>>; RECENT_EXPORTS] =
        const { [const { Cell::new(None) }; RECENT_EXPORTS] };
}

/// The place in `RECENT` of a name.
#[inline]
fn recent_slot(mfa: Mfa) -> usize {
    let mixed = mfa.module.index().wrapping_mul(0x9e37_79b1) ^ mfa.function.index().wrapping_mul(0x85eb_ca6b);
    ((mixed >> 20) as usize % RECENT_EXPORTS) ^ usize::from(mfa.arity % 16)
}

static NEW_EXPORT: OnceLock<fn(Mfa) -> *mut ()> = OnceLock::new();

/// Says what code a new export has until a module defines it: crate `vm` calls this for each VM, on a thread of it, before any
/// code runs; the first function stands. Exports of the VM that were made before get theirs now.
/// So a thread that runs code never sees an export without code, whether a decoder or a BIF has made it.
pub fn on_new_export(make: fn(Mfa) -> *mut ()) {
    let exports = CodeNames::current().exports.write();
    let _ = NEW_EXPORT.set(make);
    // Relaxed: written under the lock that is held, or when the export was made.
    let without_code = |export: &&&'static Export| export.undefined.load(Ordering::Relaxed).is_null();
    for export in exports.iter().filter(without_code) {
        let code = make(export.mfa);
        // Release: pairs with the Acquire of the threads that call it.
        export.undefined.store(code, Ordering::Release);
        export.code.store(code, Ordering::Release);
    }
}

impl Export {
    /// The export of this name, made if new.
    pub fn intern(mfa: Mfa) -> &'static Export {
        if let Some(found) = Self::find(mfa) {
            return found;
        }
        let names = CodeNames::current();
        let hash = names.seed.hash_one(mfa);
        let mut exports = names.exports.write();
        if let Some(found) = exports.find(hash, |export| export.mfa == mfa) {
            return found;
        }
        let code = NEW_EXPORT.get().map_or(std::ptr::null_mut(), |make| make(mfa));
        let new = Export { code: AtomicPtr::new(code), undefined: AtomicPtr::new(code), mfa };
        let new: &'static Export = Box::leak(Box::new(new));
        exports.add(hash, new, Retirer::Nobody);
        new
    }

    /// Makes it undefined again.
    pub fn undefine(&self) {
        // Relaxed: set before the export was published, or by `on_new_export` before code ran.
        let code = self.undefined.load(Ordering::Relaxed);
        // Release: pairs with the Acquire of the threads that call it.
        self.code.store(code, Ordering::Release);
    }

    /// Does a module define it now?
    pub fn is_defined(&self) -> bool {
        // Acquire: pairs with the Release that publishes the code. Relaxed: as in `undefine`.
        self.code.load(Ordering::Acquire) != self.undefined.load(Ordering::Relaxed)
    }

    /// The export of this name, if it was ever named.
    #[inline]
    pub fn find(mfa: Mfa) -> Option<&'static Export> {
        match RECENT.with(|recent| recent[recent_slot(mfa)].get()) {
            Some(likely) if likely.mfa == mfa => Some(likely),
            _ => Self::find_in_table(mfa),
        }
    }

    #[inline(never)]
    fn find_in_table(mfa: Mfa) -> Option<&'static Export> {
        let names = CodeNames::current();
        // SAFETY: C2.
        let found = *unsafe { names.exports.find(names.seed.hash_one(mfa), |export| export.mfa == mfa) }?;
        RECENT.with(|recent| recent[recent_slot(mfa)].set(Some(found)));
        Some(found)
    }

    /// All exports there are.
    pub fn all() -> Vec<&'static Export> {
        CodeNames::current().exports.write().iter().copied().collect()
    }
}

impl FunEntry {
    /// The entry of this identity, made if new.
    pub fn intern(id: FunId) -> &'static FunEntry {
        let names = CodeNames::current();
        let hash = names.seed.hash_one(id);
        let is_it = |entry: &&FunEntry| entry.id == id;
        // SAFETY: C2.
        if let Some(found) = unsafe { names.funs.find(hash, is_it) } {
            return found;
        }
        let mut funs = names.funs.write();
        if let Some(found) = funs.find(hash, is_it) {
            return found;
        }
        let new: &'static FunEntry = Box::leak(Box::new(FunEntry { code: AtomicPtr::new(std::ptr::null_mut()), id }));
        funs.add(hash, new, Retirer::Nobody);
        new
    }

    /// All entries there are.
    pub fn all() -> Vec<&'static FunEntry> {
        CodeNames::current().funs.write().iter().copied().collect()
    }

    /// Is code loaded for it?
    pub fn is_loaded(&self) -> bool {
        // Acquire: pairs with the Release that publishes the code.
        !self.code.load(Ordering::Acquire).is_null()
    }
}

use crate::boxed::Kind;
use crate::word::TermRef;

impl<'h> TermRef<'h> {
    /// The export of a `fun M:F/A`.
    #[inline]
    pub fn as_export_fun(self) -> Option<&'static Export> {
        let b = self.as_boxed()?;
        // SAFETY: C1, word 0 of an export fun is a live export.
        (b.kind() == Kind::ExportFun).then(|| unsafe { &*(b.word(0) as *const Export) })
    }

    /// The entry, creator and free variables of a local fun.
    #[inline]
    pub fn as_local_fun(&self) -> Option<(&'static FunEntry, Self, &[Self])> {
        self.held_local_fun()
    }

    /// The same, as [`TermRef::held_boxed`].
    pub(crate) fn held_local_fun(self) -> Option<(&'static FunEntry, Self, &'h [Self])> {
        let b = self.held_boxed()?;
        if b.kind() != Kind::Fun {
            return None;
        }
        let slots = b.slots();
        // SAFETY: C1, word 0 of a fun is a live entry.
        Some((unsafe { &*(b.word(0) as *const FunEntry) }, slots[1], &slots[2..]))
    }
}
