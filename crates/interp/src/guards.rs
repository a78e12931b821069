//! Guard built-ins, arithmetic beyond two small integers, comparisons and type tests with unusual operands.
//!
//! Guard built-ins all have the layout `op|dst, address, fail, live, sources`: those with an instruction of their own try the
//! common case and leave the rest, errors included, to the function of the table.

use crate::errors;
use crate::instr::Op;
use crate::machine::{Machine, high, short, target, wide};
use myriad_heap::meter::{self, Work};
use myriad_term::arith::{self, ArithError};
use myriad_term::{Atom, Build, Term, am};
use myriad_vm::bif::{BifDef, BifResult, Escape};
use myriad_vm::engine::SliceEnd;
use std::cmp::Ordering;

/// Words of the label in a guard built-in, and of the live registers.
const FAIL: usize = 3;
const LIVE: usize = 4;
/// Word of the first source.
pub const SOURCES: usize = 5;

unsafe fn call(m: &mut Machine<'_, '_>, pc: *const u32, args: &[Term]) -> *const u32 {
    // SAFETY: operands of the instruction.
    let def = unsafe { &*(wide(pc.add(1)) as *const BifDef) };
    m.leave();
    let result = (def.function_ptr)(m.ctx, args);
    m.come_back();
    // SAFETY: the instruction's.
    unsafe { finish_call(m, pc, def, args, result) }
}

/// Goes on after the rest of a guard built-in that had given way at `pc` has given `result`.
///
/// # Safety
/// `pc` is a [`Op::Length`]; no other one gives way.
pub unsafe fn finish(m: &mut Machine<'_, '_>, pc: *const u32, result: BifResult) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let (def, args) = (&*(wide(pc.add(1)) as *const BifDef), [m.source(pc.add(SOURCES))]);
        finish_call(m, pc, def, &args, result)
    }
}

unsafe fn finish_call(
    m: &mut Machine<'_, '_>,
    pc: *const u32,
    def: &BifDef,
    args: &[Term],
    result: BifResult,
) -> *const u32 {
    // SAFETY: operands of the instruction.
    let (live, next) = unsafe { (*pc.add(LIVE) as usize, pc.add(SOURCES + args.len())) };
    match result {
        // SAFETY: operand of the instruction.
        Ok(value) => unsafe { m.give(high(pc), value, live, next) },
        // SAFETY: an instruction.
        Err(Escape::Yield) if unsafe { m.op(pc) } == Op::Length => {
            m.stop(SliceEnd::Yielded, pc, std::ptr::null(), live)
        }
        Err(escape) => {
            // SAFETY: operand of the instruction.
            unsafe {
                if *pc.add(FAIL) != 0 {
                    return target(pc.add(FAIL));
                }
            }
            let reason = errors::reason_of(m, &escape);
            let function = Atom::new(def.function).unwrap_or(am::undefined);
            let module = Atom::new(def.module).unwrap_or(am::erlang);
            let what = crate::machine::mfa(module, function, def.arity);
            // SAFETY: operand of the instruction.
            unsafe { errors::guard_failed(m, pc, pc.add(FAIL), what, args, reason) }
        }
    }
}

/// `bif0`
pub unsafe fn bif0(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let def = &*(wide(pc.add(1)) as *const BifDef);
        m.leave();
        let value = (def.function_ptr)(m.ctx, &[]).unwrap_or(Term::UNDEFINED);
        m.come_back();
        m.set(high(pc), value);
        pc.add(3)
    }
}

/// `bif1`, `gc_bif1`
pub unsafe fn bif1(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let args = [m.source(pc.add(SOURCES))];
        call(m, pc, &args)
    }
}

/// `bif2`, `gc_bif2`
pub unsafe fn bif2(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let args = [m.source(pc.add(SOURCES)), m.source(pc.add(SOURCES + 1))];
        call(m, pc, &args)
    }
}

