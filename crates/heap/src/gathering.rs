//! The roots of a marking of the one heap's old generation, process by process ([`crate::shared`]).
//!
//! A marking begins at what all processes refer to at one moment, when all stand. Those that have run since the collection before, or for which signals wait, are asked then. The roots of the others lead to
//! what is old, and stay as they are until they run: so they are asked at the stops that follow, some at each, and one that is about to run before that tells its roots
//! itself.
//!
//! GR1. A process that was not asked does not run. So its roots are those of that moment, and what has come for it since then: that another process has sent, which has told
//!      its roots before, or has got it from one that has, or made it.
//! GR2. What is promoted after that moment counts as living, for the marking's map of it is there from then on (heap.marking/MA2).

use crate::attribution::Told;
use crate::heap::Heap;
use crate::roots::Roots;
use crate::segment::each_root;
use crate::shared::{InSignals, Process, Stop, World};
use myriad_sync::atomic::{AtomicU32, Ordering};
use myriad_sync::{LockClass, Mutex};

/// The number of the gathering under way; 0: there is none.
static UNDER_WAY: AtomicU32 = AtomicU32::new(0);
static TOLD_CLASS: LockClass = LockClass::new("told_roots", 949);
/// What processes have told.
static TOLD: Mutex<Told> = Mutex::new(&TOLD_CLASS, Told::NOTHING);

/// Roots that are being gathered.
pub(crate) struct Gathering {
    number: u32,
    /// Where in the table of processes those begin that were not asked.
    next: usize,
    told: Told,
}

impl Heap {
    /// Is the process, which is about to run, to tell its roots first ([`Heap::tell_roots`], GR1)?
    #[inline(always)]
    pub fn is_to_tell_roots(&self) -> bool {
        // Relaxed: it changes while all processes stand, which orders it.
        let number = UNDER_WAY.load(Ordering::Relaxed);
        number != 0 && self.last_seen != number
    }

    /// It tells its roots, as the process with this number.
    #[cold]
    pub fn tell_roots(&mut self, number: u64, roots: &Roots<'_>) {
        // Relaxed: as above.
        self.last_seen = UNDER_WAY.load(Ordering::Relaxed);
        TOLD.lock().tell(number, |tell| each_root(self, roots, tell));
    }
}

impl Told {
    /// Processes, which are stopped, tell their roots.
    pub(crate) fn tell_all<P: Process>(&mut self, mut processes: Vec<&mut P>) {
        for process in &mut processes {
            let number = process.number();
            process.with_roots(&mut |heap, roots| self.tell(number, |tell| each_root(heap, roots, tell)));
        }
        // SAFETY: the places hold terms, and nobody changes them.
        P::each_in_signals(&mut processes, InSignals::All, &mut |place| self.tell_other(unsafe { *place }));
    }
}

impl Gathering {
    /// Begins, with the roots of those that have run; all stand. The number is another one than the last few thousand million were.
    pub(crate) fn begin(last: &mut u32, active: &mut [impl Process], stop: &Stop<'_>, told: Told) -> Gathering {
        *last = last.wrapping_add(1).max(1);
        // Relaxed: see `Heap::is_to_tell_roots`.
        UNDER_WAY.store(*last, Ordering::Relaxed);
        let mut gathering = Gathering { number: *last, next: 0, told };
        gathering.ask(active, stop);
        gathering
    }

    /// Asks some more; `true`: there are no more.
    pub(crate) fn go_on(&mut self, world: &mut impl World, stop: &Stop<'_>) -> bool {
        let told = std::mem::take(&mut *TOLD.lock());
        self.told.append(told);
        let (mut processes, next) = world.processes_from(self.next, stop.asked);
        self.ask(&mut processes, stop);
        let Some(next) = next else { return true };
        self.next = next;
        false
    }

    fn ask<P: Process>(&mut self, processes: &mut [P], stop: &Stop<'_>) {
        let number = self.number;
        let found = stop.spread(processes, |processes, found: &mut Told| {
            let to_ask = processes.iter_mut().filter_map(|process| {
                let heap = process.heap();
                (std::mem::replace(&mut heap.last_seen, number) != number).then_some(process)
            });
            found.tell_all(to_ask.collect());
        });
        found.into_iter().for_each(|found| self.told.append(found));
    }

    /// Is over; gives what was gathered.
    pub(crate) fn end(self) -> Told {
        // Relaxed: see `Heap::is_to_tell_roots`.
        UNDER_WAY.store(0, Ordering::Relaxed);
        *TOLD.lock() = Told::NOTHING;
        self.told
    }
}
