//! Calls of built-in functions, and what comes of them.
//!
//! A built-in runs with the process's state written back; its arguments are the X registers themselves. It is run again
//! (after a wait, or on a dirty scheduler) simply by executing the calling instruction again, or the function's entry.

use crate::instr::{NO_CONTINUATION, Op};
use crate::machine::{Machine, high, target, wide};
use crate::{calls, costs, errors, guards, stubs, trace};
use myriad_process::{Class, CodePtr};
use myriad_term::{Export, Mfa, Term, am};
use myriad_vm::Resume;
use myriad_vm::bif::{BifDef, BifResult, Escape};
use myriad_vm::code::{Continuation, Function, Module};
use myriad_vm::engine::SliceEnd;

/// A call in the body of a function.
#[inline(always)]
pub unsafe fn call(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction; the next one.
    unsafe { call_at(m, pc, |_| behind_call(pc)) }
}

/// Where a call in the body of a function returns to.
///
/// # Safety
/// A [`Op::CallBif`] that has a continuation: one without never continues in Erlang code.
#[inline(always)]
unsafe fn behind_call(pc: *const u32) -> *const u32 {
    // SAFETY: an operand of the instruction.
    unsafe { Continuation::code(target(pc.add(3)).cast()).0 }
}

/// A call in tail position.
#[inline(always)]
pub unsafe fn call_last(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction; without the frame a continuation is on top.
    unsafe {
        call_at(m, pc, |m| {
            m.drop_frame(*pc.add(3) as usize);
            m.pop()
        })
    }
}

/// Calls what the instruction at `pc` names; `next` gives the instruction that follows once the result is in X0.
#[inline(always)]
unsafe fn call_at(
    m: &mut Machine<'_, '_>,
    pc: *const u32,
    next: impl FnOnce(&mut Machine<'_, '_>) -> *const u32,
) -> *const u32 {
    // SAFETY: operands of the instruction.
    let (def, arity) = unsafe { (&*(wide(pc.add(1)) as *const BifDef), usize::from(high(pc) as u8)) };
    m.reds -= 1;
    if m.ctx.vm.switches.hooked() || def.kind.dirty().is_some() {
        // SAFETY: the instruction at hand.
        return unsafe { call_otherwise(m, pc, def, arity) };
    }
    let result = run_built_in(m, def, arity, Resume::inside(CodePtr(pc)));
    match result {
        Ok(value) if !m.heap().needs_collection() => {
            m.set_x(0, value);
            next(m)
        }
        result => finish(m, pc, result),
    }
}

/// A call at a time when calls of some built-ins are traced, or of what runs on a dirty scheduler.
#[cold]
#[inline(never)]
unsafe fn call_otherwise(m: &mut Machine<'_, '_>, pc: *const u32, def: &'static BifDef, arity: usize) -> *const u32 {
    // SAFETY: operands of the instruction; one in tail position always has a continuation.
    let traceable = unsafe { m.op(pc) == Op::CallBifLast || *pc.add(3) != NO_CONTINUATION };
    if let Some(function) = trace::bif_with_breakpoint(m, def)
        && traceable
    {
        // SAFETY: the instruction at hand.
        return unsafe { enter_bif(m, pc, function) };
    }
    if let Some(kind) = def.kind.dirty() {
        return m.stop(SliceEnd::Dirty(kind), pc, std::ptr::null(), arity);
    }
    let result = run_built_in(m, def, arity, Resume::inside(CodePtr(pc)));
    finish(m, pc, result)
}

/// A built-in with a breakpoint is called by an instruction that knows it: enters it as any function is.
#[cold]
pub unsafe fn enter_bif(m: &mut Machine<'_, '_>, pc: *const u32, function: &'static Function) -> *const u32 {
    // SAFETY: the caller's promise.
    unsafe { push_continuation(m, pc) };
    m.callee = function;
    function.entry().0
}

/// Runs a built-in on the arguments in the registers. The process is at `at` meanwhile.
#[inline(always)]
fn run_built_in(m: &mut Machine<'_, '_>, def: &BifDef, arity: usize, at: Resume) -> BifResult {
    m.leave();
    m.ctx.state.resume = at;
    // SAFETY: instructions and collections write registers, and a built-in does neither: it asks for a collection by giving way
    // (`Ctx::make_room`), and is called again.
    let args = unsafe { m.args(arity) };
    let forgone = m.ctx.state.reductions.forgone();
    let result = def.call(m.ctx, args);
    let left = m.reds;
    m.come_back();
    costs::called(def, left - m.reds - (m.ctx.state.reductions.forgone() - forgone));
    result
}

