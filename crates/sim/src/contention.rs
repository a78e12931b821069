//! What cores do to each other: the machine as `sync` reports to it ([`Meter`]).
//!
//! A step of a core begins at a time; each line that it has to fetch and each lock that it waits for lets that time pass. The driver asks
//! after the step how much that was. The native stack is none of it: the one thread's is every core's in turn, and each has its own
//! on a real machine.

use crate::faults::Faults;
use crate::lines::Lines;
use crate::locks::{Locks, Waits};
use crate::topology::Topology;
use myriad_sync::LockClass;
use myriad_sync::cost::{Access, Hold, Meter};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::Location;

/// A turn of a spin loop, and a look at a lock that is held (nanoseconds).
pub const PAUSE_NS: u64 = 20;

/// What a step has spent on others.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Shared {
    /// Fetching lines, and waiting for them while others did.
    pub lines: u64,
    /// Holding locks for as long as one is held at least, and waiting for them.
    pub locks: u64,
}

/// By place in the source (file and line): nanoseconds, and how often.
pub type Places = BTreeMap<(&'static str, u32), (u64, u64)>;

/// The lines and locks of a machine, and the core whose step it is.
pub struct Contention {
    topology: Topology,
    lines: RefCell<Lines>,
    locks: RefCell<Locks>,
    /// What fetching lines took.
    places: RefCell<Places>,
    core: Cell<usize>,
    now: Cell<u64>,
    spent: Cell<Shared>,
    /// Cores that hold a lock may be away.
    faults: RefCell<Option<Faults>>,
    /// The address where the driver's part of the native stack ends.
    stack_base: Cell<usize>,
}

impl Contention {
    /// So many cores of a machine.
    pub fn new(topology: &Topology, cores: usize) -> Contention {
        Contention {
            topology: topology.clone(),
            lines: RefCell::new(Lines::new(cores)),
            locks: RefCell::new(Locks::new(topology.least_hold_ns as u64)),
            places: RefCell::default(),
            core: Cell::new(0),
            now: Cell::new(0),
            spent: Cell::default(),
            faults: RefCell::new(None),
            stack_base: Cell::new(0),
        }
    }

    /// From now on holders of locks are away now and then, as this seed says.
    pub fn suffer(&self, seed: u64) {
        *self.faults.borrow_mut() = Some(Faults::new(seed));
    }

    /// A core's step begins at this time.
    #[inline(never)]
    pub fn begin(&self, core: usize, now: u64) {
        self.core.set(core);
        self.now.set(now);
        self.spent.take();
        // The step's frames lie below this one's caller, within a page.
        self.stack_base.set(stack_address() + 4096);
    }

    /// The core works for so long, because locks are to be had by several cores.
    pub fn work(&self, ns: u64) {
        self.pass(0, ns);
    }

    /// What the step spent.
    pub fn end(&self) -> Shared {
        self.spent.take()
    }

    /// The waits for locks by class name.
    pub fn waits(&self) -> BTreeMap<&'static str, Waits> {
        self.locks.borrow().by_class().clone()
    }

    /// What lines have cost by the place in the source that accessed them: nanoseconds, and how often a line was fetched.
    pub fn places(&self) -> Places {
        self.places.borrow().clone()
    }

    fn pass(&self, lines: u64, locks: u64) {
        self.now.set(self.now.get() + lines + locks);
        let spent = self.spent.get();
        self.spent.set(Shared { lines: spent.lines + lines, locks: spent.locks + locks });
    }

    #[inline(always)]
    fn is_of_the_stack(&self, address: usize) -> bool {
        (stack_address()..self.stack_base.get()).contains(&address)
    }

    /// A line has kept the core for so long.
    fn note(&self, place: &'static Location<'static>, ns: u64) {
        if ns > 0 {
            let mut places = self.places.borrow_mut();
            let (sum, times) = places.entry((place.file(), place.line())).or_default();
            *sum += ns;
            *times += 1;
        }
    }

    fn fetch(&self, address: usize, access: Access) -> u64 {
        let atomic_ns = if access == Access::Update { self.topology.atomic_ns as u64 } else { 0 };
        let took = self.lines.borrow_mut().access(&self.topology, self.core.get(), self.now.get(), address, access);
        let ns = took.waited_ns + took.transfer_ns + atomic_ns;
        self.pass(ns, 0);
        ns
    }
}

