//! Which free pages of an area have memory behind them: those that were in use and have not been given back to the system since; and how many of them are not needed.
//!
//! The fewest that there have been in a while were not needed in it. Beyond [`KEPT`] they go, piece by piece, as more becomes free.

use crate::shared_page::PAGE;
use std::time::{Duration, Instant};

/// Pages that keep their memory as long as anything happens: 8 MB.
const KEPT: usize = (8 << 20) / PAGE;
/// Pages that are given back at a time, beside twice what has just become free: 4 MB.
pub(crate) const PIECE: u32 = (4 << 20) / PAGE as u32;
/// What was not needed for so long is not kept.
const WHILE: Duration = Duration::from_secs(1);

/// A bit for each page.
pub(crate) struct Resident {
    bits: Vec<u64>,
    /// How many are set.
    pages: usize,
    /// Before this word [`Resident::take`] goes on, before the end if it is 0. Behind it there are none but those that came later.
    cursor: usize,
    /// The fewest since `since`, when a while began, if one ever has.
    fewest: usize,
    since: Option<Instant>,
    /// So many are to be given back: they were not needed for a while.
    unneeded: usize,
}

/// The bits of a word that stand for pages `from..to`, which begin and end in it.
fn bits(from: u32, to: u32) -> u64 {
    let count = to - from;
    if count == u64::BITS { u64::MAX } else { ((1 << count) - 1) << (from % u64::BITS) }
}

/// The words that pages stand in, and which bits of each.
fn words(first: u32, pages: u32) -> impl Iterator<Item = (usize, u64)> {
    let end = first + pages;
    (first / u64::BITS..end.div_ceil(u64::BITS)).map(move |word| {
        let begin = word * u64::BITS;
        (word as usize, bits(first.max(begin), end.min(begin + u64::BITS)))
    })
}

impl Resident {
    pub(crate) const NONE: Resident =
        Resident { bits: Vec::new(), pages: 0, cursor: 0, fewest: 0, since: None, unneeded: 0 };

    /// How many there are.
    pub(crate) fn pages(&self) -> usize {
        self.pages
    }

    /// These pages are free now, and have memory.
    pub(crate) fn add(&mut self, first: u32, pages: u32) {
        let length = (first + pages).div_ceil(u64::BITS) as usize;
        if self.bits.len() < length {
            self.bits.resize(length, 0);
        }
        for (word, bits) in words(first, pages) {
            debug_assert_eq!(self.bits[word] & bits, 0, "pages that are free become so");
            self.bits[word] |= bits;
        }
        self.pages += pages as usize;
    }

    /// These are not free any more, whether they have memory or not.
    pub(crate) fn remove(&mut self, first: u32, pages: u32) {
        for (word, bits) in words(first, pages) {
            // Behind the last that was ever added there is none.
            let Some(of_word) = self.bits.get_mut(word) else { break };
            self.pages -= (*of_word & bits).count_ones() as usize;
            *of_word &= !bits;
        }
        self.fewest = self.fewest.min(self.pages);
    }

    /// So many pages have just become free: how many are to be given back now, if any are.
    pub(crate) fn due(&mut self, pages: u32) -> Option<u32> {
        if self.pages <= KEPT {
            return None;
        }
        self.look_for_unneeded(Instant::now());
        let most = self.unneeded.min(self.pages - KEPT) as u32;
        Some(most.min(2 * pages + PIECE))
    }

    /// At the end of a while, what was not needed in it is known.
    fn look_for_unneeded(&mut self, now: Instant) {
        match self.since {
            Some(since) if now.duration_since(since) < WHILE => return,
            Some(_) => self.unneeded = self.fewest,
            None => {}
        }
        (self.since, self.fewest) = (Some(now), self.pages);
    }

    /// Pages side by side, `most` at most, which are to be given back now and count as such: the first and how many. The last pages of the area come first, for
    /// what is needed next is taken from the beginning.
    pub(crate) fn take(&mut self, most: u32) -> Option<(u32, u32)> {
        if self.pages == 0 || most == 0 {
            return None;
        }
        if self.cursor == 0 || self.cursor > self.bits.len() {
            self.cursor = self.bits.len();
        }
        let before = self.bits[..self.cursor].iter().rposition(|bits| *bits != 0);
        let word = before.or_else(|| self.bits.iter().rposition(|bits| *bits != 0))?;
        let last = word as u32 * u64::BITS + self.bits[word].ilog2();
        let mut first = last;
        while first > 0 && last - first + 1 < most && self.has(first - 1) {
            first -= 1;
        }
        self.cursor = (first / u64::BITS) as usize + 1;
        let pages = last - first + 1;
        self.remove(first, pages);
        self.unneeded = self.unneeded.saturating_sub(pages as usize);
        Some((first, pages))
    }

    fn has(&self, page: u32) -> bool {
        self.bits[(page / u64::BITS) as usize] >> (page % u64::BITS) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::{KEPT, PIECE, Resident, WHILE};
    use std::time::Instant;

    #[test]
    fn pages_are_taken_from_the_end_side_by_side() {
        let mut resident = Resident::NONE;
        assert_eq!(resident.take(10), None);
        resident.add(0, 3);
        resident.add(60, 140);
        assert_eq!((resident.pages(), resident.take(50)), (143, Some((150, 50))));
        // In use again, as far as it has memory or not.
        resident.remove(140, 30);
        assert_eq!((resident.pages(), resident.take(1_000)), (83, Some((60, 80))));
        assert_eq!(resident.take(0), None);
        resident.add(400, 1);
        assert_eq!(
            [resident.take(2), resident.take(2), resident.take(2), resident.take(2)],
            [Some((1, 2)), Some((0, 1)), Some((400, 1)), None]
        );
        resident.remove(1_000, 5);
        assert_eq!(resident.pages(), 0);
    }

    #[test]
    fn what_was_not_needed_for_a_while_is_due() {
        let mut resident = Resident::NONE;
        resident.add(0, KEPT as u32);
        assert_eq!(resident.due(1), None, "that much is kept");
        let many = 4 * PIECE;
        resident.add(KEPT as u32, many);
        let begin = Instant::now();
        resident.look_for_unneeded(begin);
        // Some were needed, and are free again.
        resident.remove(0, 100);
        resident.add(0, 100);
        resident.look_for_unneeded(begin + WHILE / 2);
        assert_eq!(resident.unneeded, 0, "the while is not over");
        resident.look_for_unneeded(begin + WHILE);
        assert_eq!(resident.unneeded, KEPT + many as usize - 100);
        assert_eq!(resident.due(3), Some(PIECE + 6));
        while resident.take(PIECE).is_some() {}
        assert_eq!(resident.unneeded, 0, "what is given back is no more to be");
    }

    #[test]
    fn all_that_was_added_is_taken_once() {
        let mut resident = Resident::NONE;
        let runs = [(0, 1), (2, 62), (64, 64), (130, 1), (190, 70), (300, 200)];
        runs.iter().for_each(|(first, pages)| resident.add(*first, *pages));
        let mut taken: Vec<u32> = Vec::new();
        while let Some((first, pages)) = resident.take(48) {
            assert!(pages <= 48);
            taken.extend(first..first + pages);
        }
        taken.sort_unstable();
        let added: Vec<u32> = runs.iter().flat_map(|(first, pages)| *first..first + pages).collect();
        assert_eq!((taken, resident.pages()), (added, 0));
    }
}
