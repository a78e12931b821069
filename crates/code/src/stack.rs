//! Walking an Erlang stack frame by frame (layout: `module.rs`).

use crate::{Continuation, Runtime};
use myriad_term::Term;
use std::marker::PhantomData;

/// One frame on the way.
pub struct Frame<R: Runtime> {
    /// The return point.
    pub continuation: &'static Continuation<R>,
}

/// Iterator over the return points of a stack, innermost first.
pub struct StackWalk<R: Runtime> {
    at: *const Term,
    base: *const Term,
    _module: PhantomData<*const Continuation<R>>,
}

impl<R: Runtime> StackWalk<R> {
    /// Starts at the innermost continuation: `frame` Y registers above the stack pointer `stop`.
    ///
    /// # Safety
    /// `stop..base` is the live Erlang stack of a process that does not run as long as this lives, laid out as `module.rs` says, and the
    /// function that runs has `frame` Y registers.
    pub unsafe fn new(stop: *const u64, base: *const u64, frame: usize) -> StackWalk<R> {
        debug_assert!(stop <= base);
        // SAFETY: the caller promises that the stack is live, and that `frame` words lie above `stop`.
        StackWalk { at: unsafe { stop.cast::<Term>().add(frame) }, base: base.cast(), _module: PhantomData }
    }
}

impl<R: Runtime> Iterator for StackWalk<R> {
    type Item = Frame<R>;

    fn next(&mut self) -> Option<Frame<R>> {
        if self.at >= self.base {
            return None;
        }
        // SAFETY: within the stack, at a continuation's slot, and the layout leads from one to the next (the promise of `new`); the
        // module of each is kept as long as it stands there (code/K2, code/K3).
        unsafe {
            let continuation = &*((*self.at).raw() as *const Continuation<R>);
            self.at = self.at.add(1 + continuation.frame as usize);
            debug_assert!(self.at <= self.base, "a frame reaches beyond the stack");
            Some(Frame { continuation })
        }
    }
}
