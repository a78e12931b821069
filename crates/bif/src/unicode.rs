//! Module `unicode`: character data, in Latin-1 or UTF-8, to UTF-8 binaries and lists of characters.
//!
//! Character data are nested lists of characters and binaries. A character may be split over binaries: its bytes so far
//! are kept aside. Long data are walked slice by slice. Where the data are wrong, the result tells what came before, and the rest of the data from there: the
//! tails that are still to be walked, each wrapped around what stands before it.

use crate::guards::sub_binary;
use crate::work::{Pace, in_slices_at};
use myriad_term::{BinaryBuffer, Bits, Build, Export, Mfa, Term, am};
use myriad_vm::bif::{Escape, badarg};
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub UNICODE = "unicode" {
    "characters_to_binary" / 2 Plain => characters_to_binary_2;
    "characters_to_list" / 2 Plain => characters_to_list_2;
    "bin_is_7bit" / 1 Plain => |_, a| Ok(Term::bool(a[0].as_binary().is_some_and(|b| b.is_ascii())));
}}

/// Bytes of a binary that count as one character.
const BYTES_PER_STEP: usize = 8;
/// Characters that are handled for one reduction.
const STEPS_PER_REDUCTION: usize = 10;
/// Longest character, in bytes.
const MOST_BYTES: usize = 4;

/// Where converted characters go.
pub(crate) trait Sink {
    fn text(&mut self, text: &str);
    fn latin1(&mut self, bytes: &[u8]);
    fn char(&mut self, char: char);

    /// The characters at the head of a list, as far as they are right and no more than `most`: what is left of both.
    fn list(&mut self, mut list: Term, mut most: usize, latin1: bool) -> (Term, usize) {
        while most > 0 {
            let Some((head, tail)) = list.as_cons() else { break };
            let Some(char) = character(head, latin1) else { break };
            self.char(char);
            list = tail;
            most -= 1;
        }
        (list, most)
    }
}

/// The character that a term is.
#[inline]
fn character(item: Term, latin1: bool) -> Option<char> {
    let code = u32::try_from(item.as_small()?).ok()?;
    let char = char::from_u32(code)?;
    (!latin1 || code <= 0xff).then_some(char)
}

/// Bytes that are encoded on the stack before they join the others.
const RUN: usize = 512;

/// A sink of UTF-8.
#[derive(Default)]
struct Utf8(BinaryBuffer);

impl Sink for Utf8 {
    fn text(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    fn latin1(&mut self, bytes: &[u8]) {
        if bytes.is_ascii() {
            self.0.extend_from_slice(bytes);
        } else {
            self.0.reserve(bytes.len() + bytes.len() / 8);
            for byte in bytes {
                self.char(char::from(*byte));
            }
        }
    }

    #[inline]
    fn char(&mut self, char: char) {
        match u8::try_from(char) {
            Ok(ascii @ 0..=0x7f) => self.0.push(ascii),
            _ => self.0.extend_from_slice(char.encode_utf8(&mut [0; MOST_BYTES]).as_bytes()),
        }
    }

    fn list(&mut self, mut list: Term, mut most: usize, latin1: bool) -> (Term, usize) {
        let mut run = [0; RUN];
        loop {
            let (mut len, mut goes_on) = (0, false);
            while let Some(place) = run.get_mut(len..).and_then(|rest| rest.first_chunk_mut::<MOST_BYTES>()) {
                goes_on = false;
                if most == 0 {
                    break;
                }
                let Some((head, tail)) = list.as_cons() else { break };
                let Some(char) = character(head, latin1) else { break };
                len += char.encode_utf8(place).len();
                list = tail;
                most -= 1;
                goes_on = true;
            }
            self.0.extend_from_slice(&run[..len.min(RUN)]);
            if !goes_on {
                return (list, most);
            }
        }
    }
}

/// Characters of one piece of [`Chars`].
const PIECE: usize = 16 * 1024;

/// A sink of characters, in pieces: one vector would be copied as it grows.
#[derive(Default)]
struct Chars {
    full: Vec<Vec<Term>>,
    last: Vec<Term>,
}

impl Chars {
    fn make_room(&mut self) {
        if self.last.len() >= PIECE {
            self.full.push(std::mem::take(&mut self.last));
        }
    }
}

impl Sink for Chars {
    fn text(&mut self, text: &str) {
        if text.is_ascii() {
            return self.latin1(text.as_bytes());
        }
        self.make_room();
        self.last.reserve(text.len() / 2);
        self.last.extend(text.chars().map(|char| Term::small(i64::from(u32::from(char)))));
    }

