//! Literals that are to go where all processes have one heap ([`crate::shared`]): who refers to them gets copies, in a collection of all.

use crate::account::Class;
use crate::block;
use crate::heap::Heap;
use crate::literal::{LiteralArea, LiteralRanges};
use crate::one_heap;
use crate::purge::Copies;
use crate::shared::{InSignals, Process, World};
use crate::term_walk::each_term;
use myriad_sync::{LockClass, Mutex};
use myriad_term::Alloc;
use std::ptr::NonNull;

static GOING_CLASS: LockClass = LockClass::new("going_literals", 948);
/// Literals that are to go (heap.shared/SH4).
static GOING: Mutex<Vec<LiteralArea>> = Mutex::new(&GOING_CLASS, Vec::new());

/// Only the one heap refers to the terms of this area, and no copy of a term does from now on: it is to go (heap.shared/SH4).
pub fn release(area: LiteralArea) {
    GOING.lock().push(area);
    one_heap::request();
}

/// Where the literals lie that are to go and are still there: copies of terms go on to take them along (heap.shared/SH4).
pub fn leaving() -> LiteralRanges {
    let mut ranges = LiteralRanges::default();
    GOING.lock().iter().for_each(|area| ranges.join(&area.ranges()));
    ranges
}

/// Are there any?
pub(crate) fn any() -> bool {
    !GOING.lock().is_empty()
}

impl Heap {
    /// Who refers to literals that are to go gets copies (heap.shared/SH4); nothing is young.
    pub(crate) fn release_literals(&mut self, world: &mut impl World) {
        let going = std::mem::take(&mut *GOING.lock());
        if going.is_empty() {
            return;
        }
        let mut areas = LiteralRanges::default();
        going.iter().for_each(|area| areas.join(&area.ranges()));
        let (start, end) = self.old_area();
        let mut copies = Copies::new(&areas, InOld(self));
        // SAFETY: heap/H1 and heap/H2; all roots are listed. Copies are old, so all may refer to them (heap/H4).
        unsafe {
            each_term(start, end, |slot| copies.replace(slot));
            let mut processes = world.processes(false);
            for process in &mut processes {
                process.with_roots(&mut |heap, roots| {
                    (0..heap.stack_words()).for_each(|i| copies.replace(heap.stop.add(i)));
                    for (at, len) in roots.spans() {
                        (0..len).for_each(|i| copies.replace(at.add(i)));
                    }
                });
            }
            let mut processes: Vec<_> = processes.iter_mut().collect();
            Process::each_in_signals(&mut processes, InSignals::All, &mut |place| copies.replace(place));
        }
    }
}

/// Room behind what is old.
struct InOld<'h>(&'h mut Heap);

impl<'h> Alloc<'h> for InOld<'h> {
    fn alloc(&mut self, words: usize) -> NonNull<u64> {
        if words > self.0.old_room() {
            block::out_of_memory(words, Class::Process);
        }
        // SAFETY: an address of the old generation.
        unsafe { NonNull::new_unchecked(self.0.take_old(words)) }
    }

    unsafe fn link(&mut self, header: *mut u64, words: usize) {
        // SAFETY: the caller's promise about the object.
        unsafe { self.0.old_off_heap.link(header, words) };
    }
}
