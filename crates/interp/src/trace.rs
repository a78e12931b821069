//! Breakpoints, and the frames that traced calls leave on the stack.
//!
//! A traced call may put frames between itself and its caller: a return point that belongs to no function ([`Record`]), with
//! words that look like terms above it. So the return comes here first, walks of the stack pass over them, and an exception
//! that passes is told ([`unwound`]).
//!
//! | frame | words |
//! | --- | --- |
//! | returns, exceptions | module, function, arity, tracer (nil: the process's own) |
//! | return to | |
//! | time | the number of the function that was current before |

use crate::calls;
use crate::code;
use crate::errors;
use crate::instr::Op;
use crate::machine::Machine;
use crate::stubs::{self, ReturnPoint};
use myriad_heap::Fragment;
use myriad_term::{Build, Mfa, Term, am};
use myriad_trace::call::{self, Caller, ReturnFrame};
use myriad_trace::{Tracing, breakpoint, times};
use myriad_vm::bif::BifDef;
use myriad_vm::code::{Continuation, Function};

/// Words that all frames of one call take at most.
const ROOM: usize = 16;
/// Words of a frame that tells what a call returns, without the return point.
const RETURN_WORDS: usize = 4;

static RETURN_TRACE: ReturnPoint = ReturnPoint::to(Op::ReturnTrace, RETURN_WORDS as u32);
static EXCEPTION_TRACE: ReturnPoint = ReturnPoint::to(Op::ExceptionTrace, RETURN_WORDS as u32);
static RETURN_TO: ReturnPoint = ReturnPoint::to(Op::ReturnTo, 0);
static RETURN_TIME: ReturnPoint = ReturnPoint::to(Op::ReturnTime, 1);

/// Is this word the return point of a frame of tracing?
pub fn is_record(word: u64) -> bool {
    [&RETURN_TRACE, &EXCEPTION_TRACE, &RETURN_TO, &RETURN_TIME].iter().any(|point| point.is(word))
}

/// The entry of a function without its breakpoint.
pub fn entry_behind(function: &Function) -> *const u32 {
    if function.bif().is_some() {
        return stubs::code_of(Op::BuiltInEntry);
    }
    code::decoded(function).map_or(stubs::code_of(Op::Undecoded), |d| d.entry())
}

/// The function that is returned to, on a stack whose top is a return point.
fn caller(stop: *const u64, base: *const u64) -> Option<Caller> {
    let mut found = None;
    errors::walk(stop, base, 0, |continuation| {
        // SAFETY: `walk` leaves out records without a function; code/K3.
        let function = unsafe { &*continuation.function };
        found = Some(Caller { mfa: function.mfa, place: errors::place_of(function, continuation.line) });
        false
    });
    found
}

/// Is there a frame already that reports where the caller returns to? Frames that report returns may lie before it.
fn returns_already(m: &mut Machine<'_, '_>) -> bool {
    let (mut at, base) = (m.heap().stop, m.heap().hend);
    // SAFETY: the top of the stack is a return point, and each leads to the next.
    unsafe {
        while at < base {
            let word = *at;
            if RETURN_TO.is(word) {
                return true;
            }
            if !is_record(word) {
                return false;
            }
            at = at.add(1 + (*(word as *const Continuation)).frame as usize);
        }
    }
    false
}

/// Pushes words (the first deepest) and a return point on them.
unsafe fn push_frame(m: &mut Machine<'_, '_>, point: &'static ReturnPoint, words: &[Term]) {
    // SAFETY: `breakpoint` has made room.
    unsafe {
        let mut sp = m.sp();
        for word in words {
            sp = sp.sub(1);
            *sp = *word;
        }
        m.set_sp(sp);
        m.push(point.record());
    }
}

unsafe fn push_return(m: &mut Machine<'_, '_>, mfa: Mfa, frame: ReturnFrame) {
    let point = if frame.exception { &EXCEPTION_TRACE } else { &RETURN_TRACE };
    let words = [frame.tracer, Term::small(i64::from(mfa.arity)), mfa.function.term(), mfa.module.term()];
    m.ctx.state.trace_frames = true;
    // SAFETY: `breakpoint`, which calls this, has made room for the words and the return point.
    unsafe { push_frame(m, point, &words) };
}

