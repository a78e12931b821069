//! The budget of an intrinsic, which cannot stop in the middle: what exceeds it begins anew on a dirty scheduler; what is too much
//! even there is declined, so that the Erlang code does it, which yields and can be stopped.

use crate::work::{Budget, DIRTY_CALL_REDUCTIONS, dirty};
use myriad_term::Term;
use myriad_vm::Ctx;
use myriad_vm::bif::Escape;

/// Terms and characters that cost a reduction.
const PER_REDUCTION: usize = 32;
/// Cells of lists, and characters, that are counted at once.
pub const PIECE: usize = 1024;

impl Budget {
    /// What one call of an intrinsic may do, in terms and characters.
    pub fn of_intrinsic(ctx: &Ctx<'_>) -> Budget {
        Budget::of_call(ctx, PER_REDUCTION)
    }

    /// Takes `steps`, or leaves the call.
    #[inline]
    pub fn spend(&mut self, ctx: &Ctx<'_>, steps: usize) -> Result<(), Escape> {
        match self.left.checked_sub(steps) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => self.exceeded(ctx),
        }
    }

    #[cold]
    fn exceeded(&mut self, ctx: &Ctx<'_>) -> Result<(), Escape> {
        let most = DIRTY_CALL_REDUCTIONS * self.per_reduction;
        if self.given == most {
            return Err(Escape::Decline);
        }
        dirty(ctx)?;
        // There is no such scheduler.
        (self.left, self.given) = (most, most);
        Ok(())
    }

    /// Calls `take` with each element of a list, as long as it says so, and counts the cells as it goes: a list may be of any
    /// length. What is left of it: its end, or the cell whose element was refused.
    #[inline]
    pub fn each(&mut self, ctx: &Ctx<'_>, list: Term, mut take: impl FnMut(Term) -> bool) -> Result<Term, Escape> {
        let (mut rest, mut cells) = (list, 0);
        while let Some((head, tail)) = rest.as_cons() {
            cells += 1;
            if cells == PIECE {
                self.spend(ctx, PIECE)?;
                cells = 0;
            }
            if !take(head) {
                break;
            }
            rest = tail;
        }
        self.spend(ctx, cells)?;
        Ok(rest)
    }

    /// [`Budget::each`] of nested lists: what is refused and is a list is gone into. True if all else was taken, and no list
    /// ended in anything else.
    #[inline]
    pub fn each_deep(&mut self, ctx: &Ctx<'_>, list: Term, mut take: impl FnMut(Term) -> bool) -> Result<bool, Escape> {
        let (mut rest, mut left) = (list, Vec::new());
        loop {
            let mut cells = 0;
            while let Some((head, tail)) = rest.as_cons() {
                cells += 1;
                if take(head) {
                    rest = tail;
                } else if head.is_list() {
                    if !tail.is_nil() {
                        left.push(tail);
                    }
                    rest = head;
                } else {
                    return Ok(false);
                }
                if cells == PIECE {
                    self.spend(ctx, PIECE)?;
                    cells = 0;
                }
            }
            self.spend(ctx, cells)?;
            match left.pop() {
                _ if !rest.is_nil() => return Ok(false),
                Some(behind) => rest = behind,
                None => return Ok(true),
            }
        }
    }
}
