//! The context that executing code has: its process, its scheduler, the VM.

use crate::bif::{BifResult, Escape, Resumption, Suspended};
use crate::vm::Vm;
use crate::{OwnerState, Process};
use myriad_heap::Heap;
use myriad_sched::Local;
use myriad_term::{Alloc, Export, Mfa, Pid, Term};
use std::ptr::NonNull;

/// What a BIF or the interpreter works with. New terms go to the process's heap: `ctx.tuple(&[..])` ([`myriad_term::Build`]).
pub struct Ctx<'a> {
    /// The process's own state.
    pub state: &'a mut OwnerState,
    /// What others see of the process.
    pub process: &'a Process,
    /// The scheduler's own state.
    pub sched: &'a mut Local,
    /// The virtual machine.
    pub vm: &'static Vm,
}

impl Alloc<'static> for Ctx<'_> {
    #[inline]
    fn alloc(&mut self, words: usize) -> NonNull<u64> {
        self.state.heap.alloc(words)
    }

    #[inline]
    unsafe fn link(&mut self, header: *mut u64, words: usize) {
        // SAFETY: the caller's promise about the object.
        unsafe { self.state.heap.link(header, words) };
    }
}

impl Ctx<'_> {
    /// What the process's dictionary has at a key; `undefined` where it has nothing.
    #[inline]
    pub fn dictionary_value(&self, key: Term) -> Term {
        self.state.dictionary.as_ref().and_then(|dictionary| dictionary.get(key)).unwrap_or(Term::UNDEFINED)
    }

    /// The heap of the process that runs.
    #[inline]
    pub fn heap(&mut self) -> &mut Heap {
        &mut self.state.heap
    }

    /// The process's pid.
    #[inline]
    pub fn pid(&self) -> Pid {
        self.process.pid
    }

    /// The number of the scheduler that runs this, from 1; 0 on dirty ones. On a private thread one that stands for it.
    pub fn scheduler_number(&self) -> usize {
        if self.sched.dirty { 0 } else { self.sched.scheduler(self.vm.schedulers.len()) + 1 }
    }

    /// The function that the process is in, if it is in any.
    pub fn current_function(&self) -> Option<Mfa> {
        self.vm.engine().backtrace(self.state, 1).first().map(|frame| frame.mfa)
    }

    /// Counts work: about one for what a short function call costs. See [`Ctx::exhausted`].
    #[inline]
    pub fn bump(&mut self, reductions: usize) {
        self.state.reductions.spend(reductions);
    }

    /// Are the slice's reductions used up? Long built-ins then yield or trap.
    #[inline]
    pub fn exhausted(&self) -> bool {
        self.state.reductions.exhausted()
    }

    /// Goes on as a call of `export`.
    #[inline]
    pub fn trap(&mut self, export: &'static Export, args: &[Term]) -> BifResult {
        self.state.trap_args.clear();
        self.state.trap_args.extend_from_slice(args);
        Err(Escape::Trap(export))
    }

    /// Goes on in `resumption` in a later slice; the process's heap is not collected before it has returned a value.
    pub fn yield_to(&mut self, resumption: Resumption) -> BifResult {
        self.yield_as(None, resumption)
    }

    /// As [`Ctx::yield_to`]; tools see the process in the function `name` until the rest has run.
    pub fn yield_as(&mut self, name: Option<Mfa>, rest: Resumption) -> BifResult {
        self.state.resumption = Some(Box::new(Suspended { rest, name, collectable: false }));
        Err(Escape::Yield)
    }

    /// As [`Ctx::yield_as`], where `rest` holds no terms: what others ask for may be done before it runs, a collection too.
    pub fn yield_without_terms(&mut self, name: Mfa, rest: Resumption) -> BifResult {
        self.state.resumption = Some(Box::new(Suspended { rest, name: Some(name), collectable: true }));
        Err(Escape::Yield)
    }

    /// `error:Reason` whose `error_info` has this cause.
    #[cold]
    pub fn error_with_cause(&mut self, reason: Term, cause: Term) -> BifResult {
        self.state.error_cause = cause;
        Err(Escape::Error(reason))
    }

    /// To be asked by a BIF that will make a large object, before it has had any effect: `Err` if the heap must be collected
    /// first. (Allocation does without, but then the next collection copies the object, and is due at once.)
    #[inline]
    pub fn make_room(&self, words: usize) -> Result<(), Escape> {
        if self.state.heap.outgrown_by(words) { self.ask_for_room(words) } else { Ok(()) }
    }

    #[cold]
    fn ask_for_room(&self, words: usize) -> Result<(), Escape> {
        // A heap with a limit is collected when OTP's is, as only then it can be found too large.
        let limited = self.state.heap.max_heap_size().size != 0;
        if self.sched.dirty || limited || !self.vm.engine().makes_room() { Ok(()) } else { Err(Escape::Room(words)) }
    }

    /// The process begins, or ceases, to wait for a busy port. Has that changed anything?
    pub fn wait_at_busy_port(&mut self, begins: bool) -> bool {
        let changes = self.state.suspensions.wait_at_port(begins);
        if changes {
            self.process.set_suspended(self.state.suspensions.any());
        }
        changes
    }

    /// The process is suspended once its slice ends, until it gets one `Resume` more.
    pub fn suspend(&mut self) {
        self.state.suspensions.suspend();
        self.process.set_suspended(true);
    }

    /// A new reference of this node.
    pub fn make_ref(&mut self) -> Term {
        use myriad_term::Build;
        let numbers = self.sched.next_ref();
        self.reference(numbers)
    }
}
