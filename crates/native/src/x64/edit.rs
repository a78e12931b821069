//! The edits: code with frames becomes code without.
//!
//! Sites are found by what the decoder says and have to bear the right mark. All that a site replaces is matched instruction by instruction
//! against what the prologue has done; nothing may branch into the middle of it.

use iced_x86::{Code as Opcode, FlowControl, Instruction, Mnemonic, OpKind, Register};

use super::check;
use super::counter;
use super::decode::Decoded;
use super::flags::branch_on_overflow;
use super::marks::{Kind, Ranges};
use super::{ENTRY_ALIGN, SPILL_AREA};
use crate::code::{Code, Figures, Refused, Relocation};
use crate::form::Point;

/// What Cranelift has made.
pub struct Made<'b> {
    /// The code.
    pub bytes: &'b [u8],
    /// What it is for.
    pub ranges: Ranges,
    /// The ways in.
    pub handlers: Vec<u32>,
    /// All relocations.
    pub relocations: Vec<Relocation>,
}

/// Breakpoint instructions fill what is not executed any more.
const FILLER: u8 = 0xcc;

/// `jmp [rcx]`: to the first word of the record.
const RETURN: [u8; 2] = [0xff, 0x21];

/// What the prologue does, and each epilogue takes back.
struct Frame {
    /// Where the prologue ends.
    end: u32,
    /// Bytes that it takes from the stack.
    size: u32,
    /// Registers that it saves, and where.
    saved: Vec<(Register, u64)>,
}

fn unexpected(what: impl Into<String>) -> Refused {
    Refused::Unexpected(what.into())
}

/// Edits and checks. The points of the result are in the order of the handlers.
pub fn edit(made: Made<'_>) -> Result<Code, Refused> {
    let mut bytes = made.bytes.to_vec();
    let frame = frame(&bytes)?;
    if frame.size > SPILL_AREA {
        return Err(Refused::TooLarge { what: "bytes spilled", found: frame.size as usize, most: SPILL_AREA as usize });
    }
    let entry = behind_jumps(&bytes, behind_test(&bytes, frame.end, !made.handlers.is_empty()))?;
    let handlers: Result<Vec<u32>, Refused> =
        made.handlers.iter().map(|offset| behind_jumps(&bytes, *offset)).collect();
    let handlers = handlers?;
    let decoded = Decoded::new(&bytes, handlers.iter().copied().chain([entry])).map_err(unexpected)?;
    let mut figures = Figures { points: handlers.len() as u32, spill_bytes: frame.size, ..Figures::default() };
    for number in 0..decoded.instructions.len() {
        let flow = decoded.instructions[number].flow_control();
        if matches!(flow, FlowControl::IndirectBranch | FlowControl::Return) {
            leave_without_frame(&mut bytes, &decoded, number, &frame, &made.ranges)?;
            figures.exits += 1;
        }
    }
    counter::move_to_register(&mut bytes, &decoded, &made.ranges).map_err(unexpected)?;
    let checked = |bytes: &[u8]| {
        let decoded = Decoded::new(bytes, handlers.iter().copied().chain([entry]))?;
        let live = check::check(&decoded, &made.ranges, entry, &handlers, frame.size)?;
        Ok::<_, String>((decoded, live))
    };
    let (mut decoded, live) = checked(&bytes).map_err(unexpected)?;
    let found = branch_on_overflow(&mut bytes, &decoded, &live, &made.ranges);
    (figures.flag_branches, figures.flag_registers) = (found.by_flag, found.by_register);
    if found.by_flag > 0 {
        (decoded, _) = checked(&bytes).map_err(unexpected)?;
    }
    Ok(cut(&bytes, made, &decoded, entry, &handlers, figures))
}

/// Reads the prologue: `push rbp; mov rbp, rsp`, then perhaps room, then saved registers.
fn frame(bytes: &[u8]) -> Result<Frame, Refused> {
    let mut decoder = iced_x86::Decoder::with_ip(64, bytes, 0, iced_x86::DecoderOptions::NONE);
    let push = decoder.decode();
    let mov = decoder.decode();
    let pushes = push.mnemonic() == Mnemonic::Push && push.op0_register() == Register::RBP;
    if !pushes || !moves(&mov, Register::RBP, Register::RSP) {
        return Err(unexpected("another prologue"));
    }
    let mut frame = Frame { end: mov.next_ip() as u32, size: 0, saved: Vec::new() };
    let mut next = decoder.decode();
    if next.mnemonic() == Mnemonic::Sub && next.op0_register() == Register::RSP {
        frame.size = next.immediate(1) as u32;
        frame.end = next.next_ip() as u32;
        next = decoder.decode();
    }
    while frame.size > 0
        && next.code() == Opcode::Mov_rm64_r64
        && is_slot(&next)
        && is_callee_saved(next.op1_register())
    {
        frame.saved.push((next.op1_register(), next.memory_displacement64()));
        frame.end = next.next_ip() as u32;
        next = decoder.decode();
    }
    Ok(frame)
}

