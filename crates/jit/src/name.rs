//! Names of the words that differ from one run of the VM to the next: code holds them as symbols, and gets their values when it is linked.

use myriad_beam::Arg;
use myriad_interp::decode::{Unfit, constant};
use myriad_interp::leaves::Leaf;
use myriad_term::{Atom, Term, am};
use myriad_vm::code::Module;

/// What a symbol of the form stands for. Indexes are those of the module's tables.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Name {
    /// The instruction of the companion for that of this number.
    Visit(usize),
    /// Where the message that is looked at is adopted before an instruction.
    Adoption(usize),
    /// The record of the call at an instruction.
    Record(usize),
    /// The marker that stands in a frame for the handler at a label.
    Marker { label: u32, slot: u32, line: u32 },
    /// The address of the module.
    Module,
    /// The address of a function of the module.
    Function(u32),
    /// The address of the export that an import leads to.
    Import(u32),
    /// The address of the entry of a fun.
    Fun(u32),
    /// The term of an atom.
    Atom(u32),
    /// The term of a literal.
    Literal(u32),
    /// The term of an integer that is not small: in two's complement, the most significant byte first.
    Integer(Box<[u8]>),
    /// The address of a function of the VM that machine code calls.
    Leaf(Leaf),
}

/// A constant operand in code.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Constant {
    /// It is the same word in every run of this build of the VM.
    Word(u64),
    /// It is not.
    Named(Name),
}

/// What code holds of a constant operand, whose term this is now.
///
/// # Errors
/// It is none.
pub(crate) fn name_of(arg: &Arg, term: Term) -> Result<Constant, Unfit> {
    let is_well_known = |atom: Atom| (atom.index() as usize) < am::NAMES.len();
    if term.is_small() || term.is_immediate_float() || term == Term::NIL || term.as_atom().is_some_and(is_well_known) {
        return Ok(Constant::Word(term.raw()));
    }
    let name = match arg {
        Arg::Atom(index) => Name::Atom(*index),
        Arg::Lit(index) => Name::Literal(*index),
        Arg::I(value) => Name::Integer(Box::new(value.to_be_bytes())),
        Arg::BigInt(bytes) => Name::Integer(bytes.clone()),
        _ => return Err(Unfit),
    };
    Ok(Constant::Named(name))
}

/// The word that a name stands for, of those that depend on the module alone.
pub(crate) fn value_in(module: &Module, name: &Name) -> Option<u64> {
    let term = |arg: Arg| constant(module, &arg).ok().map(Term::raw);
    match name {
        Name::Module => Some(std::ptr::from_ref(module) as u64),
        Name::Function(index) => module.functions.get(*index as usize).map(|f| std::ptr::from_ref(f) as u64),
        Name::Import(index) => module.imports.get(*index as usize).map(|e| std::ptr::from_ref(*e) as u64),
        Name::Fun(index) => module.funs.get(*index as usize).map(|e| std::ptr::from_ref(*e) as u64),
        Name::Atom(index) => term(Arg::Atom(*index)),
        Name::Literal(index) => term(Arg::Lit(*index)),
        Name::Integer(bytes) => term(Arg::BigInt(bytes.clone())),
        Name::Leaf(leaf) => Some(leaf.address() as u64),
        Name::Visit(_) | Name::Adoption(_) | Name::Record(_) | Name::Marker { .. } => None,
    }
}

/// Are the words of constants in ascending order in this run?
pub(crate) fn are_in_order(module: &Module, constants: &[Constant]) -> bool {
    let word = |constant: &Constant| match constant {
        Constant::Word(word) => Some(*word),
        Constant::Named(name) => value_in(module, name),
    };
    constants.iter().map(word).is_sorted_by(|a, b| a.is_some() && a < b)
}
