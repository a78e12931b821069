//! Operators, type tests and the other functions allowed in guards.
//!
//! Compiled code reaches the common ones as instructions; these are what `apply`, match specifications' kin and the rarer
//! instructions call.

use crate::work::in_slices;
use myriad_term::arith::{self, ArithError};
use myriad_term::compare::compare;
use myriad_term::equal::{eq, eq_exact};
use myriad_term::{Build, Kind, Term, TermRef};
use myriad_vm::bif::{BADARG, BADARITH, Escape, SYSTEM_LIMIT, badarg};
use myriad_vm::{BifResult, Ctx};
use std::cmp::Ordering;

pub(crate) fn raised(error: ArithError) -> Escape {
    match error {
        ArithError::BadArith => BADARITH,
        ArithError::SystemLimit => SYSTEM_LIMIT,
    }
}

macro_rules! test {
    ($test:expr) => {
        |_, a| {
            let test: fn(Term) -> bool = $test;
            Ok(Term::bool(test(a[0])))
        }
    };
}

macro_rules! order {
    ($($accepted:pat_param)|+) => {
        |_, a| Ok(Term::bool(matches!(compare(a[0], a[1]), $($accepted)|+)))
    };
}

macro_rules! logic {
    ($f:expr) => {
        |_, a| match (a[0].as_bool(), a[1].as_bool()) {
            (Some(x), Some(y)) => {
                let f: fn(bool, bool) -> bool = $f;
                Ok(Term::bool(f(x, y)))
            }
            _ => badarg(),
        }
    };
}

macro_rules! binary_op {
    ($f:path) => {
        |ctx, a| $f(ctx, a[0], a[1]).map_err(raised)
    };
}

myriad_vm::bifs! { pub OPERATORS = "erlang" {
    "+" / 2 Guard => binary_op!(arith::add);
    "-" / 2 Guard => binary_op!(arith::sub);
    "*" / 2 Guard => binary_op!(arith::mul);
    "/" / 2 Guard => binary_op!(arith::divide);
    "div" / 2 Guard => binary_op!(arith::div);
    "rem" / 2 Guard => binary_op!(arith::rem);
    "band" / 2 Guard => binary_op!(arith::band);
    "bor" / 2 Guard => binary_op!(arith::bor);
    "bxor" / 2 Guard => binary_op!(arith::bxor);
    "bsl" / 2 Guard => binary_op!(arith::bsl);
    "bsr" / 2 Guard => binary_op!(arith::bsr);
    "bnot" / 1 Guard => |ctx, a| arith::bnot(ctx, a[0]).map_err(raised);
    "-" / 1 Guard => |ctx, a| arith::neg(ctx, a[0]).map_err(raised);
    "+" / 1 Guard => |_, a| arith::plus(a[0]).map_err(raised);
    "==" / 2 Guard => |_, a| Ok(Term::bool(eq(a[0], a[1])));
    "/=" / 2 Guard => |_, a| Ok(Term::bool(!eq(a[0], a[1])));
    "=:=" / 2 Guard => |_, a| Ok(Term::bool(eq_exact(a[0], a[1])));
    "=/=" / 2 Guard => |_, a| Ok(Term::bool(!eq_exact(a[0], a[1])));
    "<" / 2 Guard => order!(Ordering::Less);
    ">" / 2 Guard => order!(Ordering::Greater);
    "=<" / 2 Guard => order!(Ordering::Less | Ordering::Equal);
    ">=" / 2 Guard => order!(Ordering::Greater | Ordering::Equal);
    "and" / 2 Guard => logic!(|x, y| x && y);
    "or" / 2 Guard => logic!(|x, y| x || y);
    "xor" / 2 Guard => logic!(|x, y| x != y);
    "not" / 1 Guard => |_, a| a[0].as_bool().map(|b| Term::bool(!b)).ok_or(BADARG);
    "min" / 2 Guard since 26 => |_, a| Ok(if compare(a[0], a[1]).is_le() { a[0] } else { a[1] });
    "max" / 2 Guard since 26 => |_, a| Ok(if compare(a[0], a[1]).is_ge() { a[0] } else { a[1] });
}}

