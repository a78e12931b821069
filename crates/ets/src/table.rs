//! A table: what it is, who may use it, and its rows behind their locks.
//!
//! Hash tables have one shard, or several with `write_concurrency`; the shard of a key follows from the low bits of its hash.
//! Each shard has a readers-writer lock. An ordered set is one tree behind one.
//!
//! TB1. `deleted` is set before the rows are taken out; whoever has taken a lock looks at it first, so that nobody sees or
//!      fills the remains of a deleted table.
//! TB2. Several shards are locked in the order of their numbers.
//! TB3. `fixed` counts who holds rows in place (fixations, traversals under way). It is read under the shard's lock. Whoever
//!      brings it to zero purges each shard under its lock, and only while it is still zero.

use crate::hash::{Fixed, Shard};
use crate::row::Row;
use crate::tree::Tree;
use myriad_heap::Fragment;
use myriad_sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use myriad_sync::{CachePadded, LockClass, Mutex, ReadGuard, RwLock, WriteGuard};
use myriad_term::hash::table_hash;
use myriad_term::{Atom, Pid, RefNumbers, Term};
use std::collections::BTreeMap;

static ROWS_CLASS: LockClass = LockClass::nested("db_tab", 720);
static HEIR_CLASS: LockClass = LockClass::new("db_tab_heir", 715);
static FIX_CLASS: LockClass = LockClass::new("db_tab_fix", 730);

/// The four types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `set`
    Set,
    /// `ordered_set`
    OrderedSet,
    /// `bag`
    Bag,
    /// `duplicate_bag`
    DuplicateBag,
}

/// Who may read and write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protection {
    /// The owner only.
    Private,
    /// All read, the owner writes.
    Protected,
    /// All.
    Public,
}

/// `write_concurrency`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteConcurrency {
    /// `false`
    No,
    /// `true`
    Yes,
    /// `auto`
    Auto,
    /// `{debug_hash_fixed_number_of_locks, N}`, as a power of two.
    Shards(u32),
}

/// The options of `ets:new/2` that stay as they are.
#[derive(Clone, Copy)]
pub struct Options {
    /// Type.
    pub kind: Kind,
    /// Position of the key, counted from 0.
    pub keypos: usize,
    /// Known by its name.
    pub named: bool,
    /// `read_concurrency`
    pub read_concurrency: bool,
    /// `write_concurrency`
    pub write_concurrency: WriteConcurrency,
    /// `decentralized_counters`
    pub decentralized_counters: bool,
    /// `compressed`
    pub compressed: bool,
}

/// Who inherits the table.
pub enum Heir {
    /// Nobody.
    None,
    /// This process, with this data.
    Process(Pid, Term, Option<Fragment>),
}

/// Who fixes the table, and since when.
#[derive(Default)]
pub struct Fixations {
    /// Monotonic time of the first fixation.
    pub since: i64,
    /// How many times each process fixes it.
    pub by: BTreeMap<Pid, usize>,
}

/// Where the rows are.
pub enum Store {
    /// A power of two of shards.
    Hash(Box<[CachePadded<RwLock<Shard>>]>),
    /// A tree.
    Tree(RwLock<Tree>),
}

/// A table.
pub struct Table {
    /// The numbers of its identifier.
    pub numbers: RefNumbers,
    /// What it is.
    pub options: Options,
    /// Rows.
    pub store: Store,
    /// Who inherits it.
    pub heir: Mutex<Heir>,
    /// Who fixes it.
    pub fixations: Mutex<Fixations>,
    name: AtomicU32,
    owner: AtomicU64,
    protection: AtomicU32,
    fixed: AtomicUsize,
    deleted: AtomicBool,
}

/// The table has been deleted.
pub struct Gone;

/// Shards of a table with `write_concurrency`, as a power of two.
const SHARDS: u32 = 6;

