//! The shards of a hash table ([`Shards`]), the order in which all of them are gone through ([`Rank`]), and when one is divided.
//!
//! A table has one shard at first, or several with `write_concurrency` `true`. A writer that has the lock of one that is fought over ([`crate::strain`])
//! divides it, up to a depth that follows the number of schedulers. So the number of locks follows what threads do, and a table that
//! one process writes stays small. Readers do not wait meanwhile: to them a division is a write of the shard like others
//! (ets.hash/S6), and what leads to the shards is read without a lock ([`Extendible`]).
//!
//! SM1. Who has a shard's lock, or has read it optimistically, asks whether it has the hash ([`Shard::has`]), and begins again if not (sync.extendible/EX1).
//! SM2. A shard is divided with its lock, never by the table's holder, while the table is not fixed and no rows are hidden. So while the table
//!      is fixed each shard stays as it is for who has had its lock since.
//! SM3. The shards have ranks, by which they are locked (ets.table/TB2) and gone through. A shard that is divided keeps its rank, and the new one
//!      comes next: who has come to a rank finds what has not been visited from there on, however often shards are divided. Who has a
//!      shard's lock knows the rank of the next one.
//! SM4. The table has a holder (ets.table/TB5) only while there is one shard: a user is made the holder with that shard's lock while its depth is 0, and
//!      that changes only with the lock, taken so that there is no holder.

use crate::hash::{Shard, Writing};
use myriad_sync::{CachePadded, Extendible, LockClass, slot};

static CLASS: LockClass = LockClass::new("db_hash_shards", 722);

/// Where shards begin and end in the order in which they are gone through: as OTP goes through its locks, in the order of the last bits of hashes as
/// far as these chose the shard when the table was made. What was divided later is in the order of the further bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Rank(u32);

impl Rank {
    /// Of the first shard.
    pub const FIRST: Rank = Rank(0);

    /// As a number, with the number of one of the shard's buckets.
    pub fn to_number(self, index: usize) -> u64 {
        // As shards are divided sixteen times at most, the other bits are none.
        debug_assert!(self.0 << 16 == 0 && index >> 32 == 0);
        u64::from(self.0 >> 16) << 32 | index as u64
    }

    /// The rank and the bucket of a number; of a number that [`Rank::to_number`] has not given, any.
    pub fn from_number(number: u64) -> (Rank, usize) {
        (Rank(((number >> 32) as u32) << 16), number as u32 as usize)
    }
}

/// The shards of a table.
pub struct Shards {
    map: Extendible<CachePadded<Shard>>,
    /// How many bits of a hash chose the shard at first.
    at_first: u32,
    /// How many may in the end.
    at_most: u32,
    /// Are shards divided that threads write in turns, also while there is one?
    divides_for_turns: bool,
    /// Of the shards' locks.
    class: &'static LockClass,
}

/// Shards are never divided further, whatever the number of schedulers.
const DEEPEST: u32 = 16;

impl Shards {
    /// `1 << at_first` shards, which may become `1 << at_most`.
    pub fn new(
        class: &'static LockClass,
        keypos: usize,
        at_first: u32,
        at_most: u32,
        divides_for_turns: bool,
    ) -> Shards {
        let shard = |bits| CachePadded::new(Shard::new(class, bits, at_first, keypos));
        let at_most = at_most.clamp(at_first, DEEPEST.max(at_first));
        Shards { map: Extendible::new(&CLASS, at_first, shard), at_first, at_most, divides_for_turns, class }
    }

    /// The shard that has a hash, or had it a moment ago (SM1).
    #[inline(always)]
    pub fn of(&self, hash: u32) -> &Shard {
        self.map.part(hash)
    }

    /// The shard at a rank, or one that was there a moment ago (SM1, with [`Shards::hash_at`]).
    pub fn at(&self, rank: Rank) -> &Shard {
        self.of(self.hash_at(rank))
    }

    /// Is there only one shard?
    pub fn is_single(&self) -> bool {
        self.of(0).depth() == 0
    }

    /// Number of shards.
    pub fn number(&self) -> usize {
        self.sum(|_| 1) as usize
    }

