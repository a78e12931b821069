//! Blocks of the one heap's young memory that wait to be used again ([`crate::shared`]).
//!
//! A collection gives back nearly all young memory at once, and before the next one as much is taken again. The allocator would find it free each time, and what it finds
//! free when it gives memory to the system it gives: what the processes then take are fresh pages, for which they wait. So blocks of the usual sizes wait here, on the shelf of
//! the thread that took them (Zhang 2011, 5.2). What a shelf has not needed for a while goes to the allocator, half of it each time.
//!
//! YB1. A block on a shelf is nobody's, and who takes it does so under the shelf's lock.

use crate::one_heap;
use crate::sizes::{self, SIZES};
use myriad_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use myriad_sync::{Account, CachePadded, LockClass, Mutex};

/// Shelves; if there are more threads, some share one.
const SHELVES: usize = 32;
/// Words of the smallest blocks (the allocator's magazines have smaller ones) and of the largest (which are rare).
const LEAST: usize = 129;
pub(crate) const MOST: usize = 16 * 1024;
/// So many sizes of the table are no larger.
const PLACES: usize = {
    let mut place = 0;
    while SIZES[place] <= MOST {
        place += 1;
    }
    place
};
/// A shelf has so many words, and may get a few more: several times what one scheduler takes between two collections, as some take more.
const MOST_WORDS: usize = 4 * one_heap::NURSERY;

/// How much is needed differs from collection to collection: so long is looked at together.
const WHILE_NS: u64 = 1_000_000_000;

/// When what is not needed was given back last.
static LAST_NS: AtomicU64 = AtomicU64::new(0);
static CLASS: LockClass = LockClass::new("young_blocks", 954);
static PLACED: [CachePadded<Shelf>; SHELVES] = [const { CachePadded::new(Shelf::new()) }; SHELVES];

/// A block that waits.
struct Block(*mut u64);

// SAFETY: YB1.
unsafe impl Send for Block {}

/// Those of one size.
struct Stack {
    blocks: Vec<Block>,
    /// The fewest that there were since the last look.
    unneeded: usize,
}

/// Those that came from a thread.
struct Shelf {
    stacks: Mutex<[Stack; PLACES]>,
    /// Words of all; changed under the lock.
    words: AtomicUsize,
}

impl Shelf {
    const fn new() -> Shelf {
        let stacks = [const { Stack { blocks: Vec::new(), unneeded: 0 } }; PLACES];
        Shelf { stacks: Mutex::new(&CLASS, stacks), words: AtomicUsize::new(0) }
    }

    /// Words of all blocks.
    fn words(&self) -> usize {
        // Relaxed: a figure.
        self.words.load(Ordering::Relaxed)
    }

    fn has_room(&self, words: usize) -> bool {
        self.words() + words <= MOST_WORDS
    }

    /// Does something with the blocks of a size.
    fn change<T>(&self, place: usize, change: impl FnOnce(&mut Vec<Block>) -> T) -> T {
        let mut stacks = self.stacks.lock();
        let Stack { blocks, unneeded } = &mut stacks[place];
        let before = blocks.len();
        let changed = change(blocks);
        *unneeded = blocks.len().min(*unneeded);
        // Relaxed: a figure, which the lock keeps others from changing.
        self.words.store(self.words() + blocks.len() * SIZES[place] - before * SIZES[place], Ordering::Relaxed);
        changed
    }

    /// A block of a size.
    fn take(&self, place: usize) -> Option<Block> {
        self.change(place, Vec::pop)
    }

    /// Half of the blocks of a size, at least one if there are any.
    fn take_half(&self, place: usize) -> Vec<Block> {
        self.change(place, |blocks| blocks.split_off(blocks.len() / 2))
    }

    /// What goes of the blocks of a size. How many are needed differs: a quarter more wait.
    fn take_unneeded(&self, place: usize, which: Unneeded) -> Vec<Block> {
        let unneeded = std::mem::replace(&mut self.stacks.lock()[place].unneeded, usize::MAX);
        self.change(place, |blocks| {
            let waits = blocks.len();
            let gone = match which {
                Unneeded::ForAWhile(_) if unneeded.min(waits) <= waits / 4 => 0,
                Unneeded::ForAWhile(_) => unneeded.min(waits).div_ceil(2),
                Unneeded::All => waits,
            };
            blocks.split_off(waits - gone)
        })
    }
}

/// What of the blocks that wait goes to the allocator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unneeded {
    /// Half of what was not needed for [`WHILE_NS`], if it is so long at this time since that was asked last.
    ForAWhile(u64),
    /// All, for nobody has anything to do.
    All,
}

/// The shelf for what is on an account.
fn shelf(account: Account) -> &'static Shelf {
    &PLACED[usize::from(account.number()) % SHELVES]
}

