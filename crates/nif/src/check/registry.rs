//! What is alive of all that libraries may hand over, by address, and the terms that handles stand for.
//!
//! One lock over all: the check is for tests. Nothing is freed, and nothing of a library's called, under it.

use myriad_sync::{LockClass, SpinLock};
use myriad_term::{Mfa, Term};
use std::any::Any;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::{self, Display, Formatter};

/// A handle: the number of a part of an environment, then of a term in the part, then the tag.
const INDEX_BITS: u32 = 24;
const TAG_BITS: u32 = 3;

/// The integer 0 (abi/ABI2).
const ZERO: u64 = 0b111;

/// Which function of a library's runs.
#[derive(Clone, Copy)]
pub(crate) enum Who {
    Nif(Mfa),
    /// Another one, as its interface calls it.
    Callback(&'static str),
}

impl Display for Who {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Who::Nif(mfa) => write!(f, "{}:{}/{}", mfa.module.text(), mfa.function.text(), mfa.arity),
            Who::Callback(name) => write!(f, "its function {name}"),
        }
    }
}

/// A function of a library's that runs.
#[derive(Clone, Copy)]
pub(crate) struct Running {
    /// The library's file.
    pub(crate) file: Option<&'static [u8]>,
    pub(crate) who: Who,
}

/// What an environment is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A call by a process.
    Call,
    /// A call of another function of the library's.
    Callback,
    /// The library's own.
    Own,
}

/// An environment that is alive.
struct Record {
    kind: Kind,
    /// Whose call it is of.
    of: Option<Running>,
    /// A message has taken all that it had, and it has not been cleared since.
    is_sent: bool,
    /// The thread that its call runs on.
    thread: usize,
    /// The calls of the interface that it is in, all of the same thread.
    user: (usize, u32),
    /// The terms that it has given, part by part, with the number of each.
    parts: Vec<(u64, Vec<Term>)>,
    /// The handles by the words of their terms: one that is given twice has one handle, for libraries compare words.
    given: BTreeMap<u64, u64>,
    /// Rows of handles, for as long as it has its terms.
    rows: Vec<Box<[u64]>>,
    /// Where the bytes of binaries are that may be looked at as long.
    bytes: BTreeSet<usize>,
}

impl Record {
    /// Is it of a call that another thread runs?
    fn is_elsewhere(&self, this: usize) -> bool {
        self.kind != Kind::Own && self.thread != this
    }

    /// What is of its call, which another thread runs.
    fn of_another(&self, what: &str) -> String {
        match self.of {
            Some(Running { file: Some(file), who }) => {
                format!("{what} of a call on another thread, {who} of {}", String::from_utf8_lossy(file))
            }
            _ => format!("{what} of a call on another thread"),
        }
    }
}

/// An object that is alive.
struct Object {
    /// How often the library holds it.
    holds: usize,
    /// Its destructor runs.
    dies: bool,
}

/// What is known.
struct Registry {
    envs: BTreeMap<usize, Record>,
    /// The addresses of environments that are no more, and whether they were a library's own.
    ended: BTreeMap<usize, Kind>,
    /// The environments of parts.
    parts: BTreeMap<u64, usize>,
    next_part: u64,
    /// The counted bytes that binaries own.
    owned: BTreeSet<usize>,
    objects: BTreeMap<usize, Object>,
    types: BTreeSet<usize>,
    queues: BTreeSet<usize>,
    /// The pairs of map iterators.
    iterators: BTreeSet<usize>,
    /// The I/O vectors in a library's hands, and what is behind them.
    vectors: BTreeMap<usize, usize>,
    /// nif.check/NC3.
    kept: VecDeque<Kept>,
    kept_bytes: usize,
}

static CLASS: LockClass = LockClass::new("nif_check", 916);
static REGISTRY: SpinLock<Registry> = SpinLock::new(
    &CLASS,
    Registry {
        envs: BTreeMap::new(),
        ended: BTreeMap::new(),
        parts: BTreeMap::new(),
        next_part: 1,
        owned: BTreeSet::new(),
        objects: BTreeMap::new(),
        types: BTreeSet::new(),
        queues: BTreeSet::new(),
        iterators: BTreeSet::new(),
        vectors: BTreeMap::new(),
        kept: VecDeque::new(),
        kept_bytes: 0,
    },
);

