//! Handing over a part of a loop (docs/parallel.md): half of what is left of the outermost loop that has something left becomes an argument of a process of its
//! own, and the frames of the loop are told (Yasugi et al., Tascell: temporary backtracking, which here is reading frames, since terms do not change).
//!
//! HO1. Only the process that owns the frames, stopped between two instructions, reads and writes them. A word of a frame is read as a return point only if it is the
//!      address of a record; the frames of a loop are only taken for such if the return points above and below them say so, since an exception drops frames without
//!      a word to anybody. An integer with the bits of a record's address (code/K2) cannot be told from it: a program would have to learn such an address, and put the integer where it misleads.

mod layout;

use crate::code::at_record;
use crate::stack::is_return_point;
use layout::{Layouts, Left, Step};
use myriad_process::CodePtr;
use myriad_process::parallel::{Distance, Parallel};
use myriad_term::{Build, Term};
use myriad_vm::code::Continuation;
use myriad_vm::parallel::{COPIED, Handed, may_have_helper, words_left};
use myriad_vm::{Ctx, OwnerState};
use smallvec::SmallVec;

/// A part goes through at most so many cells of a list that others do before it.
const PASSED: usize = 50_000;
/// It has so many elements of a list at most.
const HANDED: usize = 16 * 1024;
/// So many loops are looked at for one that has something left.
const LOOKED_AT: usize = 32;

/// A piece of which something is left.
struct Open {
    /// The frame of its loop, and where that stands.
    frame: *mut Term,
    at: Distance,
    layouts: &'static Layouts,
    /// What is left, and how many elements.
    rest: *mut Term,
    n: *mut Term,
    /// Is a step going on with the first of them?
    runs: bool,
    /// Is it a range of integers?
    counts: bool,
}

impl Open {
    /// How many elements nobody has begun.
    fn not_begun(&self) -> usize {
        // SAFETY: HO1: a word of a frame, or a saved register.
        let n = unsafe { (*self.n).as_small() }.unwrap_or(0);
        usize::try_from(n).unwrap_or(0).saturating_sub(usize::from(self.runs))
    }

    /// What the pieces of its loop are to do.
    fn of(&self) -> Term {
        // SAFETY: HO1: a word of the frame of a piece.
        unsafe { *self.frame.add(self.layouts.piece.of) }
    }

    /// How many of them another process is to do.
    fn to_hand_over(&self) -> usize {
        (self.not_begun() + usize::from(self.runs)) / 2
    }
}

/// Is there a part to hand over?
pub fn has_part(ctx: &mut Ctx<'_>) -> bool {
    outermost(ctx.state).is_some()
}

/// The outermost piece that has something to hand over.
fn outermost(state: &mut OwnerState) -> Option<Open> {
    let mut further = 0;
    while further < LOOKED_AT {
        let at = state.relations.parallel_mut()?.open(further)?;
        match at.ok().and_then(|at| open(state, at)) {
            Some(open) if open.to_hand_over() > 0 && may_have_helper(state, open.of()) => return Some(open),
            // Nothing is added to what is left of a piece.
            Some(open) if open.not_begun() == 0 && further == 0 => state.relations.parallel_mut()?.close(),
            _ => further += 1,
        }
    }
    None
}

/// The piece whose frame is there, if it is, and its step is going on or about to.
fn open(state: &mut OwnerState, at: Distance) -> Option<Open> {
    let (stop, base) = (state.heap.stop.cast::<Term>(), state.heap.hend.cast::<Term>());
    let (frame, layouts) = frame(stop, base, at)?;
    let end = within(state, stop, base, at);
    let waiting = layouts.steps().iter().find_map(|step| above_waiting(step, frame.wrapping_sub(1), end));
    let below = waiting.unwrap_or(frame.wrapping_sub(1));
    if below == stop {
        // It has called the step, or that itself, and the call has not begun.
        let step = layouts.steps().iter().find(|step| step.is(state.resume.function))?;
        let saved = state.saved_x.get_mut(..step.arity).filter(|_| state.resume.pc == CodePtr::NULL)?;
        let [.., rest, n] = saved else { return None };
        let counts = rest.is_small();
        return Some(Open { frame, at, layouts, rest, n, runs: false, counts });
    }
    let of_step = |step: &Step| {
        let first = below.wrapping_sub(step.words);
        let above = first.wrapping_sub(1);
        let left: Option<Left> = if above >= stop { point(above, |to| step.left(to)).flatten() } else { None };
        left.map(|left| (first, left))
    };
    let (first, Left { rest, n, counts }) = layouts.steps().iter().find_map(of_step)?;
    Some(Open { frame, at, layouts, rest: first.wrapping_add(rest), n: first.wrapping_add(n), runs: true, counts })
}

/// Where what stands above a piece's frame ends: the stack, or what the next piece within it has.
fn within(state: &mut OwnerState, stop: *mut Term, base: *mut Term, at: Distance) -> *mut Term {
    let inner = |parallel: &mut Parallel| parallel.within(at).find_map(|at| frame(stop, base, at));
    state.relations.parallel_mut().and_then(inner).map_or(stop, |(frame, _)| frame)
}

