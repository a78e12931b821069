//! Compiled regular expressions: a safe cover of the part of PCRE2 that module `re` needs.
//!
//! A [`Code`] never changes after it was made, so that processes on many schedulers may match with it at a time. What a match
//! writes is in match data of the thread, kept from one match to the next. PCRE2 checks UTF-8 itself, but where the
//! subject is a `str` already.

use super::tables::tables;
use myriad_sync::thread_local;
use pcre2_sys as pcre;
use std::cell::RefCell;
use std::ptr::{self, NonNull};

/// KiB of heap that one match may use; more ends it as the limit on matching does.
const HEAP_KIB: u32 = 512 * 1024;
/// Steps of one match, unless the caller says otherwise.
pub const STEPS: u32 = 10_000_000;
/// Match data that has grown beyond this many bytes is not kept for the next match.
const KEPT: usize = 1 << 20;
/// How deep parentheses may be nested. Patterns of the older releases have been checked: their limit is below that one.
const NESTING: u32 = 798;
const OLD_NESTING: u32 = 1400;

/// How to compile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flags {
    /// Option bits of `pcre2_compile`.
    pub bits: u32,
    /// Which ends of line there are.
    pub newline: u32,
    /// What `\R` means, if it is said.
    pub bsr: Option<u32>,
    /// As OTP's older releases have it: `\K` also in assertions, those behind of fixed length only.
    pub old: bool,
}

/// A compiled pattern.
pub struct Code(NonNull<pcre::pcre2_code_8>);

// SAFETY: PCRE2 promises that compiled code is read-only while matching, and no thread owns it.
unsafe impl Send for Code {}
// SAFETY: PCRE2 promises that compiled code is read-only while matching, and no thread owns it.
unsafe impl Sync for Code {}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: ours, freed once.
        unsafe { pcre::pcre2_code_free_8(self.0.as_ptr()) }
    }
}

/// What is matched with.
#[derive(Clone, Copy)]
pub enum Subject<'a> {
    /// Bytes; PCRE2 checks them if the pattern is about characters.
    Bytes(&'a [u8]),
    /// Text that has been checked.
    Text(&'a str),
}

impl<'a> Subject<'a> {
    /// Its bytes.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Subject::Bytes(bytes) => bytes,
            Subject::Text(text) => text.as_bytes(),
        }
    }
}

/// How a match ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// There is one; its places are written.
    Match,
    /// There is none.
    NoMatch,
    /// Too many steps.
    MatchLimit,
    /// Too deep.
    DepthLimit,
    /// The subject is no UTF-8, or PCRE2 refuses for another reason.
    Bad,
}

/// Start and length of a group; `(-1, 0)` if it took no part. The length is negative if `\K` stands in an assertion ahead.
pub type Place = (i64, i64);

/// Limits of one match.
#[derive(Clone, Copy)]
pub struct Limits {
    /// Steps.
    pub steps: u32,
    /// Nested backtracking.
    pub depth: u32,
}

/// What a match writes to, kept by the thread.
struct Scratch {
    data: NonNull<pcre::pcre2_match_data_8>,
    context: NonNull<pcre::pcre2_match_context_8>,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // SAFETY: both are ours, freed once.
        unsafe {
            pcre::pcre2_match_data_free_8(self.data.as_ptr());
            pcre::pcre2_match_context_free_8(self.context.as_ptr());
        }
    }
}

impl Scratch {
    fn new(pairs: u32) -> Option<Scratch> {
        // SAFETY: a null pointer is a permitted context of all three; what was made is freed if the other was not.
        unsafe {
            let data = NonNull::new(pcre::pcre2_match_data_create_8(pairs, ptr::null_mut()))?;
            match NonNull::new(pcre::pcre2_match_context_create_8(ptr::null_mut())) {
                Some(context) => Some(Scratch { data, context }),
                None => {
                    pcre::pcre2_match_data_free_8(data.as_ptr());
                    None
                }
            }
        }
    }

    fn pairs(&self) -> usize {
        // SAFETY: live match data.
        unsafe { pcre::pcre2_get_ovector_count_8(self.data.as_ptr()) as usize }
    }

    fn is_large(&self) -> bool {
        // SAFETY: live match data.
        unsafe { pcre::pcre2_get_match_data_heapframes_size_8(self.data.as_ptr()) > KEPT }
    }
}

thread_local! {
    static SCRATCH: RefCell<Option<Scratch>> = const { RefCell::new(None) };
}