myriad_vm::bifs! { pub TYPE_TESTS = "erlang" {
    "is_atom" / 1 Guard => test!(TermRef::is_atom);
    "is_binary" / 1 Guard => test!(|t| t.as_bits().is_some_and(|b| b.is_binary()));
    "is_bitstring" / 1 Guard => test!(TermRef::is_bitstring);
    "is_boolean" / 1 Guard => test!(|t| t.as_bool().is_some());
    "is_float" / 1 Guard => test!(TermRef::is_float);
    "is_function" / 1 Guard => test!(TermRef::is_fun);
    "is_function" / 2 Guard => is_function_2;
    "is_integer" / 1 Guard => test!(TermRef::is_integer);
    "is_list" / 1 Guard => test!(TermRef::is_list);
    "is_map" / 1 Guard => test!(TermRef::is_map);
    "is_number" / 1 Guard => test!(TermRef::is_number);
    "is_pid" / 1 Guard => test!(TermRef::is_pid);
    "is_port" / 1 Guard => test!(TermRef::is_port);
    "is_reference" / 1 Guard => test!(TermRef::is_reference);
    "is_tuple" / 1 Guard => test!(|t| t.as_tuple().is_some());
    "is_record" / 2 Guard => is_record_2;
    "is_record" / 3 Guard => is_record_3;
    "is_map_key" / 2 Guard => |_, a| match a[1].as_map() {
        Some(map) => Ok(Term::bool(map.has_key(a[0]))),
        None => bad_map(a[1]),
    };
}}

myriad_vm::bifs! { pub GUARDS = "erlang" {
    "abs" / 1 Guard => |ctx, a| arith::abs(ctx, a[0]).ok_or(BADARG);
    "float" / 1 Guard => |ctx, a| arith::float(ctx, a[0]).ok_or(BADARG);
    "trunc" / 1 Guard => |ctx, a| arith::trunc(ctx, a[0]).ok_or(BADARG);
    "round" / 1 Guard => |ctx, a| arith::round(ctx, a[0]).ok_or(BADARG);
    "floor" / 1 Guard => |ctx, a| arith::floor(ctx, a[0]).ok_or(BADARG);
    "ceil" / 1 Guard => |ctx, a| arith::ceil(ctx, a[0]).ok_or(BADARG);
    "hd" / 1 Guard => |_, a| a[0].as_cons().map(|(head, _)| head).ok_or(BADARG);
    "tl" / 1 Guard => |_, a| a[0].as_cons().map(|(_, tail)| tail).ok_or(BADARG);
    "length" / 1 Guard => length_1;
    "element" / 2 Guard => element_2;
    "tuple_size" / 1 Guard => |_, a| a[0].as_tuple().map(|t| Term::small(t.len() as i64)).ok_or(BADARG);
    "size" / 1 Guard => size_1;
    "byte_size" / 1 Guard => |_, a| a[0].as_bits().map(|b| Term::small(b.len().div_ceil(8) as i64)).ok_or(BADARG);
    "bit_size" / 1 Guard => |_, a| a[0].as_bits().map(|b| Term::small(b.len() as i64)).ok_or(BADARG);
    "map_size" / 1 Guard => |_, a| match a[0].as_map() {
        Some(map) => Ok(Term::small(map.size() as i64)),
        None => bad_map(a[0]),
    };
    "map_get" / 2 Guard => map_get_2;
    "node" / 0 Guard => |ctx, _| Ok(ctx.vm.node_name().term());
    "node" / 1 Guard => node_1;
    "binary_part" / 2 Guard => |ctx, a| match a[1].as_tuple_of::<2>() {
        Some([start, len]) => binary_part(ctx, a[0], start, len),
        None => badarg(),
    };
    "binary_part" / 3 Guard => |ctx, a| binary_part(ctx, a[0], a[1], a[2]);
}}

/// `error:{badmap, Term}`. The tuple is made where guards do not look at it: in a guard any error is just a failure.
pub(crate) fn bad_map<T>(term: Term) -> Result<T, Escape> {
    Err(Escape::BadMap(term))
}

fn map_get_2(_: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    match args[1].as_map() {
        Some(map) => map.get(args[0]).ok_or(Escape::BadKey(args[0])),
        None => bad_map(args[1]),
    }
}

