//! Building bit strings: `bs_create_bin`, and the instructions of compilers before OTP 25.
//!
//! Small results are heap binaries. Appending makes a writable binary: a sub binary and a shared binary that both carry
//! [`WRITABLE`]. Only the sub binary made last keeps the mark, so its end is the end of what is used; appending to it again
//! writes into the spare capacity, which doubles when it is used up.

mod append;
mod small;
pub mod target;

use crate::bits;
use crate::errors;
use crate::instr::segment;
use crate::machine::{Machine, high, target, wide};
use myriad_heap::shared::is_on as one_heap;
use myriad_sync::word_claim::claim_word;
use myriad_term::Atom;
use myriad_term::arith::Number;
use myriad_term::binary::{HEAP_BINARY_LIMIT, WRITABLE};
use myriad_term::boxed::Header;
use myriad_term::{Alloc, Boxed, Build, Kind, SharedBinary, Term, am};
use target::Target;

/// Least capacity of a writable binary, bytes.
const LEAST_CAPACITY: usize = 256;
/// Bits that are copied for one reduction.
const BITS_PER_REDUCTION: usize = 8 * 1024;
/// More bits than any bit string may have.
const MAX_BITS: usize = 1 << 50;

/// Why a segment cannot be built: the words of OTP's error information.
enum Fault {
    Type,
    Size,
    TooLarge,
    Unit,
    Short,
    Invalid,
    NoFloat,
}

impl Fault {
    fn name(&self) -> &'static str {
        match self {
            Fault::Type => "type",
            Fault::Size | Fault::TooLarge => "size",
            Fault::Unit => "unit",
            Fault::Short => "short",
            Fault::Invalid => "invalid",
            Fault::NoFloat => "no_float",
        }
    }

    /// Is the size of the segment not known for this fault? Of a binary that is to be appended to it is not asked, and of characters in
    /// UTF-8 and UTF-16 the longest is assumed.
    fn hides_size(&self, kind: u32, size: Term) -> bool {
        match self {
            Fault::Size | Fault::TooLarge => true,
            Fault::Type => kind == segment::UTF32 || kind == segment::BINARY && size.is_am(am::all),
            _ => false,
        }
    }
}

/// Is a size whole units? Without a division for the usual units.
fn is_multiple(bits: usize, unit: usize) -> bool {
    if unit.is_power_of_two() { bits & (unit - 1) == 0 } else { bits.is_multiple_of(unit) }
}

/// Size operand times unit.
fn size_in_bits(size: Term, unit: usize) -> Result<usize, Fault> {
    match size.as_small() {
        Some(n) if n >= 0 => match (n as usize).checked_mul(unit) {
            Some(bits) if bits < MAX_BITS => Ok(bits),
            _ => Err(Fault::TooLarge),
        },
        Some(_) => Err(Fault::Size),
        None => match size.as_big() {
            Some((false, _)) => Err(Fault::TooLarge),
            _ => Err(Fault::Size),
        },
    }
}

fn code_point(value: Term) -> Option<char> {
    u32::try_from(value.as_small()?).ok().and_then(char::from_u32)
}

/// Bits that a segment takes.
fn segment_bits(kind: u32, unit: usize, value: Term, size: Term) -> Result<usize, Fault> {
    match kind {
        segment::INTEGER => {
            size_in_bits(size, unit).and_then(|n| if value.is_integer() { Ok(n) } else { Err(Fault::Type) })
        }
        segment::FLOAT => match size_in_bits(size, unit)? {
            n @ (16 | 32 | 64) if value.is_number() => Ok(n),
            16 | 32 | 64 => Err(Fault::Type),
            _ => Err(Fault::Invalid),
        },
        segment::UTF8 => code_point(value).map(|c| 8 * c.len_utf8()).ok_or(Fault::Type),
        segment::UTF16 => code_point(value).map(|c| 16 * c.len_utf16()).ok_or(Fault::Type),
        segment::UTF32 => code_point(value).map(|_| 32).ok_or(Fault::Type),
        _ => {
            let all = size.is_am(am::all);
            let wanted = if all { 0 } else { size_in_bits(size, unit)? };
            let bits = value.as_bits().ok_or(Fault::Type)?.len();
            match all {
                true if !is_multiple(bits, unit) => Err(Fault::Unit),
                true => Ok(bits),
                false if wanted > bits => Err(Fault::Short),
                false => Ok(wanted),
            }
        }
    }
}

