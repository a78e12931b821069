//! The size of the frame before each instruction of a function, found by following all branches; and which labels are branched to.
//!
//! Compilers share calls that always raise between places with frames of different sizes (beam.effects/V7): the frame is [`MIXED`]
//! there. A size changes at most twice, so that time is linear in the size of the code.

use crate::decode::{Arg, Body, Instr};
use crate::labels::LabelIndex;
use crate::opcode::Op;
use crate::roles::each_label;
use crate::tables::Import;

/// A frame whose size depends on how control came here: there may be no call that returns.
pub const MIXED: u32 = u32::MAX;

/// What [`crate::Module::frames`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frames {
    before: Vec<Option<u32>>,
    /// In ascending order.
    targets: Vec<u32>,
}

impl Frames {
    /// The Y registers that there are before the instruction of an index, or [`MIXED`]; none where there is no frame. `None` where
    /// control does not come.
    pub fn before(&self, index: usize) -> Option<u32> {
        *self.before.get(index)?
    }

    /// Whether an instruction may branch to this label; calls do not count.
    pub fn is_target(&self, label: u32) -> bool {
        self.targets.binary_search(&label).is_ok()
    }
}

pub(crate) fn frames(imports: &[Import], body: &Body) -> Frames {
    let mut targets = Vec::new();
    body.iter().for_each(|instr| each_label(instr, |label| targets.push(label)));
    targets.sort_unstable();
    targets.dedup();
    let mut walk = Walk { labels: LabelIndex::of(body), before: vec![None; body.len()], work: Vec::new() };
    // Two ways in: the labels before func_info, and the entry after it.
    if let Some(info) = body.iter().position(|instr| instr.op == Op::FuncInfo) {
        walk.reach(0, 0);
        walk.reach(info + 1, 0);
    }
    while let Some(index) = walk.work.pop() {
        walk.step(imports, body, index);
    }
    Frames { before: walk.before, targets }
}

struct Walk {
    labels: LabelIndex,
    before: Vec<Option<u32>>,
    /// Instructions before which the frame turned out to be another.
    work: Vec<usize>,
}

impl Walk {
    /// Control comes to an instruction with a frame of this size.
    fn reach(&mut self, index: usize, size: u32) {
        let Some(slot) = self.before.get_mut(index) else { return };
        let met = match *slot {
            Some(known) if known != size => MIXED,
            _ => size,
        };
        if *slot != Some(met) {
            *slot = Some(met);
            self.work.push(index);
        }
    }

    fn step(&mut self, imports: &[Import], body: &Body, index: usize) {
        let (Some(instr), Some(Some(before))) = (body.get(index), self.before.get(index).copied()) else { return };
        let after = size_after(instr, before);
        each_label(instr, |label| {
            if let Some(at) = self.labels.position(label) {
                self.reach(at, after);
            }
        });
        if instr.goes_on(imports) {
            self.reach(index + 1, after);
        }
    }
}

fn size_after(instr: Instr<'_>, before: u32) -> u32 {
    let slots = || instr.args.first().and_then(Arg::number).unwrap_or(0) as u32;
    match instr.op {
        Op::Allocate | Op::AllocateHeap | Op::AllocateZero | Op::AllocateHeapZero => slots(),
        Op::Deallocate => 0,
        Op::Trim if before != MIXED => before.saturating_sub(slots()),
        _ => before,
    }
}
