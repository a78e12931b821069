//! Overflow checks branch on the processor's flag.
//!
//! Cranelift puts the flag into a byte of a register and tests that: `seto r; test r, r; jne`. The same length holds `jo` and a nop. Where moves have
//! come between `seto` and `test` they stay, since they leave flags alone, and the branch is changed in its place.

use iced_x86::{Code, Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register};

use super::decode::Decoded;
use super::liveness::Set;
use super::marks::{Kind, Ranges};

/// How far from `seto` its test is looked for, in instructions.
const FAR: usize = 8;

/// Overflow checks of a function.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    /// Those that branch on the flag now.
    pub by_flag: u32,
    /// Those left as they were.
    pub by_register: u32,
}

/// Changes all checks of which it is certain that this is right: nothing between changes flags, nothing leads into the middle, and neither
/// the byte nor the flags are read behind the branch.
pub fn branch_on_overflow(bytes: &mut [u8], decoded: &Decoded, live: &[Set], ranges: &Ranges) -> Found {
    let mut found = Found::default();
    let mut factory = InstructionInfoFactory::new();
    for (number, seto) in decoded.instructions.iter().enumerate() {
        let checks = ranges.at(seto.ip() as u32).is_some_and(|mark| mark.kind == Kind::Checked);
        if seto.mnemonic() != Mnemonic::Seto || seto.op0_kind() != OpKind::Register || !checks {
            continue;
        }
        match test_of(&mut factory, decoded, number)
            .filter(|test| is_branched_on(decoded, live, *test, seto.op0_register()))
        {
            Some(test) => {
                change(bytes, seto, &decoded.instructions[test], &decoded.instructions[test + 1]);
                found.by_flag += 1;
            }
            None => found.by_register += 1,
        }
    }
    found
}

/// The instruction that tests what `seto` has set.
fn test_of(factory: &mut InstructionInfoFactory, decoded: &Decoded, number: usize) -> Option<usize> {
    let register = decoded.instructions[number].op0_register();
    for at in number + 1..(number + FAR).min(decoded.instructions.len()) {
        let instruction = &decoded.instructions[at];
        if decoded.instructions[at - 1].next_ip() != instruction.ip() || decoded.is_led_to(at) {
            return None;
        }
        let tests = instruction.code() == Code::Test_rm8_r8
            && instruction.op0_kind() == OpKind::Register
            && [instruction.op0_register(), instruction.op1_register()] == [register; 2];
        if tests {
            return Some(at);
        }
        let used = factory.info(instruction).used_registers();
        let touches = used.iter().any(|used| used.register().full_register() == register.full_register());
        if touches || instruction.rflags_modified() != 0 || decoded.successors(at).ne([at + 1]) {
            return None;
        }
    }
    None
}

fn is_branched_on(decoded: &Decoded, live: &[Set], test: usize, register: Register) -> bool {
    let Some(branch) = decoded.instructions.get(test + 1) else { return false };
    let branches = matches!(branch.code(), Code::Jne_rel32_64 | Code::Je_rel32_64);
    let directly = decoded.instructions[test].next_ip() == branch.ip() && !decoded.is_led_to(test + 1);
    branches && directly && decoded.successors(test + 1).all(|next| !live[next].has_byte_or_flags(register))
}

/// Instructions that do nothing, by length (Intel's manual, volume 2, NOP).
fn nop(bytes: &mut [u8]) {
    let whole: &[u8] = match bytes.len() {
        2 => &[0x66, 0x90],
        3 => &[0x0f, 0x1f, 0x00],
        4 => &[0x0f, 0x1f, 0x40, 0x00],
        5 => &[0x0f, 0x1f, 0x44, 0x00, 0x00],
        6 => &[0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00],
        7 => &[0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00],
        _ => return bytes.fill(0x90),
    };
    bytes.copy_from_slice(whole);
}

fn change(bytes: &mut [u8], seto: &Instruction, test: &Instruction, branch: &Instruction) {
    // `jo` where it branched if the byte was not 0, else `jno`.
    let opcode = if branch.mnemonic() == Mnemonic::Jne { 0x80 } else { 0x81 };
    let place = |instruction: &Instruction| instruction.ip() as usize..instruction.next_ip() as usize;
    if seto.next_ip() != test.ip() {
        nop(&mut bytes[place(seto)]);
        nop(&mut bytes[place(test)]);
        bytes[branch.ip() as usize + 1] = opcode;
        return;
    }
    let (start, end) = (seto.ip() as usize, branch.next_ip() as usize);
    let distance = branch.near_branch_target().wrapping_sub(start as u64 + 6) as u32;
    bytes[start..start + 2].copy_from_slice(&[0x0f, opcode]);
    bytes[start + 2..start + 6].copy_from_slice(&distance.to_le_bytes());
    nop(&mut bytes[start + 6..end]);
}
