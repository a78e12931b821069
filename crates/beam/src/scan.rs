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
//!
//! Time is linear in the size of the code; memory is bounded by a small multiple of it.

use crate::atoms::AtomTable;
use crate::error::{ChunkId, LoadError};
use crate::opcode::{Kind, Op, ROWS, Row};
use crate::reader::{MAX_REGISTERS, Raw, Reader};
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
    /// It may be replaced by a NIF.
    pub has_nif_start: bool,
    /// A call stands last, so that it would run off the end if the callee returned; `decode_function`
    /// appends an int_code_end then.
    pub needs_trap: bool,
}

/// Where a label is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelDef {
    /// The number of its function; `u32::MAX` for a label that is not defined.
    pub function: u32,
    /// Bytes from the first instruction of the module to its `label` instruction.
    pub offset: u32,
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

struct Scan<'a> {
    tables: &'a Tables<'a>,
    reader: Reader<'a>,
    labels: Vec<LabelDef>,
    /// By label: number of the function that branches to it, plus 1; 0: none.
    branched: Vec<u32>,
    /// By label: arity of the calls to it, plus 1; 0: none.
    called: Vec<u16>,
    functions: Vec<FunctionDef>,
    on_load: Option<u32>,
    /// The instruction at hand, for error messages.
    op: Op,
    at: usize,
    index: u8,
    /// Operands that later ones refer to.
    number: u64,
}

