//! What stands on a process's Erlang stack, for people to read.

use myriad_term::print::{atom_text, text};
use myriad_term::{Mfa, Term};
use myriad_vm::code::{Continuation, Frame, Register, StackWalk};
use myriad_vm::engine::Engine;
use myriad_vm::{OwnerState, TraceFrame};
use std::fmt::Write;

/// One word of a stack.
pub enum Entry {
    /// A Y register of the function before, and its number.
    Y(usize, Term),
    /// A Y register that marks a `catch` or `try`: the code's address, the function.
    Catch(usize, usize, Option<Mfa>),
    /// A return point: where it stands on the stack, its code's address, the function (none: the process ends there).
    Return(usize, usize, Option<Mfa>),
}

/// The frames of a process's stack, innermost first. It is stopped, or in a built-in function.
pub fn frames<'s>(engine: &dyn Engine, process: &'s OwnerState) -> StackWalk<'s> {
    let stack = process.heap.stack();
    // SAFETY: the process stands still, and the engine knows the size of the innermost frame.
    unsafe { StackWalk::new(stack, engine.frame_words(process).min(stack.len())) }
}

/// Where the process is in a frame; `None`: it ends there.
pub fn place(engine: &dyn Engine, process: &OwnerState, frame: &Frame<'_>) -> Option<TraceFrame> {
    let Some((to, _)) = frame.entry else { return engine.backtrace(process, 1).into_iter().next() };
    // SAFETY: code/K3: what a return point leads to is loaded.
    unsafe { to.function.as_ref() }.map(|f| TraceFrame { mfa: f.mfa, line: to.line, module: f.module })
}

/// The words of a process's stack, those of the function it is in first. It is stopped, or in a built-in function.
pub fn entries(engine: &dyn Engine, process: &OwnerState) -> Vec<Entry> {
    let mut entries = Vec::new();
    for frame in frames(engine, process) {
        entries.extend(frame.entry.map(|(to, word)| {
            Entry::Return(std::ptr::from_ref(word) as usize, Continuation::code(to).0 as usize, function(to))
        }));
        entries.extend(frame.values().enumerate().map(|(i, value)| match value {
            Register::Term(term) => Entry::Y(i, term),
            Register::Handler(to) => Entry::Catch(i, Continuation::code(to).0 as usize, function(to)),
        }));
    }
    entries
}

fn function(of: &Continuation) -> Option<Mfa> {
    // SAFETY: code/K3: what a return point leads to is loaded.
    unsafe { of.function.as_ref() }.map(|function| function.mfa)
}

/// A function's name as a stack shows it: `module:function/arity`.
pub fn name(mfa: Option<Mfa>) -> String {
    match mfa {
        Some(mfa) => format!("{}:{}/{}", atom_text(mfa.module), atom_text(mfa.function), mfa.arity),
        None => "<terminate process normally>".into(),
    }
}

/// `process_info(P, backtrace)`: the stack with the terms in it, in OTP's form.
pub fn backtrace(engine: &dyn Engine, process: &OwnerState) -> String {
    let mut out = String::new();
    if let Some(at) = engine.backtrace(process, 1).first() {
        let _ = writeln!(out, "Program counter: {:#018x} ({})", process.resume.pc.0 as usize, name(Some(at.mfa)));
    }
    for entry in entries(engine, process) {
        let _ = match entry {
            Entry::Y(i, term) => writeln!(out, "{:<9}{}", format!("y({i})"), text(term, usize::MAX)),
            Entry::Catch(i, pc, to) => writeln!(out, "{:<9}Catch {pc:#018x} ({})", format!("y({i})"), name(to)),
            Entry::Return(at, pc, to) => writeln!(out, "\n{at:#018x} Return addr {pc:#018x} ({})", name(to)),
        };
    }
    out
}
