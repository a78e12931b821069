//! A listing of decoded code, for tests and for people.

use crate::code::Decoded;
use crate::instr::{FORMATS, NAMES, Op, STEP, VERSIONS};
use myriad_term::Term;
use std::fmt::Write;

fn register(operand: u32) -> String {
    format!("{}{}", if operand & 1 != 0 { 'y' } else { 'x' }, operand >> 3)
}

/// The instructions, one a line, up to the first whose length the format does not tell.
pub fn listing(decoded: &Decoded) -> String {
    let words = decoded.words();
    let mut out = String::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let opcode = usize::from(*word as u16 % STEP);
        let (Some(name), Some(format)) = (NAMES.get(opcode), FORMATS.get(opcode)) else { break };
        if 4 * at as u32 == decoded.entry {
            out.push_str("entry:\n");
        }
        let _ = write!(
            out,
            "{at:4} {name}{}",
            ["", ".x", ".from_x", ".from_y", ".to_y"][usize::from(*word as u16 / STEP) % VERSIONS]
        );
        let high = word >> 16;
        let mut i = at + 1;
        for (n, letter) in format.chars().enumerate() {
            let w = words.get(i).copied().unwrap_or(0);
            let next = words.get(i + 1).copied().unwrap_or(0);
            match (n, letter) {
                (0, 'r' | 'R' | 'b') => out.push_str(&format!(" {}", register(high))),
                (0, 'n') => out.push_str(&format!(" {high}")),
                (0, _) => {}
                (_, 'p' | 'P' | 'm') => out.push_str(&format!(" {} {}", register(w & 0xffff), register(w >> 16))),
                (_, 'q' | 'Q' | 'B') => out.push_str(&format!(" {} {}", register(w & 0xffff), w >> 16)),
                (_, 's') if w & 2 != 0 => {
                    let address = (4 * i as i64 + i64::from((w & !3) as i32)) as usize;
                    let bytes = decoded.block.start();
                    // SAFETY: the decoder put the constant there.
                    let term = unsafe { *bytes.add(address).cast::<Term>() };
                    out.push_str(&format!(" {}", constant(term)));
                }
                (_, 's') => out.push_str(&format!(" {}", register(w))),
                (_, 'j') if w == 0 => out.push_str(" -"),
                (_, 'j') => out.push_str(&format!(" @{}", i as i64 + i64::from(w as i32) / 4)),
                (_, 'k') => {
                    // SAFETY: the decoder made it from an immediate term.
                    let term = unsafe { Term::from_raw(w as i32 as i64 as u64) };
                    out.push_str(&format!(" {}", constant(term)));
                }
                (_, 'u') => out.push_str(&format!(" {w}")),
                (_, 'c' | 'w') => i += 1,
                _ => {}
            }
            let _ = next;
            if n > 0 && letter != '*' {
                i += 1;
            }
        }
        out.push('\n');
        at = match Op::tail_words(opcode, words, at) {
            Some(extra) => i + extra,
            None => i,
        };
    }
    out
}

fn constant(term: Term) -> String {
    match (term.as_small(), term.as_atom()) {
        (Some(n), _) => format!("#{n}"),
        (_, Some(atom)) => format!("'{}'", atom.text()),
        _ if term.is_nil() => "[]".into(),
        _ => "term".into(),
    }
}

impl Op {
    /// Words after the fixed operands of an instruction whose format ends in `*`.
    pub(crate) fn tail_words(opcode: usize, words: &[u32], at: usize) -> Option<usize> {
        let word = |i: usize| words.get(at + i).copied().unwrap_or(0) as usize;
        let op = |o: Op| o as usize == opcode;
        if op(Op::ReturnRecord) {
            Some(word(0) >> 16)
        } else if op(Op::PutTuple) {
            Some(word(1))
        } else if op(Op::NewMap) {
            Some(word(2))
        } else if op(Op::HeapPutTuple) || op(Op::HeapPutTupleReturn) {
            Some(word(2) >> 16)
        } else if op(Op::SelectTable) {
            Some(1 + word(2))
        } else if op(Op::SelectLinear) || op(Op::SelectBinary) || op(Op::SelectArity) {
            Some(2 * word(2))
        } else if op(Op::SelectTerm) {
            Some(2 * word(3))
        } else if op(Op::MakeFun)
            || op(Op::PutMapAssoc)
            || op(Op::PutMapPlain)
            || op(Op::HasMapFields)
            || op(Op::GetMapElements)
            || op(Op::GetPlainElements)
            || op(Op::UpdateRecord)
        {
            Some(word(3))
        } else if op(Op::PutMapExact) {
            Some(word(4))
        } else if op(Op::BsCreateBin) {
            Some(word(5) * crate::instr::segment::WORDS)
        } else {
            None
        }
    }
}
