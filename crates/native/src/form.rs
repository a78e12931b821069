//! The form in which a function comes to a back end: words, blocks, and the few ways in which Erlang code goes on elsewhere.
//!
//! A function has one way in that others call, block 0, and further ones, its *points*: where it goes on after a call that it has made, after a visit
//! to the interpreter, or at a handler of exceptions. Every way in has the same two things in registers, the stack pointer and X0; the entry has as many
//! further X registers as [`ARGUMENTS`] says. Everything else is in memory then: no value and no variable lives over a call or a visit, but in a frame.
//!
//! Values are set once, by the operation that gives them, and used in blocks that this one dominates. Variables are set as often as one likes; reading
//! one that has not been set on some way there gives anything. Words are 64 bits; what a word means is not known here.
//!
//! F1. A block ends with exactly one [`End`]. Values are used where the operation that gives them dominates, and have the type that the use wants.
//! F2. Over the ends [`End::Call`] and [`End::Visit`], and into a block of [`Form::points`], nothing lives in values or variables but what those give.
//! F3. A point is led to by one end, or named in [`Form::points`], not both.

mod display;
pub mod graph;
mod verify;

/// X registers that the entry of a function has in machine registers.
pub const ARGUMENTS: usize = 5;

/// What a value or a variable holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    /// 64 bits.
    Word,
    /// A double.
    Float,
}

/// A value, given once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Value(pub u32);

/// A variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Variable(pub u32);

/// A block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct BlockId(pub u32);

/// A word that is known when the code is linked: an address or a term. What it stands for only who makes forms knows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Symbol(pub u32);

/// A place where others enter a function behind its entry, numbered by who makes the form.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Point(pub u32);

/// What an access may touch: accesses of different regions never meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Region {
    /// The heap, literals, binaries.
    Heap,
    /// The frames of the Erlang stack.
    Stack,
    /// The register block.
    Registers,
    /// All else.
    Other,
}

/// Where an access begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Base {
    /// The register block, which a machine register of its own holds throughout.
    Block,
    /// At an address.
    Value(Value),
}

/// How wide an access is; narrow loads are extended with zeros, or by the sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// A byte.
    U8,
    /// Two bytes.
    U16,
    /// Four bytes.
    U32,
    /// Four bytes, with a sign.
    S32,
    /// A word.
    Word,
    /// A double.
    Float,
}

/// A memory access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Where it begins...
    pub base: Base,
    /// ...and how many bytes behind that it is.
    pub offset: i32,
    /// How wide it is.
    pub width: Width,
    /// What it may touch.
    pub region: Region,
}

/// An operation of two words. Shifts and rotations count modulo 64.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Binary {
    /// a + b, wrapping.
    Add,
    /// a - b, wrapping.
    Sub,
    /// a * b, wrapping.
    Mul,
    /// The bits of both.
    And,
    /// The bits of either.
    Or,
    /// The bits of one.
    Xor,
    /// a << b.
    ShiftLeft,
    /// a >> b, zeros come in.
    ShiftRight,
    /// a >> b, the sign comes in.
    ShiftRightSigned,
    /// Rotated to the left.
    RotateLeft,
    /// Quotient of words with signs, towards zero. The divisor is neither 0 nor -1.
    DivideSigned,
    /// Its remainder. The divisor is neither 0 nor -1.
    RemainderSigned,
}

/// An operation of one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unary {
    /// The bytes in the opposite order.
    SwapBytes,
    /// How many zeros stand before the first one bit; 64 for 0.
    LeadingZeros,
}

/// An operation of two doubles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FloatBinary {
    /// a + b.
    Add,
    /// a - b.
    Sub,
    /// a * b.
    Mul,
    /// a / b.
    Div,
}

/// A comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condition {
    /// a = b.
    Equal,
    /// a /= b.
    NotEqual,
    /// a < b, with signs.
    Less,
    /// a <= b, with signs.
    LessOrEqual,
    /// a > b, with signs.
    Greater,
    /// a >= b, with signs.
    GreaterOrEqual,
    /// a < b, without signs.
    Below,
    /// a <= b, without signs.
    BelowOrEqual,
    /// a > b, without signs.
    Above,
    /// a >= b, without signs.
    AboveOrEqual,
}

/// Arithmetic with signs that may overflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Checked {
    /// a + b.
    Add,
    /// a - b.
    Sub,
    /// a * b.
    Mul,
}

