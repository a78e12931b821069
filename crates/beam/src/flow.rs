//! What is known of registers and frame at a place in a function, and at its labels.
//!
//! A forward data-flow analysis in the manner of Kildall (1973), run within the scan: code comes from
//! compilers in an order in which nearly all branches lead forward, so the state at a label is as a
//! rule complete when the scan reaches it. Where a backward branch lowers the state of a label already
//! passed, the scan goes over that block again.
//!
//! States only fall: registers that are set become fewer, a known frame becomes a mixed one, room on the heap shrinks.

use crate::reader::MAX_REGISTERS;

const WORDS: usize = MAX_REGISTERS as usize / 64;

/// The frame of a function at some place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// There is none.
    None,
    /// There is one of this number of slots.
    Slots(u16),
    /// It depends on the way that led here; there are at least this number of slots (0: perhaps no frame). Slots may
    /// be read, and an exception may be raised.
    Mixed(u16),
}

/// A set of registers.
#[derive(Clone, Copy)]
struct Set([u64; WORDS]);

impl Set {
    const EMPTY: Set = Set([0; WORDS]);

    #[inline]
    fn has(&self, n: u16) -> bool {
        self.0[usize::from(n >> 6) % WORDS] >> (n & 63) & 1 != 0
    }

    #[inline]
    fn add(&mut self, n: u16) {
        self.0[usize::from(n >> 6) % WORDS] |= 1 << (n & 63);
    }

    fn remove(&mut self, n: u16) {
        self.0[usize::from(n >> 6) % WORDS] &= !(1 << (n & 63));
    }

    /// The members below `limit` in word `word`.
    #[inline]
    fn below(limit: u16, word: usize) -> u64 {
        let bits = usize::from(limit).saturating_sub(64 * word);
        if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
    }

    /// Whether all of 0..limit are members.
    #[inline]
    fn covers(&self, limit: u16) -> bool {
        (0..usize::from(limit).div_ceil(64)).all(|word| {
            let want = Self::below(limit, word);
            self.0[word] & want == want
        })
    }

    /// The lowest member.
    fn lowest(&self) -> Option<u16> {
        let word = self.0.iter().position(|word| *word != 0)?;
        Some(64 * word as u16 + self.0[word].trailing_zeros() as u16)
    }

    /// All members, less by `count`; those below it are dropped.
    fn shift_down(&mut self, count: u16) {
        let (words, bits) = (usize::from(count / 64), u32::from(count % 64));
        for to in 0..WORDS {
            let part = |word: usize| self.0.get(word).copied().unwrap_or(0);
            let high = if bits == 0 { 0 } else { part(to + words + 1) << (64 - bits) };
            self.0[to] = part(to + words) >> bits | high;
        }
    }
}

/// What is known at the place the scan has reached.
pub(crate) struct State {
    /// Whether control can get here at all, as far as is known yet.
    pub(crate) live: bool,
    pub(crate) frame: Frame,
    /// X registers that hold a term.
    x: Set,
    /// No member of `x` is in this word or above.
    x_words: usize,
    /// Slots that are initialised.
    y: Set,
    /// Slots that hold the tag of an active catch.
    tags: Set,
    /// Words of heap that an instruction before has made sure of, less what has been built there since.
    pub(crate) room: u32,
}

/// A set of X registers, put aside.
pub(crate) struct SavedX(Set, usize);

impl State {
    pub(crate) fn unreachable() -> Self {
        State { live: false, frame: Frame::None, x: Set::EMPTY, x_words: 0, y: Set::EMPTY, tags: Set::EMPTY, room: 0 }
    }

    /// At a function's entry.
    pub(crate) fn enter(&mut self, arity: u16) {
        self.live = true;
        self.frame = Frame::None;
        self.set_x_prefix(arity);
        self.room = 0;
    }

    #[inline]
    pub(crate) fn has_x(&self, x: u16) -> bool {
        self.x.has(x)
    }

    #[inline]
    pub(crate) fn add_x(&mut self, x: u16) {
        self.x.add(x);
        self.x_words = self.x_words.max(usize::from(x >> 6) + 1);
    }

    /// Whether X0 to X(count-1) all hold terms.
    #[inline]
    pub(crate) fn has_args(&self, count: u16) -> bool {
        self.x.covers(count)
    }

    /// The X registers that hold terms, a bit each.
    pub(crate) fn x_words(&self) -> &[u64] {
        &self.x.0[..self.x_words]
    }

    /// X0 to X(count-1) hold terms; no others do.
    pub(crate) fn set_x_prefix(&mut self, count: u16) {
        let words = usize::from(count).div_ceil(64);
        for word in 0..words.max(self.x_words) {
            self.x.0[word] = Set::below(count, word);
        }
        self.x_words = words;
    }

