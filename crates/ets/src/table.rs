//! A table: what it is, which processes may use it, and its rows behind their locks.
//!
//! Hash tables have one shard, or several where they are fought over or with `write_concurrency` ([`crate::shard_map`]); the shard of a key follows from
//! the low bits of its hash. Each shard has a readers-writer lock. An ordered set is one tree behind one, whose readers are spread over lines of
//! their own where several threads read ([`myriad_sync::group_rwlock`]): from the second one on with `read_concurrency`, otherwise as long as that costs
//! fewer lines than writes then do. With `write_concurrency` there are several trees, whose number follows how much they are fought over
//! ([`crate::adapting`]); and rows of hash tables are read without a lock. So there `read_concurrency` has nothing to add. Three ways lead to the rows:
//!
//! | way | for | costs |
//! | --- | --- | --- |
//! | an optimistic read ([`Table::look_at`]) | a key of a hash table, by a process on a normal scheduler | loads alone |
//! | as the holder, inside ([`BiasGuard`]) | a process that has been alone in using the table for long | plain loads and stores |
//! | a lock | all else, and reads into which a write fell | a shared word is written |
//!
//! # An optimistic read
//!
//! ```text
//!    reader                                          writer, with the lock or as the holder inside
//!    ------                                          ---------------------------------------------
//!    has it come already? (TB4)                      has it come already? (TB4)
//!    sequence number: even?                          sequence number: odd
//!      follows bucket, links, rows                     links a row, unlinks one, splits a bucket
//!      copies a row to its own heap
//!    sequence number: the same?                      sequence number: even
//!      no: takes the lock, reads once more           hands over what it unlinked:
//!    is the table deleted? (TB1)                       freed at once, if the writer is the table's one user;
//!    end of the slice: may look no more                else after a grace period of the normal schedulers
//! ```
//!
//! 1. *What is followed is never wild.* A link is stored with Release after the row that it leads to is filled, and loaded with Acquire
//!    (ets.row/R3). A row that has been unlinked keeps its link and its words until it is freed, so a reader that stands on it comes back
//!    to a chain, perhaps another one than it began with; steps are counted, so that a chain that changes all the time has an end.
//! 2. *What is read belongs together*: that is what the sequence number says (ets.hash/S4; sync.seqlock/Q2). If a write fell into
//!    the read, its result is thrown away, and the read is repeated once, with the lock: a reader is not kept waiting by a stream of
//!    writers. The copy on the reader's heap is garbage then, and complete as a term, since rows are terms at any time (ets.row/R3).
//! 3. *What is read is not freed under the reader* (ets.hash/S5). A reader stays on its scheduler, within one call of a built-in, so
//!    the end of its slice is a quiescent state; the domain is `Vm::slices`, without the dirty schedulers.
//! 4. *What is read is of this table's life*: after the read the tombstone says whether the table was deleted (TB1).
//!
//! TB1. `deleted` is set before the rows are taken out; a thread that has taken a lock, or has read without one, looks at it
//!      afterwards, so that none sees or fills the remains of a deleted table ([`Tombstone`]).
//! TB2. Several shards are locked in the order of their ranks, several trees in the order of their keys.
//! TB3. `fixed` counts what holds rows in place (fixations, traversals under way). It is read under the shard's lock. The thread that
//!      brings it to zero purges each shard under its lock, and only while it is still zero.
//! TB4. Without a lock only a process on a normal scheduler reads, and never beyond one call of a built-in. As long as one process
//!      alone has written or has read so, what leaves the table is freed at once when that process writes; otherwise when all
//!      normal schedulers have begun another slice ([`crate::deferred_free`]). [`Sharing`] has the protocol: a second process comes
//!      with all locks held.
//! TB5. A process that has taken a lock so often that its uses reach a threshold becomes the table's holder ([`BiasedLock`]), and takes no
//!      locks until another user wants one. What it does inside stands for what is done under a lock. Optimistic readers need not
//!      know of it: to them it is a writer like others. Tables with several shards have no holder (ets.shard_map/SM4); of several trees there is none as long as they are several; and
//!      nobody becomes the holder while readers are spread.
//!
//! # What was not done
//!
//! - *Readers that take the lock for reading*, as everywhere else: on two cores and more its word is what look-ups of one table wait for.
//! - *Immutable chains, replaced from the changed row to the bucket*, which need no sequence number: each insertion would copy rows, and
//!   splitting a bucket still moves rows to where a reader does not look.
//! - *Hazard pointers, or epochs entered and left at each look-up*: a store and a fence for each, which cost more than the look-up.
//! - *Optimistic reads of ordered sets*: nodes of a B-tree change in place, words that are no atomics. With readers in groups a read writes
//!   a line that its core has; with `write_concurrency` readers of one tree write the word of its lock, and those of different trees do not meet.

