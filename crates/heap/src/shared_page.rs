//! A page of the bundle area that small bundles of one size share: which of its places are free, and what of its memory nobody uses.

use std::ops::Range;

/// Bytes that places are a multiple of, and how many of these a page has.
pub(crate) const GRANULE: usize = 256;
pub(crate) const GRANULES: usize = 64;
/// Bytes of a page.
pub(crate) const PAGE: usize = GRANULE * GRANULES;
/// A page consists of so many parts, which the system takes and gives by themselves.
const PARTS: usize = 4;
const PART: usize = PAGE / PARTS;

/// Such a page.
#[derive(Clone, Copy, Default)]
pub(crate) struct SharedPage {
    /// A bit for each place that is free.
    pub(crate) places: u64,
    /// Where it stands among the pages with room.
    pub(crate) at: u32,
    /// A bit for each part that was given back to the system since the page was last taken.
    away: u8,
}

/// All places of a page whose bundles take so many granules.
pub(crate) fn all_places(granules: usize) -> u64 {
    let places = GRANULES / granules;
    u64::MAX >> (u64::BITS as usize - places)
}

impl SharedPage {
    /// Somebody takes all places that are free.
    pub(crate) fn take_places(&mut self) -> u64 {
        self.away = 0;
        std::mem::take(&mut self.places)
    }

    /// Calls `give` with the parts, as bytes of the page, in which no bundle of so many granules lies, nor any that somebody may make. They count as given back then.
    pub(crate) fn give_unused(&mut self, granules: usize, mut give: impl FnMut(Range<usize>)) {
        let is_unused = |part: &usize| self.away >> part & 1 == 0 && self.is_unused(*part, granules);
        let unused: Vec<usize> = (0..PARTS).filter(is_unused).collect();
        for side_by_side in unused.chunk_by(|part, next| part + 1 == *next) {
            let [first, last] = [side_by_side[0], side_by_side[side_by_side.len() - 1]];
            give(first * PART..(last + 1) * PART);
        }
        self.away |= unused.iter().fold(0, |away, part| away | 1 << part);
    }

    /// Are all places free that lie in a part, wholly or not? Behind the last place there is nothing.
    fn is_unused(&self, part: usize, granules: usize) -> bool {
        let size = granules * GRANULE;
        let places = GRANULES / granules;
        let (first, behind) = (part * PART / size, ((part + 1) * PART).div_ceil(size).min(places));
        (first..behind).all(|place| self.places >> place & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::{GRANULE, GRANULES, PART, SharedPage, all_places};

    fn unused(page: &mut SharedPage, granules: usize) -> Vec<(usize, usize)> {
        let mut parts = Vec::new();
        page.give_unused(granules, |bytes| parts.push((bytes.start / PART, bytes.end / PART)));
        parts
    }

    #[test]
    fn parts_without_bundles_are_given_back_once() {
        let mut page = SharedPage { places: all_places(1), ..SharedPage::default() };
        page.places &= !(1 << 20);
        assert_eq!(unused(&mut page, 1), [(0, 1), (2, 4)]);
        assert_eq!(unused(&mut page, 1), []);
        page.places |= 1 << 20;
        assert_eq!(unused(&mut page, 1), [(1, 2)]);
        assert_eq!(page.take_places(), all_places(1));
        assert_eq!(unused(&mut page, 1), [], "somebody has its places");
        page.places = all_places(1);
        assert_eq!(unused(&mut page, 1), [(0, 4)]);
    }

    /// No granule of a bundle is given back, and every part is in which there is none.
    #[test]
    fn what_is_used_stays() {
        for granules in 1..=GRANULES / 2 {
            for used in 0..GRANULES / granules {
                let mut page = SharedPage { places: all_places(granules) & !(1 << used), ..SharedPage::default() };
                let mut given = [false; GRANULES];
                page.give_unused(granules, |bytes| given[bytes.start / GRANULE..bytes.end / GRANULE].fill(true));
                let lies = used * granules..(used + 1) * granules;
                for (part, given) in given.chunks(PART / GRANULE).enumerate() {
                    let first = part * PART / GRANULE;
                    let is_used = (first..first + given.len()).any(|granule| lies.contains(&granule));
                    assert!(given.iter().all(|given| *given != is_used), "{granules} granules, place {used}");
                }
            }
        }
    }
}
