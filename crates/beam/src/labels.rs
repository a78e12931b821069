//! Where the labels of a decoded function are, by index of instruction.

use crate::decode::{Arg, Body};
use crate::opcode::Op;

/// Label and index, by label.
pub(crate) struct LabelIndex(Vec<(u32, u32)>);

impl LabelIndex {
    pub(crate) fn of(body: &Body) -> Self {
        let label = |(index, arg): (usize, Option<&Arg>)| Some((arg?.number()? as u32, index as u32));
        let labels = body.iter().enumerate().filter(|(_, instr)| instr.op == Op::Label);
        let mut found: Vec<_> = labels.map(|(index, instr)| (index, instr.args.first())).filter_map(label).collect();
        found.sort_unstable();
        LabelIndex(found)
    }

    /// The index of the instruction that defines a label.
    pub(crate) fn position(&self, label: u32) -> Option<usize> {
        let at = self.0.binary_search_by_key(&label, |(label, _)| *label).ok()?;
        Some(self.0.get(at)?.1 as usize)
    }
}
