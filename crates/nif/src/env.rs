//! Environments: where the terms live that a library has, and what a call of it has come to.
//!
//! EN1. While a library runs in a process, no term of the process moves: nothing is collected before the call is over, and what does not
//!      fit the heap goes to memory beside it.
//! EN2. An exception is a state of the environment. What a function returns then is looked at no more: the word that stands for "no
//!      term" on OTP is an integer here.

use crate::abi::{Function, Word};
use crate::check::{self, Call, Running, Who, registry};
use crate::load::{Held as HeldLibrary, Library};
use crate::resource::Opened;
use myriad_heap::{Draft, Fragment};
use myriad_sched::DirtyKind;
use myriad_term::binary::SharedBinary;
use myriad_term::{Alloc, Atom, Mfa, Pid, Term, TermRef, am};
use myriad_vm::bif::{BADARG, Escape};
use myriad_vm::{BifResult, Ctx};
use std::any::Any;
use std::cell::Cell;
use std::ffi::c_int;
use std::ptr::NonNull;

/// An environment (`ErlNifEnv`).
pub struct Env {
    /// The process that has called, if it is a process's.
    ctx: Option<NonNull<Ctx<'static>>>,
    /// The library that runs.
    library: Option<&'static Library>,
    /// The exception on its way (EN2).
    raised: Option<Raised>,
    /// What most calls do without.
    rest: Option<Box<Rest>>,
}

/// An environment of a library's own, if there is one, whose terms are to go.
pub(crate) struct OwnEnv<'a>(pub(crate) Option<&'a mut Env>);

/// An environment of a library's own, if there is one, whose terms are a message's.
pub(crate) struct MessageEnv<'a>(pub(crate) Option<&'a mut Env>);

/// One NIF of a library, as its definition leads to it.
pub(crate) struct Nif {
    pub(crate) name: Mfa,
    pub(crate) function: Function,
    pub(crate) library: &'static Library,
}

// SAFETY: a function's address, and what any thread may use.
unsafe impl Sync for Nif {}
// SAFETY: as above.
unsafe impl Send for Nif {}

/// What most calls of functions do without.
struct Rest {
    /// The memory of terms, if no process has called.
    own: Draft<'static>,
    /// Bytes that a library may look at until the environment goes or is cleared.
    held: Vec<Held>,
    /// What is to run instead of a result.
    later: Option<Later>,
    /// While the library begins: what it has opened.
    opened: Option<Opening>,
    /// Who calls, of a call as a tracer.
    caller: Option<Pid>,
}

/// Types of resources that a library opens as it begins.
pub(crate) struct Opening {
    /// Another version of the module has a library, whose types can be taken over.
    pub(crate) is_upgrade: bool,
    pub(crate) types: Vec<Opened>,
}

/// An exception on its way.
#[derive(Clone, Copy)]
enum Raised {
    Badarg,
    Reason(Term),
}

/// Bytes outside of heaps.
#[allow(dead_code, reason = "they are kept, and looked at by the library alone")]
pub(crate) enum Held {
    Own(Vec<u8>),
    Shared(SharedBinary),
    Vector(Box<dyn Any>),
}

/// A call that is to follow.
pub(crate) struct Later {
    pub(crate) name: Atom,
    pub(crate) function: Function,
    pub(crate) arguments: Vec<Term>,
    pub(crate) dirty: Option<DirtyKind>,
}

/// Memory for terms of a library's own.
fn empty() -> Draft<'static> {
    // SAFETY: ABI1: terms are used no longer than their environment is there and not cleared.
    unsafe { Draft::unbound(Fragment::default()) }
}

impl Alloc<'static> for Env {
    fn alloc(&mut self, words: usize) -> NonNull<u64> {
        match self.ctx() {
            Some(ctx) => ctx.state.heap.alloc(words),
            None => self.rest().own.alloc(words),
        }
    }

    unsafe fn link(&mut self, header: *mut u64, words: usize) {
        // SAFETY: the caller's promise about the object.
        unsafe {
            match self.ctx() {
                Some(ctx) => ctx.state.heap.link(header, words),
                None => self.rest().own.link(header, words),
            }
        }
    }
}

