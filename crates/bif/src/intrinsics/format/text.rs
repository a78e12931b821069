//! The texts of terms that hold no others: atoms, numbers, identifiers, strings, binaries.
//!
//! They are gathered as code points, in a buffer, as their number matters before there is a list. What needs an escape in a
//! string or a quoted atom is written as Erlang's scanner reads it.

use crate::native_names::printable_range;
use myriad_term::number_text::{push_integer, with_short};
use myriad_term::print::{fun_text, pid_text, port_text};
use myriad_term::{Atom, Bits, Build, Term, alloc::cells, am};
use myriad_vm::Vm;
use myriad_vm::bif::Escape;

/// Which characters stand for themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Charset {
    /// Those of Latin-1; others are `\x{…}` where they can be.
    Latin1,
    /// All.
    Unicode,
}

impl Charset {
    /// The characters that are printable to the user: `io:printable_range/0`.
    pub fn printable(vm: &'static Vm) -> Charset {
        if printable_range(vm) == am::unicode { Charset::Unicode } else { Charset::Latin1 }
    }

    /// May the character stand in what is shown as a string?
    #[inline]
    pub fn shows(self, c: u32) -> bool {
        match c {
            0x20..=0x7e | 0xa0..=0xff | 8..=13 | 27 => true,
            0x100..=0xd7ff | 0xe000..=0xfffd | 0x1_0000..=0x10_ffff => self == Charset::Unicode,
            _ => false,
        }
    }
}

/// The last code point.
pub const MOST: u32 = 0x10_ffff;

/// A character, as `io_lib` has it: no surrogate, none of the two last code points of the first plane.
pub fn is_char(c: u32) -> bool {
    matches!(c, 0..=0xd7ff | 0xe000..=0xfffd | 0x1_0000..=MOST)
}

/// A small integer that may be a character.
#[inline]
pub fn code_point(term: Term) -> Option<u32> {
    term.as_small().and_then(|c| u32::try_from(c).ok())
}

/// A list of these characters, then `tail`.
#[inline]
pub fn list_of<A: Build<'static> + ?Sized>(heap: &mut A, chars: &[u32], tail: Term) -> Term {
    cells(heap, chars.len(), tail, |i| Term::small(i64::from(chars[i])))
}

/// A list of the characters of a text.
#[inline]
pub fn list_of_text<A: Build<'static> + ?Sized>(heap: &mut A, text: &str, tail: Term) -> Term {
    if text.is_ascii() {
        return heap.byte_list(text.as_bytes(), tail);
    }
    let chars: Vec<u32> = text.chars().map(u32::from).collect();
    list_of(heap, &chars, tail)
}

/// A list of `count` times a character: short ones flat, longer ones `[Half | Half]`, so that it takes few cells.
pub fn filled<A: Build<'static> + ?Sized>(heap: &mut A, char: Term, count: usize) -> Term {
    if count <= 3 {
        return heap.list(&[char; 3][..count]);
    }
    let half = filled(heap, char, count / 2);
    let both = heap.cons(half, half);
    if count.is_multiple_of(2) { both } else { heap.cons(char, both) }
}

/// Characters beyond Latin-1 of which each is a cluster of its own beside any other of them, in every version of Unicode:
/// letters and signs that join with nothing before or behind them.
pub fn stands_alone(c: u32) -> bool {
    matches!(c,
        0..=0x2ff | 0x370..=0x3ff | 0x400..=0x482 | 0x48a..=0x52f | 0x5d0..=0x5ea | 0x620..=0x64a
        | 0x1e00..=0x1fff | 0x2010..=0x2027 | 0x2030..=0x205e | 0x20a0..=0x20bf | 0x2100..=0x2bff
        | 0x3001..=0x3029 | 0x3041..=0x3096 | 0x30a0..=0x30ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xac00..=0xd7a3
        | 0xff01..=0xff60 | 0x1_f300..=0x1_f3fa | 0x1_f400..=0x1_f64f | 0x1_f680..=0x1_f6d0 | 0x1_f900..=0x1_f9ff)
}

/// How long a text is said to be (`io_lib:chars_length/1`): its number of characters if all are of Latin-1, else that of its clusters.
#[derive(Default)]
pub struct Width {
    count: usize,
    /// Not all are of Latin-1.
    wide: bool,
    /// A character that others may join, or two that do.
    joins: bool,
    last: u32,
}

