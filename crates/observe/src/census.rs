//! The census of bundles (`heap::census`) of a whole VM, by a heap walk: in a VM that checks itself, at its end.
//!
//! The walk does not find what is held for a moment beside heaps, messages, tables and timers, nor what a process that has ended leaves to thread progress. So
//! a count that is found wrong is looked at again: only what stays wrong is a miscount.

use crate::heap_walk::walk;
use myriad_heap::bundle;
use myriad_heap::census::{Census, Miscount};
use myriad_vm::Ctx;

/// The bundles that have other counts than holders. `None`: the world could not be stopped; to be tried again in another slice.
pub fn miscounts(ctx: &mut Ctx<'_>) -> Option<Vec<Miscount>> {
    if !bundle::in_use() {
        return Some(vec![]);
    }
    let mut heaps = Census::default();
    let mut objects = Census::default();
    walk(ctx, &mut |heap| heaps.heap(heap), &mut |_, _, object| objects.object(object))
        .then(|| heaps.and(objects).miscounts())
}
