//! Walking an Erlang stack frame by frame (layout: `module.rs`). Stack traces, `process_info(P, backtrace)`, crash dumps and `myriad:frames/2` all read stacks by this walk.

use crate::{Continuation, Runtime};
use myriad_term::Term;
use std::marker::PhantomData;

/// One frame on the way.
pub struct Frame<'s, R: Runtime> {
    /// The return point that leads into the frame, and where it stands; `None`: the innermost frame, in which the process is.
    pub entry: Option<(&'static Continuation<R>, &'s u64)>,
    /// Its Y registers.
    pub registers: &'s [u64],
}

/// What a Y register holds.
pub enum Register<R: Runtime> {
    /// A term.
    Term(Term),
    /// A `catch` or `try` whose handler is there.
    Handler(&'static Continuation<R>),
}

impl<'s, R: Runtime> Frame<'s, R> {
    /// What its Y registers hold, by number.
    pub fn values(&self) -> impl Iterator<Item = Register<R>> + 's {
        self.registers.iter().map(|word| {
            // SAFETY: words on the stack look like terms (heap/H1).
            let term = unsafe { Term::from_raw(*word) };
            match term.as_catch() {
                // SAFETY: a catch marker's data is the address of its record, which stays as long as the function (code/K2, code/K3).
                Some(record) => Register::Handler(unsafe { &*(record as *const Continuation<R>) }),
                None => Register::Term(term),
            }
        })
    }
}

/// Iterator over the frames of a stack, innermost first.
pub struct StackWalk<'s, R: Runtime> {
    rest: &'s [u64],
    /// Y registers of the innermost frame, as long as that is to come.
    innermost: Option<usize>,
    _module: PhantomData<*const Continuation<R>>,
}

impl<'s, R: Runtime> StackWalk<'s, R> {
    /// Of this stack, whose innermost frame has `innermost` Y registers.
    ///
    /// # Safety
    /// It is the live Erlang stack of a process that does not run as long as this lives, laid out as `module.rs` says, and the function that
    /// runs has `innermost` Y registers.
    pub unsafe fn new(stack: &'s [u64], innermost: usize) -> StackWalk<'s, R> {
        StackWalk { rest: stack, innermost: Some(innermost), _module: PhantomData }
    }

    fn registers(&mut self, count: usize) -> &'s [u64] {
        debug_assert!(count <= self.rest.len(), "a frame reaches beyond the stack");
        let (registers, rest) = self.rest.split_at(count.min(self.rest.len()));
        self.rest = rest;
        registers
    }
}

impl<'s, R: Runtime> Iterator for StackWalk<'s, R> {
    type Item = Frame<'s, R>;

    fn next(&mut self) -> Option<Frame<'s, R>> {
        if let Some(count) = self.innermost.take() {
            return Some(Frame { entry: None, registers: self.registers(count) });
        }
        let (word, rest) = self.rest.split_first()?;
        self.rest = rest;
        // SAFETY: the layout leads from one return point to the next (the promise of `new`); the module of each is kept as long as it
        // stands there (code/K2, code/K3).
        let to = unsafe { &*(*word as *const Continuation<R>) };
        Some(Frame { entry: Some((to, word)), registers: self.registers(to.frame as usize) })
    }
}