/// The place in the table of a size that is kept.
#[inline]
fn place_of(words: usize) -> Option<usize> {
    let place = if (LEAST..=MOST).contains(&words) { usize::from(sizes::place(words)) } else { return None };
    (SIZES[place] == words).then_some(place)
}

/// A block of so many words, if one waits; if one does on another thread's shelf only, half of those there come to the calling thread's.
pub(crate) fn take(words: usize) -> Option<*mut u64> {
    let place = place_of(words)?;
    let own = shelf(Account::own());
    if own.words() > 0
        && let Some(Block(block)) = own.take(place)
    {
        return Some(block);
    }
    let others = PLACED.iter().map(|shelf| &**shelf).filter(|shelf| !std::ptr::eq(*shelf, own) && shelf.words() > 0);
    let mut half = others.map(|shelf| shelf.take_half(place)).find(|half| !half.is_empty())?;
    let Block(block) = half.pop()?;
    own.change(place, |blocks| blocks.append(&mut half));
    Some(block)
}

/// Keeps a block of so many words that is on an account. `false`: there is no room for it, or none that it fits.
///
/// # Safety
/// It is nobody's any more.
pub(crate) unsafe fn keep(block: *mut u64, words: usize, account: Account) -> bool {
    let Some(place) = place_of(words) else { return false };
    let shelf = shelf(account);
    let has_room = shelf.has_room(words);
    if has_room {
        shelf.change(place, |blocks| blocks.push(Block(block)));
    }
    has_room
}

/// Has blocks, and their words, freed that are not needed.
pub(crate) fn give_back(which: Unneeded, free: impl Fn(*mut u64, usize)) {
    if let Unneeded::ForAWhile(now_ns) = which {
        // Relaxed: a time; who comes second finds that it has been done.
        let last = LAST_NS.load(Ordering::Relaxed);
        let is_long = now_ns.saturating_sub(last) >= WHILE_NS;
        if !is_long || LAST_NS.compare_exchange(last, now_ns, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return;
        }
    }
    for shelf in PLACED.iter().filter(|shelf| shelf.words() > 0) {
        for (place, size) in SIZES[..PLACES].iter().enumerate() {
            for Block(block) in shelf.take_unneeded(place, which) {
                free(block, *size);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Class;
    use crate::block;

    const SIZE: usize = 610;

    fn block() -> *mut u64 {
        block::take(SIZE, Class::Process).0
    }

    fn free(at: *mut u64, words: usize) {
        // SAFETY: nobody has it; it is on this thread's account still.
        unsafe { block::give(at, words, Class::Process) };
    }

    /// The shelves are everyone's: one test at a time.
    #[test]
    fn what_is_kept_is_taken_again_and_what_is_not_needed_goes() {
        let place = place_of(SIZE).unwrap();
        let own = Account::own();
        let waits = || shelf(own).stacks.lock()[place].blocks.len();
        assert!([LEAST - 1, SIZE + 1, SIZES[PLACES]].iter().all(|words| place_of(*words).is_none()));
        let blocks: Vec<*mut u64> = (0..10).map(|_| block()).collect();
        // SAFETY: nobody has them any more, until they are taken again.
        let keep = |block: &*mut u64, account| unsafe { assert!(keep(*block, SIZE, account)) };
        blocks.iter().for_each(|block| keep(block, own));
        assert_eq!((waits(), shelf(own).words()), (10, 10 * SIZE));
        give_back(Unneeded::ForAWhile(WHILE_NS), free);
        assert_eq!(waits(), 10, "they have just come");
        let again: Vec<_> = (0..4).map(|_| take(SIZE).unwrap()).collect();
        assert!(again.iter().all(|block| blocks.contains(block)));
        again.iter().for_each(|block| keep(block, own));
        give_back(Unneeded::ForAWhile(2 * WHILE_NS - 1), free);
        assert_eq!(waits(), 10);
        give_back(Unneeded::ForAWhile(2 * WHILE_NS), free);
        assert_eq!((waits(), shelf(own).words()), (7, 7 * SIZE));
        // Another thread's come by half.
        give_back(Unneeded::All, free);
        assert_eq!((waits(), take(SIZE)), (0, None));
        let other = Account::of_number((own.number() + 1) % SHELVES as u16);
        (0..8).for_each(|_| keep(&block(), other));
        let mine = take(SIZE).unwrap();
        assert_eq!((waits(), shelf(other).words()), (3, 4 * SIZE));
        keep(&mine, own);
        give_back(Unneeded::All, free);
        assert!(PLACED.iter().all(|shelf| shelf.words() == 0));
    }

    #[test]
    fn a_shelf_is_bounded() {
        let shelf = Shelf::new();
        shelf.words.store(MOST_WORDS, Ordering::Relaxed);
        assert!(!shelf.has_room(1));
    }
}
