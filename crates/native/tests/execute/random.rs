//! Random functions: arithmetic, branches, loops, overflow, floats, leaves, calls with records and words on the stack, visits.
//!
//! What lives over a call is in the register block or in the frame. The stack pointer is in a variable, which is set again at each point, as all
//! variables are; values of before a call are forgotten by the generator, too.

use myriad_native::form::{
    Base, Binary, BlockId, Checked, Condition, End, FloatBinary, Form, Op, Place, Point, Region, Type, Unary, Value,
    Variable, Width,
};

use super::builder::Builder;
use super::world::{FIRST_FREE, HEAP_WORDS, Name};

/// The word of the register block that says how many more functions may be entered.
pub const FUEL: usize = FIRST_FREE + 1;

/// Words of the register block that stand for X registers in memory.
const MEMORY: std::ops::Range<usize> = FIRST_FREE + 2..FIRST_FREE + 18;

const BINARIES: [Binary; 12] = [
    Binary::Add,
    Binary::Sub,
    Binary::Mul,
    Binary::And,
    Binary::Or,
    Binary::Xor,
    Binary::ShiftLeft,
    Binary::ShiftRight,
    Binary::ShiftRightSigned,
    Binary::RotateLeft,
    Binary::DivideSigned,
    Binary::RemainderSigned,
];

const CONDITIONS: [Condition; 10] = [
    Condition::Equal,
    Condition::NotEqual,
    Condition::Less,
    Condition::LessOrEqual,
    Condition::Greater,
    Condition::GreaterOrEqual,
    Condition::Below,
    Condition::BelowOrEqual,
    Condition::Above,
    Condition::AboveOrEqual,
];

/// A generator of numbers: Knuth's constants for a linear congruence.
pub struct Random(pub u64);

impl Random {
    /// Below a number.
    pub fn below(&mut self, number: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % number
    }

    /// One of some.
    pub fn of<T: Copy>(&mut self, some: &[T]) -> T {
        some[self.below(some.len())]
    }

    /// Words that are likely to matter.
    pub fn word(&mut self) -> u64 {
        match self.below(6) {
            0 => self.below(20) as u64,
            1 => (self.below(20) as u64).wrapping_neg(),
            2 => 1 << self.below(64),
            3 => (1 << self.below(63)) - 1,
            4 => i64::MAX as u64 - self.below(3) as u64,
            _ => self.0.rotate_left(17) ^ self.0,
        }
    }
}

/// Functions that may call each other, and how many points they have.
pub fn functions(seed: u64, count: usize, size: usize) -> (Vec<Form>, usize) {
    let mut random = Random(seed);
    let mut points = 0;
    let forms = (0..count).map(|_| Generator::new(&mut random, &mut points, count).function(size)).collect();
    (forms, points)
}

struct Generator<'r> {
    random: &'r mut Random,
    points: &'r mut usize,
    functions: usize,
    builder: Builder,
    sp: Variable,
    variables: Vec<Variable>,
    words: Vec<Value>,
    floats: Vec<Value>,
    /// Goes up with each point: what was given before may not dominate any more.
    age: usize,
    sources: u32,
}

impl<'r> Generator<'r> {
    fn new(random: &'r mut Random, points: &'r mut usize, functions: usize) -> Self {
        let mut builder = Builder::new();
        let sp = builder.variable(Type::Word);
        let variables =
            [Type::Word, Type::Word, Type::Word, Type::Float, Type::Float].map(|kind| builder.variable(kind)).to_vec();
        Self { random, points, functions, builder, sp, variables, words: vec![], floats: vec![], age: 0, sources: 0 }
    }

    fn function(mut self, size: usize) -> Form {
        let sp = self.builder.sp();
        self.words = (0..5).map(|number| self.builder.x(number)).collect();
        self.builder.op(Op::Set(self.sp, sp));
        self.set_variables();
        let fuel = self.builder.load(Builder::block_word(FUEL));
        let none = self.builder.word(0);
        let condition = self.builder.compare(Condition::Equal, fuel, none);
        let [stop, go] = [self.builder.block(), self.builder.block()];
        self.builder.end(End::Branch { condition, then: stop, otherwise: go, likely: Some(false) });
        self.builder.at(stop);
        let x0 = self.builder.x(1);
        self.builder.end(End::Return { sp, x0 });
        self.builder.at(go);
        let less = self.builder.binary_word(Binary::Sub, fuel, 1);
        self.builder.op(Op::Store(Builder::block_word(FUEL), less));
        self.statements(size, 0);
        self.leave();
        let point = self.point();
        let mut handler = None;
        if self.random.below(2) == 0 {
            let block = self.builder.block();
            let [sp, x0] = [Type::Word; 2].map(|kind| self.builder.value(kind));
            self.builder.at(block);
            self.after_point(sp, x0);
            self.statements(size / 4, 1);
            self.leave();
            handler = Some(myriad_native::form::Entry { point, sp, x0, block });
        }
        self.builder.finish(|form| form.points.extend(handler))
    }