impl Width {
    /// One more character; false if the number can no longer be told.
    #[inline]
    pub fn add(&mut self, c: u32) -> bool {
        self.count += 1;
        let last = std::mem::replace(&mut self.last, c);
        if c < 256 {
            self.joins |= last == 13 && c == 10;
        } else {
            self.wide = true;
            self.joins |= !stands_alone(c);
        }
        !(self.wide && self.joins)
    }

    /// The number; none if clusters would have to be looked for.
    pub fn get(self) -> Option<usize> {
        (!(self.wide && self.joins)).then_some(self.count)
    }
}

/// The [`Width`] of a text.
pub fn width(chars: &[u32]) -> Option<usize> {
    if chars.iter().all(|c| *c < 256) {
        return Some(chars.len());
    }
    let mut width = Width::default();
    chars.iter().for_each(|c| _ = width.add(*c));
    width.get()
}

/// The escape of a control character or of DEL.
fn short_escape(c: u32) -> Option<u8> {
    Some(match c {
        8 => b'b',
        9 => b't',
        10 => b'n',
        11 => b'v',
        12 => b'f',
        13 => b'r',
        27 => b'e',
        127 => b'd',
        _ => return None,
    })
}

/// Characters between quotes, with escapes for the quote, the backslash, control characters and, as `charset` has it, those
/// beyond Latin-1.
pub fn push_quoted(out: &mut Vec<u32>, chars: impl Iterator<Item = u32>, quote: u32, charset: Charset) {
    let backslash = u32::from('\\');
    out.push(quote);
    for c in chars {
        match c {
            _ if c == quote || c == backslash => out.extend([backslash, c]),
            0x20..=0x7e | 0xa0..=0xff => out.push(c),
            0..=0x9f => match short_escape(c) {
                Some(letter) => out.extend([backslash, letter.into()]),
                None => {
                    let octal = |shift: u32| (c >> shift & 7) + u32::from('0');
                    out.extend([backslash, octal(6), octal(3), octal(0)]);
                }
            },
            _ if charset == Charset::Unicode => out.push(c),
            _ => out.extend(format!("\\x{{{c:X}}}").bytes().map(u32::from)),
        }
    }
    out.push(quote);
}

