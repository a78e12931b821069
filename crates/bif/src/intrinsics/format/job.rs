//! One call that formats: what it has made so far, and its scratch space.

use super::text;
use crate::work::Budget;
use myriad_term::{Build, Term};
use myriad_vm::Ctx;
use myriad_vm::bif::Escape;

/// Elements and characters that there is room for at first: those of most lines.
const AT_FIRST: usize = 64;

/// A call.
pub struct Job<'c, 'v> {
    /// Where terms are made.
    pub ctx: &'c mut Ctx<'v>,
    /// What it may still do.
    pub budget: Budget,
    /// The elements of the result so far: characters, and deep lists of them.
    pub out: Vec<Term>,
    /// Elements of lists that are being made.
    pub stack: Vec<Term>,
    /// Characters that are being gathered.
    pub chars: Vec<u32>,
    /// How much of `out` has been looked at for the column, and the column there.
    pub column: (usize, usize),
    /// Have terms been made on the heap?
    pub made: bool,
    /// `" => "`, once it has been made: all pairs have the same one.
    arrow: Option<Term>,
}

impl<'c, 'v> Job<'c, 'v> {
    /// A new one.
    pub fn new(ctx: &'c mut Ctx<'v>) -> Job<'c, 'v> {
        let budget = Budget::of_intrinsic(ctx);
        let (out, stack, chars) = (Vec::with_capacity(AT_FIRST), Vec::new(), Vec::with_capacity(AT_FIRST));
        Job { ctx, budget, out, stack, chars, column: (0, 0), made: false, arrow: None }
    }

    /// Counts work.
    #[inline]
    pub fn spend(&mut self, amount: usize) -> Result<(), Escape> {
        self.budget.spend(self.ctx, amount)
    }

    /// Charges what has been done, and gives the result.
    pub fn done(self, result: Term) -> Term {
        self.budget.charge(self.ctx);
        result
    }

    /// The elements that have been put out, as a list.
    pub fn finish(self) -> Term {
        let list = self.ctx.list(&self.out);
        self.done(list)
    }

    /// Puts out a deep list.
    pub fn element(&mut self, chars: Term) {
        self.made = true;
        self.out.push(chars);
    }

    /// A flat list of characters that are bytes.
    #[inline]
    pub fn text(&mut self, text: &[u8]) -> Term {
        self.ctx.byte_list(text, Term::NIL)
    }

    /// What stands between the two of a pair.
    pub fn arrow(&mut self) -> Term {
        if let Some(made) = self.arrow {
            return made;
        }
        let made = self.text(b" => ");
        self.arrow = Some(made);
        made
    }

    /// A flat list of the characters that `push` gathers.
    #[inline]
    pub fn gathered(&mut self, push: impl FnOnce(&mut Vec<u32>) -> Result<(), Escape>) -> Result<Term, Escape> {
        self.chars.clear();
        push(&mut self.chars)?;
        self.budget.spend(self.ctx, self.chars.len())?;
        Ok(text::list_of(self.ctx, &self.chars, Term::NIL))
    }

    /// The elements of the stack from `from` on, taken off it, as a list.
    #[inline]
    pub fn list_from(&mut self, from: usize) -> Term {
        let list = self.ctx.list(&self.stack[from..]);
        self.stack.truncate(from);
        list
    }
}
