//! Which version of each instruction runs: instructions of which all registers are X registers have one that does not look for the
//! file ([`X_ONLY`]).

use crate::instr::{FORMATS, Op, X_ONLY};

/// The bit of a Y register.
const Y: u32 = 1;

/// Marks the instructions of finished code.
pub(super) fn choose(code: &mut [u32]) {
    let mut at = 0;
    while let Some((only_x, next)) = look(code, at) {
        if only_x {
            code[at] |= u32::from(X_ONLY);
        }
        at = next;
    }
}

/// Has the instruction another version, which may run? And where the next one is.
fn look(code: &[u32], at: usize) -> Option<(bool, usize)> {
    let opcode = *code.get(at)? as u16;
    let format = FORMATS.get(usize::from(opcode))?;
    let word = |i: usize| code.get(i).copied().unwrap_or(0);
    let mut files = 0;
    let mut i = at + 1;
    for (n, letter) in format.chars().enumerate() {
        match (n, letter) {
            (0, 'r') => files |= word(at) >> 16,
            (0, _) | (_, '*') => continue,
            (_, 'p') => files |= word(i) | word(i) >> 16,
            (_, 'q') => files |= word(i),
            (_, 's') if word(i) & 2 == 0 => files |= word(i),
            (_, 's') if !constants_too(opcode) => files |= Y,
            (_, 'c' | 'w') => i += 1,
            _ => {}
        }
        i += usize::from(n > 0);
    }
    let next = i + Op::tail_words(usize::from(opcode), code, at).unwrap_or(0);
    if constants_too(opcode) {
        files |= (i..next).map(word).filter(|w| w & 2 == 0).fold(0, |all, w| all | w);
    }
    Some((Op::EITHER.contains(&opcode) && files & Y == 0, next))
}

/// May sources be constants in the version for X registers, too? Then the words after the fixed operands are sources, if there are
/// any.
fn constants_too(opcode: u16) -> bool {
    [Op::PutTuple, Op::HeapPutTuple, Op::HeapPutTupleReturn, Op::NewMap, Op::PutListS, Op::HeapPutListS, Op::SetElement]
        .iter()
        .any(|op| *op as u16 == opcode)
}
