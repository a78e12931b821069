//! The roots of a marking of the one heap's old generation, process by process ([`crate::shared`]).
//!
//! A marking begins at what all processes refer to at one moment, when all stand. Those that have run since the collection before, or for which signals wait, are asked then. The roots of the others lead to
//! what is old, and stay as they are until they run: so they are asked at the stops that follow, some at each, and one that is about to run before that tells its roots
//! itself.
//!
//! GR1. A process that was not asked does not run. So its roots are those of that moment, and what has come for it since then: that another process has sent, which has told
//!      its roots before, or has got it from one that has, or made it.
//! GR2. What is promoted after that moment counts as living, for the marking's map of it is there from then on (heap.marking/MA2).

use crate::heap::Heap;
use crate::one_heap::is_old;
use crate::roots::Roots;
use crate::segment::each_root;
use crate::shared::{InSignals, Process, Stop, World};
use myriad_sync::atomic::{AtomicU32, Ordering};
use myriad_sync::{LockClass, Mutex};
use myriad_term::Term;

/// The number of the gathering under way; 0: there is none.
static UNDER_WAY: AtomicU32 = AtomicU32::new(0);
static TOLD_CLASS: LockClass = LockClass::new("told_roots", 949);
/// What processes have told.
static TOLD: Mutex<Vec<u64>> = Mutex::new(&TOLD_CLASS, Vec::new());

/// Roots that are being gathered.
pub(crate) struct Gathering {
    number: u32,
    /// Where in the table of processes those begin that were not asked.
    next: usize,
    into_old: Vec<u64>,
}

impl Heap {
    /// Is the process, which is about to run, to tell its roots first ([`Heap::tell_roots`], GR1)?
    #[inline(always)]
    pub fn is_to_tell_roots(&self) -> bool {
        // Relaxed: it changes while all processes stand, which orders it.
        let number = UNDER_WAY.load(Ordering::Relaxed);
        number != 0 && self.last_seen != number
    }

    /// It tells its roots.
    #[cold]
    pub fn tell_roots(&mut self, roots: &Roots<'_>) {
        // Relaxed: as above.
        self.last_seen = UNDER_WAY.load(Ordering::Relaxed);
        let mut told = TOLD.lock();
        each_root(self, roots, |word| tell(word, &mut told));
    }
}

/// Adds a word if it leads into the old generation.
fn tell(word: u64, into_old: &mut Vec<u64>) {
    // SAFETY: only looked at.
    let term = unsafe { Term::from_raw(word) };
    if !term.is_immediate() && is_old(term.object_ptr()) {
        into_old.push(word);
    }
}

/// Adds the words of processes, which are stopped, that lead into the old generation.
pub(crate) fn tell_all<P: Process>(mut processes: Vec<&mut P>, into_old: &mut Vec<u64>) {
    for process in &mut processes {
        process.with_roots(&mut |heap, roots| each_root(heap, roots, |word| tell(word, into_old)));
    }
    // SAFETY: the places hold terms, and nobody changes them.
    P::each_in_signals(&mut processes, InSignals::All, &mut |place| tell(unsafe { *place }, into_old));
}

impl Gathering {
    /// Begins, with the roots of those that have run; all stand. The number is another one than the last few thousand million were.
    pub(crate) fn begin(last: &mut u32, active: &mut [impl Process], stop: &Stop<'_>, into_old: Vec<u64>) -> Gathering {
        *last = last.wrapping_add(1).max(1);
        // Relaxed: see `Heap::is_to_tell_roots`.
        UNDER_WAY.store(*last, Ordering::Relaxed);
        let mut gathering = Gathering { number: *last, next: 0, into_old };
        gathering.ask(active, stop);
        gathering
    }

    /// Asks some more; `true`: there are no more.
    pub(crate) fn go_on(&mut self, world: &mut impl World, stop: &Stop<'_>) -> bool {
        self.into_old.append(&mut TOLD.lock());
        let (mut processes, next) = world.processes_from(self.next, stop.asked);
        self.ask(&mut processes, stop);
        let Some(next) = next else { return true };
        self.next = next;
        false
    }

    fn ask<P: Process>(&mut self, processes: &mut [P], stop: &Stop<'_>) {
        let number = self.number;
        let found = stop.spread(processes, |processes, found: &mut Vec<u64>| {
            let to_ask = processes.iter_mut().filter_map(|process| {
                let heap = process.heap();
                (std::mem::replace(&mut heap.last_seen, number) != number).then_some(process)
            });
            tell_all(to_ask.collect(), found);
        });
        found.into_iter().for_each(|mut found| self.into_old.append(&mut found));
    }

    /// Is over; gives what was gathered.
    pub(crate) fn end(self) -> Vec<u64> {
        // Relaxed: see `Heap::is_to_tell_roots`.
        UNDER_WAY.store(0, Ordering::Relaxed);
        TOLD.lock().clear();
        self.into_old
    }
}
