//! Evacuation of the one heap's old generation ([`crate::evacuation`]): which processes refer to what is to move, and the steps.
//!
//! Most processes sleep, and a stop is too short to ask them all for the words that lead to what has moved. So while there are candidates, each process that has run since the
//! collection before, or for which signals wait, tells at each stop which of them it refers to; the others are asked once, some at each stop. A step asks those that have told.
//!
//! SE1. When all have been asked, who refers to a candidate that is full is among its referrers: what a process refers to changes when it runs, or when a signal comes, and then it
//!      tells at the next stop. (Those that do not refer to it any more may be among them, and those that have ended.)
//! SE2. There is no step while a process is pinned (heap.shared/SH3): it refers to what nobody lists. Who is pinned has run since the last collection, or was pinned then. If none is, nothing
//!      is young at the end of a collection.

use crate::candidates::{Candidates, leads_to};
use crate::evacuation::Evacuation;
use crate::heap::Heap;
use crate::marking_times::Progress;
use crate::one_heap;
use crate::segment::each_root;
use crate::shared::{InSignals, Process, Stop, World};

/// What one stop may take for it, in words that are copied one after another: while others wait for it, and while nobody has anything to do.
const EFFORT: usize = if cfg!(any(test, heap_check)) { 150 } else { 1 << 15 };
const EFFORT_AT_REST: usize = 4 * EFFORT;

/// What some processes have told.
#[derive(Default)]
struct Told {
    pairs: Vec<(usize, u64)>,
    most_roots: usize,
}

impl Told {
    fn tell<P: Process>(&mut self, process: &mut P, candidates: &Candidates) {
        let (number, mut roots_seen) = (process.number(), 0);
        let mut look = |word| {
            roots_seen += 1;
            if let Some(place) = candidates.full_at(leads_to(word)) {
                self.pairs.push((place, number));
            }
        };
        process.with_roots(&mut |heap, roots| each_root(heap, roots, &mut look));
        // SAFETY: the places hold terms, and nobody changes them.
        P::each_in_signals(&mut [process], InSignals::All, &mut |place| look(unsafe { *place }));
        self.most_roots = self.most_roots.max(roots_seen);
    }
}

/// Processes, which are stopped, tell what they refer to.
fn ask<P: Process>(processes: &mut [P], evacuation: &mut Evacuation, stop: &Stop<'_>) {
    let Some(candidates) = &evacuation.candidates else { return };
    let found = stop.spread(processes, |processes, told: &mut Told| {
        processes.iter_mut().for_each(|process| told.tell(process, candidates));
    });
    for Told { pairs, most_roots } in found {
        evacuation.referrers.add(pairs, most_roots);
    }
}

/// Asks some more of those that were not asked; `true`: there are no more.
fn ask_others(world: &mut impl World, evacuation: &mut Evacuation, stop: &Stop<'_>) -> bool {
    if let Some(place) = evacuation.referrers.next() {
        let (mut processes, next) = world.processes_from(place, stop.asked);
        ask(&mut processes, evacuation, stop);
        evacuation.referrers.are_asked_up_to(next);
    }
    evacuation.referrers.next().is_none()
}

impl Heap {
    /// Is some of the one heap's old generation being emptied, or is to be?
    pub(crate) fn is_evacuated(&self) -> bool {
        self.large().is_some_and(|large| large.cycle.is_none() && large.evacuation.is_some())
    }

    /// Processes that have run, or for which signals wait, tell what they refer to of that which is to move; all stand.
    pub(crate) fn tell_referrers(&mut self, active: &mut [impl Process], stop: &Stop<'_>) {
        if let Some(evacuation) = self.large_mut().and_then(|large| large.evacuation.as_deref_mut()) {
            ask(active, evacuation, stop);
        }
    }

    /// A collection is over, and those that have run have told: goes on to empty what is to be emptied.
    ///
    /// # Safety
    /// All processes are stopped, `world` tells all of them, and none is pinned unless `is_pinned` (SE2).
    pub(crate) unsafe fn evacuate_shared(
        &mut self,
        world: &mut impl World,
        stop: &Stop<'_>,
        is_pinned: bool,
    ) -> Progress {
        let Some(large) = self.large_mut() else { return Progress::None };
        let promoted = large.promoted;
        let Some(mut evacuation) = large.evacuation.take() else { return Progress::None };
        let mut effort = if one_heap::is_at_rest() { EFFORT_AT_REST } else { EFFORT };
        // SAFETY: no gaps are released before the next marking.
        let is_known = unsafe { evacuation.look_through_promoted(effort + promoted) };
        let are_asked = ask_others(world, &mut evacuation, stop);
        let mut progress = Progress::Goes;
        if is_known && are_asked {
            if is_pinned {
                progress = Progress::Waits;
            } else {
                #[cfg(heap_check)]
                assert!(
                    !world.processes(false).iter_mut().any(Process::is_pinned),
                    "SE2: one is pinned that has not run"
                );
                // Who has many roots is asked for more at once.
                effort = effort.max(evacuation.referrers.most_roots() / 2);
                // SAFETY: the caller's promise; SE1.
                if !unsafe { self.empty_shared(&mut evacuation, effort, world) } {
                    self.end_evacuation(&evacuation);
                    // More is emptied after another marking.
                    let is_sparse = self.large().is_some_and(|large| large.is_sparse);
                    return if is_sparse { Progress::Goes } else { Progress::None };
                }
            }
        }
        if let Some(large) = self.large_mut() {
            large.evacuation = Some(evacuation);
        }
        progress
    }

    /// Empties the next candidates; `false`: there are no more, or there is no room.
    ///
    /// # Safety
    /// As for [`Heap::evacuate_shared`]; no process is pinned, and SE1.
    unsafe fn empty_shared(&mut self, evacuation: &mut Evacuation, effort: usize, world: &mut impl World) -> bool {
        let Some((batch, words)) = evacuation.next_batch(effort).filter(|(_, words)| *words <= self.old_room()) else {
            return false;
        };
        let referrers = evacuation.referrers.take_before(batch.end);
        // SAFETY: the caller's promise: all that was promoted has been looked through, nothing is young, and these are all processes that refer to what moves.
        unsafe {
            let Some(batch) = self.begin_batch(evacuation, batch, words) else { return false };
            for number in referrers {
                let Some(mut process) = world.process(number) else { continue };
                process.with_roots(&mut |heap, roots| batch.mend_roots(heap, roots));
                Process::each_in_signals(&mut [&mut process], InSignals::All, &mut |place| batch.mend(place));
            }
            self.end_batch(evacuation, batch);
        }
        true
    }
}