/// Writes an integer segment.
fn put_int(bytes: &mut [u8], at: usize, n: usize, flags: u32, value: Term) {
    if let Some(small) = value.as_small() {
        if n <= 64 {
            let raw = if n > 8 && bits::is_little(flags) { bits::to_little(small as u64, n) } else { small as u64 };
            bits::write(bytes, at, n, raw);
        } else {
            bits::write_wide(bytes, at, n, flags, small < 0, &[small.unsigned_abs()]);
        }
    } else if let Some((negative, magnitude)) = value.as_big() {
        if n <= 64 {
            let low = magnitude.first().copied().unwrap_or(0);
            let low = if negative { low.wrapping_neg() } else { low };
            let raw = if n > 8 && bits::is_little(flags) { bits::to_little(low, n) } else { low };
            bits::write(bytes, at, n, raw);
        } else {
            bits::write_wide(bytes, at, n, flags, negative, magnitude);
        }
    }
}

/// Writes a float segment of 16, 32 or 64 bits.
fn put_double(bytes: &mut [u8], at: usize, n: usize, flags: u32, value: Term) -> Result<(), Fault> {
    let number = Number::of(&value).and_then(Number::to_f64).filter(|f| f.is_finite()).ok_or(Fault::NoFloat)?;
    // As in OTP, what is too large for a narrow float becomes infinity.
    let raw = match n {
        16 => u64::from(bits::to_half(number)),
        32 => u64::from((number as f32).to_bits()),
        _ => number.to_bits(),
    };
    bits::write(bytes, at, n, if bits::is_little(flags) { bits::to_little(raw, n) } else { raw });
    Ok(())
}

fn put_char(bytes: &mut [u8], at: usize, kind: u32, flags: u32, c: char) -> usize {
    match kind {
        segment::UTF8 => {
            let mut buffer = [0; 4];
            let encoded = c.encode_utf8(&mut buffer).as_bytes();
            bits::copy(bytes, at, encoded, 0, 8 * encoded.len());
            8 * encoded.len()
        }
        segment::UTF16 => {
            let mut buffer = [0; 2];
            let units = c.encode_utf16(&mut buffer);
            for (i, unit) in units.iter().enumerate() {
                let raw = if bits::is_little(flags) { unit.swap_bytes() } else { *unit };
                bits::write(bytes, at + 16 * i, 16, u64::from(raw));
            }
            16 * units.len()
        }
        _ => {
            let raw = if bits::is_little(flags) { u32::from(c).swap_bytes() } else { u32::from(c) };
            bits::write(bytes, at, 32, u64::from(raw));
            32
        }
    }
}

fn put_bits(bytes: &mut [u8], at: usize, n: usize, value: Term) {
    if let Some(source) = value.as_bits() {
        bits::copy(bytes, at, source.covering_bytes(), source.offset(), n);
    }
}

// ---- memory of results

/// A new bit string of `bits` zero bits, and where its bytes are.
fn fresh(m: &mut Machine<'_, '_>, bits: usize) -> (Term, *mut u8) {
    let bytes = bits.div_ceil(8);
    if bytes <= HEAP_BINARY_LIMIT {
        let words = bytes.div_ceil(8);
        let at = m.heap().alloc(2 + words).as_ptr();
        // SAFETY: fresh words, as many as were asked for (term/A2).
        unsafe {
            *at = Header::new(Kind::HeapBinary, 1 + words).raw();
            *at.add(1) = bits as u64;
            std::ptr::write_bytes(at.add(2), 0, words);
            return (Term::from_boxed(at), at.add(2).cast());
        }
    }
    let shared = SharedBinary::with_capacity(bytes, bytes, |_| {});
    let data = shared.data();
    let whole = m.ctx.shared_binary(shared);
    let term = if bits.is_multiple_of(8) { whole } else { m.ctx.sub_binary(whole, 0, bits) };
    (term, data)
}

