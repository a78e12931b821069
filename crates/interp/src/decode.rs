//! From generic instructions to tier-0 code: one function, when it is first called.
//!
//! | file | holds |
//! | --- | --- |
//! | `decode.rs` | the driver: frames, labels, publishing |
//! | `operands.rs` | what is decoded: generic instructions and their operands |
//! | `emit.rs` | the code being made: words, distances, constants, continuation records |
//! | `basic.rs` | moves, calls, tests, lists, tuples |
//! | `fused.rs` | neighbours as one instruction |
//! | `ops.rs` | guards, maps, exceptions, messages, floats |
//! | `built_ins.rs` | calls of built-in functions |
//! | `binary.rs` | bit strings |
//! | `loop_intrinsics.rs` | what stands before the code of loop intrinsics |
//!
//! The frame size at each instruction is found first, by following all branches: lines and frames go to the side table, and
//! each call's continuation record says how many Y registers lie below the caller's return point.

mod basic;
mod binary;
mod built_ins;
mod emit;
mod fused;
mod loop_intrinsics;
mod operands;
mod ops;
mod versions;

use crate::code::{self, Decoded, MIXED};
use crate::instr::Op as Tier0;
use emit::{Emitter, Unfit};
use myriad_beam::{Arg, Body, Import, Instr, Kind, Op};
use myriad_term::am;
use myriad_vm::Vm;
use myriad_vm::code::{Function, Module};
use operands::{Args, At};
use std::collections::HashMap;

/// Decodes a function and publishes the code (unless another thread was first).
#[cold]
pub fn decode(vm: &'static Vm, function: &'static Function) {
    let Some(decoded) = translate(vm, function) else { return };
    code::publish(vm, function, Box::new(decoded));
}

/// The code of a function; `None` for one without a module.
pub fn translate(vm: &'static Vm, function: &'static Function) -> Option<Decoded> {
    let module = function.module()?;
    let fallback = || {
        let mut emitter = Emitter::new(vm, module, function, 0);
        emitter.op(Tier0::FailLoading, 0);
        emitter.finish().ok()
    };
    if function.mfa == crate::machine::mfa(am::erlang, am::hibernate, 3) {
        // Reached by `apply` and by funs; a call of its name is the same instruction (`basic.rs`).
        let mut emitter = Emitter::new(vm, module, function, 0);
        emitter.op(Tier0::Hibernate, 0);
        return emitter.finish().ok();
    }
    let Ok(body) = module.beam.decode_function(function.index) else { return fallback() };
    match translate_body(vm, module, function, &body) {
        Ok(decoded) => Some(decoded),
        Err(Unfit) => fallback(),
    }
}

fn translate_body(
    vm: &'static Vm,
    module: &'static Module,
    function: &'static Function,
    body: &Body,
) -> Result<Decoded, Unfit> {
    let def = module.beam.functions.get(function.index as usize).ok_or(Unfit)?;
    let all: Vec<Instr<'_>> = body.iter().collect();
    let frames = frames(&all, &module.beam.imports);
    let referenced = referenced(&all);
    let proofs = module.beam.proofs(function.index, body);
    let mut list = Vec::with_capacity(all.len());
    let mut line = 0;
    for (i, instruction) in all.iter().enumerate() {
        match instruction.op {
            Op::Line => {
                // Without a line table the operand means nothing.
                line = instruction.args.first().and_then(Arg::number).unwrap_or(0) as u32;
                continue;
            }
            Op::NifStart | Op::OnLoad | Op::ExecutableLine | Op::DebugLine | Op::Fclearerror | Op::Fcheckerror => {
                continue;
            }
            Op::Label => {
                let label = instruction.args.first().and_then(Arg::number).unwrap_or(0) as u32;
                if label != def.entry && label != def.info && !referenced.contains(&label) {
                    continue;
                }
            }
            _ => {}
        }
        list.push(At {
            op: instruction.op,
            args: instruction.args,
            line,
            frame: frames[i].unwrap_or(0),
            checked: proofs.must_check(i),
            refused: proofs.must_refuse(i),
            adopts: proofs.must_adopt(i),
        });
    }
    let mut emitter = Emitter::new(vm, module, function, def.info);
    let mut rest = &list[..];
    while let Some((at, after)) = rest.split_first() {
        if at.op == Op::Label {
            let label = at.args.first().and_then(Arg::number).unwrap_or(0) as u32;
            emitter.define(label);
            if let Some(head) = module.beam.loop_head(label) {
                emitter.place(at.line, at.frame);
                basic::loop_head(&mut emitter, head, most_heap(&all)?);
                emitter.define_behind(label);
            }
            if label == def.entry {
                emitter.entry_here();
                if module.runs_intrinsics {
                    if let Some(shape) = vm.bifs.loop_intrinsic(function.mfa) {
                        loop_intrinsics::translate(&mut emitter, function, shape, &list)?;
                    }
                    if let Some(native) = vm.bifs.native_intrinsic(function.mfa) {
                        emitter.place(0, 0);
                        basic::try_intrinsic(&mut emitter, native, module);
                    }
                    emitter.define(loop_intrinsics::OWN_CODE);
                }
            }
            rest = after;
            continue;
        }
        emitter.place(at.line, at.frame);
        if at.adopts {
            emitter.op(Tier0::AdoptMessage, 0);
        }
        // An instruction that adopts the message before it is not merged with instructions that come earlier.
        let next = if proofs.adoptions() == 0 { None } else { after.iter().position(|at| at.adopts) };
        let used = basic::translate(&mut emitter, next.map_or(rest, |next| &rest[..=next]))?;
        rest = &rest[used.clamp(1, rest.len())..];
    }
    emitter.finish()
}