use crate::deferred_free::DeferredFree;
use crate::hash::{Chains, Changing, Fixed, Reading, Shard, Writing};
use crate::ordered::{Claim, Ordered, ReadTree, ReadWrite, Reader, Right, WriteTree, Writer};
use crate::routes::Adapting;
use crate::row::{Form, NewRow, Row, RowAddress};
use crate::shard_map::{Rank, Shards};
use crate::store::{Rows, Store, on_store};
use crate::tree::Tree;
use myriad_heap::Payload;
use myriad_sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use myriad_sync::{
    BiasGuard, BiasedLock, CachePadded, LockClass, Mutex, Progress, RwLock, Sharing, Spread, Tombstone, WriteGuard,
    biased_lock,
};
use myriad_term::hash::table_hash;
use myriad_term::{Atom, Pid, RefNumbers, TermRef};
use myriad_vm::{Process, Vm};
use std::cell::{Cell, RefCell};
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

/// Which processes may read and write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protection {
    /// The owner only.
    OwnerState,
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
    /// `decentralized_counters`: only told, for each shard counts what it has in any case.
    pub decentralized_counters: bool,
    /// `compressed`
    pub compressed: bool,
}

/// A process, which another one that gets its pid later is not.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Inheritor {
    /// The pid that the process has, or had.
    pub pid: Pid,
    /// `Process::born`
    pub born: u64,
}

impl Inheritor {
    /// The process that has this pid now.
    pub fn of(vm: &Vm, pid: Pid) -> Option<Inheritor> {
        vm.processes.get(pid).map(|process| Inheritor { pid, born: process.born })
    }

    /// The process, if it is still there.
    pub fn process(self, vm: &Vm) -> Option<&Process> {
        vm.processes.get(self.pid).filter(|process| process.born == self.born)
    }
}

/// The process that inherits the table.
pub enum Heir {
    /// No process inherits it.
    None,
    /// This process, with this data.
    Process(Inheritor, Payload),
}

/// The processes that fix the table, and since when.
#[derive(Default)]
pub struct Fixations {
    /// Monotonic time of the first fixation.
    pub since: i64,
    /// How many times each process fixes it.
    pub by: BTreeMap<Pid, usize>,
}

/// A table: its options, its rows, and what decides about access to them.
pub struct Table {
    /// The numbers of its identifier.
    pub numbers: RefNumbers,
    /// What it is.
    pub options: Options,
    /// Rows.
    pub store: Store,
    /// The process that inherits it.
    pub heir: Mutex<Heir>,
    /// The processes that fix it. In a line of its own, as `fixed` is: a look-up of a key reads the words around.
    pub fixations: CachePadded<Mutex<Fixations>>,
    name: AtomicU32,
    owner: AtomicU64,
    protection: AtomicU32,
    /// TB1.
    deleted: Tombstone,
    /// TB4.
    users: Sharing,
    /// TB5.
    bias: BiasedLock,
    /// After how many uses of a lock in a row a process becomes the holder.
    threshold: AtomicU32,
    slices: &'static Progress,
    /// In a line of its own: traversals write it.
    fixed: CachePadded<AtomicUsize>,
}

