//! What memory of heaps is taken for, and how much: for `erlang:memory/0`, `system_info({allocator, _})` and `statistics(garbage_collection)`.
//!
//! A block changes a ledger when it comes and when it goes; an object changes nothing. The ledger tells the blocks by the thread that took them,
//! whoever gives them back.

use myriad_sync::{Ledger, ShardedCounter, Tally};

static PROCESS_BLOCKS: Ledger<WORD> = Ledger::new();
static FRAGMENTS: Ledger<WORD> = Ledger::new();
static BUNDLES: Ledger<WORD> = Ledger::new();
static LITERAL_RUNS: Ledger<WORD> = Ledger::new();
static COLLECTIONS: ShardedCounter = ShardedCounter::new();
static RECLAIMED: ShardedCounter = ShardedCounter::new();

/// Bytes of the unit that ledgers of heaps count in.
pub const WORD: usize = 8;

/// What memory is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
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
    /// Those of the memory of processes: their heaps, what is on its way to them, and what they share.
    pub const OF_PROCESSES: [Class; 3] = [Class::Process, Class::Fragment, Class::Bundle];

    /// Where its blocks are counted, and their words.
    #[inline]
    pub fn ledger(self) -> &'static Ledger<WORD> {
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
    Class::OF_PROCESSES.iter().fold(Tally::default(), |sum, class| sum + class.ledger().now())
}

/// Words of all bundles and messages: what heaps hold beside their blocks.
pub fn beside_blocks() -> usize {
    BUNDLES.now().size + FRAGMENTS.now().size
}

/// All bundles; their size in words.
pub fn bundles() -> Tally {
    BUNDLES.now()
}

/// The runs of pages of all literal areas; their size in words.
pub fn literals() -> Tally {
    Class::Literal.ledger().now()
}

/// Number of collections since start.
pub fn collections() -> usize {
    sum(&COLLECTIONS)
}

/// Words that all collections freed.
pub fn words_reclaimed() -> usize {
    sum(&RECLAIMED)
}
