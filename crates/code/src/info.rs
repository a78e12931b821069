//! What a loaded module says of itself: `module_info`, places in source files.

use crate::{BuiltIn, Function, Module, Runtime};
use myriad_term::etf::{self, DecodeOptions};
use myriad_term::{Build, Term};

/// The term of an external term that a .beam file holds; nothing if it is not one, whole and alone.
pub(crate) fn decode<A: Build>(heap: &mut A, bytes: &[u8]) -> Option<Term> {
    let decoded = etf::decode(heap, bytes, DecodeOptions::default()).ok()?;
    (decoded.used == bytes.len()).then_some(decoded.term)
}

/// The term that attributes or compile information begin with, the empty list if there are none; nothing if it is no term.
/// As on OTP, what comes behind it is not looked at.
pub(crate) fn decode_first<A: Build>(heap: &mut A, bytes: &[u8]) -> Option<Term> {
    if bytes.is_empty() {
        return Some(Term::NIL);
    }
    etf::decode(heap, bytes, DecodeOptions::default()).ok().map(|decoded| decoded.term)
}

/// File name (a string in the module's literal area) and line of an index into its line table; nothing for index 0.
pub fn location_of<R: Runtime>(module: &Module<R>, index: u32) -> Option<(Term, u32)> {
    let line = module.beam.lines.get(index)?;
    Some((module.files.get(line.file as usize).copied()?, line.line))
}

fn pairs<A: Build>(heap: &mut A, functions: impl DoubleEndedIterator<Item = (Term, u8)>) -> Term {
    let mut list = Term::NIL;
    for (name, arity) in functions.rev() {
        let pair = heap.tuple(&[name, Term::small(i64::from(arity))]);
        list = heap.cons(pair, list);
    }
    list
}

fn pair_of<R: Runtime>(function: &Function<R>) -> (Term, u8) {
    (function.mfa.function.term(), function.mfa.arity)
}

/// `[{Name, Arity}]` of the exported functions, the last in the file's table first (OTP's own order differs from run to run).
pub fn export_list<A: Build, R: Runtime>(heap: &mut A, module: &Module<R>) -> Term {
    pairs(heap, module.exports.iter().rev().map(|(export, _)| (export.mfa.function.term(), export.mfa.arity)))
}

/// `[{Name, Arity}]` of all functions, in the order of the code.
pub fn function_list<A: Build, R: Runtime>(heap: &mut A, module: &Module<R>) -> Term {
    pairs(heap, module.functions.iter().map(pair_of))
}

/// `[{Name, Arity}]` of the functions that `load_nif/2` has replaced.
pub fn nif_list<A: Build, R: Runtime>(heap: &mut A, module: &Module<R>) -> Term {
    let is_nif = |function: &&Function<R>| function.bif().is_some_and(|def| def.is_nif());
    let nifs: Vec<_> = module.functions.iter().filter(is_nif).map(pair_of).collect();
    pairs(heap, nifs.into_iter())
}

impl<R: Runtime> Module<R> {
    /// The attributes, decoded onto `heap`; the empty list if there are none.
    pub fn attributes<A: Build>(&self, heap: &mut A) -> Term {
        decode_first(heap, &self.beam.attributes).unwrap_or(Term::NIL)
    }

    /// The compile information, decoded onto `heap`; the empty list if there is none.
    pub fn compile_info<A: Build>(&self, heap: &mut A) -> Term {
        decode_first(heap, &self.beam.compile_info).unwrap_or(Term::NIL)
    }

    /// The function at this address, if it is one of this module's.
    pub fn owns(&self, function: *const Function<R>) -> bool {
        self.functions.as_ptr_range().contains(&function)
    }
}
