//! The register block: registers, heap and scheduler as the instructions of a slice see them.
//!
//! The loop (`run.rs`) keeps heap top and stack pointer in locals and writes them back (`flush`) before it calls anything
//! out of line; what is out of line works on the heap's own fields through [`Machine`].
//!
//! MA1. While anything out of line runs, `heap.htop` and `heap.stop` are true, and `reds` is the slice's count, less what is
//!      negative_by, except inside built-ins, around which it is carried to `OwnerState::reductions` and back (process/RD1).

use crate::building::target::Target;
use crate::code::{self, Location};
use crate::instr::Op;
use crate::tiers::{WAYS, Ways};
use myriad_heap::Heap;
use myriad_process::CodePtr;
use myriad_sched::{RegisterBlock, X_REGISTERS};
use myriad_term::{Build, Mfa, Term};
use myriad_vm::code::{Continuation, Function};
use myriad_vm::engine::SliceEnd;
use myriad_vm::{Ctx, Resume};

/// Float registers. Compilers use up to seven; code that wants more than these does not get decoded.
pub const FLOAT_REGISTERS: usize = 32;

/// The state of one slice, in the register block of its scheduler ([`myriad_sched::RegisterBlock`]). The first fields are at fixed places, which
/// machine code knows.
#[repr(C)]
pub struct Machine<'a, 'b> {
    /// Reductions left.
    pub reds: i32,
    /// How the slice ends, when an instruction returns null.
    pub end: SliceEnd,
    /// The function called last: what an entry stub stands for.
    pub callee: *const Function,
    /// The process's heap.
    pub heap: *mut Heap,
    /// X registers: those below.
    pub x: *mut Term,
    /// The next instruction, in builds with debug assertions; null once the slice ends.
    pub next: *const u32,
    /// Process, scheduler, VM.
    pub ctx: &'a mut Ctx<'b>,
    /// The process's pid.
    pub pid: Term,
    /// State of the binary being built by `bs_init2` and its like.
    pub build: Target,
    /// The heap's top, while machine code runs ([`crate::tiers`]).
    pub htop: *mut u64,
    /// The instruction that leads back to machine code, when tier 0 was called by that.
    pub switch: *const u32,
    /// Tier 0, as machine code calls it.
    pub interpret: unsafe extern "C" fn(&mut Machine<'_, '_>, *const u32) -> *const u32,
    /// Does machine code wait for tier 0?
    pub is_visited: bool,
    /// Where machine code goes on in tier 0, for [`Ways::descend`].
    pub way_down: *const u32,
    /// What a function that machine code calls rarely is told, and the first of them what it has given ([`crate::leaves`]).
    pub told: [u64; 2],
    /// What machine code jumps to.
    pub ways: Ways,
    /// Float registers.
    pub floats: [f64; FLOAT_REGISTERS],
    /// X registers.
    registers: [Term; X_REGISTERS],
}

const _: () = assert!(size_of::<Machine<'_, '_>>() <= RegisterBlock::BYTES);

impl<'a, 'b> Machine<'a, 'b> {
    /// Where the X registers begin, bytes.
    pub const X_OFFSET: usize = std::mem::offset_of!(Machine<'static, 'static>, registers);

    /// The machine for a slice of the process of `ctx`, in the register block of its scheduler: float and X registers are as the last slice has left them.
    pub fn begin(
        ctx: &'a mut Ctx<'b>,
        interpret: unsafe extern "C" fn(&mut Machine<'_, '_>, *const u32) -> *const u32,
    ) -> &'a mut Machine<'a, 'b> {
        let machine: *mut Machine<'a, 'b> = ctx.sched.registers.start().as_ptr().cast();
        let (heap, reds, pid) = (&raw mut ctx.state.heap, ctx.state.reductions.of_engine(), ctx.pid().term());
        // SAFETY: the block has room for a machine, is aligned, belongs to this thread, and nothing but the machine's pointer leads to it until the
        // slice ends: the context is borrowed for as long, and who has it does not touch the block. It was zero first and a machine since, so that
        // floats and X registers, all of whose bits mean something, need no setting.
        unsafe {
            let x = (&raw mut (*machine).registers).cast::<Term>();
            (&raw mut (*machine).reds).write(reds);
            (&raw mut (*machine).end).write(SliceEnd::Yielded);
            (&raw mut (*machine).callee).write(std::ptr::null());
            (&raw mut (*machine).heap).write(heap);
            (&raw mut (*machine).x).write(x);
            (&raw mut (*machine).next).write(std::ptr::null());
            (&raw mut (*machine).ctx).write(ctx);
            (&raw mut (*machine).pid).write(pid);
            (&raw mut (*machine).build).write(Target::none());
            (&raw mut (*machine).ways).write(WAYS);
            (&raw mut (*machine).interpret).write(interpret);
            (&raw mut (*machine).is_visited).write(false);
            &mut *machine
        }
    }
}