    fn point(&mut self) -> Point {
        *self.points += 1;
        Point(*self.points as u32 - 1)
    }

    fn leave(&mut self) {
        let sp = self.get(self.sp);
        let words: Vec<Value> = (0..5).map(|_| self.a_word()).collect();
        if self.random.below(3) == 0 {
            let target = self.builder.name(Name::Entry(self.random.below(self.functions) as u32));
            self.builder.end(End::Tail { target, sp, x: words });
        } else {
            self.builder.end(End::Return { sp, x0: words[0] });
        }
    }

    fn get(&mut self, variable: Variable) -> Value {
        let kind = self.builder.type_of(variable);
        self.builder.give(kind, |to| Op::Get(to, variable))
    }

    fn set_variables(&mut self) {
        for variable in self.variables.clone() {
            let value = match self.builder.type_of(variable) {
                Type::Word => self.a_word(),
                Type::Float => self.a_float(),
            };
            self.builder.op(Op::Set(variable, value));
        }
    }

    fn after_point(&mut self, sp: Value, x0: Value) {
        self.age += 1;
        self.words = vec![x0];
        self.floats.clear();
        self.builder.op(Op::Set(self.sp, sp));
        self.set_variables();
    }

    fn a_word(&mut self) -> Value {
        match self.random.below(4) {
            0 => {
                let number = self.random.word();
                self.builder.word(number)
            }
            1 => self.builder.load(Builder::block_word(MEMORY.start + self.random.below(MEMORY.len()))),
            _ if self.words.is_empty() => self.builder.word(99),
            _ => self.random.of(&self.words),
        }
    }

    fn a_float(&mut self) -> Value {
        match self.random.below(4) {
            0 => {
                let number = self.random.of(&[0.0, -0.0, 1.5, -2.25e10, f64::INFINITY, 3e-300]);
                self.builder.give(Type::Float, |to| Op::Float(to, number))
            }
            1 => {
                let word = self.a_word();
                self.builder.give(Type::Float, |to| Op::ToFloat(to, word))
            }
            2 => {
                // Between 1 and 2: any bits might be no number, of which there are many.
                let word = self.a_word();
                let bits = self.builder.binary_word(Binary::And, word, (1 << 52) - 1);
                let bits = self.builder.binary_word(Binary::Or, bits, 0x3ff << 52);
                self.builder.give(Type::Float, |to| Op::BitsFloat(to, bits))
            }
            _ if self.floats.is_empty() => self.builder.give(Type::Float, |to| Op::Float(to, 0.5)),
            _ => self.random.of(&self.floats),
        }
    }

