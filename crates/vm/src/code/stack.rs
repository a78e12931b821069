//! Walking an Erlang stack frame by frame (layout: `code.rs`).

use super::{Continuation, Function};
use myriad_term::Term;

/// One frame on the way.
#[derive(Clone, Copy)]
pub struct Frame {
    /// The return point.
    pub continuation: &'static Continuation,
}

impl Frame {
    /// The function returned to.
    pub fn function(&self) -> &'static Function {
        // SAFETY: K2 and K3: a continuation on a stack keeps its module.
        unsafe { &*self.continuation.function }
    }
}

/// Iterator over the return points of a stack, innermost first.
pub struct StackWalk {
    at: *const Term,
    base: *const Term,
}

impl StackWalk {
    /// Starts at the innermost continuation: `frame` Y registers above the stack pointer `stop`.
    ///
    /// # Safety
    /// `stop..base` is the live Erlang stack of a process that does not run meanwhile, laid out as `code.rs` says, and the
    /// function that runs has `frame` Y registers.
    pub unsafe fn new(stop: *const u64, base: *const u64, frame: usize) -> StackWalk {
        // SAFETY: the caller's promise.
        StackWalk { at: unsafe { stop.cast::<Term>().add(frame) }, base: base.cast() }
    }
}

impl Iterator for StackWalk {
    type Item = Frame;

    fn next(&mut self) -> Option<Frame> {
        if self.at >= self.base {
            return None;
        }
        // SAFETY: within the stack, at a continuation's slot; the layout leads from one continuation to the next.
        unsafe {
            let continuation = &*((*self.at).raw() as *const Continuation);
            self.at = self.at.add(1 + continuation.frame as usize);
            Some(Frame { continuation })
        }
    }
}