impl Env {
    /// One with memory of its own, and no process.
    pub(crate) fn own(library: Option<&'static Library>) -> Env {
        Env { ctx: None, library, raised: None, rest: None }
    }

    fn rest(&mut self) -> &mut Rest {
        self.rest.get_or_insert_with(|| {
            Box::new(Rest { own: empty(), held: Vec::new(), later: None, opened: None, caller: None })
        })
    }

    /// The one of a call by a process.
    pub(crate) fn of_call(ctx: &mut Ctx<'_>, library: &'static Library) -> Env {
        Env { ctx: Some(NonNull::from(ctx).cast()), library: Some(library), raised: None, rest: None }
    }

    /// The one of the call in which a library begins.
    pub(crate) fn of_loading(ctx: &mut Ctx<'_>, library: &'static Library, is_upgrade: bool) -> Env {
        let mut env = Env::of_call(ctx, library);
        env.rest().opened = Some(Opening { is_upgrade, types: Vec::new() });
        env
    }

    /// What the library has opened so far, if it begins.
    pub(crate) fn opening(&mut self) -> Option<&mut Opening> {
        self.rest.as_mut()?.opened.as_mut()
    }

    /// What the library has opened.
    pub(crate) fn take_opened(&mut self) -> Vec<Opened> {
        self.rest().opened.take().map(|opening| opening.types).unwrap_or_default()
    }

    /// The process that has called, if any.
    #[inline]
    pub(crate) fn ctx(&mut self) -> Option<&mut Ctx<'static>> {
        // SAFETY: made by `of_call`, whose caller's context outlives the environment and is used through it alone meanwhile.
        self.ctx.map(|mut ctx| unsafe { ctx.as_mut() })
    }

    /// Who has called, in a process or as a tracer.
    pub(crate) fn caller(&mut self) -> Option<Pid> {
        let of_tracer = self.rest.as_ref().and_then(|rest| rest.caller);
        of_tracer.or_else(|| self.ctx().map(|ctx| ctx.pid()))
    }

    pub(crate) fn library(&self) -> Option<&'static Library> {
        self.library
    }

    /// Where it is.
    fn address(&self) -> usize {
        (&raw const *self).addr()
    }

    /// As a library has a term of it.
    pub(crate) fn word(&self, term: Term) -> Word {
        if check::is_on() { Word::of_raw(registry::give(self.address(), term)) } else { term.into() }
    }

    /// Does what a function returns count no more?
    pub(crate) fn is_decided(&self) -> bool {
        self.raised.is_some() || self.rest.as_ref().is_some_and(|rest| rest.later.is_some())
    }

    /// Raises `error:badarg`.
    pub(crate) fn badarg(&mut self) -> Word {
        self.raised.get_or_insert(Raised::Badarg);
        Word::NONE
    }

    /// Raises `error:Reason`.
    pub(crate) fn raise(&mut self, reason: Term) -> Word {
        self.raised = Some(Raised::Reason(reason));
        Word::NONE
    }

    /// The reason of the exception on its way.
    pub(crate) fn raised(&self) -> Option<Term> {
        self.raised.map(|raised| match raised {
            Raised::Badarg => Term::atom(am::badarg),
            Raised::Reason(reason) => reason,
        })
    }

    /// A copy of a term of another environment.
    pub(crate) fn copy(&mut self, term: Term) -> Term {
        let everything = |_: *const u64| false;
        let words = myriad_term::copy::size(term, everything);
        // SAFETY: so many words are asked for; nothing is taken for a literal, so that all of it is in the copy.
        unsafe { myriad_term::copy::copy(term, words, self, everything) }
    }

    /// Keeps bytes for as long as the environment has its terms.
    pub(crate) fn hold(&mut self, held: Held) {
        self.rest().held.push(held);
    }

    /// Keeps bytes, and tells where they are.
    pub(crate) fn hold_bytes(&mut self, bytes: Vec<u8>) -> *mut u8 {
        let mut bytes = bytes;
        let data = bytes.as_mut_ptr();
        self.rest().held.push(Held::Own(bytes));
        data
    }

    /// Has a call follow.
    pub(crate) fn follow(&mut self, later: Later) -> Word {
        self.rest().later = Some(later);
        Word::NONE
    }

    /// All its terms go.
    pub(crate) fn clear(&mut self) {
        if check::is_on() {
            registry::env_is_cleared(self.address());
        }
        self.raised = None;
        if let Some(rest) = &mut self.rest {
            rest.own = empty();
            rest.held.clear();
        }
    }

    /// Its terms, which are no longer its own.
    pub(crate) fn take_terms(&mut self) -> Fragment {
        std::mem::replace(&mut self.rest().own, empty()).into_fragment()
    }

    /// What the call has come to, whose function has returned `word`.
    #[cold]
    #[inline(never)]
    fn outcome(mut self, ctx: &mut Ctx<'_>, word: Word, library: &'static Library) -> BifResult {
        match (self.raised, self.rest.as_mut().and_then(|rest| rest.later.take())) {
            (Some(Raised::Badarg), _) => Err(BADARG),
            (Some(Raised::Reason(reason)), _) => Err(Escape::Error(reason)),
            (None, Some(later)) => go_on_later(ctx, later, library),
            (None, None) if word == Word::NONE => Err(BADARG),
            (None, None) => Ok(word.term()),
        }
    }
}

