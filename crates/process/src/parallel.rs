//! What a process keeps of its loops whose parts other processes may do (the module `parallel`, docs/parallel.md).
//!
//! PL1. A part is the owner's from the moment its process is made until its outcome has been taken or nobody wants it any more. In between it is at work, or its
//!      outcome has come, or it is no longer wanted and only its name is left; no outcome comes twice.
//! PL2. The parts of a loop have places, in the order of what they do: those before the piece that the owner runs have places below 0, those behind it others. A part
//!      that is cut off the owner's piece comes right behind that piece.

use myriad_heap::Payload;
use myriad_term::Pid;
use std::collections::BTreeMap;

/// Where a frame of a loop may stand: so many words from the base of the stack, which a move of the stack does not change.
pub type Distance = usize;

/// The place of the first part behind the owner's piece that is known when it begins the piece. Those that are cut off come before it.
const BEHIND: i64 = 1 << 32;

/// A loop of one process: all pieces of it have the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Of(u64);

/// A part that another process does.
struct Part {
    /// `None`: it was made before the loop's first piece has begun.
    of: Option<Of>,
    place: i64,
    /// The first exception of its loop wins, whatever its place.
    any: bool,
    state: State,
}

enum State {
    /// This process is at work.
    AtWork(Pid),
    /// What it has come to; an exception, or not.
    Done { outcome: Payload, is_exception: bool },
    /// Nobody wants to know.
    Unwanted,
}

/// A piece of a loop that the owner has begun.
#[derive(Clone, Copy)]
struct Piece {
    /// Where its frame stood. It may be gone, as exceptions drop frames without a word.
    at: Distance,
    of: Of,
    /// The place of the next part that is cut off it.
    next: i64,
    /// No part of it can be handed over: too much would go along.
    is_kept: bool,
}

/// The owner's piece of a loop is wanted no more, for this part has raised an exception.
#[derive(Clone, Copy)]
struct Stop {
    of: Of,
    part: u64,
    /// From then on (nanoseconds) code that goes on is not asked any more.
    patience_ns: u64,
}

/// Of a piece no part can be handed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kept;

/// What there is of a part ([`Parallel::take`]).
pub enum Taken {
    /// What it has come to.
    Outcome(Payload),
    /// It is at work.
    NotYet,
    /// There is no such part.
    Unknown,
}

/// Of a process that is a part itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Role {
    /// The process that waits for the outcome.
    pub owner: Pid,
    /// The part's name there.
    pub name: u64,
    /// How long (nanoseconds) it may go on when it is wanted no more.
    pub grace_ns: u64,
}

/// The loops and parts of one process.
#[derive(Default)]
pub struct Parallel {
    /// The pieces that it is at, the outermost first.
    pieces: Vec<Piece>,
    /// So many of the outermost have nothing left that others could do.
    closed: usize,
    parts: BTreeMap<u64, Part>,
    /// The name of the last part, and the number of the last loop.
    last: u64,
    last_loop: u64,
    stops: Vec<Stop>,
    /// The process is a part of another one's loop, which has not been told the outcome.
    pub role: Option<Role>,
    /// That part is wanted no more; until then (nanoseconds) the process may clean up.
    pub aborted_ns: Option<u64>,
}

impl Parallel {
    /// The first piece of a loop begins, whose frame is there: those that stood there or above are gone.
    #[inline]
    pub fn enter_first(&mut self, at: Distance) {
        self.drop_from(at);
        self.last_loop += 1;
        self.pieces.push(Piece { at, of: Of(self.last_loop), next: BEHIND - 1, is_kept: false });
    }

    #[inline]
    fn drop_from(&mut self, at: Distance) {
        while self.pieces.last().is_some_and(|last| last.at >= at) {
            self.pieces.pop();
        }
        self.closed = self.closed.min(self.pieces.len());
    }

