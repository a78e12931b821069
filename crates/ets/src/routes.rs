//! What leads from a key to the tree that has it, in a table with several trees: [`Routes`], [`Base`] and the figure by which these change,
//! [`Strain`]. What threads do with them is in [`crate::adapting`].

use crate::ordered::Ordered;
use crate::tree::{Place, Tree, Way};
use myriad_heap::Payload;
use myriad_sync::atomic::{AtomicIsize, AtomicUsize, Ordering};
use myriad_sync::{Arc, Directory, GroupReadGuard, GroupWriteGuard, LockClass, Progress, Spread};
use myriad_term::TermRef;
use myriad_term::compare::compare;
use std::cell::Cell;
use std::ops::RangeInclusive;

/// Keeps the routes as they are.
static ROUTES_CLASS: LockClass = LockClass::new("db_tab_routes", 719);

/// A key that parts the keys of two trees: it belongs to the upper one.
#[derive(Clone)]
pub struct Separator(Arc<Payload>);

impl Separator {
    /// A copy of this key.
    pub fn new(key: TermRef<'_>) -> Separator {
        Separator(Arc::new(Payload::copy(key)))
    }

    /// The key.
    #[inline]
    pub fn key(&self) -> TermRef<'_> {
        self.0.term()
    }
}

/// Which of the trees between these separators has a key, if any has.
#[inline]
pub fn tree_of(separators: &[Separator], key: TermRef<'_>) -> usize {
    separators.partition_point(|separator| compare(separator.key(), key).is_le())
}

/// How much a base node is fought over: up when its lock is found taken, down when it is free. The figures are the papers'.
///
/// Readers of one lock never find it taken by another, but fetch the line of its word from each other: where they take turns it goes up as well.
#[derive(Default)]
pub struct Strain {
    strain: AtomicIsize,
    /// The thread that read last: its number, and one.
    reader: AtomicUsize,
}

/// What is to be done about a base node.
#[derive(PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Nothing.
    Fine,
    /// It is to be split.
    Split,
    /// It is to be joined with a neighbour.
    Join,
}

impl Strain {
    const FOUGHT_OVER: isize = 250;
    const SPLIT: isize = 1000;
    const JOIN: isize = -Self::SPLIT;
    /// Another thread reads than the last time: a line comes from another core, a hundredth of what a thread that sleeps pays.
    const TURN: isize = 10;

    /// A reader has found the lock taken.
    #[cold]
    fn reader_waits(&self) {
        // Relaxed: a figure.
        self.strain.fetch_add(Self::FOUGHT_OVER, Ordering::Relaxed);
    }

    /// Counts a read of a thread; begins anew when the node is to be split.
    #[inline]
    pub fn count_read(&self, thread: usize) -> Verdict {
        // Relaxed: figures; of what threads add at the same time some may get lost.
        if self.reader.load(Ordering::Relaxed) == thread + 1 {
            return Verdict::Fine;
        }
        self.reader.store(thread + 1, Ordering::Relaxed);
        let strain = self.strain.load(Ordering::Relaxed) + Self::TURN;
        let split = strain >= Self::SPLIT;
        self.strain.store(if split { 0 } else { strain }, Ordering::Relaxed);
        if split { Verdict::Split } else { Verdict::Fine }
    }

    /// Counts a write, with the lock; begins anew when there is something to be done.
    #[inline]
    pub fn count(&self, was_taken: bool) -> Verdict {
        // Relaxed: a figure; what a reader adds at the same time may get lost.
        let strain = self.strain.load(Ordering::Relaxed) + if was_taken { Self::FOUGHT_OVER } else { -1 };
        let verdict = match strain {
            Self::SPLIT.. => Verdict::Split,
            ..=Self::JOIN => Verdict::Join,
            _ => Verdict::Fine,
        };
        self.strain.store(if verdict == Verdict::Fine { strain } else { 0 }, Ordering::Relaxed);
        verdict
    }
}

/// A part of the keys.
pub struct Base {
    /// Its rows.
    pub ordered: Ordered,
    /// How much it is fought over.
    pub strain: Strain,
}

impl Base {
    /// A base node with these rows. Its readers are not spread: it is split where they take turns.
    pub fn new(class: &'static LockClass, tree: Tree) -> Arc<Base> {
        Arc::new(Base { ordered: Ordered::new(class, Spread::Never, tree), strain: Strain::default() })
    }

    /// Takes the lock for reading, and counts if it was taken.
    pub fn lock_to_read(&self) -> GroupReadGuard<'_, ()> {
        self.ordered.lock().try_read().unwrap_or_else(|| {
            self.strain.reader_waits();
            self.ordered.lock().read()
        })
    }

    /// Takes the lock for writing, and notes whether it was taken.
    #[inline]
    pub fn lock_to_write(&self, was_taken: &Cell<bool>) -> GroupWriteGuard<'_, ()> {
        self.ordered.lock().try_write().unwrap_or_else(|| {
            was_taken.set(true);
            self.ordered.lock().write()
        })
    }
}

