//! A form while it is being made.

use myriad_native::form::{
    Base, Binary, Block, BlockId, Checked, Condition, End, Entry, Form, Op, Place, Point, Region, Symbol, Type, Value,
    Variable, Width,
};
use myriad_term::Term;

/// A form, and the block that is being filled.
pub(crate) struct Builder {
    form: Form,
    blocks: Vec<(Vec<Op>, Option<End>)>,
    at: BlockId,
}

impl Builder {
    /// A form with an entry that has the stack pointer and so many X registers; the block of the entry is being filled.
    pub(crate) fn new(arguments: usize) -> Builder {
        let mut builder = Builder { form: Form::default(), blocks: Vec::new(), at: BlockId(0) };
        builder.form.parameters = (0..=arguments).map(|_| builder.value(Type::Word)).collect();
        let entry = builder.block();
        builder.begin(entry);
        builder
    }

    /// What the entry gets: the stack pointer first.
    pub(crate) fn parameter(&self, index: usize) -> Value {
        self.form.parameters[index]
    }

    /// The form. Blocks that were never filled are led to by nothing that runs.
    pub(crate) fn finish(mut self) -> Form {
        let block = |(index, (ops, end)): (usize, (Vec<Op>, Option<End>))| {
            let end = end.unwrap_or(End::Jump(BlockId(index as u32)));
            Block { ops, end }
        };
        self.form.blocks = self.blocks.into_iter().enumerate().map(block).collect();
        self.form
    }

    // ---- blocks

    /// A new block.
    pub(crate) fn block(&mut self) -> BlockId {
        self.blocks.push((Vec::new(), None));
        BlockId(self.blocks.len() as u32 - 1)
    }

    /// From now on this block is filled.
    pub(crate) fn begin(&mut self, block: BlockId) {
        debug_assert!(self.blocks[block.0 as usize].1.is_none(), "the block is complete");
        self.at = block;
    }

    /// Does the block at hand still want an end?
    pub(crate) fn is_open(&self) -> bool {
        self.blocks[self.at.0 as usize].1.is_none()
    }

    /// Ends the block at hand.
    pub(crate) fn end(&mut self, end: End) {
        debug_assert!(self.is_open(), "it has ended");
        self.blocks[self.at.0 as usize].1 = Some(end);
    }

    /// Ends it, and goes on in another.
    pub(crate) fn jump(&mut self, to: BlockId) {
        self.end(End::Jump(to));
    }

    /// Goes on in a new block if so, else at `otherwise`. `likely`: which is usual.
    pub(crate) fn unless(&mut self, condition: Value, otherwise: BlockId, likely: Option<bool>) {
        let then = self.block();
        self.end(End::Branch { condition, then, otherwise, likely });
        self.begin(then);
    }

    /// Goes on in a new block, unless a word is no term: then at `none`.
    pub(crate) fn unless_none(&mut self, word: Value, none: BlockId) {
        let is_term = self.compare_with(Condition::NotEqual, word, Term::NONE.raw());
        self.unless(is_term, none, None);
    }

    /// Is entered from elsewhere at this point.
    pub(crate) fn enter_at(&mut self, point: Point, block: BlockId) -> (Value, Value) {
        let (sp, x0) = (self.value(Type::Word), self.value(Type::Word));
        self.form.points.push(Entry { point, sp, x0, block });
        (sp, x0)
    }

    // ---- operations

    /// A new value.
    pub(crate) fn value(&mut self, of: Type) -> Value {
        self.form.values.push(of);
        Value(self.form.values.len() as u32 - 1)
    }

    /// A new variable.
    pub(crate) fn variable(&mut self, of: Type) -> Variable {
        self.form.variables.push(of);
        Variable(self.form.variables.len() as u32 - 1)
    }

    /// Does something that gives no value.
    pub(crate) fn op(&mut self, op: Op) {
        debug_assert!(self.is_open(), "the block has ended");
        self.blocks[self.at.0 as usize].0.push(op);
    }

    /// Does something that gives a value.
    fn giving(&mut self, of: Type, op: impl FnOnce(Value) -> Op) -> Value {
        let value = self.value(of);
        self.op(op(value));
        value
    }

    /// A number.
    pub(crate) fn word(&mut self, word: u64) -> Value {
        self.giving(Type::Word, |value| Op::Word(value, word))
    }

    /// What a symbol stands for.
    pub(crate) fn symbol(&mut self, symbol: Symbol) -> Value {
        self.giving(Type::Word, |value| Op::Symbol(value, symbol))
    }

    /// A variable.
    pub(crate) fn get(&mut self, variable: Variable) -> Value {
        let of = self.form.variables[variable.0 as usize];
        self.giving(of, |value| Op::Get(value, variable))
    }

    /// Sets a variable.
    pub(crate) fn set(&mut self, variable: Variable, value: Value) {
        self.op(Op::Set(variable, value));
    }

    /// Reads.
    pub(crate) fn load(&mut self, place: Place) -> Value {
        let of = if place.width == Width::Float { Type::Float } else { Type::Word };
        self.giving(of, |value| Op::Load(value, place))
    }

    /// The counter.
    pub(crate) fn counter(&mut self) -> Value {
        self.giving(Type::Word, Op::Counter)
    }

    /// Writes.
    pub(crate) fn store(&mut self, place: Place, value: Value) {
        self.op(Op::Store(place, value));
    }

    /// Two words.
    pub(crate) fn binary(&mut self, op: Binary, a: Value, b: Value) -> Value {
        self.giving(Type::Word, |value| Op::Binary(value, op, a, b))
    }

    /// A word and a number.
    pub(crate) fn with(&mut self, op: Binary, a: Value, b: u64) -> Value {
        let b = self.word(b);
        self.binary(op, a, b)
    }

    /// Two words compared.
    pub(crate) fn compare(&mut self, condition: Condition, a: Value, b: Value) -> Value {
        self.giving(Type::Word, |value| Op::Compare(value, condition, a, b))
    }

    /// A word compared with a number.
    pub(crate) fn compare_with(&mut self, condition: Condition, a: Value, b: u64) -> Value {
        let b = self.word(b);
        self.compare(condition, a, b)
    }

    /// What a float operation gives.
    pub(crate) fn float(&mut self, op: impl FnOnce(Value) -> Op) -> Value {
        self.giving(Type::Float, op)
    }

    /// What another operation gives: a word.
    pub(crate) fn gives(&mut self, op: impl FnOnce(Value) -> Op) -> Value {
        self.giving(Type::Word, op)
    }

    /// The sum, difference or product; control goes on where it fits, else at `overflows`.
    pub(crate) fn checked(&mut self, with: Checked, a: Value, b: Value, overflows: BlockId) -> Value {
        let (result, fits) = (self.value(Type::Word), self.block());
        self.end(End::Checked { result, with, a, b, fits, overflows });
        self.begin(fits);
        result
    }
}

/// A word of the register block.
pub(crate) fn block_word(offset: usize) -> Place {
    Place { base: Base::Block, offset: offset as i32, width: Width::Word, region: Region::Registers }
}

/// A word behind an address.
pub(crate) fn word_at(address: Value, offset: i32, region: Region) -> Place {
    Place { base: Base::Value(address), offset, width: Width::Word, region }
}
