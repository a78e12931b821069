//! What stands on a process's Erlang stack, for people to read.

use myriad_term::print::{atom_text, text};
use myriad_term::{Mfa, Term};
use myriad_vm::code::{Continuation, StackWalk};
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

/// A frame of a stack: where its function is, and its Y registers.
pub struct Frame<'s> {
    /// The place; `None`: the process ends there.
    pub place: Option<TraceFrame>,
    /// Terms, and markers of `catch` and `try`.
    pub registers: &'s [u64],
}

/// The innermost frames of a process's stack, so many at most. It is stopped, or in a built-in function.
pub fn frames<'s>(engine: &dyn Engine, process: &'s OwnerState, most: usize) -> Vec<Frame<'s>> {
    let stack = process.heap.stack();
    let words = engine.frame_words(process).min(stack.len());
    let here = engine.backtrace(process, 1).into_iter().next();
    let mut frames = vec![Frame { place: here, registers: &stack[..words] }];
    let mut rest = &stack[words..];
    // SAFETY: the process stands still, and the engine knows the size of the innermost frame.
    for at in unsafe { StackWalk::new(process.heap.stop, process.heap.hend, words) }.take(most.saturating_sub(1)) {
        let to = at.continuation;
        let (registers, above) =
            rest.get(1..).unwrap_or_default().split_at((to.frame as usize).min(rest.len().saturating_sub(1)));
        rest = above;
        // SAFETY: code/K3: what a return point leads to is loaded.
        let function = unsafe { to.function.as_ref() };
        let place = function.map(|f| TraceFrame { mfa: f.mfa, line: to.line, module: f.module });
        frames.push(Frame { place, registers });
    }
    frames
}

/// The words of a process's stack, those of the function it is in first. It is stopped, or in a built-in function.
pub fn entries(engine: &dyn Engine, process: &OwnerState) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut rest = process.heap.stack();
    let registers = |count: usize, rest: &mut &[u64], entries: &mut Vec<Entry>| {
        let (frame, above) = rest.split_at(count.min(rest.len()));
        *rest = above;
        entries.extend(frame.iter().enumerate().map(|(i, word)| {
            // SAFETY: words on the stack look like terms (heap/H1).
            let term = unsafe { Term::from_raw(*word) };
            let Some(record) = term.as_catch() else { return Entry::Y(i, term) };
            // SAFETY: a catch marker's data is the address of its record, which stays as long as the function (code/K2, code/K3).
            let handler = unsafe { &*(record as *const Continuation) };
            Entry::Catch(i, Continuation::code(handler).0 as usize, function(handler))
        }));
    };
    let frame = engine.frame_words(process);
    registers(frame, &mut rest, &mut entries);
    // SAFETY: the process stands still, and the engine knows the size of the innermost frame.
    for at in unsafe { StackWalk::new(process.heap.stop, process.heap.hend, frame) } {
        let [word, above @ ..] = rest else { break };
        rest = above;
        let to = function(at.continuation);
        entries.push(Entry::Return(
            std::ptr::from_ref(word) as usize,
            Continuation::code(at.continuation).0 as usize,
            to,
        ));
        registers(at.continuation.frame as usize, &mut rest, &mut entries);
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
