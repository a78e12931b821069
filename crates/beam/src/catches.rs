//! Which catches may be active before each instruction of a function: where an exception may lead.
//!
//! A forward analysis over the code in its order, repeated where a branch leads back. Where ways with different catches meet (in a
//! call that always raises, which compilers share), all of them may be active.

use crate::decode::{Arg, Body};
use crate::labels::LabelIndex;
use crate::opcode::Op;
use crate::roles::each_label;
use crate::tables::Import;

/// Passes over the code. Compilers' code needs one, or two where there is a receive loop.
const MOST_PASSES: usize = 6;

pub(crate) struct Catches {
    /// The `try`s and `catch`es in the order of the code: their slots, and where their handlers are.
    found: Vec<(u16, usize)>,
    /// By index of instruction, those that may be active before it, a bit each; empty if there are none in all the function.
    active: Vec<u64>,
}

impl Catches {
    /// `None`: there are more than 64, or it takes too long.
    pub(crate) fn of(imports: &[Import], body: &Body, labels: &LabelIndex) -> Option<Catches> {
        let begins = body.iter().filter(|instr| matches!(instr.op, Op::Try | Op::Catch));
        let found = begins.map(|instr| Some((slot(instr.args)?, labels.position(instr.args.get(1)?.label()?)?)));
        let mut catches = Catches { found: found.collect::<Option<_>>()?, active: Vec::new() };
        if catches.found.is_empty() {
            return Some(catches);
        }
        catches.active = vec![0; body.len()];
        let settled = catches.found.len() <= 64 && (0..MOST_PASSES).any(|_| !catches.pass(imports, body, labels));
        settled.then_some(catches)
    }

    /// One pass over the code; true if it must be repeated.
    fn pass(&mut self, imports: &[Import], body: &Body, labels: &LabelIndex) -> bool {
        let (mut active, mut number, mut again) = (0, 0, false);
        for (index, instr) in body.iter().enumerate() {
            active |= self.active[index];
            self.active[index] = active;
            match instr.op {
                Op::Try | Op::Catch => {
                    active |= 1 << number;
                    number += 1;
                }
                Op::TryEnd | Op::TryCase | Op::CatchEnd => {
                    let ended = self.found.iter().enumerate().filter(|(_, (at, _))| Some(*at) == slot(instr.args));
                    ended.for_each(|(number, _)| active &= !(1 << number));
                }
                _ => {}
            }
            each_label(instr, |label| {
                let Some(at) = labels.position(label) else { return };
                again |= at <= index && active & !self.active[at] != 0;
                self.active[at] |= active;
            });
            if !instr.goes_on(imports) {
                active = 0;
            }
        }
        again
    }

    /// Where the handlers are to which an exception in an instruction may lead.
    pub(crate) fn handlers(&self, index: usize) -> impl Iterator<Item = usize> {
        let mut active = self.active.get(index).copied().unwrap_or(0);
        std::iter::from_fn(move || {
            let (_, handler) = *self.found.get(active.trailing_zeros() as usize)?;
            active &= active - 1;
            Some(handler)
        })
    }
}

/// The slot of a catch, which is the first operand of all instructions that begin or end one.
fn slot(args: &[Arg]) -> Option<u16> {
    if let Arg::Y(slot) = args.first()? { Some(*slot) } else { None }
}
