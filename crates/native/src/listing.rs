//! Machine code for people to read.

use crate::code::{Code, Instruction};
use crate::form::Symbol;
use std::fmt::Write;

/// The instructions of the code that can be reached, in the order of their places.
///
/// # Errors
/// Why it cannot be read, or that there is no reader for this processor.
pub fn instructions(code: &Code) -> Result<Vec<Instruction>, String> {
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    return crate::x64::instructions(code);
    #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
    {
        let _ = code;
        Err("no reader for this processor".to_owned())
    }
}

/// The listing of code: one instruction a line. `source` is what is said where code of another number begins ([`Code::sources`]), `symbol` what a symbol stands for.
pub fn listing(code: &Code, source: impl Fn(u32) -> String, symbol: impl Fn(Symbol) -> String) -> String {
    let mut out = String::new();
    let instructions = match instructions(code) {
        Ok(instructions) => instructions,
        Err(why) => return format!("{why}\n"),
    };
    let mut said = None;
    for instruction in instructions {
        let Instruction { offset, bytes, text } = instruction;
        let row = code.sources.partition_point(|(from, _)| *from <= offset).checked_sub(1);
        if row.is_some() && row != said {
            said = row;
            // Writing to a String does not fail.
            let _ = writeln!(out, "{}", source(code.sources[row.unwrap_or(0)].1));
        }
        if offset == code.entry {
            out.push_str("entry:\n");
        }
        for (point, _) in code.points.iter().filter(|(_, at)| *at == offset) {
            let _ = writeln!(out, "{point}:");
        }
        let range = offset..offset + bytes;
        let hex: String =
            code.bytes[range.start as usize..range.end as usize].iter().map(|byte| format!("{byte:02x}")).collect();
        let _ = write!(out, "  {offset:5x}  {hex:<20}  {text}");
        let within = code.relocations.iter().filter(|relocation| range.contains(&relocation.offset));
        within.for_each(|relocation| {
            let _ = write!(out, "  ; {}", symbol(relocation.symbol));
        });
        out.push('\n');
    }
    out
}

#[cfg(all(test, target_arch = "x86_64", target_os = "linux"))]
mod tests {
    use super::*;
    use crate::code::{Figures, Relocation};
    use crate::form::Point;

    #[test]
    fn each_instruction_has_a_line_and_what_is_known_of_it() {
        // mov rax, symbol; test rdi, rdi; je to the last but one; jmp rax; filler; jmp [rcx]
        let bytes =
            [&[0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0][..], &[0x48, 0x85, 0xff, 0x74, 0x03, 0xff, 0xe0, 0xcc, 0xff, 0x21]];
        let code = Code {
            bytes: bytes.concat(),
            align: 16,
            relocations: vec![Relocation { offset: 2, symbol: Symbol(3), addend: 0 }],
            entry: 0,
            points: vec![(Point(9), 18)],
            sources: vec![(0, 7), (15, 8), (18, 9)],
            declined: None,
            figures: Figures::default(),
        };
        let text = listing(&code, |number| format!("# {number}"), |symbol| format!("symbol {}", symbol.0));
        let expected = "\
# 7
entry:
      0  48b80000000000000000  mov rax, 0x0  ; symbol 3
      a  4885ff                test rdi, rdi
      d  7403                  je 0x12
# 8
      f  ffe0                  jmp rax
# 9
p9:
     12  ff21                  jmp qword ptr [rcx]
";
        assert_eq!(text, expected);
    }
}