/// An instruction out of line: gets its own address, returns the next (null: the slice ends, and [`Machine::end`] says how).
///
/// # Safety
/// It is called with the address of an instruction of its own, which the decoder has made, in code that the process of the
/// machine runs; MA1 holds, and it sees to it that MA1 and the frame are as the next instruction expects.
pub type SlowOp = unsafe fn(&mut Machine<'_, '_>, *const u32) -> *const u32;

/// The address of a register operand: bit 0 selects the file, the rest is the offset in bytes.
///
/// # Safety
/// The operand is of a decoded instruction, `x` and `sp` are the register files.
#[inline(always)]
pub unsafe fn register(x: *mut Term, sp: *mut Term, operand: u32) -> *mut Term {
    // The bit of a Y register is taken off its base, not of each operand.
    let base = if operand & 1 != 0 { sp.wrapping_byte_sub(1) } else { x };
    base.wrapping_byte_add(operand as usize)
}

/// The value of a source operand at `at`.
///
/// # Safety
/// As for [`register`].
#[inline(always)]
pub unsafe fn source(x: *mut Term, sp: *mut Term, at: *const u32) -> Term {
    // SAFETY: the caller's promise; constants stand at that distance in the same block.
    unsafe {
        let operand = *at;
        if operand & 2 != 0 {
            *at.byte_offset((operand & !3) as i32 as isize).cast::<Term>()
        } else {
            *register(x, sp, operand)
        }
    }
}

/// Where a distance operand at `at` leads.
///
/// # Safety
/// The operand is of a decoded instruction.
#[inline(always)]
pub unsafe fn target(at: *const u32) -> *const u32 {
    // SAFETY: the caller promises that the operand is of a decoded instruction, so the distance leads into the same code.
    unsafe { at.byte_offset(*at as i32 as isize) }
}

/// The address in a two-word operand.
///
/// # Safety
/// As for [`target`].
#[inline(always)]
pub unsafe fn wide(at: *const u32) -> u64 {
    // SAFETY: the caller promises that the operand is of a decoded instruction, where it takes two words.
    unsafe { at.cast::<u64>().read_unaligned() }
}

/// The term of a `k` operand.
///
/// # Safety
/// The decoder made it from an immediate term.
#[inline(always)]
pub unsafe fn short(at: *const u32) -> Term {
    // SAFETY: the caller promises that the decoder made the operand from an immediate term.
    unsafe { Term::from_raw(*at as i32 as i64 as u64) }
}

/// The high half of an instruction's first word.
///
/// # Safety
/// As for [`target`].
#[inline(always)]
pub unsafe fn high(pc: *const u32) -> u32 {
    // SAFETY: the caller promises that `pc` is at a decoded instruction.
    unsafe { *pc >> 16 }
}

/// The functions are `unsafe` where they follow operands: these are of the instruction at hand.
#[allow(clippy::missing_safety_doc, reason = "one contract for all, stated above")]
impl Machine<'_, '_> {
    /// X register `i`.
    #[inline(always)]
    pub fn x(&self, i: usize) -> Term {
        debug_assert!(i < X_REGISTERS);
        // SAFETY: there are that many.
        unsafe { *self.x.add(i) }
    }

    /// Sets X register `i`.
    #[inline(always)]
    pub fn set_x(&mut self, i: usize, value: Term) {
        debug_assert!(i < X_REGISTERS);
        // SAFETY: there are that many.
        unsafe { *self.x.add(i) = value };
    }

    /// The first `n` X registers, for longer than the machine is borrowed.
    ///
    /// # Safety
    /// No register is written while the slice is used.
    #[inline(always)]
    pub unsafe fn args<'x>(&self, n: usize) -> &'x [Term] {
        let n = n.min(X_REGISTERS);
        // SAFETY: there are that many; the caller's promise that they are not written.
        unsafe { std::slice::from_raw_parts(self.x, n) }
    }

    /// The heap of the process that runs.
    #[inline(always)]
    pub fn heap(&mut self) -> &mut Heap {
        // SAFETY: it is the process's, which this thread owns (process/P2).
        unsafe { &mut *self.heap }
    }

