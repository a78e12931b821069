//! A tree of rows, its lock, and what is known of it without one.
//!
//! OR1. The tree is reached with the lock, or by the table's holder while it is inside (ets.table/TB5). To change it, with the lock for
//!      writing or as the holder, which does not reach it twice at a time.

use crate::tree::Tree;
use myriad_sync::atomic::{AtomicIsize, AtomicU32, AtomicUsize, Ordering};
use myriad_sync::{
    BiasGuard, GroupReadGuard, GroupRwLock, GroupWriteGuard, LockClass, ReadGuard, RwLock, Spread, WriteGuard,
};
use myriad_term::Pid;
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};

/// The lock of a tree, and in its line which user has used it lately.
pub type TreeLock = GroupRwLock<(), Claim>;

/// A tree behind a lock.
pub struct Ordered {
    lock: TreeLock,
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
pub type Reader<'a, L> = Right<'a, <L as ReadWrite>::Read<'a>>;
/// The right to read and write.
pub type Writer<'a, L> = Right<'a, <L as ReadWrite>::Write<'a>>;

/// The lock of a tree or of a shard.
pub trait ReadWrite: 'static {
    /// Held by one of several readers.
    type Read<'a>;
    /// Held by a writer.
    type Write<'a>;
    /// Takes it for reading.
    fn read(&self) -> Self::Read<'_>;
    /// Takes it for writing.
    fn write(&self) -> Self::Write<'_>;
    /// Do readers avoid to write what others write? Then their uses are not to be counted, and nobody becomes the holder (ets.table/TB5).
    fn is_spread(&self) -> bool;
}

impl ReadWrite for RwLock<()> {
    type Read<'a> = ReadGuard<'a, ()>;
    type Write<'a> = WriteGuard<'a, ()>;
    #[inline(always)]
    fn read(&self) -> ReadGuard<'_, ()> {
        self.read()
    }
    #[inline(always)]
    fn write(&self) -> WriteGuard<'_, ()> {
        self.write()
    }
    #[inline(always)]
    fn is_spread(&self) -> bool {
        false
    }
}

impl ReadWrite for TreeLock {
    type Read<'a> = GroupReadGuard<'a, ()>;
    type Write<'a> = GroupWriteGuard<'a, ()>;
    #[inline(always)]
    fn read(&self) -> GroupReadGuard<'_, ()> {
        self.read()
    }
    #[inline(always)]
    fn write(&self) -> GroupWriteGuard<'_, ()> {
        self.write()
    }
    #[inline(always)]
    fn is_spread(&self) -> bool {
        self.is_spread()
    }
}

/// The tree with a right to read it, which ends when this is dropped.
pub struct ReadTree<'a> {
    tree: &'a Tree,
    right: Reader<'a, TreeLock>,
}

/// The tree with a right to write it; when this is dropped its figures are stored.
pub struct WriteTree<'a> {
    at: &'a Ordered,
    tree: &'a mut Tree,
    right: Writer<'a, TreeLock>,
}

impl Ordered {
    /// A lock for this tree, whose readers are spread so.
    pub fn new(class: &'static LockClass, spread: Spread, tree: Tree) -> Ordered {
        Ordered {
            lock: GroupRwLock::new(class, spread, ()),
            rows: AtomicUsize::new(tree.len()),
            words: AtomicIsize::new(tree.words()),
            tree: UnsafeCell::new(tree),
        }
    }

    /// The lock of the tree; the holder of the table needs none (ets.table/TB5).
    #[inline]
    pub fn lock(&self) -> &TreeLock {
        &self.lock
    }

    /// To read it.
    ///
    /// # Safety
    /// OR1: the right is one to this tree.
    #[inline]
    pub unsafe fn read<'a>(&'a self, right: Reader<'a, TreeLock>) -> ReadTree<'a> {
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
    pub unsafe fn write<'a>(&'a self, right: Writer<'a, TreeLock>) -> WriteTree<'a> {
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