    /// Puts X0 to X(count-1) in place of the set of X registers, which it hands out.
    pub(crate) fn take_x(&mut self, count: u16) -> SavedX {
        let saved = SavedX(self.x, self.x_words);
        self.set_x_prefix(count);
        saved
    }

    /// Undoes `take_x`.
    pub(crate) fn put_x(&mut self, saved: SavedX) {
        (self.x, self.x_words) = (saved.0, saved.1);
    }

    /// X registers from `count` on are lost.
    #[inline]
    pub(crate) fn prune_x(&mut self, count: u16) {
        for word in 0..self.x_words {
            self.x.0[word] &= Set::below(count, word);
        }
    }

    /// The size of the frame, if it is known.
    fn slots(&self) -> u16 {
        if let Frame::Slots(slots) = self.frame { slots } else { 0 }
    }

    /// Whether a slot is there and no catch tag.
    #[inline]
    pub(crate) fn has_y(&self, y: u16) -> bool {
        let slots = match self.frame {
            Frame::None => 0,
            Frame::Slots(slots) | Frame::Mixed(slots) => slots,
        };
        y < slots && !self.tags.has(y)
    }

    /// Whether the code has set a slot.
    #[inline]
    pub(crate) fn is_set_y(&self, y: u16) -> bool {
        self.y.has(y)
    }

    /// Whether a slot is there and may be overwritten.
    #[inline]
    pub(crate) fn may_set_y(&self, y: u16) -> bool {
        y < self.slots() && !self.tags.has(y)
    }

    #[inline]
    pub(crate) fn add_y(&mut self, y: u16) {
        self.y.add(y);
    }

    /// Whether the code has set every slot, so that the stack can be scanned.
    #[inline]
    pub(crate) fn is_scannable(&self) -> bool {
        match self.frame {
            Frame::Slots(slots) => self.y.covers(slots),
            // Where frames were mixed, this has been seen to.
            Frame::None | Frame::Mixed(_) => true,
        }
    }

    /// Pushes a frame.
    pub(crate) fn push_frame(&mut self, slots: u16, initialised: bool) {
        self.frame = Frame::Slots(slots);
        for word in 0..usize::from(slots).div_ceil(64) {
            self.y.0[word] = if initialised { Set::below(slots, word) } else { 0 };
            self.tags.0[word] = 0;
        }
    }

    /// Drops a frame of `slots` slots; false if it is not so, or a catch is active in it.
    pub(crate) fn pop_frame(&mut self, slots: u16) -> bool {
        let fine = self.frame == Frame::Slots(slots) && !self.has_tags();
        self.frame = Frame::None;
        fine
    }

    /// Drops the lower slots of a frame; false if it is not of this size or a catch is active in it.
    pub(crate) fn trim(&mut self, count: u16, remaining: u16) -> bool {
        let fine = u32::from(self.slots()) == u32::from(count) + u32::from(remaining) && !self.has_tags();
        if fine && self.frame != Frame::Slots(0) {
            self.y.shift_down(count);
            for word in 0..usize::from(remaining).div_ceil(64) {
                self.y.0[word] &= Set::below(remaining, word);
            }
        }
        fine && std::mem::replace(&mut self.frame, Frame::Slots(remaining)) != Frame::None
    }

    fn has_tags(&self) -> bool {
        let words = usize::from(self.slots()).div_ceil(64);
        self.tags.0[..words].iter().any(|word| *word != 0)
    }

    /// Begins a catch; false if the slot is not below those of all catches active in the frame.
    pub(crate) fn begin_catch(&mut self, y: u16) -> bool {
        let fine = y < self.slots() && (!self.has_tags() || self.tags.lowest().is_some_and(|lowest| y < lowest));
        self.y.add(y);
        self.tags.add(y);
        fine
    }

    /// Ends a catch; false if it is not the innermost.
    pub(crate) fn end_catch(&mut self, y: u16) -> bool {
        let fine = y < self.slots() && self.has_tags() && self.tags.lowest() == Some(y);
        self.tags.remove(y);
        fine
    }
}

/// The states at the labels of one function, packed: a head and as many words of each set as matter.
#[derive(Default)]
pub(crate) struct LabelStates {
    words: Vec<u64>,
    /// Frames of different sizes met, not all of them wholly initialised.
    pub(crate) mixed_raw: bool,
}

/// No function needs nearly this much; a hostile one gets no more (in words).
const MAX_WORDS: usize = 1 << 23;

/// What came of bringing a state to a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    /// The label's state is what it was.
    Same,
    /// The label's state is new or has fallen.
    Changed,
    /// The function needs too many states.
    TooMany,
}

