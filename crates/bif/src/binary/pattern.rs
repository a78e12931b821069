//! What `binary:match/2` and its kin search for: one text or several.
//!
//! A compiled pattern is `{bm, Ref}` or `{ac, Ref}`, a magic reference keeping a [`Pattern`]. One text is found by memchr's
//! two-way search, several by an Aho-Corasick automaton: at the lowest position, the longest of those that begin there. As
//! an automaton takes long to build, few and short texts are looked for by their first bytes, and have one only once they
//! have not been found for a while.

use crate::work::dirty;
use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use memchr::memmem;
use myriad_sync::OnceLock;
use myriad_term::magic::{Magic, magic_reference};
use myriad_term::{Build, Term, am};
use myriad_vm::bif::{BADARG, Escape, SYSTEM_LIMIT, badarg};
use myriad_vm::{BifResult, Ctx};
use std::borrow::Cow;

/// A pattern of more bytes than this is compiled on a dirty scheduler.
const LONG: usize = 64 * 1024;
/// Up to this many bytes, the automaton has a table of all transitions.
const DENSE: usize = 2048;
/// A subject of fewer bytes is not worth more than the cheapest automaton.
const SHORT_SUBJECT: usize = 4096;

/// Texts up to this size are looked for by their first byte in subjects that are short, too: at most [`SHORT_TEXT`] times
/// [`SHORT_FOR_TEXT`] comparisons.
const SHORT_TEXT: usize = 8;
const SHORT_FOR_TEXT: usize = 256;

/// Up to this number of texts of up to [`SHORT_TEXT`] bytes are looked for by their first bytes.
const FEW: usize = 16;
/// But only in this number of bytes of a subject that is not short.
const SOON: usize = 1024;

/// How a pattern is found.
enum Finder {
    /// One text of one byte.
    Byte(u8),
    /// One short text, for short subjects: nothing is prepared.
    Short([u8; SHORT_TEXT], usize),
    /// One text.
    Text(Box<memmem::Finder<'static>>),
    /// Several texts of one byte each.
    Set(Box<[bool; 256]>),
    /// Several short texts.
    Few(Box<Few>),
    /// Several texts.
    Texts(AhoCorasick),
}

/// Texts that can be searched for; none is empty.
pub(super) struct Pattern {
    finder: Finder,
    longest: usize,
}

impl Pattern {
    /// Bytes of the longest text, at least one.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// How many bytes are searched for one reduction.
    pub(super) fn bytes_per_reduction(&self) -> usize {
        match self.finder {
            Finder::Byte(_) | Finder::Short(..) | Finder::Text(_) => 512,
            Finder::Set(_) => 128,
            Finder::Few(_) | Finder::Texts(_) => 32,
        }
    }

    /// Was it compiled from one text?
    fn is_single(&self) -> bool {
        matches!(self.finder, Finder::Byte(_) | Finder::Short(..) | Finder::Text(_))
    }

    /// Start and length of the first occurrence, of several at one place the longest.
    pub(super) fn find(&self, bytes: &[u8]) -> Option<(usize, usize)> {
        match &self.finder {
            Finder::Byte(byte) => memchr::memchr(*byte, bytes).map(|at| (at, 1)),
            Finder::Short(text, len) => short_text(&text[..(*len).min(SHORT_TEXT)], bytes),
            Finder::Text(finder) => finder.find(bytes).map(|at| (at, finder.needle().len())),
            Finder::Set(set) => bytes.iter().position(|b| set[usize::from(*b)]).map(|at| (at, 1)),
            Finder::Few(few) => few.find(bytes),
            Finder::Texts(automaton) => automaton.find(bytes).map(|found| (found.start(), found.len())),
        }
    }

    /// From a binary or a list of binaries; the subject's size, where it is known, says how much care to take.
    fn compile(ctx: &mut Ctx<'_>, term: Term, subject: usize) -> Result<Pattern, Escape> {
        if let Some(text) = term.as_binary() {
            return Self::single(ctx, &text, subject);
        }
        let mut items = term.list_iter();
        let all: Vec<Term> = items.by_ref().collect();
        let texts = all.iter().map(|item| item.as_binary().filter(|text| !text.is_empty()).ok_or(BADARG));
        let texts: Vec<Cow<'_, [u8]>> = texts.collect::<Result<_, _>>()?;
        if !items.tail().is_nil() {
            return badarg();
        }
        match texts.as_slice() {
            [] => badarg(),
            [one] => Self::single(ctx, one, subject),
            _ => Self::several(ctx, &texts, subject),
        }
    }