    /// The stack pointer.
    #[inline(always)]
    pub fn sp(&self) -> *mut Term {
        // SAFETY: as above; MA1.
        unsafe { (*self.heap).stop.cast() }
    }

    /// Sets the stack pointer.
    #[inline(always)]
    pub fn set_sp(&mut self, sp: *mut Term) {
        self.heap().stop = sp.cast();
    }

    /// Pushes a continuation (its record's address).
    #[inline(always)]
    pub unsafe fn push(&mut self, continuation: *const Continuation) {
        // SAFETY: RESERVED words are free (a call pushes one word between checks).
        unsafe {
            let sp = self.sp().sub(1);
            *sp.cast::<u64>() = continuation as u64;
            self.set_sp(sp);
        }
    }

    /// Pops a continuation: gives the instruction that it leads to.
    #[inline(always)]
    pub unsafe fn pop(&mut self) -> *const u32 {
        // SAFETY: the frame has been dropped, so a continuation is on top; the bottom one is never popped by code.
        unsafe {
            let sp = self.sp();
            let continuation = *sp.cast::<u64>() as *const Continuation;
            self.set_sp(sp.add(1));
            Continuation::code(continuation).0
        }
    }

    /// Drops `bytes` of Y registers.
    #[inline(always)]
    pub unsafe fn drop_frame(&mut self, bytes: usize) {
        // SAFETY: the decoder has tracked the frame.
        let sp = unsafe { self.sp().byte_add(bytes) };
        self.set_sp(sp);
    }

    /// A register operand's value.
    #[inline(always)]
    pub unsafe fn get(&self, operand: u32) -> Term {
        // SAFETY: the caller promises that `operand` is a register operand of the instruction at hand.
        unsafe { *register(self.x, self.sp(), operand) }
    }

    /// Sets a register operand.
    #[inline(always)]
    pub unsafe fn set(&mut self, operand: u32, value: Term) {
        // SAFETY: the caller promises that `operand` is a register operand of the instruction at hand.
        unsafe { *register(self.x, self.sp(), operand) = value };
    }

    /// A source operand's value.
    #[inline(always)]
    pub unsafe fn source(&self, at: *const u32) -> Term {
        // SAFETY: the caller promises that a source operand of the instruction at hand is at `at`.
        unsafe { source(self.x, self.sp(), at) }
    }

    /// Before a built-in: what it sees of the process must be true.
    #[inline(always)]
    pub fn leave(&mut self) {
        self.ctx.state.reductions.engine_has(self.reds);
    }

    /// After a built-in.
    #[inline(always)]
    pub fn come_back(&mut self) {
        self.reds = self.ctx.state.reductions.of_engine();
    }

    /// Is the slice over? Asked where `reds` says so, which it also does while calls are saved, and now and then.
    #[inline]
    pub fn is_spent(&mut self) -> bool {
        self.reds <= self.ctx.state.reductions.engine_end() || !self.ctx.state.saves_calls() && self.looks_up()
    }

    /// Stops before the slice is over if someone waits for the process's answer, a process that goes before it waits for the scheduler, or
    /// the slice runs in pieces; otherwise it runs on.
    #[cold]
    fn looks_up(&mut self) -> bool {
        if self.ctx.process.is_asked()
            || self.ctx.gives_way_to_others()
            || self.ctx.sched.pace.pauses()
            || self.ctx.vm.schedulers.safepoint_requested()
            || self.ctx.is_work_wanted() && self.ctx.vm.engine().has_part(self.ctx)
        {
            return true;
        }
        self.leave();
        self.ctx.state.count_negatively(self.ctx.sched.pace.look());
        self.come_back();
        false
    }

    /// Collects: `live` X registers are live, `need` words are wanted. `false`: the heap has outgrown its limit and the
    /// process ends.
    #[cold]
    #[inline(never)]
    pub fn collect(&mut self, need: usize, live: usize) -> bool {
        self.leave();
        let mut live = live.min(X_REGISTERS);
        let building = self.building().filter(|_| live < X_REGISTERS);
        if let Some((binary, ..)) = building {
            self.set_x(live, binary);
            live += 1;
        }
        // SAFETY: there are so many.
        let x = unsafe { std::slice::from_raw_parts_mut(self.x, live) };
        // SAFETY: between instructions all terms are in live registers, on the stack or in the process.
        let done = unsafe { self.ctx.collect(need, x) };
        if let Some((_, at, end)) = building {
            self.build = Target::of(self.x(live - 1), at, end, self.heap().collections());
        }
        self.come_back();
        if !done {
            self.end = SliceEnd::Exited;
        }
        done
    }