fn is_function_2(_: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let negative = args[1].as_small().is_some_and(|n| n < 0) || args[1].as_big().is_some_and(|(negative, _)| negative);
    if negative || !args[1].is_integer() {
        return badarg();
    }
    let arity =
        args[0].as_export_fun().map(|e| e.mfa.arity).or_else(|| args[0].as_local_fun().map(|(e, ..)| e.id.arity));
    Ok(Term::bool(arity.is_some_and(|n| Some(usize::from(n)) == args[1].as_usize())))
}

fn is_record_2(_: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if !args[1].is_atom() {
        return badarg();
    }
    Ok(Term::bool(args[0].as_tuple().and_then(|t| t.elements().first().copied()).is_some_and(|tag| tag.is(args[1]))))
}

/// An integer that is small on OTP too, where smalls have 60 bits: what else is badarg for some functions.
pub(crate) fn otp_small(term: Term) -> Option<i64> {
    term.as_small().filter(|n| (-(1 << 59)..1 << 59).contains(n))
}

fn is_record_3(_: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if !args[1].is_atom() || otp_small(args[2]).is_none() {
        return badarg();
    }
    let elements = args[0].as_tuple().map_or(&[][..], |t| t.elements());
    let tagged = elements.first().is_some_and(|tag| tag.is(args[1]));
    Ok(Term::bool(tagged && Some(elements.len()) == args[2].as_usize()))
}

/// Cells of a list that are counted for one reduction.
const CELLS_PER_REDUCTION: usize = 16;

/// The one function allowed in guards that may give way.
fn length_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (mut rest, mut length) = (args[0].list_iter(), 0);
    in_slices(ctx, CELLS_PER_REDUCTION, move |_, budget| {
        let counted = rest.by_ref().take(*budget).count();
        length += counted as i64;
        *budget -= counted;
        match rest.tail() {
            tail if tail.is_nil() => Ok(Some(Term::small(length))),
            tail if tail.is_cons() => Ok(None),
            _ => badarg(),
        }
    })
}

fn element_2(_: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let index = args[0].as_usize().and_then(|i| i.checked_sub(1));
    match (index, args[1].as_tuple()) {
        (Some(i), Some(tuple)) => tuple.elements().get(i).copied().ok_or(BADARG),
        _ => badarg(),
    }
}

fn size_1(_: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if let Some(tuple) = args[0].as_tuple() {
        return Ok(Term::small(tuple.len() as i64));
    }
    args[0].as_bits().map(|b| Term::small((b.len() / 8) as i64)).ok_or(BADARG)
}

fn node_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if let Some((name, _)) = args[0].external_node() {
        return Ok(name.term());
    }
    let local = args[0].is_pid() || args[0].is_port() || args[0].is_reference();
    if local { Ok(ctx.vm.node_name().term()) } else { badarg() }
}

/// `Length` bytes from byte `Start`; a negative length means the bytes before `Start`. As in OTP a bit string will do, whose
/// last bits are not counted.
pub(crate) fn binary_part(ctx: &mut Ctx<'_>, binary: Term, start: Term, len: Term) -> BifResult {
    let (Some(bits), Some(start), Some(len)) = (binary.as_bits(), start.as_small(), len.as_small()) else {
        return badarg();
    };
    let (from, to) = if len < 0 { (start.saturating_add(len), start) } else { (start, start.saturating_add(len)) };
    let bytes = (bits.len() / 8) as i64;
    if from < 0 || to > bytes {
        return badarg();
    }
    Ok(sub_binary(ctx, binary, from as usize * 8, (to - from) as usize * 8))
}

/// `bits` bits of a bit string from its bit `start`, which are there: shared with it, unless they are few.
pub fn sub_binary(ctx: &mut Ctx<'_>, binary: Term, start: usize, bits: usize) -> Term {
    let Some((whole, offset, _)) = binary.binary_parts() else { return binary };
    if bits <= 8 * 64 || whole.boxed_kind() == Some(Kind::HeapBinary) {
        let part = binary.as_bits().and_then(|b| b.part(start, bits));
        let bytes = part.map(|p| p.to_bytes()).unwrap_or_default();
        return ctx.heap_binary(&bytes, bits);
    }
    ctx.sub_binary(whole, offset + start, bits)
}