fn is_callee_saved(register: Register) -> bool {
    matches!(register, Register::RBX | Register::R12 | Register::R13 | Register::R14)
}

fn is_slot(instruction: &Instruction) -> bool {
    instruction.memory_base() == Register::RSP && instruction.memory_index() == Register::None
}

fn moves(instruction: &Instruction, to: Register, from: Register) -> bool {
    matches!(instruction.code(), Opcode::Mov_rm64_r64 | Opcode::Mov_r64_rm64)
        && instruction.op1_kind() == OpKind::Register
        && instruction.op0_register() == to
        && instruction.op1_register() == from
}

/// Behind `test rdi, rdi` and the branch to the door, if that is what comes first; else the test is made each time, which is as right.
fn behind_test(bytes: &[u8], start: u32, has_door: bool) -> u32 {
    let mut decoder =
        iced_x86::Decoder::with_ip(64, &bytes[start as usize..], u64::from(start), iced_x86::DecoderOptions::NONE);
    let test = decoder.decode();
    let branch = decoder.decode();
    let tests = test.code() == Opcode::Test_rm64_r64
        && test.op0_kind() == OpKind::Register
        && [test.op0_register(), test.op1_register()] == [Register::RDI; 2];
    match branch.mnemonic() {
        Mnemonic::Je if has_door && tests => branch.next_ip() as u32,
        Mnemonic::Jne if has_door && tests => branch.near_branch_target() as u32,
        _ => start,
    }
}

/// Where a way in goes on if it is nothing but jumps.
fn behind_jumps(bytes: &[u8], start: u32) -> Result<u32, Refused> {
    let mut offset = start;
    for _ in 0..16 {
        let rest = bytes.get(offset as usize..).ok_or_else(|| unexpected("a jump out of the code"))?;
        let first = iced_x86::Decoder::with_ip(64, rest, u64::from(offset), iced_x86::DecoderOptions::NONE).decode();
        if first.flow_control() != FlowControl::UnconditionalBranch {
            return Ok(offset);
        }
        offset = first.near_branch_target() as u32;
    }
    Ok(start)
}

/// Edits 2 and 3: whatever leaves moves up over the epilogue before it.
fn leave_without_frame(
    bytes: &mut [u8],
    decoded: &Decoded,
    number: usize,
    frame: &Frame,
    ranges: &Ranges,
) -> Result<(), Refused> {
    let leaving = &decoded.instructions[number];
    let at = leaving.ip() as usize;
    let end = leaving.next_ip() as usize;
    let kind = ranges.at(at as u32).map(|mark| mark.kind);
    let replacement = match (leaving.flow_control(), kind) {
        (FlowControl::Return, Some(Kind::Return)) if leaving.op_count() == 0 => RETURN.to_vec(),
        (FlowControl::IndirectBranch, Some(Kind::Tail(_))) if leaving.op0_kind() == OpKind::Register => {
            bytes[at..end].to_vec()
        }
        _ => return Err(unexpected(format!("{:?} with mark {kind:?}", leaving.mnemonic()))),
    };
    let start = epilogue(decoded, number, frame).ok_or_else(|| unexpected("another epilogue"))?;
    bytes[start..end].fill(FILLER);
    bytes[start..start + replacement.len()].copy_from_slice(&replacement);
    Ok(())
}

/// Where the epilogue before an instruction begins.
fn epilogue(decoded: &Decoded, number: usize, frame: &Frame) -> Option<usize> {
    let room = usize::from(frame.size > 0);
    let first = number.checked_sub(2 + room + frame.saved.len())?;
    let inner = first + 1..=number;
    if inner.clone().any(|inner| decoded.is_led_to(inner)) {
        return None;
    }
    let all = &decoded.instructions[first..=number];
    if all.windows(2).any(|pair| pair[0].next_ip() != pair[1].ip()) {
        return None;
    }
    let (restores, rest) = all.split_at(frame.saved.len());
    let restored = restores.iter().zip(&frame.saved).all(|(instruction, (register, slot))| {
        instruction.code() == Opcode::Mov_r64_rm64
            && is_slot(instruction)
            && instruction.op0_register() == *register
            && instruction.memory_displacement64() == *slot
    });
    let (adds, rest) = rest.split_at(room);
    let added = adds.iter().all(|add| {
        add.mnemonic() == Mnemonic::Add
            && add.op0_register() == Register::RSP
            && add.immediate(1) == u64::from(frame.size)
    });
    let popped = rest[1].mnemonic() == Mnemonic::Pop && rest[1].op0_register() == Register::RBP;
    let whole = restored && added && popped && moves(&rest[0], Register::RSP, Register::RBP);
    whole.then(|| all[0].ip() as usize)
}