/// The head of a packed state: the frame, how many words of X and Y registers follow, and the room on the heap.
#[derive(Clone, Copy)]
struct Head {
    frame: Frame,
    x_words: usize,
    y_words: usize,
    room: u32,
}

const _: () = assert!(WORDS < 1 << 8);

const MIXED: u64 = 0x8000;

impl Head {
    fn pack(self) -> u64 {
        let frame = match self.frame {
            Frame::None => 0,
            Frame::Slots(slots) => u64::from(slots) + 1,
            Frame::Mixed(slots) => MIXED | u64::from(slots),
        };
        let sizes = (self.x_words as u64) << 16 | (self.y_words as u64) << 24;
        frame | sizes | u64::from(self.room) << 32
    }

    fn unpack(word: u64) -> Self {
        let frame = match word & 0xffff {
            0 => Frame::None,
            mixed if mixed & MIXED != 0 => Frame::Mixed((mixed & !MIXED) as u16),
            slots => Frame::Slots(slots as u16 - 1),
        };
        Head {
            frame,
            x_words: (word >> 16 & 0xff) as usize,
            y_words: (word >> 24 & 0xff) as usize,
            room: (word >> 32) as u32,
        }
    }
}

impl Frame {
    fn least(self) -> u16 {
        match self {
            Frame::None => 0,
            Frame::Slots(slots) | Frame::Mixed(slots) => slots,
        }
    }
}

impl LabelStates {
    /// Forgets all states, for the next function.
    pub(crate) fn clear(&mut self) {
        self.words.clear();
        // Place 0 stands for "no state".
        self.words.push(0);
        self.mixed_raw = false;
    }

    /// Brings a state to the label whose state is at `place` (0: none yet).
    pub(crate) fn join(&mut self, place: &mut u32, state: &State) -> Join {
        if *place == 0 {
            return self.push(place, state);
        }
        let mut head = Head::unpack(self.words[*place as usize]);
        let (first, sets) = self.words[*place as usize..].split_at_mut(1);
        let (x, sets) = sets.split_at_mut(head.x_words);
        let (y, sets) = sets.split_at_mut(head.y_words);
        let tags = &mut sets[..head.y_words];
        let mut changed = false;
        for (word, other) in x.iter_mut().zip(state.x.0) {
            changed |= *word & !other != 0;
            *word &= other;
        }
        if state.room < head.room {
            head.room = state.room;
            first[0] = head.pack();
            changed = true;
        }
        if head.frame != state.frame || *tags != state.tags.0[..head.y_words] {
            let slots = head.frame.least();
            let covered = y.iter().enumerate().all(|(word, have)| {
                let want = Set::below(slots, word);
                have & want == want
            });
            self.mixed_raw |= !state.is_scannable() || matches!(head.frame, Frame::Slots(_)) && !covered;
            let mixed = Frame::Mixed(slots.min(state.frame.least()));
            changed |= mixed != head.frame;
            head.frame = mixed;
            first[0] = head.pack();
        }
        let common = usize::from(head.frame.least()).div_ceil(64);
        for word in 0..common.min(head.y_words) {
            let (set, tagged) = (state.y.0[word], state.tags.0[word]);
            changed |= y[word] & !set != 0 || tagged & !tags[word] != 0;
            y[word] &= set;
            tags[word] |= tagged;
        }
        if changed { Join::Changed } else { Join::Same }
    }

    fn push(&mut self, place: &mut u32, state: &State) -> Join {
        if self.words.len() > MAX_WORDS {
            return Join::TooMany;
        }
        *place = self.words.len() as u32;
        let y_words = usize::from(state.frame.least()).div_ceil(64);
        let State { frame, x_words, room, .. } = *state;
        self.words.push(Head { frame, x_words, y_words, room }.pack());
        self.words.extend_from_slice(&state.x.0[..state.x_words]);
        self.words.extend_from_slice(&state.y.0[..y_words]);
        self.words.extend_from_slice(&state.tags.0[..y_words]);
        Join::Changed
    }

    /// Makes the state at a place (not 0) the one at hand.
    pub(crate) fn load(&self, place: u32, state: &mut State) {
        let head = Head::unpack(self.words[place as usize]);
        let (x, sets) = self.words[place as usize + 1..].split_at(head.x_words);
        let (y, sets) = sets.split_at(head.y_words);
        state.live = true;
        state.frame = head.frame;
        state.room = head.room;
        for word in head.x_words..state.x_words {
            state.x.0[word] = 0;
        }
        state.x.0[..head.x_words].copy_from_slice(x);
        state.x_words = head.x_words;
        // Words of slots beyond the frame are never looked at.
        state.y.0[..head.y_words].copy_from_slice(y);
        state.tags.0[..head.y_words].copy_from_slice(&sets[..head.y_words]);
    }
}