/// The entry of a function that is built-in: called by code that did not know so.
pub unsafe fn entry(m: &mut Machine<'_, '_>, _pc: *const u32) -> *const u32 {
    // SAFETY: code/K3.
    let function = unsafe { &*m.callee };
    let Some(def) = function.bif() else {
        // It has been taken back since.
        return function.entry().0;
    };
    let arity = usize::from(function.mfa.arity);
    if let Some(kind) = def.kind.dirty() {
        return m.stop(SliceEnd::Dirty(kind), again(), function, arity);
    }
    match run_built_in(m, def, arity, Resume::entry(function)) {
        Ok(value) if !m.heap().needs_collection() => {
            m.set_x(0, value);
            // SAFETY: the caller's continuation is on top, as at any function's entry.
            unsafe { m.pop() }
        }
        result => finish(m, std::ptr::null(), result),
    }
}

/// The entry of a function that has a native intrinsic. Where functions of the module have breakpoints the Erlang code runs
/// (`vm::intrinsic`).
pub unsafe fn try_intrinsic(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction; its module is there as long as its code (code/K3).
    let (def, module, arity) =
        unsafe { (&*(wide(pc.add(1)) as *const BifDef), &*(wide(pc.add(3)) as *const Module), high(pc) as usize) };
    if module.is_traced() {
        // SAFETY: the next instruction.
        return unsafe { own_code(pc) };
    }
    let result = run_built_in(m, def, arity, Resume::inside(CodePtr(pc)));
    finish(m, pc, result)
}

/// The function's Erlang code, behind its intrinsic.
///
/// # Safety
/// A [`Op::TryIntrinsic`].
unsafe fn own_code(pc: *const u32) -> *const u32 {
    // SAFETY: the instruction has four words of operands.
    unsafe { pc.add(5) }
}

/// Where a built-in called through its entry is run again: not through the entry, which may be a breakpoint that has been passed.
fn again() -> *const u32 {
    stubs::code_of(Op::BuiltInEntry)
}

/// Where a process stopped that is to run a built-in again, as [`finish`] wants it.
pub fn resumed(pc: *const u32) -> *const u32 {
    if pc == again() { std::ptr::null() } else { pc }
}

/// What a call at `pc` (null: through the entry of `m.callee`) calls.
pub unsafe fn called(m: &Machine<'_, '_>, pc: *const u32) -> Option<(&'static BifDef, usize)> {
    // SAFETY: the caller promises that `pc` is null or at an instruction that calls a built-in.
    unsafe { called_at(m.callee, pc) }
}

/// What a call at `pc` (null: through the entry of `callee`) calls.
///
/// # Safety
/// `pc` is an instruction that a process stopped at, or `callee` a function (or both are null).
pub unsafe fn called_at(callee: *const Function, pc: *const u32) -> Option<(&'static BifDef, usize)> {
    if pc.is_null() {
        // SAFETY: code/K3.
        let function = unsafe { callee.as_ref()? };
        return Some((function.bif()?, usize::from(function.mfa.arity)));
    }
    // SAFETY: an instruction that the process stopped at.
    unsafe {
        match Op::of(*pc) {
            Op::CallBif | Op::CallBifLast | Op::TryIntrinsic => {
                Some((&*(wide(pc.add(1)) as *const BifDef), high(pc) as usize))
            }
            _ => None,
        }
    }
}

/// The built-in that the instruction at `pc` calls, if it is such a call.
///
/// # Safety
/// `pc` is an instruction of decoded code.
pub unsafe fn called_by(pc: *const u32) -> Option<Mfa> {
    // SAFETY: the caller's promise; an instruction of this kind has this operand.
    unsafe { matches!(Op::of(*pc), Op::CallBif | Op::CallBifLast).then(|| (*(wide(pc.add(1)) as *const BifDef)).mfa()) }
}

