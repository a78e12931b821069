//! A hierarchical timing wheel (Varghese & Lauck, "Hashed and hierarchical timing wheels", SOSP 1987).
//!
//! Time in ticks is read as digits of base 64, a level for each. A timer stands at the level of the highest digit in which its
//! time differs from the wheel's, in the list of that digit; when the wheel's time comes to the list of a higher level, its
//! timers move down. Setting and taking back are O(1), each timer moves at most once a level, and a bit for each list finds
//! the next one in a few instructions.
//!
//! W1. A timer's `place` names the list it is in; one that is only reserved, or free, is in none.
//! W2. Lists are in the order of arrival, also after moving down: timers of one tick fire in the order they were set.
//! W3. No timer in a list of a level is due before [`Wheel::elapsed`]; those that are stand in the list [`DUE`].

use myriad_term::Pid;
use std::collections::HashMap;

/// A tick is 2^17 ns, 131 µs: an eighth of the resolution that Erlang's timers have.
const TICK_BITS: u32 = 17;
const DIGIT_BITS: u32 = 6;
const SLOTS: usize = 1 << DIGIT_BITS;
/// Levels, so that all 64 bits of a time in nanoseconds are covered.
const LEVELS: usize = 8;
/// The list of those that are to fire.
const DUE: u32 = (LEVELS * SLOTS) as u32;
const NOWHERE: u32 = u32::MAX;
const NONE: u32 = u32::MAX;
/// Timers are allocated in chunks of this size, so that growing moves none.
const CHUNK_BITS: u32 = 8;
const CHUNK: usize = 1 << CHUNK_BITS;
/// Timers moved down at a time.
const MOVED_AT_ONCE: usize = 256;

struct Entry<A> {
    at: u64,
    generation: u64,
    next: u32,
    prev: u32,
    owner_next: u32,
    owner_prev: u32,
    place: u32,
    what: Option<(A, Option<Pid>)>,
}

#[derive(Clone, Copy)]
struct List {
    head: u32,
    tail: u32,
}

/// The wheel, of timers that do `A`.
pub struct Wheel<A> {
    chunks: Vec<Box<[Entry<A>]>>,
    free: u32,
    lists: Box<[List]>,
    occupied: [u64; LEVELS],
    /// Ticks up to which lists have been emptied.
    elapsed: u64,
    /// A list that is being moved down.
    moving: Option<u32>,
    /// First timer of each owner.
    owners: HashMap<Pid, u32>,
    len: usize,
}

impl<A> Default for Wheel<A> {
    fn default() -> Self {
        let empty = List { head: NONE, tail: NONE };
        Wheel {
            chunks: Vec::new(),
            free: NONE,
            lists: vec![empty; DUE as usize + 1].into(),
            occupied: [0; LEVELS],
            elapsed: 0,
            moving: None,
            owners: HashMap::new(),
            len: 0,
        }
    }
}

const fn tick_of(at_ns: u64) -> u64 {
    // Rounded up: never early.
    (at_ns >> TICK_BITS) + (at_ns & ((1 << TICK_BITS) - 1) != 0) as u64
}

impl<A> Wheel<A> {
    /// Bytes of one timer.
    pub const ENTRY_BYTES: usize = size_of::<Entry<A>>();

    fn entry(&mut self, slot: u32) -> &mut Entry<A> {
        &mut self.chunks[(slot >> CHUNK_BITS) as usize][slot as usize % CHUNK]
    }

    /// Timers set.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Calls `tell` with the time and the doings of each timer set.
    pub fn each(&self, mut tell: impl FnMut(u64, &A)) {
        let set = self.chunks.iter().flatten().filter_map(|entry| Some((entry.at, &entry.what.as_ref()?.0)));
        set.for_each(|(at, what)| tell(at, what));
    }

