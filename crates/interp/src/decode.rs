//! From generic instructions to tier-0 code: one function, when it is first called.
//!
//! | file | holds |
//! | --- | --- |
//! | `decode.rs` | the driver: labels, publishing |
//! | `operands.rs` | what is decoded: generic instructions and their operands |
//! | `emit.rs` | the code being made: words, distances, constants, continuation records |
//! | `basic.rs` | moves, calls, tests, lists, tuples |
//! | `fused.rs` | neighbours as one instruction |
//! | `ops.rs` | guards, maps, exceptions, messages, floats |
//! | `built_ins.rs` | calls of built-in functions |
//! | `binary.rs` | bit strings |
//! | `loop_intrinsics.rs` | what stands before the code of loop intrinsics |
//!
//! The frame size at each instruction is found first (`beam`'s analysis): lines and frames go to the side table, and each call's
//! continuation record says how many Y registers lie below the caller's return point.

mod basic;
mod binary;
mod built_ins;
pub mod companion;
mod emit;
mod fused;
mod loop_intrinsics;
mod operands;
mod ops;
mod versions;

use crate::code::{self, Decoded};
use crate::instr::Op as Tier0;
use crate::tiers;
use emit::Emitter;

pub use basic::is_ordinary_call;
pub use emit::{Unfit, constant};
pub use operands::At;

use myriad_beam::{Arg, Body, Instr, Kind, Op};
use myriad_term::am;
use myriad_vm::Vm;
use myriad_vm::code::{Function, Module};
use operands::Args;

/// Decodes a function and publishes the code (unless another thread was first).
#[cold]
pub fn decode(vm: &'static Vm, function: &'static Function) {
    let own = own_code(vm, function);
    let is_own = own.is_some();
    let Some(decoded) = own.or_else(|| stand_in(vm, function)) else { return };
    code::publish(vm, function, Box::new(decoded));
    // What tier 0 runs in place of the function's instructions is all there is to run.
    if is_own && let Some(compiler) = tiers::compiler() {
        compiler.decoded(vm, function);
    }
}

/// The code of a function; `None` for one without a module.
pub fn translate(vm: &'static Vm, function: &'static Function) -> Option<Decoded> {
    own_code(vm, function).or_else(|| stand_in(vm, function))
}

/// `erlang:hibernate/3`, reached by `apply` and by funs: a call of its name is the same instruction (`basic.rs`).
fn is_hibernate(function: &Function) -> bool {
    function.mfa == crate::machine::mfa(am::erlang, am::hibernate, 3)
}

/// The code of a function's own instructions, unless they go beyond a limit.
fn own_code(vm: &'static Vm, function: &'static Function) -> Option<Decoded> {
    let module = function.module()?;
    if is_hibernate(function) {
        return None;
    }
    let body = module.beam.decode_function(function.index).ok()?;
    translate_body(vm, module, function, &body).ok()
}

/// What runs in their place: one instruction.
fn stand_in(vm: &'static Vm, function: &'static Function) -> Option<Decoded> {
    let mut emitter = Emitter::new(vm, function.module()?, function, 0);
    emitter.op(if is_hibernate(function) { Tier0::Hibernate } else { Tier0::FailLoading }, 0);
    emitter.finish().ok()
}

/// Does OTP drop the line at this place, so that what follows without a line of its own is on the one before? It does in front of a tail
/// call of a function that is not built in, where a move to X0 comes first.
fn drops_line(vm: &Vm, module: &Module, all: &[Instr<'_>], at: usize) -> bool {
    let moves = at
        .checked_sub(1)
        .is_some_and(|before| all[before].op == Op::Move && matches!(all[before].args, [_, Arg::X(0)]));
    let Some(call) = all.get(at + 1).filter(|call| moves && matches!(call.op, Op::CallExtOnly | Op::CallExtLast))
    else {
        return false;
    };
    let callee = call.args.get(1).and_then(Arg::number).and_then(|i| module.imports.get(i as usize));
    callee.is_some_and(|export| vm.bifs.bif(export.mfa).is_none())
}

/// The instructions of a function that do something, and labels that are branched to, with what is known at each.
///
/// # Errors
/// The function is not one of the module's.
pub fn read<'a>(vm: &Vm, module: &Module, function: &Function, body: &'a Body) -> Result<Vec<At<'a>>, Unfit> {
    let def = module.beam.functions.get(function.index as usize).ok_or(Unfit)?;
    let all: Vec<Instr<'a>> = body.iter().collect();
    let frames = module.beam.frames(body);
    let proofs = module.beam.proofs(function.index, body);
    let built = if vm.config.built_messages { module.beam.built_messages(body) } else { Vec::new() };
    let mut messages = built.into_iter().peekable();
    let mut list = Vec::with_capacity(all.len());
    let mut line = 0;
    for (i, instruction) in all.iter().enumerate() {
        match instruction.op {
            Op::Line if drops_line(vm, module, &all, i) => continue,
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
                if label != def.entry && label != def.info && !frames.is_target(label) {
                    continue;
                }
            }
            _ => {}
        }
        list.push(At {
            index: i,
            op: instruction.op,
            args: instruction.args,
            line,
            frame: frames.before(i).unwrap_or(0),
            checked: proofs.must_check(i),
            refused: proofs.must_refuse(i),
            adopts: proofs.must_adopt(i),
            message: messages.next_if(|message| message.index == i),
        });
    }
    Ok(list)
}

fn translate_body(
    vm: &'static Vm,
    module: &'static Module,
    function: &'static Function,
    body: &Body,
) -> Result<Decoded, Unfit> {
    let def = module.beam.functions.get(function.index as usize).ok_or(Unfit)?;
    let proofs = module.beam.proofs(function.index, body);
    let list = read(vm, module, function, body)?;
    let mut emitter = Emitter::new(vm, module, function, def.info);
    let mut rest = &list[..];
    while let Some((at, after)) = rest.split_first() {
        if at.op == Op::Label {
            let label = at.args.first().and_then(Arg::number).unwrap_or(0) as u32;
            emitter.define(label);
            if let Some(head) = module.beam.loop_head(label) {
                emitter.place_of(at);
                basic::loop_head(&mut emitter, head, most_heap(body)?);
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
        emitter.place_of(at);
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
fn most_heap(body: &Body) -> Result<u32, Unfit> {
    let mut most = 0;
    for instruction in body.iter() {
        for (i, kind) in instruction.op.kinds().iter().enumerate() {
            if *kind == Kind::Heap {
                most = most.max(Args(instruction.args).heap(i)?);
            }
        }
    }
    Ok(most)
}
