//! Parts of loops that other processes do (the module `parallel`, docs/parallel.md): what owner and part tell each other. How a part is cut off is the engine's
//! ([`Engine::hand_over`](crate::engine::Engine::hand_over)).
//!
//! Each tells the other by a signal that runs in the other's thread, so that both sides' state has one writer. The owner's state of a part (process.parallel/PL1)
//! begins before the part's process can run.

use crate::bif::{BADARG, BifResult, Escape};
use crate::ctx::Ctx;
use crate::spawn::SpawnOptions;
use crate::{OwnerState, Signal};
use myriad_process::parallel::{Distance, Role, Taken};
use myriad_process::{Frames, Payload};
use myriad_term::copy::size_within;
use myriad_term::{Arena, Build, Export, Mfa, Pid, Term, am};

/// The part's function: `part(F, Rest, N, Loop, Owner, Dictionary)`.
const ARITY: u8 = 6;
/// Elements of the record that says what the pieces of a loop are to do.
const ORDER: usize = 4;
const MOST_HELPERS: usize = 5;
const GRACE_MS: usize = 6;
/// The longest grace, an hour.
const MOST_GRACE_MS: i64 = 3_600_000;
/// What goes along with a part is copied, in half a millisecond or so: so many words at most of the dictionary, of the fun with its loop, and of elements.
pub const COPIED: usize = 256 * 1024;

/// A piece of a loop that is to become a part.
pub struct Handed {
    /// The fun.
    pub f: Term,
    /// A list or the first integer of a range, and how many elements of it.
    pub rest: Term,
    /// As above.
    pub n: i64,
    /// What the pieces of the loop are to do.
    pub of: Term,
}

/// An element of the record that says what the pieces of a loop are to do.
fn option(of: Term, place: usize) -> Option<Term> {
    of.as_tuple().and_then(|tuple| tuple.elements().get(place).copied())
}

/// Does the first exception in time win?
fn keeps_no_order(of: Term) -> bool {
    option(of, ORDER).is_some_and(|order| order.is_am(am::any))
}

/// Are there fewer helpers than the loop's options want at most?
pub fn may_have_helper(state: &mut OwnerState, of: Term) -> bool {
    let most = option(of, MOST_HELPERS).and_then(|most| most.as_small());
    most.is_none_or(|most| (state.relations.parallel().at_work() as i64) < most)
}

fn grace_ns(of: Term) -> u64 {
    let ms = option(of, GRACE_MS).and_then(|ms| ms.as_small()).unwrap_or(0);
    ms.clamp(0, MOST_GRACE_MS) as u64 * 1_000_000
}

/// The parts among pieces.
fn names(pieces: Term) -> impl Iterator<Item = u64> {
    pieces.list_iter().filter_map(|piece| piece.as_small().and_then(|name| u64::try_from(name).ok()))
}

