//! The code of one function while it is being made.

use super::operands::At;
use crate::code::{Block, Decoded, Place};
use crate::instr::Op;
use crate::tiers;
use myriad_beam::{Arg, MIXED, Reg};
use myriad_sync::atomic::AtomicPtr;
use myriad_term::{Export, Term};
use myriad_vm::Vm;
use myriad_vm::bif::BifDef;
use myriad_vm::code::{Continuation, Function, Module};
use std::collections::HashMap;

/// The function goes beyond a limit of this VM's instruction formats.
#[derive(Debug)]
pub struct Unfit;

/// The X register that constants go through where an instruction wants a register.
const SCRATCH: u16 = 1023;

/// A continuation record.
struct Return {
    /// Its first word, once it has a place.
    at: usize,
    line: u32,
    frame: u32,
    call: u32,
}

/// A continuation record that has been announced ([`Emitter::announce`]).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point(usize);

impl Point {
    /// Its number among those of the function.
    pub(crate) fn index(self) -> usize {
        self.0
    }
}

/// Words of a continuation record.
const RECORD_WORDS: usize = size_of::<Continuation>() / 4;
/// Words that a record is aligned to.
const RECORD_ALIGN: usize = align_of::<Continuation>() / 4;

/// See the module's page.
pub(crate) struct Emitter {
    pub(crate) vm: &'static Vm,
    pub(crate) module: &'static Module,
    function: &'static Function,
    info: u32,
    code: Vec<u32>,
    entry: u32,
    labels: HashMap<u32, usize>,
    /// Places behind the loop heads that stand at labels.
    behind: HashMap<u32, usize>,
    label_words: Vec<(usize, u32)>,
    behind_words: Vec<(usize, u32)>,
    constants: Vec<u64>,
    constant_words: Vec<(usize, usize)>,
    returns: Vec<Return>,
    /// Operands that lead to records.
    return_words: Vec<(usize, Point)>,
    /// The record of the call at hand stands at this word, once its operands are complete.
    pending: Option<(usize, Point)>,
    handlers: Vec<(Point, u32)>,
    places: Vec<Place>,
    pub(crate) line: u32,
    pub(crate) frame: u32,
    /// The number of the instruction at hand in the function's body.
    pub(crate) index: u32,
    uses_scratch: bool,
    uses_last_x: bool,
}

impl Emitter {
    pub(crate) fn new(vm: &'static Vm, module: &'static Module, function: &'static Function, info: u32) -> Emitter {
        Emitter {
            vm,
            module,
            function,
            info,
            code: Vec::new(),
            entry: 0,
            labels: HashMap::new(),
            behind: HashMap::new(),
            label_words: Vec::new(),
            behind_words: Vec::new(),
            constants: Vec::new(),
            constant_words: Vec::new(),
            returns: Vec::new(),
            return_words: Vec::new(),
            pending: None,
            handlers: Vec::new(),
            places: Vec::new(),
            line: 0,
            frame: 0,
            index: 0,
            uses_scratch: false,
            uses_last_x: false,
        }
    }

    // ---- places

    /// What follows is this instruction.
    pub(crate) fn place_of(&mut self, at: &At<'_>) {
        self.place(at.line, at.frame);
        self.index = at.index as u32;
    }

    /// What follows is on this line and has this frame.
    pub(crate) fn place(&mut self, line: u32, frame: u32) {
        self.end_call();
        (self.line, self.frame) = (line, frame);
        let offset = 4 * self.code.len() as u32;
        match self.places.last_mut() {
            Some(last) if last.line == line && last.frame == frame => {}
            Some(last) if last.offset == offset => *last = Place { offset, line, frame },
            _ => self.places.push(Place { offset, line, frame }),
        }
    }

    /// Defines a label here.
    pub(crate) fn define(&mut self, label: u32) {
        self.end_call();
        self.labels.insert(label, self.code.len());
    }

    /// Code continues here that does not come to a label by a branch.
    pub(crate) fn define_behind(&mut self, label: u32) {
        self.end_call();
        self.behind.insert(label, self.code.len());
    }

