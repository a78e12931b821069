//! Which registers are live before each instruction of a function.
//!
//! LV1. A register is *live* before an instruction if some way on from there reads it before it is written or lost. Instructions say
//!      what they read and write ([`Instr::reads`], [`Instr::writes`]); one with a `Live` operand loses the X registers from there on; a
//!      call, and whatever else loses all X registers (`roles::results`), loses them and all float registers; `allocate` and `deallocate`
//!      lose all slots; `trim` renames those that it leaves.
//! LV2. Ways on are the instruction below, unless control never comes there ([`Instr::goes_on`]), and the labels branched to. A branch
//!      is taken before anything is written (but by `is_map_key/2`, beam.effects/V8), and, by instructions that match, before
//!      anything is lost.
//! LV3. An exception leads to the handlers of all catches that may be active, from any instruction, and otherwise out of the function.
//!      A handler finds slots as they are, X and float registers lost; what it finds in X0 to X2 the exception has put there. So
//!      the slot of a catch, which holds its tag, is live as long as the catch is active.
//! LV4. That a collection looks at a register is no way of reading it: dead X registers below a `Live` operand and dead slots must
//!      hold some term all the same (beam.effects/V1 and beam.effects/V4).
//!
//! A backward data-flow analysis, in passes over the code from its end: one, if no branch leads back. A pass takes time linear in
//! the size of the code, times the words of the sets of registers: two or three for compilers' code, 48 at the very most. What
//! handlers read is added at the end, of 64 of them at most. What needs more than `MOST_PASSES` or `MOST_WORDS`, or has more catches,
//! is not analysed: all registers that the function names, and perhaps others, count as live.

use crate::catches::Catches;
use crate::decode::{AnyReg, Arg, Body, Instr};
use crate::labels::LabelIndex;
use crate::opcode::Op;
use crate::roles::{each_label, fails_before_collecting, live, results};
use crate::tables::{Import, Lambda};
use std::ops::Range;

/// Passes over the code. Compilers' code needs three where there is a loop, or as many more as loops nest.
const MOST_PASSES: usize = 8;
/// Words of all sets of a function: 32 MB.
const MOST_WORDS: usize = 1 << 22;

/// What [`crate::Module::liveness`] found.
#[derive(Clone, Debug)]
pub struct Liveness {
    layout: Layout,
    /// By index of instruction, a row each; one row for all if it is not exact.
    rows: Vec<u64>,
    is_exact: bool,
}

impl Liveness {
    /// Whether live means what LV1 says. If not, all registers that the function names, and perhaps others, are taken to be live
    /// everywhere, whether they hold terms or not.
    pub fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// The X registers that are live before the instruction of an index.
    pub fn x(&self, index: usize) -> RegSet<'_> {
        self.part(index, self.layout.x())
    }

    /// The Y registers that are live before the instruction of an index.
    pub fn y(&self, index: usize) -> RegSet<'_> {
        self.part(index, self.layout.y())
    }

    /// The float registers that are live before the instruction of an index.
    pub fn fr(&self, index: usize) -> RegSet<'_> {
        self.part(index, self.layout.fr())
    }

    fn part(&self, index: usize, part: Range<usize>) -> RegSet<'_> {
        let first = if self.is_exact { index * self.layout.words() } else { 0 };
        RegSet(self.rows.get(first + part.start..first + part.end).unwrap_or(&[]))
    }
}

/// A set of registers of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegSet<'a>(&'a [u64]);

impl<'a> RegSet<'a> {
    /// Whether the register of a number is a member.
    pub fn has(self, number: u16) -> bool {
        self.0.get(usize::from(number / 64)).is_some_and(|word| word >> (number % 64) & 1 != 0)
    }

    /// The numbers of the members, in ascending order.
    pub fn iter(self) -> impl Iterator<Item = u16> + use<'a> {
        self.0.iter().enumerate().flat_map(|(index, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some(64 * index as u16 + bit as u16)
            })
        })
    }

    /// Whether there are no members.
    pub fn is_empty(self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }
}

