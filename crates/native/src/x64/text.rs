//! Instructions as text.

use super::decode::Decoded;
use crate::code::{Code, Instruction};
use iced_x86::FastFormatter;

/// The instructions that can be reached, in the order of their places.
pub(crate) fn instructions(code: &Code) -> Result<Vec<Instruction>, String> {
    let ways_in = code.points.iter().map(|(_, offset)| *offset).chain([code.entry]);
    let decoded = Decoded::new(&code.bytes, ways_in)?;
    let mut formatter = FastFormatter::new();
    let options = formatter.options_mut();
    options.set_space_after_operand_separator(true);
    options.set_use_hex_prefix(true);
    options.set_uppercase_hex(false);
    options.set_always_show_memory_size(true);
    let text = |instruction: &iced_x86::Instruction| {
        let mut text = String::new();
        formatter.format(instruction, &mut text);
        Instruction { offset: instruction.ip() as u32, bytes: instruction.len() as u32, text }
    };
    Ok(decoded.instructions.iter().map(text).collect())
}