    /// The entry is here.
    pub(crate) fn entry_here(&mut self) {
        self.entry = 4 * self.code.len() as u32;
    }

    // ---- operands

    /// The first word of an instruction.
    pub(crate) fn op(&mut self, op: Op, high: u32) {
        debug_assert!(high <= 0xffff);
        self.end_call();
        self.code.push(op as u32 | high << 16);
    }

    /// A plain word.
    pub(crate) fn word(&mut self, word: u32) {
        self.code.push(word);
    }

    /// Two halves.
    pub(crate) fn pair(&mut self, low: u32, high: u32) {
        debug_assert!(low <= 0xffff && high <= 0xffff);
        self.code.push(low | high << 16);
    }

    /// Two words.
    pub(crate) fn wide(&mut self, value: u64) {
        self.code.push(value as u32);
        self.code.push((value >> 32) as u32);
    }

    /// A label that is there (0 in code that no compiler makes: the function's clause failure).
    pub(crate) fn label(&mut self, label: u32) {
        let label = if label == 0 { self.info } else { label };
        self.label_words.push((self.code.len(), label));
        self.code.push(0);
    }

    /// A label, for code that comes there with other X registers than a branch does, and has counted already: exceptions, and
    /// receives, which lose them.
    pub(crate) fn label_behind(&mut self, label: u32) {
        self.behind_words.push((self.code.len(), label));
        self.code.push(0);
    }

    /// A label, or 0: raise.
    pub(crate) fn fail(&mut self, label: u32) {
        if label == 0 { self.code.push(0) } else { self.label(label) }
    }

    /// The continuation of a call that has `more` words more (this one included): its record stands behind them, before the
    /// code that is returned to.
    pub(crate) fn continuation(&mut self, more: usize) {
        let point = self.announce(self.line, self.frame, self.index);
        self.pending = Some((self.code.len() + more, point));
        self.lead_to(point);
    }

    /// A continuation record of this place, which comes to stand at [`Emitter::return_here`].
    pub(crate) fn announce(&mut self, line: u32, frame: u32, call: u32) -> Point {
        self.returns.push(Return { at: 0, line, frame, call });
        Point(self.returns.len() - 1)
    }

    /// An operand that leads to a record.
    pub(crate) fn lead_to(&mut self, point: Point) {
        self.return_words.push((self.code.len(), point));
        self.code.push(0);
    }

    /// The record stands here, before the code that is returned to.
    pub(crate) fn return_here(&mut self, point: Point) {
        self.end_call();
        self.returns[point.0].at = self.record();
    }

    /// The record of the call that has just been made, if it has one.
    fn end_call(&mut self) {
        if let Some((end, point)) = self.pending.take() {
            debug_assert!(end == self.code.len());
            self.returns[point.0].at = self.record();
        }
    }

    /// Room for a record: its first word.
    fn record(&mut self) -> usize {
        let head = self.code.len();
        let at = (head + 1).next_multiple_of(RECORD_ALIGN);
        self.code.push(Op::ReturnRecord as u32 | ((at - head - 1 + RECORD_WORDS) as u32) << 16);
        self.code.resize(at + RECORD_WORDS, 0);
        at
    }

    /// A handler's record: its code goes to `label`, its marker is in Y register `slot`.
    pub(crate) fn handler(&mut self, label: u32, slot: u32) {
        let point = self.handler_of(label, slot);
        self.lead_to(point);
    }

    /// The same record, which no operand leads to.
    pub(crate) fn handler_of(&mut self, label: u32, slot: u32) -> Point {
        let point = self.announce(self.line, slot, self.index);
        self.handlers.push((point, label));
        point
    }

    /// Words so far.
    pub(crate) fn words(&self) -> usize {
        self.code.len()
    }

    /// Records so far.
    pub(crate) fn records(&self) -> usize {
        self.returns.len()
    }

    /// The record announced last.
    pub(crate) fn last_record(&self) -> Point {
        Point(self.returns.len() - 1)
    }

    /// The operand of a register.
    pub(crate) fn register(&mut self, reg: Reg) -> u32 {
        match reg {
            Reg::X(x) => {
                self.uses_last_x |= x == SCRATCH;
                u32::from(x) * 8
            }
            Reg::Y(y) => (u32::from(y) * 8) | 1,
        }
    }