/// The calling thread.
fn this_thread() -> usize {
    // SAFETY: it always can be asked for.
    unsafe { libc::pthread_self() as usize }
}

/// Is the word a handle?
pub(crate) fn is_handle(word: u64) -> bool {
    word & 0b111 == 0b111 && word >> TAG_BITS != 0
}

/// The part of a handle, and the place in it.
fn parts_of(word: u64) -> (u64, usize) {
    let number = word >> TAG_BITS;
    (number >> INDEX_BITS, (number & ((1 << INDEX_BITS) - 1)) as usize)
}

impl Registry {
    /// A new part of an environment, which is its last.
    fn add_part(&mut self, env: usize) {
        let number = self.next_part;
        self.next_part += 1;
        if let Some(record) = self.envs.get_mut(&env) {
            record.parts.push((number, Vec::new()));
            self.parts.insert(number, env);
        }
    }

    /// A handle of a term that needs memory.
    fn give(&mut self, env: usize, term: Term) -> u64 {
        if let Some(given) = self.envs.get(&env).and_then(|record| record.given.get(&term.raw())) {
            return *given;
        }
        let is_full = |record: &Record| record.parts.last().is_none_or(|(_, terms)| terms.len() >> INDEX_BITS != 0);
        if self.envs.get(&env).is_some_and(is_full) {
            self.add_part(env);
        }
        let Some(record) = self.envs.get_mut(&env) else { return term.raw() };
        let Some((number, terms)) = record.parts.last_mut() else { return term.raw() };
        terms.push(term);
        let word = ((*number << INDEX_BITS | (terms.len() - 1) as u64) << TAG_BITS) | 0b111;
        record.given.insert(term.raw(), word);
        word
    }

    /// The environment and the term of a handle.
    fn find(&self, word: u64) -> Option<(usize, Term)> {
        let (part, index) = parts_of(word);
        let env = *self.parts.get(&part)?;
        let (_, terms) = self.envs.get(&env)?.parts.iter().find(|(number, _)| *number == part)?;
        Some((env, *terms.get(index)?))
    }

    /// The terms of an environment go.
    fn forget_terms(&mut self, env: usize) {
        let Some(record) = self.envs.get_mut(&env) else { return };
        record.bytes.clear();
        record.rows.clear();
        record.given.clear();
        for (number, _) in record.parts.drain(..) {
            self.parts.remove(&number);
        }
    }
}

/// An environment begins.
pub(crate) fn env_comes(env: usize, kind: Kind, of: Option<Running>) {
    let thread = this_thread();
    let record = Record {
        kind,
        of,
        is_sent: false,
        thread,
        user: (0, 0),
        parts: Vec::new(),
        given: BTreeMap::new(),
        rows: Vec::new(),
        bytes: BTreeSet::new(),
    };
    let mut registry = REGISTRY.lock();
    registry.ended.remove(&env);
    registry.envs.insert(env, record);
}

/// An environment is over; its memory is kept (nif.check/NC3).
pub(crate) fn env_goes(env: usize) {
    let mut registry = REGISTRY.lock();
    registry.forget_terms(env);
    if let Some(record) = registry.envs.remove(&env) {
        registry.ended.insert(env, record.kind);
    }
}

/// An environment has no terms any more.
pub(crate) fn env_is_cleared(env: usize) {
    let mut registry = REGISTRY.lock();
    registry.forget_terms(env);
    if let Some(record) = registry.envs.get_mut(&env) {
        record.is_sent = false;
    }
}

/// A message has taken what an environment had.
pub(crate) fn env_is_sent(env: usize) {
    if let Some(record) = REGISTRY.lock().envs.get_mut(&env) {
        record.is_sent = true;
    }
}

/// What an environment is for, if it is alive.
pub(crate) fn kind(env: usize) -> Option<Kind> {
    REGISTRY.lock().envs.get(&env).map(|record| record.kind)
}