/// The entry of a function with a breakpoint, or of a traced export.
pub unsafe fn breakpoint(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: code/K3.
    let function = unsafe { &*m.callee };
    let Some(breakpoint) = breakpoint::of(function) else {
        if breakpoint::is_stand_in(function) {
            // SAFETY: the export is looked up anew, whatever the instruction.
            return unsafe { calls::undefined(m, pc) };
        }
        return entry_behind(function);
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
    let args = m.args(arity);
    m.leave();
    let frames = call::called(m.ctx, breakpoint, called.mfa, args, returning, &|| caller(stop, base));
    m.come_back();
    // SAFETY: there is room.
    unsafe {
        if frames.return_to {
            m.ctx.state.trace_frames = true;
            push_frame(m, &RETURN_TO, &[]);
        }
        if let Some(frame) = frames.call {
            push_return(m, called.mfa, frame);
        }
        if let Some(frame) = frames.meta {
            push_return(m, called.mfa, frame);
        }
        if let Some(before) = frames.time
            && !RETURN_TIME.is(*m.heap().stop)
        {
            m.ctx.state.trace_frames = true;
            push_frame(m, &RETURN_TIME, &[Term::small(before as i64)]);
        }
    }
    match behind {
        Some(function) => function.entry().0,
        None if breakpoint.debug => calls::debug_break(m, called.mfa),
        None => entry_behind(function),
    }
}

/// A built-in with a breakpoint is called by an instruction that knows it: enters it as any function is.
#[cold]
pub unsafe fn enter_bif(m: &mut Machine<'_, '_>, pc: *const u32, function: &'static Function) -> *const u32 {
    // SAFETY: the caller promises that `pc` is at the instruction at hand, which calls the built-in.
    unsafe { crate::bifs::push_continuation(m, pc) };
    m.callee = function;
    function.entry().0
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

/// `{Module, Function, Arity}` and tracer of the words of a frame, if they are such.
fn frame_of(words: [Term; RETURN_WORDS], memory: &mut Fragment) -> Option<(Term, Term)> {
    let [module, function, arity, tracer] = words;
    let whole = module.is_atom() && function.is_atom() && arity.is_small() && tracer.is_immediate();
    whole.then(|| (memory.tuple(&[module, function, arity]), tracer))
}

/// Takes the words of a frame that reports a return.
unsafe fn take_words(m: &mut Machine<'_, '_>) -> [Term; RETURN_WORDS] {
    // SAFETY: the return point just popped has that many words above it.
    unsafe {
        let sp = m.sp();
        m.set_sp(sp.add(RETURN_WORDS));
        sp.cast::<[Term; RETURN_WORDS]>().read()
    }
}

/// A call with a frame that reports its return has returned.
pub unsafe fn return_trace(m: &mut Machine<'_, '_>, _pc: *const u32) -> *const u32 {
    // SAFETY: it is this frame's return point.
    let words = unsafe { take_words(m) };
    let mut memory = Fragment::with_capacity(8);
    if let Some((mfa, tracer)) = frame_of(words, &mut memory) {
        let value = m.x(0);
        call::returned(m.ctx, tracer, mfa, None, value);
    }
    // SAFETY: the next return point is on top.
    unsafe { m.pop() }
}

/// A call whose return is told has returned.
pub unsafe fn return_to(m: &mut Machine<'_, '_>, _pc: *const u32) -> *const u32 {
    let to = caller(m.heap().stop, m.heap().hend).map(|c| c.mfa);
    call::returned_to(m.ctx, to);
    // SAFETY: the next return point is on top.
    unsafe { m.pop() }
}

/// A call whose time counts has returned.
pub unsafe fn return_time(m: &mut Machine<'_, '_>, _pc: *const u32) -> *const u32 {
    // SAFETY: it is this frame's return point, with one word.
    unsafe {
        let before = *m.sp();
        let sp = m.sp().add(1);
        m.set_sp(sp);
        times::returned(m.ctx, before.as_small().unwrap_or(0) as u64);
        m.pop()
    }
}

/// An exception passes the stack from `from` to `to`, where `handler` handles it, if there is one.
#[cold]
pub fn unwound(
    m: &mut Machine<'_, '_>,
    from: *const u64,
    to: *const u64,
    handler: Option<&Continuation>,
    class: Term,
    reason: Term,
) {
    let mut memory = Fragment::with_capacity(4);
    let (class, reason) = if handler.is_none() && class.is_am(am::throw) {
        // No handler catches it: it is an error by now.
        (Term::atom(am::error), memory.tuple(&[Term::atom(am::nocatch), reason]))
    } else {
        (class, reason)
    };
    let mut at = from;
    // Told is a return to the function that handles the exception if that has made the call itself.
    let (mut told, mut returns) = (false, false);
    while at < to {
        // SAFETY: within the stack; the words of a frame lie above its return point.
        unsafe {
            let word = *at;
            let words_left = to.offset_from(at) as usize;
            if RETURN_TO.is(word) {
                told = true;
            } else if RETURN_TIME.is(word) && words_left > 1 {
                let before = Term::from_raw(*at.add(1));
                times::returned(m.ctx, before.as_small().unwrap_or(0) as u64);
                at = at.add(1);
            } else if (EXCEPTION_TRACE.is(word) || RETURN_TRACE.is(word)) && words_left > RETURN_WORDS {
                let words = at.add(1).cast::<[Term; RETURN_WORDS]>().read();
                let mut memory = Fragment::with_capacity(8);
                if let Some((mfa, tracer)) = frame_of(words, &mut memory) {
                    if EXCEPTION_TRACE.is(word) {
                        call::returned(m.ctx, tracer, mfa, Some(class), reason);
                    }
                    at = at.add(RETURN_WORDS);
                }
            } else if errors::is_return_point(word) {
                (told, returns) = (false, told);
            }
            at = at.add(1);
        }
    }
    if let Some(handler) = handler {
        if returns {
            // SAFETY: code/K3; the handler's function runs on.
            let function = unsafe { handler.function.as_ref() };
            call::returned_to(m.ctx, function.map(|f| f.mfa));
        }
    } else {
        m.ctx.state.trace_frames = false;
    }
}
