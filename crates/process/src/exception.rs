//! Exceptions on their way, and the raw stack trace that each carries.
//!
//! Raising keeps the trace as code addresses ([`TraceFrame`]); `build_stacktrace` and an uncaught end turn it into Erlang terms,
//! because most traces are never looked at.

use crate::lazy_box::StaticDefault;
use crate::runtime::Runtime;
use myriad_term::{Mfa, Term, am};

/// Class of an exception.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// `error`
    Error,
    /// `exit`
    Exit,
    /// `throw`
    Throw,
}

impl Class {
    /// The atom.
    pub const fn term(self) -> Term {
        Term::atom(match self {
            Class::Error => am::error,
            Class::Exit => am::exit,
            Class::Throw => am::throw,
        })
    }

    /// From the atom.
    pub fn from_term(term: Term) -> Option<Class> {
        match term.as_atom()? {
            am::error => Some(Class::Error),
            am::exit => Some(Class::Exit),
            am::throw => Some(Class::Throw),
            _ => None,
        }
    }
}

/// One frame of a raw trace.
pub struct TraceFrame<R: Runtime> {
    /// Function.
    pub mfa: Mfa,
    /// File name and line as terms (the name a literal of the module), or none if unknown: see [`Runtime::Module`].
    pub line: u32,
    /// The module version, for its line table; null = none.
    pub module: *const R::Module,
}

impl<R: Runtime> Clone for TraceFrame<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: Runtime> Copy for TraceFrame<R> {}

/// An exception on its way.
///
/// `reason`, `trace`, `arguments` and `info` are roots of the collector.
pub struct Exception<R: Runtime> {
    /// Whether it is an error, an exit or a throw.
    pub class: Class,
    /// What was raised: the error's reason, the exit's, or the term thrown.
    pub reason: Term,
    /// A trace given as terms (`erlang:raise/3`), or [`Term::NONE`]: then `frames` holds it.
    pub trace: Term,
    /// Arguments of the top frame as a list (BIF errors, `function_clause`, `undef`), or [`Term::NONE`].
    pub arguments: Term,
    /// `error_info` map of the top frame, or [`Term::NONE`].
    pub info: Term,
    /// The raw trace, top frame first.
    pub frames: Vec<TraceFrame<R>>,
}

// SAFETY: module pointers are only followed by the owner while the code server keeps the module (code/K3).
unsafe impl<R: Runtime> Send for Exception<R> {}
// SAFETY: as above; a shared one only reads.
unsafe impl<R: Runtime> Sync for Exception<R> {}

impl<R: Runtime> Default for Exception<R> {
    fn default() -> Self {
        Exception::none()
    }
}

impl<R: Runtime> StaticDefault for Exception<R> {
    fn static_default() -> &'static Self {
        const { &Exception::none() }
    }
}

impl<R: Runtime> Exception<R> {
    /// No exception.
    pub const fn none() -> Self {
        Exception {
            class: Class::Error,
            reason: Term::NONE,
            trace: Term::NONE,
            arguments: Term::NONE,
            info: Term::NONE,
            frames: Vec::new(),
        }
    }
}