/// A user of a table: a process on a normal scheduler, which is on one thread at a time (TB4, TB5). `None`: any other caller, which
/// takes locks.
pub type User = Option<Pid>;

/// The table has been deleted.
pub struct Gone;

/// Uses of a lock after which a process becomes the holder at first: they cost about what ending that costs (a call of the
/// operating system that reaches all cores). It doubles each time, for it is a table of several.
const THRESHOLD: u32 = 500;
/// No number of uses makes a holder.
const NEVER: u32 = u32::MAX;

/// Shards that a table with `write_concurrency` `true` has at first, as a power of two: four for each normal scheduler, but 64 at least, as many as OTP
/// has locks, and 1,024 at most.
fn first_shards(schedulers: usize) -> u32 {
    (4 * schedulers.max(1)).next_power_of_two().ilog2().clamp(6, 10)
}

/// Shards that a table may come to have, as a power of two, where processes fight over them: so many for each normal scheduler that two which write different
/// keys seldom meet (one takes 250 bytes).
fn shards_for(schedulers: usize) -> u32 {
    (128 * schedulers.max(1)).next_power_of_two().ilog2()
}

impl Table {
    /// An empty table, for a VM of so many normal schedulers, whose slices make this progress.
    pub fn new(
        numbers: RefNumbers,
        name: Atom,
        owner: Pid,
        protection: Protection,
        options: Options,
        (schedulers, slices): (usize, &'static Progress),
    ) -> Table {
        debug_assert!(
            options.kind != Kind::OrderedSet || !matches!(options.write_concurrency, WriteConcurrency::Shards(_)),
            "a tree has no shards"
        );
        let store = match (options.kind, options.write_concurrency) {
            (Kind::OrderedSet, WriteConcurrency::No) => {
                let spread = if options.read_concurrency {
                    Spread::AtSecondReader(schedulers)
                } else {
                    Spread::ByLoad(schedulers)
                };
                Store::Tree(Ordered::new(&ROWS_CLASS, spread, Tree::new(options.keypos)))
            }
            (Kind::OrderedSet, _) => Store::Adapting(Adapting::new(&ROWS_CLASS, options.keypos, slices)),
            _ => {
                let most = shards_for(schedulers);
                let (at_first, at_most) = match options.write_concurrency {
                    WriteConcurrency::No | WriteConcurrency::Auto => (0, most),
                    WriteConcurrency::Yes => (first_shards(schedulers), most),
                    WriteConcurrency::Shards(shift) => (shift, shift),
                };
                let divides_for_turns = options.write_concurrency != WriteConcurrency::No;
                Store::Hash(Shards::new(&ROWS_CLASS, options.keypos, at_first, at_most, divides_for_turns))
            }
        };
        let several = matches!(&store, Store::Hash(shards) if !shards.is_single());
        let threshold = if several || !biased_lock::asymmetric::works() { NEVER } else { THRESHOLD };
        Table {
            numbers,
            options,
            store,
            heir: Mutex::new(&HEIR_CLASS, Heir::None),
            fixations: CachePadded::new(Mutex::new(&FIX_CLASS, Fixations::default())),
            name: AtomicU32::new(name.index()),
            owner: AtomicU64::new(owner.data()),
            protection: AtomicU32::new(protection as u32),
            deleted: Tombstone::new(),
            users: Sharing::new(),
            bias: BiasedLock::new(),
            threshold: AtomicU32::new(threshold),
            slices,
            fixed: CachePadded::new(AtomicUsize::new(0)),
        }
    }

    /// The identities of its locks, but for the trees of a store of several.
    pub fn locks(&self) -> Vec<usize> {
        let locks = RefCell::new(vec![self.heir.identity(), self.fixations.identity()]);
        match &self.store {
            Store::Hash(shards) => {
                shards.sum(|shard| {
                    locks.borrow_mut().push(shard.lock().identity());
                    0
                });
            }
            Store::Tree(tree) => locks.borrow_mut().push(tree.lock().identity()),
            Store::Adapting(_) => {}
        }
        locks.into_inner()
    }

    /// Its name (known by it or not).
    pub fn name(&self) -> Atom {
        // Relaxed: the registry's lock orders names.
        Atom::from_index(self.name.load(Ordering::Relaxed))
    }

    /// Gives the table another name; the registry has to know it too.
    pub fn set_name(&self, name: Atom) {
        // Relaxed: as above.
        self.name.store(name.index(), Ordering::Relaxed);
    }

    /// The process whose end ends the table, unless an heir takes it over.
    #[inline]
    pub fn owner(&self) -> Pid {
        // Relaxed: a process sees its own giving and taking in order; the message by which another process learns of it orders the rest.
        Pid::from_data(self.owner.load(Ordering::Relaxed))
    }

    /// Makes another process the owner; the registry has to know it too.
    pub fn set_owner(&self, owner: Pid) {
        // Relaxed: as above.
        self.owner.store(owner.data(), Ordering::Relaxed);
    }

    /// Which processes may use it.
    #[inline]
    pub fn protection(&self) -> Protection {
        // Relaxed: set by the owner, before it gives the table away or tells others of it.
        match self.protection.load(Ordering::Relaxed) {
            0 => Protection::OwnerState,
            1 => Protection::Protected,
            _ => Protection::Public,
        }
    }

    /// Sets which processes may use it.
    pub fn set_protection(&self, protection: Protection) {
        // Relaxed: as above.
        self.protection.store(protection as u32, Ordering::Relaxed);
    }

    /// Has it been deleted?
    #[inline]
    pub fn is_deleted(&self) -> bool {
        self.deleted.is_set()
    }

    /// Marks it as deleted; `false` if it was already.
    pub fn set_deleted(&self) -> bool {
        self.deleted.set()
    }

    /// What its rows look like.
    #[inline]
    pub fn form(&self) -> Form {
        Form { keypos: self.options.keypos, packed: self.options.compressed }
    }

    /// A row with a copy of a tuple, to be filed under `hash`.
    #[inline]
    pub fn new_row(&self, tuple: TermRef<'_>, hash: u32) -> NewRow {
        NewRow::new(tuple, hash, self.form())
    }

    /// The hash of a key; 0 in ordered sets.
    #[inline]
    pub fn hash(&self, key: TermRef<'_>) -> u32 {
        if self.options.kind == Kind::OrderedSet { 0 } else { table_hash(key) }
    }

    /// Are rows to stay in place now (ets/S3)?
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
    pub fn unfix(&self, user: User, times: usize) {
        // AcqRel: the purge sees all hiding that saw the fixation, by the shards' locks.
        let before = self.fixed.fetch_sub(times, Ordering::AcqRel);
        debug_assert!(times > 0 && before >= times, "TB3: more fixations are taken back than there were");
        if before != times {
            return;
        }
        on_store!(&self.store, rows => rows.purge(self, user));
    }

    /// This, unless the table has been deleted. To be asked with a lock, or after an optimistic read (TB1).
    #[inline(always)]
    pub fn alive<T>(&self, guard: T) -> Result<T, Gone> {
        if self.is_deleted() { Err(Gone) } else { Ok(guard) }
    }

    /// May this user look without a lock (TB4)?
    #[inline]
    fn may_read_optimistically(&self, user: User) -> bool {
        let Some(user) = user else { return false };
        if !self.users.admits(user.data()) {
            self.comes(user);
        }
        true
    }

    /// A new user has come.
    #[cold]
    fn comes(&self, user: Pid) {
        on_store!(&self.store, rows => {
            self.users.enter(user.data(), || self.bias.with_lock(|| rows.lock_all()));
        });
        debug_assert!(self.users.admits(user.data()), "TB4: the user has come");
    }

    /// The right of the table's holder (TB5). To be asked for before a lock is taken, and counted as a use of it. `has_all_rows`: is the lock
    /// one that all rows are behind? Asked with the lock held.
    #[inline(always)]
    pub fn enter<'a>(
        &'a self,
        user: User,
        lock: &impl ReadWrite,
        claim: &Claim,
        has_all_rows: impl Fn() -> bool,
    ) -> Option<BiasGuard<'a>> {
        let user = user?;
        // SAFETY: only the thread that runs this process at the moment calls it the user.
        if let Some(inside) = unsafe { self.bias.enter(user.data()) } {
            debug_assert!(has_all_rows(), "TB5: a table with several shards has no holder");
            return Some(inside);
        }
        // Relaxed: a figure. Where nobody becomes the holder uses are not counted: the lock's line, which another core may have, is then first
        // touched by taking the lock, and comes once, to be written; or it is not written at all.
        let threshold = self.threshold.load(Ordering::Relaxed);
        if threshold == NEVER || lock.is_spread() || claim.count(user) < threshold {
            return None;
        }
        self.claim(user, lock, &has_all_rows)
    }

    /// A user has taken the lock often enough to become the holder (TB5).
    #[cold]
    fn claim(&self, user: Pid, lock: &impl ReadWrite, has_all_rows: &dyn Fn() -> bool) -> Option<BiasGuard<'_>> {
        let guard = self.bias.with_lock(|| lock.write());
        // SAFETY: the lock of all rows is held for writing.
        if has_all_rows() && unsafe { self.bias.grant(user.data()) } {
            // Relaxed: written under the lock, and a figure to others. A claim does not count beyond two bytes.
            let threshold = self.threshold.load(Ordering::Relaxed).saturating_mul(2);
            debug_assert!(threshold >= 2 * THRESHOLD, "TB5: each holder pays more than the one before");
            self.threshold.store(if threshold > 0xFFFF { NEVER } else { threshold }, Ordering::Relaxed);
        }
        drop(guard);
        // SAFETY: only the thread that runs this process at the moment calls it the user.
        unsafe { self.bias.enter(user.data()) }
    }

    /// Takes a lock so that there is no holder beside it (TB5).
    #[inline(always)]
    pub fn without_holder<G>(&self, lock: impl Fn() -> G) -> G {
        self.bias.with_lock(lock)
    }

    /// The right to read what is behind the lock of all rows.
    #[inline(always)]
    fn reader<'a, L: ReadWrite>(&'a self, user: User, lock: &'a L, claim: &Claim) -> Reader<'a, L> {
        match self.enter(user, lock, claim, || true) {
            Some(inside) => Right::Holder(inside),
            None => Right::Lock(self.without_holder(|| lock.read())),
        }
    }

    /// The right to write what is behind the lock of all rows.
    #[inline(always)]
    fn writer<'a, L: ReadWrite>(&'a self, user: User, lock: &'a L, claim: &Claim) -> Writer<'a, L> {
        match self.enter(user, lock, claim, || true) {
            Some(inside) => Right::Holder(inside),
            None => Right::Lock(self.without_holder(|| lock.write())),
        }
    }

    /// The right to read a shard.
    #[inline(always)]
    fn shard_reader<'a>(&'a self, user: User, shard: &'a Shard) -> Reader<'a, RwLock<()>> {
        match self.enter_shard(user, shard) {
            Some(inside) => Right::Holder(inside),
            None => Right::Lock(self.without_holder(|| shard.lock().read())),
        }
    }

    /// The right of the table's holder to a shard.
    #[inline(always)]
    fn enter_shard<'a>(&'a self, user: User, shard: &'a Shard) -> Option<BiasGuard<'a>> {
        self.enter(user, shard.lock(), &shard.claim, || shard.depth() == 0)
    }

    /// Takes a shard's lock to write it; says whether another thread had it.
    #[inline(always)]
    fn lock_shard<'a>(&'a self, shard: &'a Shard) -> (WriteGuard<'a, ()>, bool) {
        let was_taken = Cell::new(false);
        let lock = || {
            shard.lock().try_write().unwrap_or_else(|| {
                was_taken.set(true);
                shard.lock().write()
            })
        };
        (self.without_holder(lock), was_taken.get())
    }

    /// May another user be reading this table's rows without a lock? To be asked with the lock, or after a write.
    pub fn is_watched(&self, user: User) -> bool {
        user.is_none_or(|user| !self.users.is_exclusive_to(user.data()))
    }

    /// A user comes, if it is one, before it writes (TB4).
    #[inline(always)]
    fn comes_to_write(&self, user: User) {
        if user.is_some() {
            self.may_read_optimistically(user);
        }
    }

    /// A shard whose rows may be changed, with which more may be done.
    #[inline(always)]
    fn writing<'a>(&'a self, shard: Changing<'a>, user: User) -> Writing<'a> {
        debug_assert!(user.is_none_or(|user| self.users.admits(user.data())), "TB4: a user comes before it writes");
        Writing::new(shard, DeferredFree::new(self.slices, !self.is_watched(user)))
    }

    /// The shard of a hash, to write, whether the table is deleted or not.
    pub fn write_any<'a>(&'a self, user: User, shards: &'a Shards, hash: u32) -> Writing<'a> {
        self.comes_to_write(user);
        loop {
            let shard = shards.of(hash);
            let right = match self.enter_shard(user, shard) {
                Some(inside) => Right::Holder(inside),
                None => Right::Lock(self.lock_shard(shard).0),
            };
            if shard.has(hash) {
                // SAFETY: it is the right to this shard.
                return self.writing(unsafe { shard.write(right) }, user);
            }
        }
    }

    /// The shard of a hash, to read, whether the table is deleted or not.
    #[inline]
    pub fn read_any<'a>(&'a self, user: User, shards: &'a Shards, hash: u32) -> Reading<'a> {
        debug_assert!(self.options.kind != Kind::OrderedSet, "an ordered set has no shards");
        loop {
            let shard = shards.of(hash);
            let shard = shard.read(self.shard_reader(user, shard));
            if shard.has(hash) {
                return shard;
            }
        }
    }

    /// The shard of a hash, to read.
    #[inline]
    pub fn read_shard<'a>(&'a self, user: User, shards: &'a Shards, hash: u32) -> Result<Reading<'a>, Gone> {
        self.alive(self.read_any(user, shards, hash))
    }

    /// Looks at the shard of a hash, without its lock if possible: `look` may be run several times, and only what it gave
    /// last counts.
    #[inline(always)]
    pub fn look_at<R>(
        &self,
        user: User,
        shards: &Shards,
        hash: u32,
        mut look: impl FnMut(&Shard) -> R,
    ) -> Result<R, Gone> {
        let shard = shards.of(hash);
        // Whether it has the hash is looked at in between, so that the sequence number covers that, too.
        if self.may_read_optimistically(user)
            && let Some(Some(found)) = shard.read_optimistically(|shard| shard.has(hash).then(|| look(shard)))
        {
            // Looked at afterwards: TB1.
            return self.alive(found);
        }
        self.look_with_lock(user, shards, hash, look)
    }

    #[inline(never)]
    fn look_with_lock<R>(
        &self,
        user: User,
        shards: &Shards,
        hash: u32,
        mut look: impl FnMut(&Shard) -> R,
    ) -> Result<R, Gone> {
        let shard = self.read_shard(user, shards, hash)?;
        Ok(look(&shard))
    }

    /// The shard of a hash, to change rows in place. Divides it first, if it is fought over.
    #[inline(always)]
    pub fn change_shard<'a>(&'a self, user: User, shards: &'a Shards, hash: u32) -> Result<Changing<'a>, Gone> {
        self.comes_to_write(user);
        loop {
            let shard = shards.of(hash);
            if let Some(inside) = self.enter_shard(user, shard) {
                // It is the only one, and nobody fights over it (ets.shard_map/SM4).
                self.alive(())?;
                // SAFETY: it is the right to this shard.
                return Ok(unsafe { shard.write(Right::Holder(inside)) });
            }
            let (guard, was_taken) = self.lock_shard(shard);
            self.alive(())?;
            // SAFETY: it is the right to this shard.
            let changing = |guard| unsafe { shard.write(Right::Lock(guard)) };
            if shards.is_fought_over(shard, was_taken) {
                self.divide(shards, &mut self.writing(changing(guard), user));
            } else if shard.has(hash) {
                return Ok(changing(guard));
            }
        }
    }

    /// The shard of a hash, to write, likewise.
    #[inline(always)]
    pub fn write_shard<'a>(&'a self, user: User, shards: &'a Shards, hash: u32) -> Result<Writing<'a>, Gone> {
        Ok(self.writing(self.change_shard(user, shards, hash)?, user))
    }

    /// Divides a shard, if that may be (ets.shard_map/SM2).
    #[cold]
    pub fn divide(&self, shards: &Shards, shard: &mut Writing<'_>) {
        if shard.is_holders() || self.fixed() == Fixed::Yes || shard.hidden() > 0 {
            return;
        }
        // Relaxed: a figure; that there is no holder of several shards follows from their depth (ets.shard_map/SM4).
        // Written once: all look-ups read its line.
        if self.threshold.load(Ordering::Relaxed) != NEVER {
            self.threshold.store(NEVER, Ordering::Relaxed);
        }
        shards.divide(shard);
    }

    /// All shards, to write, by their ranks (TB2), whether the table is deleted or not.
    pub fn write_all<'a>(&'a self, user: User, shards: &'a Shards) -> Result<Vec<Writing<'a>>, Gone> {
        let mut guards: Vec<Writing<'a>> = Vec::new();
        let mut next = Some(Rank::FIRST);
        while let Some(rank) = next {
            let shard = self.write_any(user, shards, shards.hash_at(rank));
            next = shards.after(&shard);
            guards.push(shard);
        }
        self.alive(guards)
    }

    /// Goes through all shards to write them, one at a time.
    pub fn each_to_write<'a>(&'a self, user: User, shards: &'a Shards, mut each: impl FnMut(Writing<'a>)) {
        let mut next = Some(Rank::FIRST);
        while let Some(rank) = next {
            let shard = self.write_any(user, shards, shards.hash_at(rank));
            next = shards.after(&shard);
            each(shard);
        }
    }

    /// Goes through all shards to read them, one at a time.
    pub fn each_to_read(&self, user: User, shards: &Shards, mut each: impl FnMut(&Reading<'_>)) {
        let mut next = Some(Rank::FIRST);
        while let Some(rank) = next {
            let shard = self.read_any(user, shards, shards.hash_at(rank));
            next = shards.after(&shard);
            each(&shard);
        }
    }

    /// The tree of an ordered set, with a right to read it.
    #[inline]
    pub fn read_tree<'a>(&'a self, user: User, tree: &'a Ordered) -> Result<ReadTree<'a>, Gone> {
        debug_assert!(self.options.kind == Kind::OrderedSet, "only an ordered set has a tree");
        // SAFETY: it is the right to this tree.
        self.alive(unsafe { tree.read(self.reader(user, tree.lock(), tree.lock().beside())) })
    }

    /// The tree, to write, whether the table is deleted or not.
    #[inline(always)]
    pub fn write_any_tree<'a>(&'a self, user: User, tree: &'a Ordered) -> WriteTree<'a> {
        debug_assert!(self.options.kind == Kind::OrderedSet, "only an ordered set has a tree");
        // SAFETY: it is the right to this tree.
        unsafe { tree.write(self.writer(user, tree.lock(), tree.lock().beside())) }
    }

    /// The tree of an ordered set, with a right to write it.
    #[inline]
    pub fn write_tree<'a>(&'a self, user: User, tree: &'a Ordered) -> Result<WriteTree<'a>, Gone> {
        self.alive(self.write_any_tree(user, tree))
    }

    /// See [`Rows::with_rows`].
    #[inline]
    pub fn with_rows<R>(
        &self,
        user: User,
        key: TermRef<'_>,
        each: impl FnMut(&mut dyn Iterator<Item = Row<'_>>) -> R,
    ) -> Result<R, Gone> {
        on_store!(&self.store, rows => rows.with_rows(self, user, key, each))
    }

    /// See [`Rows::with_rows_once`].
    #[inline]
    pub fn with_rows_once<R>(
        &self,
        user: User,
        key: TermRef<'_>,
        each: impl FnOnce(&mut dyn Iterator<Item = Row<'_>>) -> R,
    ) -> Result<R, Gone> {
        on_store!(&self.store, rows => rows.with_rows_once(self, user, key, each))
    }

    /// See [`Rows::with_row`].
    #[inline(always)]
    pub fn with_row<R>(&self, user: User, key: TermRef<'_>, f: impl FnMut(Option<Row<'_>>) -> R) -> Result<R, Gone> {
        on_store!(&self.store, rows => rows.with_row(self, user, key, f))
    }

    /// How many shards it has; one if it is an ordered set.
    pub fn shard_count(&self) -> usize {
        match &self.store {
            Store::Hash(shards) => shards.number(),
            Store::Tree(_) | Store::Adapting(_) => 1,
        }
    }

    /// Number of visible rows.
    #[allow(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        on_store!(&self.store, rows => rows.count())
    }

    /// Words that the table and its rows take, where the table itself is counted as OTP counts its own: a block for the
    /// table, segments of buckets, each lock, counters that are spread.
    pub fn words(&self) -> usize {
        on_store!(&self.store, rows => rows.footprint(self))
    }

    /// Words of one lock's places for its readers: with many readers each has one.
    pub fn words_for_readers(&self) -> usize {
        if self.options.read_concurrency { 32 } else { 0 }
    }

    /// Words of counters that are spread.
    pub fn words_for_counters(&self) -> usize {
        if self.options.decentralized_counters { 34 } else { 0 }
    }

    /// Takes all rows out, to be freed by the caller without a lock.
    pub fn take_all(&self, user: User) -> Taken {
        on_store!(&self.store, rows => rows.take_all(self, user))
    }
}

