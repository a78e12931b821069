//! The census of bundles: are as many of a bundle's counts out as there are who hold it?
//!
//! Who takes one shows every object and every heap that there is, while nobody changes any ([`Census::object`], [`Census::heap`]); what a bundle itself
//! holds it finds alone, for each is listed while it is there. In tests, and under `--cfg heap_check`.
//!
//! CE1. A bundle is listed from before its first holder until after its last one, and its block and its count are there as long. Who looks at one holds
//!      the lock of the list, for which the bundle's end waits.

use crate::Heap;
use crate::bundle::Bundle;
use myriad_sync::{LockClass, Mutex};
use myriad_term::{Boxed, Kind};
use std::collections::{BTreeMap, BTreeSet};

static CLASS: LockClass = LockClass::new("bundle_census", 960);
/// Where the blocks of all bundles begin (CE1).
static LISTED: Mutex<BTreeSet<usize>> = Mutex::new(&CLASS, BTreeSet::new());

/// A bundle comes.
pub(crate) fn list(block: usize) {
    let fresh = LISTED.lock().insert(block);
    debug_assert!(fresh, "CE1: a bundle's block is listed twice");
}

/// A bundle goes.
pub(crate) fn unlist(block: usize) {
    let there = LISTED.lock().remove(&block);
    debug_assert!(there, "CE1: a bundle goes that is not listed");
}

/// Who holds bundles, as far as it was shown.
#[derive(Debug, Default)]
pub struct Census {
    /// How many hold the bundle of a block.
    found: BTreeMap<usize, usize>,
}

/// A bundle with more or fewer counts than holders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Miscount {
    /// Where its block begins.
    pub at: usize,
    /// Words of the block.
    pub words: usize,
    /// Its counts.
    pub counted: usize,
    /// Its holders that were found.
    pub found: usize,
}

impl Census {
    /// Shows an object.
    pub fn object(&mut self, object: Boxed<'_, '_>) {
        if object.kind() == Kind::MagicRef
            && let Some(bundle) = object.magic().get::<Bundle>()
        {
            self.holder(bundle.addresses().start);
        }
    }

    /// Shows what a heap holds by other means than its objects.
    pub fn heap(&mut self, heap: &Heap) {
        if let Some(held) = heap.held() {
            held.each_count(|block| self.holder(block));
        }
    }

    /// With what another one was shown.
    pub fn and(mut self, other: Census) -> Census {
        other.found.into_iter().for_each(|(block, holders)| *self.found.entry(block).or_default() += holders);
        self
    }

    fn holder(&mut self, block: usize) {
        *self.found.entry(block).or_default() += 1;
    }

    /// The bundles that have other counts than the holders that were shown.
    pub fn miscounts(mut self) -> Vec<Miscount> {
        let listed = LISTED.lock();
        // SAFETY: CE1: the list is locked.
        let bundles = || listed.iter().map(|at| unsafe { Bundle::at(std::ptr::with_exposed_provenance(*at)) });
        for magic in bundles() {
            let held = magic.get::<Bundle>().map(Bundle::holds).unwrap_or_default();
            held.into_iter().for_each(|addresses| self.holder(addresses.start));
        }
        let of_one = |magic: &myriad_term::Magic| {
            let addresses = magic.get::<Bundle>()?.addresses();
            let (counted, found) = (magic.references(), self.found.get(&addresses.start).copied().unwrap_or(0));
            let words = addresses.len() / 8;
            (counted != found).then_some(Miscount { at: addresses.start, words, counted, found })
        };
        bundles().filter_map(|magic| of_one(&magic)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::bundles::{ALONE, bundles, sent};
    use crate::{Message, Settings};
    use myriad_term::{Build, Magic, Term};
    use std::mem::{ManuallyDrop, forget};

    fn wrong(heaps: &[&Heap], messages: &[&Message]) -> Vec<(usize, usize)> {
        let (mut objects, mut others) = (Census::default(), Census::default());
        for heap in heaps {
            heap.each_object(|object| objects.object(object));
            others.heap(heap);
        }
        let fragments = messages.iter().filter_map(|message| message.fragment());
        fragments.for_each(|fragment| fragment.each_object(|object| objects.object(object)));
        let miscounts = others.and(objects).miscounts();
        miscounts.iter().map(|wrong| (wrong.counted, wrong.found)).collect()
    }

    #[test]
    fn a_count_too_many_and_one_too_few_are_found() {
        let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let settings = Settings::default();
        let (mut sender, mut heap) = (Heap::new(&settings), Heap::new(&settings));
        let items: Vec<Term> = (0..100).map(Term::small).collect();
        let list = sender.list(&items);
        let got = sent(list).receive(&mut heap).0;
        // In flight: the bundle again, and another one that holds it.
        let tuple = heap.tuple(&items);
        let around = heap.cons(got, tuple);
        let (again, outer) = (sent(got), sent(around));
        assert_eq!((bundles(), wrong(&[&sender, &heap], &[&again, &outer])), (2, vec![]));
        // One that nobody was shown.
        assert_eq!(wrong(&[&sender, &heap], &[&outer]), [(3, 2)]);
        drop(outer);
        assert_eq!((bundles(), wrong(&[&heap], &[&again])), (1, vec![]));

        // SAFETY: the heap holds it.
        let bundle = unsafe { Bundle::at(got.object_ptr()) };
        forget(Magic::clone(&bundle));
        assert_eq!(wrong(&[&heap], &[&again]), [(3, 2)]);
        drop(ManuallyDrop::into_inner(bundle));
        // SAFETY: as above.
        let bundle = unsafe { Bundle::at(got.object_ptr()) };
        let raw = ManuallyDrop::into_inner(bundle).into_raw();
        // SAFETY: the heap and the message hold it, so that a count is left until this one is back.
        drop(unsafe { Magic::from_raw(raw) });
        assert_eq!(wrong(&[&heap], &[&again]), [(1, 2)]);
        // SAFETY: as above.
        forget(Magic::clone(&*ManuallyDrop::new(unsafe { Magic::from_raw(raw) })));
        assert_eq!(wrong(&[&heap], &[&again]), []);

        drop((again, heap, sender));
        assert_eq!((bundles(), wrong(&[], &[])), (0, vec![]));
    }
}