    #[inline]
    fn char(&mut self, char: char) {
        self.make_room();
        self.last.push(Term::small(i64::from(u32::from(char))));
    }

    fn latin1(&mut self, bytes: &[u8]) {
        self.make_room();
        self.last.extend(bytes.iter().map(|b| Term::small(i64::from(*b))));
    }
}

/// How a conversion ended.
#[derive(Clone, Copy)]
pub(crate) enum End {
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

/// A walk over character data that can stop anywhere. The data are live arguments until the call is over, and nothing is
/// collected until then.
pub(crate) struct Walk<S> {
    pub(crate) sink: S,
    latin1: bool,
    at: Term,
    left: Vec<Term>,
    partial: Partial,
    /// Bytes of the binary at hand that are done.
    done: usize,
}

impl<S: Sink> Walk<S> {
    pub(crate) fn new(sink: S, data: Term, latin1: bool) -> Walk<S> {
        Walk { sink, latin1, at: data, left: Vec::new(), partial: Partial::default(), done: 0 }
    }

    /// Goes on until the end, or until `budget` is used up: nothing then.
    pub(crate) fn run(&mut self, ctx: &mut Ctx<'_>, budget: &mut usize) -> Result<Option<End>, Escape> {
        loop {
            self.characters(budget);
            if *budget == 0 {
                return Ok(None);
            }
            *budget -= 1;
            if let Some((head, tail)) = self.at.as_cons() {
                if head.is_list() {
                    self.left.push(tail);
                    self.at = head;
                    continue;
                }
                if head.is_integer() {
                    if self.partial.len > 0 || !self.character(head) {
                        return self.error(ctx, self.at).map(Some);
                    }
                } else {
                    match self.binary(ctx, head, budget)? {
                        Part::Stop => return Ok(None),
                        Part::Wrong(wrong) => {
                            let rest = ctx.cons(wrong, tail);
                            return self.error(ctx, rest).map(Some);
                        }
                        Part::Done => self.done = 0,
                    }
                }
                self.at = tail;
            } else if self.at.is_nil() {
                match self.left.pop() {
                    Some(tail) => self.at = tail,
                    None => break,
                }
            } else {
                match self.binary(ctx, self.at, budget)? {
                    Part::Stop => return Ok(None),
                    Part::Wrong(wrong) => {
                        self.at = wrong;
                        return self.error(ctx, wrong).map(Some);
                    }
                    Part::Done => self.done = 0,
                }
                self.at = Term::NIL;
            }
        }
        if self.partial.len == 0 {
            return Ok(Some(End::Done));
        }
        let rest = ctx.binary(self.partial.bytes());
        let goes_on = are_continuation(&self.partial.bytes()[1..]);
        Ok(Some(if goes_on { End::Incomplete(rest) } else { End::Error(rest) }))
    }

    /// The characters at the head of the list at hand, as far as they are right.
    fn characters(&mut self, budget: &mut usize) {
        if self.partial.len > 0 {
            return;
        }
        (self.at, *budget) = self.sink.list(self.at, *budget, self.latin1);
    }

    /// One character; `false` if it is none.
    #[inline]
    fn character(&mut self, item: Term) -> bool {
        let Some(char) = character(item, self.latin1) else { return false };
        self.sink.char(char);
        true
    }

