//! The counter is in rbp, which Cranelift knows as the frame pointer and leaves alone.
//!
//! To Cranelift it is memory, at a place behind the register block where nothing else is. Reads and writes of that become moves from and to `ebp`, of
//! the same length.

use iced_x86::{Code, Instruction, OpKind, Register};

use super::decode::Decoded;
use super::marks::{Kind, Ranges};

/// Where Cranelift takes the counter to be, bytes from the register block: a displacement of one byte that no other access has.
pub const COUNTER: i32 = -128;

/// Ignored where no memory is accessed (Intel's manual, volume 2, 2.1.1: a segment override): it makes an instruction longer.
const PADDING: u8 = 0x3e;

/// The number of rbp as an operand.
const RBP: u8 = 5;

/// Does an instruction access what Cranelift takes for the counter?
pub fn is_access(instruction: &Instruction) -> bool {
    (0..instruction.op_count()).any(|index| instruction.op_kind(index) == OpKind::Memory)
        && instruction.memory_displacement64() == COUNTER as i64 as u64
}

/// Is it a move between the counter and a register or a number?
pub fn is_move(instruction: &Instruction) -> bool {
    let [first, second] =
        [0, 1].map(|index| (instruction.op_kind(index) == OpKind::Register).then(|| instruction.op_register(index)));
    match instruction.code() {
        Code::Movsxd_r64_rm32 => second == Some(Register::EBP) && first != Some(Register::RBP),
        Code::Mov_rm32_r32 => first == Some(Register::EBP) && second != Some(Register::EBP),
        Code::Mov_rm32_imm32 => first == Some(Register::EBP),
        _ => false,
    }
}

/// Changes all accesses. `Err` where one is of a kind that is not expected.
pub fn move_to_register(bytes: &mut [u8], decoded: &Decoded, ranges: &Ranges) -> Result<(), String> {
    for instruction in decoded.instructions.iter().filter(|instruction| is_access(instruction)) {
        let marked = ranges.at(instruction.ip() as u32).is_some_and(|mark| mark.kind == Kind::Counter);
        let known = matches!(instruction.code(), Code::Movsxd_r64_rm32 | Code::Mov_rm32_r32 | Code::Mov_rm32_imm32)
            && instruction.memory_index() == Register::None;
        if !marked || !known {
            return Err(format!("{:?} of the counter", instruction.code()));
        }
        let whole = &mut bytes[instruction.ip() as usize..instruction.next_ip() as usize];
        let moved = with_register(whole).ok_or("an encoding that is not expected")?;
        whole.copy_from_slice(&moved);
    }
    Ok(())
}

/// The instruction with rbp in the place of its memory operand: of `[REX] opcode modrm [SIB] displacement [number]`.
fn with_register(instruction: &[u8]) -> Option<Vec<u8>> {
    let rex = instruction.first().filter(|first| **first & 0xf0 == 0x40);
    let (opcode, rest) = instruction[usize::from(rex.is_some())..].split_first()?;
    let (modrm, rest) = rest.split_first()?;
    let memory = 1 + usize::from(modrm & 7 == 4);
    let number = rest.get(memory..)?;
    // Bits 0 and 1 of REX belong to the memory operand.
    let rex = rex.map(|rex| rex & !3);
    let mut moved = vec![PADDING; memory];
    moved.extend(rex);
    moved.extend([*opcode, 0xc0 | modrm & 0x38 | RBP]);
    moved.extend_from_slice(number);
    Some(moved)
}

#[cfg(test)]
mod tests {
    use super::super::marks::{Mark, Range};
    use super::*;

    fn moved(code: &[u8], kind: Kind) -> Result<Vec<u8>, String> {
        let mut bytes = [code, &[0xff, 0xe0]].concat();
        let decoded = Decoded::new(&bytes, [0]).expect("code");
        let range = Range { start: 0, end: bytes.len() as u32, mark: Mark { source: None, kind } };
        move_to_register(&mut bytes, &decoded, &Ranges(vec![range]))?;
        let decoded = Decoded::new(&bytes, [0]).expect("code");
        assert!(is_move(&decoded.instructions[0]) && decoded.instructions.len() == 2);
        Ok(bytes[..code.len()].to_vec())
    }

    #[test]
    fn accesses_become_moves_of_the_same_length() {
        let cases: [(&[u8], &[u8]); 6] = [
            // movsxd rax, [rdi - 128]; movsxd r9, [r8 - 128]
            (&[0x48, 0x63, 0x47, 0x80], &[0x3e, 0x48, 0x63, 0xc5]),
            (&[0x4d, 0x63, 0x48, 0x80], &[0x3e, 0x4c, 0x63, 0xcd]),
            // mov [rdi - 128], eax; mov [r9 - 128], eax; mov [r12 - 128], r8d
            (&[0x89, 0x47, 0x80], &[0x3e, 0x89, 0xc5]),
            (&[0x41, 0x89, 0x41, 0x80], &[0x3e, 0x40, 0x89, 0xc5]),
            (&[0x45, 0x89, 0x44, 0x24, 0x80], &[0x3e, 0x3e, 0x44, 0x89, 0xc5]),
            // mov dword ptr [rdi - 128], 7
            (&[0xc7, 0x47, 0x80, 7, 0, 0, 0], &[0x3e, 0xc7, 0xc5, 7, 0, 0, 0]),
        ];
        for (code, expected) in cases {
            assert_eq!(moved(code, Kind::Counter).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn what_is_not_expected_is_refused() {
        // add [rdi - 128], eax; movsxd rax, [rdi + rax - 128]
        for code in [&[0x01, 0x47, 0x80][..], &[0x48, 0x63, 0x44, 0x07, 0x80]] {
            assert!(moved(code, Kind::Counter).is_err());
        }
        assert!(moved(&[0x89, 0x47, 0x80], Kind::Plain).is_err(), "it is not marked");
    }
}