/// What a block does, one after the other. The first value of those that give one is what they give.
#[derive(Clone, PartialEq, Debug)]
pub enum Op {
    /// From here on code is of this number (an instruction, say): listings and tables of addresses name it.
    Source(u32),
    /// A number.
    Word(Value, u64),
    /// A double.
    Float(Value, f64),
    /// What a symbol stands for.
    Symbol(Value, Symbol),
    /// The value of a variable.
    Get(Value, Variable),
    /// Sets a variable.
    Set(Variable, Value),
    /// Reads.
    Load(Value, Place),
    /// Writes; of a word that is wider than the place, the low bytes.
    Store(Place, Value),
    /// The counter, a number of 32 bits with a sign that a machine register of its own holds throughout, over calls and visits too.
    Counter(Value),
    /// Sets the counter to the low 32 bits of a word.
    SetCounter(Value),
    /// Two words.
    Binary(Value, Binary, Value, Value),
    /// One word.
    Unary(Value, Unary, Value),
    /// Two words compared: 1 or 0.
    Compare(Value, Condition, Value, Value),
    /// The first of two values if a word is not 0, else the second.
    Select(Value, Value, Value, Value),
    /// Two doubles.
    FloatBinary(Value, FloatBinary, Value, Value),
    /// Two doubles compared: 1 or 0. With one that is no number: 0, but for `NotEqual`, which gives 1. Of the conditions those with signs.
    FloatCompare(Value, Condition, Value, Value),
    /// The bits of a double as a word.
    FloatBits(Value, Value),
    /// Bits as a double.
    BitsFloat(Value, Value),
    /// A word with a sign as the nearest double.
    ToFloat(Value, Value),
    /// Calls a function at an address by the processor's convention for C, with at most six words; gives its word, if one is wanted. It touches no
    /// frame of Erlang's stack, takes no room, never stops. Values live on.
    Leaf(Option<Value>, Value, Vec<Value>),
    /// Calls a function that keeps all registers, and takes and gives no words but in memory: where it is rare, what is not gives up no register for
    /// it.
    RareLeaf(Value),
}

/// Where a block goes on.
#[derive(Clone, PartialEq, Debug)]
pub enum End {
    /// At a block.
    Jump(BlockId),
    /// At the first block if a word is not 0, else at the second. `likely`: which of them is the usual one, if that is known.
    Branch {
        /// The word.
        condition: Value,
        /// Not 0.
        then: BlockId,
        /// 0.
        otherwise: BlockId,
        /// The usual one.
        likely: Option<bool>,
    },
    /// Arithmetic: at the first block with the result, or at the second, rarely, if that does not fit a word.
    Checked {
        /// The result.
        result: Value,
        /// What is done.
        with: Checked,
        /// a.
        a: Value,
        /// b.
        b: Value,
        /// It fits.
        fits: BlockId,
        /// It does not.
        overflows: BlockId,
    },
    /// The code at `target` runs in place of this function, with the stack pointer and X registers. It may be the entry of another function, or code that
    /// leaves for the interpreter.
    Tail {
        /// An address.
        target: Value,
        /// The stack pointer.
        sp: Value,
        /// The first X registers, at most [`ARGUMENTS`].
        x: Vec<Value>,
    },
    /// The function at `target` runs with the stack pointer (to which the return point has been pushed) and X registers; when it returns to that,
    /// `next` goes on with the two values.
    Call {
        /// An address.
        target: Value,
        /// The stack pointer.
        sp: Value,
        /// The first X registers, at most [`ARGUMENTS`].
        x: Vec<Value>,
        /// The way in.
        point: Point,
        /// The stack pointer then.
        sp_after: Value,
        /// X0 then.
        x0_after: Value,
        /// Where it goes on.
        next: BlockId,
    },
    /// As a call, of code at `target` that gets one word besides the stack pointer, and enters at the point afterwards. All that it wants to know is in
    /// memory. Usually it is rare (`rare`), and its block is out of the way.
    Visit {
        /// An address.
        target: Value,
        /// The stack pointer.
        sp: Value,
        /// The word.
        what: Value,
        /// The way in.
        point: Point,
        /// The stack pointer then.
        sp_after: Value,
        /// X0 then.
        x0_after: Value,
        /// Where it goes on.
        next: BlockId,
        /// Is it?
        rare: bool,
    },
    /// Returns to the record whose address is on top of the stack: jumps to the address in its first word, with `sp` one word above it and X0, and
    /// the record's address in a register of its own.
    Return {
        /// The stack pointer, at the record's address.
        sp: Value,
        /// X0.
        x0: Value,
    },
}

/// A block.
#[derive(Clone, PartialEq, Debug)]
pub struct Block {
    /// What it does.
    pub ops: Vec<Op>,
    /// Where it goes on.
    pub end: End,
}

/// A block that is entered from elsewhere and led to by nothing here, such as a handler of exceptions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The way in.
    pub point: Point,
    /// The stack pointer then.
    pub sp: Value,
    /// X0 then.
    pub x0: Value,
    /// Where it goes on.
    pub block: BlockId,
}

/// A function.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Form {
    /// The types of values, by number.
    pub values: Vec<Type>,
    /// The types of variables, by number.
    pub variables: Vec<Type>,
    /// At the entry: the stack pointer, and [`ARGUMENTS`] X registers.
    pub parameters: Vec<Value>,
    /// The blocks; the first is the entry.
    pub blocks: Vec<Block>,
    /// Ways in that nothing here leads to.
    pub points: Vec<Entry>,
}
