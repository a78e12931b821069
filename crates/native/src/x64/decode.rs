//! The instructions that can be reached from some offsets.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction};

/// Reached instructions, by offset, none within another.
#[derive(Debug)]
pub struct Decoded {
    /// The instructions.
    pub instructions: Vec<Instruction>,
    /// By byte of the code: the number of the instruction that begins there, or `NONE`.
    numbers: Vec<u32>,
    /// By byte: does a branch, or a way in, lead there?
    led_to: Vec<bool>,
}

const NONE: u32 = u32::MAX;

impl Decoded {
    /// Follows the code from these offsets. Every branch has to stay within the code.
    pub fn new(bytes: &[u8], ways_in: impl IntoIterator<Item = u32>) -> Result<Self, String> {
        let mut decoder = Decoder::new(64, bytes, DecoderOptions::NONE);
        let mut found =
            Self { instructions: Vec::new(), numbers: vec![NONE; bytes.len()], led_to: vec![false; bytes.len()] };
        let mut rest: Vec<u32> = Vec::new();
        for offset in ways_in {
            found.lead(u64::from(offset), &mut rest)?;
        }
        while let Some(offset) = rest.pop() {
            let mut offset = offset as usize;
            while found.numbers.get(offset) == Some(&NONE) {
                decoder.set_position(offset).map_err(|_| "outside".to_owned())?;
                decoder.set_ip(offset as u64);
                let instruction = decoder.decode();
                if instruction.is_invalid() {
                    return Err(format!("no instruction at {offset:#x}"));
                }
                found.numbers[offset] = 0;
                found.instructions.push(instruction);
                let flow = instruction.flow_control();
                if matches!(flow, FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch) {
                    found.lead(instruction.near_branch_target(), &mut rest)?;
                }
                match flow {
                    FlowControl::Next | FlowControl::ConditionalBranch | FlowControl::IndirectCall => {
                        offset = instruction.next_ip() as usize;
                        if offset >= bytes.len() {
                            return Err("runs out of the code".to_owned());
                        }
                    }
                    FlowControl::UnconditionalBranch
                    | FlowControl::IndirectBranch
                    | FlowControl::Return
                    | FlowControl::Exception => break,
                    FlowControl::Call | FlowControl::Interrupt | FlowControl::XbeginXabortXend => {
                        return Err(format!("{:?} at {offset:#x}", instruction.mnemonic()));
                    }
                }
            }
        }
        found.sort()?;
        Ok(found)
    }

    fn lead(&mut self, target: u64, rest: &mut Vec<u32>) -> Result<(), String> {
        let place = self.led_to.get_mut(target as usize).ok_or_else(|| format!("a branch to {target:#x}"))?;
        *place = true;
        rest.push(target as u32);
        Ok(())
    }

    fn sort(&mut self) -> Result<(), String> {
        self.instructions.sort_unstable_by_key(Instruction::ip);
        for (number, instruction) in self.instructions.iter().enumerate() {
            self.numbers[instruction.ip() as usize] = number as u32;
        }
        match self.instructions.windows(2).find(|pair| pair[0].next_ip() > pair[1].ip()) {
            Some(pair) => Err(format!("an instruction within another at {:#x}", pair[1].ip())),
            None => Ok(()),
        }
    }

    /// The number of the instruction at an offset.
    pub fn number(&self, offset: u64) -> Option<usize> {
        self.numbers.get(offset as usize).copied().filter(|number| *number != NONE).map(|number| number as usize)
    }

    /// Does a branch, or a way in, lead to an instruction?
    pub fn is_led_to(&self, number: usize) -> bool {
        self.led_to[self.instructions[number].ip() as usize]
    }

    /// The instructions that can follow one directly.
    pub fn successors(&self, number: usize) -> impl Iterator<Item = usize> + use<'_> {
        let instruction = &self.instructions[number];
        let flow = instruction.flow_control();
        let falls = matches!(flow, FlowControl::Next | FlowControl::ConditionalBranch | FlowControl::IndirectCall);
        let branches = matches!(flow, FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch);
        let next = falls.then(|| self.number(instruction.next_ip())).flatten();
        let target = branches.then(|| self.number(instruction.near_branch_target())).flatten();
        next.into_iter().chain(target)
    }
}
