//! The table of ports: from an identity to the port, without a lock and without a word that is written at a look-up. As with processes the
//! low bits of the number choose a slot ([`IdTable`]), and numbers rise, so that one comes back only after all the others.
//!
//! PT1. A pointer read from a slot is good until the reading thread's next quiescent point: a port that has left the table is freed by
//!      thread progress (`Vm::progress`) only. So nobody keeps a port from one slice to the next, but its identity; and a thread that is not
//!      registered there pins what it reads.

use super::Port;
use myriad_process::Listed;
use myriad_sync::{IdTable, LockClass, Progress, Snapshot, Snapshots};
use myriad_term::{Port as PortId, Term, memory};
use std::ops::Range;
use std::ptr::NonNull;

static LISTINGS_CLASS: LockClass = LockClass::new("port_list", 310);

/// What OTP calls the memory of the table.
const PURPOSE: memory::Purpose = memory::Purpose("ll", "port_tab");
/// No table is smaller, as in OTP.
const SMALLEST: usize = 1024;

/// The ports of a VM, each in the slot that its identity chooses.
pub(super) struct PortTable {
    ports: IdTable<Port>,
    /// Listings under way.
    listings: Snapshots<PortId>,
}

impl PortTable {
    /// Room for so many ports.
    pub(super) fn new(limit: usize) -> Self {
        let slots = memory::null_pointers::<Port>(limit.next_power_of_two().max(SMALLEST), PURPOSE);
        // Opening a port takes far longer than drawing a number, so numbers come in a row, whoever draws them.
        PortTable { ports: IdTable::new(slots, 1), listings: Snapshots::new(&LISTINGS_CLASS) }
    }

    /// Ports now, those that are closing too.
    pub(super) fn count(&self) -> usize {
        self.ports.count()
    }

    /// The bits of the number that the next port gets which OTP's have; after `set` these.
    pub(super) fn next(&self, set: Option<u64>) -> u64 {
        const BITS: u64 = (1 << PortId::OTP_NUMBER_BITS) - 1;
        if let Some(bits) = set {
            self.ports.set_next_id(self.ports.next_id() & !BITS | bits & BITS);
        }
        self.ports.next_id() & BITS
    }

    /// Draws an identity and puts the port that `make` makes, given that and its era, in its slot; nothing if the table is full.
    pub(super) fn insert(&self, make: impl FnOnce(PortId, u64) -> Port) -> Option<&Port> {
        let reserved = self.ports.reserve()?;
        let id = PortId::from_number(reserved.id);
        id.note_made();
        let port = NonNull::from(Box::leak(Box::new(make(id, reserved.born))));
        reserved.fill(port);
        // SAFETY: just made; PT1 keeps it for the caller.
        Some(unsafe { port.as_ref() })
    }

    /// The port of an identity (PT1).
    #[inline]
    pub(super) fn get(&self, id: PortId) -> Option<&Port> {
        // SAFETY: PT1.
        self.ports.get(id.number() as usize).map(|port| unsafe { port.as_ref() }).filter(|port| port.id == id)
    }

    /// All ports (PT1), in the order of their numbers.
    pub(super) fn all(&self) -> Vec<&Port> {
        // SAFETY: PT1.
        let mut all: Vec<&Port> = self.ports.objects().map(|port| unsafe { port.as_ref() }).collect();
        all.sort_unstable_by_key(|port| port.id.number());
        all
    }

    /// Takes a port out, which is freed once nobody can look at it (PT1). Only who ends it does so, once.
    pub(super) fn remove(&self, port: &Port, progress: &Progress) {
        /// Frees a port that has left the table.
        unsafe fn free(port: *mut ()) {
            // SAFETY: `insert` has boxed it, and PT1's readers have passed a quiescent point.
            drop(unsafe { Box::from_raw(port.cast::<Port>()) });
        }
        let Some(boxed) = self.ports.get(port.id.number() as usize) else { return };
        debug_assert!(std::ptr::eq(boxed.as_ptr(), port), "it is there until it is taken out");
        self.listings.departs(port.born, port.id);
        self.ports.vacate(port.id.number() as usize);
        // SAFETY: it has left the table and is freed once; a port may be freed by any thread.
        unsafe { progress.retire_object(boxed.as_ptr().cast(), free) };
    }
}

