//! Pieces of a large old generation of which little lives, and the words that lead into them: found by the helper that releases the gaps ([`crate::marking`]), for the
//! owner to empty them ([`crate::evacuation`]).
//!
//! CA1. From the moment when it is chosen until the next marking all bits of a candidate are set, or will be before the owner is told of gaps there: nobody fills
//!      any of its gaps.
//! CA2. The remembered slots of a candidate are all the words of the old generation that lead to its objects, the links of off-heap chains (heap/H5) among them, but for those
//!      of what the owner has promoted since the gaps began to be released. They may be words of objects that are dead, or have moved.

use crate::live_map::{LiveMap, PIECE as STEP};
use crate::reserved::{HUGE_PAGE, pointer};
use myriad_term::Term;
use myriad_term::boxed::Header;
use std::ops::Range;

/// Words of a piece, which is emptied at once.
pub(crate) const PIECE: usize = if cfg!(any(test, heap_check)) { STEP } else { 8 * STEP };
const _: () = assert!(PIECE <= 1 << u16::BITS && PIECE.is_multiple_of(STEP));
/// An object of so many words that lies in two pieces stays.
pub(crate) const LARGEST_ACROSS: usize = PIECE / 8;
/// Words of a region: pieces that are emptied one after the other, and go back to the system together, as a huge page.
pub(crate) const REGION: usize = if cfg!(any(test, heap_check)) { 8 * PIECE } else { HUGE_PAGE / 8 };
const _: () = assert!(REGION.is_multiple_of(PIECE));
/// Regions of which more than two of three words live are no candidates.
const SPARSE: [usize; 2] = [2, 3];
/// Classes of regions by how much of them lives; the sparsest are emptied first.
const CLASSES: usize = 8;
/// Pieces are emptied where more than this part of what lives is lost in gaps, until that is half as much.
const LOST: usize = 4;
/// Not more than this part of what lives is moved after one marking: so the others have gaps for it, and slots take a bounded part of the memory.
const MOVED: usize = 2;

/// What the owner goes on filling while gaps are released, and where what was promoted before ends.
pub(crate) struct Owned {
    /// Addresses, in order.
    pub(crate) gaps: Vec<Range<usize>>,
    pub(crate) end: *mut u64,
    /// Words that it has promoted since the marking before: as many will want gaps until the next.
    pub(crate) promotes: usize,
}

// SAFETY: the address is only compared, and used under heap.marking/MA1.
unsafe impl Send for Owned {}

/// How far a candidate is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// It is to be emptied.
    Full,
    /// Too many words lead there: it stays as it is.
    Dropped,
    /// Its objects have moved, or are moving.
    Emptied,
}

/// A piece of which little lives.
pub(crate) struct Candidate {
    /// Where the first of its objects may begin, and where the last that moves ends: addresses.
    pub(crate) area: Range<usize>,
    /// Words that live.
    pub(crate) live: usize,
    /// The objects that are to move, in words from the piece's beginning.
    objects: Vec<u16>,
    /// The address of the piece.
    start: usize,
    /// CA2.
    pub(crate) slots: Vec<usize>,
    pub(crate) state: State,
}

impl Candidate {
    /// Its objects.
    pub(crate) fn objects(&self) -> impl Iterator<Item = *mut u64> + '_ {
        self.objects.iter().map(|offset| pointer(self.start + 8 * usize::from(*offset)))
    }
}

/// The candidates of one marking.
pub(crate) struct Candidates {
    base: usize,
    /// Of each piece its place in the list, if it is a candidate.
    places: Vec<Option<u32>>,
    /// In the order of their addresses.
    pub(crate) list: Vec<Candidate>,
    /// More would have been emptied if less had to be moved.
    pub(crate) is_partial: bool,
    /// Words that would be lost in gaps if all are emptied.
    lost: usize,
}

/// Where a term leads, or a link of an off-heap chain.
pub(crate) fn leads_to(word: u64) -> usize {
    // SAFETY: only looked at.
    let term = unsafe { Term::from_raw(word) };
    if term.is_immediate() { word as usize } else { term.object_ptr().addr() }
}

/// What a look through an area meets.
pub(crate) enum Met {
    /// A word that may lead to another object ([`leads_to`]).
    Slot(*mut u64),
    /// An object and its words, behind its slots.
    Object(*mut u64, usize),
}

