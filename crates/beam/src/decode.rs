//! Decoded instructions: one function at a time, on demand.
//!
//! The scan (`scan.rs`) has checked everything before, so decoding a loaded module's function cannot
//! fail; it still returns an error rather than panic, should that ever be wrong.
//!
//! Operands are made regular on the way: a `Size` that is a plain number becomes `I`, a heap need
//! always becomes `Alloc`, a tail call of a BIF that always raises becomes a call_ext (so that no
//! frame is dropped for it), an int_code_end is put after a call that stands last, allocate becomes allocate_zero where the scan
//! found that slots may be used before they are set, plain numbers (`Uint`, `Live`, ...) always become `U`.

use std::fmt;

use crate::error::LoadError;
use crate::opcode::{Kind, Op};
use crate::reader::{Raw, Reader};
use crate::scan::{CODE, FunctionDef};
use crate::tables::Import;

/// An X or Y register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reg {
    /// X register.
    X(u16),
    /// Y register: slot of the frame.
    Y(u16),
}

/// A register of any kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AnyReg {
    /// X register.
    X(u16),
    /// Y register: slot of the frame.
    Y(u16),
    /// Float register.
    FR(u16),
}

impl AnyReg {
    /// The register that an operand is.
    pub(crate) fn of(arg: &Arg) -> Option<AnyReg> {
        match *arg {
            Arg::X(x) | Arg::Typed(Reg::X(x), _) => Some(AnyReg::X(x)),
            Arg::Y(y) | Arg::Typed(Reg::Y(y), _) => Some(AnyReg::Y(y)),
            Arg::FR(r) => Some(AnyReg::FR(r)),
            _ => None,
        }
    }
}

/// Words of heap that will be needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Alloc {
    /// Words, of ordinary terms.
    pub words: u32,
    /// Floats, of whatever size they have here.
    pub floats: u32,
    /// Funs, of whatever size they have here.
    pub funs: u32,
}

/// One operand. `Kind` tells which of them may stand where.
#[derive(Clone, PartialEq, Eq)]
pub enum Arg {
    /// A plain number or an index.
    U(u64),
    /// An integer term.
    I(i64),
    /// An integer term beyond 64 bits: big-endian two's complement.
    BigInt(Box<[u8]>),
    /// The empty list.
    Nil,
    /// An atom of the module's atom table, from 1.
    Atom(u32),
    /// X register.
    X(u16),
    /// Y register.
    Y(u16),
    /// Float register.
    FR(u16),
    /// A label; 0: none.
    Label(u32),
    /// A literal of the module's literal table.
    Lit(u32),
    /// A list of operands.
    List(Box<[Arg]>),
    /// A heap need.
    Alloc(Alloc),
    /// A register of which the compiler knew the type (`Module::type_of`).
    Typed(Reg, u32),
}

impl Arg {
    /// The register, typed or not.
    pub fn reg(&self) -> Option<Reg> {
        match *self {
            Arg::X(x) | Arg::Typed(Reg::X(x), _) => Some(Reg::X(x)),
            Arg::Y(y) | Arg::Typed(Reg::Y(y), _) => Some(Reg::Y(y)),
            _ => None,
        }
    }

    /// The plain number.
    pub fn number(&self) -> Option<u64> {
        if let Arg::U(value) = self { Some(*value) } else { None }
    }

    /// The label.
    pub fn label(&self) -> Option<u32> {
        if let Arg::Label(label) = self { Some(*label) } else { None }
    }

    /// The items of a list; nothing for other operands.
    pub fn items(&self) -> &[Arg] {
        if let Arg::List(items) = self { items } else { &[] }
    }
}

impl fmt::Debug for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arg::U(n) => write!(f, "{n}"),
            Arg::I(n) => write!(f, "#{n}"),
            Arg::BigInt(bytes) => {
                write!(f, "#16#")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
            Arg::Nil => write!(f, "[]"),
            Arg::Atom(atom) => write!(f, "a{atom}"),
            Arg::X(x) | Arg::Typed(Reg::X(x), _) => write!(f, "x{x}"),
            Arg::Y(y) | Arg::Typed(Reg::Y(y), _) => write!(f, "y{y}"),
            Arg::FR(r) => write!(f, "fr{r}"),
            Arg::Label(l) => write!(f, "f{l}"),
            Arg::Lit(l) => write!(f, "lit{l}"),
            Arg::List(items) => f.debug_list().entries(items.iter()).finish(),
            Arg::Alloc(need) => write!(f, "{need:?}"),
        }
    }
}

/// One decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instr<'a> {
    /// The operation.
    pub op: Op,
    /// Its operands, of the kinds `op.kinds()` states.
    pub args: &'a [Arg],
    /// Bytes from the first instruction of the module.
    pub offset: u32,
}

#[derive(Clone, Copy, Debug)]
struct Head {
    op: Op,
    first: u32,
    offset: u32,
}

/// The instructions of one function; their operands in one block.
#[derive(Clone, Debug, Default)]
pub struct Body {
    heads: Vec<Head>,
    args: Vec<Arg>,
}