impl Drop for PortTable {
    fn drop(&mut self) {
        for port in self.ports.objects() {
            // SAFETY: `insert` has boxed it, and nobody looks at a table that is dropped.
            drop(unsafe { Box::from_raw(port.as_ptr()) });
        }
    }
}

impl Listed for PortTable {
    type Id = PortId;

    fn term(id: PortId) -> Term {
        id.term()
    }

    fn open_listing(&self) -> Snapshot {
        self.listings.open(|| self.ports.cut())
    }

    fn close_listing(&self, listing: Snapshot) -> Vec<PortId> {
        self.listings.close(listing)
    }

    fn list_in(&self, places: Range<usize>, cut: u64, ids: &mut Vec<PortId>) -> bool {
        let reached = self.ports.reached();
        let end = places.end.min(reached);
        // SAFETY: PT1.
        let found = self.ports.settled(places.start..end).map(|port| unsafe { port.as_ref() });
        ids.extend(found.filter(|port| port.born < cut).map(|port| port.id));
        end < reached
    }
}

#[cfg(test)]
mod tests {
    use super::super::Port;
    use super::super::driver::{Context, Driver, DriverType, Opened};
    use super::super::options::{Settings, Target};
    use super::{PortTable, SMALLEST};
    use crate::bytes::Piece;
    use myriad_process::Listing;
    use myriad_sync::Progress;
    use myriad_term::{Pid, Port as PortId};

    struct Nothing;

    impl Driver for Nothing {
        fn output(&mut self, _: &mut Context<'_>, _: Pid, _: Piece) {}
    }

    static NOTHING: DriverType =
        DriverType::new("nothing", |_, _| Ok(Opened { driver: Box::new(Nothing), name: Vec::new(), os_pid: None }));

    fn open(table: &PortTable) -> Option<&Port> {
        let opened = (NOTHING.open)(&Target::Driver(Vec::new()), &Settings::default()).ok()?;
        let settings = Settings::default();
        table.insert(|id, born| Port::new(id, born, &NOTHING, opened, &settings, (Pid::new(1, 0), 0), true))
    }

    fn numbers(table: &'static PortTable) -> Vec<u64> {
        let mut listing = Listing::of(table);
        while listing.go_on() {}
        listing.finish().into_iter().map(PortId::number).collect()
    }

    #[test]
    fn a_full_table_refuses_a_port_until_one_has_gone() {
        let (table, progress): (&'static PortTable, _) = (Box::leak(Box::new(PortTable::new(1))), Progress::new(2));
        while open(table).is_some() {}
        assert_eq!(table.count(), SMALLEST);
        assert_eq!(numbers(table), (0..SMALLEST as u64).collect::<Vec<u64>>(), "in the order of opening");
        let seven = PortId::from_number(7);
        table.remove(table.get(seven).unwrap(), &progress);
        assert!(table.get(seven).is_none() && table.count() == SMALLEST - 1);
        let next = open(table).unwrap().id.number();
        assert_eq!(next % SMALLEST as u64, 7, "the slot that is free");
        assert!(next > 7 && open(table).is_none() && table.get(seven).is_none());
    }

    #[test]
    fn a_listing_shows_those_of_its_beginning() {
        let (table, progress): (&'static PortTable, _) = (Box::leak(Box::new(PortTable::new(1))), Progress::new(2));
        let [first, second] = [open(table).unwrap(), open(table).unwrap()].map(|port| port.id);
        let mut listing = Listing::of(table);
        table.remove(table.get(first).unwrap(), &progress);
        let third = open(table).unwrap().id;
        while listing.go_on() {}
        assert_eq!(listing.finish(), [first, second]);
        assert_eq!(numbers(table), [second, third].map(PortId::number));
        assert_eq!(table.all().iter().map(|port| port.id).collect::<Vec<_>>(), [second, third]);
    }

    #[test]
    fn the_next_number_can_be_chosen() {
        let (table, progress) = (PortTable::new(1), Progress::new(2));
        assert_eq!((table.next(None), table.next(Some(5 << 20))), (0, 5 << 20));
        let port = open(&table).unwrap();
        assert_eq!(port.id.number(), 5 << 20);
        table.remove(port, &progress);
        assert_eq!(table.count(), 0);
    }
}