impl Table {
    /// An empty table.
    pub fn new(numbers: RefNumbers, name: Atom, owner: Pid, protection: Protection, options: Options) -> Table {
        let store = match options.kind {
            Kind::OrderedSet => Store::Tree(RwLock::new(&ROWS_CLASS, Tree::new(options.keypos))),
            _ => {
                let shift = match options.write_concurrency {
                    WriteConcurrency::No => 0,
                    WriteConcurrency::Yes | WriteConcurrency::Auto => SHARDS,
                    WriteConcurrency::Shards(shift) => shift,
                };
                let shard = |_| CachePadded::new(RwLock::new(&ROWS_CLASS, Shard::new(shift, options.keypos)));
                Store::Hash((0..1usize << shift).map(shard).collect())
            }
        };
        Table {
            numbers,
            options,
            store,
            heir: Mutex::new(&HEIR_CLASS, Heir::None),
            fixations: Mutex::new(&FIX_CLASS, Fixations::default()),
            name: AtomicU32::new(name.index()),
            owner: AtomicU64::new(owner.data()),
            protection: AtomicU32::new(protection as u32),
            fixed: AtomicUsize::new(0),
            deleted: AtomicBool::new(false),
        }
    }

    /// Its name (known by it or not).
    pub fn name(&self) -> Atom {
        // Relaxed: the registry's lock orders names.
        Atom::from_index(self.name.load(Ordering::Relaxed))
    }

    /// Sets the name.
    pub fn set_name(&self, name: Atom) {
        // Relaxed: as above.
        self.name.store(name.index(), Ordering::Relaxed);
    }

    /// The owner.
    #[inline]
    pub fn owner(&self) -> Pid {
        // Relaxed: a process sees its own giving and taking in order; the message that tells of it orders the rest.
        Pid::from_data(self.owner.load(Ordering::Relaxed))
    }

    /// Sets the owner.
    pub fn set_owner(&self, owner: Pid) {
        // Relaxed: as above.
        self.owner.store(owner.data(), Ordering::Relaxed);
    }

    /// Who may use it.
    #[inline]
    pub fn protection(&self) -> Protection {
        // Relaxed: set by the owner, before it gives the table away or tells others of it.
        match self.protection.load(Ordering::Relaxed) {
            0 => Protection::Private,
            1 => Protection::Protected,
            _ => Protection::Public,
        }
    }

    /// Sets who may use it.
    pub fn set_protection(&self, protection: Protection) {
        // Relaxed: as above.
        self.protection.store(protection as u32, Ordering::Relaxed);
    }

    /// Has it been deleted?
    #[inline]
    pub fn is_deleted(&self) -> bool {
        // Relaxed: the shards' locks order it with the rows (TB1).
        self.deleted.load(Ordering::Relaxed)
    }

    /// Marks it as deleted; `false` if it was so already.
    pub fn set_deleted(&self) -> bool {
        // Relaxed: as above; only one of several deleters gets `true`.
        !self.deleted.swap(true, Ordering::Relaxed)
    }

    /// The hash of a key; 0 in ordered sets.
    #[inline]
    pub fn hash(&self, key: Term) -> u32 {
        if self.options.kind == Kind::OrderedSet { 0 } else { table_hash(key) }
    }

    /// Are rows to stay in place now (S3)?
    #[inline]
    pub fn fixed(&self) -> Fixed {
        // Relaxed: read under a shard's lock (TB3).
        if self.fixed.load(Ordering::Relaxed) > 0 { Fixed::Yes } else { Fixed::No }
    }

    /// Keeps rows in place until [`Table::unfix`].
    pub fn fix(&self) {
        // AcqRel: before any shard's lock that the traversal takes from now on.
        self.fixed.fetch_add(1, Ordering::AcqRel);
    }

    /// Takes `times` calls of [`Table::fix`] back.
    pub fn unfix(&self, times: usize) {
        // AcqRel: the purge sees all hiding that saw the fixation, by the shards' locks.
        if self.fixed.fetch_sub(times, Ordering::AcqRel) != times {
            return;
        }
        if let Store::Hash(shards) = &self.store {
            for shard in shards {
                if shard.read().hidden() == 0 {
                    continue;
                }
                let mut shard = shard.write();
                if self.fixed() == Fixed::No {
                    shard.purge();
                }
            }
        }
    }

    fn alive<T>(&self, guard: T) -> Result<T, Gone> {
        if self.is_deleted() { Err(Gone) } else { Ok(guard) }
    }