    /// The binary that is being built, if there is one: where it is filled, where it ends.
    pub fn building(&mut self) -> Option<(Term, usize, usize)> {
        let collections = self.heap().collections();
        self.build.parts(collections)
    }

    /// Collects, here or (a large heap) on a dirty scheduler, and continues at `pc`.
    #[cold]
    #[inline(never)]
    pub fn collect_at(&mut self, need: usize, live: usize, pc: *const u32) -> *const u32 {
        if self.ctx.collects_long() {
            let end = self.ctx.hand_over(need);
            return self.stop_between(end, pc, live);
        }
        if self.collect(need, live) { pc } else { std::ptr::null() }
    }

    /// After an instruction that allocated: collects if the heap asks for it, keeping `value` (the instruction's result).
    /// `None`: the process ends.
    #[inline(always)]
    pub fn settle(&mut self, live: usize, value: Term) -> Option<Term> {
        if self.heap().needs_collection() { self.settle_slow(live, value) } else { Some(value) }
    }

    #[cold]
    #[inline(never)]
    fn settle_slow(&mut self, live: usize, value: Term) -> Option<Term> {
        if live >= X_REGISTERS {
            return Some(value);
        }
        if self.ctx.collects_long() {
            self.collect_later();
            return Some(value);
        }
        // Registers from `live` on are dead here, so the next one can hold the result.
        self.set_x(live, value);
        self.collect(0, live + 1).then(|| self.x(live))
    }

    /// Has the process give way at its next call, and collect on a dirty scheduler then ([`Machine::stop`]).
    pub fn collect_later(&mut self) {
        self.heap().request_collection();
        self.reds = self.reds.min(self.ctx.state.reductions.engine_end());
    }

    /// Sets `operand` to a result and continues at `next`, after collecting if needed.
    #[inline(always)]
    pub unsafe fn give(&mut self, operand: u32, value: Term, live: usize, next: *const u32) -> *const u32 {
        match self.settle(live, value) {
            Some(value) => {
                // SAFETY: the caller promises that `operand` is a register operand of the instruction at hand.
                unsafe { self.set(operand, value) };
                next
            }
            None => std::ptr::null(),
        }
    }

    /// The slice ends so, without live X registers; the process goes on at `pc`.
    #[inline(always)]
    pub fn stop_without_registers(&mut self, end: SliceEnd, pc: *const u32) {
        let state = &mut *self.ctx.state;
        state.saved_x.clear();
        state.resume = Resume { pc: CodePtr(pc), function: std::ptr::null() };
        self.end = end;
    }

    /// Ends the slice: `live` X registers are saved, and the process goes on at `pc` or, if that is null, at the entry of
    /// `function`.
    pub fn stop(&mut self, end: SliceEnd, pc: *const u32, function: *const Function, live: usize) -> *const u32 {
        // SAFETY: they are copied before anything else runs.
        let args = unsafe { self.args(live) };
        let has_tasks = self.ctx.has_tasks();
        let state = &mut *self.ctx.state;
        state.saved_x.clear();
        state.saved_x.extend_from_slice(args);
        state.resume = Resume { pc: CodePtr(pc), function };
        // Tasks that came on the way are done between this slice and the next.
        let end = if end == SliceEnd::Waiting && has_tasks { SliceEnd::Yielded } else { end };
        let collects = end == SliceEnd::Yielded && state.resumption.is_none() && state.heap.needs_collection();
        self.end = if collects && self.ctx.collects_long() { self.ctx.hand_over(0) } else { end };
        std::ptr::null()
    }

    /// Where the instruction at `pc` is.
    pub fn locate(&self, pc: *const u32) -> Option<Location> {
        code::locate_often(pc)
    }

    /// A proper list of X registers.
    pub fn args_list(&mut self, n: usize) -> Term {
        // SAFETY: they are copied before anything else runs.
        let args = unsafe { self.args(n) };
        self.ctx.list(args)
    }

    /// The opcode at `pc`.
    pub unsafe fn op(&self, pc: *const u32) -> Op {
        // SAFETY: the caller promises that `pc` is at a decoded instruction.
        unsafe { Op::of(*pc) }
    }
}

/// `M:F/A`
pub const fn mfa(module: myriad_term::Atom, function: myriad_term::Atom, arity: u8) -> Mfa {
    Mfa { module, function, arity }
}