/// How many words a row has for X, Y and float registers, which follow each other.
#[derive(Clone, Copy, Debug, Default)]
struct Layout {
    x: usize,
    y: usize,
    fr: usize,
}

impl Layout {
    /// Room for all registers that a function names, and for its frames.
    fn of(lambdas: &[Lambda], body: &Body) -> Layout {
        let mut layout = Layout::default();
        for instr in body.iter() {
            instr.reads(lambdas).chain(instr.writes()).for_each(|reg| layout.fit(reg));
            if let Some(slots) = new_frame(instr).and_then(|slots| slots.checked_sub(1)) {
                layout.fit(AnyReg::Y(slots));
            }
        }
        layout
    }

    fn fit(&mut self, reg: AnyReg) {
        let (words, number) = match reg {
            AnyReg::X(x) => (&mut self.x, x),
            AnyReg::Y(y) => (&mut self.y, y),
            AnyReg::FR(r) => (&mut self.fr, r),
        };
        *words = (*words).max(usize::from(number / 64) + 1);
    }

    fn words(self) -> usize {
        self.x + self.y + self.fr
    }

    fn x(self) -> Range<usize> {
        0..self.x
    }

    fn y(self) -> Range<usize> {
        self.x..self.x + self.y
    }

    fn fr(self) -> Range<usize> {
        self.x + self.y..self.words()
    }

    /// The word of a register, and its bit there.
    fn place(self, reg: AnyReg) -> (usize, u64) {
        let (first, number) = match reg {
            AnyReg::X(x) => (0, x),
            AnyReg::Y(y) => (self.x, y),
            AnyReg::FR(r) => (self.x + self.y, r),
        };
        (first + usize::from(number / 64), 1 << (number % 64))
    }
}

/// The slots of the frame that an instruction pushes.
fn new_frame(instr: Instr<'_>) -> Option<u16> {
    match instr.op {
        Op::Allocate | Op::AllocateHeap | Op::AllocateZero | Op::AllocateHeapZero => {
            instr.args.first().and_then(Arg::number).map(|slots| slots as u16)
        }
        _ => None,
    }
}

pub(crate) fn liveness(imports: &[Import], lambdas: &[Lambda], body: &Body) -> Liveness {
    let layout = Layout::of(lambdas, body);
    exact(imports, lambdas, body, layout).unwrap_or_else(|| Liveness {
        layout,
        rows: vec![u64::MAX; layout.words()],
        is_exact: false,
    })
}

fn exact(imports: &[Import], lambdas: &[Lambda], body: &Body, layout: Layout) -> Option<Liveness> {
    let words = layout.words() * body.len();
    if words > MOST_WORDS {
        return None;
    }
    let labels = LabelIndex::of(body);
    let catches = Catches::of(imports, body, &labels)?;
    let row = vec![0; layout.words()];
    let mut walk = Walk { imports, lambdas, body, labels, layout, rows: vec![0; words], row, branches_back: false };
    if (0..MOST_PASSES).all(|_| walk.pass()) {
        return None;
    }
    walk.add_handlers(&catches);
    Some(Liveness { layout, rows: walk.rows, is_exact: true })
}

struct Walk<'a> {
    imports: &'a [Import],
    lambdas: &'a [Lambda],
    body: &'a Body,
    labels: LabelIndex,
    layout: Layout,
    /// What is live before each instruction, as far as is known yet.
    rows: Vec<u64>,
    /// What is live at the place that the pass has come to.
    row: Vec<u64>,
    branches_back: bool,
}

