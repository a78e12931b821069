//! Matching of bit strings over match contexts.
//!
//! A context is an object `{Binary, Position, End}` (positions in bits, small integers): matching moves the position in place.

use crate::bits;
use crate::errors;
use crate::machine::{Machine, high, target, wide};
use myriad_term::boxed::Header;
use myriad_term::{Alloc, Boxed, Build, Kind, Term, am};

/// A match context, taken apart.
#[derive(Clone, Copy)]
struct Context {
    at: *mut u64,
    position: usize,
    end: usize,
}

impl Context {
    /// The context in a register; `None` for anything else (no compiler does that).
    #[inline(always)]
    fn of(term: Term) -> Option<Context> {
        let object = term.as_boxed()?;
        if object.kind() != Kind::MatchContext {
            return None;
        }
        let (position, end) = (object.slot(1).small_value() as usize, object.slot(2).small_value() as usize);
        Some(Context { at: object.ptr(), position, end })
    }

    #[inline(always)]
    fn whole(self) -> Term {
        // SAFETY: made by `of`: a live context.
        unsafe { Boxed::at(self.at).slot(0) }
    }

    /// All bytes of the binary.
    ///
    /// # Safety
    /// They are used within the instruction, before it makes anything (term/T2).
    #[inline(always)]
    unsafe fn bytes<'b>(self) -> &'b [u8] {
        // SAFETY: slot 0 of a context is a heap or shared binary; the caller's promise for the time.
        unsafe { Boxed::at(self.whole().boxed_ptr()).whole_bytes() }
    }

    #[inline(always)]
    fn left(self) -> usize {
        self.end.saturating_sub(self.position)
    }

    /// Moves the position.
    #[inline(always)]
    fn advance(self, bits: usize) {
        // SAFETY: a live context of this process; a small integer needs no barrier (term/T3: contexts are the VM's own).
        unsafe { *self.at.add(2) = Term::small((self.position + bits) as i64).raw() };
    }
}

/// Size operand times unit: bits; `None` if it is no size.
#[inline(always)]
fn bits_of(size: Term, unit: usize) -> Option<usize> {
    size.as_usize()?.checked_mul(unit)
}

macro_rules! context {
    ($m:ident, $pc:ident, $fail:expr) => {
        match Context::of($m.get(high($pc))) {
            Some(context) => context,
            None => return fail($m, $pc, $pc.add($fail)),
        }
    };
}

#[cold]
unsafe fn fail(m: &mut Machine<'_, '_>, pc: *const u32, label: *const u32) -> *const u32 {
    // SAFETY: operand of the instruction.
    unsafe {
        if *label != 0 {
            return target(label);
        }
    }
    errors::error_at(m, pc, Term::atom(am::badarg))
}

/// `bs_start_match3`, `bs_start_match4`
pub unsafe fn start(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction; the words are fresh (term/A2).
    unsafe {
        let source = m.source(pc.add(1));
        if source.boxed_kind() == Some(Kind::MatchContext) {
            m.set(high(pc), source);
            return pc.add(4);
        }
        let Some((whole, offset, bits)) = source.binary_parts() else { return fail(m, pc, pc.add(2)) };
        let at = m.heap().alloc(4).as_ptr();
        *at = Header::new(Kind::MatchContext, 3).raw();
        *at.add(1) = whole.raw();
        *at.add(2) = Term::small(offset as i64).raw();
        *at.add(3) = Term::small((offset + bits) as i64).raw();
        m.give(high(pc), Term::from_boxed(at), *pc.add(3) as usize, pc.add(4))
    }
}

/// Bits that are taken for one reduction.
const BITS_PER_REDUCTION: usize = 8 * 1024;