    fn single(ctx: &mut Ctx<'_>, text: &[u8], subject: usize) -> Result<Pattern, Escape> {
        if text.len() > LONG {
            dirty(ctx)?;
        }
        let finder = match *text {
            [] => return badarg(),
            [byte] => Finder::Byte(byte),
            _ if text.len() <= SHORT_TEXT && subject <= SHORT_FOR_TEXT => {
                let mut short = [0; SHORT_TEXT];
                short[..text.len()].copy_from_slice(text);
                Finder::Short(short, text.len())
            }
            _ => Finder::Text(Box::new(memmem::Finder::new(text).into_owned())),
        };
        ctx.bump(text.len() / 64);
        Ok(Pattern { finder, longest: text.len() })
    }

    fn several(ctx: &mut Ctx<'_>, texts: &[Cow<'_, [u8]>], subject: usize) -> Result<Pattern, Escape> {
        let longest = texts.iter().map(|text| text.len()).max().unwrap_or(1);
        if longest == 1 {
            let mut set = Box::new([false; 256]);
            for byte in texts.iter().flat_map(|text| text.iter()) {
                set[usize::from(*byte)] = true;
            }
            return Ok(Pattern { finder: Finder::Set(set), longest });
        }
        let total: usize = texts.iter().map(|text| text.len()).sum();
        if total > LONG {
            dirty(ctx)?;
        }
        ctx.bump(total);
        if let Some(few) = Few::of(texts) {
            return Ok(Pattern { finder: Finder::Few(Box::new(few)), longest });
        }
        let kind = match subject {
            ..SHORT_SUBJECT => AhoCorasickKind::NoncontiguousNFA,
            _ if total <= DENSE => AhoCorasickKind::DFA,
            _ => AhoCorasickKind::ContiguousNFA,
        };
        let automaton = automaton(kind, texts).map_err(|_| SYSTEM_LIMIT)?;
        Ok(Pattern { finder: Finder::Texts(automaton), longest })
    }
}

/// Up to [`FEW`] texts of up to [`SHORT_TEXT`] bytes: by first byte, those with the same one from the longest on.
struct Few {
    texts: [Short; FEW],
    len: usize,
    /// The number of the first text that begins with this byte, from one on; 0 if none does.
    first: [u8; 256],
    /// For long subjects, once there has been one; none if it cannot be built.
    automaton: OnceLock<Option<AhoCorasick>>,
}

/// A short text, its first byte the lowest.
#[derive(Clone, Copy, Default)]
struct Short {
    word: u64,
    mask: u64,
    len: usize,
}