fn set_aux(object: Boxed, aux: u32) {
    // SAFETY: the writable mark is the named exception of term/T3; this process owns the object.
    unsafe { *object.ptr() = object.header().with_aux(aux).raw() };
}

/// Takes the right to append away from a sub binary that may have it, for who appends; where all processes have one heap another one may have taken it.
fn claim(source: Term) -> bool {
    let Some(object) = source.as_boxed() else { return false };
    if !one_heap() {
        set_aux(object, 0);
        return true;
    }
    let [with, without] = [WRITABLE, 0].map(|aux| object.header().with_aux(aux).raw());
    // SAFETY: the object's header, which others change in this way alone. The bytes behind the end are nobody else's from then on.
    unsafe { claim_word(object.ptr(), with, without) }
}

/// A writable sub binary of `bits` bits at the start of `whole`.
fn writable_part(m: &mut Machine<'_, '_>, whole: Term, offset: usize, bits: usize) -> Term {
    let slots = [whole, Term::small(offset as i64), Term::small(bits as i64)];
    m.ctx.boxed(Header::new(Kind::SubBinary, 3).with_aux(WRITABLE), &slots)
}

/// The shared binary behind a sub binary that may be appended to in place.
fn writable_whole(source: Term, whole: &Term) -> Option<Boxed<'_, 'static>> {
    let may = |object: Boxed, kind| object.kind() == kind && object.header().aux() & WRITABLE != 0;
    let (sub, object) = (source.as_boxed()?, whole.as_boxed()?);
    (may(sub, Kind::SubBinary) && may(object, Kind::SharedBinary)).then_some(object)
}

/// Room for `extra` bits behind the bits of `source`: the new bit string, its data, the bit where the extra ones begin, and
/// the bit where they end.
fn extend(m: &mut Machine<'_, '_>, source: Term, extra: usize) -> Option<(Term, *mut u8, usize, usize)> {
    let (whole, offset, old_bits) = source.binary_parts()?;
    if extra == 0 {
        // The same term, in whatever form it is.
        return Some((source, std::ptr::NonNull::dangling().as_ptr(), 0, 0));
    }
    let (start, end) = (offset + old_bits, offset + old_bits + extra);
    if let Some(object) = writable_whole(source, &whole) {
        let mut shared = object.shared();
        let bytes = end.div_ceil(8);
        // Where all processes have one heap, others may have the object.
        let may_grow = || !one_heap() && shared.is_unique();
        if (bytes <= shared.capacity() || may_grow()) && claim(source) {
            // SAFETY: the only writable reference (its mark has been taken away) ends at the end of what is used; the binary
            // moves only if nothing else refers to it, and whoever appends is the only one that has the object.
            unsafe {
                let used = shared.len();
                if bytes > shared.capacity() {
                    m.build = Target::none();
                    m.reds -= (8 * used / BITS_PER_REDUCTION) as i32;
                    object.grow_shared((2 * bytes).max(LEAST_CAPACITY));
                    shared = object.shared();
                }
                shared.extend_to(bytes.max(used));
                *object.ptr().add(1) = bytes.max(used) as u64;
                m.heap().count_binary_words(bytes.saturating_sub(used) / 8);
            }
            let term = writable_part(m, whole, offset, old_bits + extra);
            return Some((term, shared.data(), start, end));
        }
    }
    let total = old_bits + extra;
    let bytes = total.div_ceil(8);
    if bytes <= HEAP_BINARY_LIMIT {
        let (term, data) = fresh(m, total);
        let old = source.as_bits()?;
        // SAFETY: `fresh` gave that many bytes.
        let new = unsafe { std::slice::from_raw_parts_mut(data, bytes) };
        bits::copy(new, 0, old.covering_bytes(), old.offset(), old_bits);
        return Some((term, data, old_bits, total));
    }
    let old = source.as_bits()?;
    m.reds -= (old_bits / BITS_PER_REDUCTION) as i32;
    let shared = SharedBinary::with_capacity(bytes, (2 * bytes).max(LEAST_CAPACITY), |new| {
        bits::copy(new, 0, old.covering_bytes(), old.offset(), old_bits);
    });
    let data = shared.data();
    let whole = m.ctx.shared_binary(shared);
    if let Some(object) = whole.as_boxed() {
        set_aux(object, WRITABLE);
    }
    let term = writable_part(m, whole, 0, total);
    Some((term, data, old_bits, total))
}

