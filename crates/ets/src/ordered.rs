//! A tree of rows, its lock, and what is known of it without one.
//!
//! OR1. The tree is reached with the lock, or by the table's holder while it is inside (ets.table/TB5). To change it, with the lock for
//!      writing or as the holder, which does not reach it twice at a time.

use crate::tree::Tree;
use myriad_sync::atomic::{AtomicIsize, AtomicU32, AtomicUsize, Ordering};
use myriad_sync::{BiasGuard, LockClass, ReadGuard, RwLock, WriteGuard};
use myriad_term::Pid;
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};

/// A tree behind a lock.
pub struct Ordered {
    lock: RwLock<()>,
    /// Which user has used the lock lately.
    pub claim: Claim,
    tree: UnsafeCell<Tree>,
    rows: AtomicUsize,
    words: AtomicIsize,
}

/// Which user uses a lock, and how often in a row: a rough figure, in the lock's line of the cache.
#[derive(Default)]
pub struct Claim(AtomicU32);

impl Claim {
    /// Counts a use; gives how many in a row that makes (of processes whose numbers end alike), 65,535 at most.
    #[inline(always)]
    pub fn count(&self, user: Pid) -> u32 {
        let mine = user.number() << 16;
        // Relaxed: a figure; when several come at once a use may get lost.
        let seen = self.0.load(Ordering::Relaxed);
        let uses = if seen >> 16 << 16 == mine { (seen & 0xFFFF) + 1 } else { 1 };
        let uses = uses.min(0xFFFF);
        debug_assert!(uses > 0 && mine & uses == 0, "a count runs into the number of its process");
        self.0.store(mine | uses, Ordering::Relaxed);
        uses
    }
}

// SAFETY: OR1.
unsafe impl Sync for Ordered {}

/// By what right one is at the rows of a table.
pub enum Right<'a, G> {
    /// As its holder.
    Holder(#[allow(dead_code, reason = "held, and dropped at the end")] BiasGuard<'a>),
    /// With a lock.
    Lock(#[allow(dead_code, reason = "held, and dropped at the end")] G),
}

/// The right to read.
pub type Reader<'a> = Right<'a, ReadGuard<'a, ()>>;
/// The right to read and write.
pub type Writer<'a> = Right<'a, WriteGuard<'a, ()>>;

/// The tree with a right to read it, which ends when this is dropped.
pub struct ReadTree<'a> {
    tree: &'a Tree,
    right: Reader<'a>,
}

/// The tree with a right to write it; when this is dropped its figures are stored.
pub struct WriteTree<'a> {
    at: &'a Ordered,
    tree: &'a mut Tree,
    right: Writer<'a>,
}

impl Ordered {
    /// A lock for this tree.
    pub fn new(class: &'static LockClass, tree: Tree) -> Ordered {
        Ordered {
            lock: RwLock::new(class, ()),
            claim: Claim::default(),
            rows: AtomicUsize::new(tree.len()),
            words: AtomicIsize::new(tree.words()),
            tree: UnsafeCell::new(tree),
        }
    }

    /// The lock of the tree; the holder of the table needs none (ets.table/TB5).
    #[inline]
    pub fn lock(&self) -> &RwLock<()> {
        &self.lock
    }

    /// To read it.
    ///
    /// # Safety
    /// OR1: the right is one to this tree.
    #[inline]
    pub unsafe fn read<'a>(&'a self, right: Reader<'a>) -> ReadTree<'a> {
        // SAFETY: OR1: no thread writes as long as the right lasts, which is in what is given.
        let tree = unsafe { &*self.tree.get() };
        debug_assert_eq!(self.len(), tree.len(), "OR1: another thread is writing");
        ReadTree { tree, right }
    }

    /// To write it.
    ///
    /// # Safety
    /// OR1: the right is one to this tree.
    #[inline]
    pub unsafe fn write<'a>(&'a self, right: Writer<'a>) -> WriteTree<'a> {
        // SAFETY: OR1: no other thread reads or writes as long as the right lasts.
        let tree = unsafe { &mut *self.tree.get() };
        debug_assert_eq!(self.len(), tree.len(), "OR1: another thread is writing");
        WriteTree { at: self, tree, right }
    }

    /// Number of rows.
    #[allow(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        // Relaxed: a figure.
        self.rows.load(Ordering::Relaxed)
    }

    /// Words of all rows, as [`Tree::words`] counts them.
    pub fn words(&self) -> isize {
        // Relaxed: a figure.
        self.words.load(Ordering::Relaxed)
    }
}

impl ReadTree<'_> {
    /// Is it read by the table's holder, and not with the lock?
    #[inline]
    pub fn is_holders(&self) -> bool {
        matches!(self.right, Right::Holder(_))
    }
}

impl Deref for ReadTree<'_> {
    type Target = Tree;
    #[inline]
    fn deref(&self) -> &Tree {
        self.tree
    }
}

impl Deref for WriteTree<'_> {
    type Target = Tree;
    #[inline]
    fn deref(&self) -> &Tree {
        self.tree
    }
}

impl DerefMut for WriteTree<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Tree {
        self.tree
    }
}

impl WriteTree<'_> {
    /// Is it written by the table's holder, and not with the lock?
    #[inline]
    pub fn is_holders(&self) -> bool {
        matches!(self.right, Right::Holder(_))
    }
}

impl Drop for WriteTree<'_> {
    #[inline]
    fn drop(&mut self) {
        // Relaxed: figures, which only a thread that may write the tree writes.
        self.at.rows.store(self.tree.len(), Ordering::Relaxed);
        self.at.words.store(self.tree.words(), Ordering::Relaxed);
    }
}