    /// A place for a timer, and its generation: no earlier timer in that place had it.
    pub fn reserve(&mut self) -> (u32, u64) {
        if self.free == NONE {
            self.grow();
        }
        let slot = self.free;
        let entry = self.entry(slot);
        debug_assert!(entry.place == NOWHERE && entry.what.is_none(), "W1: a free place is in no list");
        entry.generation += 1;
        let (next, generation) = (entry.next, entry.generation);
        self.free = next;
        (slot, generation)
    }

    fn grow(&mut self) {
        let first = (self.chunks.len() * CHUNK) as u32;
        let entry = |i: u32| Entry {
            at: 0,
            generation: 0,
            next: if i + 1 == CHUNK as u32 { NONE } else { first + i + 1 },
            prev: NONE,
            owner_next: NONE,
            owner_prev: NONE,
            place: NOWHERE,
            what: None,
        };
        self.chunks.push((0..CHUNK as u32).map(entry).collect());
        self.free = first;
    }

    /// Sets a reserved timer.
    pub fn set(&mut self, slot: u32, at_ns: u64, what: A, owner: Option<Pid>) {
        let entry = self.entry(slot);
        debug_assert!(entry.place == NOWHERE && entry.what.is_none(), "W1: it is set twice");
        entry.at = at_ns;
        entry.what = Some((what, owner));
        (entry.owner_prev, entry.owner_next) = (NONE, NONE);
        if let Some(owner) = owner
            && let Some(second) = self.owners.insert(owner, slot)
        {
            debug_assert!(self.entry(second).owner_prev == NONE, "the owner's first timer");
            self.entry(slot).owner_next = second;
            self.entry(second).owner_prev = slot;
        }
        self.len += 1;
        self.place(slot);
    }

    fn place(&mut self, slot: u32) {
        let (when, elapsed) = (tick_of(self.entry(slot).at), self.elapsed);
        if when <= elapsed {
            self.append(DUE, slot);
            return;
        }
        debug_assert!(when > elapsed, "W3");
        let level = (63 - ((when ^ elapsed) | (SLOTS as u64 - 1)).leading_zeros()) / DIGIT_BITS;
        let digit = (when >> (level * DIGIT_BITS)) as usize % SLOTS;
        debug_assert!((level as usize) < LEVELS);
        self.occupied[level as usize] |= 1 << digit;
        self.append((level as usize * SLOTS + digit) as u32, slot);
    }

    fn append(&mut self, place: u32, slot: u32) {
        let tail = self.lists[place as usize].tail;
        debug_assert_eq!(tail == NONE, self.lists[place as usize].head == NONE);
        let entry = self.entry(slot);
        (entry.place, entry.prev, entry.next) = (place, tail, NONE);
        match tail {
            NONE => self.lists[place as usize].head = slot,
            _ => self.entry(tail).next = slot,
        }
        self.lists[place as usize].tail = slot;
    }

    fn unlink(&mut self, slot: u32) {
        let entry = self.entry(slot);
        let (place, prev, next) = (entry.place as usize, entry.prev, entry.next);
        debug_assert!(place <= DUE as usize, "W1: it is in no list");
        entry.place = NOWHERE;
        match prev {
            NONE => self.lists[place].head = next,
            _ => self.entry(prev).next = next,
        }
        match next {
            NONE => self.lists[place].tail = prev,
            _ => self.entry(next).prev = prev,
        }
        if self.lists[place].head == NONE && place < DUE as usize {
            self.occupied[place / SLOTS] &= !(1 << (place % SLOTS));
        }
    }

    fn take(&mut self, slot: u32) -> Option<(u64, A)> {
        self.unlink(slot);
        let free = self.free;
        let entry = self.entry(slot);
        let (at, prev, next) = (entry.at, entry.owner_prev, entry.owner_next);
        let (what, owner) = entry.what.take()?;
        entry.next = free;
        self.free = slot;
        debug_assert!(self.len > 0);
        self.len -= 1;
        if let Some(owner) = owner {
            match (prev, next) {
                (NONE, NONE) => {
                    let only = self.owners.remove(&owner);
                    debug_assert_eq!(only, Some(slot));
                }
                (NONE, _) => {
                    self.owners.insert(owner, next);
                }
                _ => self.entry(prev).owner_next = next,
            }
            if next != NONE {
                self.entry(next).owner_prev = prev;
            }
        }
        Some((at, what))
    }