/// Makes sure of `words` free words, keeping `value`.
fn settle(m: &mut Machine<'_, '_>, value: Term, live: usize, words: usize) -> Option<Term> {
    if !m.heap().needs_collection() && m.heap().ensure(words) {
        return Some(value);
    }
    if live >= myriad_sched::X_REGISTERS {
        return Some(value);
    }
    if m.heap().ensure(words) && m.ctx.collects_long() {
        m.collect_later();
        return Some(value);
    }
    m.set_x(live, value);
    m.collect(words, live + 1).then(|| m.x(live))
}

// ---- bs_create_bin

/// # Safety
/// The segment is one of the instruction at `pc`.
#[cold]
unsafe fn segment_error(m: &mut Machine<'_, '_>, pc: *const u32, segment: &Segment, fault: &Fault) -> *const u32 {
    let atom = |text: &str| Atom::new(text).map_or(Term::NIL, Term::atom);
    let Segment { kind, unit, number, .. } = *segment;
    // SAFETY: the caller promises that the segment is one of the instruction at `pc`.
    let (value, size) = unsafe { (segment.value(m), segment.size(m)) };
    let shown = match fault {
        // An invalid size of a float is told in bits.
        Fault::Invalid => match size_in_bits(size, unit).map(|bits| i64::try_from(bits).ok().and_then(Term::try_small))
        {
            Ok(Some(bits)) => bits,
            _ => size,
        },
        Fault::Size | Fault::TooLarge => size,
        _ => value,
    };
    let name = segment::NAMES.get(kind as usize).copied().unwrap_or("binary");
    let cause = m.ctx.tuple(&[Term::small(i64::from(number)), atom(name), atom(fault.name()), shown]);
    let info = [
        (Term::atom(am::cause), cause),
        (Term::atom(am::function), Term::atom(am::format_bs_fail)),
        (Term::atom(am::module), Term::atom(am::erl_erts_errors)),
    ];
    let info = myriad_term::map::from_pairs(m.ctx, &info);
    let reason = if matches!(fault, Fault::TooLarge) { am::system_limit } else { am::badarg };
    errors::error_with(m, pc, Term::atom(reason), Term::NONE, info)
}

/// One segment of `bs_create_bin`.
struct Segment {
    kind: u32,
    flags: u32,
    unit: usize,
    number: u32,
    at: *const u32,
}

impl Segment {
    unsafe fn at(at: *const u32) -> Segment {
        // SAFETY: the caller's: a segment of the instruction.
        unsafe { Segment { kind: *at & 0xff, flags: *at >> 8, unit: *at.add(1) as usize, number: *at.add(2), at } }
    }

    unsafe fn value(&self, m: &Machine<'_, '_>) -> Term {
        // SAFETY: as above.
        unsafe { if self.kind == segment::STRING { Term::NIL } else { m.source(self.at.add(3)) } }
    }

    /// The bytes of a string.
    unsafe fn string<'s>(&self) -> &'s [u8] {
        // SAFETY: the segment is one of a decoded instruction; the string table has that many bytes there.
        unsafe { std::slice::from_raw_parts(wide(self.at.add(3)) as *const u8, *self.at.add(5) as usize) }
    }

    unsafe fn size(&self, m: &Machine<'_, '_>) -> Term {
        // SAFETY: as above.
        unsafe { if self.kind == segment::STRING { Term::NIL } else { m.source(self.at.add(4)) } }
    }
}