/// A character of an atom without quotes, not the first.
fn in_name(c: char) -> bool {
    matches!(c, 'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '@' | 'ß'..='ö' | 'ø'..='ÿ' | 'À'..='Ö' | 'Ø'..='Þ')
}

/// A word of the language, which is no atom without quotes.
fn is_reserved(text: &str) -> bool {
    matches!(
        text,
        "after"
            | "and"
            | "andalso"
            | "band"
            | "begin"
            | "bnot"
            | "bor"
            | "bsl"
            | "bsr"
            | "bxor"
            | "case"
            | "catch"
            | "cond"
            | "div"
            | "end"
            | "fun"
            | "if"
            | "let"
            | "not"
            | "of"
            | "or"
            | "orelse"
            | "receive"
            | "rem"
            | "try"
            | "when"
            | "xor"
    )
}

/// Is the text an atom only between quotes?
fn needs_quotes(text: &str) -> bool {
    !text.starts_with(|c| matches!(c, 'a'..='z' | 'ß'..='ö' | 'ø'..='ÿ'))
        || !text.chars().all(in_name)
        || is_reserved(text)
}

/// A word that a feature of the language may reserve (`erl_features`).
fn may_be_reserved(text: &str) -> bool {
    matches!(text, "maybe" | "else" | "ifn" | "while" | "until" | "unless")
}

/// An atom, in quotes where it needs them: `io_lib:write_atom/1`, or `write_atom_as_latin1/1`. Whether it does is not known of a
/// few words.
pub fn push_atom(out: &mut Vec<u32>, atom: Atom, charset: Charset) -> Result<(), Escape> {
    let text = atom.text();
    if may_be_reserved(text) {
        return Err(Escape::Decline);
    }
    if needs_quotes(text) {
        push_quoted(out, text.chars().map(u32::from), u32::from('\''), charset);
    } else if text.is_ascii() {
        out.extend(text.bytes().map(u32::from));
    } else {
        out.extend(text.chars().map(u32::from));
    }
    Ok(())
}

/// A small integer in base 10.
fn push_small(out: &mut Vec<u32>, value: i64) {
    let mut digits = [0u32; 20];
    let (mut at, mut rest) = (digits.len(), value.unsigned_abs());
    loop {
        at -= 1;
        digits[at] = u32::from(b'0') + (rest % 10) as u32;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(u32::from('-'));
    }
    out.extend_from_slice(&digits[at..]);
}

/// An integer in base 10, or a float as the shortest text that reads back; false if the term is neither.
pub fn push_number(out: &mut Vec<u32>, term: Term) -> bool {
    if let Some(value) = term.as_small() {
        push_small(out, value);
        return true;
    }
    if let Some(value) = term.as_float() {
        with_short(value, |text| out.extend(text.bytes().map(u32::from)));
        return true;
    }
    let mut text = String::new();
    let is_integer = push_integer(&mut text, term, 10);
    out.extend(text.bytes().map(u32::from));
    is_integer
}

/// What [`push_number`] costs before the digits can be counted: much for a large integer.
pub fn number_cost(term: Term) -> usize {
    term.as_boxed().filter(|_| term.is_integer()).map_or(1, |object| 64 * object.header().size())
}

/// A pid, port, reference or fun; false if the term is none of these.
pub fn push_identifier(out: &mut Vec<u32>, term: Term) -> bool {
    let text = if term.is_pid() {
        pid_text(term)
    } else if term.is_port() {
        port_text(term)
    } else if term.is_reference() {
        crate::identifiers::kept_ref_text(term)
    } else if term.is_fun() {
        fun_text(term)
    } else {
        return false;
    };
    // The bytes of its UTF-8, as `erlang:fun_to_list/1` gives them.
    out.extend(text.bytes().map(u32::from));
    true
}

/// What is between the brackets of a bit string that is written byte by byte, as `io_lib:write_binary/2` nests it:
/// `["1",$,,"2"]`, with bits that fill no byte at the end, `["1",$,,"5",$:,"3"]`. With a depth, at most one byte less than
/// that, then `"..."`. The second is the number of characters.
pub fn byte_pieces<A: Build<'static> + ?Sized>(heap: &mut A, bits: Bits<'_>, depth: Option<usize>) -> (Term, usize) {
    let (whole, over) = (bits.len() / 8, bits.len() % 8);
    let shown = depth.map_or(whole, |depth| whole.min(depth.saturating_sub(1)));
    let mut pieces = Vec::with_capacity(2 * shown + 3);
    let mut digits = Vec::with_capacity(3);
    let mut number = |heap: &mut A, value: u8, len: &mut usize| {
        digits.clear();
        push_small(&mut digits, value.into());
        *len += digits.len();
        list_of(heap, &digits, Term::NIL)
    };
    let mut len = 0;
    for i in 0..shown {
        let byte = number(heap, bits.byte(i), &mut len);
        pieces.push(byte);
        if i + 1 < whole || over > 0 {
            pieces.push(Term::small(b','.into()));
            len += 1;
        }
    }
    if shown < whole || over > 0 && depth.is_some_and(|depth| shown + 1 >= depth) {
        pieces.push(list_of_text(heap, "...", Term::NIL));
        len += 3;
    } else if over > 0 {
        let value = number(heap, bits.byte(whole) >> (8 - over), &mut len);
        let size = number(heap, over as u8, &mut len);
        pieces.extend([value, Term::small(b':'.into()), size]);
        len += 1;
    }
    (heap.list(&pieces), len)
}

/// The characters that [`byte_pieces`] gives, counted only.
pub fn bytes_length(bits: Bits<'_>, depth: Option<usize>) -> usize {
    let (whole, over) = (bits.len() / 8, bits.len() % 8);
    let shown = depth.map_or(whole, |depth| whole.min(depth.saturating_sub(1)));
    let digits = |value: u8| usize::from(value.max(1).ilog10() as u8) + 1;
    let mut len: usize = (0..shown).map(|i| digits(bits.byte(i)) + 1).sum();
    if shown < whole || over > 0 && depth.is_some_and(|depth| shown + 1 >= depth) {
        len += 3;
    } else if over > 0 {
        len += digits(bits.byte(whole) >> (8 - over)) + 2;
    } else {
        // No comma behind the last.
        len = len.saturating_sub(1);
    }
    len
}