/// The return point above the last frame of a step that waits for elements behind its own, if there is one: `below` is the return point that leads out of the first. All these have the
/// same return point, one follows the other, and there are none elsewhere before `end` (HO1), since only a piece calls a step: so the last is found in steps of twice the length.
fn above_waiting(step: &Step, below: *mut Term, end: *mut Term) -> Option<*mut Term> {
    let size = 1 + step.waiting?;
    let first = below.wrapping_sub(size);
    if first < end || !point(first, |to| step.waits(to))? {
        return None;
    }
    // SAFETY: HO1: a word of the stack.
    let word = |at: *mut Term| unsafe { (*at).raw() };
    let waits = |count: usize| {
        let at = below.wrapping_sub(count * size);
        at >= end && at < below && word(at) == word(first)
    };
    let mut most = 2;
    while waits(most) {
        most *= 2;
    }
    // So many wait, and so many do not.
    let (mut fewest, mut most) = (most / 2, most);
    while most - fewest > 1 {
        let middle = fewest.midpoint(most);
        if waits(middle) { fewest = middle } else { most = middle }
    }
    Some(below.wrapping_sub(fewest * size))
}

/// The frame of a piece, if one stands there of which a step runs or is about to; and how frames of its version of the module are laid out.
fn frame(stop: *mut Term, base: *mut Term, at: Distance) -> Option<(*mut Term, &'static Layouts)> {
    let frame = base.wrapping_sub(at);
    let below = frame.wrapping_sub(1);
    let layouts = if below >= stop { point(below, Layouts::of_piece).flatten() } else { None };
    layouts.map(|layouts| (frame, layouts))
}

/// What `look` says of the return point at a place of the stack, if there is one.
fn point<T>(at: *mut Term, look: impl FnOnce(&Continuation) -> T) -> Option<T> {
    // SAFETY: HO1: a word of the stack.
    let word = unsafe { (*at).raw() };
    if !is_return_point(word) {
        return None;
    }
    at_record(word as usize, look)
}

/// Where the frame of the outermost piece stands that is to stop, if a step of it runs; and whether the code above it has had its time to clean up.
pub fn stopped(ctx: &mut Ctx<'_>) -> Option<(*mut Term, bool)> {
    let stops: SmallVec<[(Distance, u64); 4]> = ctx.state.relations.parallel_mut()?.stopped().collect();
    let (stop, base) = (ctx.state.heap.stop.cast::<Term>(), ctx.state.heap.hend.cast::<Term>());
    let running = stops.into_iter().filter(|(at, _)| frame(stop, base, *at).is_some());
    let (at, patience_ns) = running.min_by_key(|(at, _)| *at)?;
    Some((base.wrapping_sub(at), ctx.vm.platform.now_ns() >= patience_ns))
}

/// Hands over a part of the outermost loop that has one.
pub fn hand_over(ctx: &mut Ctx<'_>) {
    if let Some(open) = outermost(ctx.state)
        && hand_over_of(&open, ctx).is_none()
    {
        // It would be no other the next time.
        ctx.state.relations.parallel().keep(open.at);
    }
}

/// Hands over a part of this piece. `None`: too much would go along, or there is no room for a process.
fn hand_over_of(open: &Open, ctx: &mut Ctx<'_>) -> Option<()> {
    let piece = &open.layouts.piece;
    // SAFETY: HO1: words of the frame of a piece.
    let (f, of, after) = unsafe { (*open.frame.add(piece.f), open.of(), open.frame.add(piece.after)) };
    [f, of].into_iter().try_fold(COPIED, words_left)?;
    let cut = cut(open, ctx)?;
    let handed = Handed { f, rest: cut.part, n: cut.handed as i64, of };
    let name = ctx.make_part(&handed, Some(open.at))?;
    // SAFETY: HO1: nothing has moved, for nothing was collected.
    unsafe {
        if let Some((rest, n)) = cut.behind {
            let behind = ctx.tuple(&[rest, Term::small(n as i64)]);
            *after = ctx.cons(behind, *after);
        }
        *after = ctx.cons(Term::small(name as i64), *after);
        *open.n = Term::small((cut.kept + usize::from(open.runs)) as i64);
    }
    Some(())
}

/// How what nobody has begun is cut.
struct Cut {
    /// So many stay.
    kept: usize,
    /// What is handed over, and how many that is.
    part: Term,
    handed: usize,
    /// What comes behind that, and how many.
    behind: Option<(Term, usize)>,
}

/// Cuts it so that a half is handed over; or less of it, from an earlier place on, if it would take long to find the place, or to copy.
fn cut(open: &Open, ctx: &mut Ctx<'_>) -> Option<Cut> {
    let (all, handed) = (open.not_begun(), open.to_hand_over());
    // SAFETY: HO1: a word of a frame, or a saved register.
    let mut rest = unsafe { *open.rest };
    let kept = all - handed;
    if open.counts {
        let first = rest.as_small()? + i64::from(open.runs) + kept as i64;
        return Some(Cut { kept, part: Term::try_small(first)?, handed, behind: None });
    }
    let kept = kept.min(PASSED);
    for _ in 0..kept {
        rest = rest.as_cons()?.1;
    }
    let (mut elements, mut left) = (Vec::new(), COPIED);
    while elements.len() < handed.min(HANDED) {
        let (element, tail) = rest.as_cons()?;
        let Some(now_left) = words_left(left, element) else { break };
        (left, rest) = (now_left, tail);
        elements.push(element);
    }
    let handed = elements.len();
    let behind = all - kept - handed;
    let part = if elements.is_empty() { return None } else { ctx.list(&elements) };
    Some(Cut { kept, part, handed, behind: (behind > 0).then_some((rest, behind)) })
}
