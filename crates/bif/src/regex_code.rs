//! Compiled regular expressions: a safe cover of the part of PCRE2 that module `re` needs.
//!
//! A [`Code`] never changes after it was made, so that processes on many schedulers may match with it at a time; what a match
//! writes is in match data of its own. PCRE2 checks UTF-8 itself, always: the check is never switched off.

use pcre2_sys as pcre;
use std::ptr::{self, NonNull};

/// KiB of heap that one match may use; more ends it as the limit on matching does.
const HEAP_KIB: u32 = 256 * 1024;
/// `PCRE2_EXTRA_BAD_ESCAPE_IS_LITERAL`: an unknown escape stands for its letter, as in the PCRE that OTP 25 has.
const BAD_ESCAPE_IS_LITERAL: u32 = 2;

/// How to compile.
#[derive(Clone, Copy)]
pub struct Flags {
    /// Option bits of `pcre2_compile`.
    pub bits: u32,
    /// Which ends of line there are.
    pub newline: u32,
    /// What `\R` means, if it is said.
    pub bsr: Option<u32>,
}

impl Default for Flags {
    fn default() -> Flags {
        Flags { bits: 0, newline: pcre::PCRE2_NEWLINE_LF, bsr: None }
    }
}

/// A compiled pattern.
pub struct Code(NonNull<pcre::pcre2_code_8>);

// SAFETY: PCRE2 promises that compiled code is read-only while matching, and no thread owns it.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: ours, freed once.
        unsafe { pcre::pcre2_code_free_8(self.0.as_ptr()) }
    }
}

/// How a match ended.
pub enum Outcome {
    /// The places of the groups up to the last one that took part; `None` for one that took no part.
    Match(Vec<Option<(usize, usize)>>),
    /// There is none.
    NoMatch,
    /// Too many steps.
    MatchLimit,
    /// Too deep.
    DepthLimit,
    /// The subject is no UTF-8, or PCRE2 refuses for another reason.
    Bad,
}

impl Code {
    /// Compiles, or tells the number of the error and where.
    pub fn compile(pattern: &[u8], flags: Flags) -> Result<Code, (i32, usize)> {
        let (mut error, mut offset) = (0, 0);
        // SAFETY: the context is made, used and freed here (null is a permitted context of the free and of compiling);
        // the pattern's bytes live during the call.
        let code = unsafe {
            let context = pcre::pcre2_compile_context_create_8(ptr::null_mut());
            if !context.is_null() {
                pcre::pcre2_set_newline_8(context, flags.newline);
                pcre::pcre2_set_compile_extra_options_8(context, BAD_ESCAPE_IS_LITERAL);
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

    /// Matches from `start` on.
    pub fn run(&self, subject: &[u8], start: usize, bits: u32, limit: Option<u32>, depth: Option<u32>) -> Outcome {
        if start > subject.len() {
            return Outcome::NoMatch;
        }
        // SAFETY: data and context are made, used and freed here, and checked for null; the subject lives during the match;
        // the vector has a pair for each group, of which `found` are written.
        unsafe {
            let data = pcre::pcre2_match_data_create_from_pattern_8(self.0.as_ptr(), ptr::null_mut());
            if data.is_null() {
                return Outcome::Bad;
            }
            let context = pcre::pcre2_match_context_create_8(ptr::null_mut());
            if !context.is_null() {
                pcre::pcre2_set_heap_limit_8(context, HEAP_KIB);
                if let Some(limit) = limit {
                    pcre::pcre2_set_match_limit_8(context, limit);
                }
                if let Some(depth) = depth {
                    pcre::pcre2_set_depth_limit_8(context, depth);
                }
            }
            let found =
                pcre::pcre2_match_8(self.0.as_ptr(), subject.as_ptr(), subject.len(), start, bits, data, context);
            let outcome = match found {
                1.. => {
                    let vector = pcre::pcre2_get_ovector_pointer_8(data);
                    let pair = |i: usize| (*vector.add(2 * i), *vector.add(2 * i + 1));
                    let place =
                        |(from, to): (usize, usize)| (to <= subject.len() && from <= to).then(|| (from, to - from));
                    Outcome::Match((0..found as usize).map(|i| place(pair(i))).collect())
                }
                pcre::PCRE2_ERROR_NOMATCH => Outcome::NoMatch,
                pcre::PCRE2_ERROR_MATCHLIMIT | pcre::PCRE2_ERROR_HEAPLIMIT => Outcome::MatchLimit,
                pcre::PCRE2_ERROR_DEPTHLIMIT => Outcome::DepthLimit,
                _ => Outcome::Bad,
            };
            pcre::pcre2_match_context_free_8(context);
            pcre::pcre2_match_data_free_8(data);
            outcome
        }
    }
}

/// The text of a compile error. The commonest are worded as OTP 25 words them.
pub fn error_text(error: i32) -> String {
    match error {
        109 => return "nothing to repeat".to_owned(),
        114 => return "missing )".to_owned(),
        122 => return "unmatched parentheses".to_owned(),
        _ => {}
    }
    let mut buffer = [0u8; 256];
    // SAFETY: the buffer's true length is given.
    let len = unsafe { pcre::pcre2_get_error_message_8(error, buffer.as_mut_ptr(), buffer.len()) };
    let text = usize::try_from(len).ok().and_then(|len| buffer.get(..len)).unwrap_or(b"unknown error");
    String::from_utf8_lossy(text).into_owned()
}