/// Runs a function of a library's that is no NIF, in an environment.
pub(crate) fn within<R>(env: &mut Env, name: &'static str, call: impl FnOnce(&mut Env) -> R) -> R {
    if check::is_on() { checked_within(env, Who::Callback(name), call) } else { call(env) }
}

/// The same, in an environment that is there for it alone.
pub(crate) fn for_callback<R>(
    library: Option<&'static Library>,
    name: &'static str,
    call: impl FnOnce(&mut Env) -> R,
) -> R {
    within(&mut Env::own(library), name, call)
}

/// The same, while libraries are checked.
#[cold]
fn checked_within<R>(env: &mut Env, who: Who, call: impl FnOnce(&mut Env) -> R) -> R {
    let running = Running { file: env.library().map(|library| &*library.file), who };
    let kind = if env.ctx.is_some() { registry::Kind::Call } else { registry::Kind::Callback };
    // Memory of its own, which no other environment has soon (nif.check/NC3).
    let mut shell = Box::new(std::mem::replace(env, Env::own(None)));
    let address = shell.address();
    registry::env_comes(address, kind, Some(running));
    let result = check::named(running, || call(&mut shell));
    *env = std::mem::replace(&mut *shell, Env::own(None));
    registry::env_goes(address);
    registry::keep(Box::new(Shell(shell)), size_of::<Env>(), Some(address));
    result
}

/// The memory of an environment that is over.
#[allow(dead_code, reason = "it is kept, and not looked at")]
struct Shell(Box<Env>);

// SAFETY: it has nothing any more.
unsafe impl Send for Shell {}