    /// Another piece of a loop begins. `before` and `behind` are the names of its parts, the nearest first; `any`: the
    /// first exception wins. Gives a part that has raised an exception for which the piece is not wanted, if there is one.
    pub fn enter(
        &mut self,
        at: Distance,
        any: bool,
        before: impl Iterator<Item = u64>,
        behind: impl Iterator<Item = u64>,
    ) -> Option<u64> {
        self.drop_from(at);
        let (mut known, mut raised) = (None, None);
        let places =
            (1..).zip(before).map(|(i, name)| (name, -i)).chain((BEHIND..).zip(behind).map(|(i, name)| (name, i)));
        let mut named = Vec::new();
        for (name, place) in places {
            let Some(part) = self.parts.get_mut(&name) else { continue };
            (part.place, part.any) = (place, any);
            known = known.or(part.of);
            let is_exception = matches!(part.state, State::Done { is_exception: true, .. });
            raised = raised.or((is_exception && (any || place < 0)).then_some(name));
            named.push(name);
        }
        let of = known.unwrap_or_else(|| {
            self.last_loop += 1;
            Of(self.last_loop)
        });
        for name in named {
            if let Some(part) = self.parts.get_mut(&name) {
                part.of = Some(of);
            }
        }
        self.pieces.push(Piece { at, of, next: BEHIND - 1, is_kept: false });
        raised
    }

    /// Where the frame of a piece may stand that may have something left: of the outermost, and of that so many further in. `Err`: one of which no part can be handed over.
    pub fn open(&self, further: usize) -> Option<Result<Distance, Kept>> {
        self.pieces.get(self.closed + further).map(|piece| if piece.is_kept { Err(Kept) } else { Ok(piece.at) })
    }

    /// Where the frames of pieces may stand that the process is at within the one there, the outermost first.
    pub fn within(&self, at: Distance) -> impl Iterator<Item = Distance> {
        self.pieces.iter().map(|piece| piece.at).filter(move |other| *other > at)
    }

    /// No part of the piece there can be handed over.
    pub fn keep(&mut self, at: Distance) {
        if let Some(piece) = self.pieces.iter_mut().rfind(|piece| piece.at == at) {
            piece.is_kept = true;
        }
    }

    /// The outermost one has nothing left, and never will again.
    pub fn close(&mut self) {
        self.closed += 1;
        debug_assert!(self.closed <= self.pieces.len(), "a loop is closed that is not there");
    }

    /// This process does a part from now on, which is cut off the piece there, or (`None`) of a loop that has not begun, and of which the first exception wins (`any`) or not;
    /// gives its name.
    pub fn begin(&mut self, process: Pid, at: Option<Distance>, any: bool) -> u64 {
        self.last += 1;
        let piece = at.and_then(|at| self.pieces.iter_mut().rfind(|piece| piece.at == at));
        debug_assert!(piece.is_some() == at.is_some(), "PL2: a part is cut off a piece that is not there");
        let (of, place) = match piece {
            Some(piece) => {
                piece.next -= 1;
                (Some(piece.of), piece.next + 1)
            }
            None => (None, 0),
        };
        let before = self.parts.insert(self.last, Part { of, place, any, state: State::AtWork(process) });
        debug_assert!(before.is_none(), "PL1: a part with the name of another one");
        self.last
    }

    /// The name that the next part gets.
    pub fn next_name(&self) -> u64 {
        self.last + 1
    }

    /// The outcome of a part has come. If it is an exception, gives the processes whose work it makes useless: those behind it, or all of the loop where the first exception in
    /// time wins; and the owner's piece may be to stop ([`Parallel::stopped`]), from `patience_ns` on at once.
    pub fn finish(&mut self, name: u64, outcome: Payload, is_exception: bool, patience_ns: u64) -> Vec<Pid> {
        let Some(part) = self.parts.get_mut(&name) else { return Vec::new() };
        if let State::Unwanted = part.state {
            return Vec::new();
        }
        debug_assert!(matches!(part.state, State::AtWork(_)), "PL1: a part has come to something twice");
        part.state = State::Done { outcome, is_exception };
        let Part { of: Some(of), place, any, .. } = *part else { return Vec::new() };
        if !is_exception {
            return Vec::new();
        }
        if any || place < 0 {
            self.stop(of, name, patience_ns);
        }
        let is_useless = |other: &Part| other.of == Some(of) && (other.place > place || any && other.place != place);
        self.parts.values_mut().filter(|other| is_useless(other)).filter_map(Part::forget).collect()
    }

