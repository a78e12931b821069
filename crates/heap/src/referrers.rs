//! [`Referrers`]: which processes refer to the candidates of an evacuation of the one heap ([`crate::shared_evacuation`]).

use std::collections::BTreeSet;

/// To find a process and its roots takes as long as to copy so many words.
const ASKED: usize = 64;

/// Who refers to candidates.
pub(crate) struct Referrers {
    /// Places of candidates, and the numbers of processes that refer to them.
    pairs: BTreeSet<(usize, u64)>,
    /// Where in the table of processes those begin that were not asked; `None`: all were.
    next: Option<usize>,
    /// So many roots had one of them, at most.
    most_roots: usize,
}

impl Default for Referrers {
    fn default() -> Referrers {
        Referrers { pairs: BTreeSet::new(), next: Some(0), most_roots: 0 }
    }
}

impl Referrers {
    /// Some were found, among processes with so many roots at most.
    pub(crate) fn add(&mut self, pairs: Vec<(usize, u64)>, most_roots: usize) {
        self.pairs.extend(pairs);
        self.most_roots = self.most_roots.max(most_roots);
    }

    /// Where in the table of processes those begin that were not asked; `None`: all were.
    pub(crate) fn next(&self) -> Option<usize> {
        self.next
    }

    /// Those before this place were asked, or all.
    pub(crate) fn are_asked_up_to(&mut self, next: Option<usize>) {
        self.next = next;
    }

    /// So many roots had one of them, at most.
    pub(crate) fn most_roots(&self) -> usize {
        self.most_roots
    }

    /// What it takes to ask those of a candidate, in words that are copied.
    pub(crate) fn effort(&self, place: usize) -> usize {
        if self.pairs.is_empty() { 0 } else { ASKED * self.pairs.range((place, 0)..(place + 1, 0)).count() }
    }

    /// Those of all candidates before this one, which are forgotten.
    pub(crate) fn take_before(&mut self, place: usize) -> BTreeSet<u64> {
        let rest = self.pairs.split_off(&(place, 0));
        std::mem::replace(&mut self.pairs, rest).into_iter().map(|(_, number)| number).collect()
    }
}