impl Body {
    /// How many instructions there are.
    pub fn len(&self) -> usize {
        self.heads.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// The instruction of an index.
    pub fn get(&self, index: usize) -> Option<Instr<'_>> {
        let head = self.heads.get(index)?;
        let end = self.heads.get(index + 1).map_or(self.args.len(), |next| next.first as usize);
        Some(Instr { op: head.op, args: self.args.get(head.first as usize..end)?, offset: head.offset })
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = Instr<'_>> + Clone {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Decodes the instructions of a function.
    pub(crate) fn decode(code: &[u8], function: &FunctionDef, imports: &[Import]) -> Result<Self, LoadError> {
        let mut reader = Reader::window(CODE, code, function.start as usize, function.end as usize);
        // Counts come from the scan and so are bounded by the size of the code.
        let count = function.instructions as usize + 1;
        let mut body = Body { heads: Vec::with_capacity(count), args: Vec::with_capacity(3 * count) };
        while !reader.is_empty() {
            let offset = reader.offset();
            let opcode = reader.u8()?;
            let (op, kinds) = Op::row(opcode).ok_or(LoadError::UnknownOpcode { opcode, offset })?;
            let op = match op {
                Op::Allocate if function.needs_nils => Op::AllocateZero,
                Op::AllocateHeap if function.needs_nils => Op::AllocateHeapZero,
                _ => op,
            };
            body.heads.push(Head { op, first: body.args.len() as u32, offset: offset as u32 });
            for kind in kinds {
                let arg = operand(&mut reader, *kind)?;
                body.args.push(arg);
            }
            if matches!(op, Op::CallExtLast | Op::CallExtOnly) {
                body.plain_call_if_it_raises(imports);
            }
        }
        if body.heads.last().is_some_and(|head| head.op.is_body_call()) {
            body.heads.push(Head { op: Op::IntCodeEnd, first: body.args.len() as u32, offset: function.end });
        }
        Ok(body)
    }

    /// Makes a call_ext of the tail call just decoded if its callee always raises.
    fn plain_call_if_it_raises(&mut self, imports: &[Import]) {
        let Some(head) = self.heads.last_mut() else { return };
        let first = head.first as usize;
        let import = self.args.get(first + 1).and_then(Arg::number).and_then(|index| imports.get(index as usize));
        if import.is_some_and(|import| import.always_raises) {
            head.op = Op::CallExt;
            self.args.truncate(first + 2);
        }
    }
}

fn operand(reader: &mut Reader<'_>, kind: Kind) -> Result<Arg, LoadError> {
    let raw = reader.raw()?;
    Ok(match (kind, raw) {
        (Kind::Size, Raw::U(size)) => Arg::I(i64::try_from(size).map_err(|_| reader.malformed("not a size"))?),
        (Kind::Heap, Raw::U(words)) => Arg::Alloc(Alloc { words: words as u32, ..Alloc::default() }),
        (Kind::Heap, Raw::I(words)) => Arg::Alloc(Alloc { words: words as u32, ..Alloc::default() }),
        (Kind::Heap, Raw::Alloc(pairs)) => {
            let mut need = Alloc::default();
            for _ in 0..pairs {
                match (reader.raw()?, reader.raw()?) {
                    (Raw::U(0), Raw::U(n)) => need.words = need.words.saturating_add(n as u32),
                    (Raw::U(1), Raw::U(n)) => need.floats = need.floats.saturating_add(n as u32),
                    (Raw::U(_), Raw::U(n)) => need.funs = need.funs.saturating_add(n as u32),
                    _ => return Err(reader.malformed("not a heap need")),
                }
            }
            Arg::Alloc(need)
        }
        (
            Kind::Uint | Kind::Bits | Kind::Live | Kind::Frame | Kind::Arity | Kind::Flags | Kind::Unit | Kind::Line,
            Raw::I(n),
        ) => Arg::U(n as u64),
        (_, Raw::List(count)) => {
            let item = |_| {
                let raw = reader.raw()?;
                scalar(reader, raw)
            };
            Arg::List((0..count).map(item).collect::<Result<_, _>>()?)
        }
        _ => scalar(reader, raw)?,
    })
}

fn scalar(reader: &Reader<'_>, raw: Raw<'_>) -> Result<Arg, LoadError> {
    Ok(match raw {
        Raw::U(n) => Arg::U(n),
        Raw::I(n) => Arg::I(n),
        Raw::Big(bytes) => Arg::BigInt(bytes.into()),
        Raw::Atom(0) => Arg::Nil,
        Raw::Atom(atom) => Arg::Atom(atom),
        Raw::X(x) => Arg::X(x),
        Raw::Y(y) => Arg::Y(y),
        Raw::FR(r) => Arg::FR(r),
        Raw::Label(label) => Arg::Label(label),
        Raw::Lit(literal) => Arg::Lit(literal),
        Raw::TypedX(x, index) => Arg::Typed(Reg::X(x), index),
        Raw::TypedY(y, index) => Arg::Typed(Reg::Y(y), index),
        Raw::List(_) | Raw::Alloc(_) => return Err(reader.malformed("a list within a list")),
    })
}