    fn stop(&mut self, of: Of, part: u64, patience_ns: u64) {
        if self.stops.iter().all(|stop| stop.of != of) {
            self.stops.push(Stop { of, part, patience_ns });
        }
    }

    /// The owner has begun a piece although this part has raised an exception before it.
    pub fn stop_for(&mut self, part: u64, patience_ns: u64) {
        if let Some(of) = self.parts.get(&part).and_then(|part| part.of) {
            self.stop(of, part, patience_ns);
        }
    }

    /// Where the frames of the pieces may stand that are to stop, and until when they may clean up.
    pub fn stopped(&self) -> impl Iterator<Item = (Distance, u64)> {
        let piece_of = |stop: &Stop| {
            self.pieces.iter().rfind(|piece| piece.of == stop.of).map(|piece| (piece.at, stop.patience_ns))
        };
        self.stops.iter().filter_map(piece_of)
    }

    /// Is there anything that is to stop?
    #[inline]
    pub fn is_to_stop(&self) -> bool {
        self.aborted_ns.is_some() || !self.stops.is_empty()
    }

    /// The part that is why the loop is to stop that has one of these parts.
    pub fn stopped_by(&self, mut names: impl Iterator<Item = u64>) -> Option<u64> {
        let of = names.find_map(|name| self.parts.get(&name).and_then(|part| part.of))?;
        self.stops.iter().find(|stop| stop.of == of).map(|stop| stop.part)
    }

    /// Takes the outcome of a part, if it has come; where the first exception wins, that of the part which has raised it.
    pub fn take(&mut self, name: u64) -> Taken {
        let Some(part) = self.parts.get(&name) else { return Taken::Unknown };
        let first = part.of.filter(|_| part.any).and_then(|of| self.stops.iter().find(|stop| stop.of == of));
        let name = first.map_or(name, |stop| stop.part);
        match self.parts.remove(&name) {
            Some(Part { state: State::Done { outcome, .. }, .. }) => {
                self.stops.retain(|stop| stop.part != name);
                Taken::Outcome(outcome)
            }
            Some(part) => {
                self.parts.insert(name, part);
                Taken::NotYet
            }
            None => Taken::Unknown,
        }
    }

    /// Nobody wants the outcome of this part any more, nor names it again; gives the process that is at work, if one is.
    pub fn forget(&mut self, name: u64) -> Option<Pid> {
        self.stops.retain(|stop| stop.part != name);
        self.parts.remove(&name).and_then(|mut part| part.forget())
    }

    /// The same of all; gives the processes that are at work.
    pub fn forget_all(&mut self) -> Vec<Pid> {
        self.stops.clear();
        std::mem::take(&mut self.parts).into_values().filter_map(|mut part| part.forget()).collect()
    }

    /// How many processes are at work for this one.
    pub fn at_work(&self) -> usize {
        self.parts.values().filter(|part| matches!(part.state, State::AtWork(_))).count()
    }
}

