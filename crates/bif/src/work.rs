//! How much a built-in may do before it gives way.

use myriad_term::Term;
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
        let reductions = usize::try_from(ctx.proc.reductions_left).unwrap_or(0);
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
pub fn in_slices<F>(ctx: &mut Ctx<'_>, per_reduction: usize, mut step: F) -> BifResult
where
    F: FnMut(&mut Ctx<'_>, &mut usize) -> Result<Option<Term>, Escape> + Send + 'static,
{
    let mut go_on = move |ctx: &mut Ctx<'_>| {
        let given = if ctx.sched.dirty {
            usize::MAX
        } else {
            let reductions = usize::try_from(ctx.proc.reductions_left).unwrap_or(0);
            (reductions * per_reduction).max(LEAST_TERMS)
        };
        let mut left = given;
        let result = step(ctx, &mut left);
        ctx.bump((given - left.min(given)) / per_reduction);
        result?.ok_or(Escape::Yield)
    };
    match go_on(ctx) {
        Err(Escape::Yield) => ctx.yield_to(Box::new(go_on)),
        result => result,
    }
}

/// Long work: goes to a dirty scheduler, where the whole call is made again; `Ok` there.
pub fn dirty(ctx: &Ctx<'_>) -> Result<(), Escape> {
    if ctx.sched.dirty || ctx.vm.config.dirty_cpu == 0 { Ok(()) } else { Err(Escape::Dirty(DirtyKind::Cpu)) }
}