/// Rows that have left their table.
#[derive(Default)]
pub struct Taken {
    chains: Vec<Chains>,
    rows: Vec<RowAddress>,
    count: usize,
}

impl Taken {
    /// The rows of hash tables' shards, or of a tree.
    pub fn new(chains: Vec<Chains>, rows: Vec<RowAddress>) -> Taken {
        let of_chains = chains.iter().map(Chains::rows).sum::<isize>();
        debug_assert!(of_chains >= 0, "more rows left than came");
        let count = of_chains.max(0) as usize + rows.len();
        Taken { chains, rows, count }
    }

    /// How many rows there were, hidden ones too.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Frees rows, `limit` at most; gives how many, and is done when that is less than the limit.
    ///
    /// # Safety
    /// TB4: no reader can have them any more.
    pub unsafe fn free(&mut self, limit: usize) -> usize {
        let mut freed = 0;
        while let Some(chains) = self.chains.last_mut() {
            // SAFETY: TB4: the caller promises that no reader can have the rows any more.
            freed += unsafe { chains.free(limit - freed) };
            if freed == limit {
                return freed;
            }
            debug_assert!(freed < limit, "more rows were freed than there was time for");
            self.chains.pop();
        }
        while freed < limit
            && let Some(row) = self.rows.pop()
        {
            // SAFETY: the caller's promise; ets.row/R1.
            unsafe { row.row().free() };
            freed += 1;
        }
        debug_assert!(freed == limit || self.chains.is_empty() && self.rows.is_empty(), "rows are left");
        freed
    }
}

impl Drop for Taken {
    /// Frees what is left; it may be dropped early only if the rows can have no reader.
    fn drop(&mut self) {
        // SAFETY: the rows can have no reader (see the comment of `drop`); the rows of trees are read with their lock only.
        unsafe { self.free(usize::MAX) };
    }
}