/// What is wrong with an environment; nothing: this thread may use it, to clear or free it if that is said.
pub(crate) fn wrong_env(env: usize, to_end: bool) -> Option<Cow<'static, str>> {
    let this = this_thread();
    let registry = REGISTRY.lock();
    let Some(record) = registry.envs.get(&env) else {
        let what = match registry.ended.get(&env) {
            Some(Kind::Own) => "an environment that has been freed",
            Some(_) => "the environment of a call that has ended",
            None => "no environment",
        };
        return Some(what.into());
    };
    let what = match record.user {
        _ if record.is_elsewhere(this) => return Some(record.of_another("the environment").into()),
        _ if record.is_sent && !to_end => Some("an environment that has been sent, and not been cleared since"),
        (user, 1..) if user != this => Some("an environment that another thread uses at the same time"),
        _ => None,
    };
    what.map(Cow::from)
}

/// The calling thread uses an environment in a call more, or one less.
pub(crate) fn use_env(env: usize, begins: bool) {
    let this = this_thread();
    if let Some(record) = REGISTRY.lock().envs.get_mut(&env) {
        record.user = (this, if begins { record.user.1 + 1 } else { record.user.1.saturating_sub(1) });
    }
}

/// A term for a library, in an environment.
pub(crate) fn give(env: usize, term: Term) -> u64 {
    if term.is_immediate() { immediate(term) } else { REGISTRY.lock().give(env, term) }
}

/// The word of a term that needs no memory.
fn immediate(term: Term) -> u64 {
    if term.raw() == 0 { ZERO } else { term.raw() }
}

/// Handles in a row, which stay as long as the terms of the environment.
pub(crate) fn give_row(env: usize, terms: &[Term]) -> *const u64 {
    let mut registry = REGISTRY.lock();
    let give = |term: &Term| if term.is_immediate() { immediate(*term) } else { registry.give(env, *term) };
    let row: Box<[u64]> = terms.iter().map(give).collect();
    let at = row.as_ptr();
    if let Some(record) = registry.envs.get_mut(&env) {
        record.rows.push(row);
    }
    at
}

/// What is wrong with a word that is to be a term, or where its memory is, if it needs any.
///
/// # Errors
/// What it is instead.
pub(crate) fn env_of(raw: u64) -> Result<Option<usize>, Cow<'static, str>> {
    if raw == Term::NONE.raw() {
        return Err("no term, as functions return that have raised an exception".into());
    }
    if !is_handle(raw) {
        return if is_value(raw) { Ok(None) } else { Err("no term that the interface has given".into()) };
    }
    let this = this_thread();
    let registry = REGISTRY.lock();
    let Some((env, _)) = registry.find(raw) else {
        let is_over = parts_of(raw).0 < registry.next_part;
        let over = "a term of a call that has ended, or of an environment that has been cleared, freed or sent";
        return Err(if is_over { over.into() } else { "no term that the interface has given".into() });
    };
    match registry.envs.get(&env) {
        Some(record) if record.is_elsewhere(this) => Err(record.of_another("a term").into()),
        _ => Ok(Some(env)),
    }
}

/// Is it a term that needs no memory?
fn is_value(word: u64) -> bool {
    if word == ZERO {
        return true;
    }
    // SAFETY: only the word itself is looked at.
    let term = unsafe { Term::from_raw(word) };
    if let Some(atom) = term.as_atom() {
        return Term::atom(atom).is(term) && (atom.index() as usize) < myriad_term::atom::count();
    }
    term.is_small()
        || term.is_immediate_float()
        || term.is_nil()
        || term.as_local_pid().is_some_and(|pid| pid.is_plausible())
        || term.as_local_port().is_some_and(|port| port.is_plausible())
}

/// The term of a handle.
pub(crate) fn term_of(word: u64) -> Option<Term> {
    REGISTRY.lock().find(word).map(|(_, term)| term)
}

