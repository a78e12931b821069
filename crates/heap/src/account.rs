//! Totals over all heaps, for `erlang:memory/0` and `statistics(garbage_collection)`.
//!
//! Sharded counters: a heap changes them only when a block comes or goes, not at each object.

use myriad_sync::{ShardedCounter, ShardedTally, Tally};

static PROCESS_BLOCKS: ShardedTally = ShardedTally::new();
static FRAGMENTS: ShardedTally = ShardedTally::new();
static BUNDLES: ShardedTally = ShardedTally::new();
static LITERAL_RUNS: ShardedTally = ShardedTally::new();
static COLLECTIONS: ShardedCounter = ShardedCounter::new();
static RECLAIMED: ShardedCounter = ShardedCounter::new();

/// What memory is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    /// Young and old blocks of processes.
    Process,
    /// Fragments: messages on their way, and objects that did not fit a block.
    Fragment,
    /// Bundles: messages that several processes share.
    Bundle,
    /// Runs of pages of literal areas.
    Literal,
}

impl Class {
    /// Where its blocks are counted, and their words.
    #[inline]
    pub(crate) fn tally(self) -> &'static ShardedTally {
        match self {
            Class::Process => &PROCESS_BLOCKS,
            Class::Fragment => &FRAGMENTS,
            Class::Bundle => &BUNDLES,
            Class::Literal => &LITERAL_RUNS,
        }
    }
}

/// Counts a collection that has freed `reclaimed` words.
#[inline]
pub(crate) fn collected(reclaimed: usize) {
    COLLECTIONS.add(1);
    RECLAIMED.add(reclaimed as i64);
}

fn sum(counter: &ShardedCounter) -> usize {
    // A sum that races changes may see a block go and not come: never below nothing.
    usize::try_from(counter.sum()).unwrap_or(0)
}

/// The blocks of all processes, all fragments, attached to a heap or not, and all bundles; their size in words.
pub fn heaps() -> Tally {
    PROCESS_BLOCKS.now() + FRAGMENTS.now() + BUNDLES.now()
}

/// All bundles; their size in words.
pub fn bundles() -> Tally {
    BUNDLES.now()
}

/// The runs of pages of all literal areas; their size in words.
pub fn literals() -> Tally {
    LITERAL_RUNS.now()
}

/// Number of collections since start.
pub fn collections() -> usize {
    sum(&COLLECTIONS)
}

/// Words that all collections freed.
pub fn words_reclaimed() -> usize {
    sum(&RECLAIMED)
}
