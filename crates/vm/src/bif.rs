//! The interface of built-in functions, and their table.
//!
//! A BIF is a Rust function over a context and argument terms. It returns a term, or leaves by an [`Escape`]: an exception, a
//! trap (continue in Erlang code), a yield (continue me later), a wait. Terms never move while it runs (term/A1).
//! Each crate of built-ins states its functions once, in tables made by [`bifs!`](crate::bifs); the command wires the tables into one
//! [`Registry`], from which the loader, `myriad compat` and `erlang:is_builtin/3` read.

pub use myriad_sched::DirtyKind;

use crate::ctx::Ctx;
use crate::intrinsic::Loop;
use crate::release::Release;
use myriad_term::{Atom, Export, Mfa, Pid, Term, TermRef, am};
use std::collections::HashMap;

/// A built-in function.
pub type Bif = fn(&mut Ctx<'_>, &[Term]) -> BifResult;

/// What a BIF gives back.
pub type BifResult = Result<Term, Escape>;

/// The ways out of a BIF other than a value.
pub enum Escape {
    /// `error:Reason`, with the BIF's own frame (arguments and `error_info`) on top of the stack trace.
    Error(Term),
    /// `error:{badmap, Term}`: the tuple is made only where someone looks at it, which a guard does not.
    BadMap(Term),
    /// `error:{badkey, Key}`.
    BadKey(Term),
    /// `exit:Reason`.
    Exit(Term),
    /// `throw:Value`.
    Throw(Term),
    /// A raise whose class, reason and trace stand in the process already (`erlang:raise/3`, `error/2,3`).
    Raised,
    /// Go on as a call of this export, whose arguments the BIF has put in [`crate::OwnerState::trap_args`].
    Trap(&'static Export),
    /// The built-in gives way, and its rest stands in [`crate::OwnerState::resumption`]. Nothing is collected until that has run.
    Yield,
    /// Wait for a signal, then run this BIF again with the same arguments.
    Wait,
    /// Collect, so that this number of words is free, then run this BIF again with the same arguments ([`Ctx::make_room`]).
    Room(usize),
    /// Run this BIF again, with the same arguments, on a scheduler that may block or compute for long.
    Dirty(DirtyKind),
    /// A native intrinsic declines: the function's Erlang code is to run ([`crate::intrinsic`]).
    Decline,
    /// The process has ended (exit of self with `kill`, `halt`).
    Dead,
}

/// The rest of a long built-in.
pub type Resumption = Box<dyn FnMut(&mut Ctx<'_>) -> BifResult + Send>;

/// A long built-in that has given way.
pub struct Suspended {
    /// What is left to do.
    pub rest: Resumption,
    /// The function that tools see the process in until the rest has run, if it is not the built-in itself.
    pub name: Option<Mfa>,
    /// It holds no terms, so that the process may be collected before the rest runs.
    pub collectable: bool,
}

/// `error:badarg`
pub const BADARG: Escape = Escape::Error(Term::atom(am::badarg));
/// `error:badarith`
pub const BADARITH: Escape = Escape::Error(Term::atom(am::badarith));
/// `error:system_limit`
pub const SYSTEM_LIMIT: Escape = Escape::Error(Term::atom(am::system_limit));
/// `error:undef`
pub const UNDEF: Escape = Escape::Error(Term::atom(am::undef));
/// `error:notsup`
pub const NOTSUP: Escape = Escape::Error(Term::atom(am::notsup));

/// `Err(badarg)`, for `return badarg()`.
#[cold]
pub const fn badarg<T>() -> Result<T, Escape> {
    Err(BADARG)
}

impl From<myriad_term::atom::AtomError> for Escape {
    fn from(_: myriad_term::atom::AtomError) -> Escape {
        SYSTEM_LIMIT
    }
}

/// How a function may be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BifKind {
    /// An ordinary function.
    Plain,
    /// Allowed in guards: has no effect, never traps or waits. (`length/1` yields, as an instruction too.)
    Guard,
    /// Always runs on a dirty CPU scheduler.
    DirtyCpu,
    /// Always runs on a dirty I/O scheduler.
    DirtyIo,
    /// A function of a built-in NIF module: bound by `erlang:load_nif/2`, not by name.
    Nif,
    /// As `Nif`, on a dirty CPU scheduler.
    NifDirtyCpu,
    /// As `Nif`, on a dirty I/O scheduler.
    NifDirtyIo,
}

impl BifKind {
    /// The pool it always runs in, if it is a dirty one.
    #[inline]
    pub const fn dirty(self) -> Option<DirtyKind> {
        match self {
            BifKind::DirtyCpu | BifKind::NifDirtyCpu => Some(DirtyKind::Cpu),
            BifKind::DirtyIo | BifKind::NifDirtyIo => Some(DirtyKind::Io),
            _ => None,
        }
    }

    /// Bound by `load_nif/2`?
    pub const fn is_nif(self) -> bool {
        matches!(self, BifKind::Nif | BifKind::NifDirtyCpu | BifKind::NifDirtyIo)
    }
}

/// One line of a table of built-ins.
#[derive(Clone, Copy)]
pub struct BifDef {
    /// Name of its Erlang module.
    pub module: &'static str,
    /// Name of the Erlang function.
    pub function: &'static str,
    /// Number of arguments.
    pub arity: u8,
    /// How it may be used.
    pub kind: BifKind,
    /// First OTP release that has it, 0 = all.
    pub since: u16,
    /// Last OTP release that has it, 65535 = all.
    pub until: u16,
    /// What runs when it is called.
    pub function_ptr: Bif,
    /// What runs instead, of a function from elsewhere.
    pub foreign: Option<&'static dyn Foreign>,
}

/// A function that a library brings (`erlang:load_nif/2`).
pub trait Foreign: Send + Sync {
    /// Calls it.
    fn call(&self, ctx: &mut Ctx<'_>, arguments: &[Term]) -> BifResult;

    /// Calls it beside what runs on this thread, as a tracer's function, with `caller` as who calls: the atom that it returns, if it is one.
    fn observe(&self, caller: Option<Pid>, arguments: &[TermRef<'_>]) -> Option<Atom>;
}

impl BifDef {
    /// The definition of a function that a library brings.
    pub fn foreign(mfa: Mfa, kind: BifKind, function: &'static dyn Foreign) -> BifDef {
        let (module, name) = (mfa.module.text(), mfa.function.text());
        let unreachable: Bif = |_, _| badarg();
        BifDef {
            module,
            function: name,
            arity: mfa.arity,
            kind,
            since: 0,
            until: u16::MAX,
            function_ptr: unreachable,
            foreign: Some(function),
        }
    }

    /// Calls it, where it may be a library's.
    #[inline]
    pub fn call(&self, ctx: &mut Ctx<'_>, arguments: &[Term]) -> BifResult {
        match self.foreign {
            None => (self.function_ptr)(ctx, arguments),
            Some(function) => function.call(ctx, arguments),
        }
    }

    /// The name of the function. `Pid ! Message`, an instruction of its own, is known by that of its operator.
    pub fn mfa(&self) -> Mfa {
        let atom = |text| Atom::new(text).unwrap_or(am::undefined);
        Mfa { module: atom(self.module), function: atom(self.function), arity: self.arity }
    }
}

/// States the built-ins of one Erlang module:
///
/// ```ignore
/// bifs! { pub ERLANG = "erlang" {
///     "abs" / 1 Guard => abs_1;
///     "spawn" / 3 Plain => spawn_3;
///     "min" / 2 Guard since 26 => min_2;
///     "display_nl" / 0 Plain until 26 => display_nl_0;
/// }}
/// ```
#[macro_export]
macro_rules! bifs {
    ($vis:vis $table:ident = $module:literal { $($name:literal / $arity:literal $kind:ident $(since $since:literal)? $(until $until:literal)? => $f:expr;)* }) => {
        /// The built-ins of this module.
        $vis static $table: &[$crate::bif::BifDef] = &[$(
            $crate::bif::BifDef {
                module: $module,
                function: $name,
                arity: $arity,
                kind: $crate::bif::BifKind::$kind,
                since: $crate::bifs!(@or $($since)?; 0),
                until: $crate::bifs!(@or $($until)?; 65535),
                function_ptr: $f,
                foreign: None,
            }
        ),*];
    };
    (@or $v:literal; $d:literal) => { $v };
    (@or ; $d:literal) => { $d };
}

/// What the VM runs in place of the Erlang code of an intrinsic ([`crate::intrinsic`]).
#[derive(Clone, Copy)]
pub enum Body {
    /// This function, tried first.
    Native(BifDef),
    /// A loop of this shape.
    Loop(Loop),
}

/// One row of a table of intrinsics ([`intrinsics!`](crate::intrinsics!)).
#[derive(Clone, Copy)]
pub struct IntrinsicDef {
    /// Module, one of stdlib or a preloaded one.
    pub module: &'static str,
    /// Name of the Erlang function.
    pub function: &'static str,
    /// Number of arguments.
    pub arity: u8,
    /// Last OTP release whose Erlang code is known to do the same, 65535 = all.
    pub until: u16,
    /// What runs.
    pub body: Body,
}

/// All the built-ins and intrinsics of this VM for the release that runs.
pub struct Registry {
    bifs: HashMap<Mfa, &'static BifDef>,
    nifs: HashMap<Mfa, &'static BifDef>,
    native_intrinsics: HashMap<Mfa, &'static BifDef>,
    loop_intrinsics: HashMap<Mfa, Loop>,
    /// The release that the intrinsics are for.
    release: Release,
}

impl Registry {
    /// From the tables, those that the release has; the intrinsics are added by [`Registry::with_intrinsics`].
    pub fn new(release: &Release, tables: &[&'static [BifDef]]) -> Registry {
        let (mut bifs, mut nifs) = (HashMap::new(), HashMap::new());
        for def in tables.iter().flat_map(|t| t.iter()) {
            if !release.is_within(def.since..=def.until) {
                continue;
            }
            let (Ok(module), Ok(function)) = (Atom::new(def.module), Atom::new(def.function)) else { continue };
            let mfa = Mfa { module, function, arity: def.arity };
            let map = match def.kind {
                kind if kind.is_nif() => &mut nifs,
                _ => &mut bifs,
            };
            let previous = map.insert(mfa, def);
            debug_assert!(previous.is_none(), "stated twice: {}:{}/{}", def.module, def.function, def.arity);
        }
        let (native_intrinsics, loop_intrinsics) = (HashMap::new(), HashMap::new());
        Registry { bifs, nifs, native_intrinsics, loop_intrinsics, release: release.clone() }
    }

    /// With these intrinsics, as far as they hold for the release.
    pub fn with_intrinsics(mut self, intrinsics: &'static [IntrinsicDef]) -> Registry {
        for def in intrinsics.iter().filter(|def| self.release.is_within(0..=def.until)) {
            let (Ok(module), Ok(function)) = (Atom::new(def.module), Atom::new(def.function)) else { continue };
            let mfa = Mfa { module, function, arity: def.arity };
            let is_new = match &def.body {
                Body::Native(native) => self.native_intrinsics.insert(mfa, native).is_none(),
                Body::Loop(shape) => self.loop_intrinsics.insert(mfa, *shape).is_none(),
            };
            debug_assert!(is_new, "stated twice: {}:{}/{}", def.module, def.function, def.arity);
        }
        self
    }

    /// The built-in of this name.
    pub fn bif(&self, mfa: Mfa) -> Option<&'static BifDef> {
        self.bifs.get(&mfa).copied()
    }

    /// The native intrinsic for the Erlang function of this name.
    pub fn native_intrinsic(&self, mfa: Mfa) -> Option<&'static BifDef> {
        self.native_intrinsics.get(&mfa).copied()
    }

    /// The shape of the Erlang function of this name, if it is a loop intrinsic.
    pub fn loop_intrinsic(&self, mfa: Mfa) -> Option<Loop> {
        self.loop_intrinsics.get(&mfa).copied()
    }

    /// Do functions of this module run as intrinsics? Some must have one, and the module must be the release's own.
    pub fn runs_intrinsics(&self, module: Atom, md5: [u8; 16]) -> bool {
        let mut functions = self.native_intrinsics.keys().chain(self.loop_intrinsics.keys());
        functions.any(|mfa| mfa.module == module) && self.release.ships(module, md5)
    }

    /// The function of a built-in NIF module.
    pub fn nif(&self, mfa: Mfa) -> Option<&'static BifDef> {
        self.nifs.get(&mfa).copied()
    }

    /// Is this the name of a built-in NIF module?
    pub fn is_nif_module(&self, module: Atom) -> bool {
        self.nifs.keys().any(|m| m.module == module)
    }

    /// All built-ins, in no order.
    pub fn all(&self) -> impl Iterator<Item = (Mfa, &'static BifDef)> {
        self.bifs.iter().chain(self.nifs.iter()).map(|(m, d)| (*m, *d))
    }
}