/// The first eight bytes as a word, the first one the lowest; zeros where there are fewer.
#[inline]
fn low_bytes(bytes: &[u8]) -> u64 {
    match bytes.first_chunk() {
        Some(chunk) => u64::from_le_bytes(*chunk),
        None => bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

impl Few {
    /// None if they are too many or too long, or one is empty.
    fn of(given: &[Cow<'_, [u8]>]) -> Option<Few> {
        let mut texts = [Short::default(); FEW];
        let used = texts.get_mut(..given.len())?;
        for (short, text) in used.iter_mut().zip(given) {
            if !(1..=SHORT_TEXT).contains(&text.len()) {
                return None;
            }
            *short = Short { word: low_bytes(text), mask: u64::MAX >> (64 - 8 * text.len()), len: text.len() };
        }
        used.sort_unstable_by_key(|text| (text.word as u8, std::cmp::Reverse(text.len)));
        let mut first = [0; 256];
        for (number, text) in (1..).zip(used.iter()) {
            let first = &mut first[usize::from(text.word as u8)];
            *first = if *first == 0 { number } else { *first };
        }
        Some(Few { texts, len: given.len(), first, automaton: OnceLock::new() })
    }

    fn find(&self, bytes: &[u8]) -> Option<(usize, usize)> {
        if bytes.len() < SHORT_SUBJECT {
            return self.find_before(bytes.len(), bytes);
        }
        self.find_before(SOON, bytes).or_else(|| match self.automaton.get_or_init(|| self.build()) {
            Some(automaton) => automaton.find(&bytes[SOON..]).map(|found| (SOON + found.start(), found.len())),
            None => self.find_before(bytes.len(), bytes),
        })
    }

    /// The first occurrence that begins before `end`.
    fn find_before(&self, end: usize, bytes: &[u8]) -> Option<(usize, usize)> {
        let mut from = 0;
        loop {
            from += bytes[from..end].iter().position(|byte| self.first[usize::from(*byte)] > 0)?;
            let here = &bytes[from..];
            let (word, begin) = (low_bytes(here), usize::from(self.first[usize::from(here[0])]) - 1);
            let found = self.texts[begin..self.len]
                .iter()
                .take_while(|text| text.word as u8 == here[0])
                .find(|text| (word ^ text.word) & text.mask == 0 && text.len <= here.len());
            if let Some(text) = found {
                return Some((from, text.len));
            }
            from += 1;
        }
    }

    #[cold]
    fn build(&self) -> Option<AhoCorasick> {
        let texts = self.texts[..self.len].iter().map(|text| text.word.to_le_bytes()[..text.len].to_vec());
        automaton(AhoCorasickKind::DFA, texts).ok()
    }
}

/// Finds the longest of the texts that begin at the lowest position.
fn automaton(
    kind: AhoCorasickKind,
    texts: impl IntoIterator<Item: AsRef<[u8]>>,
) -> Result<AhoCorasick, aho_corasick::BuildError> {
    AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).kind(Some(kind)).build(texts)
}

/// The first occurrence of a text of at least one byte.
fn short_text(text: &[u8], bytes: &[u8]) -> Option<(usize, usize)> {
    let (first, mut from) = (*text.first()?, 0);
    loop {
        let at = from + memchr::memchr(first, bytes.get(from..)?)?;
        if bytes[at..].starts_with(text) {
            return Some((at, text.len()));
        }
        from = at + 1;
    }
}

/// A pattern for one call, or one that a reference keeps.
pub(super) enum Source {
    /// Compiled for this call.
    Own(Pattern),
    /// Compiled before; a [`Pattern`], as [`Source::new`] has seen.
    Kept(Magic),
}

impl Source {
    /// From a compiled pattern, a binary or a list of binaries, to be searched for in `subject` bytes.
    pub(super) fn new(ctx: &mut Ctx<'_>, term: Term, subject: usize) -> Result<Source, Escape> {
        let Some([tag, reference]) = term.as_tuple_of::<2>() else {
            return Pattern::compile(ctx, term, subject).map(Source::Own);
        };
        let Some(magic) = reference.as_magic() else { return badarg() };
        let Some(pattern) = magic.get::<Pattern>() else { return badarg() };
        if !tag.is_am(if pattern.is_single() { am::bm } else { am::ac }) {
            return badarg();
        }
        Ok(Source::Kept(Magic::clone(&magic)))
    }

    /// The pattern.
    pub(super) fn pattern(&self) -> Option<&Pattern> {
        match self {
            Source::Own(pattern) => Some(pattern),
            Source::Kept(magic) => magic.get(),
        }
    }
}

pub(super) fn compile_pattern_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let pattern = Pattern::compile(ctx, args[0], usize::MAX)?;
    let tag = if pattern.is_single() { am::bm } else { am::ac };
    let numbers = ctx.sched.next_ref();
    let reference = magic_reference(ctx, Magic::new(numbers, pattern));
    Ok(ctx.tuple(&[tag.term(), reference]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_testing::Random;

    /// Texts and subjects of few different bytes, zeros among them, of all lengths: found as the automaton finds them.
    #[test]
    fn few_texts_are_found_as_many_are() {
        let mut random = Random::new(7);
        for _ in 0..3000 {
            let kinds = 1 + random.below(4);
            let mut text = |least: usize, most: usize| -> Vec<u8> {
                let len = least + random.below(most - least + 1);
                (0..len).map(|_| [0, b'a', b'b', 0xff][random.below(kinds)]).collect()
            };
            let count = 1 + text(0, FEW - 1).len();
            let texts: Vec<Cow<'_, [u8]>> = (0..count).map(|_| Cow::Owned(text(1, SHORT_TEXT))).collect();
            let mut subject = text(0, 40);
            if random.below(10) == 0 {
                // Found in the middle of a long subject, or behind its beginning.
                let before = [SOON - 20, SHORT_SUBJECT - 20][random.below(2)];
                subject.splice(0..0, vec![1; before]);
                subject.resize(subject.len() + SHORT_SUBJECT - before, 1);
            }
            let few = Few::of(&texts).expect("few and short");
            let many = automaton(AhoCorasickKind::NoncontiguousNFA, &texts).expect("built");
            let expected = many.find(&subject).map(|found| (found.start(), found.len()));
            assert_eq!(few.find(&subject), expected, "{texts:?} in {subject:?}");
        }
        let long: &[u8] = &[b'x'; SHORT_TEXT + 1];
        assert!(Few::of(&[Cow::Borrowed(long)]).is_none());
        assert!(Few::of(&vec![Cow::Borrowed(&long[..1]); FEW + 1]).is_none());
        assert!(Few::of(&[Cow::Borrowed(&[])]).is_none());
    }
}