/// An address in the frame of the caller, or next to it.
#[inline(always)]
fn stack_address() -> usize {
    let here = 0u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}

impl Meter for Contention {
    fn access(&self, address: usize, access: Access, place: &'static Location<'static>) {
        if self.is_of_the_stack(address) {
            return;
        }
        let ns = self.fetch(address, access);
        self.note(place, ns);
    }

    fn prefetch(&self, address: usize, access: Access, place: &'static Location<'static>) {
        if self.is_of_the_stack(address) {
            return;
        }
        let ns = self.lines.borrow_mut().prefetch(&self.topology, self.core.get(), self.now.get(), address, access);
        self.pass(ns, 0);
        self.note(place, ns);
    }

    fn acquire(&self, class: &'static LockClass, hold: Hold) {
        let now = self.now.get();
        let at = self.locks.borrow_mut().acquire(class, hold, now);
        self.pass(0, at - now);
        self.fetch(hold.line, Access::Update);
    }

    fn is_free(&self, hold: Hold) -> bool {
        let free = self.locks.borrow().is_free(hold, self.now.get());
        if !free {
            self.fetch(hold.line, Access::Read);
            self.pause();
        }
        free
    }

    fn release(&self, hold: Hold) {
        if let Some(faults) = &mut *self.faults.borrow_mut() {
            self.pass(0, faults.with_lock());
        }
        self.fetch(hold.line, Access::Write);
        let at = self.locks.borrow_mut().release(hold, self.now.get());
        self.pass(0, at - self.now.get());
    }

    fn pause(&self) {
        self.pass(0, PAUSE_NS);
    }
}

#[cfg(test)]
mod tests {
    use super::{Contention, PAUSE_NS, Shared};
    use crate::topology::Topology;
    use myriad_sync::LockClass;
    use myriad_sync::cost::{Access, Hold, Meter};
    use std::panic::Location;

    static CLASS: LockClass = LockClass::new("a class", 1);

    fn machine() -> Contention {
        let topology = Topology {
            cores: 2,
            core_threads: 1,
            mate_stride: 0,
            mate_slowdown: 1.0,
            socket_cores: 2,
            module_cores: 2,
            mesh_width: 0,
            module_transfer_ns: 10.0,
            socket_transfer_ns: 10.0,
            remote_transfer_ns: 10.0,
            hop_ns: 0.0,
            atomic_ns: 3.0,
            fetches: 1,
            least_hold_ns: 0.0,
        };
        Contention::new(&topology, 2)
    }

    #[test]
    fn a_line_that_goes_to_and_fro_is_paid_for_by_its_place() {
        let machine = machine();
        let place = Location::caller();
        for (core, lines) in [(0, 3), (1, 13), (1, 3)] {
            machine.begin(core, 1000 * core as u64);
            machine.access(64, Access::Update, place);
            assert_eq!(machine.end(), Shared { lines, locks: 0 });
        }
        assert_eq!(machine.places()[&(place.file(), place.line())], (19, 3));
    }

    #[test]
    fn a_lock_is_waited_for_while_it_is_held() {
        let machine = machine();
        let hold = Hold { lock: 64, line: 64, shared: false };
        machine.begin(0, 0);
        machine.acquire(&CLASS, hold);
        machine.pause();
        machine.release(hold);
        let held = 3 + PAUSE_NS;
        assert_eq!(machine.end(), Shared { lines: 3, locks: PAUSE_NS });
        // A look that finds it held fetches its line, and waits for a turn. The lock is free when its holder's time for it is over.
        machine.begin(1, 5);
        assert!(!machine.is_free(hold));
        assert_eq!(machine.end(), Shared { lines: 10, locks: PAUSE_NS });
        machine.begin(1, 5);
        machine.acquire(&CLASS, hold);
        assert_eq!(machine.end(), Shared { lines: 13, locks: held - 5 });
        machine.release(hold);
        machine.begin(1, 100);
        assert!(machine.is_free(hold));
        assert_eq!(machine.end(), Shared::default());
    }

    #[test]
    fn the_native_stack_costs_nothing() {
        let machine = machine();
        let local = 0u64;
        for core in [0, 1] {
            machine.begin(core, 0);
            machine.access(std::ptr::from_ref(&local).addr(), Access::Update, Location::caller());
            assert_eq!(machine.end(), Shared::default());
        }
    }
}