/// The integer of a run of bits; none if it would be larger than integers may be.
fn integer(m: &mut Machine<'_, '_>, bytes: &[u8], at: usize, n: usize, flags: u32) -> Option<Term> {
    if n <= 64 {
        let mut value = bits::read(bytes, at, n);
        if n > 8 && bits::is_little(flags) {
            value = bits::from_little(value, n);
        }
        let signed = flags & bits::SIGNED != 0;
        return Some(if signed { m.ctx.int(bits::sign_extend(value, n)) } else { m.ctx.uint(value) });
    }
    m.reds -= (n / BITS_PER_REDUCTION) as i32;
    let (negative, limbs) = bits::read_wide(bytes, at, n, flags);
    let used = limbs.iter().rposition(|limb| *limb != 0).map_or(0, |last| last + 1);
    (used <= myriad_term::arith::limit_words()).then(|| m.ctx.big(negative, &limbs))
}

/// `bs_get_integer2`
pub unsafe fn get_integer(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let context = context!(m, pc, 2);
        match bits_of(m.source(pc.add(4)), *pc.add(5) as usize) {
            Some(n) if n <= context.left() => {
                let w1 = *pc.add(1);
                let Some(value) = integer(m, context.bytes(), context.position, n, w1 >> 16) else {
                    return target(pc.add(2));
                };
                context.advance(n);
                m.give(w1 & 0xffff, value, *pc.add(3) as usize, pc.add(6))
            }
            _ => target(pc.add(2)),
        }
    }
}

/// `bs_get_integer2` of a constant number of bits, at most 56, big-endian: flags 1 = signed.
pub unsafe fn get_fixed(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let context = context!(m, pc, 2);
        let (w1, n) = (*pc.add(1), *pc.add(4) as usize);
        if n > context.left() {
            return target(pc.add(2));
        }
        let flags = if w1 >> 16 != 0 { bits::SIGNED } else { 0 };
        // At most 56 bits: never too large.
        let value = integer(m, context.bytes(), context.position, n, flags).unwrap_or(Term::NIL);
        context.advance(n);
        m.set(w1 & 0xffff, value);
        pc.add(5)
    }
}

/// `integer` of `bs_match`: the room has been checked.
pub unsafe fn match_integer(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let Some(context) = Context::of(m.get(high(pc))) else {
            return errors::error_at(m, pc, Term::atom(am::badarg));
        };
        let (w1, n) = (*pc.add(1), (*pc.add(3) as usize).min(context.left()));
        let Some(value) = integer(m, context.bytes(), context.position, n, w1 >> 16) else {
            return errors::error_at(m, pc, Term::atom(am::system_limit));
        };
        context.advance(n);
        m.give(w1 & 0xffff, value, *pc.add(2) as usize, pc.add(4))
    }
}

/// `bs_get_float2`
pub unsafe fn get_float(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let context = context!(m, pc, 2);
        let n = match bits_of(m.source(pc.add(4)), *pc.add(5) as usize) {
            Some(n @ (0 | 16 | 32 | 64)) if n <= context.left() => n,
            _ => return target(pc.add(2)),
        };
        let w1 = *pc.add(1);
        let mut raw = bits::read(context.bytes(), context.position, n);
        if bits::is_little(w1 >> 16) {
            raw = bits::from_little(raw, n);
        }
        let value = match n {
            // No bits at all match, as in OTP.
            0 => 0.0,
            16 => bits::from_half(raw as u16),
            32 => f64::from(f32::from_bits(raw as u32)),
            _ => f64::from_bits(raw),
        };
        if !value.is_finite() {
            return target(pc.add(2));
        }
        context.advance(n);
        let term = m.ctx.float(value);
        m.give(w1 & 0xffff, term, *pc.add(3) as usize, pc.add(6))
    }
}

/// `bs_get_binary2`
pub unsafe fn get_binary(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let context = context!(m, pc, 2);
        let (size, unit) = (m.source(pc.add(4)), *pc.add(5) as usize);
        let n = if size.is_am(am::all) {
            Some(context.left()).filter(|n| n.is_multiple_of(unit))
        } else {
            bits_of(size, unit).filter(|n| *n <= context.left())
        };
        let Some(n) = n else { return target(pc.add(2)) };
        let part = m.ctx.sub_binary(context.whole(), context.position, n);
        context.advance(n);
        m.give(*pc.add(1) & 0xffff, part, *pc.add(3) as usize, pc.add(6))
    }
}

