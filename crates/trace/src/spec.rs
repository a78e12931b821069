//! What tracing asks of a match specification. Crate `ets` compiles and runs them; what they may do to the traced process and
//! what they ask of it goes through a [`Host`].

use myriad_process::Payload;
use myriad_term::{Arena, Atom, Term};

/// What a specification has said.
pub enum Message {
    /// Nothing, or `{message, true}`.
    Plain,
    /// `{message, false}`: no message.
    None,
    /// `{message, Term}`
    Term(Payload),
}

/// The outcome of a clause that matched.
pub struct Verdict {
    /// What goes with the trace message.
    pub message: Message,
    /// `{return_trace}`
    pub return_trace: bool,
    /// `{exception_trace}`
    pub exception_trace: bool,
}

/// The world around a specification that runs.
pub trait Host {
    /// Carries out an action, or answers a question, by its name in the specification; nothing makes `'EXIT'` of it. Terms are
    /// made in the arena, which lives as long as the specification runs.
    fn act(&mut self, name: Atom, arguments: &[Term], memory: &mut Arena) -> Option<Term>;
}

/// `{display, Term}`: a line on standard output.
pub fn display(term: Term) -> Term {
    use std::io::Write;
    let mut text = myriad_term::print::display(term);
    text.extend(b"\r\n");
    // A closed file is no error of the program that prints for debugging.
    let _ = std::io::stdout().write_all(&text);
    Term::TRUE
}

/// A compiled specification.
pub trait Specification: Send + Sync {
    /// As it was written; lives as long as this does.
    fn source(&self) -> Term;

    /// Runs it on these arguments for the process `pid`; nothing if no clause matches.
    fn run(&self, pid: Term, node: Atom, arguments: &[Term], host: &mut dyn Host) -> Option<Verdict>;
}
