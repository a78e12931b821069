//! `string:equal/2,3`: character by character, whatever the two are made of.

use super::case::Case;
use super::text::{Next, Text, with_text};
use crate::intrinsics::budget::PIECE;
use crate::work::Budget;
use myriad_term::Term;
use myriad_vm::bif::Escape;
use myriad_vm::{BifResult, Ctx};

/// Are the two texts the same, or the same but for their case?
pub fn equal(ctx: &mut Ctx<'_>, args: &[Term], nocase: bool) -> BifResult {
    with_text!(args[0], a => with_text!(args[1], b => {
        if nocase { compare(ctx, a, b, |char| Case::Fold.of_single(char)) } else { compare(ctx, a, b, Some) }
    }))
}

/// What the characters of the two become is compared as far as it is equal.
#[inline]
fn compare<A: Text, B: Text>(ctx: &mut Ctx<'_>, mut a: A, mut b: B, folded: impl Fn(u32) -> Option<u32>) -> BifResult {
    let mut budget = Budget::of_intrinsic(ctx);
    let (equal, done) = 'all: loop {
        for done in 0..PIECE {
            match (a.next(), b.next()) {
                (Next::Char(a), Next::Char(b)) => match (folded(a), folded(b)) {
                    (Some(a), Some(b)) if a == b => {}
                    (Some(_), Some(_)) => break 'all (false, done),
                    _ => return Err(Escape::Decline),
                },
                (Next::Other, _) | (_, Next::Other) => return Err(Escape::Decline),
                (a, b) => break 'all (a == b, done),
            }
        }
        budget.spend(ctx, PIECE)?;
    };
    budget.spend(ctx, done)?;
    budget.charge(ctx);
    Ok(Term::bool(equal))
}