/// Calls a NIF while libraries are checked, and gives the term that it has returned; no term if that does not count.
#[cold]
fn checked_call(env: &mut Env, who: Who, function: Function, arguments: &[TermRef<'_>]) -> Word {
    checked_within(env, who, |env| {
        // SAFETY: the caller holds them for as long as the call takes.
        let row: Vec<Word> = arguments.iter().map(|argument| env.word(unsafe { argument.assume_held() })).collect();
        // SAFETY: ABI1: a NIF of the library's table.
        let word = unsafe { function(env, row.len() as c_int, row.as_ptr()) };
        if env.is_decided() {
            return Word::NONE;
        }
        let mut returning = Call::new("its return");
        returning.env(env.address(), "env", false);
        returning.term(word.raw(), "term");
        word.term().into()
    })
}

/// Calls a NIF for a process.
pub(crate) fn call(ctx: &mut Ctx<'_>, nif: &Nif, arguments: &[Term]) -> BifResult {
    if ctx.sched.dirty || check::is_on() {
        return call_apart(ctx, nif, arguments);
    }
    call_by(ctx, nif, |env| run(env, nif.function, arguments))
}

/// The same, on a dirty scheduler or while libraries are checked.
#[cold]
#[inline(never)]
fn call_apart(ctx: &mut Ctx<'_>, nif: &Nif, arguments: &[Term]) -> BifResult {
    // On a dirty scheduler the process may end meanwhile, and its module be purged.
    let held = ctx.sched.dirty.then(|| HeldLibrary::again(nif.library));
    if ctx.sched.dirty {
        let is_for_input = ctx.sched.id >= ctx.vm.config.schedulers + ctx.vm.config.dirty_cpu;
        DIRTY_KIND.set(if is_for_input { 3 } else { 2 });
    }
    let outcome = match check::is_on() {
        true => call_by(ctx, nif, |env| checked_call(env, Who::Nif(nif.name), nif.function, arguments)),
        false => call_by(ctx, nif, |env| run(env, nif.function, arguments)),
    };
    drop(held);
    outcome
}

/// Calls a library's function as a tracer ([`myriad_vm::bif::Foreign::observe`]).
pub(crate) fn observe(
    caller: Option<Pid>,
    function: Function,
    arguments: &[TermRef<'_>],
    library: &'static Library,
) -> Option<Atom> {
    let mut env = Env::own(Some(library));
    if caller.is_some() {
        env.rest().caller = caller;
    }
    CALLS.set(CALLS.get() + 1);
    OBSERVES.set(OBSERVES.get() + 1);
    let word = match check::is_on() {
        true => checked_call(&mut env, Who::Callback("for tracing"), function, arguments),
        false => run(&mut env, function, arguments),
    };
    OBSERVES.set(OBSERVES.get() - 1);
    CALLS.set(CALLS.get() - 1);
    if env.raised.is_none() { word.term().as_atom() } else { None }
}

/// Runs a NIF's function.
#[inline(always)]
fn run(env: &mut Env, function: Function, arguments: &[TermRef<'_>]) -> Word {
    // SAFETY: ABI1: a NIF of the library's table. A term is a word, so the arguments are a row of words.
    unsafe { function(env, arguments.len() as c_int, arguments.as_ptr().cast()) }
}

/// What a call of a NIF comes to, whose function is run so.
#[inline(always)]
fn call_by(ctx: &mut Ctx<'_>, nif: &Nif, run: impl FnOnce(&mut Env) -> Word) -> BifResult {
    let mut env = Env::of_call(ctx, nif.library);
    CALLS.set(CALLS.get() + 1);
    let word = run(&mut env);
    CALLS.set(CALLS.get() - 1);
    if env.raised.is_none() && env.rest.is_none() && word != Word::NONE {
        return Ok(word.term());
    }
    env.outcome(ctx, word, nif.library)
}

thread_local! {
    /// How many of these are calls as tracers.
    static OBSERVES: Cell<u32> = const { Cell::new(0) };
    /// How many calls of libraries' functions are under way on this thread.
    static CALLS: Cell<u32> = const { Cell::new(0) };
    /// The kind of dirty scheduler whose thread this is, once it has called one; 0 for others.
    static DIRTY_KIND: Cell<c_int> = const { Cell::new(0) };
}

/// The kind of dirty scheduler whose thread this is, if it is one's that has called a library's function.
pub(crate) fn dirty_kind() -> Option<c_int> {
    Some(DIRTY_KIND.get()).filter(|kind| *kind != 0)
}

/// Does a library's function run on this thread, called by a process?
pub(crate) fn is_calling() -> bool {
    CALLS.get() > 0
}

/// Does a library's function run on this thread as a tracer? The thread may hold a port then.
pub(crate) fn is_observing() -> bool {
    OBSERVES.get() > 0
}

/// A call that a NIF has scheduled: in a later slice, or on a dirty scheduler, to which the way from another leads by a slice of the process.
/// Nothing is collected before it has run, so its terms stay.
fn go_on_later(ctx: &mut Ctx<'_>, later: Later, library: &'static Library) -> BifResult {
    let name = Mfa { module: library.module, function: later.name, arity: later.arguments.len() as u8 };
    let dirty = later.dirty.filter(|_| !ctx.sched.dirty);
    let mut later = Some((later, HeldLibrary::again(library)));
    let rest = move |ctx: &mut Ctx<'_>| match later.take() {
        Some((later, _held)) if later.dirty.is_some() && !ctx.sched.dirty => go_on_later(ctx, later, library),
        Some((later, _held)) => call(ctx, &Nif { name, function: later.function, library }, &later.arguments),
        None => Err(BADARG),
    };
    let escape = ctx.yield_as(Some(name), Box::new(rest));
    dirty.map_or(escape, |kind| Err(Escape::Dirty(kind)))
}