    /// The operand of a register argument.
    pub(crate) fn reg(&mut self, arg: &Arg) -> Result<u32, Unfit> {
        let reg = arg.reg().ok_or(Unfit)?;
        Ok(self.register(reg))
    }

    /// The operand of a register; a constant is put in the scratch register first. To be called before [`Emitter::op`].
    pub(crate) fn reg_of(&mut self, arg: &Arg) -> Result<u32, Unfit> {
        if let Some(reg) = arg.reg() {
            return Ok(self.register(reg));
        }
        let term = self.constant(arg)?;
        self.uses_scratch = true;
        let scratch = u32::from(SCRATCH) * 8;
        self.op(Op::MoveC, scratch);
        self.wide(term.raw());
        Ok(scratch)
    }

    /// A source operand word.
    pub(crate) fn source(&mut self, arg: &Arg) -> Result<(), Unfit> {
        if let Some(reg) = arg.reg() {
            let operand = self.register(reg);
            self.code.push(operand);
            return Ok(());
        }
        let term = self.constant(arg)?;
        self.constant_word(term);
        Ok(())
    }

    /// A source operand word of a constant.
    pub(crate) fn constant_word(&mut self, term: Term) {
        self.constant_words.push((self.code.len(), self.constants.len()));
        self.constants.push(term.raw());
        self.code.push(0);
    }

    /// The term of a constant argument.
    pub(crate) fn constant(&self, arg: &Arg) -> Result<Term, Unfit> {
        constant(self.module, arg)
    }

    /// The constant, if its word is a sign-extended 32-bit number.
    pub(crate) fn short(&mut self, arg: &Arg) -> Option<i32> {
        if arg.reg().is_some() {
            return None;
        }
        short_of(self.constant(arg).ok()?)
    }

    // ---- names

    /// The export of an import.
    pub(crate) fn import(&self, index: u64) -> Result<&'static Export, Unfit> {
        self.module.imports.get(index as usize).copied().ok_or(Unfit)
    }

    /// The built-in of an import, unless it is a NIF (which may come and go).
    pub(crate) fn bif(&self, export: &Export) -> Option<&'static BifDef> {
        built_in(self.vm, export)
    }

    /// The function that a local call enters.
    pub(crate) fn local(&self, entry: u32) -> Result<&'static Function, Unfit> {
        let index = self.module.beam.function_at(entry).ok_or(Unfit)?;
        self.module.functions.get(index as usize).ok_or(Unfit)
    }

    /// The address of bytes in the string table.
    pub(crate) fn string(&self, at: u64, bytes: usize) -> Result<u64, Unfit> {
        let at = at as usize;
        let string = self.module.beam.strings.get(at..at.checked_add(bytes).ok_or(Unfit)?).ok_or(Unfit)?;
        Ok(string.as_ptr() as u64)
    }

    // ---- the end

    /// Puts all together.
    pub(crate) fn finish(self) -> Result<Decoded, Unfit> {
        Ok(self.finish_with_places()?.0)
    }

    /// The same, with the first word of each record.
    pub(crate) fn finish_with_places(mut self) -> Result<(Decoded, Vec<usize>), Unfit> {
        if self.uses_scratch && self.uses_last_x {
            return Err(Unfit);
        }
        // No compiler makes such calls, but of what never returns (`NO_CONTINUATION`).
        if self.returns.iter().any(|r| r.frame == MIXED) {
            return Err(Unfit);
        }
        self.end_call();
        for (point, label) in std::mem::take(&mut self.handlers) {
            self.return_here(point);
            self.op(Op::Jump, 0);
            self.label_behind(label);
        }
        let code_bytes = 4 * self.code.len();
        let constants_at = code_bytes.next_multiple_of(8);
        let bytes = constants_at + 8 * self.constants.len();
        if i32::try_from(bytes).is_err() {
            return Err(Unfit);
        }
        for (word, label) in &self.label_words {
            let to = *self.labels.get(label).ok_or(Unfit)?;
            self.code[*word] = distance(*word, to);
        }
        for (word, label) in &self.behind_words {
            let to = *self.behind.get(label).or(self.labels.get(label)).ok_or(Unfit)?;
            self.code[*word] = distance(*word, to);
        }
        for (word, constant) in &self.constant_words {
            self.code[*word] = (constants_at + 8 * constant - 4 * word) as u32 | 2;
        }
        for (word, point) in &self.return_words {
            self.code[*word] = distance(*word, self.returns[point.0].at);
        }
        super::versions::choose(&mut self.code);
        let block = Block::new(bytes);
        let start = block.start();
        // SAFETY: the block has room for code, constants and records at these offsets, and is 16-byte aligned.
        unsafe {
            std::ptr::copy_nonoverlapping(self.code.as_ptr().cast::<u8>(), start, code_bytes);
            std::ptr::copy_nonoverlapping(
                self.constants.as_ptr().cast::<u8>(),
                start.add(constants_at),
                8 * self.constants.len(),
            );
            for record in &self.returns {
                start.add(4 * record.at).cast::<Continuation>().write(Continuation {
                    native: AtomicPtr::new(tiers::RETURN.0.cast_mut()),
                    function: self.function,
                    line: record.line,
                    frame: record.frame,
                    call: record.call,
                });
            }
        }
        let mut records: Box<[u32]> = self.returns.iter().map(|record| 4 * record.at as u32).collect();
        records.sort_unstable();
        let places = self.returns.iter().map(|record| record.at).collect();
        let bounds = [code_bytes as u32, self.entry];
        let decoded = Decoded::new(self.function, block, bounds, self.places.into_boxed_slice(), records);
        Ok((decoded, places))
    }
}