/// `bif3`, `gc_bif3`
pub unsafe fn bif3(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let args = [m.source(pc.add(SOURCES)), m.source(pc.add(SOURCES + 1)), m.source(pc.add(SOURCES + 2))];
        call(m, pc, &args)
    }
}

/// [`bif1`] where the quick way did not do: out of the way of it, which keeps nothing for it.
#[cold]
#[inline(never)]
unsafe fn unusual1(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: the instruction at hand.
    unsafe { bif1(m, pc) }
}

/// The same of [`bif2`].
#[cold]
#[inline(never)]
unsafe fn unusual2(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: the instruction at hand.
    unsafe { bif2(m, pc) }
}

macro_rules! quick1 {
    ($($(#[$doc:meta])* $name:ident |$a:ident| $quick:expr;)*) => { $(
        $(#[$doc])*
        pub unsafe fn $name(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
            // SAFETY: operands of the instruction.
            unsafe {
                let $a = m.source(pc.add(SOURCES));
                let quick: Option<Term> = $quick;
                match quick {
                    Some(value) => {
                        m.set(high(pc), value);
                        pc.add(SOURCES + 1)
                    }
                    None => unusual1(m, pc),
                }
            }
        }
    )* };
}

fn count(n: usize) -> Option<Term> {
    i64::try_from(n).ok().and_then(Term::try_small)
}

/// How many keys a map has.
pub fn map_size_of(a: Term) -> Option<Term> {
    a.as_map().and_then(|map| count(map.size()))
}

/// How many bytes a bit string takes.
pub fn byte_size_of(a: Term) -> Option<Term> {
    a.as_bits().and_then(|b| count(b.len().div_ceil(8)))
}

/// How many bits it has.
pub fn bit_size_of(a: Term) -> Option<Term> {
    a.as_bits().and_then(|b| count(b.len()))
}

/// The length of a list that is at most [`SHORT`].
pub fn short_length(list: Term) -> Option<Term> {
    let (mut rest, mut length) = (list, 0);
    while let Some((_, tail)) = rest.as_cons() {
        if length == SHORT {
            return None;
        }
        length += 1;
        rest = tail;
    }
    if rest.is_nil() { count(length) } else { None }
}

quick1! {
    /// `hd/1`
    hd |a| a.as_cons().map(|c| c.0);
    /// `tl/1`
    tl |a| a.as_cons().map(|c| c.1);
    /// `tuple_size/1`
    tuple_size |a| a.as_tuple().and_then(|t| count(t.len()));
    /// `map_size/1`
    map_size |a| map_size_of(a);
    /// `byte_size/1`
    byte_size |a| byte_size_of(a);
    /// `bit_size/1`
    bit_size |a| bit_size_of(a);
}

/// Longer lists are counted by the function of the table, which costs reductions and may give way.
const SHORT: usize = 64;

/// `length/1`
pub unsafe fn length(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let list = m.source(pc.add(SOURCES));
        let (mut rest, mut length) = (list, 0);
        // A register from `live` on would be lost in giving way.
        let operand = *pc.add(SOURCES);
        let kept = operand & 3 != 0 || (operand & 0xfff8) / 8 < *pc.add(LIVE);
        while let Some((_, tail)) = rest.as_cons() {
            if length == SHORT && kept {
                return call(m, pc, &[list]);
            }
            length += 1;
            rest = tail;
        }
        if !rest.is_nil() {
            return call(m, pc, &[list]);
        }
        m.set(high(pc), Term::small(length as i64));
        pc.add(SOURCES + 1)
    }
}

macro_rules! quick2 {
    ($($(#[$doc:meta])* $name:ident |$a:ident, $b:ident| $quick:expr;)*) => { $(
        $(#[$doc])*
        pub unsafe fn $name(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
            // SAFETY: operands of the instruction.
            unsafe {
                let ($a, $b) = (m.source(pc.add(SOURCES)), m.source(pc.add(SOURCES + 1)));
                let quick: Option<Term> = $quick;
                match quick {
                    Some(value) => {
                        m.set(high(pc), value);
                        pc.add(SOURCES + 2)
                    }
                    None => unusual2(m, pc),
                }
            }
        }
    )* };
}
quick2! {
    /// `element/2`
    element |i, t| match (i.as_usize(), t.as_tuple()) {
        (Some(i), Some(t)) => i.checked_sub(1).and_then(|i| t.elements().get(i).copied()),
        _ => None,
    };
    /// `map_get/2`
    map_get |key, map| map.as_map().and_then(|map| map.get(key));
}

/// `is_map_key/2`: the destination is set on the fail branch, too (beam/V8).
pub unsafe fn is_map_key(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let (key, map) = (m.source(pc.add(SOURCES)), m.source(pc.add(SOURCES + 1)));
        match map.as_map() {
            Some(map) => m.set(high(pc), Term::bool(map.has_key(key))),
            None => {
                if *pc.add(FAIL) != 0 {
                    m.set(high(pc), Term::FALSE);
                }
                return call(m, pc, &[key, map]);
            }
        }
        pc.add(SOURCES + 2)
    }
}

/// `self/0`
pub unsafe fn self_pid(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    let pid = m.pid;
    // SAFETY: operand of the instruction.
    unsafe {
        m.set(high(pc), pid);
        pc.add(1)
    }
}

/// `node/0`
pub unsafe fn node_name(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    let name = m.ctx.vm.node_name().term();
    // SAFETY: operand of the instruction.
    unsafe {
        m.set(high(pc), name);
        pc.add(1)
    }
}

// ---- arithmetic

/// Arithmetic that the loop's arm found not to be of two small integers with a small result.
#[inline(never)]
pub unsafe fn arithmetic(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    let (op, a, b, live) = unsafe { (m.op(pc), m.source(pc.add(1)), m.source(pc.add(2)), *pc.add(4) as usize) };
    if let (true, true) = (a.is_immediate_float(), b.is_immediate_float())
        && let (Some(x), Some(y)) = (a.as_float(), b.as_float())
    {
        // Floats of middling size, which need no memory.
        let quick = match op {
            Op::Add | Op::AddRegisters => Term::immediate_float(x + y),
            Op::Subtract | Op::SubtractRegisters => Term::immediate_float(x - y),
            Op::Multiply => Term::immediate_float(x * y),
            _ => None,
        };
        if let Some(value) = quick {
            meter::count(Work::Untyped, 1);
            // SAFETY: operand of the instruction (of five words).
            unsafe {
                m.set(high(pc), value);
                return pc.add(5);
            }
        }
    }
    meter::count(Work::Big, 1);
    let heap = m.heap();
    let (result, name, words) = match op {
        Op::Add | Op::AddRegisters => (arith::add(heap, a, b), am::plus, 5),
        Op::AddSmall => (arith::add(heap, a, b), am::plus, 6),
        Op::Subtract | Op::SubtractRegisters => (arith::sub(heap, a, b), am::minus, 5),
        Op::Multiply => (arith::mul(heap, a, b), am::times, 5),
        Op::Div => (arith::div(heap, a, b), am::div, 5),
        Op::Rem => (arith::rem(heap, a, b), am::rem, 5),
        Op::Band => (arith::band(heap, a, b), am::band, 5),
        Op::Bor => (arith::bor(heap, a, b), am::bor, 5),
        Op::Bsl => (arith::bsl(heap, a, b), am::bsl, 5),
        _ => (arith::bsr(heap, a, b), am::bsr, 5),
    };
    match result {
        // SAFETY: the next instruction.
        Ok(value) => unsafe { m.give(high(pc), value, live, pc.add(words)) },
        Err(error) => {
            let reason = Term::atom(match error {
                ArithError::BadArith => am::badarith,
                ArithError::SystemLimit => am::system_limit,
            });
            // SAFETY: operand of the instruction.
            unsafe {
                if *pc.add(3) == 0 && adds_constant(pc, op) {
                    // As in OTP, adding a constant has no frame of its own.
                    return errors::error_at(m, pc, reason);
                }
                errors::guard_failed(m, pc, pc.add(3), errors::erlang(name, 2), &[a, b], reason)
            }
        }
    }
}

/// Does the instruction add a constant that OTP takes for a small one to a register, or subtract one that is not negative?
unsafe fn adds_constant(pc: *const u32, op: Op) -> bool {
    // SAFETY: the caller's: an operand of the instruction.
    let is_constant = |operand: usize| unsafe { *pc.add(operand) & 2 != 0 };
    let small = |operand: usize, least: i64| {
        // SAFETY: the caller's: operands of the instruction; a constant is read from the block's constants.
        unsafe {
            let at = pc.add(operand);
            is_constant(operand)
                && (*at.byte_offset((*at & !3) as i32 as isize).cast::<Term>())
                    .as_small()
                    .is_some_and(|k| (least..1 << 59).contains(&k))
        }
    };
    match op {
        Op::AddSmall => true,
        Op::Add if is_constant(1) => small(1, -(1 << 59)) && !is_constant(2),
        Op::Add => small(2, -(1 << 59)),
        Op::Subtract => small(2, 0) && !is_constant(1),
        _ => false,
    }
}

/// A comparison that the loop's arm found not to be of small integers, or not settled by the words themselves.
pub unsafe fn compare(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    meter::count(Work::Compare, 1);
    // SAFETY: operands of the instruction.
    unsafe {
        let op = m.op(pc);
        let a = m.get(high(pc));
        let constant = || short(pc.add(2));
        let (holds, label) = match op {
            Op::IsEqExact => (eq_exact(a, m.get(*pc.add(1) & 0xffff)), 2),
            Op::IsNeExact => (!eq_exact(a, m.get(*pc.add(1) & 0xffff)), 2),
            Op::IsLt => (order(a, m.get(*pc.add(1) & 0xffff)).is_lt(), 2),
            Op::IsGe => (order(a, m.get(*pc.add(1) & 0xffff)).is_ge(), 2),
            Op::IsLtRK => (order(a, constant()).is_lt(), 1),
            Op::IsLtKR => (order(constant(), a).is_lt(), 1),
            Op::IsGeRK => (order(a, constant()).is_ge(), 1),
            _ => (order(constant(), a).is_ge(), 1),
        };
        if holds { pc.add(3) } else { target(pc.add(label)) }
    }
}

/// Two comparisons with constants, of what is no small integer.
pub unsafe fn between(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let t = m.get(high(pc));
        let holds = order(t, short(pc.add(2))).is_ge() && order(t, short(pc.add(3))).is_le();
        if holds { pc.add(4) } else { target(pc.add(1)) }
    }
}

// ---- floats

/// A float operation has no finite result.
pub unsafe fn float_error(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operand of the instruction.
    unsafe {
        if *pc.add(2) != 0 {
            return target(pc.add(2));
        }
    }
    errors::error_at(m, pc, Term::atom(am::badarith))
}

/// `fconv`
pub unsafe fn fconv(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let value = m.source(pc.add(1));
        let number = match value.as_small() {
            Some(v) => Some(v as f64),
            None => arith::Number::of(&value).and_then(arith::Number::to_f64),
        };
        match number {
            Some(number) => {
                m.floats[high(pc) as usize % crate::machine::FLOAT_REGISTERS] = number;
                pc.add(2)
            }
            None => errors::error_at(m, pc, Term::atom(am::badarith)),
        }
    }
}

