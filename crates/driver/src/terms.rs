//! Terms as drivers describe them: a row of words, each kind's number followed by what it needs, that is worked off with a stack.

use crate::abi::Word;
use crate::binary::Binary;
use myriad_heap::Draft;
use myriad_process::Payload;
use myriad_term::etf::{DecodeOptions, decode};
use myriad_term::{Build, Term, TermRef, map};

/// The kinds, by their numbers in the header.
mod kind {
    pub(super) const NIL: u64 = 1;
    pub(super) const ATOM: u64 = 2;
    pub(super) const INT: u64 = 3;
    pub(super) const PORT: u64 = 4;
    pub(super) const BINARY: u64 = 5;
    pub(super) const STRING: u64 = 6;
    pub(super) const TUPLE: u64 = 7;
    pub(super) const LIST: u64 = 8;
    pub(super) const STRING_CONS: u64 = 9;
    pub(super) const PID: u64 = 10;
    pub(super) const FLOAT: u64 = 11;
    pub(super) const EXT2TERM: u64 = 12;
    pub(super) const UINT: u64 = 13;
    pub(super) const BUF2BINARY: u64 = 14;
    pub(super) const INT64: u64 = 15;
    pub(super) const UINT64: u64 = 16;
    pub(super) const MAP: u64 = 17;
}

/// The bytes that two words describe: where, and how many.
///
/// # Safety
/// ABI1: so many are there, and stay during the call.
unsafe fn bytes<'a>(at: u64, len: u64) -> Option<&'a [u8]> {
    let len = usize::try_from(len).ok().filter(|len| *len <= isize::MAX as usize)?;
    if len == 0 {
        return Some(&[]);
    }
    // SAFETY: the caller's promise.
    (at != 0).then(|| unsafe { std::slice::from_raw_parts(at as *const u8, len) })
}

/// Takes the next words of a description.
struct Words<'a>(std::slice::Iter<'a, u64>);

impl Words<'_> {
    fn next(&mut self) -> Option<u64> {
        self.0.next().copied()
    }
}

/// Takes the last `count` terms off the stack.
fn top<'h>(stack: &mut Vec<TermRef<'h>>, count: u64) -> Option<Vec<TermRef<'h>>> {
    let rest = stack.len().checked_sub(usize::try_from(count).ok()?)?;
    Some(stack.split_off(rest))
}

/// A number that stands where a word says.
///
/// # Safety
/// ABI1: it is null or there is one.
unsafe fn number<T: Copy>(at: u64) -> Option<T> {
    // SAFETY: the caller's promise.
    (at != 0).then(|| unsafe { (at as *const T).read_unaligned() })
}

/// A term that needs no memory, if it is of the kind.
fn immediate(word: u64, is: fn(Term) -> bool) -> Option<Term> {
    Word(word).term().filter(|term| is(*term))
}