/// `bs_create_bin`
pub unsafe fn create_bin(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let (live, words, n) = (*pc.add(2) as usize, *pc.add(3) as usize, *pc.add(5) as usize);
        let segments = |i: usize| Segment::at(pc.add(6 + i * segment::WORDS));
        let failed = |m: &mut Machine<'_, '_>, s: &Segment, fault: &Fault| {
            if *pc.add(1) != 0 {
                return target(pc.add(1));
            }
            segment_error(m, pc, s, fault)
        };
        let appends = n > 0 && matches!(segments(0).kind, segment::APPEND | segment::PRIVATE_APPEND);
        let quick = if appends { append::create(m, n, segments) } else { small::create(m, n, segments) };
        if let Some(term) = quick {
            return match settle(m, term, live, words) {
                Some(term) => {
                    m.set(high(pc), term);
                    pc.add(6 + n * segment::WORDS)
                }
                None => std::ptr::null(),
            };
        }
        let (mut total, mut extra) = (0, 0);
        // The first value that does not fit: told only if all sizes are known.
        let mut unfit = None;
        for i in 0..n {
            let s = segments(i);
            let bits = if s.kind == segment::STRING {
                Ok(8 * *s.at.add(5) as usize)
            } else {
                segment_bits(s.kind, s.unit, s.value(m), s.size(m))
            };
            match bits {
                Ok(bits) => {
                    total += bits;
                    if i > 0 || !appends {
                        extra += bits;
                    }
                    if total >= MAX_BITS {
                        return failed(m, &s, &Fault::TooLarge);
                    }
                }
                Err(fault) if fault.hides_size(s.kind, s.size(m)) => return failed(m, &s, &fault),
                Err(fault) => unfit = unfit.or(Some((s, fault))),
            }
        }
        if let Some((s, fault)) = unfit {
            return failed(m, &s, &fault);
        }
        let (term, data, mut at, end) = if appends {
            let first = segments(0);
            match extend(m, first.value(m), extra) {
                Some(made) => made,
                None => return failed(m, &first, &Fault::Type),
            }
        } else {
            let (term, data) = fresh(m, total);
            (term, data, 0, total)
        };
        let bytes = std::slice::from_raw_parts_mut(data, end.div_ceil(8));
        for i in usize::from(appends)..n {
            let s = segments(i);
            match s.kind {
                segment::STRING => {
                    let string = s.string();
                    bits::copy(bytes, at, string, 0, 8 * string.len());
                    at += 8 * string.len();
                }
                segment::INTEGER => {
                    let bits = size_in_bits(s.size(m), s.unit).unwrap_or(0);
                    put_int(bytes, at, bits, s.flags, s.value(m));
                    at += bits;
                }
                segment::FLOAT => {
                    let bits = size_in_bits(s.size(m), s.unit).unwrap_or(0);
                    if let Err(fault) = put_double(bytes, at, bits, s.flags, s.value(m)) {
                        return failed(m, &s, &fault);
                    }
                    at += bits;
                }
                segment::UTF8 | segment::UTF16 | segment::UTF32 => {
                    if let Some(c) = code_point(s.value(m)) {
                        at += put_char(bytes, at, s.kind, s.flags, c);
                    }
                }
                _ => {
                    let bits = segment_bits(s.kind, s.unit, s.value(m), s.size(m)).unwrap_or(0);
                    put_bits(bytes, at, bits, s.value(m));
                    at += bits;
                }
            }
        }
        // What an append had to copy of the bits before has been charged there.
        m.reds -= (extra / BITS_PER_REDUCTION) as i32;
        match settle(m, term, live, words) {
            Some(term) => {
                m.set(high(pc), term);
                pc.add(6 + n * segment::WORDS)
            }
            None => std::ptr::null(),
        }
    }
}

// ---- before OTP 25

