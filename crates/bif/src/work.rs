//! How much a built-in may do before it gives way.
//!
//! Work is counted in steps, whatever a built-in does many times (terms, cells, bytes, characters), and a [`Budget`] says how many may
//! be done now. A number of steps costs one reduction: that rate is the one number a built-in chooses, by measuring.
//!
//! - [`in_slices`] runs work that can stop anywhere until it is done, with the budget of each slice; it yields in between.
//! - [`Budget::of_slice`] is for work that keeps its place in another way.
//! - [`Budget::of_call`] is for work that cannot stop: what exceeds it begins anew on a dirty scheduler
//!   (`intrinsics::budget`).
//! - [`dirty`] and [`dirty_if_large`] send a call there before it begins, where the size of the work can be known.

use myriad_term::etf::{EncodeOptions, Sizer};
use myriad_term::{Mfa, Term};
use myriad_vm::bif::{DirtyKind, Escape};
use myriad_vm::{BifResult, Ctx};

/// Terms that are walked for one reduction.
pub const TERMS_PER_REDUCTION: usize = 8;
/// Steps that a slice allows at least, however little of it is left.
const LEAST_STEPS: usize = 256;
/// Reductions of work that cannot stop, on an ordinary scheduler: about a millisecond's.
const CALL_REDUCTIONS: usize = 1875;
/// The same on a dirty scheduler: a second's.
pub(crate) const DIRTY_CALL_REDUCTIONS: usize = 1 << 21;

/// Steps that may still be done, and how many of them cost a reduction.
pub struct Budget {
    pub(crate) given: usize,
    pub(crate) left: usize,
    pub(crate) per_reduction: usize,
}

impl Budget {
    /// What is left of this slice; on a dirty scheduler, no limit.
    #[inline]
    pub fn of_slice(ctx: &Ctx<'_>, per_reduction: usize) -> Budget {
        let given = if ctx.sched.dirty {
            usize::MAX
        } else {
            (ctx.state.reductions.to_spend() * per_reduction).max(LEAST_STEPS)
        };
        Budget { given, left: given, per_reduction }
    }

    /// What one call may do if it cannot stop.
    pub fn of_call(ctx: &Ctx<'_>, per_reduction: usize) -> Budget {
        let reductions = if ctx.sched.dirty { DIRTY_CALL_REDUCTIONS } else { CALL_REDUCTIONS };
        let given = reductions * per_reduction;
        Budget { given, left: given, per_reduction }
    }

    /// The same, but no more than `most` steps.
    pub fn up_to(self, most: usize) -> Budget {
        let given = self.given.min(most);
        Budget { given, left: given, ..self }
    }

    /// The steps that are left, for the work to count down.
    #[inline]
    pub fn left(&mut self) -> &mut usize {
        &mut self.left
    }

    /// The steps that have been done.
    #[inline]
    pub fn spent(&self) -> usize {
        self.given - self.left.min(self.given)
    }

    /// Charges the process with what has been done.
    #[inline]
    pub fn charge(self, ctx: &mut Ctx<'_>) {
        ctx.bump(self.spent() / self.per_reduction);
    }
}

/// How work is done slice by slice.
#[derive(Clone, Copy)]
pub struct Pace {
    per_reduction: usize,
    most: usize,
    name: Option<Mfa>,
}

impl Pace {
    /// A rate of `per_reduction` steps for one reduction.
    pub const fn of(per_reduction: usize) -> Pace {
        Pace { per_reduction, most: usize::MAX, name: None }
    }

    /// The process is said to be in this function between two slices.
    pub const fn in_function(self, name: Mfa) -> Pace {
        Pace { name: Some(name), ..self }
    }

    /// No more than `most` steps in a slice.
    pub const fn up_to(self, most: usize) -> Pace {
        Pace { most, ..self }
    }
}

/// Runs `step` until it gives a result, slice by slice. It gets the steps that it may do in each, and counts down what it does. Terms that it
/// keeps stay: nothing is collected before it is done.
#[inline]
pub fn in_slices<F>(ctx: &mut Ctx<'_>, per_reduction: usize, step: F) -> BifResult
where
    F: FnMut(&mut Ctx<'_>, &mut usize) -> Result<Option<Term>, Escape> + Send + 'static,
{
    in_slices_at(ctx, Pace::of(per_reduction), step)
}

/// As [`in_slices`], at another pace.
#[inline]
pub fn in_slices_at<F>(ctx: &mut Ctx<'_>, pace: Pace, mut step: F) -> BifResult
where
    F: FnMut(&mut Ctx<'_>, &mut usize) -> Result<Option<Term>, Escape> + Send + 'static,
{
    let mut go_on = move |ctx: &mut Ctx<'_>| {
        let mut budget = Budget::of_slice(ctx, pace.per_reduction).up_to(pace.most);
        let result = step(ctx, budget.left());
        budget.charge(ctx);
        result?.ok_or(Escape::Yield)
    };
    match go_on(ctx) {
        Err(Escape::Yield) => ctx.yield_as(pace.name, Box::new(go_on)),
        result => result,
    }
}

/// Terms and bytes of what is walked in one go.
const LARGE_TERMS: usize = 50_000;
const LARGE_BYTES: usize = 1 << 20;

/// Goes to a dirty scheduler if it takes long to walk the whole term.
pub fn dirty_if_large(ctx: &Ctx<'_>, term: Term) -> Result<(), Escape> {
    if ctx.sched.dirty || term.is_immediate() {
        return Ok(());
    }
    let mut budget = LARGE_TERMS;
    let size = Sizer::new(term, EncodeOptions::default()).run(&mut budget);
    if size.is_some_and(|bytes| bytes <= LARGE_BYTES) { Ok(()) } else { dirty(ctx) }
}

/// Long work: goes to a dirty scheduler, where the whole call is made again; `Ok` there.
pub fn dirty(ctx: &Ctx<'_>) -> Result<(), Escape> {
    if ctx.sched.dirty || ctx.vm.config.dirty_cpu == 0 { Ok(()) } else { Err(Escape::Dirty(DirtyKind::Cpu)) }
}
