//! The load-time scan: one pass over the code that finds the functions and labels and refuses what
//! no compiler emits. What it lets through can be decoded later, function by function, without error.
//!
//! S1. Every opcode is live, and its operands are of the kinds its row states.
//! S2. Every index (atom, literal, import, lambda, string, line, type) is within its table.
//! S3. Every branch target is a label of the same function; every call target, export and lambda is
//!     the entry of a function of the stated arity.
//! S4. A function is `[line] label+ [line] func_info label ...`; the label after func_info is its
//!     entry; func_info names the module; control cannot run off its end, save by returning from
//!     a call that stands last (compilers emit that where they know the callee never returns).
//! S5. The code ends with int_code_end.
//! S6. No X register or slot is read that may hold no term; calls, collections and exceptions find all
//!     slots of the frame initialised; frames are pushed, trimmed and dropped as what they are; catches
//!     nest (`effects.rs`).
//!
//! Time is linear in the size of the code; memory is bounded by a small multiple of it.

use crate::atoms::AtomTable;
use crate::effects::{Flow, Seen};
use crate::error::{ChunkId, LoadError};
use crate::opcode::{Kind, Op, ROWS, Row};
use crate::reader::{Raw, Reader};
use crate::tables::{Export, Import, Lambda};

pub(crate) const CODE: ChunkId = ChunkId(*b"Code");

/// No label, no function.
pub(crate) const NONE: u32 = u32::MAX;

/// The first fields of the `Code` chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodeHeader {
    /// The highest opcode the compiler may have used.
    pub highest_opcode: u32,
    /// All labels are below this.
    pub label_count: u32,
    /// How many functions there are.
    pub function_count: u32,
}

/// A function, as the scan found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionDef {
    /// Its name, an atom index.
    pub name: u32,
    /// Its arity.
    pub arity: u8,
    /// The label where calls enter.
    pub entry: u32,
    /// The label of its func_info: where clause failures jump.
    pub info: u32,
    /// Bytes from the first instruction of the module to its own first one.
    pub start: u32,
    /// Bytes to the first instruction after it.
    pub end: u32,
    /// How many instructions it has.
    pub instructions: u32,
    /// Its frames must be pushed with nils in all slots; decoding sees to it.
    pub needs_nils: bool,
    /// It may be replaced by a NIF.
    pub has_nif_start: bool,
}

/// Where a label is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelDef {
    /// The number of its function; `u32::MAX` for a label that is not defined.
    pub function: u32,
    /// Bytes from the first instruction of the module to its `label` instruction.
    pub offset: u32,
}

/// A label that is branched back to, other than by a receive: the engine must let the process give way now and then when it comes by such a
/// branch, for there need be no call in the loop. All slots of the frame are initialised there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopHead {
    /// The label.
    pub label: u32,
    /// The X registers that hold terms then, a bit each.
    pub(crate) x: Box<[u64]>,
}

impl LoopHead {
    fn has_x(&self, x: u16) -> bool {
        self.x.get(usize::from(x / 64)).is_some_and(|word| word >> (x % 64) & 1 != 0)
    }

    /// All X registers that hold terms are below this.
    pub fn live(&self) -> u16 {
        (0..64 * self.x.len() as u16).rev().find(|x| self.has_x(*x)).map_or(0, |last| last + 1)
    }

    /// The X registers below [`LoopHead::live`] that may hold none.
    pub fn holes(&self) -> impl Iterator<Item = u16> {
        (0..self.live()).filter(|x| !self.has_x(*x))
    }
}

/// The tables that operands index.
pub(crate) struct Tables<'a> {
    pub(crate) atoms: &'a AtomTable,
    pub(crate) imports: &'a [Import],
    pub(crate) exports: &'a [Export],
    pub(crate) lambdas: &'a [Lambda],
    pub(crate) literals: usize,
    pub(crate) strings: usize,
    /// None without a line table: line operands are then not looked at by anybody.
    pub(crate) lines: Option<usize>,
    /// 0 without a type table: every type index then means "anything".
    pub(crate) types: usize,
}

/// What the scan found.
pub(crate) struct Scanned {
    pub(crate) functions: Vec<FunctionDef>,
    pub(crate) labels: Vec<LabelDef>,
    pub(crate) on_load: Option<u32>,
    /// By label.
    pub(crate) loops: Vec<LoopHead>,
}

/// Reads the header of the `Code` chunk; also returns where the instructions start.
pub(crate) fn header(chunk: &[u8]) -> Result<(CodeHeader, usize), LoadError> {
    let mut reader = Reader::new(CODE, chunk);
    let size = reader.u32()? as usize;
    let mut head = Reader::new(CODE, reader.take(size)?);
    let set = head.u32()?;
    if set != 0 {
        return Err(head.malformed("an unknown instruction set"));
    }
    let header = CodeHeader { highest_opcode: head.u32()?, label_count: head.u32()?, function_count: head.u32()? };
    Ok((header, reader.offset()))
}

