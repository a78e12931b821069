//! Synchronisation: the only crate that names atomics, locks or threads (docs/design.md, section 8).
//!
//! The rule: no other crate writes `std::sync`, `core::sync::atomic` or `std::thread`. Whatever they need is
//! here, so that one place decides what an atomic *is*:
//!
//! | back end | chosen by | atomics are | for |
//! | --- | --- | --- | --- |
//! | threads | default | the processor's | production |
//! | single | feature `single` | plain cells, no thread can be started | the cost of parallelism |
//! | sim | feature `sim` | the processor's, each access reported | contention on simulated machines ([`cost`]) |
//! | model | `--cfg loom` | loom's, every interleaving tried | proofs of the lock-free code |
//! | interleaved | `--cfg interleaved` | the processor's, one thread at a time has the turn | drawn interleavings of much code (`interleave`) |
//!
//! The map, lowest first:
//!
//! | module | holds |
//! | --- | --- |
//! | [`atomic`], [`cell`], [`thread`] | the facade; [`statics`] for atomics in statics |
//! | [`pad`], [`slot`], [`counter`], [`backoff`] | cache lines, dense thread numbers, sharded counters, spinning |
//! | [`ledger`], [`peak`] | what came and went, told by the thread that it came by; highest values |
//! | [`class`], [`profile`] | lock classes, their order, and what contends |
//! | [`mutex`], [`rwlock`], [`spin`], [`reactive`], [`mcs`], [`time_published`] | the locks; none is ever poisoned |
//! | [`group_rwlock`], `reader_groups` | a readers-writer lock for many readers, and where they count |
//! | [`biased_lock`] | a lock whose first user goes without it until another user comes |
//! | [`request`] | any thread asks one thread to look at something anew |
//! | [`revocable`] | a value that can be taken away from its user |
//! | [`mailbox`], [`chain`] | what others leave for an object, and which thread owns it; what its owner has taken |
//! | [`turn`] | whose turn it is to work at an object, and operations that wait for theirs |
//! | [`seqlock`], [`sharing`], [`tombstone`] | optimistic reads of what a lock protects; how many users read so; its deletion |
//! | [`directory`] | what leads to locks and is replaced whole |
//! | [`extendible`] | what leads from hashes to parts, of which there become more |
//! | [`count`], [`credits`] | how many hold an object that a table names; references that a thread keeps, for objects that many hold |
//! | [`cost`] | what a simulated machine is told of shared lines and locks |
//! | [`mod@prefetch`] | lines that are about to be read or written, asked for ahead |
//! | [`point`] | where a test driver may let another thread run |
//! | [`witness`] | what a checker of invariants is told |
//! | [`word_claim`] | a right that a word of plain memory stands for |
//! | [`work_list`], [`crew`] | work that several threads share, until none is left; help by those who wait |
//! | [`rcu_table`] | a hash table that is read without a lock |
//! | [`id_table`], [`numbers`], [`snapshots`] | objects by identifiers that rise; these identifiers; which objects there are at one moment |
//! | `futex`, `futex_mutex`, [`parker`], [`progress`], [`table`] | a word to sleep on, mutex and condition over it, sleeping, safe reclamation, grow-only table |
//! | [`marks`] | which things of a group are someone's, and a lock on that |
//! | [`starts`] | where pieces of an address range begin: found from within, also by a signal handler |
//! | [`summons`] | one thread is asked for work that lies under a lock |
//! | [`idle`], [`outside_wait`] | which threads sleep without work, and which of them wait for events: waking as few as possible |
//! | [`safepoint`] | stopping the world |
//! | [`entry_words`] | where code is entered, while several things decide it |
//! | [`announcements`] | which things are announced to go, seen in the same way as long as one looks |
//! | [`exit_flag`] | an object ends while others give it things |
//! | [`pins`] | an object goes, and who reads it for long keeps it from being freed |
//! | [`published`] | an object that is published once |
//! | [`machine`], [`memory`] | the processors: where each is, which may be used, how much of their time there is; how much memory there could still be |
//!
//! # Store, then look
//!
//! Several protocols of this crate have one shape. Two threads share two words. Each stores one of them and then looks at the
//! other, and it must not happen that both miss what the other has stored (the core of Dekker's algorithm; as a litmus test it
//! is called store buffering):
//!
//! ```text
//!    one thread        another thread
//!    a.store(1)        b.store(1)
//!    fence(SeqCst)     fence(SeqCst)
//!    b.load()          a.load()            not 0 and 0
//! ```
//!
//! SL1. All SeqCst fences of a program have one order. Of two of them the later one's thread sees, in what it looks at afterwards,
//!      all that the earlier one's thread had stored before its own. So at least one of the two threads sees the other.
//!
//! Release and Acquire are not enough: they order what follows once a store *has been seen*, and here neither may have been. Nor
//! is it only a matter of the language: on x86, too, a store waits in its core's buffer while the load behind it is served.
//! SeqCst stores and loads would do for the two words themselves. But what is looked at is often somebody else's and stored by
//! plain means (the length of a run queue, a list behind a lock), and a fence covers all of it. Where both sides can
//! read-modify-write *one* word no fence is needed, since that word has one order ([`mailbox`], [`parker`]).
//!
//! | type | one side stores, then looks at | the other side stores, then looks at |
//! | --- | --- | --- |
//! | [`IdleSet`] | "I am idle", the queues | work in a queue, the idle workers |
//! | [`Safepoint`] | "I run on", the requests | a request, the stopped mutators |
//! | [`OutsideWait`] | "I wait outside", its notices | a notice, whether it waits there |
//! | [`ExitFlag`] | "it ends", what it was given | a gift, the flag |
//! | [`Pins`] | "it goes", the pins | a pin, "it goes" |
//! | [`BiasedLock`] | "I am inside", the holder | "no holder any more", who is inside |
//! | [`Progress`] | "I am inside", shared structures | an object unlinked, the threads inside |
//! | [`Peak`] | a limit, the era | an era, a limit |
//!
//! Such protocols are found in this crate only. Each is a type whose methods hold store and fence together, so that a caller cannot
//! leave the fence out, and has a model that fails without it.
//!
//! # Locks and tests
//!
//! Every blocking lock has a [`LockClass`]; debug builds panic when a thread takes locks against the order of
//! their classes. Two kinds of test stand beside the code:
//!
//! ```text
//! cargo test -p myriad-sync                                       unit and stress tests, lock order on
//! cargo test -p myriad-sync --features single -- --test-threads=1 the same without atomics
//! RUSTFLAGS="--cfg loom" cargo test -p myriad-sync --release loom the models (`loom_tests` beside each structure)
//! make interleave                                                 drawn interleavings, of crate `sched` above all
//! cargo +nightly miri test -p myriad-sync                         undefined behaviour
//! make tsan                                                       data races of the whole VM, at its interfaces for C
//! ```
//!
//! Under `--cfg loom` nothing of the facade can be built in a `const`, so no lock or atomic of it can be a plain
//! static: use [`OnceLock`], or, for statistics that no algorithm depends on, [`statics`].

