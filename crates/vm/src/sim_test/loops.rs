//! Loops of the driver's processes, which go through them as the module `parallel` does (docs/parallel.md): parts are cut off where a scheduler asks for work, and some before a
//! loop begins; elements raise exceptions, parts are killed or wanted no more, some clean up meanwhile, and owners die. Which elements raise follows from the loop's seed, so it is
//! known what a loop comes to.

use crate::Signal;
use crate::bif::Escape;
use crate::ctx::Ctx;
use crate::engine::SliceEnd;
use crate::parallel::Handed;
use myriad_process::Payload;
use myriad_sync::atomic::{AtomicU64, Ordering};
use myriad_term::{Build, Term, am};
use myriad_testing::Random;
use std::collections::VecDeque;

const MOST_ELEMENTS: u64 = 48;
/// Virtual time for which what is wanted no more may clean up.
const GRACE_MS: i64 = 1;

/// What has happened in the loops of a world.
#[derive(Default)]
pub struct Tally {
    pub ended: AtomicU64,
    pub raised: AtomicU64,
    pub parts: AtomicU64,
    pub aborted: AtomicU64,
    pub cleaned: AtomicU64,
    pub killed: AtomicU64,
}

fn count(what: &AtomicU64) {
    what.fetch_add(1, Ordering::Relaxed);
}

/// How a loop ends that does not give a sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Exception {
    /// Of this element.
    Element(i64),
    /// A part was killed.
    Killed,
    /// Nobody wants it any more.
    Aborted,
}

type Outcome = Result<i64, Exception>;

/// What all pieces of a loop know.
#[derive(Clone, Copy, Debug)]
struct Order {
    seed: i64,
    any: bool,
    /// Helpers at most.
    max: Option<i64>,
}

impl Order {
    fn term(self, ctx: &mut Ctx<'_>) -> Term {
        let order = if self.any { am::any } else { am::serial };
        let max = self.max.map_or(am::infinity.term(), Term::small);
        let record = [am::ok.term(), am::ok.term(), Term::NIL, Term::NIL, order.term(), max, Term::small(GRACE_MS)];
        ctx.tuple(&record)
    }

    /// Do all elements but the first go on until somebody stops them, and does that one raise an exception in the end?
    fn is_endless(self) -> bool {
        self.seed % 11 == 0
    }

    fn raises(self, element: i64) -> bool {
        if self.is_endless() {
            return element == 0;
        }
        self.seed % 3 != 0 && Random::new((self.seed ^ element << 32) as u64).below(24) == 0
    }

    /// Are parts killed?
    fn kills(self) -> bool {
        self.seed % 5 == 0
    }
}

enum Piece {
    Done(i64),
    Part(u64),
    /// Nobody has begun it: the first element, and how many.
    Left(i64, i64),
}

enum Phase {
    /// The process does its own piece: the next element, how many are left, the sum.
    Going(i64, i64, i64),
    /// The pieces that follow, and the sum of those before.
    Joining(VecDeque<Piece>, i64),
    /// This exception is the loop's if none of these pieces has one.
    Failing(VecDeque<Piece>, Exception),
}

/// A loop, or a part of one, that a process is at.
pub struct Loop {
    order: Order,
    /// In order.
    before: Vec<Piece>,
    after: VecDeque<Piece>,
    phase: Phase,
    elements: i64,
    is_part: bool,
    random: Random,
}

fn names<'p>(ctx: &mut Ctx<'_>, pieces: impl Iterator<Item = &'p Piece>) -> Term {
    let name = |piece: &Piece| if let Piece::Part(name) = piece { Some(Term::small(*name as i64)) } else { None };
    let names: Vec<Term> = pieces.filter_map(name).collect();
    ctx.list(&names)
}

impl Loop {
    /// A process begins a loop of its own.
    pub fn begin(ctx: &mut Ctx<'_>, random: &mut Random, tally: &Tally) -> Loop {
        let seed = (random.bits() >> 34) as i64;
        let max = (random.below(4) == 0).then(|| random.below(4) as i64);
        let order = Order { seed, any: random.below(3) == 0, max };
        Loop::of(ctx, order, 0, random.below(MOST_ELEMENTS) as i64, false, tally)
    }

    /// The process was made for a part: these are its arguments.
    pub fn part(ctx: &mut Ctx<'_>, arguments: &[Term], tally: &Tally) -> Loop {
        let [f, rest, n, of, ..] = arguments else { panic!("a part without its arguments") };
        let number = |term: &Term| term.as_small().expect("a number");
        let record = of.as_tuple().expect("what the pieces are to do").elements().to_vec();
        let order = Order { seed: number(f), any: record[4].is_am(am::any), max: record[5].as_small() };
        Loop::of(ctx, order, number(rest), number(n), true, tally)
    }