/// `binary` of `bs_match`
pub unsafe fn match_binary(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let Some(context) = Context::of(m.get(high(pc))) else {
            return errors::error_at(m, pc, Term::atom(am::badarg));
        };
        let n = (*pc.add(3) as usize).min(context.left());
        let part = m.ctx.sub_binary(context.whole(), context.position, n);
        context.advance(n);
        m.give(*pc.add(1) & 0xffff, part, *pc.add(2) as usize, pc.add(4))
    }
}

/// `bs_skip_bits2`
pub unsafe fn skip(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let context = context!(m, pc, 1);
        let (size, unit) = (m.source(pc.add(2)), *pc.add(3) as usize);
        let n = if size.is_am(am::all) {
            Some(context.left()).filter(|n| n.is_multiple_of(unit))
        } else {
            bits_of(size, unit).filter(|n| *n <= context.left())
        };
        match n {
            Some(n) => {
                context.advance(n);
                pc.add(4)
            }
            None => target(pc.add(1)),
        }
    }
}

/// `skip` of `bs_match`
pub unsafe fn match_skip(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        if let Some(context) = Context::of(m.get(high(pc))) {
            context.advance((*pc.add(1) as usize).min(context.left()));
        }
        pc.add(2)
    }
}

/// `bs_test_tail2`
pub unsafe fn test_tail(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let context = context!(m, pc, 1);
        if context.left() == *pc.add(2) as usize { pc.add(3) } else { target(pc.add(1)) }
    }
}

/// `bs_test_tail2` of a number of bits beyond 32 bits.
pub unsafe fn test_tail_wide(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let context = context!(m, pc, 1);
        if context.left() as u64 == wide(pc.add(2)) { pc.add(4) } else { target(pc.add(1)) }
    }
}

/// `ensure_exactly` of `bs_match`
pub unsafe fn ensure_exactly(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: the instruction at hand has the layout of `test_tail`.
    unsafe { test_tail(m, pc) }
}

/// `ensure_at_least` of `bs_match`
pub unsafe fn ensure_at_least(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let context = context!(m, pc, 1);
        let (need, unit) = (*pc.add(2) as usize, *pc.add(3) as usize);
        let good = context.left().checked_sub(need).is_some_and(|rest| unit <= 1 || rest.is_multiple_of(unit));
        if good { pc.add(4) } else { target(pc.add(1)) }
    }
}

/// `bs_test_unit`
pub unsafe fn test_unit(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let context = context!(m, pc, 1);
        if context.left().is_multiple_of(*pc.add(2) as usize) { pc.add(3) } else { target(pc.add(1)) }
    }
}

/// `bs_match_string`
pub unsafe fn match_string(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction; the string table has that many bits there (load-time scan).
    unsafe {
        let context = context!(m, pc, 1);
        let n = *pc.add(2) as usize;
        let string = std::slice::from_raw_parts(wide(pc.add(3)) as *const u8, n.div_ceil(8));
        if n <= context.left() && bits::equal(context.bytes(), context.position, string, 0, n) {
            context.advance(n);
            pc.add(5)
        } else {
            target(pc.add(1))
        }
    }
}

/// `=:=` of `bs_match`: a value of at most 64 bits, given as a term.
pub unsafe fn match_equal(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let context = context!(m, pc, 1);
        let n = (*pc.add(2) as usize).min(64);
        let expected = wide(pc.add(3));
        if n <= context.left() && bits::read(context.bytes(), context.position, n) == expected {
            context.advance(n);
            pc.add(5)
        } else {
            target(pc.add(1))
        }
    }
}

/// `bs_get_tail`
pub unsafe fn get_tail(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let Some(context) = Context::of(m.get(high(pc))) else {
            return errors::error_at(m, pc, Term::atom(am::badarg));
        };
        let tail = m.ctx.sub_binary(context.whole(), context.position, context.left());
        m.give(*pc.add(1) & 0xffff, tail, *pc.add(2) as usize, pc.add(3))
    }
}

