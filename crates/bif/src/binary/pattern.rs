//! What `binary:match/2` and its kin search for: one text or several.
//!
//! A compiled pattern is `{bm, Ref}` or `{ac, Ref}`, a magic reference keeping a [`Pattern`]. One text is found by memchr's
//! two-way search, several by an Aho-Corasick automaton: at the lowest position, the longest of those that begin there.

use crate::work::dirty;
use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use memchr::memmem;
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
            Finder::Texts(_) => 32,
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
            Finder::Texts(automaton) => automaton.find(bytes).map(|found| (found.start(), found.len())),
        }
    }

    /// From a binary or a list of binaries; the subject's size, where it is known, says how much care to take.
    fn compile(ctx: &mut Ctx<'_>, term: Term, subject: usize) -> Result<Pattern, Escape> {
        if let Some(text) = term.as_binary() {
            return Self::single(ctx, &text, subject);
        }
        let mut items = term.list_iter();
        let mut texts: Vec<Cow<'_, [u8]>> = Vec::new();
        for item in items.by_ref() {
            texts.push(item.as_binary().filter(|text| !text.is_empty()).ok_or(BADARG)?);
        }
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
        let kind = match subject {
            ..SHORT_SUBJECT => AhoCorasickKind::NoncontiguousNFA,
            _ if total <= DENSE => AhoCorasickKind::DFA,
            _ => AhoCorasickKind::ContiguousNFA,
        };
        let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).kind(Some(kind)).build(texts);
        Ok(Pattern { finder: Finder::Texts(automaton.map_err(|_| SYSTEM_LIMIT)?), longest })
    }
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
    let numbers = ctx.sched.next_ref(ctx.vm);
    let reference = magic_reference(ctx, numbers, Magic::new(pattern));
    Ok(ctx.tuple(&[tag.term(), reference]))
}
