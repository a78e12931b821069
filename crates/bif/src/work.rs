//! How much a built-in may do before it gives way.

use myriad_term::etf::{EncodeOptions, Sizer};
use myriad_term::{Mfa, Term};
use myriad_vm::bif::{DirtyKind, Escape};
use myriad_vm::{BifResult, Ctx};

/// Terms that are walked for one reduction.
const TERMS_PER_REDUCTION: usize = 8;
/// Terms that are walked at least, however little of the slice is left.
const LEAST_TERMS: usize = 256;

/// A budget of terms out of what is left of the slice.
pub struct TermsLeft {
    given: usize,
    left: usize,
}

/// What is left of this slice, in terms; on a dirty scheduler, no limit.
pub fn terms_left(ctx: &Ctx<'_>) -> TermsLeft {
    let given = if ctx.sched.dirty {
        usize::MAX
    } else {
        let reductions = usize::try_from(ctx.state.reductions_left).unwrap_or(0);
        (reductions * TERMS_PER_REDUCTION).max(LEAST_TERMS)
    };
    TermsLeft { given, left: given }
}

impl TermsLeft {
    /// The budget that the work counts down.
    pub fn budget(&mut self) -> &mut usize {
        &mut self.left
    }

    /// Charges what has been used.
    pub fn charge(self, ctx: &mut Ctx<'_>) {
        ctx.bump((self.given - self.left.min(self.given)) / TERMS_PER_REDUCTION);
    }
}

/// Runs `step` until it gives a result, slice by slice. It gets what it may use of each, in steps of which so many are one
/// reduction, and counts down what it uses. Terms that it keeps stay: nothing is collected before it is done.
#[inline]
pub fn in_slices<F>(ctx: &mut Ctx<'_>, per_reduction: usize, step: F) -> BifResult
where
    F: FnMut(&mut Ctx<'_>, &mut usize) -> Result<Option<Term>, Escape> + Send + 'static,
{
    in_slices_as(ctx, None, per_reduction, step)
}

/// As [`in_slices`]; the process is said to be in the function `name` between them.
#[inline]
pub fn in_slices_as<F>(ctx: &mut Ctx<'_>, name: Option<Mfa>, per_reduction: usize, mut step: F) -> BifResult
where
    F: FnMut(&mut Ctx<'_>, &mut usize) -> Result<Option<Term>, Escape> + Send + 'static,
{
    let mut go_on = move |ctx: &mut Ctx<'_>| {
        let given = if ctx.sched.dirty {
            usize::MAX
        } else {
            let reductions = usize::try_from(ctx.state.reductions_left).unwrap_or(0);
            (reductions * per_reduction).max(LEAST_TERMS)
        };
        let mut left = given;
        let result = step(ctx, &mut left);
        ctx.bump((given - left.min(given)) / per_reduction);
        result?.ok_or(Escape::Yield)
    };
    match go_on(ctx) {
        Err(Escape::Yield) => ctx.yield_as(name, Box::new(go_on)),
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