    /// One binary, from where it was left.
    fn binary(&mut self, ctx: &mut Ctx<'_>, item: Term, budget: &mut usize) -> Result<Part, Escape> {
        let Some(bits) = item.as_bits().filter(|b| b.is_binary()) else { return badarg() };
        let size = bits.len() / 8;
        if self.done == 0 && !self.latin1 {
            match self.complete(bits) {
                Ok(used) => self.done = used,
                Err(()) => return Ok(Part::Wrong(item)),
            }
        }
        while self.done < size {
            if *budget == 0 {
                return Ok(Part::Stop);
            }
            let len = chunk(bits, self.done, *budget, self.latin1);
            *budget = budget.saturating_sub(len.div_ceil(BYTES_PER_STEP));
            let Some(part) = bits.part(self.done * 8, len * 8) else { return badarg() };
            let bytes = part.to_bytes();
            if self.latin1 {
                self.sink.latin1(&bytes);
                self.done += len;
                continue;
            }
            let right = match std::str::from_utf8(&bytes) {
                Ok(text) => {
                    self.sink.text(text);
                    self.done += len;
                    continue;
                }
                Err(error) => error.valid_up_to(),
            };
            if let Ok(text) = std::str::from_utf8(&bytes[..right]) {
                self.sink.text(text);
            }
            let wrong = self.done + right;
            if size - wrong < MOST_BYTES {
                let Some(rest) = bits.part(wrong * 8, (size - wrong) * 8) else { return badarg() };
                let rest = rest.to_bytes();
                let cut_off = rest.first().and_then(|lead| char_len(*lead)).is_some_and(|n| n > rest.len());
                if cut_off {
                    self.partial.take(&rest);
                    return Ok(Part::Done);
                }
            }
            return Ok(Part::Wrong(sub_binary(ctx, item, wrong * 8, (size - wrong) * 8)));
        }
        Ok(Part::Done)
    }

    /// Completes the character that a binary before began with the first bytes of this one: how many they are.
    fn complete(&mut self, bits: Bits<'_>) -> Result<usize, ()> {
        let Some(needed) = self.partial.bytes().first().and_then(|lead| char_len(*lead)) else { return Ok(0) };
        let missing = needed.saturating_sub(self.partial.len);
        let taken = missing.min(bits.len() / 8);
        let Some(first) = bits.part(0, taken * 8) else { return Ok(0) };
        let mut whole = Partial { ..self.partial };
        whole.take(&first.to_bytes());
        if taken < missing {
            self.partial = whole;
            return Ok(taken);
        }
        match std::str::from_utf8(whole.bytes()) {
            Ok(text) => self.sink.text(text),
            Err(_) => return Err(()),
        }
        self.partial.len = 0;
        Ok(taken)
    }