/// Does the step that `kind` asks for; nothing if it cannot be done.
fn step<'b>(kind: u64, words: &mut Words<'_>, stack: &mut Vec<TermRef<'b>>, draft: &mut Draft<'b>) -> Option<()> {
    let made = match kind {
        kind::NIL => Term::NIL,
        kind::ATOM => immediate(words.next()?, |term| term.is_atom())?,
        kind::PORT => immediate(words.next()?, |term| term.as_local_port().is_some())?,
        kind::PID => immediate(words.next()?, |term| term.as_local_pid().is_some())?,
        kind::INT => draft.int(words.next()? as i64),
        kind::UINT => draft.uint(words.next()?),
        // SAFETY: ABI1: what the header says stands there.
        kind::INT64 => draft.int(unsafe { number(words.next()?) }?),
        // SAFETY: as above.
        kind::UINT64 => draft.uint(unsafe { number(words.next()?) }?),
        // SAFETY: as above. No number of the language is infinite.
        kind::FLOAT => draft.float(unsafe { number::<f64>(words.next()?) }.filter(|x| x.is_finite())?),
        kind::BINARY => {
            let (binary, len, start) = (words.next()? as *mut Binary, words.next()?, words.next()?);
            if binary.is_null() && len == 0 {
                draft.binary(&[])
            } else if binary.is_null() {
                return None;
            } else {
                // SAFETY: ABI1: a binary that the driver holds.
                unsafe { Binary::term(binary, start as usize, len as usize, draft) }?
            }
        }
        // SAFETY: ABI1.
        kind::BUF2BINARY => draft.binary(unsafe { bytes(words.next()?, words.next()?) }?),
        // SAFETY: ABI1.
        kind::STRING => draft.byte_list(unsafe { bytes(words.next()?, words.next()?) }?, Term::NIL),
        kind::STRING_CONS => {
            // SAFETY: ABI1.
            let bytes = unsafe { bytes(words.next()?, words.next()?) }?;
            let tail = stack.pop()?;
            draft.byte_list(bytes, tail)
        }
        kind::EXT2TERM => {
            // SAFETY: ABI1.
            let bytes = unsafe { bytes(words.next()?, words.next()?) }?;
            decode(draft, bytes, DecodeOptions::default()).ok()?.term
        }
        kind::TUPLE => {
            let elements = top(stack, words.next()?)?;
            draft.tuple(&elements)
        }
        kind::LIST => {
            let mut elements = top(stack, words.next()?)?;
            let tail = elements.pop()?;
            draft.list_onto(&elements, tail)
        }
        kind::MAP => {
            let pairs = top(stack, words.next()?.checked_mul(2)?)?;
            let pairs: Vec<_> = pairs.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
            map::from_unique_pairs(draft, &pairs)?
        }
        _ => return None,
    };
    stack.push(made);
    Some(())
}

/// The term that these words describe; nothing if they describe none, or not exactly one.
pub(crate) fn build(words: &[u64]) -> Option<Payload> {
    let mut is_good = false;
    let payload = Payload::build(4 * words.len(), |draft| {
        let (mut words, mut stack) = (Words(words.iter()), Vec::new());
        while let Some(kind) = words.next() {
            if step(kind, &mut words, &mut stack, draft).is_none() {
                return Term::NIL;
            }
        }
        match stack[..] {
            [term] => {
                is_good = true;
                term
            }
            _ => Term::NIL,
        }
    });
    is_good.then_some(payload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_term::am;

    fn told(words: &[u64]) -> Option<String> {
        build(words).map(|payload| payload.term().to_string())
    }

    #[test]
    fn rows_of_words_describe_terms() {
        let ok = Term::atom(am::ok).raw();
        let text = b"abc";
        let (at, len) = (text.as_ptr() as u64, text.len() as u64);
        assert_eq!(told(&[kind::ATOM, ok, kind::INT, 7, kind::TUPLE, 2]).as_deref(), Some("{ok,7}"));
        assert_eq!(told(&[kind::INT, 1, kind::INT, 2, kind::NIL, kind::LIST, 3]).as_deref(), Some("[1,2]"));
        assert_eq!(told(&[kind::NIL, kind::STRING_CONS, at, len]).as_deref(), Some("\"abc\""));
        assert_eq!(told(&[kind::BUF2BINARY, at, len]).as_deref(), Some("<<\"abc\">>"));
        assert_eq!(
            told(&[kind::ATOM, ok, kind::UINT, u64::MAX, kind::MAP, 1]).as_deref(),
            Some("#{ok=>18446744073709551615}")
        );
    }

    #[test]
    fn what_describes_no_term_is_refused() {
        let ok = Term::atom(am::ok).raw();
        for words in [
            &[][..],
            &[99],
            &[kind::ATOM],
            &[kind::ATOM, Term::NIL.raw()],
            &[kind::INT, 1, kind::INT, 2],
            &[kind::TUPLE, 1],
            &[kind::LIST, 0],
            &[kind::TUPLE, u64::MAX],
            &[kind::MAP, u64::MAX],
            &[kind::BUF2BINARY, 0, 1],
            &[kind::BINARY, 0, 1, 0],
            &[kind::ATOM, ok, kind::INT, 1, kind::ATOM, ok, kind::INT, 2, kind::MAP, 2],
        ] {
            assert_eq!(told(words), None, "{words:?}");
        }
    }
}
