//! Module `unicode`: character data, in Latin-1 or UTF-8, to UTF-8 binaries and lists of characters.
//!
//! Character data are nested lists of characters and binaries. A character may be split over binaries: its bytes so far
//! are kept aside. Where the data are wrong, the result tells what came before, and the rest of the data from there: the
//! tails that are still to be walked, each wrapped around what stands before it.

use crate::guards::sub_binary;
use crate::iolists::{binary_of_vec, dirty_if_long};
use crate::work;
use myriad_term::{Build, Export, Mfa, Term, am};
use myriad_vm::bif::{Escape, badarg};
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub UNICODE = "unicode" {
    "characters_to_binary" / 2 Plain => characters_to_binary_2;
    "characters_to_list" / 2 Plain => characters_to_list_2;
    "bin_is_7bit" / 1 Plain => |_, a| Ok(Term::bool(a[0].as_binary().is_some_and(|b| b.is_ascii())));
}}

/// Bytes of a single binary from which on the work is done on a dirty scheduler.
const LONG_BINARY: usize = 1 << 18;

/// Where converted characters go.
trait Sink {
    fn text(&mut self, text: &str);
    fn latin1(&mut self, bytes: &[u8]);
}

/// A sink of UTF-8.
#[derive(Default)]
struct Utf8(Vec<u8>);

impl Sink for Utf8 {
    fn text(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    fn latin1(&mut self, bytes: &[u8]) {
        if bytes.is_ascii() {
            self.0.extend_from_slice(bytes);
        } else {
            let mut buffer = [0; 2];
            for byte in bytes {
                self.0.extend_from_slice(char::from(*byte).encode_utf8(&mut buffer).as_bytes());
            }
        }
    }
}

/// A sink of characters.
#[derive(Default)]
struct Chars(Vec<Term>);

impl Sink for Chars {
    fn text(&mut self, text: &str) {
        self.0.extend(text.chars().map(|c| Term::small(i64::from(u32::from(c)))));
    }

    fn latin1(&mut self, bytes: &[u8]) {
        self.0.extend(bytes.iter().map(|b| Term::small(i64::from(*b))));
    }
}

/// How a conversion ended.
enum End {
    Done,
    Error(Term),
    Incomplete(Term),
}

/// The start of a character of which some bytes are still to come.
#[derive(Default)]
struct Partial {
    bytes: [u8; 4],
    len: usize,
}

impl Partial {
    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Takes bytes; there is room, as a character is longer than them.
    fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if let Some(place) = self.bytes.get_mut(self.len) {
                *place = *byte;
                self.len += 1;
            }
        }
    }
}

/// Bytes of the character that begins with `lead`; `None` if none does. Overlong and too large ones count, too: they are
/// found wrong only when they are complete.
fn char_len(lead: u8) -> Option<usize> {
    match lead {
        0..=0x7f => Some(1),
        0xc0..=0xdf => Some(2),
        0xe0..=0xef => Some(3),
        0xf0..=0xf7 => Some(4),
        _ => None,
    }
}

fn are_continuation(bytes: &[u8]) -> bool {
    bytes.iter().all(|b| b & 0xc0 == 0x80)
}

/// A walk over character data.
struct Walk<'s, S> {
    sink: &'s mut S,
    latin1: bool,
    at: Term,
    left: Vec<Term>,
    partial: Partial,
    steps: usize,
}

impl<S: Sink> Walk<'_, S> {
    fn run(&mut self, ctx: &mut Ctx<'_>) -> Result<End, Escape> {
        loop {
            self.steps += 1;
            if let Some((head, tail)) = self.at.as_cons() {
                if head.is_list() {
                    self.left.push(tail);
                    self.at = head;
                    continue;
                }
                if head.is_integer() {
                    if self.partial.len > 0 || !self.character(head) {
                        return self.error(ctx, self.at);
                    }
                } else if let Err(wrong) = self.binary(ctx, head)? {
                    let rest = ctx.cons(wrong, tail);
                    return self.error(ctx, rest);
                }
                self.at = tail;
            } else if self.at.is_nil() {
                match self.left.pop() {
                    Some(tail) => self.at = tail,
                    None => break,
                }
            } else {
                if let Err(wrong) = self.binary(ctx, self.at)? {
                    self.at = wrong;
                    return self.error(ctx, wrong);
                }
                self.at = Term::NIL;
            }
        }
        if self.partial.len == 0 {
            return Ok(End::Done);
        }
        let rest = ctx.binary(self.partial.bytes());
        Ok(if are_continuation(&self.partial.bytes()[1..]) { End::Incomplete(rest) } else { End::Error(rest) })
    }

    /// One character; `false` if it is none.
    fn character(&mut self, item: Term) -> bool {
        let Some(code) = item.as_small().and_then(|v| u32::try_from(v).ok()) else { return false };
        match (char::from_u32(code), u8::try_from(code)) {
            (_, Ok(byte)) if self.latin1 => self.sink.latin1(&[byte]),
            (Some(char), _) if !self.latin1 => self.sink.text(char.encode_utf8(&mut [0; 4])),
            _ => return false,
        }
        true
    }

    /// One binary; the inner error is what is left of it from the first wrong byte on.
    fn binary(&mut self, ctx: &mut Ctx<'_>, item: Term) -> Result<Result<(), Term>, Escape> {
        let Some(bytes) = item.as_binary() else { return badarg() };
        self.steps += bytes.len() / 16;
        if self.latin1 {
            self.sink.latin1(&bytes);
            return Ok(Ok(()));
        }
        let mut start = 0;
        if let Some(needed) = self.partial.bytes().first().and_then(|lead| char_len(*lead)) {
            let missing = needed.saturating_sub(self.partial.len);
            if bytes.len() < missing {
                self.partial.take(&bytes);
                return Ok(Ok(()));
            }
            let mut whole = Partial { ..self.partial };
            whole.take(&bytes[..missing]);
            match std::str::from_utf8(whole.bytes()) {
                Ok(text) => self.sink.text(text),
                Err(_) => return Ok(Err(item)),
            }
            self.partial.len = 0;
            start = missing;
        }
        let fresh = &bytes[start..];
        let error = match std::str::from_utf8(fresh) {
            Ok(text) => {
                self.sink.text(text);
                return Ok(Ok(()));
            }
            Err(error) => error,
        };
        let (right, wrong) = fresh.split_at(error.valid_up_to());
        if let Ok(text) = std::str::from_utf8(right) {
            self.sink.text(text);
        }
        let cut_off = wrong.first().and_then(|lead| char_len(*lead)).is_some_and(|n| n > wrong.len());
        if cut_off && are_continuation(&wrong[1..]) {
            self.partial.take(wrong);
            return Ok(Ok(()));
        }
        Ok(Err(sub_binary(ctx, item, (bytes.len() - wrong.len()) * 8, wrong.len() * 8)))
    }

    /// The rest of the data, `here` being what is left of the innermost list. What is left must be character data, too.
    fn error(&mut self, ctx: &mut Ctx<'_>, here: Term) -> Result<End, Escape> {
        check(self.at)?;
        let mut rest = here;
        for tail in self.left.iter().rev() {
            check(*tail)?;
            rest = ctx.cons(rest, *tail);
        }
        if self.partial.len > 0 {
            let partial = ctx.binary(self.partial.bytes());
            let tail = ctx.cons(rest, Term::NIL);
            rest = ctx.cons(partial, tail);
        }
        Ok(End::Error(rest))
    }
}