/// A float register to a term that has to be boxed.
pub unsafe fn fmove_to_term(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let value = m.floats[*pc.add(1) as usize % crate::machine::FLOAT_REGISTERS];
        meter::count(Work::BoxedFloat, 1);
        let term = m.ctx.float(value);
        m.set(high(pc), term);
        pc.add(2)
    }
}

/// `get_tuple_element` of a place that short operands do not reach, of what may be no tuple.
pub unsafe fn element_far(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let place = (*pc.add(2) as usize).wrapping_sub(1);
        match m.get(high(pc)).as_tuple().and_then(|tuple| tuple.elements().get(place).copied()) {
            Some(element) => {
                m.set(*pc.add(1) & 0xffff, element);
                pc.add(3)
            }
            None => errors::wrong_kind(m, pc),
        }
    }
}

/// `set_tuple_element` of a tuple that may have too few elements.
pub unsafe fn set_element(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction; the tuple is young, and nothing else refers to it (`Proofs::must_refuse`).
    unsafe {
        let (tuple, place) = (m.get(high(pc)), *pc.add(2) as usize);
        if tuple.as_tuple().is_none_or(|tuple| place > tuple.len()) {
            return errors::wrong_kind(m, pc);
        }
        *tuple.boxed_ptr().add(place) = m.source(pc.add(1)).raw();
        pc.add(3)
    }
}