impl Ctx<'_> {
    /// Does a scheduler ask for work that this process has, or may have, in a loop?
    #[inline]
    pub fn is_work_wanted(&self) -> bool {
        self.state.frames.has(Frames::LOOPS) && self.vm.schedulers.is_work_wanted(self.sched.id)
    }

    /// A piece of a loop begins, whose frame is on top of the stack: what the pieces of the loop are to do, those before it, the nearest first, and those behind it.
    #[inline]
    pub fn enter_loop(&mut self, of: Term, before: Term, behind: Term) {
        let at = self.state.heap.stack_words();
        self.state.frames.add(Frames::LOOPS);
        if before.is_nil() && behind.is_nil() {
            self.state.relations.parallel().enter_first(at);
        } else {
            self.enter_next(at, of, before, behind);
        }
    }

    #[cold]
    fn enter_next(&mut self, at: Distance, of: Term, before: Term, behind: Term) {
        let any = keeps_no_order(of);
        if let Some(raised) = self.state.relations.parallel().enter(at, any, names(before), names(behind)) {
            let patience_ns = self.vm.platform.now_ns() + grace_ns(of);
            self.state.relations.parallel().stop_for(raised, patience_ns);
        }
    }

    /// Makes a process that does a part, which is cut off the piece there, or of a loop that has not begun; gives the part's name. `None`: none is made.
    pub fn make_part(&mut self, part: &Handed, at: Option<Distance>) -> Option<u64> {
        let mut of = part.of;
        if !may_have_helper(self.state, of) {
            return None;
        }
        if option(of, MOST_HELPERS).is_some_and(|most| most.is_small()) {
            // A helper has none of its own: so there are never more.
            let mut elements = of.as_tuple()?.elements().to_vec();
            elements[MOST_HELPERS] = Term::small(0);
            of = self.tuple(&elements);
        }
        let dictionary = self.dictionary_of_part()?;
        let export = Export::intern(Mfa { module: am::parallel, function: am::part, arity: ARITY });
        let name = self.state.relations.parallel().next_name();
        let mut options = SpawnOptions::new(self.vm);
        options.priority = self.process.priority();
        options.role = Some(Role { owner: self.pid(), name, grace_ns: grace_ns(of) });
        let arguments = [part.f, part.rest, Term::small(part.n), of, self.pid().term(), dictionary];
        // The part's process may end before this returns, but what it tells is a signal, which is handled later.
        let process = self.spawn(export, &arguments, options).ok()?;
        let begun = self.state.relations.parallel().begin(process, at, keeps_no_order(of));
        debug_assert_eq!(begun, name, "PL1: a part has another name than its process knows");
        Some(name)
    }

    /// What a part finds in its process dictionary, `[{Key, Value}]`; `None`: it is large.
    fn dictionary_of_part(&mut self) -> Option<Term> {
        let entries = self.state.dictionary.as_ref().map_or(&[][..], |all| all.entries());
        entries.iter().flatten().copied().try_fold(COPIED, words_left)?;
        let entries = entries.to_vec();
        let entries: Vec<Term> = entries.iter().map(|entry| self.tuple(entry)).collect();
        Some(self.list(&entries))
    }

    /// What a part of this process has come to; waits for that. Where the first exception wins, it may be that of another part of the loop.
    ///
    /// # Errors
    /// To wait; `badarg` if there is no such part.
    pub fn await_part(&mut self, name: Term) -> BifResult {
        let parallel = self.state.relations.parallel_mut();
        let (Some(name), Some(parallel)) = (name.as_small(), parallel) else { return Err(BADARG) };
        match parallel.take(name as u64) {
            Taken::Outcome(outcome) => Ok(outcome.attach(&mut self.state.heap)),
            Taken::NotYet => Err(Escape::Wait),
            Taken::Unknown => Err(BADARG),
        }
    }

    /// The process has done its part, and tells who waits for it: `{ok, Acc}`, or an exception.
    pub fn report_part(&mut self, outcome: Term) {
        let is_exception = option(outcome, 0).is_none_or(|first| !first.is_am(am::ok));
        let outcome = self.whole_payload(outcome);
        self.tell_outcome(outcome, is_exception);
    }

    fn tell_outcome(&mut self, outcome: Payload, is_exception: bool) {
        let role = self.state.relations.parallel_mut().and_then(|parallel| parallel.role.take());
        let Some(Role { owner, name, grace_ns }) = role else { return };
        let told = move |owner: &mut Ctx<'_>| {
            let patience_ns = owner.vm.platform.now_ns() + grace_ns;
            let parallel = owner.state.relations.parallel_mut();
            let useless = parallel.map(|parallel| parallel.finish(name, outcome, is_exception, patience_ns));
            useless.into_iter().flatten().for_each(|process| owner.abort(process));
        };
        self.vm.signal_pid(owner, Signal::Call(Box::new(told)));
    }

    /// Nobody wants these parts any more: the processes that do them are told to stop.
    pub fn abort_parts(&mut self, pieces: Term) {
        for name in names(pieces) {
            if let Some(process) = self.state.relations.parallel_mut().and_then(|parallel| parallel.forget(name)) {
                self.abort(process);
            }
        }
    }

    fn abort(&self, process: Pid) {
        self.vm.signal_pid(process, Signal::Call(Box::new(|part| part.be_aborted())));
    }

    fn be_aborted(&mut self) {
        let now_ns = self.vm.platform.now_ns();
        let Some(parallel) = self.state.relations.parallel_mut() else { return };
        if let Some(role) = parallel.role {
            parallel.aborted_ns.get_or_insert(now_ns + role.grace_ns);
            // If it has not begun its loop.
            self.state.frames.add(Frames::LOOPS);
            self.state.interrupt();
        }
    }

    /// The part that is why the loop is to stop that these pieces belong to, or `none`.
    pub fn stopped_by(&mut self, before: Term, behind: Term) -> Term {
        let parallel = self.state.relations.parallel_mut();
        let part = parallel.and_then(|parallel| parallel.stopped_by(names(before).chain(names(behind))));
        part.map_or(am::none.term(), |name| Term::small(name as i64))
    }

    /// Is what the process does, or something it does, wanted no more?
    #[inline]
    pub fn is_to_stop(&mut self) -> bool {
        self.state.frames.has(Frames::LOOPS)
            && self.state.relations.parallel_mut().is_some_and(|parallel| parallel.is_to_stop())
    }

    /// The process itself is a part that is wanted no more. One that has had its time to clean up is killed.
    pub fn is_aborted(&mut self) -> bool {
        let Some(parallel) = self.state.relations.parallel_mut() else { return false };
        let Some(until_ns) = parallel.aborted_ns.filter(|_| parallel.role.is_some()) else { return false };
        if self.vm.platform.now_ns() >= until_ns {
            let (from, reason) = (self.pid().term(), Payload::immediate(Term::atom(am::kill)));
            self.vm.signal_pid(self.pid(), Signal::Exit { from, reason, linked: false });
        }
        true
    }

    /// The process ends: its parts do so, too, and who waits for what it does itself is told.
    pub(crate) fn end_parts(&mut self) {
        let from = self.pid().term();
        let Some(parallel) = self.state.relations.parallel_mut() else { return };
        let (is_part, is_aborted) = (parallel.role.is_some(), parallel.aborted_ns.is_some());
        for process in parallel.forget_all() {
            if is_aborted {
                self.abort(process);
            } else {
                let reason = Payload::immediate(Term::atom(am::kill));
                self.vm.signal_pid(process, Signal::Exit { from, reason, linked: false });
            }
        }
        if is_part {
            let memory = Arena::new();
            let outcome = [Term::atom(am::exit), self.state.exit_reason, Term::NIL];
            self.tell_outcome(Payload::whole((&memory).tuple(&outcome)), true);
        }
    }
}

/// So many words are left when this term has been copied too; `None`: it has more.
pub fn words_left(left: usize, term: Term) -> Option<usize> {
    if term.is_immediate() {
        return Some(left);
    }
    size_within(term, left, |at| myriad_heap::is_literal(at.cast_mut())).and_then(|words| left.checked_sub(words))
}
