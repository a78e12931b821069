//! Walks of a process's stack, and the places in code that its return points stand for.

use crate::code::is_record;
use crate::stubs::is_return;
use myriad_beam::MIXED;
use myriad_term::Term;
use myriad_vm::TraceFrame;
use myriad_vm::code::{Continuation, Function, StackWalk};

/// Calls `f` with the return points of a stack, innermost first, above `frame` Y registers, while it says so; the process's
/// first return point and repeated ones are left out, as if `last` had come before them.
pub fn walk(
    stop: *const u64,
    base: *const u64,
    frame: usize,
    mut last: Option<&'static Continuation>,
    mut f: impl FnMut(&'static Continuation) -> bool,
) {
    let frame = words_below_return(stop, base, frame);
    // SAFETY: the process stands still, and its stack lies there (heap/H1).
    let stack = unsafe { std::slice::from_raw_parts(stop, base.offset_from(stop) as usize) };
    // SAFETY: as above; the decoder has tracked the frame.
    for (continuation, _) in unsafe { StackWalk::new(stack, frame) }.filter_map(|frame| frame.entry) {
        let repeats = |last: &Continuation| last.is_of_call(continuation);
        if continuation.function.is_null() || last.replace(continuation).is_some_and(repeats) {
            continue;
        }
        if !f(continuation) {
            break;
        }
    }
}

/// Words below the first return point of a stack, in a function whose frame the decoder takes to have `frame` words.
pub fn words_below_return(stop: *const u64, base: *const u64, frame: usize) -> usize {
    if frame == MIXED as usize { first_return(stop, base) } else { frame }
}

/// Does this word of a stack look like a return point?
pub fn is_return_point(word: u64) -> bool {
    word != 0 && word.is_multiple_of(16) && (is_return(word) || is_record(word as usize))
}

/// Words below the first return point of a stack, where the frame's size depends on how control came there.
#[cold]
fn first_return(stop: *const u64, base: *const u64) -> usize {
    let mut n = 0;
    // SAFETY: within the stack.
    unsafe {
        while stop.add(n) < base {
            if is_return_point(*stop.add(n)) {
                break;
            }
            n += 1;
        }
    }
    n
}

/// The frame of a raw trace for a line of a function.
pub fn frame_of(function: &Function, line: u32) -> TraceFrame {
    TraceFrame { mfa: function.mfa, line, module: function.module }
}

/// File (nil: the module's own) and line of a place in a function.
pub fn place_of(function: &Function, line: u32) -> (Term, u32) {
    place(&frame_of(function, line))
}

/// File (nil: the module's own) and line of a frame.
pub fn place(frame: &TraceFrame) -> (Term, u32) {
    // SAFETY: code/K3; the frame was made just now.
    let Some(module) = (unsafe { frame.module.as_ref() }) else { return (Term::NIL, 0) };
    match module.beam.lines.get(frame.line) {
        Some(line) => {
            let file = module.file_atoms.get(line.file as usize).copied().flatten();
            (file.map_or(Term::NIL, Term::atom), line.line)
        }
        None => (Term::NIL, 0),
    }
}
