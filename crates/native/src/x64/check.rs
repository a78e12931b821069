//! What edited code has to keep, whatever made it.
//!
//! B1. rsp never changes but by a call that comes back; r15 is not written; rbp is read and written as the counter only, where the mark says so.
//! B2. What is addressed by rsp lies in the spill area.
//! B3. Code leaves by an indirect jump through a register or to the first word of a record, where its mark says that it leaves.
//! B4. At the entry nothing lives but parameters, at a point nothing but its two words.

use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};

use super::counter;
use super::decode::Decoded;
use super::liveness::{self, Set};
use super::marks::{Kind, Mark, Ranges};

/// Checks native/B1 to B4; gives what lives before each instruction.
pub fn check(
    decoded: &Decoded,
    ranges: &Ranges,
    entry: u32,
    handlers: &[u32],
    spilled: u32,
) -> Result<Vec<Set>, String> {
    let mut factory = InstructionInfoFactory::new();
    let mut effects = Vec::with_capacity(decoded.instructions.len());
    for instruction in &decoded.instructions {
        let mark = ranges.at(instruction.ip() as u32);
        let at = |what: String| format!("{what} at {:#x}", instruction.ip());
        check_one(&mut factory, instruction, mark, spilled).map_err(at)?;
        effects.push(liveness::effect(&mut factory, instruction, mark, spilled).map_err(at)?);
    }
    let live = liveness::live_before(decoded, &effects, spilled);
    let check_way_in = |offset: u32, allowed: &Set| {
        let number = decoded.number(u64::from(offset)).ok_or("a way in without code")?;
        match live[number].first_beyond(allowed) {
            Some(what) => Err(format!("{what} lives into {offset:#x}")),
            None => Ok(()),
        }
    };
    check_way_in(entry, &liveness::at_entry(spilled))?;
    handlers.iter().try_for_each(|offset| check_way_in(*offset, &liveness::at_point(spilled)))?;
    Ok(live)
}

fn check_one(
    factory: &mut InstructionInfoFactory,
    instruction: &Instruction,
    mark: Option<Mark>,
    spilled: u32,
) -> Result<(), String> {
    let flow = instruction.flow_control();
    let kind = mark.map(|mark| mark.kind);
    match (flow, kind) {
        (FlowControl::IndirectBranch, Some(Kind::Tail(_))) if instruction.op0_kind() == OpKind::Register => {}
        (FlowControl::IndirectBranch, Some(Kind::Return))
            if instruction.memory_base() == Register::RCX
                && instruction.memory_index() == Register::None
                && instruction.memory_displacement64() == 0 => {}
        (FlowControl::IndirectCall, Some(Kind::Leaf(_) | Kind::RareLeaf | Kind::Door))
            if instruction.op0_kind() == OpKind::Register => {}
        (FlowControl::Exception, _) if instruction.mnemonic() == Mnemonic::Ud2 => {}
        (FlowControl::Next | FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch, _) => {}
        _ => return Err(format!("{:?} with mark {kind:?} (native/B3)", instruction.mnemonic())),
    }
    if counter::is_access(instruction) {
        return Err("the counter in memory (native/B1)".to_owned());
    }
    let counts = kind == Some(Kind::Counter) && counter::is_move(instruction);
    let calls = flow == FlowControl::IndirectCall;
    let info = factory.info(instruction);
    for used in info.used_registers() {
        let register = used.register().full_register();
        let reads = matches!(used.access(), OpAccess::Read | OpAccess::CondRead);
        let wrong = match register {
            Register::RBP => !counts,
            Register::R15 => !reads,
            Register::RSP => !calls && (!reads || is_operand(instruction, Register::RSP)),
            _ => false,
        };
        if wrong {
            return Err(format!("{register:?} in {:?} (native/B1)", instruction.mnemonic()));
        }
    }
    for memory in info.used_memory() {
        if memory.base() == Register::RSP && !calls {
            let (offset, size) = (memory.displacement(), memory.memory_size().size() as u64);
            let inside = memory.index() == Register::None
                && offset.checked_add(size).is_some_and(|end| end <= u64::from(spilled));
            if !inside {
                return Err("an access beside the spill area (native/B2)".to_owned());
            }
        } else if memory.index() == Register::RSP {
            return Err("an index of rsp (native/B2)".to_owned());
        }
    }
    Ok(())
}

fn is_operand(instruction: &Instruction, register: Register) -> bool {
    let lea = instruction.mnemonic() == Mnemonic::Lea && instruction.memory_base() == register;
    lea || (0..instruction.op_count())
        .any(|index| instruction.op_kind(index) == OpKind::Register && instruction.op_register(index) == register)
}
