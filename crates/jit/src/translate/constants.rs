//! Words that are known when the code is linked: numbers of this build, and names of all that differs from run to run.

use super::{Translator, Unfit};
use crate::builder::block_word;
use crate::name::{Constant, Name, name_of};
use myriad_beam::Arg;
use myriad_interp::leaves::Leaf;
use myriad_interp::tiers::REGISTERS;
use myriad_native::form::{Condition, Op as FormOp, Symbol, Value};

impl Translator<'_> {
    /// What a name stands for.
    pub(crate) fn named(&mut self, name: Name) -> Value {
        let next = Symbol(self.names.len() as u32);
        let symbol = *self.numbers.entry(name.clone()).or_insert(next);
        if symbol == next {
            self.names.push(name);
        }
        self.b.symbol(symbol)
    }

    /// What code holds of a constant operand.
    pub(crate) fn constant_of(&self, arg: &Arg) -> Result<Constant, Unfit> {
        let term = self.constant(arg)?.ok_or(Unfit)?;
        name_of(arg, term).map_err(|_| Unfit)
    }

    /// The word of a constant.
    pub(crate) fn constant_value(&mut self, constant: &Constant) -> Value {
        match constant {
            Constant::Word(word) => self.b.word(*word),
            Constant::Named(name) => self.named(name.clone()),
        }
    }

    /// A word compared with a constant.
    pub(crate) fn compare_with_constant(&mut self, condition: Condition, word: Value, constant: &Constant) -> Value {
        let other = self.constant_value(constant);
        self.b.compare(condition, word, other)
    }

    /// The address of the module.
    pub(crate) fn module_address(&mut self) -> Value {
        self.named(Name::Module)
    }

    /// The address of a function of the module, by its index.
    pub(crate) fn function_address(&mut self, index: u32) -> Value {
        self.named(Name::Function(index))
    }

    /// The address of the export that an import leads to, by its index.
    pub(crate) fn import_address(&mut self, index: u32) -> Value {
        self.named(Name::Import(index))
    }

    /// What a leaf gives.
    pub(crate) fn leaf(&mut self, leaf: Leaf, arguments: &[Value]) -> Value {
        let target = self.named(Name::Leaf(leaf));
        if leaf.is_rare() {
            for (i, argument) in arguments.iter().enumerate() {
                self.b.store(block_word(REGISTERS.told + 8 * i), *argument);
            }
            self.b.op(FormOp::RareLeaf(target));
            return self.b.load(block_word(REGISTERS.told));
        }
        self.b.gives(|value| FormOp::Leaf(Some(value), target, arguments.to_vec()))
    }
}