type Check = Result<(), LoadError>;

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
        on_load: None,
        op: Op::Label,
        at: 0,
        index: 0,
        number: 0,
    };
    scan.instructions()?;
    if scan.functions.len() != header.function_count as usize {
        return Err(LoadError::Code { offset: code.len(), what: "not as many functions as the header says" });
    }
    scan.resolve()?;
    Ok(Scanned { functions: scan.functions, labels: scan.labels, on_load: scan.on_load })
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
        loop {
            let op = self.opcode()?;
            match op {
                Op::Label => {
                    let label = self.operands_label()?;
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
                    self.begin_function(&mut head)?;
                }
                Op::IntCodeEnd => {
                    return self.end_function(last, self.at, 0);
                }
                _ => {
                    head.labels.clear();
                    self.operands(op.kinds())?;
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

    fn opcode(&mut self) -> Result<Op, LoadError> {
        self.at = self.reader.offset();
        if self.reader.is_empty() {
            return Err(LoadError::Code { offset: self.at, what: "no int_code_end at the end" });
        }
        let opcode = self.reader.u8()?;
        match ROWS.get(usize::from(opcode)) {
            Some(Row::Live(op)) => {
                self.op = *op;
                Ok(*op)
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
        function.needs_trap = last.is_body_call();
        if last == Op::FuncInfo || !(last.is_terminal() || last.is_body_call()) {
            return Err(LoadError::Code { offset: at, what: "control may run into the next function" });
        }
        Ok(())
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
            has_nif_start: false,
            needs_trap: false,
        });
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
    fn operands_label(&mut self) -> Result<u32, LoadError> {
        let function = (self.functions.len() as u32).wrapping_sub(1);
        let offset = self.at as u32;
        let label = match self.reader.raw()? {
            Raw::U(label) if label != 0 && label < self.labels.len() as u64 => label as u32,
            _ => return Err(self.operand("no such label")),
        };
        let def = &mut self.labels[label as usize];
        if def.function != NONE || def.offset != 0 {
            return Err(LoadError::Label { label, what: "defined twice" });
        }
        *def = LabelDef { function, offset };
        Ok(label)
    }

    fn operands(&mut self, kinds: &[Kind]) -> Check {
        for (index, kind) in kinds.iter().enumerate() {
            self.index = index as u8;
            let raw = self.reader.raw()?;
            self.check(*kind, raw)?;
        }
        Ok(())
    }

    /// Whether an operand is what its kind says (S1, S2).
    #[inline]
    fn check(&mut self, kind: Kind, raw: Raw<'_>) -> Check {
        match kind {
            Kind::Src => self.source(raw),
            Kind::Dst | Kind::Swap => match raw {
                Raw::X(_) | Raw::Y(_) => Ok(()),
                _ => Err(self.operand("not a register")),
            },
            Kind::Fail => match raw {
                Raw::Label(0) => Ok(()),
                _ => self.branch(raw),
            },
            Kind::Label => self.branch(raw),
            Kind::Reg => match raw {
                Raw::X(_) | Raw::Y(_) => Ok(()),
                Raw::TypedX(..) | Raw::TypedY(..) => self.source(raw),
                _ => Err(self.operand("not a register")),
            },
            Kind::Live | Kind::Frame => self.at_most(raw, u64::from(MAX_REGISTERS)),
            Kind::Arity => self.at_most(raw, 255),
            Kind::Line => match (raw, self.tables.lines) {
                (Raw::U(line), Some(lines)) if line <= lines as u64 => Ok(()),
                (Raw::U(_), None) => Ok(()),
                (Raw::I(line), Some(lines)) if line >= 0 && line as u64 <= lines as u64 => Ok(()),
                (Raw::I(_), None) => Ok(()),
                _ => Err(self.operand("no such line")),
            },
            Kind::Entry => self.call_target(raw),
            Kind::Import => self.import(raw, self.number),
            Kind::Bif0 => self.import(raw, 0),
            Kind::Bif1 => self.import(raw, 1),
            Kind::Bif2 => self.import(raw, 2),
            Kind::Bif3 => self.import(raw, 3),
            Kind::Uint => self.at_most(raw, u64::from(u32::MAX)),
            Kind::Flags => self.at_most(raw, 31),
            Kind::Unit => match raw {
                Raw::U(1..=256) => Ok(()),
                _ => Err(self.operand("not a unit")),
            },
            Kind::Heap => match raw {
                Raw::Alloc(pairs) => self.heap_need(pairs),
                _ => self.at_most(raw, 1 << 28),
            },
            Kind::Size => match raw {
                Raw::U(size) => self.at_most(Raw::U(size), u64::from(u32::MAX)),
                _ => self.source(raw),
            },
            Kind::YSrc | Kind::YDst | Kind::YCatch => match raw {
                Raw::Y(_) => Ok(()),
                _ => Err(self.operand("not a Y register")),
            },
            Kind::FSrc | Kind::FDst => match raw {
                Raw::FR(_) => Ok(()),
                _ => Err(self.operand("not a float register")),
            },
            Kind::FSrcAny => match raw {
                Raw::FR(_) => Ok(()),
                _ => self.source(raw),
            },
            Kind::FDstAny => match raw {
                Raw::FR(_) | Raw::X(_) | Raw::Y(_) => Ok(()),
                _ => Err(self.operand("not a register")),
            },
            Kind::FailOrAtom => match raw {
                Raw::Atom(atom) if matches!(self.tables.atoms.get(atom), Some("no_fail" | "resume")) => Ok(()),
                _ => self.check(Kind::Fail, raw),
            },
            Kind::Lambda => self.lambda(raw),
            Kind::FunTag => match raw {
                Raw::Atom(atom) if self.tables.atoms.has(atom) => Ok(()),
                _ => self.lambda(raw),
            },
            Kind::Atom => match raw {
                Raw::Atom(atom) if self.tables.atoms.has(atom) => Ok(()),
                _ => Err(self.operand("not an atom")),
            },
            Kind::AtomOrLit => match raw {
                Raw::Lit(_) => self.source(raw),
                _ => self.check(Kind::Atom, raw),
            },
            Kind::Const => match raw {
                Raw::Atom(_) | Raw::Lit(_) => self.source(raw),
                _ => Err(self.operand("not a constant")),
            },
            Kind::StringAt => {
                let bytes = if self.op == Op::BsMatchString { self.number.div_ceil(8) } else { self.number };
                self.string(raw, bytes)
            }
            Kind::NewLabel => Err(self.operand("a label definition in the wrong place")),
            _ => self.list(kind, raw),
        }
    }

    fn list(&mut self, kind: Kind, raw: Raw<'_>) -> Check {
        let Raw::List(count) = raw else { return Err(self.operand("not a list")) };
        match kind {
            Kind::ValueLabels => self.groups(count, &[Kind::Const, Kind::Label]),
            Kind::ArityLabels => self.groups(count, &[Kind::Uint, Kind::Label]),
            Kind::Srcs => self.groups(count, &[Kind::Src]),
            Kind::SrcPairs => self.groups(count, &[Kind::Src, Kind::Src]),
            Kind::SrcDsts => self.groups(count, &[Kind::Src, Kind::Dst]),
            Kind::IndexedSrcs => self.groups(count, &[Kind::Uint, Kind::Src]),
            Kind::AtomSrcs => self.groups(count, &[Kind::Atom, Kind::Src]),
            Kind::AtomDsts => self.groups(count, &[Kind::Atom, Kind::Dst]),
            Kind::YList => self.groups(count, &[Kind::YDst]),
            Kind::Segments => self.segments(count),
            Kind::MatchCommands => self.match_commands(count),
            _ => Err(self.operand("no operand of this kind can be a list")),
        }
    }

    /// `count` operands in groups of these kinds.
    fn groups(&mut self, count: u32, kinds: &[Kind]) -> Check {
        if !(count as usize).is_multiple_of(kinds.len()) {
            return Err(self.operand("a list of the wrong length"));
        }
        for _ in 0..count as usize / kinds.len() {
            for kind in kinds {
                let raw = self.reader.raw()?;
                match (kind, raw) {
                    // Values of select_val: constants, integers among them.
                    (Kind::Const, Raw::I(_) | Raw::Big(_)) => {}
                    _ => self.check_item(*kind, raw)?,
                }
            }
        }
        Ok(())
    }

    /// As `check`, for an item of a list: a plain number must be a u there.
    fn check_item(&mut self, kind: Kind, raw: Raw<'_>) -> Check {
        match (kind, raw) {
            (Kind::Uint | Kind::Live, Raw::I(_)) => Err(self.operand("not a number")),
            _ => self.check(kind, raw),
        }
    }

    /// Segments of bs_create_bin.
    fn segments(&mut self, count: u32) -> Check {
        if !count.is_multiple_of(6) {
            return Err(self.operand("a list of the wrong length"));
        }
        for _ in 0..count / 6 {
            let Raw::Atom(atom) = self.reader.raw()? else { return Err(self.operand("not a kind of segment")) };
            let kind = self.tables.atoms.get(atom).unwrap_or("");
            let string = kind == "string";
            if !string
                && !matches!(
                    kind,
                    "append" | "private_append" | "binary" | "float" | "integer" | "utf8" | "utf16" | "utf32"
                )
            {
                return Err(self.operand("not a kind of segment"));
            }
            for kind in [Kind::Uint, Kind::Uint, Kind::Const] {
                let raw = self.reader.raw()?;
                self.check_item(kind, raw)?;
            }
            let (value, size) = (self.reader.raw()?, self.reader.raw()?);
            if string {
                match size {
                    Raw::I(size) if size >= 0 => self.string(value, size as u64)?,
                    Raw::U(size) => self.string(value, size)?,
                    _ => return Err(self.operand("not a size of a string")),
                }
            } else {
                self.source(value)?;
                self.check(Kind::Size, size)?;
            }
        }
        Ok(())
    }

    /// Commands of bs_match.
    fn match_commands(&mut self, count: u32) -> Check {
        let mut left = count as usize;
        while left > 0 {
            let Raw::Atom(atom) = self.reader.raw()? else { return Err(self.operand("not a match command")) };
            let name = self.tables.atoms.get(atom).unwrap_or("");
            let Some(kinds) = match_command(name) else {
                return Err(self.operand("not a match command"));
            };
            left = match left.checked_sub(1 + kinds.len()) {
                Some(left) => left,
                None => return Err(self.operand("a list of the wrong length")),
            };
            for kind in kinds {
                let raw = self.reader.raw()?;
                match (kind, raw) {
                    (Kind::Const, Raw::U(_) | Raw::I(_) | Raw::Big(_)) if name == "=:=" => {}
                    _ => self.check_item(*kind, raw)?,
                }
            }
        }
        Ok(())
    }

    fn heap_need(&mut self, pairs: u32) -> Check {
        let mut total = 0_u64;
        for _ in 0..pairs {
            match (self.reader.raw()?, self.reader.raw()?) {
                (Raw::U(0..=2), Raw::U(count)) if count <= 1 << 24 => total += count,
                _ => return Err(self.operand("not a heap need")),
            }
        }
        if total <= 1 << 28 { Ok(()) } else { Err(self.operand("not a heap need")) }
    }

    fn source(&self, raw: Raw<'_>) -> Check {
        match raw {
            Raw::X(_) | Raw::Y(_) | Raw::I(_) | Raw::Big(_) | Raw::Atom(0) => Ok(()),
            Raw::Atom(atom) if self.tables.atoms.has(atom) => Ok(()),
            Raw::Lit(literal) if (literal as usize) < self.tables.literals => Ok(()),
            Raw::TypedX(_, index) | Raw::TypedY(_, index) => match self.tables.types {
                types if types == 0 || (index as usize) < types => Ok(()),
                _ => Err(self.operand("no such type")),
            },
            _ => Err(self.operand("not a term")),
        }
    }

    /// A plain number, as u or as a non-negative i.
    fn at_most(&mut self, raw: Raw<'_>, limit: u64) -> Check {
        let value = match raw {
            Raw::U(value) => value,
            Raw::I(value) if value >= 0 => value as u64,
            _ => return Err(self.operand("not a number")),
        };
        self.number = value;
        if value <= limit { Ok(()) } else { Err(self.operand("a number beyond its limit")) }
    }

    fn string(&self, raw: Raw<'_>, bytes: u64) -> Check {
        match raw {
            Raw::U(at) if at.checked_add(bytes).is_some_and(|end| end <= self.tables.strings as u64) => Ok(()),
            _ => Err(self.operand("no such string")),
        }
    }

    fn branch(&mut self, raw: Raw<'_>) -> Check {
        let Raw::Label(label) = raw else { return Err(self.operand("not a label")) };
        let function = self.functions.len() as u32;
        match self.branched.get_mut(label as usize) {
            Some(by) if label != 0 && (*by == 0 || *by == function) => *by = function,
            Some(_) if label != 0 => return Err(LoadError::Label { label, what: "belongs to another function" }),
            _ => return Err(self.operand("no such label")),
        }
        Ok(())
    }

    fn call_target(&mut self, raw: Raw<'_>) -> Check {
        let Raw::Label(label) = raw else { return Err(self.operand("not a label")) };
        let arity = self.number as u16 + 1;
        match self.called.get_mut(label as usize) {
            Some(by) if label != 0 && (*by == 0 || *by == arity) => *by = arity,
            _ => return Err(self.operand("no function of this arity")),
        }
        Ok(())
    }

    fn import(&self, raw: Raw<'_>, arity: u64) -> Check {
        match raw {
            Raw::U(index) => match self.tables.imports.get(usize::try_from(index).unwrap_or(usize::MAX)) {
                Some(import) if u64::from(import.arity) == arity => Ok(()),
                Some(_) => Err(self.operand("an import of another arity")),
                None => Err(self.operand("no such import")),
            },
            _ => Err(self.operand("not an import")),
        }
    }

    fn lambda(&self, raw: Raw<'_>) -> Check {
        match raw {
            Raw::U(index) if index < self.tables.lambdas.len() as u64 => Ok(()),
            _ => Err(self.operand("no such fun")),
        }
    }

    fn atom_operand(&mut self) -> Result<u32, LoadError> {
        match self.reader.raw()? {
            Raw::Atom(atom) if self.tables.atoms.has(atom) => Ok(atom),
            _ => Err(self.operand("not an atom")),
        }
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
    fn operand(&self, what: &'static str) -> LoadError {
        LoadError::Operand { op: self.op, index: self.index, offset: self.at, what }
    }

    #[cold]
    fn misplaced(&self, what: &'static str) -> LoadError {
        LoadError::Code { offset: self.at, what }
    }
}

/// The operands of a bs_match command.
fn match_command(name: &str) -> Option<&'static [Kind]> {
    Some(match name {
        "ensure_at_least" => &[Kind::Uint, Kind::Uint],
        "ensure_exactly" | "skip" => &[Kind::Uint],
        "integer" | "binary" => &[Kind::Live, Kind::Const, Kind::Uint, Kind::Uint, Kind::Dst],
        "get_tail" => &[Kind::Live, Kind::Uint, Kind::Dst],
        // Live (nil), size, and a value as u or i.
        "=:=" => &[Kind::Const, Kind::Uint, Kind::Const],
        _ => return None,
    })
}