pub(crate) struct Scan<'a> {
    pub(crate) tables: &'a Tables<'a>,
    pub(crate) reader: Reader<'a>,
    pub(crate) labels: Vec<LabelDef>,
    /// By label: number of the function that branches to it, plus 1; 0: none.
    pub(crate) branched: Vec<u32>,
    /// By label: arity of the calls to it, plus 1; 0: none.
    pub(crate) called: Vec<u16>,
    pub(crate) functions: Vec<FunctionDef>,
    pub(crate) loops: Vec<LoopHead>,
    on_load: Option<u32>,
    /// The instruction at hand, for error messages.
    pub(crate) op: Op,
    pub(crate) at: usize,
    pub(crate) index: u8,
    /// What its operands say.
    pub(crate) seen: Seen,
    pub(crate) flow: Flow,
}

pub(crate) type Check = Result<(), LoadError>;

/// Scans all instructions (S1 to S5).
pub(crate) fn scan(code: &[u8], header: &CodeHeader, tables: &Tables<'_>) -> Result<Scanned, LoadError> {
    let labels = header.label_count as usize;
    // Numbering may have gaps, but not enough of them to let a small file claim much memory.
    if u32::try_from(code.len()).is_err() || labels > 4 * code.len() + 1024 {
        return Err(LoadError::Code { offset: 0, what: "more labels than the code can define" });
    }
    let undefined = LabelDef { function: NONE, offset: 0 };
    let mut scan = Scan {
        tables,
        reader: Reader::new(CODE, code),
        labels: vec![undefined; labels],
        branched: vec![0; labels],
        called: vec![0; labels],
        functions: Vec::with_capacity((header.function_count as usize).min(code.len() / 8)),
        loops: Vec::new(),
        on_load: None,
        op: Op::Label,
        at: 0,
        index: 0,
        seen: Seen::default(),
        flow: Flow::new(labels),
    };
    scan.instructions()?;
    if scan.functions.len() != header.function_count as usize {
        return Err(LoadError::Code { offset: code.len(), what: "not as many functions as the header says" });
    }
    scan.resolve()?;
    scan.loops.sort_unstable_by_key(|head| head.label);
    Ok(Scanned { functions: scan.functions, labels: scan.labels, on_load: scan.on_load, loops: scan.loops })
}

/// What may be the head of the next function: the labels before a func_info, and a line.
#[derive(Default)]
struct Head {
    start: usize,
    labels: Vec<u32>,
    instructions: u32,
}

