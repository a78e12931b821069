//! Breakpoints: the entries of functions that have one, and built-ins that have one.

pub mod frames;

use crate::calls;
use crate::machine::Machine;
use crate::stubs::behind_breakpoint;
use frames::{ROOM, caller, push_all, returns_already};
use myriad_trace::{Tracing, breakpoint, call};
use myriad_vm::Resume;
use myriad_vm::bif::BifDef;
use myriad_vm::code::Function;

/// The entry of a function with a breakpoint, or of a traced export.
pub unsafe fn breakpoint(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: code/K3.
    let function = unsafe { &*m.callee };
    let Some(breakpoint) = breakpoint::of(function) else {
        if breakpoint::is_stand_in(function) {
            // SAFETY: the export is looked up anew, whatever the instruction.
            return unsafe { calls::undefined(m, pc) };
        }
        return behind_breakpoint(function).0;
    };
    // SAFETY: trace/B4.
    let behind = unsafe { breakpoint.behind.as_ref() };
    let called = behind.unwrap_or(function);
    let arity = usize::from(called.mfa.arity);
    if !m.heap().ensure(ROOM) && !m.collect(ROOM, arity) {
        return std::ptr::null();
    }
    m.callee = called;
    let returning = returns_already(m);
    let (stop, base) = (m.heap().stop.cast_const(), m.heap().hend.cast_const());
    // SAFETY: tracing only reads them, before it makes anything.
    let args = unsafe { m.args(arity) };
    m.leave();
    // A specification may ask for the stack, which is another one than where the process stopped last.
    m.ctx.state.resume = Resume::entry(called);
    let frames = call::called(m.ctx, breakpoint, called.mfa, args, returning, &|| caller(stop, base));
    m.come_back();
    // SAFETY: there is room.
    unsafe { push_all(m, called.mfa, frames) };
    match behind {
        Some(function) => function.entry().0,
        None if breakpoint.debug => calls::debug_break(m, called.mfa),
        None => behind_breakpoint(function).0,
    }
}

/// The function to enter instead of a built-in that has a breakpoint.
#[inline(always)]
pub fn bif_with_breakpoint(m: &mut Machine<'_, '_>, def: &'static BifDef) -> Option<&'static Function> {
    if m.ctx.vm.switches.hooked() { hooked_bif(m, def) } else { None }
}

#[cold]
fn hooked_bif(m: &mut Machine<'_, '_>, def: &'static BifDef) -> Option<&'static Function> {
    if m.ctx.state.saves_calls() {
        crate::saving::note_bif(m, def);
    }
    Tracing::of(m.ctx.vm).bif_hooks.traced(def)
}