/// A binary owns counted bytes, or does no more.
pub(crate) fn own(owned: *const (), owns: bool) {
    let mut registry = REGISTRY.lock();
    if owns {
        registry.owned.insert(owned.addr());
    } else {
        registry.owned.remove(&owned.addr());
    }
}

/// Bytes may be looked at as long as an environment has its terms.
pub(crate) fn show(env: usize, data: *const u8) {
    if let Some(record) = REGISTRY.lock().envs.get_mut(&env) {
        record.bytes.insert(data.addr());
    }
}

/// Is a binary one that owns bytes, or whose bytes may be looked at?
pub(crate) fn has_bytes(owned: *const (), data: *const u8) -> bool {
    let registry = REGISTRY.lock();
    match owned.is_null() {
        true => registry.envs.values().any(|record| record.bytes.contains(&data.addr())),
        false => registry.owned.contains(&owned.addr()),
    }
}

/// A new object, which the library holds once.
pub(crate) fn object_comes(object: usize) {
    REGISTRY.lock().objects.insert(object, Object { holds: 1, dies: false });
}

/// The destructor of an object is about to run.
pub(crate) fn object_dies(object: usize) {
    if let Some(object) = REGISTRY.lock().objects.get_mut(&object) {
        object.dies = true;
    }
}

/// An object is no more; its memory is kept (nif.check/NC3).
pub(crate) fn object_goes(object: usize) {
    REGISTRY.lock().objects.remove(&object);
}

/// What is wrong with an object, whose destructor may run, if that is said.
pub(crate) fn wrong_object(object: usize, may_die: bool) -> Option<&'static str> {
    match REGISTRY.lock().objects.get(&object) {
        None => Some("no resource that is alive"),
        Some(object) if object.dies && !may_die => Some("a resource whose destructor runs"),
        Some(_) => None,
    }
}

/// The library holds an object once more, or once less; false if it does not hold it.
pub(crate) fn hold(object: usize, more: bool) -> bool {
    let mut registry = REGISTRY.lock();
    let Some(object) = registry.objects.get_mut(&object) else { return false };
    if !more && object.holds == 0 {
        return false;
    }
    object.holds = if more { object.holds + 1 } else { object.holds - 1 };
    true
}

/// The things that are only known by their addresses.
#[derive(Clone, Copy)]
pub(crate) enum Thing {
    Type,
    Queue,
    Iterator,
}

fn things(registry: &mut Registry, thing: Thing) -> &mut BTreeSet<usize> {
    match thing {
        Thing::Type => &mut registry.types,
        Thing::Queue => &mut registry.queues,
        Thing::Iterator => &mut registry.iterators,
    }
}

/// Such a thing is there.
pub(crate) fn comes(thing: Thing, address: usize) {
    things(&mut REGISTRY.lock(), thing).insert(address);
}

/// It is there no more.
pub(crate) fn goes(thing: Thing, address: usize) {
    things(&mut REGISTRY.lock(), thing).remove(&address);
}

/// Is such a thing there?
pub(crate) fn is_there(thing: Thing, address: usize) -> bool {
    things(&mut REGISTRY.lock(), thing).contains(&address)
}

/// A library's I/O vector has something behind it.
pub(crate) fn vector_comes(vector: usize, behind: usize) {
    REGISTRY.lock().vectors.insert(vector, behind);
}

/// What has been behind I/O vectors is no more.
pub(crate) fn vector_goes(behind: usize) {
    REGISTRY.lock().vectors.retain(|_, other| *other != behind);
}

/// Is there something behind an I/O vector?
pub(crate) fn is_vector(vector: usize) -> bool {
    REGISTRY.lock().vectors.contains_key(&vector)
}

/// Memory that nobody else is to have for a while, with its size; and the address, if it is an environment's.
#[allow(dead_code, reason = "it is kept, and not looked at")]
struct Kept {
    memory: Box<dyn Any + Send>,
    size: usize,
    env: Option<usize>,
}

/// How much is kept: things, and bytes.
const MOST_KEPT: (usize, usize) = (10_000, 32 << 20);