// ---- tests

/// The order of two terms, quickly for small integers and floats.
pub fn order(a: Term, b: Term) -> Ordering {
    if a.is_small() && b.is_small() {
        return a.small_value().cmp(&b.small_value());
    }
    if a.is_immediate_float()
        && b.is_immediate_float()
        && let (Some(x), Some(y)) = (a.as_float(), b.as_float())
        && let Some(order) = x.partial_cmp(&y)
    {
        return order;
    }
    myriad_term::compare::compare(a, b)
}

macro_rules! tests2 {
    ($($(#[$doc:meta])* $name:ident |$a:ident, $b:ident| $test:expr;)*) => { $(
        $(#[$doc])*
        pub unsafe fn $name(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
            // SAFETY: operands of the instruction.
            unsafe {
                let ($a, $b) = (m.source(pc.add(1)), m.source(pc.add(2)));
                if $test { pc.add(4) } else { target(pc.add(3)) }
            }
        }
    )* };
}
use myriad_term::equal::{eq, eq_exact};
tests2! {
    /// `is_eq`
    is_eq |a, b| a.is(b) || eq(a, b);
    /// `is_ne`
    is_ne |a, b| !a.is(b) && !eq(a, b);
    /// `is_eq_exact`
    is_eq_exact |a, b| eq_exact(a, b);
    /// `is_ne_exact`
    is_ne_exact |a, b| !eq_exact(a, b);
    /// `is_lt`
    is_lt |a, b| order(a, b).is_lt();
    /// `is_ge`
    is_ge |a, b| order(a, b).is_ge();
    /// `is_function2`
    is_function2 |f, n| takes(f, n);
}

/// Is it a fun that takes so many arguments?
pub fn takes(fun: Term, arity: Term) -> bool {
    fun.is_fun() && arity_of(fun) == arity.as_usize() && arity.is_small()
}

fn arity_of(fun: Term) -> Option<usize> {
    match fun.as_local_fun() {
        Some((entry, ..)) => Some(usize::from(entry.id.arity)),
        None => fun.as_export_fun().map(|e| usize::from(e.mfa.arity)),
    }
}

/// `is_reference`
pub unsafe fn is_reference(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe { if m.source(pc.add(1)).is_reference() { pc.add(3) } else { target(pc.add(2)) } }
}

/// `is_port`
pub unsafe fn is_port(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe { if m.source(pc.add(1)).is_port() { pc.add(3) } else { target(pc.add(2)) } }
}

/// `select_val` with keys that are not all short: pairs of a constant and a label.
pub unsafe fn select_term(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let value = m.source(pc.add(1));
        for i in 0..*pc.add(3) as usize {
            let key = m.source(pc.add(4 + 2 * i));
            if key.is(value) || eq_exact(key, value) {
                return target(pc.add(5 + 2 * i));
            }
        }
        target(pc.add(2))
    }
}