    /// Is this timer set?
    fn is_set(&self, slot: u32, generation: u64) -> bool {
        let entry = self.chunks.get((slot >> CHUNK_BITS) as usize).map(|chunk| &chunk[slot as usize % CHUNK]);
        entry.is_some_and(|e| e.generation == generation && e.place != NOWHERE)
    }

    /// Takes a timer back: its time, and what it would have done.
    pub fn cancel(&mut self, slot: u32, generation: u64) -> Option<(u64, A)> {
        if self.is_set(slot, generation) { self.take(slot) } else { None }
    }

    /// The time of a timer.
    pub fn read(&mut self, slot: u32, generation: u64) -> Option<u64> {
        self.is_set(slot, generation).then(|| self.entry(slot).at)
    }

    /// Takes back one timer of this owner.
    pub fn cancel_owned(&mut self, owner: Pid) -> Option<A> {
        let slot = *self.owners.get(&owner)?;
        self.take(slot).map(|(_, what)| what)
    }

    /// The next list in time, and its tick.
    fn next_list(&self) -> Option<(u32, u64)> {
        for level in 0..LEVELS {
            if self.occupied[level] == 0 {
                continue;
            }
            let shift = level as u32 * DIGIT_BITS;
            let now = self.elapsed >> shift;
            // All lists of a level lie ahead within one turn, as W3 and the choice of the level say.
            let ahead = self.occupied[level].rotate_right(now as u32 % SLOTS as u32).trailing_zeros();
            let digit = (now + u64::from(ahead)) as usize % SLOTS;
            return Some(((level * SLOTS + digit) as u32, (now + u64::from(ahead)) << shift));
        }
        None
    }

    /// When there may be something to do, in nanoseconds: a timer fires, or some move down.
    pub fn next(&self) -> Option<u64> {
        if self.lists[DUE as usize].head != NONE || self.moving.is_some() {
            return Some(0);
        }
        self.next_list().map(|(_, tick)| tick << TICK_BITS)
    }

    /// Takes a timer that is due. The work done at once is bounded: `More` says that there is more.
    pub fn pop(&mut self, now_ns: u64) -> Popped<A> {
        let head = self.lists[DUE as usize].head;
        if head != NONE {
            return match self.take(head) {
                Some((_, what)) => Popped::Due(what),
                None => Popped::More,
            };
        }
        let now = now_ns >> TICK_BITS;
        let list = match self.moving {
            Some(list) => list,
            None => match self.next_list() {
                Some((list, tick)) if tick <= now => {
                    debug_assert!(tick >= self.elapsed, "W3: time goes forward");
                    self.elapsed = tick;
                    list
                }
                _ => {
                    self.elapsed = self.elapsed.max(now);
                    return Popped::Nothing;
                }
            },
        };
        for _ in 0..MOVED_AT_ONCE {
            let slot = self.lists[list as usize].head;
            if slot == NONE {
                break;
            }
            self.unlink(slot);
            self.place(slot);
        }
        self.moving = (self.lists[list as usize].head != NONE).then_some(list);
        Popped::More
    }
}

/// What [`Wheel::pop`] found.
pub enum Popped<A> {
    /// A timer that is due.
    Due(A),
    /// Nothing yet: ask again.
    More,
    /// Nothing is due.
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_testing::Random;

    fn all_due(wheel: &mut Wheel<u64>, now: u64) -> Vec<u64> {
        let mut due = Vec::new();
        loop {
            match wheel.pop(now) {
                Popped::Due(n) => due.push(n),
                Popped::More => {}
                Popped::Nothing => return due,
            }
        }
    }