/// Keeps memory; what has been kept for longest is freed.
pub(crate) fn keep(memory: Box<dyn Any + Send>, size: usize, env: Option<usize>) {
    let mut freed = Vec::new();
    let mut registry = REGISTRY.lock();
    registry.kept_bytes += size;
    registry.kept.push_back(Kept { memory, size, env });
    while registry.kept.len() > MOST_KEPT.0 || registry.kept_bytes > MOST_KEPT.1 {
        let Some(oldest) = registry.kept.pop_front() else { break };
        registry.kept_bytes -= oldest.size;
        oldest.env.map(|env| registry.ended.remove(&env));
        freed.push(oldest);
    }
    drop(registry);
    drop(freed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_heap::{Draft, Fragment};
    use myriad_term::Build;

    /// An environment at an address that no other test has.
    fn env(address: usize, kind: Kind) -> usize {
        env_comes(address, kind, None);
        address
    }

    #[test]
    fn a_handle_is_of_one_environment_until_that_is_cleared() {
        // SAFETY: the terms are not used once the draft has gone.
        let mut draft: Draft<'static> = unsafe { Draft::unbound(Fragment::default()) };
        let (one, two) = (draft.tuple(&[Term::small(1)]), draft.tuple(&[Term::small(2)]));
        let (first, second) = (env(0x10, Kind::Own), env(0x20, Kind::Own));
        let (a, b, c) = (give(first, one), give(first, two), give(second, one));
        assert!(a != b && a != c && is_handle(a) && give(first, one) == a);
        assert_eq!((env_of(a).ok(), env_of(c).ok()), (Some(Some(first)), Some(Some(second))));
        assert!(term_of(b).is_some_and(|term| term.is(two)));
        env_is_cleared(first);
        assert!(env_of(a).is_err() && env_of(b).is_err() && env_of(c).is_ok());
        // None comes twice (nif.check/NC1).
        let again = give(first, one);
        assert!(again != a && again != b && env_of(again).is_ok());
        env_goes(second);
        assert!(env_of(c).is_err() && term_of(c).is_none());
        assert_eq!(wrong_env(second, false).as_deref(), Some("an environment that has been freed"));
    }

    #[test]
    fn words_that_need_no_memory_are_known_by_themselves() {
        let good = [Term::small(-5).raw(), Term::NIL.raw(), Term::TRUE.raw(), ZERO];
        assert!(good.into_iter().all(|word| env_of(word) == Ok(None)));
        let no_atom = Term::atom(myriad_term::Atom::from_index(u32::MAX)).raw();
        let bad = [Term::NONE.raw(), no_atom, 0x1001, 0x2002, 0b110, u64::MAX];
        assert!(bad.into_iter().all(|word| env_of(word).is_err()));
    }

    #[test]
    fn the_environment_of_a_call_is_of_its_thread() {
        let call = env(0x30, Kind::Call);
        assert_eq!(wrong_env(call, false), None);
        let elsewhere = myriad_sync::thread::spawn("other", move || wrong_env(call, false)).unwrap().join().unwrap();
        assert_eq!(elsewhere.as_deref(), Some("the environment of a call on another thread"));
        env_goes(call);
        assert_eq!(wrong_env(call, false).as_deref(), Some("the environment of a call that has ended"));
        assert_eq!(wrong_env(0x40, false).as_deref(), Some("no environment"));
    }

    #[test]
    fn an_environment_that_was_sent_is_cleared_first() {
        let own = env(0x50, Kind::Own);
        env_is_sent(own);
        assert!(wrong_env(own, false).is_some() && wrong_env(own, true).is_none());
        env_is_cleared(own);
        assert_eq!(wrong_env(own, false), None);
    }

    #[test]
    fn objects_are_held_as_often_as_the_library_says() {
        object_comes(0x60);
        assert!(hold(0x60, true) && hold(0x60, false) && hold(0x60, false) && !hold(0x60, false));
        object_dies(0x60);
        assert!(wrong_object(0x60, false).is_some() && wrong_object(0x60, true).is_none());
        object_goes(0x60);
        assert!(wrong_object(0x60, true).is_some() && !hold(0x60, true));
    }
}
