//! `lists:flatten/1`.

use myriad_term::{Build, Term};
use myriad_vm::bif::Escape;
use myriad_vm::{BifResult, Ctx};

/// Elements of most lists.
const SHORT: usize = 32;
/// Elements for one reduction.
const PER_REDUCTION: usize = 16;
/// Cells of lists that are flattened here; more are declined: the Erlang code gives way.
const FLATTENED: usize = 4096;

/// Flattens a list that is not long; an improper one is declined.
pub fn flatten(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (mut flat, mut left, mut at) = (Vec::with_capacity(SHORT), Vec::new(), args[0]);
    for _ in 0..FLATTENED {
        if let Some((head, tail)) = at.as_cons() {
            if head.is_list() {
                left.push(tail);
                at = head;
            } else {
                flat.push(head);
                at = tail;
            }
        } else if !at.is_nil() {
            break;
        } else if let Some(rest) = left.pop() {
            at = rest;
        } else {
            ctx.bump(flat.len() / PER_REDUCTION);
            return Ok(ctx.list(&flat));
        }
    }
    Err(Escape::Decline)
}
