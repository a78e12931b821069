//! Which blocks are out of the way: their code goes behind all other.

use crate::form::graph::Graph;
use crate::form::{BlockId, End, Form};

/// By block: is it cold? Warm is what the entry and the return points of calls lead to by ways that are not said to be unlikely.
pub fn cold_blocks(form: &Form, graph: &Graph) -> Vec<bool> {
    let mut cold = vec![true; form.blocks.len()];
    let returns = graph.ways_in.iter().filter(|way| !way.rare).map(|way| way.next);
    let mut rest: Vec<BlockId> = returns.chain([BlockId(0)]).collect();
    while let Some(BlockId(number)) = rest.pop() {
        let block = number as usize;
        if !cold[block] || (matches!(form.blocks[block].end, End::Visit { rare: true, .. }) && number != 0) {
            continue;
        }
        cold[block] = false;
        match form.blocks[block].end {
            End::Jump(to) => rest.push(to),
            End::Branch { then, otherwise, likely, .. } => {
                rest.extend((likely != Some(false)).then_some(then));
                rest.extend((likely != Some(true)).then_some(otherwise));
            }
            End::Checked { fits, .. } => rest.push(fits),
            End::Tail { .. } | End::Call { .. } | End::Visit { .. } | End::Return { .. } => {}
        }
    }
    cold
}
