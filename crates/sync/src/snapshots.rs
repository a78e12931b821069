//! [`Snapshots`]: which objects of an [`IdTable`](crate::IdTable) there are at one moment, found out while they come and go.
//!
//! Who wants to know opens a snapshot, looks at all slots one after the other, and closes it. The moment is that of opening.
//!
//! LI1. To a snapshot belongs what was born in an era before its [`cut`](crate::IdTable::cut). The looker waits until a slot that is reserved is filled,
//!      so it finds such an object unless the object has gone; and it leaves out what was born later.
//! LI2. An object that begins to go enters itself in each open snapshot, before it can be seen to go. So one that was there at the moment is
//!      met in its slot, or has entered itself, or both.
//!
//! The opener first counts the snapshot and then cuts. Whoever makes an object born after the cut sees that there is a snapshot (sync/ID3),
//! and so does everybody who learns of that object. So an object that goes without entering itself does not go because of one that the
//! snapshot leaves out: it went before, and the snapshot shows a state that was.

use crate::{
    Mutex,
    atomic::{AtomicUsize, Ordering::Relaxed},
    class::LockClass,
};
use std::{collections::BTreeMap, fmt};

/// An open snapshot.
struct Open<I> {
    cut: u64,
    /// Those from before the cut that have begun to go since (LI2).
    departed: Vec<I>,
}

/// The open snapshots of a table whose objects are told apart by `I`.
pub struct Snapshots<I> {
    /// How many there are: what an object that goes looks at.
    count: AtomicUsize,
    open: Mutex<BTreeMap<u64, Open<I>>>,
}

/// An open snapshot of [`Snapshots`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Snapshot {
    key: u64,
    /// The era that began at the moment.
    pub cut: u64,
}

impl<I: Copy> Snapshots<I> {
    /// None open; `class` is that of the lock on them.
    pub fn new(class: &'static LockClass) -> Self {
        Snapshots { count: AtomicUsize::new(0), open: Mutex::new(class, BTreeMap::new()) }
    }

    /// Opens a snapshot; `cut` must cut the table.
    pub fn open(&self, cut: impl FnOnce() -> u64) -> Snapshot {
        let mut open = self.open.lock();
        let key = open.last_key_value().map_or(0, |(key, _)| key + 1);
        // Relaxed: the cut that follows releases it. An object that goes and sees the count waits for the lock, and so for the entry.
        self.count.fetch_add(1, Relaxed);
        let cut = cut();
        open.insert(key, Open { cut, departed: Vec::new() });
        Snapshot { key, cut }
    }

    /// Closes a snapshot; gives those that have entered themselves.
    pub fn close(&self, snapshot: Snapshot) -> Vec<I> {
        let closed = self.open.lock().remove(&snapshot.key);
        // Relaxed: who still sees the count as it was looks for snapshots behind the lock, in vain.
        let before = self.count.fetch_sub(1, Relaxed);
        debug_assert!(before > 0 && closed.is_some());
        closed.map_or_else(Vec::new, |closed| closed.departed)
    }

    /// An object that was born in this era begins to go (LI2).
    #[inline]
    pub fn departs(&self, born: u64, object: I) {
        // Relaxed: whoever must see a snapshot has acquired its cut, by the era of a birth (sync/ID3).
        if self.count.load(Relaxed) > 0 {
            self.note(born, object);
        }
    }

    #[cold]
    fn note(&self, born: u64, object: I) {
        let mut open = self.open.lock();
        for snapshot in open.values_mut().filter(|snapshot| born < snapshot.cut) {
            snapshot.departed.push(object);
        }
    }
}

impl<I> fmt::Debug for Snapshots<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshots").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Snapshots;
    use crate::LockClass;

    static CLASS: LockClass = LockClass::new("test_snapshots", 10);

    #[test]
    fn who_goes_enters_itself_where_it_belongs() {
        let snapshots = Snapshots::new(&CLASS);
        snapshots.departs(0, 'a');
        let early = snapshots.open(|| 5);
        let late = snapshots.open(|| 7);
        [(4, 'b'), (5, 'c'), (7, 'd')].into_iter().for_each(|(born, name)| snapshots.departs(born, name));
        assert_eq!(snapshots.close(early), ['b']);
        snapshots.departs(6, 'e');
        assert_eq!(snapshots.close(late), ['b', 'c', 'e']);
    }
}

/// A thread makes an object and then has another one go, while a snapshot is taken: one of the two is in the snapshot.
///
/// Caught when tried: Relaxed for the Acquire in `comes` or the Release in `cut`, either without its fence (sync/ID3); the cut made before the snapshot is counted; a looker that passes by reserved slots.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::Snapshots;
    use crate::{
        IdTable, LockClass,
        atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::Relaxed},
    };
    use loom::thread;
    use std::{ptr::NonNull, sync::Arc};

    static CLASS: LockClass = LockClass::new("model_snapshots", 10);

    struct Object {
        id: u64,
        born: AtomicU64,
    }

    struct World {
        table: IdTable<Object>,
        /// The object in each slot.
        objects: [Object; 2],
        snapshots: Snapshots<u64>,
        /// The first object is seen to go.
        goes: AtomicBool,
    }

    impl World {
        fn new() -> Arc<Self> {
            let table = IdTable::new((0..2).map(|_| AtomicPtr::new(std::ptr::null_mut())).collect(), 1);
            let (snapshots, goes) = (Snapshots::new(&CLASS), AtomicBool::new(false));
            let objects = [0, 1].map(|id| Object { id, born: AtomicU64::new(u64::MAX) });
            let world = Arc::new(World { table, objects, snapshots, goes });
            world.make();
            world
        }

        fn make(&self) {
            let reserved = self.table.reserve().unwrap();
            let object = &self.objects[reserved.id as usize];
            object.born.store(reserved.born, Relaxed);
            reserved.fill(NonNull::from(object));
        }

        fn listed(&self) -> Vec<u64> {
            let snapshot = self.snapshots.open(|| self.table.cut());
            // SAFETY: the objects live as long as the table.
            let found = self.table.settled(0..self.table.reached()).map(|object| unsafe { object.as_ref() });
            let stays = |object: &&Object| object.id > 0 || !self.goes.load(Relaxed);
            let belongs = |object: &&Object| object.born.load(Relaxed) < snapshot.cut;
            let mut listed: Vec<u64> = found.filter(stays).filter(belongs).map(|object| object.id).collect();
            listed.extend(self.snapshots.close(snapshot));
            listed
        }
    }

    #[test]
    fn loom_a_snapshot_shows_a_state_that_was() {
        loom::model(|| {
            let world = World::new();
            let other = {
                let world = world.clone();
                thread::spawn(move || {
                    world.make();
                    world.snapshots.departs(0, 0);
                    world.goes.store(true, Relaxed);
                })
            };
            let listed = world.listed();
            assert!(!listed.is_empty(), "there was one object or two all the time");
            other.join().unwrap();
            assert_eq!(world.listed(), [1]);
        });
    }
}