/// `get_tail` of `bs_match`
pub unsafe fn match_tail(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: the same layout.
    unsafe { get_tail(m, pc) }
}

/// `bs_get_position`
pub unsafe fn get_position(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let position = Context::of(m.get(high(pc))).map_or(0, |c| c.position);
        m.set(*pc.add(1) & 0xffff, Term::small(position as i64));
        pc.add(3)
    }
}

/// `bs_set_position`
pub unsafe fn set_position(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        if let (Some(context), Some(position)) = (Context::of(m.get(high(pc))), m.source(pc.add(1)).as_usize()) {
            Context { position: position.min(context.end), ..context }.advance(0);
        }
        pc.add(2)
    }
}

/// The character in UTF-8 at the position of a context, which is behind it then. What is no context has none.
pub fn take_utf8(context: Term) -> Option<Term> {
    let context = Context::of(context)?;
    // SAFETY: nothing is made meanwhile.
    let (point, bytes) = unsafe { bits::read_utf8(context.bytes(), context.position, context.left())? };
    context.advance(8 * bytes);
    Some(Term::small(point.into()))
}

/// `bs_get_utf8`
pub unsafe fn get_utf8(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let context = context!(m, pc, 2);
        match bits::read_utf8(context.bytes(), context.position, context.left()) {
            Some((point, bytes)) => {
                context.advance(8 * bytes);
                m.set(*pc.add(1) & 0xffff, Term::small(i64::from(point)));
                pc.add(4)
            }
            None => target(pc.add(2)),
        }
    }
}

/// `bs_skip_utf8`
pub unsafe fn skip_utf8(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let context = context!(m, pc, 1);
        match bits::read_utf8(context.bytes(), context.position, context.left()) {
            Some((_, bytes)) => {
                context.advance(8 * bytes);
                pc.add(2)
            }
            None => target(pc.add(1)),
        }
    }
}

/// `bs_get_utf16`
pub unsafe fn get_utf16(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let context = context!(m, pc, 2);
        let w1 = *pc.add(1);
        match bits::read_utf16(context.bytes(), context.position, context.left(), w1 >> 16) {
            Some((point, bytes)) => {
                context.advance(8 * bytes);
                m.set(w1 & 0xffff, Term::small(i64::from(point)));
                pc.add(4)
            }
            None => target(pc.add(2)),
        }
    }
}

/// `bs_skip_utf16`
pub unsafe fn skip_utf16(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let context = context!(m, pc, 1);
        match bits::read_utf16(context.bytes(), context.position, context.left(), *pc.add(2)) {
            Some((_, bytes)) => {
                context.advance(8 * bytes);
                pc.add(3)
            }
            None => target(pc.add(1)),
        }
    }
}

fn utf32(context: Context, flags: u32) -> Option<u32> {
    if context.left() < 32 {
        return None;
    }
    // SAFETY: the bytes are read at once.
    let raw = bits::read(unsafe { context.bytes() }, context.position, 32);
    let point = if bits::is_little(flags) { bits::from_little(raw, 32) } else { raw } as u32;
    char::from_u32(point).map(u32::from)
}

/// `bs_get_utf32`
pub unsafe fn get_utf32(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let context = context!(m, pc, 2);
        let w1 = *pc.add(1);
        match utf32(context, w1 >> 16) {
            Some(point) => {
                context.advance(32);
                m.set(w1 & 0xffff, Term::small(i64::from(point)));
                pc.add(4)
            }
            None => target(pc.add(2)),
        }
    }
}

/// `bs_skip_utf32`
pub unsafe fn skip_utf32(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let context = context!(m, pc, 1);
        match utf32(context, *pc.add(2)) {
            Some(_) => {
                context.advance(32);
                pc.add(3)
            }
            None => target(pc.add(1)),
        }
    }
}
