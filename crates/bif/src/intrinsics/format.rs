//! Intrinsics that print terms as `io_lib` does: what `~w` and `~p` give.
//!
//! The functions here give exactly what OTP's Erlang code gives, the nesting of the deep list included, or
//! decline ([`Escape::Decline`]). What is rare (limits on characters, records, text whose width depends on
//! Unicode's rules for clusters) is left to it.
//!
//! F1. Work is counted by a [`Budget`]: what is long is begun again on a dirty scheduler, where it may last; what would last
//!     too long there is declined, as the Erlang code gives way and can be stopped. (A small term may be endless to print,
//!     being made of the same part many times over.)
//! F2. Rust functions call themselves for nested terms down to [`DEEPEST`]; what is deeper is declined.

mod controls;
mod fields;
mod float;
pub mod formats;
mod job;
pub mod layout;
pub mod leaves;
pub mod pretty;
pub mod sizing;
mod spec;
pub mod text;
pub mod tree;
mod write;

use myriad_term::Term;
use myriad_vm::Ctx;
use myriad_vm::bif::Escape;

/// How deep terms are nested that are printed here (F2).
pub const DEEPEST: usize = 250;
/// Terms and characters that are printed on an ordinary scheduler: about a millisecond's work.
const AT_ONCE: usize = 60_000;
/// Those that are printed on a dirty one: a second's.
const AT_MOST: usize = 1 << 26;
/// Of which so many count as a reduction.
const PER_REDUCTION: usize = 32;
/// Cells of lists, and characters, that are counted at once.
pub const PIECE: usize = 1024;

/// What may still be printed, in terms and characters (F1).
pub struct Budget {
    left: usize,
    given: usize,
}

impl Budget {
    /// All that one call may do.
    pub fn new(ctx: &Ctx<'_>) -> Budget {
        let given = if ctx.sched.dirty { AT_MOST } else { AT_ONCE };
        Budget { left: given, given }
    }

    /// Takes `amount`. The call is to be made again on a dirty scheduler, or declined, if it is too much.
    #[inline]
    pub fn spend(&mut self, ctx: &Ctx<'_>, amount: usize) -> Result<(), Escape> {
        match self.left.checked_sub(amount) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => self.exceeded(ctx),
        }
    }

    #[cold]
    fn exceeded(&mut self, ctx: &Ctx<'_>) -> Result<(), Escape> {
        if self.given == AT_MOST {
            return Err(Escape::Decline);
        }
        crate::work::dirty(ctx)?;
        // There is no such scheduler.
        (self.left, self.given) = (AT_MOST, AT_MOST);
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

    /// What has been taken.
    pub fn spent(&self) -> usize {
        self.given - self.left
    }

    /// Charges the process with what has been taken.
    pub fn charge(self, ctx: &mut Ctx<'_>) {
        ctx.bump(self.spent() / PER_REDUCTION);
    }
}