/// Do runs repeat exactly, on a simulated machine or in an interleaving that a seed draws? Then nothing may be left to chance.
pub const REPEATS: bool = cfg!(any(feature = "sim", interleaved));

/// A `const fn`, except under `--cfg loom`, whose objects register themselves with the running model.
macro_rules! const_unless_loom {
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => {
        #[cfg(not(loom))]
        $(#[$meta])*
        $vis const fn $($rest)*
        #[cfg(loom)]
        $(#[$meta])*
        $vis fn $($rest)*
    };
}

/// An Acquire fence, which pairs with the Release of whoever stored what the caller has read in this atomic.
#[cfg(not(thread_sanitizer))]
macro_rules! acquire_fence {
    ($word:expr) => {
        $crate::atomic::fence($crate::atomic::Ordering::Acquire)
    };
}
/// The same, as the thread sanitizer sees it.
#[cfg(thread_sanitizer)]
macro_rules! acquire_fence {
    ($word:expr) => {
        $word.load($crate::atomic::Ordering::Acquire)
    };
}

mod backend;

pub mod announcements;
pub mod backoff;
pub mod biased_lock;
pub mod bits;
pub mod chain;
pub mod class;
pub mod cost;
pub mod count;
pub mod counter;
pub mod credits;
pub mod crew;
pub mod directory;
pub mod entry_words;
pub mod exit_flag;
pub mod extendible;
mod futex;
#[cfg(any(loom, interleaved, all(target_os = "linux", not(feature = "single"))))]
#[cfg_attr(
    loom,
    allow(
        dead_code,
        reason = "the locks of a model are loom's: the tests of this module alone use it, and not all of it"
    )
)]
mod futex_mutex;
pub mod group_rwlock;
pub mod id_table;
pub mod idle;
#[cfg(interleaved)]
pub mod interleave;
pub mod ledger;
#[cfg(all(test, not(interleaved)))]
mod litmus;
pub mod machine;
pub mod mailbox;
pub mod marks;
pub mod mcs;
pub mod memory;
pub mod mutex;
pub mod numbers;
pub mod outside_wait;
pub mod pad;
pub mod parker;
pub mod peak;
pub mod pins;
pub mod point;
pub mod prefetch;
pub mod profile;
pub mod progress;
pub mod published;
pub mod rcu_table;
pub mod reactive;
mod reader_groups;
pub mod request;
pub mod revocable;
pub mod rwlock;
pub mod safepoint;
pub mod seqlock;
pub mod sharing;
pub mod slot;
pub mod snapshots;
pub mod spin;
pub mod starts;
pub mod summons;
pub mod table;
pub mod time_published;
pub mod tombstone;
pub mod turn;
pub mod witness;
pub mod word_claim;
pub mod work_list;