    /// The rest of the data, `here` being what is left of the innermost list. What is left must be character data, too.
    fn error(&mut self, ctx: &mut Ctx<'_>, here: Term) -> Result<End, Escape> {
        let mut goes_on = check(self.at)?;
        let mut rest = here;
        for tail in self.left.iter().rev() {
            goes_on = goes_on && check(*tail)?;
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

/// How far a binary was walked.
enum Part {
    /// To its end.
    Done,
    /// As far as the budget went.
    Stop,
    /// To a wrong byte: what is left from there.
    Wrong(Term),
}

/// How many bytes from `done` on to take at once: as the budget allows, and ending where a character does.
fn chunk(bits: Bits<'_>, done: usize, budget: usize, latin1: bool) -> usize {
    let left = bits.len() / 8 - done;
    let most = budget.saturating_mul(BYTES_PER_STEP).max(2 * MOST_BYTES);
    if most >= left || latin1 {
        return most.min(left);
    }
    // Back to the first byte of the last character. There is one among these, unless the bytes are wrong.
    let lead = |back: &usize| bits.byte(done + most - back) & 0xc0 != 0x80;
    most - (1..=MOST_BYTES).find(lead).unwrap_or(0)
}

/// `badarg` unless the term is made as character data are, whatever its integers and bytes. Nothing is looked at behind an
/// integer that is no small one in OTP, nor in what comes after the term (false then): conversion ends there.
fn check(data: Term) -> Result<bool, Escape> {
    let is_binary = |t: Term| t.as_bits().is_some_and(|b| b.is_binary());
    let mut left = vec![data];
    while let Some(mut at) = left.pop() {
        while let Some((head, tail)) = at.as_cons() {
            if head.is_cons() {
                left.push(tail);
                at = head;
                continue;
            }
            if head.is_integer() && head.as_small().is_none_or(|n| !(-(1 << 59)..1 << 59).contains(&n)) {
                return Ok(false);
            }
            if !head.is_integer() && !head.is_nil() && !is_binary(head) {
                return badarg();
            }
            at = tail;
        }
        if !at.is_nil() && !is_binary(at) {
            return badarg();
        }
    }
    Ok(true)
}

/// Latin-1? `None`: another encoding.
pub(crate) fn encoding(term: Term) -> Option<bool> {
    match term.as_atom() {
        Some(am::latin1) => Some(true),
        Some(am::unicode | am::utf8) => Some(false),
        _ => None,
    }
}

/// Runs `step` until it gives a result, slice by slice; it gets how many characters it may convert in each.
pub(crate) fn in_slices<F>(ctx: &mut Ctx<'_>, step: F) -> BifResult
where
    F: FnMut(&mut Ctx<'_>, &mut usize) -> Result<Option<Term>, Escape> + Send + 'static,
{
    let most = ctx.vm.test_hooks.unicode_chars.get().max(1);
    in_slices_at(ctx, Pace::of(STEPS_PER_REDUCTION).up_to(most), step)
}

fn finish(ctx: &mut Ctx<'_>, converted: Term, end: End) -> Term {
    match end {
        End::Done => converted,
        End::Error(rest) => ctx.tuple(&[am::error.term(), converted, rest]),
        End::Incomplete(rest) => ctx.tuple(&[am::incomplete.term(), converted, rest]),
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
    check_top(data)?;
    // What is right already is given back as it is; the bytes of it that have been found to be.
    let mut right = data.as_aligned_bytes().map(|_| 0);
    let mut walk = Walk::new(Utf8::default(), data, latin1);
    in_slices(ctx, move |ctx, budget| {
        if let (Some(done), Some(bits)) = (right, data.as_bits()) {
            match all_right(bits, done, latin1, budget) {
                Check::All => return Ok(Some(data)),
                Check::Wrong => right = None,
                Check::Stop(done) => {
                    right = Some(done);
                    return Ok(None);
                }
            }
        }
        let Some(end) = walk.run(ctx, budget)? else { return Ok(None) };
        let converted = std::mem::take(&mut walk.sink.0).shrunk().into_term(ctx);
        Ok(Some(finish(ctx, converted, end)))
    })
}

/// Are the data of a kind that can be converted at all?
fn check_top(data: Term) -> Result<(), Escape> {
    if data.is_list() || data.as_bits().is_some_and(|b| b.is_binary()) { Ok(()) } else { badarg() }
}

/// How far bytes are what they would be converted to.
enum Check {
    All,
    Wrong,
    Stop(usize),
}

fn all_right(bits: Bits<'_>, mut done: usize, latin1: bool, budget: &mut usize) -> Check {
    let size = bits.len() / 8;
    while done < size {
        if *budget == 0 {
            return Check::Stop(done);
        }
        let len = chunk(bits, done, *budget, latin1);
        *budget = budget.saturating_sub(len.div_ceil(BYTES_PER_STEP));
        let right = bits
            .part(done * 8, len * 8)
            .and_then(Bits::as_bytes)
            .is_some_and(|bytes| if latin1 { bytes.is_ascii() } else { std::str::from_utf8(bytes).is_ok() });
        if !right {
            return Check::Wrong;
        }
        done += len;
    }
    Check::All
}

fn characters_to_list_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(latin1) = encoding(args[1]) else { return other_encoding(ctx, am::characters_to_list_int, args) };
    check_top(args[0])?;
    let mut walk = Walk::new(Chars::default(), args[0], latin1);
    let (mut end, mut list) = (None, Term::NIL);
    in_slices(ctx, move |ctx, budget| {
        let end = match end {
            Some(end) => end,
            None => match walk.run(ctx, budget)? {
                Some(found) => *end.insert(found),
                None => return Ok(None),
            },
        };
        // The list is made from its end, as far as the slice goes.
        let Chars { full, last } = &mut walk.sink;
        loop {
            let from = last.len().saturating_sub((*budget).max(1));
            *budget = budget.saturating_sub(last.len() - from);
            list = ctx.list_onto(&last[from..], list);
            last.truncate(from);
            if !last.is_empty() {
                return Ok(None);
            }
            match full.pop() {
                Some(piece) => *last = piece,
                None => return Ok(Some(finish(ctx, list, end))),
            }
            if *budget == 0 {
                return Ok(None);
            }
        }
    })
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