    fn statements(&mut self, count: usize, depth: usize) {
        for _ in 0..count {
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: usize) {
        if self.random.below(3) == 0 {
            self.sources += 1;
            self.builder.op(Op::Source(self.sources));
        }
        match self.random.below(27) {
            0..=5 => self.arithmetic(),
            6 => self.compare(),
            7..=8 => self.memory(),
            9..=10 => self.float(),
            11 => {
                let variable = self.random.of(&self.variables);
                match self.builder.type_of(variable) {
                    Type::Word => {
                        let value = self.a_word();
                        self.builder.op(Op::Set(variable, value));
                        let again = self.get(variable);
                        self.words.push(again);
                    }
                    Type::Float => {
                        let value = self.a_float();
                        self.builder.op(Op::Set(variable, value));
                        let again = self.get(variable);
                        self.floats.push(again);
                    }
                }
            }
            12 => {
                let word = self.a_word();
                let what = self.random.of(&[Unary::SwapBytes, Unary::LeadingZeros]);
                let value = self.builder.give(Type::Word, |to| Op::Unary(to, what, word));
                self.words.push(value);
            }
            13 => self.leaf(),
            14 => self.many(),
            15..=16 => self.checked(depth),
            17..=19 if depth < 3 => self.branch(depth),
            20 if depth < 2 => self.repeat(depth),
            21..=22 => self.call(),
            23..=24 => self.visit(),
            25 => self.counter(),
            _ => self.store_float(),
        }
    }

    fn arithmetic(&mut self) {
        let (what, a, b) = (self.random.of(&BINARIES), self.a_word(), self.a_word());
        let b = match what {
            Binary::DivideSigned | Binary::RemainderSigned => {
                let positive = self.builder.binary_word(Binary::And, b, 0x7fff);
                self.builder.binary_word(Binary::Or, positive, 2)
            }
            _ => b,
        };
        let value = self.builder.binary(what, a, b);
        self.words.push(value);
    }

    fn compare(&mut self) {
        let (a, b) = (self.a_word(), self.a_word());
        let condition = self.random.of(&CONDITIONS);
        let truth = self.builder.compare(condition, a, b);
        let value = self.builder.give(Type::Word, |to| Op::Select(to, truth, a, b));
        self.words.extend([truth, value]);
    }

    fn memory(&mut self) {
        let width = self.random.of(&[Width::U8, Width::U16, Width::U32, Width::S32, Width::Word]);
        let offset = 8 * self.random.below(HEAP_WORDS) as i32;
        let heap = self.builder.name(Name::Heap);
        let place = Place { base: Base::Value(heap), offset, width, region: Region::Heap };
        if self.random.below(2) == 0 {
            let value = self.a_word();
            self.builder.op(Op::Store(place, value));
        } else {
            let value = self.builder.load(place);
            self.words.push(value);
        }
        let value = self.a_word();
        let to = Builder::block_word(MEMORY.start + self.random.below(MEMORY.len()));
        self.builder.op(Op::Store(to, value));
    }

    fn float(&mut self) {
        let (a, b) = (self.a_float(), self.a_float());
        let what = self.random.of(&[FloatBinary::Add, FloatBinary::Sub, FloatBinary::Mul, FloatBinary::Div]);
        let value = self.builder.give(Type::Float, |to| Op::FloatBinary(to, what, a, b));
        self.floats.push(value);
        let condition = self.random.of(&CONDITIONS[..6]);
        let truth = self.builder.give(Type::Word, |to| Op::FloatCompare(to, condition, value, a));
        self.words.push(truth);
    }

    /// Bits of a float, but for what is no number, whose bits depend on the order of operands.
    fn store_float(&mut self) {
        let float = self.a_float();
        let truth = self.builder.give(Type::Word, |to| Op::FloatCompare(to, Condition::Equal, float, float));
        let bits = self.builder.give(Type::Word, |to| Op::FloatBits(to, float));
        let none = self.builder.word(0x7ff8);
        let value = self.builder.give(Type::Word, |to| Op::Select(to, truth, bits, none));
        self.words.push(value);
    }

    fn counter(&mut self) {
        if self.random.below(2) == 0 {
            let from = self.a_word();
            self.builder.op(Op::SetCounter(from));
        } else {
            let value = self.builder.give(Type::Word, Op::Counter);
            self.words.push(value);
        }
    }

    fn leaf(&mut self) {
        if self.random.below(2) == 0 {
            let target = self.builder.name(Name::RareLeaf);
            self.builder.op(Op::RareLeaf(target));
            return;
        }
        let words: Vec<Value> = (0..self.random.below(7)).map(|_| self.a_word()).collect();
        // What is not given the function reads as rubbish, so all six are.
        let words = if words.len() < 6 { [words, vec![self.builder.word(5); 6]].concat()[..6].to_vec() } else { words };
        let target = self.builder.name(Name::Leaf);
        let to = (self.random.below(4) > 0).then(|| self.builder.value(Type::Word));
        self.builder.op(Op::Leaf(to, target, words));
        self.words.extend(to);
    }

    /// More values at a time than there are registers, over a leaf.
    fn many(&mut self) {
        let kept: Vec<Value> = (0..24)
            .map(|index| {
                let word = self.builder.load(Builder::block_word(MEMORY.start + index % MEMORY.len()));
                self.builder.binary_word(Binary::RotateLeft, word, index as u64)
            })
            .collect();
        let floats: Vec<Value> = (0..4).map(|_| self.a_float()).collect();
        self.leaf();
        let sum = kept.iter().fold(kept[3], |sum, value| self.builder.binary(Binary::Xor, sum, *value));
        let again = kept.iter().rev().fold(sum, |sum, value| self.builder.binary(Binary::Sub, sum, *value));
        self.words.push(again);
        self.floats.extend(floats);
    }

    fn checked(&mut self, depth: usize) {
        let (a, b) = (self.a_word(), self.a_word());
        let result = self.builder.value(Type::Word);
        let [fits, overflows, join] = [(); 3].map(|()| self.builder.block());
        let with = self.random.of(&[Checked::Add, Checked::Sub, Checked::Mul]);
        self.builder.end(End::Checked { result, with, a, b, fits, overflows });
        let variable = self.variables[0];
        let (words, floats, age) = (self.words.clone(), self.floats.clone(), self.age);
        self.builder.at(overflows);
        if depth < 2 {
            self.statements(2, depth + 1);
        }
        let value = self.a_word();
        self.builder.op(Op::Set(variable, value));
        self.builder.end(End::Jump(join));
        self.builder.at(fits);
        self.builder.op(Op::Set(variable, result));
        self.builder.end(End::Jump(join));
        self.join(join, words, floats, age);
        let value = self.get(variable);
        self.words.push(value);
    }

    /// Behind ways that have come together: what was known before them is known if there was no point on any.
    fn join(&mut self, join: BlockId, words: Vec<Value>, floats: Vec<Value>, age: usize) {
        self.builder.at(join);
        let pure = age == self.age;
        self.words = if pure { words } else { Vec::new() };
        self.floats = if pure { floats } else { Vec::new() };
    }

    fn branch(&mut self, depth: usize) {
        let (a, b) = (self.a_word(), self.a_word());
        let condition = self.random.of(&CONDITIONS);
        let condition = if self.random.below(5) == 0 { a } else { self.builder.compare(condition, a, b) };
        let [then, otherwise, join] = [(); 3].map(|()| self.builder.block());
        let likely = self.random.of(&[None, Some(true), Some(false)]);
        self.builder.end(End::Branch { condition, then, otherwise, likely });
        let (words, floats, age) = (self.words.clone(), self.floats.clone(), self.age);
        for side in [then, otherwise] {
            self.builder.at(side);
            self.words.clone_from(&words);
            self.floats.clone_from(&floats);
            let count = self.random.below(4);
            self.statements(count, depth + 1);
            if self.random.below(6) == 0 {
                self.leave();
            } else {
                self.builder.end(End::Jump(join));
            }
        }
        self.join(join, words, floats, age);
    }

    /// A loop whose counter is in memory, so that there may be calls in it.
    fn repeat(&mut self, depth: usize) {
        let counter = Builder::block_word(MEMORY.end + depth);
        let times = 1 + self.random.below(3) as u64;
        let start = self.builder.word(times);
        self.builder.op(Op::Store(counter, start));
        let [head, end] = [(); 2].map(|()| self.builder.block());
        self.builder.end(End::Jump(head));
        self.builder.at(head);
        // Values of before the loop may not be there any more at the next turn.
        self.words.clear();
        self.floats.clear();
        let count = 1 + self.random.below(4);
        self.statements(count, depth + 1);
        let left = self.builder.load(counter);
        let less = self.builder.binary_word(Binary::Sub, left, 1);
        self.builder.op(Op::Store(counter, less));
        let none = self.builder.word(0);
        // A callee counts in the same words, down from what it has set.
        let condition = self.builder.compare(Condition::Greater, less, none);
        self.builder.end(End::Branch { condition, then: head, otherwise: end, likely: None });
        self.builder.at(end);
        self.words.clear();
        self.floats.clear();
    }

    fn call(&mut self) {
        let sp = self.get(self.sp);
        let kept: Vec<Value> = (0..self.random.below(4)).map(|_| self.a_word()).collect();
        let x: Vec<Value> = (0..5).map(|_| self.a_word()).collect();
        let (point, function) = (self.point(), self.random.below(self.functions) as u32);
        let (sp_after, x0) = self.builder.call(function, sp, &kept, x, point);
        let above = self.builder.binary_word(Binary::Add, sp_after, 8 * kept.len() as u64);
        self.after_point(above, x0);
        for index in 0..kept.len() {
            let word = self.builder.load(Builder::stack_word(sp_after, index as i32));
            self.words.push(word);
        }
    }

    fn visit(&mut self) {
        let sp = self.get(self.sp);
        let (point, rare) = (self.point(), self.random.below(2) == 0);
        let (sp, x0) = self.builder.visit(sp, point, rare);
        self.after_point(sp, x0);
    }
}