impl Scan<'_> {
    fn instructions(&mut self) -> Check {
        let mut head = Head::default();
        // The last instruction that is neither label nor line.
        let mut last = Op::IntCodeEnd;
        let mut previous = Op::IntCodeEnd;
        let mut line_at = 0;
        // What must follow a label because it is where a catch or try leads.
        let mut handler = None;
        loop {
            let (op, kinds) = self.opcode()?;
            match op {
                Op::Label => {
                    let label = self.define_label()?;
                    handler = handler.or(self.flow.handler(label));
                    self.arrive(label)?;
                    if head.labels.is_empty() {
                        let after_line = previous == Op::Line;
                        head.start = if after_line { line_at } else { self.at };
                        head.instructions = u32::from(after_line);
                    }
                    head.labels.push(label);
                    head.instructions += 1;
                }
                Op::Line if previous == Op::Label => {
                    self.operands(Op::Line.kinds())?;
                    head.instructions += 1;
                }
                Op::Line => {
                    line_at = self.at;
                    head.labels.clear();
                    self.operands(Op::Line.kinds())?;
                }
                Op::FuncInfo => {
                    self.end_function(last, head.start, head.instructions)?;
                    handler = None;
                    self.begin_function(&mut head)?;
                }
                Op::IntCodeEnd => {
                    return self.end_function(last, self.at, 0);
                }
                _ => {
                    head.labels.clear();
                    if handler.take().is_some_and(|wanted| wanted != op) {
                        return Err(self.misplaced("not the instruction that a handler must begin with"));
                    }
                    self.operands(kinds)?;
                    self.effect(op)?;
                    self.mark(op)?;
                }
            }
            if let Some(function) = self.functions.last_mut() {
                function.instructions += 1;
            } else if !matches!(op, Op::Label | Op::Line) {
                return Err(self.misplaced("an instruction outside all functions"));
            }
            previous = op;
            if !matches!(op, Op::Label | Op::Line) {
                last = op;
            }
        }
    }

    #[inline]
    pub(crate) fn opcode(&mut self) -> Result<(Op, &'static [Kind]), LoadError> {
        self.at = self.reader.offset();
        if self.reader.is_empty() {
            return Err(LoadError::Code { offset: self.at, what: "no int_code_end at the end" });
        }
        let opcode = self.reader.u8()?;
        match ROWS.get(usize::from(opcode)) {
            Some(Row::Live(op, kinds)) => {
                self.op = *op;
                Ok((*op, kinds))
            }
            Some(Row::Withdrawn) => Err(LoadError::WithdrawnOpcode { opcode, offset: self.at }),
            _ => Err(LoadError::UnknownOpcode { opcode, offset: self.at }),
        }
    }

    fn end_function(&mut self, last: Op, end: usize, head_instructions: u32) -> Check {
        let at = self.at;
        let Some(function) = self.functions.last_mut() else { return Ok(()) };
        function.end = end as u32;
        function.instructions = function.instructions.saturating_sub(head_instructions);
        if last == Op::FuncInfo || !(last.is_terminal() || last.is_body_call()) {
            return Err(LoadError::Code { offset: at, what: "control may run into the next function" });
        }
        self.settle()
    }

    fn begin_function(&mut self, head: &mut Head) -> Check {
        let Some(info) = head.labels.last().copied() else {
            return Err(self.misplaced("a func_info without a label"));
        };
        let (module, name) = (self.atom_operand()?, self.atom_operand()?);
        let arity = match self.reader.raw()? {
            Raw::U(arity) if arity <= 255 => arity as u8,
            _ => return Err(self.operand("not an arity")),
        };
        if module != 1 {
            return Err(self.misplaced("a function of another module"));
        }
        let number = self.functions.len() as u32;
        for label in head.labels.drain(..) {
            self.labels[label as usize].function = number;
            self.flow.forget(label);
        }
        // The entry label follows at once.
        let at = self.reader.offset();
        let mut ahead = self.reader;
        let entry = match (ahead.u8().map(Op::from_number), ahead.raw()) {
            (Ok(Some(Op::Label)), Ok(Raw::U(entry))) if entry < self.labels.len() as u64 => entry as u32,
            _ => return Err(LoadError::Code { offset: at, what: "a func_info without an entry label after it" }),
        };
        self.functions.push(FunctionDef {
            name,
            arity,
            entry,
            info,
            start: head.start as u32,
            end: 0,
            instructions: head.instructions,
            needs_nils: false,
            has_nif_start: false,
        });
        self.flow.enter(self.at, arity);
        Ok(())
    }

    fn mark(&mut self, op: Op) -> Check {
        let number = self.functions.len().wrapping_sub(1) as u32;
        match (op, self.functions.last_mut()) {
            (Op::NifStart, Some(function)) => function.has_nif_start = true,
            (Op::OnLoad, Some(function)) => {
                if function.arity != 0 || self.on_load.is_some_and(|other| other != number) {
                    return Err(self.misplaced("on_load is for one function without arguments"));
                }
                self.on_load = Some(number);
            }
            _ => {}
        }
        Ok(())
    }

    /// The label that a `label` instruction defines.
    fn define_label(&mut self) -> Result<u32, LoadError> {
        let function = (self.functions.len() as u32).wrapping_sub(1);
        let offset = self.at as u32;
        let label = match self.reader.raw()? {
            Raw::U(label) if label != 0 && label < self.labels.len() as u64 => label as u32,
            _ => return Err(self.operand("no such label")),
        };
        let by = self.branched[label as usize];
        if by != 0 && by as usize != self.functions.len() {
            return Err(LoadError::Label { label, what: "belongs to another function" });
        }
        let def = &mut self.labels[label as usize];
        if def.function != NONE || def.offset != 0 {
            return Err(LoadError::Label { label, what: "defined twice" });
        }
        *def = LabelDef { function, offset };
        Ok(label)
    }

    /// Whether all labels are where they must be (S3).
    fn resolve(&self) -> Check {
        for (label, def) in self.labels.iter().enumerate() {
            let wrong = |what| Err(LoadError::Label { label: label as u32, what });
            let by = self.branched[label];
            if by != 0 && by - 1 != def.function {
                return wrong(if def.function == NONE { "not defined" } else { "belongs to another function" });
            }
            if self.called[label] != 0 {
                match self.functions.get(def.function as usize) {
                    Some(f) if f.entry == label as u32 && u16::from(f.arity) + 1 == self.called[label] => {}
                    _ => return wrong("called, but not the entry of a function of this arity"),
                }
            }
        }
        let exports = self.tables.exports.iter().map(|row| (row.function, row.arity, row.label));
        let lambdas = self.tables.lambdas.iter().map(|row| (row.function, row.arity, row.label));
        for (name, arity, label) in exports.chain(lambdas) {
            let function = self.labels.get(label as usize).and_then(|def| self.functions.get(def.function as usize));
            match function {
                Some(f) if (f.name, f.arity, f.entry) == (name, arity, label) => {}
                _ => return Err(LoadError::Label { label, what: "exported or a fun, but no such function" }),
            }
        }
        Ok(())
    }

    #[cold]
    pub(crate) fn operand(&self, what: &'static str) -> LoadError {
        LoadError::Operand { op: self.op, index: self.index, offset: self.at, what }
    }

    #[cold]
    pub(crate) fn misplaced(&self, what: &'static str) -> LoadError {
        LoadError::Code { offset: self.at, what }
    }
}
