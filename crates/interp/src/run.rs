//! The instruction loop.
//!
//! One `match` over a dense opcode, so that the compiler makes one jump table without a bounds check. What is hot stays in
//! locals: `pc`, the register files `x` and `sp`, the heap top. An arm does its work inline only where that is a few machine
//! instructions; all else is a call of a function that gets the machine and the instruction's address.

use crate::bifs;
use crate::guards;
use crate::instr::{Op, SLOW};
use crate::machine::{Machine, high, register, source, target, wide};
use myriad_sync::atomic::Ordering;
use myriad_term::boxed::Header;
use myriad_term::{Export, Kind, Term};
use myriad_vm::code::{Continuation, Function};
use myriad_vm::engine::SliceEnd;

/// The term of a `k` operand.
///
/// # Safety
/// The decoder made it from an immediate term.
#[inline(always)]
unsafe fn short(at: *const u32) -> Term {
    // SAFETY: the caller's promise.
    unsafe { Term::from_raw(*at as i32 as i64 as u64) }
}

/// Makes the room that the instruction at `pc` (an allocation: live registers, bytes) found missing; it then runs again.
#[cold]
#[inline(never)]
unsafe fn make_room(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    let (live, bytes) = unsafe { (high(pc) as usize, *pc.add(1) as usize) };
    if m.collect(bytes / 8, live) { pc } else { std::ptr::null() }
}

/// Reductions are used up at a call of `function`.
#[cold]
#[inline(never)]
unsafe fn preempt(m: &mut Machine<'_, '_>, function: *const Function) -> *const u32 {
    // SAFETY: K3.
    let f = unsafe { &*function };
    if f.bif().is_some() {
        // A built-in of its own accord gives way; its caller does at the next call.
        return f.entry().0;
    }
    m.stop(SliceEnd::Yielded, std::ptr::null(), function, usize::from(f.mfa.arity))
}

#[cold]
#[inline(never)]
fn equal_slow(a: Term, b: Term) -> bool {
    myriad_term::equal::eq_exact(a, b)
}

#[cold]
#[inline(never)]
fn less_slow(a: Term, b: Term) -> bool {
    myriad_term::compare::compare(a, b).is_lt()
}

/// `A =:= B`, out of line only where both have memory.
#[inline(always)]
fn equal_exact(a: Term, b: Term) -> bool {
    a.is(b) || (!a.is_immediate() && !b.is_immediate() && equal_slow(a, b))
}

#[inline(always)]
fn both_small(a: Term, b: Term) -> bool {
    (a.raw() | b.raw()) & 7 == 0
}

/// `A < B`.
#[inline(always)]
fn less(a: Term, b: Term) -> bool {
    if both_small(a, b) { (a.raw() as i64) < b.raw() as i64 } else { less_slow(a, b) }
}

