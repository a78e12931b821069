//! The frames that traced calls leave on the stack, and what comes by them: returns and exceptions.
//!
//! A traced call may put frames between itself and its caller: a return point that belongs to no function ([`ReturnPoint`]), with
//! words that look like terms above it. So the return comes here first, walks of the stack pass over them, and an exception
//! that passes is told ([`unwound`]).
//!
//! | frame | words |
//! | --- | --- |
//! | returns, exceptions | module, function, arity, tracer (nil: the process's own) |
//! | return to | |
//! | time | the number of the function that was current before |

use crate::machine::Machine;
use crate::stack::{is_return_point, place_of, walk};
use crate::stubs::{
    EXCEPTION_TRACE, RETURN_TIME, RETURN_TO, RETURN_TRACE, RETURN_WORDS, ReturnPoint, is_traced_return,
};
use myriad_process::Frames;
use myriad_term::{Arena, Build, Mfa, Term, TermRef, am};
use myriad_trace::call::{self, CallFrames, Caller, ReturnFrame};
use myriad_trace::times;
use myriad_vm::code::Continuation;

/// Words that all frames of one call take at most.
pub const ROOM: usize = 16;

/// Who is returned to, of a stack whose top is a return point.
pub fn caller(stop: *const u64, base: *const u64) -> Option<Caller> {
    let mut found = None;
    walk(stop, base, 0, None, |continuation| {
        // SAFETY: `walk` leaves out records without a function; code/K3.
        let function = unsafe { &*continuation.function };
        found = Some(Caller { mfa: function.mfa, place: place_of(function, continuation.line) });
        false
    });
    found
}

/// Does the caller's frame tell already where it returns to? Frames that tell of returns may lie before it.
pub fn returns_already(m: &mut Machine<'_, '_>) -> bool {
    let (mut at, base) = (m.heap().stop, m.heap().hend);
    // SAFETY: the top of the stack is a return point, and each leads to the next.
    unsafe {
        while at < base {
            let word = *at;
            if RETURN_TO.is(word) {
                return true;
            }
            if !is_traced_return(word) {
                return false;
            }
            at = at.add(1 + (*(word as *const Continuation)).frame as usize);
        }
    }
    false
}

/// Pushes words (the first deepest) and a return point on them.
unsafe fn push_frame(m: &mut Machine<'_, '_>, point: &'static ReturnPoint, words: &[Term]) {
    // SAFETY: the caller has made room.
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
    m.ctx.state.frames.add(Frames::TRACED);
    // SAFETY: the caller's promise.
    unsafe { push_frame(m, point, &words) };
}

/// Pushes the frames of a call of `mfa`, whose caller's return point is on top.
///
/// # Safety
/// The stack has [`ROOM`].
pub unsafe fn push_all(m: &mut Machine<'_, '_>, mfa: Mfa, frames: CallFrames) {
    // SAFETY: the caller's promise.
    unsafe {
        if frames.return_to {
            m.ctx.state.frames.add(Frames::TRACED);
            push_frame(m, &RETURN_TO, &[]);
        }
        if let Some(frame) = frames.call {
            push_return(m, mfa, frame);
        }
        if let Some(frame) = frames.meta {
            push_return(m, mfa, frame);
        }
        if let Some(before) = frames.time
            && !RETURN_TIME.is(*m.heap().stop)
        {
            m.ctx.state.frames.add(Frames::TRACED);
            push_frame(m, &RETURN_TIME, &[Term::small(before as i64)]);
        }
    }
}

/// `{Module, Function, Arity}` and tracer of the words of a frame, if they are such.
fn frame_of(words: [Term; RETURN_WORDS], mut memory: &Arena) -> Option<(TermRef<'_>, Term)> {
    let [module, function, arity, tracer] = words;
    let whole = module.is_atom() && function.is_atom() && arity.is_small() && tracer.is_immediate();
    whole.then(|| (memory.tuple(&[module, function, arity]), tracer))
}

/// Takes the words of a frame that tells of returns.
unsafe fn take_words(m: &mut Machine<'_, '_>) -> [Term; RETURN_WORDS] {
    // SAFETY: the return point just popped has so many words above it.
    unsafe {
        let sp = m.sp();
        m.set_sp(sp.add(RETURN_WORDS));
        sp.cast::<[Term; RETURN_WORDS]>().read()
    }
}

/// A call with a frame that tells of returns has returned.
pub unsafe fn return_trace(m: &mut Machine<'_, '_>, _pc: *const u32) -> *const u32 {
    // SAFETY: it is this frame's return point.
    let words = unsafe { take_words(m) };
    let memory = Arena::new();
    if let Some((mfa, tracer)) = frame_of(words, &memory) {
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

/// An exception passes the stack from `from` to `to`, where it is handled by `handler`, or nobody.
#[cold]
pub fn unwound(
    m: &mut Machine<'_, '_>,
    from: *const u64,
    to: *const u64,
    handler: Option<&Continuation>,
    class: Term,
    reason: Term,
) {
    let mut memory = &Arena::new();
    let (class, reason) = if handler.is_none() && class.is_am(am::throw) {
        // Nobody catches it: an error by now.
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
                let memory = Arena::new();
                if let Some((mfa, tracer)) = frame_of(words, &memory) {
                    if EXCEPTION_TRACE.is(word) {
                        call::returned(m.ctx, tracer, mfa, Some(class), reason);
                    }
                    at = at.add(RETURN_WORDS);
                }
            } else if is_return_point(word) {
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
        m.ctx.state.frames.remove(Frames::TRACED);
    }
}