/// The most words of heap that an instruction promises to those after it.
fn most_heap(all: &[Instr<'_>]) -> Result<u32, Unfit> {
    let mut most = 0;
    for instruction in all {
        for (i, kind) in instruction.op.kinds().iter().enumerate() {
            if *kind == Kind::Heap {
                most = most.max(Args(instruction.args).heap(i)?);
            }
        }
    }
    Ok(most)
}

/// Calls `f` with each label that an instruction may branch to.
fn each_label(instruction: &Instr<'_>, mut f: impl FnMut(u32)) {
    for (kind, arg) in instruction.op.kinds().iter().zip(instruction.args) {
        match arg {
            Arg::Label(label) if *kind != Kind::Entry && *label != 0 => f(*label),
            Arg::List(items) => {
                for item in items {
                    if let Arg::Label(label) = item
                        && *label != 0
                    {
                        f(*label);
                    }
                }
            }
            _ => {}
        }
    }
}

fn referenced(all: &[Instr<'_>]) -> std::collections::HashSet<u32> {
    let mut set = std::collections::HashSet::new();
    for instruction in all {
        each_label(instruction, |label| {
            set.insert(label);
        });
    }
    set
}

/// Does control never come to what stands below? Compilers leave out what would follow a call that always raises.
fn is_last(instruction: &Instr<'_>, imports: &[Import]) -> bool {
    let raises = || match instruction.args {
        [_, import] => import.number().and_then(|i| imports.get(i as usize)).is_some_and(|import| import.always_raises),
        _ => false,
    };
    instruction.op.is_terminal() || instruction.op == Op::CallExt && raises()
}

/// The frame before each instruction; `None` where control does not come.
fn frames(all: &[Instr<'_>], imports: &[Import]) -> Vec<Option<u32>> {
    let number = |arg: Option<&Arg>| arg.and_then(Arg::number).unwrap_or(0) as u32;
    let labels: HashMap<u32, usize> = all
        .iter()
        .enumerate()
        .filter(|(_, instruction)| instruction.op == Op::Label)
        .map(|(i, instruction)| (number(instruction.args.first()), i))
        .collect();
    let mut frames: Vec<Option<u32>> = vec![None; all.len()];
    let mut work = Vec::new();
    // Two ways in: the labels before func_info, and the entry after it.
    if let Some(info) = all.iter().position(|instruction| instruction.op == Op::FuncInfo) {
        for start in [0, info + 1] {
            if let Some(slot) = frames.get_mut(start)
                && slot.is_none()
            {
                *slot = Some(0);
                work.push(start);
            }
        }
    }
    while let Some(start) = work.pop() {
        let mut i = start;
        while let (Some(instruction), Some(Some(frame))) = (all.get(i), frames.get(i).copied()) {
            let args = instruction.args;
            let after = match instruction.op {
                Op::Allocate | Op::AllocateHeap | Op::AllocateZero | Op::AllocateHeapZero => number(args.first()),
                Op::Deallocate => 0,
                Op::Trim if frame != MIXED => frame.saturating_sub(number(args.first())),
                _ => frame,
            };
            let mut reach = |at: usize, work: &mut Vec<usize>| {
                let Some(slot) = frames.get_mut(at) else { return };
                let new = match *slot {
                    None => Some(after),
                    Some(known) if known == after || known == MIXED => return,
                    Some(_) => Some(MIXED),
                };
                *slot = new;
                work.push(at);
            };
            each_label(instruction, |label| {
                if let Some(at) = labels.get(&label) {
                    reach(*at, &mut work);
                }
            });
            if is_last(instruction, imports) {
                break;
            }
            // Go on below, unless that is known already.
            let before = work.len();
            reach(i + 1, &mut work);
            if work.len() == before {
                break;
            }
            work.pop();
            i += 1;
        }
    }
    frames
}
