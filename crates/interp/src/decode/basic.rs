//! Moves, calls, tests, lists and tuples.

use super::built_ins::{call_bif, return_to_caller, send_built};
use super::emit::{Emitter, Unfit, built_in, short_of};
use super::fused::{allocate, elements, head_test, is_between, is_integer_between, moves, test_and_put};
use super::operands::{Args, At, frame_bytes};
use super::{binary, ops};
use crate::instr::Op;
use myriad_beam::{Arg, LoopHead, MIXED, Op as Generic, Reg};
use myriad_heap::RESERVED;
use myriad_term::boxed::Header;
use myriad_term::{Export, Kind, Mfa, Term, am};
use myriad_vm::Vm;
use myriad_vm::bif::BifDef;
use myriad_vm::code::Module;

/// Translates the instructions at the head of `rest`; how many it has used.
pub(crate) fn translate(e: &mut Emitter, rest: &[At<'_>]) -> Result<usize, Unfit> {
    let Some(at) = rest.first() else { return Ok(0) };
    let args = Args(at.args);
    match at.op {
        Generic::Move => return moves(e, rest),
        Generic::Swap => {
            let (a, b) = (e.reg(args.at(0)?)?, e.reg(args.at(1)?)?);
            let (a, b) = if a & 1 > b & 1 { (b, a) } else { (a, b) };
            let mixed = a & 1 != b & 1;
            if let Some(next) = rest.get(1)
                && next.op == Generic::Call
            {
                let function = e.local(Args(next.args).label(1))?;
                e.place_of(next);
                e.op(if mixed { Op::SwapXYCall } else { Op::SwapCall }, a);
                e.pair(b, 0);
                e.continuation(3);
                e.wide(std::ptr::from_ref(function) as u64);
                return Ok(2);
            }
            e.op(if mixed { Op::SwapXY } else { Op::Swap }, a);
            e.pair(b, 0);
        }
        Generic::Jump => {
            e.op(Op::Jump, 0);
            e.label(args.label(0));
        }
        Generic::IntCodeEnd => e.op(Op::Failed, 0),
        Generic::FuncInfo => {
            let arity = args.number(2)?;
            e.op(Op::FunctionClause, arity);
        }

        // ---- calls
        Generic::Call => {
            let function = e.local(args.label(1))?;
            e.op(Op::Call, 0);
            e.continuation(3);
            e.wide(std::ptr::from_ref(function) as u64);
        }
        Generic::CallLast => {
            let function = e.local(args.label(1))?;
            e.op(Op::CallLast, frame_bytes(args.number(2)?));
            e.wide(std::ptr::from_ref(function) as u64);
        }
        Generic::CallOnly => {
            let function = e.local(args.label(1))?;
            e.op(Op::CallOnly, 0);
            e.wide(std::ptr::from_ref(function) as u64);
        }
        Generic::CallExt => external(e, at, None)?,
        Generic::CallExtLast => external(e, at, Some(args.number(2)?))?,
        Generic::CallExtOnly => external(e, at, Some(0))?,
        Generic::CallFun => {
            let arity = args.number(0)?;
            call_fun(e, rest, arity, &Arg::X(u16::try_from(arity).map_err(|_| Unfit)?))?;
        }
        Generic::CallFun2 => {
            let arity = args.number(1)?;
            call_fun(e, rest, arity, args.at(2)?)?;
        }
        Generic::Apply => {
            e.op(Op::Apply, args.number(0)?);
            e.continuation(1);
        }
        Generic::ApplyLast => {
            let slots = args.number(1)?;
            e.op(Op::ApplyLast, args.number(0)?);
            e.word(frame_bytes(slots));
            return_to_caller(e, slots);
        }
        Generic::Return => e.op(Op::Return, 0),
        Generic::Deallocate => {
            let bytes = frame_bytes(args.number(0)?);
            if rest.get(1).is_some_and(|next| next.op == Generic::Return) {
                e.op(Op::DeallocateReturn, bytes);
                return Ok(2);
            }
            e.op(Op::Deallocate, bytes);
        }
        Generic::Trim => {
            let bytes = frame_bytes(args.number(0)?);
            if let Some(next) = rest.get(1)
                && next.op == Generic::Call
            {
                let function = e.local(Args(next.args).label(1))?;
                e.place_of(next);
                e.op(Op::TrimCall, bytes);
                e.continuation(3);
                e.wide(std::ptr::from_ref(function) as u64);
                return Ok(2);
            }
            e.op(Op::Trim, bytes);
        }

        // ---- room
        Generic::Allocate | Generic::AllocateZero => return allocate(e, rest, args.number(0)?, 0, args.number(1)?),
        Generic::AllocateHeap | Generic::AllocateHeapZero => {
            return allocate(e, rest, args.number(0)?, args.heap(1)?, args.number(2)?);
        }
        Generic::TestHeap => {
            let (words, live) = (args.heap(0)?, args.number(1)?);
            if words > 0
                && let Some(used) = test_and_put(e, rest, words, live)?
            {
                return Ok(used);
            }
            if words > 0 {
                test_heap(e, words, live);
            }
        }
        Generic::Init => {
            let y = e.reg(args.at(0)?)?;
            e.op(Op::InitY, y);
            e.word(1);
        }
        Generic::InitYregs => init_yregs(e, args.items(0)?)?,

        // ---- lists and tuples
        Generic::PutList => {
            let destination = e.reg(args.at(2)?)?;
            match (args.at(0)?.reg(), args.at(1)?.reg()) {
                (Some(head), Some(tail)) => {
                    let (head, tail) = (e.register(head), e.register(tail));
                    e.op(Op::PutList, destination);
                    e.pair(head, tail);
                }
                _ => {
                    e.op(Op::PutListS, destination);
                    e.source(args.at(0)?)?;
                    e.source(args.at(1)?)?;
                }
            }
        }
        Generic::GetList => {
            let source = e.reg_of(args.at(0)?)?;
            let (head, tail) = (e.reg(args.at(1)?)?, e.reg(args.at(2)?)?);
            e.op(if at.checked { Op::CheckedGetList } else { Op::GetList }, source);
            e.pair(head, tail);
        }
        Generic::GetHd | Generic::GetTl => {
            let source = e.reg_of(args.at(0)?)?;
            let destination = e.reg(args.at(1)?)?;
            e.op(
                match (at.op, at.checked) {
                    (Generic::GetHd, false) => Op::GetHd,
                    (Generic::GetHd, true) => Op::CheckedGetHd,
                    (_, false) => Op::GetTl,
                    (_, true) => Op::CheckedGetTl,
                },
                source,
            );
            e.pair(destination, 0);
        }
        Generic::GetTupleElement => return elements(e, rest),
        // What may be known to others must not be changed.
        Generic::SetTupleElement if at.refused => e.op(Op::Failed, 0),
        Generic::SetTupleElement => {
            let tuple = e.reg_of(args.at(1)?)?;
            let index = args.number(2)?;
            e.op(if at.checked { Op::CheckedSetElement } else { Op::SetElement }, tuple);
            e.source(args.at(0)?)?;
            e.word(1 + index);
        }
        Generic::PutTuple2 => {
            let destination = e.reg(args.at(0)?)?;
            let items = args.items(1)?;
            e.op(Op::PutTuple, destination);
            e.word(items.len() as u32);
            for item in items {
                e.source(item)?;
            }
        }

        // ---- tests
        Generic::IsNonemptyList => {
            let source = e.reg_of(args.at(1)?)?;
            if let Some(next) = rest.get(1)
                && next.op == Generic::GetList
                && next.args.first().and_then(Arg::reg) == args.at(1)?.reg()
                && args.at(1)?.reg().is_some()
            {
                let next = Args(next.args);
                let (head, tail) = (e.reg(next.at(1)?)?, e.reg(next.at(2)?)?);
                if head != tail
                    && let Some((label, k)) = head_test(e, rest.get(2), next.at(1)?)
                {
                    e.op(Op::IsNonemptyHeadIs, source);
                    e.label(args.label(0));
                    e.pair(head, tail);
                    e.label(label);
                    e.word(k as u32);
                    return Ok(3);
                }
                e.op(Op::IsNonemptyGetList, source);
                e.label(args.label(0));
                e.pair(head, tail);
                return Ok(2);
            }
            e.op(Op::IsNonemptyList, source);
            e.label(args.label(0));
        }
        Generic::IsTuple => {
            let source = e.reg_of(args.at(1)?)?;
            if let Some(next) = rest.get(1)
                && next.op == Generic::TestArity
                && next.args.first() == at.args.first()
                && next.args.get(1).and_then(Arg::reg) == args.at(1)?.reg()
            {
                e.op(Op::IsTupleOfArity, source);
                e.label(args.label(0));
                e.word(tuple_header(Args(next.args).number(2)?)?);
                return Ok(2);
            }
            if let Some(next) = rest.get(1)
                && next.op == Generic::TestArity
                && next.args.get(1).and_then(Arg::reg) == args.at(1)?.reg()
            {
                e.op(Op::IsTupleThenArity, source);
                e.label(args.label(0));
                e.label(Args(next.args).label(0));
                e.word(tuple_header(Args(next.args).number(2)?)?);
                return Ok(2);
            }
            e.op(Op::IsTuple, source);
            e.label(args.label(0));
        }
        Generic::TestArity => {
            let source = e.reg_of(args.at(1)?)?;
            e.op(Op::IsTupleOfArity, source);
            e.label(args.label(0));
            e.word(tuple_header(args.number(2)?)?);
        }
        Generic::IsTaggedTuple => {
            let source = e.reg_of(args.at(1)?)?;
            let tag = e.short(args.at(3)?).ok_or(Unfit)?;
            e.op(Op::IsTaggedTuple, source);
            e.label(args.label(0));
            e.word(tuple_header(args.number(2)?)?);
            e.word(tag as u32);
        }
        Generic::IsNil => one(e, &args, Op::IsNil)?,
        Generic::IsList => one(e, &args, Op::IsList)?,
        Generic::IsAtom => one(e, &args, Op::IsAtom)?,
        Generic::IsFloat => one(e, &args, Op::IsFloat)?,
        Generic::IsNumber => one(e, &args, Op::IsNumber)?,
        Generic::IsMap => one(e, &args, Op::IsMap)?,
        Generic::IsBinary => one(e, &args, Op::IsBinary)?,
        Generic::IsBitstr => one(e, &args, Op::IsBitstring)?,
        Generic::IsPid => one(e, &args, Op::IsPid)?,
        Generic::IsBoolean => one(e, &args, Op::IsBoolean)?,
        Generic::IsFunction => one(e, &args, Op::IsFunction)?,
        Generic::IsEqExact => equality(e, &args, [Op::IsEqExact, Op::IsEqExactK, Op::IsEqExactS])?,
        Generic::IsNeExact => equality(e, &args, [Op::IsNeExact, Op::IsNeExactK, Op::IsNeExactS])?,
        Generic::IsLt => order(e, &args, [Op::IsLt, Op::IsLtRK, Op::IsLtKR, Op::IsLtS])?,
        Generic::IsGe if is_between(e, rest)? => return Ok(2),
        Generic::IsInteger if is_integer_between(e, rest)? => return Ok(3),
        Generic::IsInteger => one(e, &args, Op::IsInteger)?,
        Generic::IsGe => order(e, &args, [Op::IsGe, Op::IsGeRK, Op::IsGeKR, Op::IsGeS])?,
        Generic::SelectVal => select_val(e, &args)?,
        Generic::SelectTupleArity => {
            let source = e.reg_of(args.at(0)?)?;
            let items = args.items(2)?;
            e.op(Op::SelectArity, source);
            e.label(args.label(1));
            e.word(items.len() as u32 / 2);
            for pair in items.chunks_exact(2) {
                let arity = pair[0].number().and_then(|n| u32::try_from(n).ok()).ok_or(Unfit)?;
                // No tuple is so large: a header that none has.
                e.word(tuple_header(arity).unwrap_or(0));
                e.label(pair[1].label().unwrap_or(0));
            }
        }
        _ => {
            if !binary::translate(e, at)? {
                ops::translate(e, at)?;
            }
        }
    }
    Ok(1)
}

/// A label that is branched back to. The process may stop there: all X registers below the last that is live have to hold terms
/// then, and afterwards there has to be as much room on the heap as anything before may have promised.
pub(crate) fn loop_head(e: &mut Emitter, head: &LoopHead, words: u32) {
    for hole in head.holes() {
        let x = e.register(Reg::X(hole));
        e.op(Op::MoveKX, x);
        e.word(Term::NIL.raw() as u32);
    }
    e.op(Op::LoopHead, head.live().into());
    if words > 0 {
        test_heap(e, words, head.live().into());
    }
}

fn test_heap(e: &mut Emitter, words: u32, live: u32) {
    e.op(Op::TestHeap, live);
    e.word(8 * (words + RESERVED as u32));
}

/// The header word of a tuple, all of which lies in 32 bits.
fn tuple_header(arity: u32) -> Result<u32, Unfit> {
    u32::try_from(Header::new(Kind::Tuple, arity as usize).raw()).map_err(|_| Unfit)
}

fn one(e: &mut Emitter, args: &Args<'_>, op: Op) -> Result<(), Unfit> {
    let source = e.reg_of(args.at(1)?)?;
    e.op(op, source);
    e.label(args.label(0));
    Ok(())
}

fn init_yregs(e: &mut Emitter, items: &[Arg]) -> Result<(), Unfit> {
    let mut slots = Vec::with_capacity(items.len());
    for item in items {
        match item.reg() {
            Some(Reg::Y(y)) => slots.push(y),
            _ => return Err(Unfit),
        }
    }
    slots.sort_unstable();
    let mut i = 0;
    while i < slots.len() {
        let mut n = 1;
        while i + n < slots.len() && slots[i + n] == slots[i] + n as u16 {
            n += 1;
        }
        let first = e.register(Reg::Y(slots[i]));
        e.op(Op::InitY, first);
        e.word(n as u32);
        i += n;
    }
    Ok(())
}

fn equality(e: &mut Emitter, args: &Args<'_>, [both, short, any]: [Op; 3]) -> Result<(), Unfit> {
    let (a, b) = (args.at(1)?, args.at(2)?);
    let (reg, other) = if a.reg().is_some() { (a, b) } else { (b, a) };
    let label = args.label(0);
    if let (Some(a), Some(b)) = (reg.reg(), other.reg()) {
        let (a, b) = (e.register(a), e.register(b));
        e.op(both, a);
        e.pair(b, 0);
        e.label(label);
    } else if let (Some(r), Some(k)) = (reg.reg(), e.short(other)) {
        let r = e.register(r);
        e.op(short, r);
        e.label(label);
        e.word(k as u32);
    } else {
        e.op(any, 0);
        e.source(reg)?;
        e.source(other)?;
        e.label(label);
    }
    Ok(())
}

fn order(e: &mut Emitter, args: &Args<'_>, [both, rk, kr, any]: [Op; 4]) -> Result<(), Unfit> {
    let (a, b) = (args.at(1)?, args.at(2)?);
    let label = args.label(0);
    match (a.reg(), b.reg()) {
        (Some(a), Some(b)) => {
            let (a, b) = (e.register(a), e.register(b));
            e.op(both, a);
            e.pair(b, 0);
            e.label(label);
            return Ok(());
        }
        (Some(a), None) => {
            if let Some(k) = e.short(b) {
                let a = e.register(a);
                e.op(rk, a);
                e.label(label);
                e.word(k as u32);
                return Ok(());
            }
        }
        (None, Some(b)) => {
            if let Some(k) = e.short(a) {
                let b = e.register(b);
                e.op(kr, b);
                e.label(label);
                e.word(k as u32);
                return Ok(());
            }
        }
        (None, None) => {}
    }
    e.op(any, 0);
    e.source(a)?;
    e.source(b)?;
    e.label(label);
    Ok(())
}

fn select_val(e: &mut Emitter, args: &Args<'_>) -> Result<(), Unfit> {
    let fail = args.label(1);
    let mut keys: Vec<(Term, u32)> = Vec::new();
    for pair in args.items(2)?.chunks_exact(2) {
        keys.push((e.constant(&pair[0])?, pair[1].label().unwrap_or(0)));
    }
    let short: Option<Vec<(i32, u32)>> = keys.iter().map(|(k, l)| Some((short_of(*k)?, *l))).collect();
    let Some(mut short) = short else {
        e.op(Op::SelectTerm, 0);
        e.source(args.at(0)?)?;
        e.label(fail);
        e.word(keys.len() as u32);
        for (key, label) in keys {
            e.constant_word(key);
            e.label(label);
        }
        return Ok(());
    };
    let source = e.reg_of(args.at(0)?)?;
    let numbers: Option<Vec<i64>> = keys.iter().map(|(k, _)| k.as_small()).collect();
    if let Some(numbers) = numbers
        && numbers.len() >= 4
        && let (Some(min), Some(max)) = (numbers.iter().min(), numbers.iter().max())
        && max - min < 2 * numbers.len() as i64 + 8
    {
        let span = (max - min + 1) as usize;
        let mut table = vec![fail; span];
        for (number, (_, label)) in numbers.iter().zip(&keys).rev() {
            table[(number - min) as usize] = *label;
        }
        e.op(Op::SelectTable, source);
        e.label(fail);
        e.word(span as u32);
        e.word(i32::try_from(*min).map_err(|_| Unfit)? as u32);
        for label in table {
            e.label(label);
        }
        return Ok(());
    }
    let op = if short.len() <= 6 { Op::SelectLinear } else { Op::SelectBinary };
    if op == Op::SelectBinary {
        short.sort_by_key(|(k, _)| *k);
    }
    e.op(op, source);
    e.label(fail);
    e.word(short.len() as u32);
    for (key, label) in short {
        e.word(key as u32);
        e.label(label);
    }
    Ok(())
}

// ---- calls out of the module

/// Tries a native intrinsic before the Erlang code of the function.
pub(crate) fn try_intrinsic(e: &mut Emitter, def: &'static BifDef, module: &Module) {
    e.op(Op::TryIntrinsic, def.arity.into());
    e.wide(std::ptr::from_ref(def) as u64);
    e.wide(std::ptr::from_ref(module) as u64);
}

/// One of the instructions that stand for a function: with a continuation, or dropping the frame.
fn special(e: &mut Emitter, [body, tail]: [Op; 2], last: Option<u32>) {
    match last {
        Some(slots) => {
            e.op(tail, 0);
            e.word(frame_bytes(slots));
            if tail == Op::ApplyListLast {
                return_to_caller(e, slots);
            }
        }
        None => {
            e.op(body, 0);
            e.continuation(1);
        }
    }
}

/// The instructions that stand for calls of a function, in a body and at the end.
fn instruction_for(name: Mfa) -> Option<[Op; 2]> {
    if name.module != am::erlang {
        return None;
    }
    match (name.function, name.arity) {
        (am::apply, 2) => Some([Op::ApplyFunList, Op::ApplyFunListLast]),
        (am::apply, 3) => Some([Op::ApplyList, Op::ApplyListLast]),
        (am::yield_, 0) => Some([Op::YieldCall, Op::YieldLast]),
        (am::hibernate, 3) => Some([Op::Hibernate, Op::Hibernate]),
        _ => None,
    }
}

/// Do calls of an export enter the function that it leads to, as opposed to running an instruction or a built-in?
pub fn is_ordinary_call(vm: &Vm, export: &Export) -> bool {
    instruction_for(export.mfa).is_none() && built_in(vm, export).is_none()
}

fn external(e: &mut Emitter, at: &At<'_>, last: Option<u32>) -> Result<(), Unfit> {
    let export = e.import(Args(at.args).number(1)?.into())?;
    let name = export.mfa;
    match instruction_for(name) {
        Some([Op::Hibernate, _]) => {
            e.op(Op::Hibernate, 0);
            return Ok(());
        }
        Some(instructions) => {
            special(e, instructions, last);
            return Ok(());
        }
        None => {}
    }
    if let Some(def) = e.bif(export) {
        send_built(e, at);
        call_bif(e, def, u32::from(name.arity), last);
        return Ok(());
    }
    let address = std::ptr::from_ref(export) as u64;
    match last {
        None => {
            e.op(Op::CallExt, 0);
            e.continuation(3);
        }
        Some(0) => e.op(Op::CallExtOnly, 0),
        Some(slots) => e.op(Op::CallExtLast, frame_bytes(slots)),
    }
    e.wide(address);
    Ok(())
}

fn call_fun(e: &mut Emitter, rest: &[At<'_>], arity: u32, fun: &Arg) -> Result<(), Unfit> {
    // A call that is followed by dropping the frame and returning is a tail call.
    if let [_, drop, after, ..] = rest
        && drop.op == Generic::Deallocate
        && after.op == Generic::Return
        && rest[0].frame != MIXED
    {
        let slots = Args(drop.args).number(0)?;
        e.op(Op::CallFunLast, arity);
        e.word(frame_bytes(slots));
        e.source(fun)?;
        return Ok(());
    }
    e.op(Op::CallFun, arity);
    e.continuation(2);
    e.source(fun)?;
    Ok(())
}