    /// The shard of a hash, to read.
    #[inline]
    pub fn read_shard<'a>(
        &self,
        shards: &'a [CachePadded<RwLock<Shard>>],
        hash: u32,
    ) -> Result<ReadGuard<'a, Shard>, Gone> {
        self.alive(shards[hash as usize & (shards.len() - 1)].read())
    }

    /// The shard of a hash, to write.
    #[inline]
    pub fn write_shard<'a>(
        &self,
        shards: &'a [CachePadded<RwLock<Shard>>],
        hash: u32,
    ) -> Result<WriteGuard<'a, Shard>, Gone> {
        self.alive(shards[hash as usize & (shards.len() - 1)].write())
    }

    /// All shards, to write (TB2).
    pub fn write_all<'a>(&self, shards: &'a [CachePadded<RwLock<Shard>>]) -> Result<Vec<WriteGuard<'a, Shard>>, Gone> {
        let guards: Vec<_> = shards.iter().map(|s| s.write()).collect();
        self.alive(guards)
    }

    /// The tree, to read.
    #[inline]
    pub fn read_tree<'a>(&self, tree: &'a RwLock<Tree>) -> Result<ReadGuard<'a, Tree>, Gone> {
        self.alive(tree.read())
    }

    /// The tree, to write.
    #[inline]
    pub fn write_tree<'a>(&self, tree: &'a RwLock<Tree>) -> Result<WriteGuard<'a, Tree>, Gone> {
        self.alive(tree.write())
    }

    /// Calls `each` with the visible rows of a key, the newest first, under the lock.
    #[inline]
    pub fn with_rows<R>(&self, key: Term, each: impl FnOnce(&mut dyn Iterator<Item = Row>) -> R) -> Result<R, Gone> {
        match &self.store {
            Store::Hash(shards) => {
                let hash = table_hash(key);
                let shard = self.read_shard(shards, hash)?;
                Ok(each(&mut shard.rows_of(hash, key)))
            }
            Store::Tree(tree) => Ok(each(&mut self.read_tree(tree)?.row_of(key).into_iter())),
        }
    }

    /// The visible row of a key in a set (of a bag, the newest), under the lock.
    #[inline]
    pub fn with_row<R>(&self, key: Term, f: impl FnOnce(Option<Row>) -> R) -> Result<R, Gone> {
        match &self.store {
            Store::Hash(shards) => {
                let hash = table_hash(key);
                let shard = self.read_shard(shards, hash)?;
                Ok(f(shard.row_of(hash, key)))
            }
            Store::Tree(tree) => Ok(f(self.read_tree(tree)?.row_of(key))),
        }
    }

    /// Number of visible rows.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        match &self.store {
            Store::Hash(shards) => shards.iter().map(|s| s.read().len()).sum(),
            Store::Tree(tree) => tree.read().len(),
        }
    }

    /// Words that the table and its rows take, where the table itself is counted as OTP counts its own: a block for the
    /// table, one for each lock, one for counters that are spread.
    pub fn words(&self) -> usize {
        let spread = if self.options.decentralized_counters { 34 } else { 0 };
        match &self.store {
            Store::Hash(shards) => {
                let locks = if shards.len() == 1 { 0 } else { 32 + shards.len() * 16 };
                shards.iter().map(|s| s.read()).map(|s| s.words() + s.own_words()).sum::<usize>() + 49 + locks + spread
            }
            Store::Tree(tree) => {
                let own = if self.options.write_concurrency == WriteConcurrency::No { 139 } else { 99 + spread };
                tree.read().words() + own
            }
        }
    }

    /// Takes all rows out, to be freed by the caller without a lock; gives how many visible rows there were.
    pub fn take_all(&self) -> (Vec<Option<Row>>, usize) {
        match &self.store {
            Store::Hash(shards) => {
                let (mut chains, mut count) = (Vec::new(), 0);
                for shard in shards {
                    let (buckets, rows) = shard.write().take_all();
                    count += rows;
                    if chains.is_empty() { chains = buckets } else { chains.extend(buckets) }
                }
                (chains, count)
            }
            Store::Tree(tree) => {
                let rows = tree.write().take_all();
                let count = rows.len();
                (rows, count)
            }
        }
    }
}
