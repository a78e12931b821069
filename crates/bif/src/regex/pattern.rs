//! Compiled patterns as terms, and the patterns that each thread has at hand.
//!
//! OTP's older releases give a compiled pattern as a binary; ours holds the pattern's text and how to compile it, never
//! PCRE2's own code, so that whatever bytes a program puts there cannot do harm. What a thread has compiled it keeps, found by
//! those bytes: a `re:run/2` with the pattern's text compiles it once, too. Newer releases have references.

use super::pcre::{Code, Flags, error_text};
use myriad_pcre_dialect::{Newline, Options, error_of_pcre2, translate};
use myriad_sync::{Arc, thread_local};
use myriad_term::magic::{Magic, magic_reference};
use myriad_term::{Build, Term};
use myriad_vm::Ctx;
use pcre2_sys as pcre;
use std::cell::RefCell;

/// The first bytes of a compiled pattern's binary.
const MARK: &[u8; 4] = b"mre1";
/// Patterns that a thread keeps.
const KEPT: usize = 128;
/// Longer ones are compiled each time.
const LONGEST_KEPT: usize = 64 << 10;

/// A pattern's text and how to compile it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    /// Its text.
    pub text: Vec<u8>,
    /// How.
    pub flags: Flags,
}

/// A compiled pattern.
pub struct Regex {
    /// What it was made of.
    pub source: Source,
    /// The code.
    pub code: Code,
    /// The names and the groups of each, by name.
    pub names: Vec<(Vec<u8>, Vec<usize>)>,
}

impl Source {
    /// All of it as bytes.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MARK.to_vec();
        bytes.extend_from_slice(&self.flags.bits.to_be_bytes());
        bytes.extend([self.flags.newline as u8, self.flags.bsr.unwrap_or(0) as u8, u8::from(self.flags.old)]);
        bytes.extend_from_slice(&self.text);
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Source> {
        let (bits, rest) = bytes.strip_prefix(MARK)?.split_first_chunk::<4>()?;
        let [newline, bsr, old, text @ ..] = rest else { return None };
        // No other bit: one of PCRE2's says that the pattern need not be checked.
        if u32::from_be_bytes(*bits) & !super::options::compile_bits() != 0 {
            return None;
        }
        let bsr = (*bsr != 0).then_some(u32::from(*bsr));
        let flags = Flags { bits: u32::from_be_bytes(*bits), newline: u32::from(*newline), bsr, old: *old == 1 };
        Some(Source { text: text.to_vec(), flags })
    }

    /// Is it about characters, by its options?
    pub fn is_unicode(&self) -> bool {
        self.flags.bits & pcre::PCRE2_UTF != 0
    }

    /// Compiles it as PCRE 8.44 would.
    fn compile_old(&self) -> Result<Code, (String, usize)> {
        let mut flags = self.flags;
        let translated = translate(&self.text, dialect_options(flags))
            .map_err(|error| (error.fault.message().to_owned(), error.offset))?;
        if flags.bits & (pcre::PCRE2_UTF | pcre::PCRE2_UCP) == pcre::PCRE2_UTF
            && [&b"\\w"[..], b"[[:<:]]", b"[[:>:]]"].iter().any(|w| memchr::memmem::find(&self.text, w).is_some())
        {
            // PCRE2 10.46 looks such letters from 128 on up in the table of blanks to find out where a match can begin.
            flags.bits |= pcre::PCRE2_NO_START_OPTIMIZE;
        }
        Code::compile(&translated, flags).map_err(|(code, offset)| {
            let (fault, offset) = error_of_pcre2(code, offset, &self.text);
            (fault.map_or_else(|| error_text(code), |fault| fault.message().to_owned()), offset)
        })
    }