/// Puts `<<` and `>>` around what [`byte_pieces`] gives, or around a string.
pub fn in_brackets<A: Build<'static> + ?Sized>(heap: &mut A, inner: Term) -> Term {
    let [open, close] = [b'<', b'>'].map(|c| Term::small(c.into()));
    heap.list(&[open, open, inner, close, close])
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_heap::{Heap, Settings};

    fn text(push: impl FnOnce(&mut Vec<u32>)) -> String {
        let mut out = Vec::new();
        push(&mut out);
        out.into_iter().map(|c| char::from_u32(c).expect("a character")).collect()
    }

    // All as io_lib of OTP 25 writes them.

    #[test]
    fn atoms() {
        for (name, latin1, unicode) in [
            ("a", "a", "a"),
            ("a@B_1", "a@B_1", "a@B_1"),
            ("", "''", "''"),
            ("Abc", "'Abc'", "'Abc'"),
            ("_a", "'_a'", "'_a'"),
            ("åÄ", "åÄ", "åÄ"),
            ("÷", "'÷'", "'÷'"),
            ("end", "'end'", "'end'"),
            ("ends", "ends", "ends"),
            ("it's\\", "'it\\'s\\\\'", "'it\\'s\\\\'"),
            ("a\n\u{1}\u{7f}\u{80}\"", "'a\\n\\001\\d\\200\"'", "'a\\n\\001\\d\\200\"'"),
            ("λ😀", "'\\x{3BB}\\x{1F600}'", "'λ😀'"),
        ] {
            let atom = Atom::new(name).expect("an atom");
            assert_eq!(text(|out| push_atom(out, atom, Charset::Latin1).ok().expect("known")), latin1);
            assert_eq!(text(|out| push_atom(out, atom, Charset::Unicode).ok().expect("known")), unicode);
        }
    }

    #[test]
    fn numbers() {
        let mut heap = Heap::new(&Settings::default());
        for value in [0, 7, -1, i64::MAX, i64::MIN, Term::SMALL_MAX, Term::SMALL_MIN] {
            let term = heap.int(value);
            assert_eq!(text(|out| assert!(push_number(out, term))), value.to_string());
        }
        for (value, written) in [(1.0, "1.0"), (-0.0, "-0.0"), (1e22, "1.0e22"), (0.1, "0.1"), (1e-5, "1.0e-5")] {
            let term = heap.float(value);
            assert_eq!(text(|out| assert!(push_number(out, term))), written);
        }
        assert!(!push_number(&mut Vec::new(), Term::NIL));
    }

    #[test]
    fn bit_strings() {
        let mut heap = Heap::new(&Settings::default());
        let mut pieces = |bytes: &[u8], bits: usize, depth: Option<usize>| {
            let (term, len) = byte_pieces(&mut heap, Bits::new(bytes, 0, bits), depth);
            (term.to_string(), len)
        };
        assert_eq!(pieces(&[], 0, None), ("[]".to_owned(), 0));
        assert_eq!(pieces(&[1, 200], 16, None), ("[\"1\",44,\"200\"]".to_owned(), 5));
        assert_eq!(pieces(&[1, 0xb0], 12, None), ("[\"1\",44,\"11\",58,\"4\"]".to_owned(), 6));
        assert_eq!(pieces(&[1, 2], 16, Some(3)), ("[\"1\",44,\"2\"]".to_owned(), 3));
        assert_eq!(pieces(&[1, 2], 16, Some(2)), ("[\"1\",44,\"...\"]".to_owned(), 5));
        assert_eq!(pieces(&[1, 0xb0], 12, Some(2)), ("[\"1\",44,\"...\"]".to_owned(), 5));
        assert_eq!(pieces(&[1, 0xb0], 12, Some(3)), ("[\"1\",44,\"11\",58,\"4\"]".to_owned(), 6));
    }

    #[test]
    fn widths() {
        assert_eq!(width(&[13, 10, 0xff]), Some(3));
        assert_eq!(width(&[0x3bb, 0x4e00]), Some(2));
        assert_eq!(width(&[0x3bb, 13, 10]), None);
        assert_eq!(width(&[0x61, 0x301]), None);
        assert_eq!(width(&[0x200d]), None);
    }
}