impl Walk<'_> {
    /// One pass over the code, from its end; true if it must be repeated.
    fn pass(&mut self) -> bool {
        let words = self.row.len();
        let mut grown = false;
        self.row.fill(0);
        for index in (0..self.body.len()).rev() {
            let Some(instr) = self.body.get(index) else { continue };
            self.step(index, instr);
            for (known, word) in self.rows[index * words..][..words].iter_mut().zip(&self.row) {
                grown |= known != word;
                *known = *word;
            }
        }
        grown && self.branches_back
    }

    /// From what is live behind an instruction to what is live before it.
    fn step(&mut self, index: usize, instr: Instr<'_>) {
        let op = instr.op;
        let all = 0..self.row.len();
        if !instr.goes_on(self.imports) {
            self.row.fill(0);
        }
        if matches!(op, Op::Try | Op::Catch) {
            // The slot is written before an exception leads to the handler.
            self.branches(index, instr, self.layout.y());
            self.remove_written(instr);
        } else if instr.sets_always(self.imports) {
            self.branches(index, instr, all);
            self.remove_written(instr);
        } else if fails_before_collecting(op) {
            self.remove_written(instr);
            self.remove_lost(instr);
            self.branches(index, instr, all);
        } else {
            self.remove_written(instr);
            self.branches(index, instr, all);
            self.remove_lost(instr);
        }
        instr.reads(self.lambdas).for_each(|reg| {
            let (word, bit) = self.layout.place(reg);
            self.row[word] |= bit;
        });
    }

    fn remove_written(&mut self, instr: Instr<'_>) {
        instr.writes().for_each(|reg| {
            let (word, bit) = self.layout.place(reg);
            self.row[word] &= !bit;
        });
    }

    fn remove_lost(&mut self, instr: Instr<'_>) {
        let (x, y, fr) = (self.layout.x(), self.layout.y(), self.layout.fr());
        if results(instr.op).is_some() {
            self.row[x].fill(0);
            self.row[fr].fill(0);
        } else if let Some(live) = live(instr) {
            for (index, word) in self.row[x].iter_mut().enumerate() {
                let stay = usize::from(live).saturating_sub(64 * index);
                *word &= if stay < 64 { (1 << stay) - 1 } else { u64::MAX };
            }
        }
        match instr.op {
            Op::Deallocate => self.row[y].fill(0),
            Op::Trim => {
                let count = instr.args.first().and_then(Arg::number).unwrap_or(0);
                shift_up(&mut self.row[y], count as usize);
            }
            _ if new_frame(instr).is_some() => self.row[y].fill(0),
            _ => {}
        }
    }

    /// Adds what is live, of a part of the registers, where an instruction may branch to.
    fn branches(&mut self, index: usize, instr: Instr<'_>, part: Range<usize>) {
        each_label(instr, |label| {
            let Some(at) = self.labels.position(label) else { return };
            self.branches_back |= at <= index;
            let there = &self.rows[at * self.row.len()..][part.clone()];
            self.row[part.clone()].iter_mut().zip(there).for_each(|(word, there)| *word |= there);
        });
    }

    /// Adds what handlers of active catches read (LV3). That is to be done last and for each instruction by itself: a way from an
    /// instruction where a catch is not active to one where it is passes by the `try`, which branches to the handler.
    fn add_handlers(&mut self, catches: &Catches) {
        let words = self.row.len();
        for index in 0..self.body.len() {
            for handler in catches.handlers(index) {
                for word in self.layout.y() {
                    self.rows[index * words + word] |= self.rows[handler * words + word];
                }
            }
        }
    }
}

/// Members of a set become greater by `count`; those beyond its words are dropped.
fn shift_up(set: &mut [u64], count: usize) {
    let (words, bits) = (count / 64, count % 64);
    for to in (0..set.len()).rev() {
        let part = |below: usize| to.checked_sub(words + below).map_or(0, |word| set[word]);
        set[to] = part(0) << bits | if bits == 0 { 0 } else { part(1) >> (64 - bits) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_shift_across_words() {
        let shifted = |numbers: &[u16], count| {
            let mut set = [0_u64; 3];
            numbers.iter().for_each(|n| set[usize::from(n / 64)] |= 1 << (n % 64));
            shift_up(&mut set, count);
            RegSet(&set).iter().collect::<Vec<_>>()
        };
        assert_eq!(shifted(&[0, 63, 100], 0), [0, 63, 100]);
        assert_eq!(shifted(&[0, 63, 100], 1), [1, 64, 101]);
        assert_eq!(shifted(&[0, 63, 100], 64), [64, 127, 164]);
        assert_eq!(shifted(&[0, 63, 100], 90), [90, 153, 190]);
        assert_eq!(shifted(&[0, 63, 100], 1000), [0_u16; 0]);
    }
}