/// Runs from `pc` until the slice ends.
///
/// # Safety
/// `pc` is an instruction of code that the process runs, `m` its state.
#[allow(clippy::cognitive_complexity)]
pub unsafe fn run(m: &mut Machine<'_, '_>, mut pc: *const u32) -> SliceEnd {
    // SAFETY: for the whole function: the code is what the decoder made of code that has passed the load-time scan, so
    // operands are registers of the right file, labels are instructions of the same function, frames are as tracked. The
    // compiler's own guarantees (types, heap needs) are relied upon as OTP relies on them.
    unsafe {
        let x = m.x;
        let mut sp: *mut Term = (*m.heap).stop.cast();
        let mut htop: *mut u64 = (*m.heap).htop;

        macro_rules! flush {
            () => {{
                let heap = m.heap;
                (*heap).stop = sp.cast();
                (*heap).htop = htop;
            }};
        }
        macro_rules! reload {
            () => {{
                let heap = m.heap;
                sp = (*heap).stop.cast();
                htop = (*heap).htop;
            }};
        }
        // Runs out of line; goes on where that says.
        macro_rules! slow {
            ($call:expr) => {{
                flush!();
                let next: *const u32 = $call;
                if next.is_null() {
                    return m.end;
                }
                pc = next;
                reload!();
                continue;
            }};
        }
        macro_rules! next {
            ($words:expr) => {{
                pc = pc.add($words);
                continue;
            }};
        }
        macro_rules! jump {
            ($word:expr) => {{
                pc = target(pc.add($word));
                continue;
            }};
        }
        // Goes on after `$words` if so, else at the label in word `$label`.
        macro_rules! test {
            ($condition:expr, $label:expr, $words:expr) => {{
                if $condition {
                    pc = pc.add($words);
                } else {
                    pc = target(pc.add($label));
                }
                continue;
            }};
        }
        macro_rules! at {
            ($operand:expr) => {
                register(x, sp, $operand)
            };
        }
        macro_rules! x_at {
            ($operand:expr) => {
                x.byte_add(($operand) as usize)
            };
        }
        macro_rules! y_at {
            ($operand:expr) => {
                sp.byte_add(($operand) as usize - 1)
            };
        }
        macro_rules! low {
            ($word:expr) => {
                *pc.add($word) & 0xffff
            };
        }
        macro_rules! upper {
            ($word:expr) => {
                *pc.add($word) >> 16
            };
        }
        macro_rules! enter {
            ($function:expr) => {{
                let function: *const Function = $function;
                m.callee = function;
                m.reds -= 1;
                if m.reds > 0 {
                    // Acquire: pairs with the Release that publishes the code.
                    pc = (*function).entry.load(Ordering::Acquire);
                    continue;
                }
                slow!(preempt(m, function))
            }};
        }
        macro_rules! export {
            ($word:expr) => {
                Function::of_export(&*(wide(pc.add($word)) as *const Export))
            };
        }
        macro_rules! function {
            ($word:expr) => {
                wide(pc.add($word)) as *const Function
            };
        }
        macro_rules! push {
            ($word:expr) => {{
                sp = sp.sub(1);
                *sp.cast::<u64>() = target(pc.add($word)) as u64;
            }};
        }
        macro_rules! return_ {
            () => {{
                let continuation = *sp.cast::<*const Continuation>();
                sp = sp.add(1);
                pc = (*continuation).pc.0;
                continue;
            }};
        }
        macro_rules! room {
            ($bytes:expr) => {
                if (sp as usize).wrapping_sub(htop as usize) < $bytes as usize {
                    slow!(make_room(m, pc))
                }
            };
        }
        macro_rules! arithmetic {
            ($a:ident, $b:ident, $fast:expr) => {{
                let ($a, $b) = (source(x, sp, pc.add(1)), source(x, sp, pc.add(2)));
                if both_small($a, $b)
                    && let Some(result) = $fast
                {
                    *at!(high(pc)) = Term::from_raw(result as u64);
                    next!(5)
                }
                slow!(guards::arithmetic(m, pc))
            }};
        }
        macro_rules! float {
            ($a:ident, $b:ident, $op:expr) => {{
                let operands = *pc.add(1);
                let $a = *m.floats.get_unchecked((operands & 0xffff) as usize);
                let $b = *m.floats.get_unchecked((operands >> 16) as usize);
                let result: f64 = $op;
                if result.is_finite() {
                    *m.floats.get_unchecked_mut(high(pc) as usize) = result;
                    next!(3)
                }
                slow!(guards::float_error(m, pc))
            }};
        }
        macro_rules! kind_test {
            ($pattern:pat) => {{
                let t = *at!(high(pc));
                test!(t.is_boxed() && matches!(Header::from_raw(*t.boxed_ptr()).kind(), $pattern), 1, 2)
            }};
        }

        loop {
            let word = *pc;
            match Op::of(word) {
                Op::MoveXX => {
                    *x_at!(word >> 16) = *x_at!(low!(1));
                    next!(2)
                }
                Op::MoveXY => {
                    *y_at!(word >> 16) = *x_at!(low!(1));
                    next!(2)
                }
                Op::MoveYX => {
                    *x_at!(word >> 16) = *y_at!(low!(1));
                    next!(2)
                }
                Op::MoveRR => {
                    *at!(word >> 16) = *at!(low!(1));
                    next!(2)
                }
                Op::MoveKX => {
                    *x_at!(word >> 16) = short(pc.add(1));
                    next!(2)
                }
                Op::MoveKY => {
                    *y_at!(word >> 16) = short(pc.add(1));
                    next!(2)
                }
                Op::MoveC => {
                    *at!(word >> 16) = Term::from_raw(wide(pc.add(1)));
                    next!(3)
                }
                Op::Move2 => {
                    let (w1, w2) = (*pc.add(1), *pc.add(2));
                    *at!(word >> 16) = *at!(w1 & 0xffff);
                    *at!(w1 >> 16) = *at!(w2 & 0xffff);
                    next!(3)
                }
                Op::Move3 => {
                    let (w1, w2, w3) = (*pc.add(1), *pc.add(2), *pc.add(3));
                    *at!(word >> 16) = *at!(w1 & 0xffff);
                    *at!(w1 >> 16) = *at!(w2 & 0xffff);
                    *at!(w2 >> 16) = *at!(w3 & 0xffff);
                    next!(4)
                }
                Op::Swap => {
                    let (a, b) = (at!(word >> 16), at!(low!(1)));
                    let t = *a;
                    *a = *b;
                    *b = t;
                    next!(2)
                }

                Op::Call => {
                    push!(1);
                    enter!(function!(2))
                }
                Op::CallLast => {
                    sp = sp.byte_add((word >> 16) as usize);
                    enter!(function!(1))
                }
                Op::CallOnly => enter!(function!(1)),
                Op::CallExt => {
                    push!(1);
                    enter!(export!(2))
                }
                Op::CallExtLast => {
                    sp = sp.byte_add((word >> 16) as usize);
                    enter!(export!(1))
                }
                Op::CallExtOnly => enter!(export!(1)),
                Op::MoveCall => {
                    *x = *at!(word >> 16);
                    push!(1);
                    enter!(function!(2))
                }
                Op::MoveCallLast => {
                    *x = *at!(word >> 16);
                    sp = sp.byte_add(*pc.add(1) as usize);
                    enter!(function!(2))
                }
                Op::MoveCallOnly => {
                    *x = *at!(word >> 16);
                    enter!(function!(1))
                }
                Op::Return => return_!(),
                Op::MoveReturn => {
                    *x = *at!(word >> 16);
                    return_!()
                }
                Op::MoveKReturn => {
                    *x = short(pc.add(1));
                    return_!()
                }
                Op::MoveCReturn => {
                    *x = Term::from_raw(wide(pc.add(1)));
                    return_!()
                }
                Op::Deallocate | Op::Trim => {
                    sp = sp.byte_add((word >> 16) as usize);
                    next!(1)
                }
                Op::DeallocateReturn => {
                    sp = sp.byte_add((word >> 16) as usize);
                    return_!()
                }
                Op::MoveDeallocateReturn => {
                    *x = *at!(word >> 16);
                    sp = sp.byte_add(*pc.add(1) as usize);
                    return_!()
                }
                Op::Jump => jump!(1),

                Op::Allocate0 => {
                    room!(*pc.add(1));
                    next!(2)
                }
                Op::Allocate1 => {
                    room!(*pc.add(1));
                    sp = sp.sub(1);
                    *sp = Term::NIL;
                    next!(2)
                }
                Op::Allocate2 => {
                    room!(*pc.add(1));
                    sp = sp.sub(2);
                    *sp = Term::NIL;
                    *sp.add(1) = Term::NIL;
                    next!(2)
                }
                Op::Allocate3 => {
                    room!(*pc.add(1));
                    sp = sp.sub(3);
                    *sp = Term::NIL;
                    *sp.add(1) = Term::NIL;
                    *sp.add(2) = Term::NIL;
                    next!(2)
                }
                Op::Allocate => {
                    room!(*pc.add(1));
                    // At least four words: in pairs from the top, the last ones perhaps twice.
                    let old = sp;
                    sp = sp.byte_sub(*pc.add(2) as usize);
                    *sp = Term::NIL;
                    *sp.add(1) = Term::NIL;
                    *sp.add(2) = Term::NIL;
                    *sp.add(3) = Term::NIL;
                    let mut at = sp.add(4);
                    while at < old {
                        *at = Term::NIL;
                        at = at.add(1);
                    }
                    next!(3)
                }
                Op::TestHeap => {
                    room!(*pc.add(1));
                    next!(2)
                }
                Op::InitY => {
                    let first = y_at!(word >> 16);
                    for i in 0..*pc.add(1) as usize {
                        *first.add(i) = Term::NIL;
                    }
                    next!(2)
                }

                Op::PutList => {
                    let operands = *pc.add(1);
                    let cell = htop.cast::<Term>();
                    *cell = *at!(operands & 0xffff);
                    *cell.add(1) = *at!(operands >> 16);
                    htop = htop.add(2);
                    *at!(word >> 16) = Term::from_cell(cell);
                    next!(2)
                }
                Op::PutListS => {
                    let cell = htop.cast::<Term>();
                    *cell = source(x, sp, pc.add(1));
                    *cell.add(1) = source(x, sp, pc.add(2));
                    htop = htop.add(2);
                    *at!(word >> 16) = Term::from_cell(cell);
                    next!(3)
                }
                Op::GetList => {
                    let cell = (*at!(word >> 16)).cell();
                    let operands = *pc.add(1);
                    let (head, tail) = (*cell, *cell.add(1));
                    *at!(operands & 0xffff) = head;
                    *at!(operands >> 16) = tail;
                    next!(2)
                }
                Op::GetHd => {
                    *at!(low!(1)) = *(*at!(word >> 16)).cell();
                    next!(2)
                }
                Op::GetTl => {
                    *at!(low!(1)) = *(*at!(word >> 16)).cell().add(1);
                    next!(2)
                }
                Op::IsNonemptyList => test!((*at!(word >> 16)).is_cons(), 1, 2),
                Op::IsNonemptyGetList => {
                    let list = *at!(word >> 16);
                    if list.is_cons() {
                        let cell = list.cell();
                        let operands = *pc.add(2);
                        let (head, tail) = (*cell, *cell.add(1));
                        *at!(operands & 0xffff) = head;
                        *at!(operands >> 16) = tail;
                        next!(3)
                    }
                    jump!(1)
                }
                Op::IsNil => test!((*at!(word >> 16)).is_nil(), 1, 2),
                Op::IsList => test!((*at!(word >> 16)).is_list(), 1, 2),
                Op::GetElement => {
                    let tuple = (*at!(word >> 16)).boxed_ptr().cast::<Term>();
                    let w1 = *pc.add(1);
                    *at!(w1 & 0xffff) = *tuple.byte_add((w1 >> 16) as usize);
                    next!(2)
                }
                Op::GetElement2 => {
                    let tuple = (*at!(word >> 16)).boxed_ptr().cast::<Term>();
                    let (w1, w2) = (*pc.add(1), *pc.add(2));
                    *at!(w1 & 0xffff) = *tuple.byte_add((w1 >> 16) as usize);
                    *at!(w2 & 0xffff) = *tuple.byte_add((w2 >> 16) as usize);
                    next!(3)
                }
                Op::GetElement3 => {
                    let tuple = (*at!(word >> 16)).boxed_ptr().cast::<Term>();
                    let (w1, w2, w3) = (*pc.add(1), *pc.add(2), *pc.add(3));
                    *at!(w1 & 0xffff) = *tuple.byte_add((w1 >> 16) as usize);
                    *at!(w2 & 0xffff) = *tuple.byte_add((w2 >> 16) as usize);
                    *at!(w3 & 0xffff) = *tuple.byte_add((w3 >> 16) as usize);
                    next!(4)
                }
                Op::GetElementFar => {
                    let tuple = (*at!(word >> 16)).boxed_ptr().cast::<Term>();
                    *at!(low!(1)) = *tuple.add(*pc.add(2) as usize);
                    next!(3)
                }
                Op::IsTuple => kind_test!(Kind::Tuple),
                Op::IsTupleOfArity => {
                    let t = *at!(word >> 16);
                    test!(t.is_boxed() && *t.boxed_ptr() == u64::from(*pc.add(2)), 1, 3)
                }
                Op::IsTaggedTuple => {
                    let t = *at!(word >> 16);
                    test!(
                        t.is_boxed()
                            && *t.boxed_ptr() == u64::from(*pc.add(2))
                            && *t.boxed_ptr().add(1) == short(pc.add(3)).raw(),
                        1,
                        4
                    )
                }
                Op::PutTuple => {
                    let n = *pc.add(1) as usize;
                    let at = htop;
                    *at = Header::new(Kind::Tuple, n).raw();
                    let elements = at.add(1).cast::<Term>();
                    for i in 0..n {
                        *elements.add(i) = source(x, sp, pc.add(2 + i));
                    }
                    htop = at.add(1 + n);
                    *at!(word >> 16) = Term::from_boxed(at);
                    next!(2 + n)
                }
                Op::SetElement => {
                    let tuple = (*at!(word >> 16)).boxed_ptr().cast::<Term>();
                    *tuple.add(*pc.add(2) as usize) = source(x, sp, pc.add(1));
                    next!(3)
                }

                Op::IsEqExact => test!(equal_exact(*at!(word >> 16), *at!(low!(1))), 2, 3),
                Op::IsEqExactK => test!((*at!(word >> 16)).is(short(pc.add(2))), 1, 3),
                Op::IsNeExact => test!(!equal_exact(*at!(word >> 16), *at!(low!(1))), 2, 3),
                Op::IsNeExactK => test!(!(*at!(word >> 16)).is(short(pc.add(2))), 1, 3),
                Op::IsLt => test!(less(*at!(word >> 16), *at!(low!(1))), 2, 3),
                Op::IsGe => test!(!less(*at!(word >> 16), *at!(low!(1))), 2, 3),
                Op::IsLtRK => test!(less(*at!(word >> 16), short(pc.add(2))), 1, 3),
                Op::IsLtKR => test!(less(short(pc.add(2)), *at!(word >> 16)), 1, 3),
                Op::IsGeRK => test!(!less(*at!(word >> 16), short(pc.add(2))), 1, 3),
                Op::IsGeKR => test!(!less(short(pc.add(2)), *at!(word >> 16)), 1, 3),
                Op::IsInteger => {
                    let t = *at!(word >> 16);
                    test!(t.is_small() || t.is_big(), 1, 2)
                }
                Op::IsAtom => test!((*at!(word >> 16)).is_atom(), 1, 2),
                Op::IsFloat => test!((*at!(word >> 16)).is_float(), 1, 2),
                Op::IsNumber => test!((*at!(word >> 16)).is_number(), 1, 2),
                Op::IsMap => kind_test!(Kind::Map | Kind::MapRoot),
                Op::IsBinary => test!((*at!(word >> 16)).as_bits().is_some_and(|b| b.is_binary()), 1, 2),
                Op::IsBitstring => kind_test!(Kind::HeapBinary | Kind::SharedBinary | Kind::SubBinary),
                Op::IsPid => test!((*at!(word >> 16)).is_pid(), 1, 2),
                Op::IsBoolean => test!((*at!(word >> 16)).as_bool().is_some(), 1, 2),
                Op::IsFunction => kind_test!(Kind::Fun | Kind::ExportFun),

                Op::SelectTable => {
                    let value = *at!(word >> 16);
                    let index = value.small_value().wrapping_sub(i64::from(*pc.add(3) as i32)) as u64;
                    if value.is_small() && index < u64::from(*pc.add(2)) {
                        pc = target(pc.add(4 + index as usize));
                        continue;
                    }
                    jump!(1)
                }
                Op::SelectLinear => {
                    let value = *at!(word >> 16);
                    let mut at = pc.add(3);
                    let end = at.add(2 * *pc.add(2) as usize);
                    pc = loop {
                        if at == end {
                            break target(pc.add(1));
                        }
                        if value.is(short(at)) {
                            break target(at.add(1));
                        }
                        at = at.add(2);
                    };
                    continue;
                }
                Op::SelectBinary => {
                    let value = (*at!(word >> 16)).raw() as i64;
                    let table = pc.add(3);
                    let (mut from, mut to) = (0, *pc.add(2) as usize);
                    pc = loop {
                        if from >= to {
                            break target(pc.add(1));
                        }
                        let middle = (from + to) / 2;
                        let key = i64::from(*table.add(2 * middle) as i32);
                        if key == value {
                            break target(table.add(2 * middle + 1));
                        }
                        if key < value {
                            from = middle + 1;
                        } else {
                            to = middle;
                        }
                    };
                    continue;
                }
                Op::SelectArity => {
                    let tuple = *at!(word >> 16);
                    let mut at = pc.add(3);
                    let end = at.add(2 * *pc.add(2) as usize);
                    let header = if tuple.is_boxed() { *tuple.boxed_ptr() } else { 0 };
                    pc = loop {
                        if at == end {
                            break target(pc.add(1));
                        }
                        if header == u64::from(*at) {
                            break target(at.add(1));
                        }
                        at = at.add(2);
                    };
                    continue;
                }

                Op::Add => arithmetic!(a, b, (a.raw() as i64).checked_add(b.raw() as i64)),
                Op::Subtract => arithmetic!(a, b, (a.raw() as i64).checked_sub(b.raw() as i64)),
                Op::AddSmall => {
                    let a = *at!(*pc.add(1) & 0xffff);
                    if a.is_small()
                        && let Some(sum) = (a.raw() as i64).checked_add(i64::from(*pc.add(5) as i32))
                    {
                        *at!(word >> 16) = Term::from_raw(sum as u64);
                        next!(6)
                    }
                    slow!(guards::arithmetic(m, pc))
                }
                Op::Multiply => arithmetic!(a, b, a.small_value().checked_mul(b.raw() as i64)),
                Op::Band => arithmetic!(a, b, Some(a.raw() & b.raw())),
                Op::Bor => arithmetic!(a, b, Some(a.raw() | b.raw())),
                Op::Bsr => arithmetic!(a, b, {
                    let shift = b.small_value();
                    (0..=60).contains(&shift).then(|| (a.small_value() >> shift) << 3)
                }),
                Op::Bsl => arithmetic!(a, b, {
                    let (v, shift) = (a.raw() as i64, b.small_value());
                    if (0..=60).contains(&shift) && (v << shift) >> shift == v { Some(v << shift) } else { None }
                }),
                Op::Div => arithmetic!(a, b, {
                    let divisor = b.small_value();
                    if divisor > 0 { Some((a.small_value() / divisor) << 3) } else { None }
                }),
                Op::Rem => arithmetic!(a, b, {
                    let divisor = b.raw() as i64;
                    if divisor > 0 { Some((a.raw() as i64) % divisor) } else { None }
                }),

                Op::FMoveFromTerm => {
                    let value = source(x, sp, pc.add(1)).as_float().unwrap_or(0.0);
                    *m.floats.get_unchecked_mut((word >> 16) as usize) = value;
                    next!(2)
                }
                Op::FMoveToTerm => {
                    match Term::immediate_float(*m.floats.get_unchecked(*pc.add(1) as usize)) {
                        Some(t) => {
                            *at!(word >> 16) = t;
                            next!(2)
                        }
                        None => slow!(guards::fmove_to_term(m, pc)),
                    }
                }
                Op::FMove => {
                    let value = *m.floats.get_unchecked(*pc.add(1) as usize);
                    *m.floats.get_unchecked_mut((word >> 16) as usize) = value;
                    next!(2)
                }
                Op::FAdd => float!(a, b, a + b),
                Op::FSub => float!(a, b, a - b),
                Op::FMul => float!(a, b, a * b),
                Op::FDiv => float!(a, b, a / b),
                Op::FNegate => {
                    let value = *m.floats.get_unchecked(*pc.add(1) as usize);
                    *m.floats.get_unchecked_mut((word >> 16) as usize) = -value;
                    next!(2)
                }

                Op::Try => {
                    *y_at!(word >> 16) = Term::catch(target(pc.add(1)) as u64);
                    next!(2)
                }
                Op::TryEnd => {
                    *y_at!(word >> 16) = Term::NIL;
                    next!(1)
                }
                Op::TryCase => {
                    *y_at!(word >> 16) = Term::NIL;
                    *x = *x.add(1);
                    *x.add(1) = *x.add(2);
                    *x.add(2) = *x.add(3);
                    next!(1)
                }

                // The commonest of those out of line, for a direct call.
                Op::CallBif => slow!(bifs::call(m, pc)),
                op => {
                    let run_op = *SLOW.get_unchecked(usize::from(op as u16 - Op::FIRST_SLOW));
                    slow!(run_op(m, pc))
                }
            }
            #[allow(unreachable_code)]
            {
                let _: &Machine<'_, '_> = m;
                let _ = upper!(0);
            }
        }
    }
}