impl Code {
    /// Compiles, or tells the number of the error and where.
    pub fn compile(pattern: &[u8], flags: Flags) -> Result<Code, (i32, usize)> {
        let (mut error, mut offset) = (0, 0);
        // SAFETY: the context is made, used and freed here (null is a permitted context of the free and of compiling);
        // the pattern's bytes live during the call, the character tables for ever.
        let code = unsafe {
            let context = pcre::pcre2_compile_context_create_8(ptr::null_mut());
            if !context.is_null() {
                pcre::pcre2_set_newline_8(context, flags.newline);
                pcre::pcre2_set_character_tables_8(context, tables().as_ptr());
                pcre::pcre2_set_parens_nest_limit_8(context, if flags.old { OLD_NESTING } else { NESTING });
                if flags.old {
                    pcre::pcre2_set_compile_extra_options_8(context, pcre::PCRE2_EXTRA_ALLOW_LOOKAROUND_BSK);
                    pcre::pcre2_set_max_varlookbehind_8(context, 0);
                }
                if let Some(bsr) = flags.bsr {
                    pcre::pcre2_set_bsr_8(context, bsr);
                }
            }
            let code =
                pcre::pcre2_compile_8(pattern.as_ptr(), pattern.len(), flags.bits, &mut error, &mut offset, context);
            pcre::pcre2_compile_context_free_8(context);
            code
        };
        NonNull::new(code).map(Code).ok_or((error, offset))
    }

    fn number(&self, what: u32) -> u32 {
        let mut value = 0u32;
        // SAFETY: `what` is one of those that give an u32.
        unsafe { pcre::pcre2_pattern_info_8(self.0.as_ptr(), what, ptr::from_mut(&mut value).cast()) };
        value
    }

    /// How many groups it has, the whole not counted.
    pub fn groups(&self) -> usize {
        self.number(pcre::PCRE2_INFO_CAPTURECOUNT) as usize
    }

    /// Is the subject UTF-8?
    pub fn is_unicode(&self) -> bool {
        self.number(pcre::PCRE2_INFO_ALLOPTIONS) & pcre::PCRE2_UTF != 0
    }

    /// Can it match only where the search begins?
    pub fn is_anchored(&self) -> bool {
        self.number(pcre::PCRE2_INFO_ALLOPTIONS) & pcre::PCRE2_ANCHORED != 0
    }

    /// The kind of ends of line, which the pattern may have changed.
    pub fn newline(&self) -> u32 {
        self.number(pcre::PCRE2_INFO_NEWLINE)
    }

    /// The names and the groups they stand for, by name.
    pub fn names(&self) -> Vec<(&[u8], usize)> {
        let count = self.number(pcre::PCRE2_INFO_NAMECOUNT) as usize;
        let size = self.number(pcre::PCRE2_INFO_NAMEENTRYSIZE) as usize;
        let mut table: *const u8 = ptr::null();
        // SAFETY: this one gives a pointer.
        unsafe {
            pcre::pcre2_pattern_info_8(self.0.as_ptr(), pcre::PCRE2_INFO_NAMETABLE, ptr::from_mut(&mut table).cast())
        };
        if count == 0 || size < 3 || table.is_null() {
            return Vec::new();
        }
        // SAFETY: the table has `count` entries of `size` bytes and lives as long as the code.
        let table = unsafe { std::slice::from_raw_parts(table, count * size) };
        let entry = |e: &'_ [u8]| usize::from(e[0]) << 8 | usize::from(e[1]);
        table.chunks_exact(size).map(|e| (e[2..].split(|b| *b == 0).next().unwrap_or(&[]), entry(e))).collect()
    }