    fn of(ctx: &mut Ctx<'_>, order: Order, from: i64, n: i64, is_part: bool, tally: &Tally) -> Loop {
        let random = Random::new((order.seed ^ from << 20 ^ n << 40) as u64);
        let phase = Phase::Going(from, n, 0);
        let (before, after) = (Vec::new(), VecDeque::new());
        let mut one = Loop { order, before, after, phase, elements: n, is_part, random };
        // As if asked for: a part before the loop begins.
        if one.random.below(3) == 0 {
            one.cut(ctx, false, tally);
        }
        one.enter(ctx);
        one
    }

    /// A piece begins that the process does itself.
    fn enter(&self, ctx: &mut Ctx<'_>) {
        let of = self.order.term(ctx);
        let (before, after) = (names(ctx, self.before.iter().rev()), names(ctx, self.after.iter()));
        ctx.enter_loop(of, before, after);
    }

    /// Hands over half of what is left, or a half of that; the process has begun its piece, or is about to.
    pub fn cut(&mut self, ctx: &mut Ctx<'_>, has_begun: bool, tally: &Tally) {
        let Phase::Going(from, n, sum) = self.phase else { return };
        let handed = if self.random.below(4) == 0 { n / 4 } else { n / 2 };
        let kept = n - n / 2;
        if handed == 0 {
            return;
        }
        let of = self.order.term(ctx);
        let part = Handed { f: Term::small(self.order.seed), rest: Term::small(from + kept), n: handed, of };
        let at = has_begun.then(|| ctx.state.heap.stack_words());
        let Some(name) = ctx.make_part(&part, at) else { return };
        let behind = n - kept - handed;
        if behind > 0 {
            self.after.push_front(Piece::Left(from + kept + handed, behind));
        }
        self.after.push_front(Piece::Part(name));
        self.phase = Phase::Going(from, kept, sum);
        count(&tally.parts);
    }

    /// Is something that it does wanted no more?
    pub fn is_to_stop(ctx: &mut Ctx<'_>) -> bool {
        ctx.is_aborted() || ctx.state.relations.parallel_mut().is_some_and(|parallel| parallel.stopped().count() > 0)
    }

    /// Does one thing. `Ok`: the loop has ended, which is `true` for a part, whose process then ends, too.
    pub fn step(&mut self, ctx: &mut Ctx<'_>, tally: &Tally) -> Result<bool, Option<SliceEnd>> {
        let was_aborted = ctx.is_aborted();
        if was_aborted || matches!(self.phase, Phase::Going(..)) && ctx.is_to_stop() && Loop::is_to_stop(ctx) {
            if self.random.below(2) == 0 {
                count(&tally.cleaned);
                return Err(Some(SliceEnd::Yielded));
            }
            count(&tally.aborted);
            let outcome = if was_aborted {
                self.abort_all(ctx);
                Some(Err(Exception::Aborted))
            } else {
                self.fail(ctx, Exception::Aborted)
            };
            return self.ended(ctx, outcome, tally);
        }
        if self.is_part && self.order.kills() && self.random.below(16) == 0 {
            let reason = Payload::immediate(Term::atom(am::kill));
            ctx.signal_to(ctx.pid(), Signal::Exit { from: ctx.pid().term(), reason, linked: false });
            count(&tally.killed);
            return Err(Some(SliceEnd::Yielded));
        }
        let outcome = match &mut self.phase {
            Phase::Going(from, 1.., _) if self.order.is_endless() && (*from > 0 || self.random.below(8) > 0) => {
                return Err(Some(SliceEnd::Yielded));
            }
            Phase::Going(_, 0, sum) => {
                let sum = *sum;
                self.piece_is_done(ctx, sum)
            }
            Phase::Going(from, _, _) if self.order.raises(*from) => {
                let exception = Exception::Element(*from);
                self.fail(ctx, exception)
            }
            Phase::Going(from, n, sum) => {
                *sum += *from;
                *from += 1;
                *n -= 1;
                None
            }
            Phase::Joining(pieces, sum) => match pieces.pop_front() {
                None => Some(Ok(*sum)),
                Some(piece) => match result(ctx, &piece) {
                    None => {
                        pieces.push_front(piece);
                        return Err(Some(SliceEnd::Waiting));
                    }
                    Some(Ok(more)) => {
                        *sum += more;
                        None
                    }
                    Some(Err(exception)) => {
                        let later = names(ctx, pieces.iter());
                        ctx.abort_parts(later);
                        Some(Err(exception))
                    }
                },
            },
            Phase::Failing(pieces, exception) => match pieces.pop_front() {
                None => {
                    assert!(
                        *exception != Exception::Aborted,
                        "it was to stop for a part before it, and none has raised"
                    );
                    Some(Err(*exception))
                }
                Some(piece) => match result(ctx, &piece) {
                    None => {
                        pieces.push_front(piece);
                        return Err(Some(SliceEnd::Waiting));
                    }
                    Some(Ok(_)) => None,
                    Some(Err(earlier)) => {
                        let later = names(ctx, pieces.iter());
                        ctx.abort_parts(later);
                        Some(Err(earlier))
                    }
                },
            },
        };
        self.ended(ctx, outcome, tally)
    }