#[cold]
unsafe fn put_failed(m: &mut Machine<'_, '_>, pc: *const u32, label: *const u32, too_large: bool) -> *const u32 {
    // SAFETY: operand of the instruction.
    unsafe {
        if *label != 0 {
            return target(label);
        }
    }
    errors::error_at(m, pc, Term::atom(if too_large { am::system_limit } else { am::badarg }))
}

/// `bs_init2`, `bs_init_bits`
pub unsafe fn init(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let (live, words, unit) = (*pc.add(2) as usize, *pc.add(3) as usize, *pc.add(4) as usize);
        let bits = match size_in_bits(m.source(pc.add(5)), unit) {
            Ok(bits) => bits,
            Err(fault) => return put_failed(m, pc, pc.add(1), matches!(fault, Fault::TooLarge)),
        };
        let (term, _) = fresh(m, bits);
        let Some(term) = settle(m, term, live, words) else { return std::ptr::null() };
        m.build = Target::of(term, 0, bits, m.heap().collections());
        m.set(high(pc), term);
        pc.add(6)
    }
}

/// Room for `n` bits of a segment: where they go.
fn reserve(m: &mut Machine<'_, '_>, n: usize) -> Option<usize> {
    let collections = m.heap().collections();
    m.build.reserve(n, collections)
}

macro_rules! puts {
    ($($(#[$doc:meta])* $name:ident $kind:ident |$m:ident, $bytes:ident, $at:ident, $n:ident, $flags:ident, $value:ident| $put:expr;)*) => { $(
        $(#[$doc])*
        pub unsafe fn $name($m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
            // SAFETY: operands of the instruction.
            unsafe {
                let ($flags, unit, size, $value) = (high(pc), *pc.add(2) as usize, $m.source(pc.add(3)), $m.source(pc.add(4)));
                let $n = match segment_bits(segment::$kind, unit, $value, size) {
                    Ok(n) => n,
                    Err(fault) => return put_failed($m, pc, pc.add(1), matches!(fault, Fault::TooLarge)),
                };
                let Some($at) = reserve($m, $n) else { return put_failed($m, pc, pc.add(1), false) };
                let $bytes = $m.build.bytes();
                let done: Result<(), Fault> = $put;
                let _ = $flags;
                if done.is_err() { put_failed($m, pc, pc.add(1), false) } else { pc.add(5) }
            }
        }
    )* };
}
puts! {
    /// `bs_put_integer`
    put_integer INTEGER |m, bytes, at, n, flags, value| { put_int(bytes, at, n, flags, value); Ok(()) };
    /// `bs_put_float`
    put_float FLOAT |m, bytes, at, n, flags, value| put_double(bytes, at, n, flags, value);
    /// `bs_put_binary`
    put_binary BINARY |m, bytes, at, n, flags, value| { put_bits(bytes, at, n, value); Ok(()) };
}

/// `bs_put_string`
pub unsafe fn put_string(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction; the string table has that many bytes there.
    unsafe {
        let length = *pc.add(1) as usize;
        let string = std::slice::from_raw_parts(wide(pc.add(2)) as *const u8, length);
        match reserve(m, 8 * length) {
            Some(at) => {
                bits::copy(m.build.bytes(), at, string, 0, 8 * length);
                pc.add(4)
            }
            None => errors::error_at(m, pc, Term::atom(am::badarg)),
        }
    }
}

unsafe fn put_utf(m: &mut Machine<'_, '_>, pc: *const u32, kind: u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let (flags, value) = (high(pc), m.source(pc.add(2)));
        let size = segment_bits(kind, 1, value, Term::NIL);
        let (Some(c), Ok(n)) = (code_point(value), size) else { return put_failed(m, pc, pc.add(1), false) };
        let Some(at) = reserve(m, n) else { return put_failed(m, pc, pc.add(1), false) };
        put_char(m.build.bytes(), at, kind, flags, c);
        pc.add(3)
    }
}

/// `bs_put_utf8`
pub unsafe fn put_utf8(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: the instruction at hand.
    unsafe { put_utf(m, pc, segment::UTF8) }
}

/// `bs_put_utf16`
pub unsafe fn put_utf16(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: the instruction at hand.
    unsafe { put_utf(m, pc, segment::UTF16) }
}

/// `bs_put_utf32`
pub unsafe fn put_utf32(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: the instruction at hand.
    unsafe { put_utf(m, pc, segment::UTF32) }
}

/// `bs_utf8_size`: bytes; what is no character fails when it is put.
pub unsafe fn utf8_size(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let bytes = code_point(m.source(pc.add(1))).map_or(4, char::len_utf8);
        m.set(high(pc), Term::small(bytes as i64));
        pc.add(3)
    }
}