    /// Matches from `start` on, which may be in the middle of a character of a text; `places` gets the groups up to the last one
    /// that took part.
    pub fn run(
        &self,
        subject: Subject<'_>,
        start: usize,
        mut bits: u32,
        limits: Limits,
        places: &mut Vec<Place>,
    ) -> Outcome {
        let bytes = subject.bytes();
        places.clear();
        if start > bytes.len() {
            return Outcome::NoMatch;
        }
        if matches!(subject, Subject::Text(_)) {
            bits |= pcre::PCRE2_NO_UTF_CHECK;
        }
        let wanted = self.groups() + 1;
        let kept = SCRATCH.with(|s| s.borrow_mut().take()).filter(|s| s.pairs() >= wanted);
        let fresh = || Scratch::new(u32::try_from(wanted.max(32)).unwrap_or(u32::MAX));
        let Some(scratch) = kept.or_else(fresh) else { return Outcome::Bad };
        let (data, context) = (scratch.data.as_ptr(), scratch.context.as_ptr());
        // If the check for UTF-8 is left out, a `start` in the middle of a character, as `\C` in any match leads to, does not lead
        // outside: reading forwards takes a byte without its lead for a character, and after a lead all that belongs to it is there;
        // going backwards ends at a lead, which the first byte is, and compares places by order.
        // SAFETY: code, match data and context are live; the subject lives during the match, and is UTF-8 if its check is left out (see
        // above). The vector has at least `wanted` pairs, of which `found` are written.
        let found = unsafe {
            pcre::pcre2_set_heap_limit_8(context, HEAP_KIB);
            pcre::pcre2_set_match_limit_8(context, limits.steps);
            pcre::pcre2_set_depth_limit_8(context, limits.depth);
            pcre::pcre2_match_8(self.0.as_ptr(), bytes.as_ptr(), bytes.len(), start, bits, data, context)
        };
        let outcome = match found {
            1.. => {
                let count = (found as usize).min(wanted);
                // SAFETY: the match data is live; its vector has at least `wanted` pairs, of which `found` are written.
                let vector = unsafe { std::slice::from_raw_parts(pcre::pcre2_get_ovector_pointer_8(data), 2 * count) };
                places.extend(vector.chunks_exact(2).map(|pair| place(pair[0], pair[1], bytes.len())));
                Outcome::Match
            }
            pcre::PCRE2_ERROR_NOMATCH | pcre::PCRE2_ERROR_RECURSELOOP => Outcome::NoMatch,
            pcre::PCRE2_ERROR_MATCHLIMIT | pcre::PCRE2_ERROR_HEAPLIMIT => Outcome::MatchLimit,
            pcre::PCRE2_ERROR_DEPTHLIMIT => Outcome::DepthLimit,
            _ => Outcome::Bad,
        };
        if !scratch.is_large() {
            SCRATCH.with(|s| *s.borrow_mut() = Some(scratch));
        }
        outcome
    }
}

fn place(from: usize, to: usize, len: usize) -> Place {
    if from > len || to > len { (-1, 0) } else { (from as i64, to as i64 - from as i64) }
}

/// PCRE2's own text of a compile error.
pub fn error_text(error: i32) -> String {
    let mut buffer = [0u8; 256];
    // SAFETY: the buffer's true length is given.
    let len = unsafe { pcre::pcre2_get_error_message_8(error, buffer.as_mut_ptr(), buffer.len()) };
    let text = usize::try_from(len).ok().and_then(|len| buffer.get(..len)).unwrap_or(b"unknown error");
    String::from_utf8_lossy(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In texts that are just so long, so that the address sanitizer sees what is read beside them.
    #[test]
    fn a_match_that_begins_in_a_character_stays_in_the_text() {
        let patterns = [
            r"\C",
            r".\C*?",
            r"\X",
            r"\C\X*",
            r"(?<=.)\C",
            r"(?<!..)x",
            r"\b",
            r"\B.",
            r"(?i)[ā-ż]*\C",
            r"[^a]*+",
            r"\p{L}*.",
            r"(.)\1*",
            r"(?i)(.)\1",
            r"\R|\h*\N",
            r".*(?<=x)",
            r"(?<=..).*?$",
            r"\w*\W",
            r"ā{0,3}\C?",
            r"(?s).+",
        ];
        let texts = ["ā", "€x", "aā€", "𐀀", "ā𐀀\r\n", "🇩🇪🇫🇷", "e\u{301}👩\u{200d}👧", "xyzā"];
        let limits = Limits { steps: STEPS, depth: STEPS };
        let mut places = Vec::new();
        for pattern in patterns {
            let flags = Flags {
                bits: pcre::PCRE2_UTF | pcre::PCRE2_UCP,
                newline: pcre::PCRE2_NEWLINE_ANYCRLF,
                bsr: None,
                old: true,
            };
            let code = Code::compile(pattern.as_bytes(), flags).unwrap_or_else(|e| panic!("{pattern}: {e:?}"));
            for text in texts.map(|text| text.to_owned().into_boxed_str()) {
                for start in 0..=text.len() {
                    for bits in [0, pcre::PCRE2_ANCHORED | pcre::PCRE2_NOTEMPTY_ATSTART] {
                        let outcome = code.run(Subject::Text(&text), start, bits, limits, &mut places);
                        assert!(matches!(outcome, Outcome::Match | Outcome::NoMatch), "{pattern} {text} {start}");
                        let len = text.len() as i64;
                        assert!(
                            places.iter().all(|(at, size)| *at <= len && at + size <= len),
                            "{pattern} {text} {start}"
                        );
                    }
                }
            }
        }
    }
}