/// The built-in that calls of an export run, whatever module is loaded.
pub(crate) fn built_in(vm: &Vm, export: &Export) -> Option<&'static BifDef> {
    vm.bifs.bif(export.mfa).filter(|def| !def.kind.is_nif())
}

/// The term of a constant argument of an instruction of a module.
///
/// # Errors
/// It is none, or not within the module's tables.
pub fn constant(module: &Module, arg: &Arg) -> Result<Term, Unfit> {
    match arg {
        Arg::Nil => Ok(Term::NIL),
        Arg::Atom(index) => module.atoms.get(*index as usize).copied().ok_or(Unfit),
        Arg::Lit(index) => module.literals.get(*index as usize).copied().ok_or(Unfit),
        Arg::I(value) => {
            Ok(Term::try_small(*value).unwrap_or_else(|| module.integer(*value < 0, vec![value.unsigned_abs()])))
        }
        Arg::U(value) => i64::try_from(*value).ok().and_then(Term::try_small).ok_or(Unfit),
        Arg::BigInt(bytes) => {
            let (negative, limbs) = magnitude(bytes);
            Ok(module.integer(negative, limbs))
        }
        _ => Err(Unfit),
    }
}

/// The operand in a word that leads to another one.
fn distance(word: usize, to: usize) -> u32 {
    (4 * to as i32 - 4 * word as i32) as u32
}

/// The constant's word, if it is a sign-extended 32-bit number.
pub(crate) fn short_of(term: Term) -> Option<i32> {
    if !term.is_immediate() {
        return None;
    }
    i32::try_from(term.raw() as i64).ok()
}

/// Sign and magnitude (least significant limb first) of an integer in two's complement, most significant byte first.
fn magnitude(bytes: &[u8]) -> (bool, Vec<u64>) {
    let negative = bytes.first().is_some_and(|b| *b >= 0x80);
    let fill = if negative { 0xff } else { 0 };
    let mut limbs: Vec<u64> = bytes
        .rchunks(8)
        .map(|chunk| {
            let mut eight = [fill; 8];
            eight[8 - chunk.len()..].copy_from_slice(chunk);
            u64::from_be_bytes(eight)
        })
        .collect();
    if negative {
        let mut carry = true;
        for limb in &mut limbs {
            let (sum, overflow) = (!*limb).overflowing_add(u64::from(carry));
            *limb = sum;
            carry = overflow;
        }
        if carry {
            limbs.push(1);
        }
    }
    (negative, limbs)
}