    #[test]
    fn it_does_what_a_list_of_all_timers_would() {
        for seed in 1..=40 {
            let mut random = Random::new(seed);
            let mut wheel = Wheel::default();
            // Number, time, handle, owner.
            let mut model: Vec<(u64, u64, (u32, u64), u64)> = Vec::new();
            let mut now = random.below(1 << 40);
            all_due(&mut wheel, now);
            for number in 0..600 {
                match random.below(10) {
                    0..=4 => {
                        let spread = 1 << (10 + random.below(40));
                        let (at, owner) = (now + random.below(spread), random.below(5));
                        let handle = wheel.reserve();
                        let pid = (owner > 0).then(|| Pid::from_data(owner));
                        wheel.set(handle.0, at, number, pid);
                        model.push((number, at, handle, owner));
                    }
                    5 if !model.is_empty() => {
                        let i = random.below(model.len() as u64) as usize;
                        let (number, at, handle, _) = model.swap_remove(i);
                        assert_eq!(wheel.read(handle.0, handle.1), Some(at));
                        assert_eq!(wheel.cancel(handle.0, handle.1), Some((at, number)));
                        assert_eq!(wheel.cancel(handle.0, handle.1), None);
                        assert_eq!(wheel.read(handle.0, handle.1), None);
                    }
                    6 if random.below(20) == 0 => {
                        let owner = 1 + random.below(4);
                        while wheel.cancel_owned(Pid::from_data(owner)).is_some() {}
                        model.retain(|m| m.3 != owner);
                    }
                    _ => {
                        let bound = wheel.next();
                        let first = model.iter().map(|m| m.1).min();
                        assert_eq!(bound.is_some(), first.is_some());
                        // Never later than a tick after the first.
                        assert!(bound.zip(first).is_none_or(|(b, f)| b < f + (1 << TICK_BITS)));
                        let spread = 1 << (10 + random.below(38));
                        now += random.below(spread);
                        if random.below(4) == 0 {
                            now = now.max(bound.unwrap_or(0));
                        }
                        let due = all_due(&mut wheel, now);
                        let is_due = |at: u64| tick_of(at) <= now >> TICK_BITS;
                        let mut expected: Vec<(u64, u64)> =
                            model.iter().filter(|m| is_due(m.1)).map(|m| (tick_of(m.1), m.0)).collect();
                        expected.sort_unstable();
                        model.retain(|m| !is_due(m.1));
                        let mut sorted = due.clone();
                        sorted.sort_unstable();
                        let mut numbers: Vec<u64> = expected.iter().map(|e| e.1).collect();
                        numbers.sort_unstable();
                        assert_eq!(sorted, numbers, "seed {seed}");
                    }
                }
                assert_eq!(wheel.len(), model.len());
            }
        }
    }

    #[test]
    fn timers_fire_in_the_order_of_time_and_then_of_setting() {
        let mut wheel = Wheel::default();
        let ms = 1_000_000;
        for (n, at) in [(1, 70 * ms), (2, 5 * ms), (3, 70 * ms), (4, 9_000 * ms), (5, 5 * ms)] {
            let (slot, _) = wheel.reserve();
            wheel.set(slot, at, n, None);
        }
        assert_eq!(all_due(&mut wheel, 5 * ms - 1), []);
        assert_eq!(all_due(&mut wheel, 10_000 * ms), [2, 5, 1, 3, 4]);
    }

    #[test]
    fn a_million_timers_take_little_memory() {
        assert!(size_of::<Entry<crate::Action<()>>>() <= 112);
        let mut wheel = Wheel::default();
        let mut handles = Vec::new();
        for n in 0..1_000_000u64 {
            let (slot, generation) = wheel.reserve();
            wheel.set(slot, (n * 7919) % 3_600_000_000_000, n, None);
            handles.push((slot, generation));
        }
        for (slot, generation) in handles.iter().step_by(2) {
            assert!(wheel.cancel(*slot, *generation).is_some());
        }
        assert_eq!(all_due(&mut wheel, u64::MAX >> 1).len(), 500_000);
    }
}