impl Part {
    /// Nobody wants its outcome any more; gives the process that is at work, if one is.
    fn forget(&mut self) -> Option<Pid> {
        match std::mem::replace(&mut self.state, State::Unwanted) {
            State::AtWork(process) => Some(process),
            State::Done { .. } | State::Unwanted => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_term::Term;
    use std::iter::empty;

    fn enter(parallel: &mut Parallel, at: Distance) {
        parallel.enter_first(at);
    }

    fn outcome(n: i64) -> Payload {
        Payload::immediate(Term::small(n))
    }

    fn taken(parallel: &mut Parallel, name: u64) -> Option<i64> {
        match parallel.take(name) {
            Taken::Outcome(outcome) => outcome.term().as_small(),
            Taken::NotYet => None,
            Taken::Unknown => panic!("there is no such part"),
        }
    }

    #[test]
    fn loops_that_exceptions_have_ended_go_when_another_begins() {
        let mut parallel = Parallel::default();
        [10, 20, 30].into_iter().for_each(|at| enter(&mut parallel, at));
        enter(&mut parallel, 20);
        assert_eq!((parallel.open(0), parallel.open(1), parallel.open(2)), (Some(Ok(10)), Some(Ok(20)), None));
        parallel.close();
        parallel.keep(20);
        assert_eq!((parallel.open(0), parallel.open(1)), (Some(Err(Kept)), None));
        enter(&mut parallel, 5);
        assert_eq!((parallel.open(0), parallel.open(1)), (Some(Ok(5)), None));
    }

    #[test]
    fn an_outcome_is_taken_once() {
        let mut parallel = Parallel::default();
        enter(&mut parallel, 10);
        let (first, second) =
            (parallel.begin(Pid::new(1, 0), Some(10), false), parallel.begin(Pid::new(2, 0), Some(10), false));
        assert!(taken(&mut parallel, first).is_none() && parallel.at_work() == 2);
        assert!(parallel.finish(first, outcome(7), false, 0).is_empty());
        assert_eq!(taken(&mut parallel, first), Some(7));
        assert!(matches!(parallel.take(first), Taken::Unknown));
        assert_eq!(parallel.forget(second), Some(Pid::new(2, 0)));
        assert!(parallel.finish(second, outcome(8), false, 0).is_empty());
        assert!(matches!(parallel.take(second), Taken::Unknown) && parallel.forget_all().is_empty());
    }

    /// Three parts of a loop: the last one was cut off first.
    fn three(parallel: &mut Parallel, any: bool) -> [u64; 3] {
        parallel.enter_first(10);
        let mut part = |n| parallel.begin(Pid::new(n, 0), Some(10), any);
        let (third, second, first) = (part(3), part(2), part(1));
        [first, second, third]
    }

    #[test]
    fn an_exception_makes_those_behind_it_useless() {
        let mut parallel = Parallel::default();
        let [first, second, third] = three(&mut parallel, false);
        assert_eq!(parallel.finish(second, outcome(2), true, 5), [Pid::new(3, 0)]);
        assert_eq!(parallel.stopped().count(), 0, "the owner's piece is before it");
        assert!(parallel.finish(third, outcome(3), true, 5).is_empty(), "nobody wants to know");
        // The owner goes on behind the second: that one has raised, but the first may do so, too.
        assert_eq!(parallel.enter(10, false, [second, first].into_iter(), [third].into_iter()), Some(second));
        parallel.stop_for(second, 5);
        assert_eq!(parallel.stopped().collect::<Vec<_>>(), [(10, 5)]);
        assert_eq!(parallel.stopped_by([first].into_iter()), Some(second));
        assert!(taken(&mut parallel, first).is_none());
        assert!(parallel.finish(first, outcome(1), false, 5).is_empty());
        assert_eq!((taken(&mut parallel, first), taken(&mut parallel, second)), (Some(1), Some(2)));
        assert_eq!(parallel.stopped().count(), 0);
    }

    #[test]
    fn the_first_exception_in_time_wins_if_that_is_wanted() {
        let mut parallel = Parallel::default();
        let [first, second, third] = three(&mut parallel, true);
        let others = [Pid::new(1, 0), Pid::new(3, 0)];
        let mut useless = parallel.finish(second, outcome(2), true, 5);
        useless.sort_by_key(|pid| pid.term().raw());
        assert_eq!(useless, others);
        assert_eq!(parallel.stopped().collect::<Vec<_>>(), [(10, 5)]);
        assert!(parallel.finish(third, outcome(3), true, 5).is_empty());
        // Whichever of them is waited for.
        assert_eq!(taken(&mut parallel, first), Some(2));
    }

    #[test]
    fn parts_made_before_the_loop_belong_to_it_when_it_begins() {
        let mut parallel = Parallel::default();
        let [a, b] = [1, 2].map(|n| parallel.begin(Pid::new(n, 0), None, true));
        assert!(parallel.finish(a, outcome(1), true, 0).is_empty(), "it is not known what it is a part of");
        assert_eq!(parallel.enter(10, true, empty(), [a, b].into_iter()), Some(a));
        // A loop inside of the first one, with its own parts.
        enter(&mut parallel, 20);
        let inner = parallel.begin(Pid::new(9, 0), Some(20), false);
        assert!(parallel.finish(inner, outcome(9), true, 0).is_empty());
        assert_eq!(parallel.stopped_by([inner].into_iter()), None);
    }
}
