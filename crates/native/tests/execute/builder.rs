//! Forms written down block by block.

use myriad_native::form::{
    ARGUMENTS, Base, Binary, Block, BlockId, Condition, End, Form, Op, Place, Point, Region, Type, Value, Variable,
    Width,
};

use super::world::Name;

/// A form that grows.
pub struct Builder {
    form: Form,
    current: usize,
}

impl Builder {
    /// The entry, and nothing in it.
    pub fn new() -> Self {
        let form = Form {
            values: vec![Type::Word; ARGUMENTS + 1],
            parameters: (0..=ARGUMENTS as u32).map(Value).collect(),
            ..Form::default()
        };
        let mut builder = Self { form, current: 0 };
        builder.block();
        builder
    }

    /// The stack pointer at the entry.
    pub fn sp(&self) -> Value {
        self.form.parameters[0]
    }

    /// An X register at the entry.
    pub fn x(&self, number: usize) -> Value {
        self.form.parameters[number + 1]
    }

    /// A further block.
    pub fn block(&mut self) -> BlockId {
        self.form.blocks.push(Block { ops: Vec::new(), end: End::Jump(BlockId(0)) });
        BlockId(self.form.blocks.len() as u32 - 1)
    }

    /// What follows is in this block.
    pub fn at(&mut self, block: BlockId) {
        self.current = block.0 as usize;
    }

    /// A further value.
    pub fn value(&mut self, kind: Type) -> Value {
        self.form.values.push(kind);
        Value(self.form.values.len() as u32 - 1)
    }

    /// A further variable.
    pub fn variable(&mut self, kind: Type) -> Variable {
        self.form.variables.push(kind);
        Variable(self.form.variables.len() as u32 - 1)
    }

    /// The type of a variable.
    pub fn type_of(&self, variable: Variable) -> Type {
        self.form.variables[variable.0 as usize]
    }

    /// An operation that gives nothing.
    pub fn op(&mut self, op: Op) {
        self.form.blocks[self.current].ops.push(op);
    }

    /// An operation that gives a value.
    pub fn give(&mut self, kind: Type, op: impl FnOnce(Value) -> Op) -> Value {
        let value = self.value(kind);
        self.op(op(value));
        value
    }

    /// The end of the block.
    pub fn end(&mut self, end: End) {
        self.form.blocks[self.current].end = end;
    }

    /// A number.
    pub fn word(&mut self, number: u64) -> Value {
        self.give(Type::Word, |to| Op::Word(to, number))
    }

    /// A name's address.
    pub fn name(&mut self, name: Name) -> Value {
        self.give(Type::Word, |to| Op::Symbol(to, name.symbol()))
    }

    /// Two words.
    pub fn binary(&mut self, what: Binary, a: Value, b: Value) -> Value {
        self.give(Type::Word, |to| Op::Binary(to, what, a, b))
    }

    /// A word and a number.
    pub fn binary_word(&mut self, what: Binary, a: Value, number: u64) -> Value {
        let b = self.word(number);
        self.binary(what, a, b)
    }

    /// A comparison.
    pub fn compare(&mut self, condition: Condition, a: Value, b: Value) -> Value {
        self.give(Type::Word, |to| Op::Compare(to, condition, a, b))
    }

    /// A word of the register block.
    pub fn block_word(index: usize) -> Place {
        Place { base: Base::Block, offset: 8 * index as i32, width: Width::Word, region: Region::Registers }
    }

    /// A word at so many words from an address on the stack.
    pub fn stack_word(sp: Value, index: i32) -> Place {
        Place { base: Base::Value(sp), offset: 8 * index, width: Width::Word, region: Region::Stack }
    }

    /// A word from memory.
    pub fn load(&mut self, place: Place) -> Value {
        self.give(Type::Word, |to| Op::Load(to, place))
    }

    /// Calls a function: pushes words and the point's record. What follows is behind the return, with the stack pointer before the words and X0.
    pub fn call(&mut self, function: u32, sp: Value, kept: &[Value], x: Vec<Value>, point: Point) -> (Value, Value) {
        let size = kept.len() as i32 + 1;
        let below = self.binary_word(Binary::Sub, sp, 8 * size as u64);
        for (index, value) in kept.iter().enumerate() {
            self.op(Op::Store(Self::stack_word(below, index as i32 + 1), *value));
        }
        let record = self.name(Name::Record(point));
        self.op(Op::Store(Self::stack_word(below, 0), record));
        let target = self.name(Name::Entry(function));
        let (next, sp_after, x0_after) = (self.block(), self.value(Type::Word), self.value(Type::Word));
        self.end(End::Call { target, sp: below, x, point, sp_after, x0_after, next });
        self.at(next);
        (sp_after, x0_after)
    }

    /// Visits. What follows is behind it, with the stack pointer and X0.
    pub fn visit(&mut self, sp: Value, point: Point, rare: bool) -> (Value, Value) {
        let target = self.name(Name::Visit);
        let what = self.name(Name::Record(point));
        let (next, sp_after, x0_after) = (self.block(), self.value(Type::Word), self.value(Type::Word));
        self.end(End::Visit { target, sp, what, point, sp_after, x0_after, next, rare });
        self.at(next);
        (sp_after, x0_after)
    }

    /// The form. Points led to by nothing are added by `change`.
    pub fn finish(mut self, change: impl FnOnce(&mut Form)) -> Form {
        change(&mut self.form);
        self.form
    }
}
