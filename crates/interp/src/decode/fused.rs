//! Neighbours that belong together become one instruction: each dispatch that is left out is one less to mispredict.
//!
//! Fused are only neighbours without a label between them. The place (line, frame) of a fused instruction is that of the part which
//! may stop or raise; a continuation's is that of the call.

use super::emit::{Emitter, Unfit, short_of};
use super::operands::{Args, At, frame_bytes};
use crate::instr::Op;
use myriad_beam::{Arg, Op as Generic, Reg};
use myriad_heap::RESERVED;

/// X0.
const X0: Option<Reg> = Some(Reg::X(0));
/// Register moves in one instruction.
const MOST_MOVES: usize = 6;
/// Largest tuple element that the short instructions reach.
const NEAR_ELEMENTS: u64 = 8190;

/// A register-to-register move's registers, destination first.
fn register_move(at: &At<'_>) -> Option<(Reg, Reg)> {
    match (at.op, at.args) {
        (Generic::Move, [source, destination]) => Some((destination.reg()?, source.reg()?)),
        _ => None,
    }
}

/// A test whether a register is a constant: label and constant.
pub(super) fn head_test(e: &mut Emitter, at: Option<&At<'_>>, head: &Arg) -> Option<(u32, i32)> {
    let at = at.filter(|at| at.op == Generic::IsEqExact)?;
    let args = Args(at.args);
    let (a, b) = (args.at(1).ok()?, args.at(2).ok()?);
    (a.reg() == head.reg()).then_some((args.label(0), e.short(b)?))
}

