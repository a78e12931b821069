//! What is read later: registers, flags, and words of the spill area, before each instruction.

use iced_x86::{Code, FlowControl, Instruction, InstructionInfoFactory, OpAccess, OpKind, Register, UsedMemory};

use super::decode::Decoded;
use super::marks::{Kind, Mark};

/// Bits of a set: two for each general register (its lowest byte, and the rest, for some instructions write only the one), then the vector registers,
/// the flags, and from here on words of the spill area.
const SLOTS: usize = 64;
const VECTORS: usize = 32;
const FLAGS: usize = 48;

/// Some of the registers, flags and words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Set(Vec<u64>);

impl Set {
    fn empty(spilled: u32) -> Self {
        Self(vec![0; 1 + (spilled as usize / 8).div_ceil(64)])
    }

    fn insert(&mut self, bit: usize) {
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    fn insert_word(&mut self, register: Register) {
        if let Some(number) = general(register) {
            self.0[0] |= 3 << (2 * number);
        }
    }

    /// Is the lowest byte of a register in it, or are the flags?
    pub fn has_byte_or_flags(&self, register: Register) -> bool {
        let byte = general(register).map_or(u64::MAX, |number| 1 << (2 * number));
        self.0[0] & (byte | 1 << FLAGS) != 0
    }

    /// Something that is in this set and not in the other.
    pub fn first_beyond(&self, allowed: &Self) -> Option<String> {
        let word = self.0.iter().zip(&allowed.0).position(|(a, b)| a & !b != 0)?;
        let bit = word * 64 + (self.0[word] & !allowed.0[word]).trailing_zeros() as usize;
        Some(match bit {
            FLAGS => "the flags".to_owned(),
            SLOTS.. => format!("word {} of the spill area", bit - SLOTS),
            VECTORS.. => format!("xmm{}", bit - VECTORS),
            _ => format!("general register {}", bit / 2),
        })
    }
}

/// An instruction between two registers, by their numbers, that passes bits on and does nothing else with them. Cranelift keeps bytes, such as the results of
/// comparisons, in registers above whose lowest byte is rubbish.
#[derive(Clone, Copy, Debug)]
enum Passes {
    /// A move: each part of the second is read if that part of the first is read later.
    Move(usize, usize),
    /// `and`, `or`: above the lowest byte both are read if that part of the first, or the flags, are read later.
    Bitwise(usize, usize),
}

/// What an instruction reads, and what it overwrites whole.
#[derive(Clone, Debug)]
pub struct Effect {
    reads: Set,
    writes: Set,
    /// What is read only if it matters later.
    passes: Option<Passes>,
}

const ARGUMENT_REGISTERS: [Register; 6] =
    [Register::RDI, Register::RSI, Register::RDX, Register::RCX, Register::R8, Register::R9];

/// What a call by the convention for C does not keep, besides the vector registers.
const CLOBBERED: [Register; 9] = [
    Register::RAX,
    Register::RCX,
    Register::RDX,
    Register::RSI,
    Register::RDI,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
];

fn with(spilled: u32, registers: &[Register]) -> Set {
    let mut set = Set::empty(spilled);
    registers
        .iter()
        .chain(&[Register::RSP, Register::RBP, Register::R15])
        .for_each(|register| set.insert_word(*register));
    set
}

/// What may live at the entry.
pub fn at_entry(spilled: u32) -> Set {
    with(spilled, &ARGUMENT_REGISTERS)
}

/// What may live at a point.
pub fn at_point(spilled: u32) -> Set {
    with(spilled, &[Register::RAX, Register::RDX])
}

fn general(register: Register) -> Option<usize> {
    let full = register.full_register();
    full.is_gpr64().then(|| full as usize - Register::RAX as usize)
}

/// What an instruction does. `Err` for what is not known here.
pub fn effect(
    factory: &mut InstructionInfoFactory,
    instruction: &Instruction,
    mark: Option<Mark>,
    spilled: u32,
) -> Result<Effect, String> {
    let mut effect = Effect { reads: Set::empty(spilled), writes: Set::empty(spilled), passes: passes(instruction) };
    let kind = mark.map(|mark| mark.kind);
    match (instruction.flow_control(), kind) {
        (FlowControl::IndirectCall, kind) => {
            let words = if let Some(Kind::Leaf(words)) = kind { words } else { 0 };
            effect.reads = with(spilled, &ARGUMENT_REGISTERS[..words]);
            effect.reads.insert_word(instruction.op0_register());
            effect.writes = Set::empty(spilled);
            if kind == Some(Kind::RareLeaf) {
                effect.writes.insert(FLAGS);
                return Ok(effect);
            }
            CLOBBERED.iter().for_each(|register| effect.writes.insert_word(*register));
            (VECTORS..=FLAGS).for_each(|bit| effect.writes.insert(bit));
            return Ok(effect);
        }
        (FlowControl::IndirectBranch, Some(Kind::Tail(words))) => {
            effect.reads = with(spilled, &ARGUMENT_REGISTERS[..words]);
            effect.reads.insert_word(instruction.op0_register());
            return Ok(effect);
        }
        (FlowControl::IndirectBranch, Some(Kind::Return)) => {
            effect.reads = with(spilled, &[Register::RAX, Register::RCX, Register::RDX]);
            return Ok(effect);
        }
        _ => {}
    }
    if instruction.rflags_read() != 0 {
        effect.reads.insert(FLAGS);
    }
    if instruction.rflags_modified() != 0 {
        effect.writes.insert(FLAGS);
    }
    let info = factory.info(instruction);
    for used in info.used_registers() {
        effect.register(used.register(), used.access())?;
    }
    for memory in info.used_memory().iter().filter(|memory| memory.base() == Register::RSP) {
        effect.slot(memory);
    }
    Ok(effect)
}

fn passes(instruction: &Instruction) -> Option<Passes> {
    if instruction.op0_kind() != OpKind::Register || instruction.op1_kind() != OpKind::Register {
        return None;
    }
    let (first, second) = (general(instruction.op0_register())?, general(instruction.op1_register())?);
    match instruction.code() {
        Code::Mov_rm64_r64 | Code::Mov_r64_rm64 => Some(Passes::Move(first, second)),
        Code::And_r32_rm32 | Code::And_rm32_r32 | Code::Or_r32_rm32 | Code::Or_rm32_r32 => {
            Some(Passes::Bitwise(first, second))
        }
        _ => None,
    }
}

impl Passes {
    /// Bits of the first word of a set that are not read, if these are live behind the instruction.
    fn unread(self, live: u64) -> u64 {
        match self {
            Self::Move(first, second) => (!(live >> (2 * first)) & 3) << (2 * second),
            Self::Bitwise(first, second) if live & (2 << (2 * first) | 1 << FLAGS) == 0 => {
                2 << (2 * first) | 2 << (2 * second)
            }
            Self::Bitwise(..) => 0,
        }
    }
}

fn is_read(access: OpAccess) -> bool {
    matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

fn is_overwritten(access: OpAccess) -> bool {
    matches!(access, OpAccess::Write | OpAccess::ReadWrite)
}

impl Effect {
    fn register(&mut self, register: Register, access: OpAccess) -> Result<(), String> {
        if register.is_segment_register() || register == Register::RIP {
            return Ok(());
        }
        let bits: (usize, usize) = if let Some(number) = general(register) {
            let whole = (2 * number, 2 * number + 1);
            match register.size() {
                1 if matches!(register, Register::AH | Register::BH | Register::CH | Register::DH) => {
                    return Err(format!("{register:?}"));
                }
                1 => (whole.0, whole.0),
                2 if is_overwritten(access) => (whole.0, whole.0),
                _ => whole,
            }
        } else if register.is_xmm() {
            let bit = VECTORS + (register as usize - Register::XMM0 as usize);
            (bit, bit)
        } else {
            return Err(format!("{register:?}"));
        };
        for bit in [bits.0, bits.1] {
            if is_read(access) {
                self.reads.insert(bit);
            }
            if is_overwritten(access) {
                self.writes.insert(bit);
            }
        }
        Ok(())
    }

    fn slot(&mut self, memory: &UsedMemory) {
        let (start, size) = (memory.displacement() as usize, memory.memory_size().size());
        let touched = start / 8..(start + size).div_ceil(8);
        let whole = start.div_ceil(8)..(start + size) / 8;
        if is_read(memory.access()) {
            touched.for_each(|word| self.reads.insert(SLOTS + word));
        }
        if is_overwritten(memory.access()) {
            whole.for_each(|word| self.writes.insert(SLOTS + word));
        }
    }
}

/// What lives before each instruction: the usual analysis, backwards until nothing changes.
pub fn live_before(decoded: &Decoded, effects: &[Effect], spilled: u32) -> Vec<Set> {
    let mut live = vec![Set::empty(spilled); effects.len()];
    let mut changed = true;
    let mut now = Set::empty(spilled);
    while changed {
        changed = false;
        for number in (0..effects.len()).rev() {
            now.0.fill(0);
            for next in decoded.successors(number) {
                now.0.iter_mut().zip(&live[next].0).for_each(|(a, b)| *a |= b);
            }
            let Effect { reads, writes, passes } = &effects[number];
            let unread = passes.map_or(0, |passes| passes.unread(now.0[0]));
            let kept = now.0[0];
            for ((word, reads), writes) in now.0.iter_mut().zip(&reads.0).zip(&writes.0) {
                *word = *reads | *word & !writes;
            }
            // What is live behind it stays so, but for what it writes.
            now.0[0] = now.0[0] & !unread | kept & !writes.0[0];
            if live[number] != now {
                live[number].0.copy_from_slice(&now.0);
                changed = true;
            }
        }
    }
    live
}
