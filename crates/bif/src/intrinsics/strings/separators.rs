//! The clusters that a text is cut at, and which of them stands where.

use super::LONGEST;
use super::text::{CR, LF, Next, Text, each, ends_before, is_alone};
use crate::intrinsics::budget::PIECE;
use crate::work::Budget;
use myriad_term::Term;
use myriad_vm::Ctx;
use myriad_vm::bif::Escape;

/// Separators below are bits.
const LOW: u32 = 0x300;
/// Controls beyond, each a cluster of its own wherever it stands: those among `unicode_util:whitespace/0`.
const HIGH: [u32; 4] = [0x200e, 0x200f, 0x2028, 0x2029];

/// A set of separators.
pub struct Separators {
    low: [u64; (LOW / 64) as usize],
    high: [bool; HIGH.len()],
    /// CR LF.
    both: bool,
}

/// A cluster at the head of a text.
pub struct Cluster<T> {
    /// Is it a separator?
    pub separates: bool,
    /// Its characters.
    pub chars: usize,
    /// What is behind it.
    pub behind: T,
}

/// Where a separator is.
pub struct Mark<T> {
    /// Where it begins, or the end of the text.
    pub at: T,
    /// Characters before it.
    pub chars: usize,
    /// Characters that it has.
    pub separator: usize,
    /// What is behind it, if there is one.
    pub behind: Option<T>,
}

impl Separators {
    const NONE: Separators = Separators { low: [0; (LOW / 64) as usize], high: [false; HIGH.len()], both: false };

    /// `unicode_util:whitespace/0`.
    pub const WHITESPACE: Separators = {
        let mut separators = Separators { high: [true; HIGH.len()], both: true, ..Separators::NONE };
        separators.low[0] = 0x1f << 9 | 1 << 32;
        separators.low[2] = 1 << (133 - 128);
        separators
    };

    /// Those of a list that is not empty; declined if it has others than are known here.
    pub fn of(list: Term) -> Result<Separators, Escape> {
        let mut separators = Separators::NONE;
        let mut rest = list;
        for _ in 0..LONGEST {
            let Some((head, tail)) = rest.as_cons() else { break };
            separators.add(head).ok_or(Escape::Decline)?;
            rest = tail;
        }
        if rest.is_nil() && list.is_cons() { Ok(separators) } else { Err(Escape::Decline) }
    }

    fn add(&mut self, cluster: Term) -> Option<()> {
        if let Some((first, rest)) = cluster.as_cons() {
            let (second, end) = rest.as_cons()?;
            let is = |term: Term, char: u32| term.is(Term::small(char.into()));
            self.both = true;
            return (is(first, CR) && is(second, LF) && end.is_nil()).then_some(());
        }
        let char = u32::try_from(cluster.as_small()?).ok()?;
        if char < LOW {
            self.low[(char / 64) as usize] |= 1 << (char % 64);
            return Some(());
        }
        let place = HIGH.iter().position(|high| *high == char)?;
        self.high[place] = true;
        Some(())
    }

    /// Is the character a separator where it is a cluster?
    #[inline(always)]
    pub fn has(&self, char: u32) -> bool {
        match self.low.get((char / 64) as usize) {
            Some(bits) => bits >> (char % 64) & 1 != 0,
            None => self.has_high(char),
        }
    }

    #[cold]
    fn has_high(&self, char: u32) -> bool {
        HIGH.iter().zip(&self.high).any(|(high, has)| *high == char && *has)
    }

    /// Does a separator begin with the character?
    #[inline(always)]
    pub fn begins(&self, char: u32) -> bool {
        self.has(char) || self.both && char == CR
    }

    /// Is CR LF a separator?
    pub fn has_both(&self) -> bool {
        self.both
    }

    /// What stands at the head of a text: a character, and `after` it the rest.
    #[inline]
    pub fn at<T: Text>(&self, char: u32, after: T) -> Result<Cluster<T>, Escape> {
        let mut behind = after;
        Ok(if ends_before(char, behind.next())? {
            Cluster { separates: self.has(char), chars: 1, behind: after }
        } else {
            Cluster { separates: self.both, chars: 2, behind }
        })
    }

    /// What is left of a text without the separators at its head, and how many characters those are.
    pub fn skip<T: Text>(&self, ctx: &Ctx<'_>, budget: &mut Budget, mut text: T) -> Result<(T, usize), Escape> {
        let mut chars = 0;
        loop {
            for done in 0..PIECE {
                let mut after = text;
                // (Whatever stands there, the Erlang code looks where its cluster ends.)
                let cluster = match after.next() {
                    Next::Char(char) if is_alone(char) => self.at(char, after)?,
                    Next::End => Cluster { separates: false, chars: 0, behind: text },
                    _ => return Err(Escape::Decline),
                };
                if !cluster.separates {
                    budget.spend(ctx, done)?;
                    return Ok((text, chars));
                }
                text = cluster.behind;
                chars += cluster.chars;
            }
            budget.spend(ctx, PIECE)?;
        }
    }

    /// The first separator of a text. What is no separator and does not begin as one may be any character.
    #[inline]
    pub fn search<T: Text>(&self, ctx: &Ctx<'_>, budget: &mut Budget, mut text: T) -> Result<Mark<T>, Escape> {
        let mut chars = 0;
        loop {
            let next = each(ctx, budget, &mut text, |char| {
                let is_plain = !self.begins(char);
                chars += usize::from(is_plain);
                is_plain
            })?;
            let char = match next {
                Next::Char(char) => char,
                Next::End => return Ok(Mark { at: text, chars, separator: 0, behind: None }),
                Next::Other => return Err(Escape::Decline),
            };
            let mut after = text;
            after.next();
            budget.spend(ctx, 1)?;
            let cluster = self.at(char, after)?;
            if cluster.separates {
                let Cluster { chars: separator, behind, .. } = cluster;
                return Ok(Mark { at: text, chars, separator, behind: Some(behind) });
            }
            text = cluster.behind;
            chars += cluster.chars;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space() {
        let white = [9, 10, 11, 12, 13, 32, 133, 8206, 8207, 8232, 8233];
        for char in 0..0x3000 {
            assert_eq!(Separators::WHITESPACE.has(char), white.contains(&char), "{char}");
        }
    }
}