pub(super) fn moves(e: &mut Emitter, rest: &[At<'_>]) -> Result<usize, Unfit> {
    let args = Args(rest[0].args);
    let (source, destination) = (args.at(0)?, args.at(1)?);
    if destination.reg() == X0
        && let Some(used) = move_and_leave(e, rest)?
    {
        return Ok(used);
    }
    if let Some(used) = move_with_constant(e, rest)? {
        return Ok(used);
    }
    let Some((to, from)) = register_move(&rest[0]) else {
        let to = e.reg(destination)?;
        let term = e.constant(source)?;
        if to & 1 == 0
            && let Some(short) = short_of(term)
            && let Some(next) = rest.get(1)
            && matches!(next.op, Generic::Call | Generic::CallOnly)
        {
            let function = e.local(Args(next.args).label(1))?;
            e.place_of(next);
            e.op(if next.op == Generic::Call { Op::MoveKCall } else { Op::MoveKCallOnly }, to);
            e.word(short as u32);
            if next.op == Generic::Call {
                e.continuation(3);
            }
            e.wide(std::ptr::from_ref(function) as u64);
            return Ok(2);
        }
        match short_of(term) {
            Some(short) => {
                e.op(if to & 1 == 0 { Op::MoveKX } else { Op::MoveKY }, to);
                e.word(short as u32);
            }
            None => {
                e.op(Op::MoveC, to);
                e.wide(term.raw());
            }
        }
        return Ok(1);
    };
    // Register moves that follow go with it.
    let mut run = vec![(to, from)];
    run.extend(run_of_moves(&rest[1..], MOST_MOVES - 1));
    let mut operands = Vec::with_capacity(6);
    for (to, from) in &run {
        operands.push(e.register(*to));
        operands.push(e.register(*from));
    }
    match operands[..] {
        [first, ref more @ .., last] if run.len() > 1 => {
            e.op([Op::Move2, Op::Move3, Op::Move4, Op::Move5, Op::Move6][run.len() - 2], first);
            more.chunks_exact(2).for_each(|two| e.pair(two[0], two[1]));
            e.pair(last, 0);
        }
        _ => {
            let (a, b) = (operands[0], operands[1]);
            let op = match (to, from) {
                (Reg::X(_), Reg::X(_)) => Op::MoveXX,
                (Reg::Y(_), Reg::X(_)) => Op::MoveXY,
                (Reg::X(_), Reg::Y(_)) => Op::MoveYX,
                _ => Op::MoveRR,
            };
            e.op(op, a);
            e.pair(b, 0);
        }
    }
    Ok(run.len())
}

/// A move of a constant that fits a word: destination and constant.
fn constant_move(e: &mut Emitter, at: &At<'_>) -> Option<(Reg, i32)> {
    match (at.op, at.args) {
        (Generic::Move, [source, destination]) => Some((destination.reg()?, e.short(source)?)),
        _ => None,
    }
}

/// Two moves of which one or both are of constants, as calls have them before them.
fn move_with_constant(e: &mut Emitter, rest: &[At<'_>]) -> Result<Option<usize>, Unfit> {
    let [first, second, after @ ..] = rest else { return Ok(None) };
    let second_constant = constant_move(e, second);
    let called = after.first().is_some_and(|next| matches!(next.op, Generic::Call | Generic::CallOnly));
    let goes_with_call = match (&second_constant, register_move(second)) {
        (Some(_), _) => called,
        (None, Some((to, _))) => to == Reg::X(0) && leaves(after),
        (None, None) => return Ok(None),
    };
    if goes_with_call {
        return Ok(None);
    }
    let (mut moved, (constant_to, constant)) = match (constant_move(e, first), second_constant) {
        (Some((to, constant)), Some((second_to, second_constant))) => {
            let (to, second_to) = (e.register(to), e.register(second_to));
            e.op(Op::MoveKK, to);
            e.word(constant as u32);
            e.pair(second_to, 0);
            e.word(second_constant as u32);
            return Ok(Some(2));
        }
        (Some(constant), None) => (register_move(second), constant),
        (None, Some(constant)) => (register_move(first), constant),
        (None, None) => return Ok(None),
    };
    // The register's move comes first in the instruction: it must not be one that uses what the constant's does.
    if second_constant.is_none() {
        moved = moved.filter(|(to, from)| *to != constant_to && *from != constant_to);
    }
    let Some((to, from)) = moved else { return Ok(None) };
    let (to, from, constant_to) = (e.register(to), e.register(from), e.register(constant_to));
    e.op(Op::MoveRK, to);
    e.pair(from, constant_to);
    e.word(constant as u32);
    Ok(Some(2))
}

/// Is the next instruction one that a move to X0 is fused with?
fn leaves(rest: &[At<'_>]) -> bool {
    rest.first()
        .is_some_and(|next| matches!(next.op, Generic::Call | Generic::CallLast | Generic::CallOnly | Generic::Return))
        || (rest.first().is_some_and(|next| next.op == Generic::Deallocate)
            && rest.get(1).is_some_and(|next| next.op == Generic::Return))
}

/// A move to X0 and the call or return after it.
fn move_and_leave(e: &mut Emitter, rest: &[At<'_>]) -> Result<Option<usize>, Unfit> {
    let [this, next, ..] = rest else { return Ok(None) };
    let source = Args(this.args).at(0)?;
    let next_args = Args(next.args);
    if let Some(reg) = source.reg() {
        let from = e.register(reg);
        match next.op {
            Generic::Call => {
                let function = e.local(next_args.label(1))?;
                e.place_of(next);
                e.op(Op::MoveCall, from);
                e.continuation(3);
                e.wide(std::ptr::from_ref(function) as u64);
            }
            Generic::CallLast => {
                let function = e.local(next_args.label(1))?;
                e.op(Op::MoveCallLast, from);
                e.word(frame_bytes(next_args.number(2)?));
                e.wide(std::ptr::from_ref(function) as u64);
            }
            Generic::CallOnly => {
                let function = e.local(next_args.label(1))?;
                e.op(Op::MoveCallOnly, from);
                e.wide(std::ptr::from_ref(function) as u64);
            }
            Generic::Return => e.op(Op::MoveReturn, from),
            Generic::Deallocate if rest.get(2).is_some_and(|after| after.op == Generic::Return) => {
                e.op(Op::MoveDeallocateReturn, from);
                e.word(frame_bytes(next_args.number(0)?));
                return Ok(Some(3));
            }
            _ => return Ok(None),
        }
        return Ok(Some(2));
    }
    if next.op == Generic::Return {
        let term = e.constant(source)?;
        match short_of(term) {
            Some(short) => {
                e.op(Op::MoveKReturn, 0);
                e.word(short as u32);
            }
            None => {
                e.op(Op::MoveCReturn, 0);
                e.wide(term.raw());
            }
        }
        return Ok(Some(2));
    }
    Ok(None)
}

/// What comes after an instruction, without what initialises registers that are nil already.
fn after_allocate<'r, 'a>(rest: &'r [At<'a>]) -> &'r [At<'a>] {
    let skipped = if rest.get(1).is_some_and(|next| next.op == Generic::InitYregs) { 2 } else { 1 };
    rest.get(skipped..).unwrap_or(&[])
}

/// The register moves at the head of `rest`, but for one that goes with what leaves the function: `(destination, source)`.
fn run_of_moves(rest: &[At<'_>], most: usize) -> Vec<(Reg, Reg)> {
    let mut run = Vec::new();
    while run.len() < most
        && let Some(next) = rest.get(run.len())
        && let Some(pair) = register_move(next)
        && !(pair.0 == Reg::X(0) && leaves(&rest[run.len() + 1..]))
    {
        run.push(pair);
    }
    run
}

pub(super) fn allocate(e: &mut Emitter, rest: &[At<'_>], slots: u32, words: u32, live: u32) -> Result<usize, Unfit> {
    let bytes = words.checked_add(slots + RESERVED as u32).and_then(|n| n.checked_mul(8)).ok_or(Unfit)?;
    if (1..=RESERVED as u32).contains(&slots) {
        let after = after_allocate(rest);
        let mut run = run_of_moves(after, 3);
        let saved = run.iter().take_while(|pair| matches!(pair, (Reg::Y(_), Reg::X(_)))).count();
        run.truncate(saved);
        if let [(to, from)] = run[..]
            && let Some(call) = after.get(1)
            && call.op == Generic::Call
        {
            let function = e.local(Args(call.args).label(1))?;
            let (to, from) = (e.register(to), e.register(from));
            e.op(Op::AllocateMoveCall, live);
            e.word(bytes);
            e.word(frame_bytes(slots));
            e.pair(from, to);
            // The instruction itself, which may stop to make room, has no frame yet.
            (e.line, e.frame, e.index) = (call.line, call.frame, call.index as u32);
            e.continuation(3);
            e.wide(std::ptr::from_ref(function) as u64);
            return Ok(rest.len() - after.len() + 2);
        }
        if let Some(op) = [Op::AllocateMove1, Op::AllocateMove2, Op::AllocateMove3].get(run.len().wrapping_sub(1)) {
            e.op(*op, live);
            e.word(bytes);
            e.word(frame_bytes(slots));
            for (to, from) in &run {
                let (to, from) = (e.register(*to), e.register(*from));
                e.pair(from, to);
            }
            return Ok(rest.len() - after.len() + run.len());
        }
    }
    let op = match slots {
        0 => Op::Allocate0,
        1 => Op::Allocate1,
        2 => Op::Allocate2,
        3 => Op::Allocate3,
        _ => Op::Allocate,
    };
    e.op(op, live);
    e.word(bytes);
    if op == Op::Allocate {
        e.word(frame_bytes(slots));
    }
    // All slots are nil already.
    Ok(if rest.get(1).is_some_and(|next| next.op == Generic::InitYregs) { 2 } else { 1 })
}

/// A check for room and the list cell or tuple after it, perhaps with the return after that.
pub(super) fn test_and_put(e: &mut Emitter, rest: &[At<'_>], words: u32, live: u32) -> Result<Option<usize>, Unfit> {
    let Some(put) = rest.get(1) else { return Ok(None) };
    let args = Args(put.args);
    let bytes = 8 * (words + RESERVED as u32);
    let returns = |destination: &Arg| if destination.reg() == X0 { returns(&rest[2..]) } else { None };
    match put.op {
        Generic::PutList => {
            let (head, tail, to) = (args.at(0)?, args.at(1)?, args.at(2)?);
            let (Some(head_reg), Some(tail_reg)) = (head.reg(), tail.reg()) else {
                let to = e.reg(to)?;
                e.op(Op::HeapPutListS, live);
                e.word(bytes);
                e.pair(to, 0);
                e.source(head)?;
                e.source(tail)?;
                return Ok(Some(2));
            };
            let (head, tail) = (e.register(head_reg), e.register(tail_reg));
            if let Some((slots, used)) = returns(to) {
                e.op(Op::HeapPutListReturn, live);
                e.word(bytes);
                e.word(frame_bytes(slots));
                e.pair(head, tail);
                return Ok(Some(2 + used));
            }
            let to = e.reg(to)?;
            e.op(Op::HeapPutList, live);
            e.word(bytes);
            e.pair(to, 0);
            e.pair(head, tail);
            Ok(Some(2))
        }
        Generic::PutTuple2 => {
            let (to, items) = (args.at(0)?, args.items(1)?);
            let Ok(size) = u16::try_from(items.len()) else { return Ok(None) };
            let (op, low, used) = match returns(to) {
                Some((slots, used)) if frame_bytes(slots) <= 0xffff => {
                    (Op::HeapPutTupleReturn, frame_bytes(slots), used)
                }
                _ => (Op::HeapPutTuple, e.reg(to)?, 0),
            };
            e.op(op, live);
            e.word(bytes);
            e.pair(low, size.into());
            items.iter().try_for_each(|item| e.source(item))?;
            Ok(Some(2 + used))
        }
        _ => Ok(None),
    }
}

/// Does the function return here? Y registers to drop, and instructions that it takes.
fn returns(rest: &[At<'_>]) -> Option<(u32, usize)> {
    match rest {
        [first, ..] if first.op == Generic::Return => Some((0, 1)),
        [first, second, ..] if first.op == Generic::Deallocate && second.op == Generic::Return => {
            Some((Args(first.args).number(0).ok()?, 2))
        }
        _ => None,
    }
}

/// A comparison of a register with a small constant: the constant below it, or above it; label and register.
fn limit(e: &mut Emitter, at: Option<&At<'_>>) -> Option<(Result<i32, i32>, u32, Reg)> {
    let at = at.filter(|at| at.op == Generic::IsGe)?;
    let args = Args(at.args);
    let (a, b, label) = (args.at(1).ok()?, args.at(2).ok()?, args.label(0));
    let small = |e: &mut Emitter, arg: &Arg| e.short(arg).filter(|k| k & 7 == 0);
    match (a.reg(), b.reg()) {
        (Some(reg), None) => Some((Ok(small(e, b)?), label, reg)),
        (None, Some(reg)) => Some((Err(small(e, a)?), label, reg)),
        _ => None,
    }
}

/// Two comparisons that make a range: its limits, label and register.
fn range(e: &mut Emitter, rest: &[At<'_>]) -> Option<(i32, i32, u32, Reg)> {
    let (first, label, reg) = limit(e, rest.first())?;
    let (second, other_label, other_reg) = limit(e, rest.get(1))?;
    let (low, high) = match (first, second) {
        (Ok(low), Err(high)) | (Err(high), Ok(low)) => (low, high),
        _ => return None,
    };
    (label == other_label && reg == other_reg && low <= high).then_some((low, high, label, reg))
}

fn emit_range(e: &mut Emitter, op: Op, (low, high, label, reg): (i32, i32, u32, Reg)) {
    let reg = e.register(reg);
    e.op(op, reg);
    e.label(label);
    e.word(low as u32);
    e.word(high as u32);
}

/// Emits two comparisons that make a range as one instruction.
pub(super) fn is_between(e: &mut Emitter, rest: &[At<'_>]) -> Result<bool, Unfit> {
    let Some(range) = range(e, rest) else { return Ok(false) };
    emit_range(e, Op::IsBetween, range);
    Ok(true)
}

/// The same with the test for an integer before them.
pub(super) fn is_integer_between(e: &mut Emitter, rest: &[At<'_>]) -> Result<bool, Unfit> {
    let Some((test, after)) = rest.split_first() else { return Ok(false) };
    let args = Args(test.args);
    let Some(range) = range(e, after) else { return Ok(false) };
    if (args.label(0), args.at(1)?.reg()) != (range.2, Some(range.3)) {
        return Ok(false);
    }
    emit_range(e, Op::IsIntegerBetween, range);
    Ok(true)
}

pub(super) fn elements(e: &mut Emitter, rest: &[At<'_>]) -> Result<usize, Unfit> {
    let near = |at: &At<'_>| -> Option<(Reg, u32, Reg)> {
        if at.op != Generic::GetTupleElement {
            return None;
        }
        let [source, index, destination] = at.args else { return None };
        let index = index.number().filter(|i| *i <= NEAR_ELEMENTS)?;
        Some((source.reg()?, index as u32, destination.reg()?))
    };
    let args = Args(rest[0].args);
    let Some((source, ..)) = near(&rest[0]) else {
        let tuple = e.reg_of(args.at(0)?)?;
        let destination = e.reg(args.at(2)?)?;
        e.op(if rest[0].checked { Op::CheckedGetElementFar } else { Op::GetElementFar }, tuple);
        e.pair(destination, 0);
        e.word(args.number(1)?.checked_add(1).ok_or(Unfit)?);
        return Ok(1);
    };
    let mut run = Vec::new();
    for at in rest.iter().take(3) {
        match near(at) {
            Some((tuple, index, destination)) if tuple == source => {
                run.push((index, destination));
                if destination == source {
                    break;
                }
            }
            _ => break,
        }
    }
    let tuple = e.register(source);
    let checked = rest.iter().take(run.len()).any(|at| at.checked);
    let op = match (run.len(), checked) {
        (3, false) => Op::GetElement3,
        (2, false) => Op::GetElement2,
        (_, false) => Op::GetElement,
        (3, true) => Op::CheckedGetElement3,
        (2, true) => Op::CheckedGetElement2,
        (_, true) => Op::CheckedGetElement,
    };
    e.op(op, tuple);
    for (index, destination) in &run {
        let destination = e.register(*destination);
        e.pair(destination, 8 * (1 + index));
    }
    Ok(run.len())
}