    fn piece_is_done(&mut self, ctx: &mut Ctx<'_>, sum: i64) -> Option<Outcome> {
        if self.before.is_empty() && self.after.is_empty() {
            return Some(Ok(sum));
        }
        self.before.push(Piece::Done(sum));
        while let Some(piece) = self.after.pop_front() {
            if let Piece::Left(from, n) = piece {
                self.phase = Phase::Going(from, n, 0);
                self.enter(ctx);
                return None;
            }
            self.before.push(piece);
        }
        self.phase = Phase::Joining(std::mem::take(&mut self.before).into(), 0);
        None
    }

    /// The process's own piece has raised an exception.
    fn fail(&mut self, ctx: &mut Ctx<'_>, exception: Exception) -> Option<Outcome> {
        if self.before.is_empty() && self.after.is_empty() {
            return Some(Err(exception));
        }
        if exception == Exception::Aborted {
            let (before, after) = (names(ctx, self.before.iter().rev()), names(ctx, self.after.iter()));
            let part = ctx.stopped_by(before, after);
            assert!(!part.is_am(am::none), "a piece is to stop for no part");
            if self.order.any {
                let name = part.as_small().expect("a part's name") as u64;
                let first = result(ctx, &Piece::Part(name)).expect("the part has raised an exception");
                self.abort_all(ctx);
                return Some(first);
            }
        } else if self.order.any {
            self.abort_all(ctx);
            return Some(Err(exception));
        }
        let after = names(ctx, self.after.iter());
        ctx.abort_parts(after);
        self.after.clear();
        self.phase = Phase::Failing(std::mem::take(&mut self.before).into(), exception);
        None
    }

    fn abort_all(&mut self, ctx: &mut Ctx<'_>) {
        let waited = match &mut self.phase {
            Phase::Going(..) => VecDeque::new(),
            Phase::Joining(pieces, _) | Phase::Failing(pieces, _) => std::mem::take(pieces),
        };
        let pieces = names(ctx, self.before.iter().chain(&self.after).chain(&waited));
        ctx.abort_parts(pieces);
    }

    fn ended(&mut self, ctx: &mut Ctx<'_>, outcome: Option<Outcome>, tally: &Tally) -> Result<bool, Option<SliceEnd>> {
        let Some(outcome) = outcome else { return Err(None) };
        count(&tally.ended);
        tally.raised.fetch_add(u64::from(outcome.is_err()), Ordering::Relaxed);
        if self.is_part {
            let told = match outcome {
                Ok(sum) => ctx.tuple(&[Term::OK, Term::small(sum)]),
                Err(Exception::Element(element)) => ctx.tuple(&[am::error.term(), Term::small(element), Term::NIL]),
                Err(Exception::Killed) => ctx.tuple(&[am::exit.term(), am::killed.term(), Term::NIL]),
                Err(Exception::Aborted) => ctx.tuple(&[am::exit.term(), am::aborted.term(), Term::NIL]),
            };
            ctx.report_part(told);
        } else {
            self.check(outcome);
        }
        Ok(self.is_part)
    }

    /// Has the loop come to what it would if one process did it all?
    fn check(&self, outcome: Outcome) {
        let order = self.order;
        let lowest = (0..self.elements).find(|element| order.raises(*element));
        match outcome {
            Ok(sum) => assert_eq!((lowest, sum), (None, (0..self.elements).sum()), "{order:?}"),
            Err(Exception::Element(element)) if order.any => assert!(order.raises(element), "{order:?}: {element}"),
            Err(Exception::Element(element)) => assert_eq!(Some(element), lowest, "{order:?}"),
            Err(Exception::Killed) => assert!(order.kills(), "{order:?}: a part was killed"),
            Err(Exception::Aborted) => panic!("{order:?}: nobody wanted it to stop"),
        }
    }
}

/// What a piece has come to; `None`: it is at work.
fn result(ctx: &mut Ctx<'_>, piece: &Piece) -> Option<Outcome> {
    let name = match piece {
        Piece::Done(sum) => return Some(Ok(*sum)),
        Piece::Part(name) => Term::small(*name as i64),
        Piece::Left(..) => panic!("a piece has not been done"),
    };
    match ctx.await_part(name) {
        Ok(outcome) => {
            let elements = outcome.as_tuple().expect("an outcome").elements();
            let second = elements[1];
            Some(match second.as_small() {
                Some(sum) if elements[0].is_am(am::ok) => Ok(sum),
                Some(element) => Err(Exception::Element(element)),
                None if second.is_am(am::killed) => Err(Exception::Killed),
                None => panic!("a part that is wanted was aborted"),
            })
        }
        Err(Escape::Wait) => None,
        Err(_) => panic!("there is no such part"),
    }
}
