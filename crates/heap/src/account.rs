//! Totals over all heaps, for `erlang:memory/0` and `statistics(garbage_collection)`.
//!
//! Sharded counters: a heap changes them only when a block comes or goes, not at each object.

use myriad_sync::ShardedCounter;

static PROCESS_WORDS: ShardedCounter = ShardedCounter::new();
static FRAGMENT_WORDS: ShardedCounter = ShardedCounter::new();
static LITERAL_WORDS: ShardedCounter = ShardedCounter::new();
static COLLECTIONS: ShardedCounter = ShardedCounter::new();
static RECLAIMED: ShardedCounter = ShardedCounter::new();

/// What memory is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    /// Young and old blocks of processes.
    Process,
    /// Fragments: messages on their way, and objects that did not fit a block.
    Fragment,
    /// Literals.
    Literal,
}

impl Class {
    fn counter(self) -> &'static ShardedCounter {
        match self {
            Class::Process => &PROCESS_WORDS,
            Class::Fragment => &FRAGMENT_WORDS,
            Class::Literal => &LITERAL_WORDS,
        }
    }

    /// So many words more.
    #[inline]
    pub(crate) fn grow(self, words: usize) {
        self.counter().add(words as i64);
    }

    /// So many words fewer.
    #[inline]
    pub(crate) fn shrink(self, words: usize) {
        self.counter().add(-(words as i64));
    }
}

/// A collection ended that freed so many words.
#[inline]
pub(crate) fn collected(reclaimed: usize) {
    COLLECTIONS.add(1);
    RECLAIMED.add(reclaimed as i64);
}

fn sum(counter: &ShardedCounter) -> usize {
    // A sum that races changes may see a block go and not come: never below nothing.
    usize::try_from(counter.sum()).unwrap_or(0)
}

/// Words in the blocks of all processes.
pub fn process_words() -> usize {
    sum(&PROCESS_WORDS)
}

/// Words in all fragments, attached to a heap or not.
pub fn fragment_words() -> usize {
    sum(&FRAGMENT_WORDS)
}

/// Words in all literal areas.
pub fn literal_words() -> usize {
    sum(&LITERAL_WORDS)
}

/// Number of collections since start.
pub fn collections() -> usize {
    sum(&COLLECTIONS)
}

/// Words that all collections freed.
pub fn words_reclaimed() -> usize {
    sum(&RECLAIMED)
}