    /// Compiles it: the error is a text and a place.
    fn compile(self) -> Result<Regex, (String, usize)> {
        if self.flags.newline > pcre::PCRE2_NEWLINE_ANYCRLF {
            return Err(("inconsistent NEWLINE options".to_owned(), 0));
        }
        let code = if self.flags.old {
            self.compile_old()?
        } else {
            Code::compile(&self.text, self.flags).map_err(|(error, at)| (error_text(error), at))?
        };
        let mut names: Vec<(Vec<u8>, Vec<usize>)> = Vec::new();
        for (name, group) in code.names() {
            match names.last_mut() {
                Some((last, groups)) if last == name => groups.push(group),
                _ => names.push((name.to_vec(), vec![group])),
            }
        }
        Ok(Regex { source: self, code, names })
    }
}

/// What of the flags decides what a pattern means.
fn dialect_options(flags: Flags) -> Options {
    let has = |bit| flags.bits & bit != 0;
    Options {
        unicode: has(pcre::PCRE2_UTF),
        never_unicode: has(pcre::PCRE2_NEVER_UTF),
        extended: has(pcre::PCRE2_EXTENDED),
        no_auto_capture: has(pcre::PCRE2_NO_AUTO_CAPTURE),
        same_names: has(pcre::PCRE2_DUPNAMES),
        caseless: has(pcre::PCRE2_CASELESS),
        newline: match flags.newline {
            pcre::PCRE2_NEWLINE_CR => Newline::Cr,
            pcre::PCRE2_NEWLINE_CRLF => Newline::CrLf,
            pcre::PCRE2_NEWLINE_ANY => Newline::Any,
            pcre::PCRE2_NEWLINE_ANYCRLF => Newline::AnyCrLf,
            _ => Newline::Lf,
        },
    }
}

thread_local! {
    static AT_HAND: RefCell<Vec<Option<Arc<Regex>>>> = const { RefCell::new(Vec::new()) };
}

/// Compiles, or finds, a pattern.
pub fn compiled(source: Source) -> Result<Arc<Regex>, (String, usize)> {
    if source.text.len() > LONGEST_KEPT {
        return source.compile().map(Arc::new);
    }
    let mixed = source.flags.bits ^ source.flags.newline << 24 ^ source.flags.bsr.unwrap_or(0) << 28;
    let slot = (crc32fast::hash(&source.text) ^ mixed.wrapping_mul(0x9e37_79b9)) as usize % KEPT;
    let found = AT_HAND.with(|kept| {
        let mut kept = kept.borrow_mut();
        kept.resize(KEPT, None);
        kept[slot].as_ref().filter(|r| r.source == source).cloned()
    });
    if let Some(regex) = found {
        return Ok(regex);
    }
    let regex = Arc::new(source.compile()?);
    AT_HAND.with(|kept| kept.borrow_mut()[slot] = Some(regex.clone()));
    Ok(regex)
}

/// `{re_pattern, Groups, Unicode, CrLf, Compiled}`
pub fn term(ctx: &mut Ctx<'_>, regex: &Arc<Regex>, tag: Term) -> Term {
    let groups = Term::small(regex.code.groups() as i64);
    let unicode = Term::small(i64::from(regex.source.is_unicode()));
    let crlf = Term::small(i64::from(has_crlf(&regex.code)));
    let compiled = if ctx.vm.release.regex_references {
        let numbers = ctx.sched.next_ref();
        magic_reference(ctx, Magic::new::<Arc<Regex>>(numbers, regex.clone()))
    } else {
        ctx.binary(&regex.source.to_bytes())
    };
    ctx.tuple(&[tag, groups, unicode, crlf, compiled])
}

/// The compiled pattern of such a tuple.
pub fn of_term(pattern: Term) -> Option<Arc<Regex>> {
    let [tag, _, _, _, kept] = pattern.as_tuple_of::<5>()?;
    if tag.as_atom()?.text() != "re_pattern" {
        return None;
    }
    if let Some(magic) = kept.as_magic() {
        return magic.get::<Arc<Regex>>().cloned();
    }
    compiled(Source::from_bytes(&kept.as_binary()?)?).ok()
}

/// Can an end of line be a carriage return and a line feed?
pub fn has_crlf(code: &Code) -> bool {
    [pcre::PCRE2_NEWLINE_ANY, pcre::PCRE2_NEWLINE_ANYCRLF, pcre::PCRE2_NEWLINE_CRLF].contains(&code.newline())
}
