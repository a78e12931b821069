//! Which version of each instruction runs: most have several, by the files of their registers ([`X_ONLY`], [`FROM_X`],
//! [`FROM_Y`], [`TO_Y`]).

use crate::instr::{FORMATS, FROM_X, FROM_Y, Op, TO_Y, X_ONLY};

/// What operands are: bits.
const X: u32 = 1;
const Y: u32 = 2;
const CONSTANT: u32 = 4;

/// Marks the instructions of finished code.
pub(super) fn choose(code: &mut [u32]) {
    let mut at = 0;
    while let Some((version, next)) = look(code, at) {
        code[at] |= u32::from(version);
        at = next;
    }
}

/// The version of an instruction that may run, and where the next instruction is.
fn look(code: &[u32], at: usize) -> Option<(u16, usize)> {
    let opcode = *code.get(at)? as u16;
    let format = FORMATS.get(usize::from(opcode))?;
    let word = |i: usize| code.get(i).copied().unwrap_or(0);
    let register = |operand: u32| if operand & 1 != 0 { Y } else { X };
    let source = |operand: u32| if operand & 2 != 0 { CONSTANT } else { register(operand) };
    let (mut read, mut written) = (0, 0);
    let mut i = at + 1;
    for (n, letter) in format.chars().enumerate() {
        let operand = if n == 0 { word(at) >> 16 } else { word(i) };
        match letter {
            'r' | 'q' => read |= register(operand),
            'R' | 'Q' => written |= register(operand),
            'p' => read |= register(operand) | register(operand >> 16),
            'P' => written |= register(operand) | register(operand >> 16),
            'm' => (read, written) = (read | register(operand), written | register(operand >> 16)),
            'b' | 'B' => (read, written) = (read | register(operand), written | register(operand)),
            's' => read |= source(operand),
            'c' | 'w' => i += 1,
            _ => {}
        }
        i += usize::from(n > 0 && letter != '*');
    }
    let next = i + Op::tail_words(usize::from(opcode), code, at).unwrap_or(0);
    if constants_too(opcode) {
        read = (i..next).map(word).fold(read, |read, operand| read | source(operand)) & !CONSTANT;
    }
    let version = match (read, written) {
        _ if !Op::EITHER.contains(&opcode) || read | written == 0 => 0,
        (0 | X, 0 | X) => X_ONLY,
        (0 | X, Y) => TO_Y,
        (X, _) => FROM_X,
        (Y, 0 | X) => FROM_Y,
        _ => 0,
    };
    Some((version, next))
}

/// May sources be constants in all versions? Then the words after the fixed operands are sources, if there are any.
fn constants_too(opcode: u16) -> bool {
    [Op::PutTuple, Op::HeapPutTuple, Op::HeapPutTupleReturn, Op::NewMap, Op::PutListS, Op::HeapPutListS, Op::SetElement]
        .iter()
        .any(|op| *op as u16 == opcode)
}