/// Which base node has which keys: between two of them stands the least key of the upper one.
pub struct Routes {
    /// The keys between base nodes, ascending.
    pub separators: Vec<Separator>,
    /// The base nodes, in the order of their keys.
    pub bases: Vec<Arc<Base>>,
}

impl Routes {
    /// Is there only one base node?
    #[inline]
    pub fn is_single(&self) -> bool {
        self.separators.is_empty()
    }

    /// The number of the last base node.
    pub fn last(&self) -> usize {
        debug_assert_eq!(self.bases.len(), self.separators.len() + 1, "a separator stands between two base nodes");
        self.separators.len()
    }

    /// The base node of the keys that lie next on a way.
    pub fn start(&self, way: Way<'_>) -> usize {
        let lies_below = |separator: &Separator| match way.from {
            Place::Start => false,
            Place::End => true,
            Place::Before(key) if !way.upwards => compare(separator.key(), key).is_lt(),
            Place::Before(key) | Place::After(key) => compare(separator.key(), key).is_le(),
            Place::BeforeAll(edge) => edge(separator.key()).is_lt(),
            Place::AfterAll(edge) => edge(separator.key()).is_le(),
        };
        self.separators.partition_point(lies_below)
    }

    /// The place at which a way leaves a base node, if there is one behind it.
    pub fn border(&self, at: usize, upwards: bool) -> Option<Place<'_>> {
        let separator = if upwards { self.separators.get(at) } else { self.separators.get(at.checked_sub(1)?) };
        separator.map(|separator| Place::Before(separator.key()))
    }

    /// The `count` base nodes that come first from one on, as far as there are so many.
    pub fn window(&self, at: usize, count: usize, upwards: bool) -> RangeInclusive<usize> {
        if upwards { at..=self.last().min(at + count - 1) } else { (at + 1).saturating_sub(count)..=at }
    }

    /// The number of a base node, if the routes lead there.
    pub fn position(&self, base: &Base) -> Option<usize> {
        self.bases.iter().position(|other| std::ptr::eq(&raw const **other, base))
    }

    /// With a new base node behind one.
    pub fn with(&self, at: usize, separator: Separator, base: Arc<Base>) -> Routes {
        let (mut separators, mut bases) = (self.separators.clone(), self.bases.clone());
        separators.insert(at, separator);
        bases.insert(at + 1, base);
        Routes { separators, bases }
    }

    /// Without a base node, which the one before or behind it has taken in.
    pub fn without(&self, gone: usize, heir: usize) -> Routes {
        debug_assert!(gone.abs_diff(heir) == 1, "AD1: the two are neighbours");
        let (mut separators, mut bases) = (self.separators.clone(), self.bases.clone());
        separators.remove(gone.min(heir));
        bases.remove(gone);
        Routes { separators, bases }
    }
}

/// The rows of an ordered set, divided among base nodes.
pub struct Adapting {
    /// Which base node has which keys.
    pub routes: Directory<Routes>,
    /// Of the base nodes' locks.
    pub class: &'static LockClass,
}

impl Adapting {
    /// One base node, without rows. `slices`: the domain of the users.
    pub fn new(class: &'static LockClass, keypos: usize, slices: &'static Progress) -> Adapting {
        let first = Routes { separators: Vec::new(), bases: vec![Base::new(class, Tree::new(keypos))] };
        Adapting { routes: Directory::new(&ROUTES_CLASS, slices, first), class }
    }

    /// Number of rows, of different moments if they come and go.
    pub fn row_count(&self) -> usize {
        self.routes.pin().current().bases.iter().map(|base| base.ordered.len()).sum()
    }

    /// Words of all rows, likewise.
    pub fn row_words(&self) -> usize {
        let words: isize = self.routes.pin().current().bases.iter().map(|base| base.ordered.words()).sum();
        // Figures of different moments: less than nothing for one.
        words.try_into().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Strain, Verdict};

    #[test]
    fn what_is_fought_over_is_split_and_what_is_not_is_joined() {
        let strain = Strain::default();
        assert_eq!([true; 4].map(|taken| strain.count(taken)).last(), Some(&Verdict::Split));
        assert!((0..999).all(|_| strain.count(false) == Verdict::Fine));
        assert_eq!((strain.count(false), strain.count(false)), (Verdict::Join, Verdict::Fine));
    }

    #[test]
    fn what_threads_read_in_turns_is_split_and_what_one_reads_is_not() {
        let strain = Strain::default();
        assert!((0..10_000).all(|_| strain.count_read(3) == Verdict::Fine));
        let verdicts: Vec<Verdict> = (0..200).map(|i| strain.count_read(i % 2)).collect();
        assert_eq!(verdicts.iter().filter(|verdict| **verdict == Verdict::Split).count(), 2);
        assert_eq!(verdicts.iter().position(|verdict| *verdict == Verdict::Split), Some(98), "after a hundred turns");
    }
}