    /// Sums up a figure of all shards.
    pub fn sum(&self, figure: impl Fn(&Shard) -> isize) -> isize {
        self.map.sum(|shard| figure(shard))
    }

    /// The place of a hash in the order of ranks: the rank of its shard, or a place behind it and before the next one.
    pub fn rank_of(&self, hash: u32) -> Rank {
        let chosen = (u64::from(hash) << (u32::BITS - self.at_first)) as u32;
        Rank(chosen | (hash >> self.at_first).reverse_bits() >> self.at_first)
    }

    /// A hash of the shard with this rank.
    pub fn hash_at(&self, rank: Rank) -> u32 {
        let chosen = (u64::from(rank.0) >> (u32::BITS - self.at_first)) as u32;
        let hash = chosen | (rank.0 << self.at_first).reverse_bits() << self.at_first;
        debug_assert!(self.rank_of(hash) == rank);
        hash
    }

    /// The rank of a shard.
    pub fn rank(&self, shard: &Shard) -> Rank {
        self.rank_of(shard.bits())
    }

    /// The rank after that of a shard; nothing after the last one. To be asked with the lock, or of what an optimistic read is of (SM3).
    pub fn after(&self, shard: &Shard) -> Option<Rank> {
        let behind = u64::from(self.rank(shard).0) + (1 << (u32::BITS - shard.depth()));
        behind.try_into().ok().map(Rank)
    }

    /// Counts a write, after the shard's lock has been taken: is the shard to be divided?
    #[inline(always)]
    pub fn is_fought_over(&self, shard: &Shard, was_taken: bool) -> bool {
        if shard.depth() >= self.at_most || shard.len() < 2 {
            return false;
        }
        let counts_turns = self.divides_for_turns || shard.depth() > 0;
        shard.strain.count(was_taken, counts_turns.then(slot::index))
    }

    /// Divides a shard (SM2).
    pub fn divide(&self, shard: &mut Writing<'_>) {
        debug_assert!(!shard.is_holders() && shard.hidden() == 0, "SM2");
        let (bits, depth) = (shard.bits(), shard.depth());
        if depth < self.at_most {
            let (new, halves) = shard.halve(self.class);
            self.map.divide(bits, depth, CachePadded::new(new), || shard.keep(halves));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Rank, Shards};
    use crate::hash::Shard;
    use myriad_sync::LockClass;

    static CLASS: LockClass = LockClass::nested("db_tab", 720);

    /// All shards, by their ranks: each one's own last bits, and how many.
    fn walk(shards: &Shards) -> Vec<(u32, u32)> {
        let of = |shard: &Shard| (shard.bits(), shard.depth());
        let next = |shard: &&Shard| shards.after(shard).map(|rank| shards.at(rank));
        std::iter::successors(Some(shards.at(Rank::FIRST)), next).map(of).collect()
    }

    #[test]
    fn ranks_go_through_all_shards_in_otps_order() {
        assert_eq!(walk(&Shards::new(&CLASS, 0, 0, 8, true)), [(0, 0)]);
        assert_eq!(walk(&Shards::new(&CLASS, 0, 2, 8, true)), [(0, 2), (1, 2), (2, 2), (3, 2)]);
    }

    #[test]
    fn hashes_and_places_belong_together() {
        for at_first in [0, 1, 6, 16] {
            let shards = Shards::new(&CLASS, 0, at_first, 16, true);
            for hash in [0, 1, 2, 63, 64, 0x1234_5678, u32::MAX] {
                assert_eq!(shards.hash_at(shards.rank_of(hash)), hash);
            }
        }
    }

    #[test]
    fn a_place_is_a_number() {
        assert_eq!(Rank::FIRST.to_number(7), 7);
        let shards = Shards::new(&CLASS, 0, 6, 16, true);
        let place = shards.rank_of(0b11_0101_0101_0101);
        assert_eq!(Rank::from_number(place.to_number(9)), (place, 9));
        assert_eq!(Rank::from_number(u64::MAX).1, u32::MAX as usize);
    }
}