/// Calls with all that an area holds.
///
/// # Safety
/// The area is whole objects (heap/H2), and their words stay.
#[inline(always)]
pub(crate) unsafe fn look_through(start: *mut u64, end: *mut u64, mut meet: impl FnMut(Met)) {
    let mut at = start;
    while at < end {
        // SAFETY: the caller's promise: an object begins with a header, which tells its words, or is a list cell.
        unsafe {
            let header = Header::from_raw(*at);
            let (words, slots) = if !Term::from_raw(*at).is_header() {
                (2, 0..2)
            } else if header.holds_terms() {
                (1 + header.size(), 1..1 + header.size())
            } else {
                if header.is_off_heap() {
                    meet(Met::Slot(at.add(header.size())));
                }
                (1 + header.size(), 0..0)
            };
            for i in slots {
                if !Term::from_raw(*at.add(i)).is_immediate() {
                    meet(Met::Slot(at.add(i)));
                }
            }
            meet(Met::Object(at, words));
            at = at.add(words);
        }
    }
    debug_assert!(at == end || start >= end, "H2: the last object before {end:?} ends at {at:?}");
}

impl Candidates {
    /// Those of what lives by these maps, if much is lost in gaps. What the owner fills is in none.
    pub(crate) fn choose(map: &LiveMap, promoted: &LiveMap, owned: &Owned) -> Option<Candidates> {
        let base = map.address(0).addr();
        let live: Vec<usize> =
            (0..map.words() / PIECE).map(|piece| map.count(promoted, piece * PIECE, (piece + 1) * PIECE)).collect();
        let all: usize = live.iter().sum();
        let used = live.iter().filter(|live| **live > 0).count() * PIECE;
        let lost = (used - all).saturating_sub(owned.promotes);
        if lost <= all / LOST + CLASSES * PIECE {
            return None;
        }
        // What the owner fills stays, and what is no whole region.
        let mut regions: Vec<Option<usize>> =
            live.chunks_exact(REGION / PIECE).map(|pieces| Some(pieces.iter().sum())).collect();
        for gap in &owned.gaps {
            let filled = (gap.start - base) / 8 / REGION..(gap.end - base).div_ceil(8 * REGION);
            (filled.start.min(regions.len())..filled.end.min(regions.len())).for_each(|region| regions[region] = None);
        }
        let (mut to_gain, mut to_move) = (lost - all / LOST / 2, all / MOVED);
        let mut places = vec![None; live.len()];
        let mut is_partial = false;
        for class in 0..CLASSES {
            // Gaps are filled from the beginning on.
            for (region, live) in regions.iter().enumerate().rev() {
                let Some(live) = live.filter(|live| *live > 0 && *live * SPARSE[1] <= REGION * SPARSE[0]) else {
                    continue;
                };
                if live * CLASSES / (REGION + 1) != class || to_gain == 0 {
                    continue;
                }
                if live > to_move {
                    is_partial = true;
                    continue;
                }
                places[region * (REGION / PIECE)..(region + 1) * (REGION / PIECE)].fill(Some(0));
                to_move -= live;
                to_gain = to_gain.saturating_sub(REGION - live);
            }
        }
        let mut list = Vec::new();
        for (piece, place) in places.iter_mut().enumerate().filter(|(_, place)| place.is_some()) {
            *place = Some(list.len() as u32);
            let start = base + 8 * PIECE * piece;
            let (area, live) = (start..start + 8 * PIECE, live[piece]);
            list.push(Candidate { area, live, objects: Vec::new(), start, slots: Vec::new(), state: State::Full });
        }
        let gained: usize = list.iter().map(|one| PIECE - one.live).sum();
        (!list.is_empty()).then_some(Candidates { base, places, list, is_partial, lost: lost.saturating_sub(gained) })
    }

    /// Words that will be lost in gaps.
    pub(crate) fn lost(&self) -> usize {
        let dropped = self.list.iter().filter(|one| one.state == State::Dropped).map(|one| PIECE - one.live);
        self.lost + dropped.sum::<usize>()
    }

    fn place_of(&self, piece: usize) -> Option<usize> {
        self.places.get(piece).copied().flatten().map(|place| place as usize)
    }

