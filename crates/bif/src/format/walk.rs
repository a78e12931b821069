//! A walk over the characters of a deep list.

use myriad_term::Term;

/// What is left of a deep list. Nesting in heads is kept in a stack of its own.
pub struct Walk {
    at: Term,
    left: Vec<Term>,
    /// Has a tail been met that is no list? It was given as an element.
    pub improper: bool,
}

impl Walk {
    /// From its beginning.
    pub fn new(list: Term) -> Walk {
        Walk { at: list, left: Vec::new(), improper: false }
    }
}

impl Iterator for Walk {
    type Item = Term;

    /// The next element that is no list.
    #[inline]
    fn next(&mut self) -> Option<Term> {
        loop {
            if let Some((head, tail)) = self.at.as_cons() {
                if head.is_cons() {
                    if !tail.is_nil() {
                        self.left.push(tail);
                    }
                    self.at = head;
                } else {
                    self.at = tail;
                    if !head.is_nil() {
                        return Some(head);
                    }
                }
            } else if self.at.is_nil() {
                self.at = self.left.pop()?;
            } else {
                self.improper = true;
                return Some(std::mem::replace(&mut self.at, Term::NIL));
            }
        }
    }
}