/// Cuts off what is never reached before and behind the code, and moves the entry to where an aligned address is, unless there are constants, whose
/// places count from the start.
fn cut(bytes: &[u8], made: Made<'_>, decoded: &Decoded, entry: u32, handlers: &[u32], figures: Figures) -> Code {
    let constants = decoded.instructions.iter().any(Instruction::is_ip_rel_memory_operand);
    let all = 0..bytes.len() as u32;
    let reached = || {
        let (first, last) = (decoded.instructions.first()?, decoded.instructions.last()?);
        Some(first.ip() as u32..last.next_ip() as u32)
    };
    let kept = if constants { all } else { reached().unwrap_or(all) };
    let before = if constants {
        0
    } else {
        (ENTRY_ALIGN as u32 - (entry - kept.start) % ENTRY_ALIGN as u32) % ENTRY_ALIGN as u32
    };
    let moved = |offset: u32| offset - kept.start + before;
    let relocations = made.relocations.into_iter().filter(|relocation| kept.contains(&relocation.offset));
    let mut cut = vec![FILLER; before as usize];
    cut.extend_from_slice(&bytes[kept.start as usize..kept.end as usize]);
    Code {
        bytes: cut,
        align: ENTRY_ALIGN,
        relocations: relocations
            .map(|relocation| Relocation { offset: moved(relocation.offset), ..relocation })
            .collect(),
        entry: moved(entry),
        points: handlers.iter().map(|offset| (Point(0), moved(*offset))).collect(),
        sources: made
            .ranges
            .sources(kept.start, kept.end)
            .into_iter()
            .map(|(offset, source)| (offset + before, source))
            .collect(),
        declined: None,
        figures,
    }
}

#[cfg(test)]
mod tests {
    use super::super::marks::{Mark, Range};
    use super::*;

    const PROLOGUE: [u8; 4] = [0x55, 0x48, 0x89, 0xe5];
    /// `mov rsp, rbp; pop rbp; jmp rax`
    const LEAVE: [u8; 6] = [0x48, 0x89, 0xec, 0x5d, 0xff, 0xe0];
    /// `mov rax, rdi`
    const BODY: [u8; 3] = [0x48, 0x89, 0xf8];

    fn edited(parts: &[&[u8]], kind: Kind, handlers: &[u32]) -> Result<Code, Refused> {
        let bytes = parts.concat();
        let range = Range { start: 0, end: bytes.len() as u32, mark: Mark { source: Some(7), kind } };
        edit(Made { bytes: &bytes, ranges: Ranges(vec![range]), handlers: handlers.to_vec(), relocations: Vec::new() })
    }

    #[test]
    fn a_frame_goes_and_what_is_around_it_stays() {
        let code = edited(&[&PROLOGUE, &BODY, &LEAVE], Kind::Tail(1), &[]).expect("as expected");
        assert_eq!(code.bytes, [&BODY[..], &[0xff, 0xe0]].concat());
        assert_eq!((code.entry, code.figures.exits, code.sources), (0, 1, vec![(0, 7)]));
        // With room, and a saved register that the body uses.
        let enter = [&PROLOGUE[..], &[0x48, 0x83, 0xec, 0x10, 0x48, 0x89, 0x1c, 0x24]].concat();
        let body = [&BODY[..], &[0x48, 0x89, 0xfb]].concat();
        let leave = [&[0x48, 0x8b, 0x1c, 0x24, 0x48, 0x83, 0xc4, 0x10][..], &LEAVE].concat();
        let code = edited(&[&enter, &body, &leave], Kind::Tail(1), &[]).expect("as expected");
        assert_eq!(code.bytes, [&body[..], &[0xff, 0xe0]].concat());
        assert_eq!(code.figures.spill_bytes, 16);
    }