    /// The candidate in which an address lies.
    #[inline(always)]
    fn place_at(&self, at: usize) -> Option<usize> {
        self.place_of(at.wrapping_sub(self.base) / (8 * PIECE))
    }

    /// The first part of a gap: what lies in one candidate, which becomes filler by itself, as it is emptied by itself, or what lies in none; and which it is.
    pub(crate) fn part(&self, gap: &Range<usize>) -> (Range<usize>, bool) {
        let is_candidate = |piece| self.place_of(piece).is_some();
        let mut following = gap.start / PIECE + 1..gap.end.div_ceil(PIECE);
        let is_in_one = is_candidate(gap.start / PIECE);
        let border = following.find(|piece| is_in_one || is_candidate(*piece));
        (gap.start..border.map_or(gap.end, |piece| piece * PIECE), is_in_one)
    }

    /// Remembers a slot if its word leads to a candidate.
    ///
    /// # Safety
    /// It is a word of an object of the old generation.
    #[inline(always)]
    pub(crate) unsafe fn remember(&mut self, slot: *mut u64) {
        // SAFETY: the caller's promise.
        if let Some(place) = self.place_at(leads_to(unsafe { *slot })) {
            let candidate = &mut self.list[place];
            if candidate.state != State::Full {
                return;
            }
            if candidate.slots.len() == candidate.live {
                (candidate.state, candidate.slots) = (State::Dropped, Vec::new());
            } else {
                candidate.slots.push(slot.expose_provenance());
            }
        }
    }

    /// An object of the part that is marked: it is to move if it lies in a candidate.
    fn find(&mut self, at: *mut u64, words: usize) {
        let piece_of = |at: *mut u64| at.addr().wrapping_sub(self.base) / (8 * PIECE);
        let end = at.wrapping_add(words);
        let (first, last) = (piece_of(at), piece_of(end.wrapping_sub(1)));
        if first != last
            && let Some(next) = self.place_of(last)
        {
            self.list[next].area.start = end.addr();
        }
        let Some(place) = self.place_of(first) else { return };
        let candidate = &mut self.list[place];
        if first == last || words <= LARGEST_ACROSS {
            candidate.objects.push(((at.addr() - candidate.start) / 8) as u16);
            candidate.area.end = candidate.area.end.max(end.addr());
        } else {
            candidate.area.end = at.addr();
        }
    }

    /// Looks through all that lives in an area: what of it lies in candidates is to move, and the words that lead there are remembered.
    ///
    /// # Safety
    /// heap.marking/MA1; the area is whole objects but for the gaps that the owner fills, which nobody looks into.
    pub(crate) unsafe fn look_through(&mut self, owned: &Owned, area: Range<usize>) {
        let first = owned.gaps.partition_point(|gap| gap.end <= area.start);
        let gaps = owned.gaps[first..].iter().take_while(|gap| gap.start < area.end);
        let mut start = area.start;
        for gap in gaps.cloned().chain(std::iter::once(area.end..area.end)) {
            // SAFETY: the caller's promise.
            unsafe {
                look_through(pointer(start), pointer(gap.start), |met| match met {
                    Met::Slot(slot) => self.remember(slot),
                    Met::Object(at, words) => self.find(at, words),
                });
            }
            start = gap.end;
        }
    }

    /// The place in the list of the candidate, not yet emptied, in which an address lies.
    #[inline(always)]
    pub(crate) fn full_at(&self, at: usize) -> Option<usize> {
        self.place_at(at).filter(|place| self.list[*place].state == State::Full)
    }

    /// The candidate that is emptied and that held the object which began at an address.
    pub(crate) fn emptied_at(&self, at: usize) -> Option<&Candidate> {
        let candidate = &self.list[self.place_at(at)?];
        (candidate.state == State::Emptied && candidate.area.contains(&at)).then_some(candidate)
    }

    /// Does a word at an address belong to an object that has moved?
    pub(crate) fn has_moved(&self, at: usize) -> bool {
        let before = self.place_at(at.wrapping_sub(8 * PIECE)).map(|place| &self.list[place]);
        self.emptied_at(at).is_some()
            || before.is_some_and(|before| before.state == State::Emptied && before.area.contains(&at))
    }
}