pub use backend::{atomic, cell, statics, thread};

pub use announcements::Announcements;
pub use backoff::{Backoff, spin_hint};
pub use biased_lock::{BiasGuard, BiasedLock};
pub use bits::{Adverts, Bits};
pub use chain::{Chain, HasNext, Link};
pub use class::LockClass;
pub use count::Count;
pub use counter::{ShardedCounter, ShardedTally, Tally};
pub use credits::{Counted, Credits};
pub use crew::Crew;
pub use directory::{Directory, Entered};
pub use entry_words::EntryWords;
pub use exit_flag::ExitFlag;
pub use extendible::Extendible;
pub use group_rwlock::{GroupReadGuard, GroupRwLock, GroupWriteGuard, Spread};
pub use id_table::{IdTable, Reserved};
pub use idle::IdleSet;
pub use ledger::{Account, Holding, Ledger};
pub use machine::{available_parallelism, configured_processors, parallelism_at_start};
pub use mailbox::{Mailbox, Visit};
pub use marks::{Locked, Marks};
pub use mcs::McsLock;
pub use mutex::{Condvar, Mutex, MutexGuard};
pub use outside_wait::{Outside, OutsideWait};
pub use pad::CachePadded;
pub use parker::Parker;
pub use peak::{Era, Highest, Peak};
pub use pins::Pins;
pub use point::{drive_by, sim_point};
pub use prefetch::{prefetch, prefetch_to_write};
pub use progress::{Pinned, Progress, Runner, ThreadSlot};
pub use published::Published;
pub use rcu_table::{RcuTable, RcuWriter, Retirer, Unlinked};
pub use reactive::ReactiveLock;
pub use request::Request;
pub use revocable::{Revocable, Unavailable};
pub use rwlock::{ReadGuard, RwLock, WriteGuard};
pub use safepoint::Safepoint;
pub use seqlock::{SeqLock, SeqWrite};
pub use sharing::Sharing;
pub use snapshots::{Snapshot, Snapshots};
pub use spin::{SpinLock, TicketLock};
pub use starts::Starts;
pub use summons::Summons;
pub use table::AppendVec;
pub use time_published::TimePublishedLock;
pub use tombstone::Tombstone;
pub use turn::{ToSchedule, Turn};

// Reference counts and one-time initialisation are std's in every back end. Loom's own `Arc` cannot hold a
// `dyn Trait`; std's is seen by a model as no synchronisation at all, so a model can only be too strict with it.
pub use std::sync::{Arc, LazyLock, Once, OnceLock, Weak};

/// A thread-local variable: std's, or the model's under `--cfg loom`.
#[cfg(not(loom))]
pub use std::thread_local;

#[cfg(loom)]
pub use loom::thread_local;
