//! Whose the old generation of the one heap is ([`crate::shared`]): what a marking finds from the roots of a process that none before it led to counts as that process's.
//!
//! The paper leaves open what a process's size is where all have one heap (Johansson, Sagonas, Wilhelmsson 2002, section 4). A marking follows the roots anyway; one process's after
//! another's, they tell it for nothing. What several refer to counts for the first that was asked, and what only signals refer to for nobody.

use crate::one_heap::is_old;
use myriad_sync::{Arc, LockClass, Mutex};
use myriad_term::Term;

static SHARES_CLASS: LockClass = LockClass::new("attributed_words", 948);
/// The shares that the last marking found.
static SHARES: Mutex<Option<Arc<Shares>>> = Mutex::new(&SHARES_CLASS, None);

/// Words that lead into the old generation, and whose they are.
#[derive(Default)]
pub(crate) struct Told {
    /// One process's after another's.
    words: Vec<u64>,
    /// The processes' numbers, and how many of these words each has told.
    owners: Vec<(u64, usize)>,
    /// Nobody's.
    others: Vec<u64>,
}

/// Processes' numbers in order, and words of the old generation that are theirs.
#[derive(Default)]
pub(crate) struct Shares(Vec<(u64, usize)>);

/// Adds a word if it leads into the old generation.
fn add(word: u64, words: &mut Vec<u64>) {
    // SAFETY: only looked at.
    let term = unsafe { Term::from_raw(word) };
    if !term.is_immediate() && is_old(term.object_ptr()) {
        words.push(word);
    }
}

impl Told {
    pub(crate) const NOTHING: Told = Told { words: Vec::new(), owners: Vec::new(), others: Vec::new() };

    /// Words that nobody has told.
    pub(crate) fn by_nobody(others: Vec<u64>) -> Told {
        Told { others, ..Told::NOTHING }
    }

    /// The process with a number tells its roots: all that `each` gives what it is called with.
    pub(crate) fn tell(&mut self, number: u64, each: impl FnOnce(&mut dyn FnMut(u64))) {
        let before = self.words.len();
        each(&mut |word| add(word, &mut self.words));
        let words = self.words.len() - before;
        if words > 0 {
            self.owners.push((number, words));
        }
    }

    /// A word of nobody's.
    pub(crate) fn tell_other(&mut self, word: u64) {
        add(word, &mut self.others);
    }

    pub(crate) fn append(&mut self, mut other: Told) {
        self.words.append(&mut other.words);
        self.owners.append(&mut other.owners);
        self.others.append(&mut other.others);
    }

    /// Calls `follow` with the words of each process, which gives how many words it has found of these, and then with nobody's; gives the shares. `None`: it was stopped.
    pub(crate) fn share(&self, mut follow: impl FnMut(&[u64]) -> Option<usize>) -> Option<Shares> {
        let (mut shares, mut rest) = (Vec::new(), &self.words[..]);
        for (number, words) in &self.owners {
            let (own, others) = rest.split_at(*words);
            rest = others;
            let found = follow(own)?;
            if found > 0 {
                shares.push((*number, found));
            }
        }
        debug_assert!(rest.is_empty(), "words that no process has told");
        follow(&self.others)?;
        shares.sort_unstable();
        Some(Shares(shares))
    }
}

impl Shares {
    /// These are the last ones.
    pub(crate) fn publish(self) {
        *SHARES.lock() = Some(Arc::new(self));
    }

    fn of(&self, number: u64) -> usize {
        let place = self.0.binary_search_by_key(&number, |(number, _)| *number);
        place.map_or(0, |place| self.0[place].1)
    }
}

/// Words of the one heap's old generation that are a process's, as far as the last marking knows.
pub fn old_words_of(number: u64) -> usize {
    let shares = SHARES.lock().clone();
    shares.map_or(0, |shares| shares.of(number))
}