/// Continues after a built-in called at `pc` (null: through the entry of `m.callee`) has given `result`.
pub fn finish(m: &mut Machine<'_, '_>, pc: *const u32, result: BifResult) -> *const u32 {
    // SAFETY: the instruction that called.
    if !pc.is_null() && unsafe { m.op(pc) } == Op::Length {
        // SAFETY: the instruction that called.
        return unsafe { guards::finish(m, pc, result) };
    }
    let escape = match result {
        Ok(value) => {
            m.set_x(0, value);
            // SAFETY: the instruction that called.
            let next = unsafe { deliver(m, pc) };
            return if m.heap().needs_collection() { m.collect_at(0, 1, next) } else { next };
        }
        Err(escape) => escape,
    };
    // SAFETY: the instruction that called, or null.
    let Some((def, arity)) = (unsafe { called(m, pc) }) else {
        return errors::error_at(m, pc, Term::atom(am::badarg));
    };
    let (at, function): (_, *const Function) = if pc.is_null() { (again(), m.callee) } else { (pc, std::ptr::null()) };
    match escape {
        Escape::Error(_) | Escape::BadMap(_) | Escape::BadKey(_) => {
            let reason = errors::reason_of(m, &escape);
            let arguments = m.args_list(arity);
            errors::bif_error(m, pc, def.mfa(), arguments, reason)
        }
        Escape::Exit(reason) => raise_from(m, pc, Class::Exit, reason),
        Escape::Throw(value) => raise_from(m, pc, Class::Throw, value),
        Escape::Raised => errors::raised(m, pc),
        Escape::Trap(export) => {
            let args = std::mem::take(&mut m.ctx.state.trap_args);
            for (i, arg) in args.iter().enumerate() {
                m.set_x(i, *arg);
            }
            m.ctx.state.trap_args = args;
            m.ctx.state.trap_args.clear();
            if !pc.is_null() {
                // SAFETY: operands of the instruction.
                unsafe { push_continuation(m, pc) };
            }
            calls::enter_saving(m, export)
        }
        Escape::Yield => m.stop(SliceEnd::Yielded, at, function, arity),
        // As in OTP, a process whose `!` waits for a busy port stands in `erlang:send/2`, which it calls again.
        Escape::Wait if !pc.is_null() && def.mfa().function == am::send => {
            // SAFETY: operands of the instruction.
            unsafe { push_continuation(m, pc) };
            calls::enter_saving(m, Export::intern(def.mfa()))
        }
        Escape::Wait => m.stop(SliceEnd::Waiting, at, function, arity),
        Escape::Room(words) => {
            if m.ctx.collects_long() {
                let end = m.ctx.hand_over(words);
                return m.stop(end, at, function, arity);
            }
            if m.collect(words, arity) { at } else { std::ptr::null() }
        }
        Escape::Dirty(kind) => m.stop(SliceEnd::Dirty(kind), at, function, arity),
        // SAFETY: an instruction of this kind has the next one behind it; no other built-in declines.
        Escape::Decline if !pc.is_null() && unsafe { m.op(pc) } == Op::TryIntrinsic => unsafe { own_code(pc) },
        Escape::Decline => errors::error_at(m, pc, Term::atom(am::badarg)),
        Escape::Dead => {
            m.end = SliceEnd::Exited;
            std::ptr::null()
        }
    }
}

/// Enters a function instead of the built-in that the instruction at `pc` calls. In tail position too it returns to its caller,
/// so that stack traces show it: so OTP has it.
///
/// # Safety
/// `pc` is a call of a built-in.
pub unsafe fn push_continuation(m: &mut Machine<'_, '_>, pc: *const u32) {
    // SAFETY: operands of the instruction.
    unsafe {
        let continuation = match m.op(pc) {
            Op::CallBifLast => 4,
            // Its caller's continuation is on the stack already.
            Op::TryIntrinsic => return,
            _ => 3,
        };
        m.push(target(pc.add(continuation)).cast());
    }
}

fn raise_from(m: &mut Machine<'_, '_>, pc: *const u32, class: Class, reason: Term) -> *const u32 {
    if pc.is_null() {
        errors::begin(m, class, reason);
        return errors::raised(m, pc);
    }
    errors::raise_at(m, pc, class, reason)
}

/// The result is in X0: gives the instruction that follows.
///
/// # Safety
/// `pc` is null or at the instruction that called.
#[inline]
pub unsafe fn deliver(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: the instruction that called, or a continuation on the stack.
    unsafe {
        if pc.is_null() {
            return m.pop();
        }
        match m.op(pc) {
            Op::CallBifLast => {
                m.drop_frame(*pc.add(3) as usize);
                m.pop()
            }
            Op::TryIntrinsic => m.pop(),
            _ => behind_call(pc),
        }
    }
}