/// `badarg` unless the term is made as character data are, whatever its integers and bytes.
fn check(data: Term) -> Result<(), Escape> {
    let is_binary = |t: Term| t.as_bits().is_some_and(|b| b.is_binary());
    let mut left = vec![data];
    while let Some(mut at) = left.pop() {
        while let Some((head, tail)) = at.as_cons() {
            if head.is_cons() {
                left.push(head);
            } else if !head.is_integer() && !head.is_nil() && !is_binary(head) {
                return badarg();
            }
            at = tail;
        }
        if !at.is_nil() && !is_binary(at) {
            return badarg();
        }
    }
    Ok(())
}

/// Latin-1? `None`: another encoding.
fn encoding(term: Term) -> Option<bool> {
    match term.as_atom() {
        Some(am::latin1) => Some(true),
        Some(am::unicode | am::utf8) => Some(false),
        _ => None,
    }
}

fn convert<S: Sink>(ctx: &mut Ctx<'_>, data: Term, latin1: bool, sink: &mut S) -> Result<End, Escape> {
    if !data.is_list() && data.as_binary().is_none() {
        return badarg();
    }
    dirty_if_long(ctx, data)?;
    if data.as_bits().is_some_and(|b| b.len() / 8 > LONG_BINARY) {
        work::dirty(ctx)?;
    }
    let mut walk = Walk { sink, latin1, at: data, left: Vec::new(), partial: Partial::default(), steps: 0 };
    let end = walk.run(ctx);
    let steps = walk.steps;
    ctx.bump(steps / 8);
    end
}

fn finish(ctx: &mut Ctx<'_>, converted: Term, end: End) -> BifResult {
    match end {
        End::Done => Ok(converted),
        End::Error(rest) => Ok(ctx.tuple(&[am::error.term(), converted, rest])),
        End::Incomplete(rest) => Ok(ctx.tuple(&[am::incomplete.term(), converted, rest])),
    }
}

/// The encodings that are no business of the built-in are dealt with in Erlang code.
fn other_encoding(ctx: &mut Ctx<'_>, function: myriad_term::Atom, args: &[Term]) -> BifResult {
    ctx.trap(Export::intern(Mfa { module: am::unicode, function, arity: 2 }), args)
}

fn characters_to_binary_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(latin1) = encoding(args[1]) else { return other_encoding(ctx, am::characters_to_binary_int, args) };
    // A list of one binary is taken as that binary, which shows in the rest of wrong data.
    let data = match args[0].as_cons() {
        Some((only, tail)) if tail.is_nil() && only.is_bitstring() => only,
        _ => args[0],
    };
    if let Some(bytes) = data.as_aligned_bytes()
        && bytes.len() <= LONG_BINARY
        && (if latin1 { bytes.is_ascii() } else { std::str::from_utf8(bytes).is_ok() })
    {
        ctx.bump(bytes.len() / 128);
        return Ok(data);
    }
    let mut sink = Utf8::default();
    let end = convert(ctx, data, latin1, &mut sink)?;
    let converted = binary_of_vec(ctx, sink.0);
    finish(ctx, converted, end)
}

fn characters_to_list_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(latin1) = encoding(args[1]) else { return other_encoding(ctx, am::characters_to_list_int, args) };
    let mut sink = Chars::default();
    let end = convert(ctx, args[0], latin1, &mut sink)?;
    let converted = ctx.list(&sink.0);
    finish(ctx, converted, end)
}

/// The text of a flat list of characters, cut after `limit` of them; `None` if it is none.
pub fn characters(list: Term, limit: usize) -> Option<String> {
    let mut text = String::new();
    let mut items = list.list_iter();
    for (i, item) in items.by_ref().enumerate() {
        let char = char::from_u32(u32::try_from(item.as_small()?).ok()?)?;
        if i < limit {
            text.push(char);
        }
    }
    items.tail().is_nil().then_some(text)
}