    #[test]
    fn what_is_not_expected_is_refused() {
        type Case<'a> = (&'a str, &'a [&'a [u8]], Kind, &'a [u32]);
        let cases: [Case<'_>; 12] = [
            ("another prologue", &[&BODY, &LEAVE], Kind::Tail(1), &[]),
            ("another epilogue", &[&PROLOGUE, &BODY, &LEAVE[..3], &LEAVE[4..]], Kind::Tail(1), &[]),
            ("with mark", &[&PROLOGUE, &BODY, &LEAVE], Kind::Plain, &[]),
            // push rbx; mov r15, rdi; mov rsp, rdi; mov rax, rbp
            ("RSP in Push", &[&PROLOGUE, &[0x53], &BODY, &LEAVE], Kind::Tail(1), &[]),
            ("R15 in Mov", &[&PROLOGUE, &[0x49, 0x89, 0xff], &BODY, &LEAVE], Kind::Tail(1), &[]),
            ("RSP in Mov", &[&PROLOGUE, &[0x48, 0x89, 0xfc], &BODY, &LEAVE], Kind::Tail(1), &[]),
            ("RBP in Mov", &[&PROLOGUE, &[0x48, 0x89, 0xe8], &LEAVE], Kind::Tail(1), &[]),
            // mov rax, [rsp]; without room, and with room that nothing has been put into
            ("beside the spill area", &[&PROLOGUE, &[0x48, 0x8b, 0x04, 0x24], &LEAVE], Kind::Tail(1), &[]),
            (
                "word 0 of the spill area lives",
                &[&PROLOGUE, &[0x48, 0x83, 0xec, 0x10, 0x48, 0x8b, 0x04, 0x24, 0x48, 0x83, 0xc4, 0x10], &LEAVE],
                Kind::Tail(1),
                &[],
            ),
            // mov rax, rbx
            ("general register 3 lives", &[&PROLOGUE, &[0x48, 0x89, 0xd8], &LEAVE], Kind::Tail(1), &[]),
            // A point in whose code a parameter is read.
            ("general register 7 lives", &[&PROLOGUE, &BODY, &BODY, &LEAVE], Kind::Tail(1), &[7]),
            // test rdi, rdi; je to the pop
            ("another epilogue", &[&PROLOGUE, &BODY, &[0x48, 0x85, 0xff, 0x74, 0x03], &LEAVE], Kind::Tail(1), &[]),
        ];
        for (expected, parts, kind, handlers) in cases {
            match edited(parts, kind, handlers) {
                Err(Refused::Unexpected(what)) => assert!(what.contains(expected), "{what} for {expected}"),
                other => panic!("{other:?} for {expected}"),
            }
        }
    }

    #[test]
    fn overflow_branches_on_the_flag_only_where_nothing_else_reads_the_byte() {
        // mov rax, rdi; add rax, rsi; seto cl; test cl, cl; jne to the last but one jump
        let add = [0x48, 0x89, 0xf8, 0x48, 0x01, 0xf0, 0x0f, 0x90, 0xc1, 0x84, 0xc9, 0x0f, 0x85, 6, 0, 0, 0];
        let code = edited(&[&PROLOGUE, &add, &LEAVE, &LEAVE], Kind::Tail(1), &[]).expect("as expected");
        assert_eq!((code.figures.flag_branches, code.figures.flag_registers), (0, 0), "it is not marked");
        let ranges = |length: usize| {
            let range = |start: usize, end: usize, kind| Range {
                start: start as u32,
                end: end as u32,
                mark: Mark { source: None, kind },
            };
            Ranges(vec![range(4, 21, Kind::Checked), range(21, length, Kind::Tail(1))])
        };
        let flagged = |second: &[u8]| {
            let bytes = [&PROLOGUE[..], &add, &LEAVE, second, &LEAVE].concat();
            edit(Made { bytes: &bytes, ranges: ranges(bytes.len()), handlers: Vec::new(), relocations: Vec::new() })
                .expect("as expected")
        };
        let code = flagged(&[]);
        assert_eq!((code.figures.flag_branches, code.figures.flag_registers), (1, 0));
        // jo, six bytes from the end of what the jne was; a nop of five bytes
        assert_eq!(code.bytes[6..17], [0x0f, 0x80, 11, 0, 0, 0, 0x0f, 0x1f, 0x44, 0, 0]);
        // movzx eax, cl behind the branch
        let code = flagged(&[0x0f, 0xb6, 0xc1]);
        assert_eq!((code.figures.flag_branches, code.figures.flag_registers), (0, 1));
    }
}