/// `bs_utf16_size`
pub unsafe fn utf16_size(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let bytes = code_point(m.source(pc.add(1))).map_or(2, |c| 2 * c.len_utf16());
        m.set(high(pc), Term::small(bytes as i64));
        pc.add(3)
    }
}

/// `bs_add`: A + B * unit.
pub unsafe fn add(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let (a, b) = (size_in_bits(m.source(pc.add(1)), 1), size_in_bits(m.source(pc.add(2)), *pc.add(4) as usize));
        match (a, b) {
            (Ok(a), Ok(b)) => {
                m.set(high(pc), Term::small((a + b) as i64));
                pc.add(5)
            }
            (a, b) => {
                let bad = matches!(a, Err(Fault::Size)) || matches!(b, Err(Fault::Size));
                put_failed(m, pc, pc.add(3), !bad)
            }
        }
    }
}

/// Room behind the bits of `source`, which what follows fills.
unsafe fn append_to(
    m: &mut Machine<'_, '_>,
    pc: *const u32,
    source: Term,
    size: Term,
    unit: usize,
) -> Result<Term, *const u32> {
    // SAFETY: operand of the instruction.
    let failed = |m: &mut Machine<'_, '_>, too_large| Err(unsafe { put_failed(m, pc, pc.add(1), too_large) });
    let extra = match size_in_bits(size, 1) {
        Ok(extra) => extra,
        Err(fault) => return failed(m, matches!(fault, Fault::TooLarge)),
    };
    match source.as_bits() {
        Some(bits) if is_multiple(bits.len(), unit) => {}
        _ => return failed(m, false),
    }
    let Some((term, _, at, end)) = extend(m, source, extra) else { return failed(m, false) };
    m.build = Target::of(term, at, end, m.heap().collections());
    Ok(term)
}

/// `bs_append`
pub unsafe fn append(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let (live, words, unit) = (*pc.add(2) as usize, *pc.add(3) as usize, *pc.add(4) as usize);
        match append_to(m, pc, m.source(pc.add(5)), m.source(pc.add(6)), unit) {
            Ok(term) => {
                let Some(term) = settle(m, term, live, words) else { return std::ptr::null() };
                m.set(high(pc), term);
                pc.add(7)
            }
            Err(next) => next,
        }
    }
}

/// `bs_private_append`
pub unsafe fn private_append(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        match append_to(m, pc, m.source(pc.add(3)), m.source(pc.add(4)), *pc.add(2) as usize) {
            Ok(term) => {
                m.set(high(pc), term);
                pc.add(5)
            }
            Err(next) => next,
        }
    }
}

/// `bs_init_writable`: an empty writable binary with room for X0 bytes. The compiler knows the size of a comprehension over
/// binaries, so that the room is just what is needed; where it knows nothing, it asks for 256.
pub unsafe fn init_writable(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    let wanted = m.x(0).as_usize().unwrap_or(LEAST_CAPACITY).min(1 << 20);
    let shared = SharedBinary::with_capacity(0, wanted, |_| {});
    let whole = m.ctx.shared_binary(shared);
    if let Some(object) = whole.as_boxed() {
        set_aux(object, WRITABLE);
    }
    let term = writable_part(m, whole, 0, 0);
    m.set_x(0, term);
    if m.heap().needs_collection() && !m.collect(0, 1) {
        return std::ptr::null();
    }
    // SAFETY: the next instruction.
    unsafe { pc.add(1) }
}
