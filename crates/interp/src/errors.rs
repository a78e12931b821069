//! Exceptions: raising, finding the handler, stack traces, and the instructions that deal with them.
//!
//! A `catch` or `try` leaves a marker in a Y register whose data is the address of a continuation record: its `pc` is the
//! handler, its `frame` the number of that Y register, so that the handler's stack pointer is the marker's address less so
//! many words. Raising takes the first marker above the stack pointer.
//!
//! The handler gets X0 = no term, X1 = class, X2 = reason, X3 = the raw trace; `try_case` moves them down by one,
//! `catch_end` makes the value of a `catch` expression of them.
//!
//! The raw trace is a tuple `{Class, Arguments, Info, Trace, N, Module1, Function1, ArityAndLine1, File1, ..., Caller1, Caller2, ...}`: N frames that
//! raised, then addresses of the return points of their callers. It is cheap to make, for most traces are never looked at, and safe to keep whatever happens
//! to the code: a return point that is gone when the trace is looked at is left out, as in OTP.

use crate::code::{self, record_before};
use crate::instr::Op;
use crate::machine::{Machine, high, mfa, target};
use crate::receive::leave_receive;
use crate::stack::{frame_of, place, place_of, walk, words_below_return};
use crate::trace::frames::unwound;
use myriad_process::{Class, Frames};
use myriad_term::boxed::Header;
use myriad_term::{Alloc, Atom, Build, Kind, Mfa, Term, am};
use myriad_vm::TraceFrame;
use myriad_vm::bif::{BifResult, Escape};
use myriad_vm::code::Continuation;
use myriad_vm::engine::SliceEnd;
use smallvec::SmallVec;

/// Elements of a raw trace before the frames.
const HEAD: usize = 5;
/// Elements of a frame that raised.
const PER_FRAME: usize = 4;
/// What stands for the `error_info` of an error that `func_info` raised.
const FROM_FUNC_INFO: Term = Term::NIL;

/// Raises at the instruction at `pc`.
#[cold]
#[inline(never)]
pub fn raise_at(m: &mut Machine<'_, '_>, pc: *const u32, class: Class, reason: Term) -> *const u32 {
    begin(m, class, reason);
    let frame = here(m, pc);
    unwind(m, pc, frame)
}

/// Raises `exit:{parallel, aborted}`, for nobody wants any more what a process does: where it stands, at an instruction or (null) at the entry of a function, in a receive or a built-in; or
/// in `frame`, without the frames above it.
#[cold]
pub fn abort_at(m: &mut Machine<'_, '_>, pc: *const u32, frame: *mut u64) -> *const u32 {
    leave_receive(m);
    m.ctx.state.resumption = None;
    m.ctx.state.retry_state = Term::NONE;
    let reason = m.ctx.tuple(&[am::parallel.term(), am::aborted.term()]);
    begin(m, Class::Exit, reason);
    let mut words = 0;
    if !frame.is_null() {
        // SAFETY: a frame of this stack, with the return point below it.
        m.heap().stop = unsafe { frame.sub(1) };
    } else if !pc.is_null() {
        words = here(m, pc);
    }
    let (stop, base) = (m.heap().stop, m.heap().hend);
    let words = words_below_return(stop, base, words);
    unwind(m, std::ptr::null(), words)
}

/// Raises `error:Reason` at `pc`.
#[cold]
pub fn error_at(m: &mut Machine<'_, '_>, pc: *const u32, reason: Term) -> *const u32 {
    raise_at(m, pc, Class::Error, reason)
}

/// Raises `error:{Tag, Value}` at `pc`.
#[cold]
pub fn tagged_error_at(m: &mut Machine<'_, '_>, pc: *const u32, tag: Atom, value: Term) -> *const u32 {
    let reason = m.ctx.tuple(&[tag.term(), value]);
    error_at(m, pc, reason)
}

/// Raises at `pc`, where the caller's continuation has been pushed already: the caller shows up twice, as in OTP.
#[cold]
pub fn error_after_push(m: &mut Machine<'_, '_>, pc: *const u32, reason: Term) -> *const u32 {
    begin(m, Class::Error, reason);
    here(m, pc);
    unwind(m, std::ptr::null(), 0)
}

/// Raises `error:Reason` with arguments or `error_info` for the frame of `pc` itself.
#[cold]
pub fn error_with(m: &mut Machine<'_, '_>, pc: *const u32, reason: Term, arguments: Term, info: Term) -> *const u32 {
    begin(m, Class::Error, reason);
    m.ctx.state.exception.arguments = arguments;
    m.ctx.state.exception.info = info;
    let frame = here(m, pc);
    unwind(m, pc, frame)
}

/// Raises `error:undef` for a call of `what` that has been made: its caller is on the stack.
#[cold]
pub fn undefined_call(m: &mut Machine<'_, '_>, what: Mfa, arguments: Term) -> *const u32 {
    begin(m, Class::Error, Term::atom(am::undef));
    m.ctx.state.exception.arguments = arguments;
    m.ctx.state.exception.frames.push(TraceFrame { mfa: what, line: 0, module: std::ptr::null() });
    unwind(m, std::ptr::null(), 0)
}

/// The module that explains errors of a built-in.
fn explainer(module: Atom) -> Option<Atom> {
    match module {
        am::erlang | am::atomics | am::counters | am::persistent_term | am::erts_internal => Some(am::erl_erts_errors),
        am::os => Some(am::erl_kernel_errors),
        am::lists | am::maps | am::ets | am::re | am::binary | am::math | am::unicode => Some(am::erl_stdlib_errors),
        _ => None,
    }
}

/// Raises `error:Reason` of the built-in `what`, called at `pc` (null: through its entry, its caller being on the stack).
#[cold]
#[inline(never)]
pub fn bif_error(m: &mut Machine<'_, '_>, pc: *const u32, what: Mfa, arguments: Term, reason: Term) -> *const u32 {
    begin(m, Class::Error, reason);
    let cause = std::mem::replace(&mut m.ctx.state.error_cause, Term::NONE);
    if let Some(explainer) = explainer(what.module) {
        let module = (Term::atom(am::module), explainer.term());
        let info = if cause.is_some() {
            myriad_term::map::from_pairs(m.ctx, &[(Term::atom(am::cause), cause), module])
        } else {
            myriad_term::map::from_pairs(m.ctx, &[module])
        };
        m.ctx.state.exception.info = info;
    }
    m.ctx.state.exception.arguments = arguments;
    m.ctx.state.exception.frames.push(TraceFrame { mfa: what, line: 0, module: std::ptr::null() });
    let frame = if pc.is_null() { 0 } else { here(m, pc) };
    unwind(m, pc, frame)
}

/// A built-in has put class, reason and perhaps the trace, arguments and info in the process ([`myriad_vm::Escape::Raised`]).
#[cold]
pub fn raised(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    m.ctx.state.error_cause = Term::NONE;
    if m.ctx.state.exception.trace.is_some() || !m.ctx.state.exception.frames.is_empty() {
        return hand_over(m, &[]);
    }
    let frame = if pc.is_null() { 0 } else { here(m, pc) };
    unwind(m, pc, frame)
}

/// Raises at `pc` what a built-in has given that only raises.
#[cold]
pub fn raise_result(m: &mut Machine<'_, '_>, pc: *const u32, result: BifResult) -> *const u32 {
    match result {
        Err(Escape::Exit(reason)) => raise_at(m, pc, Class::Exit, reason),
        Err(Escape::Throw(value)) => raise_at(m, pc, Class::Throw, value),
        Err(Escape::Error(reason)) => error_at(m, pc, reason),
        _ => raised(m, pc),
    }
}

/// The reason of an error that a built-in gave.
pub fn reason_of(m: &mut Machine<'_, '_>, escape: &Escape) -> Term {
    match escape {
        Escape::Error(reason) => *reason,
        Escape::BadMap(value) => m.ctx.tuple(&[Term::atom(am::badmap), *value]),
        Escape::BadKey(key) => m.ctx.tuple(&[Term::atom(am::badkey), *key]),
        _ => Term::atom(am::badarg),
    }
}

/// The exception on its way is this one, of which no more is known yet.
pub fn begin(m: &mut Machine<'_, '_>, class: Class, reason: Term) {
    let e = &mut m.ctx.state.exception;
    e.class = class;
    e.reason = reason;
    e.trace = Term::NONE;
    e.arguments = Term::NONE;
    e.info = Term::NONE;
    e.frames.clear();
}

/// Adds the frame of the instruction at `pc`; gives its Y registers.
fn here(m: &mut Machine<'_, '_>, pc: *const u32) -> usize {
    match m.locate(pc) {
        Some(at) => {
            m.ctx.state.exception.frames.push(frame_of(at.function, at.line));
            at.frame as usize
        }
        None => 0,
    }
}

/// Adds the callers' frames (above `frame` Y registers) and goes to the handler. `pc` is where it was raised, or null.
fn unwind(m: &mut Machine<'_, '_>, pc: *const u32, frame: usize) -> *const u32 {
    // SAFETY: an instruction, or null.
    let calls = !pc.is_null() && unsafe { matches!(m.op(pc), Op::CallBif | Op::CallBifLast) };
    // A call of a built-in right behind another call is where that one returns to: in OTP's traces one place.
    let last = if calls { record_before(pc) } else { None };
    let depth = m.ctx.vm.defaults.exception_depth();
    let (stop, base) = (m.heap().stop, m.heap().hend);
    let frames = &mut m.ctx.state.exception.frames;
    frames.truncate(depth);
    let wanted = depth - frames.len();
    let mut callers = Callers::new();
    walk(stop, base, frame, last, |continuation| {
        if callers.len() < wanted {
            callers.push(Term::small(std::ptr::from_ref(continuation) as i64));
        }
        callers.len() < wanted
    });
    hand_over(m, &callers)
}

/// Addresses of return points.
type Callers = SmallVec<[Term; 8]>;

/// The raw trace of the exception in the process, as a term.
fn raw_trace(m: &mut Machine<'_, '_>, callers: &[Term]) -> Term {
    let state = &mut *m.ctx.state;
    let e = &mut state.exception;
    let words = HEAD + PER_FRAME * e.frames.len() + callers.len();
    let at = state.heap.alloc(1 + words).as_ptr();
    // SAFETY: fresh words, as many as were asked for (term/A2), all of which are written.
    unsafe {
        *at = Header::new(Kind::Tuple, words).raw();
        let mut next = at.add(1).cast::<Term>();
        let raised = Term::small(e.frames.len() as i64);
        next.cast::<[Term; HEAD]>().write([e.class.term(), e.arguments, e.info, e.trace, raised]);
        next = next.add(HEAD);
        for frame in &e.frames {
            next.cast::<[Term; PER_FRAME]>().write(packed(frame));
            next = next.add(PER_FRAME);
        }
        next.copy_from_nonoverlapping(callers.as_ptr(), callers.len());
        Term::from_boxed(at)
    }
}

fn packed(f: &TraceFrame) -> [Term; PER_FRAME] {
    pack(f.mfa, place(f))
}

/// A function, and a file (nil: the module's own) and a line in it.
fn pack(mfa: Mfa, (file, line): (Term, u32)) -> [Term; PER_FRAME] {
    let arity_and_line = i64::from(mfa.arity) | i64::from(line) << 8;
    [mfa.module.term(), mfa.function.term(), Term::small(arity_and_line), file]
}

/// The exception in the process, all of which is known, goes to its handler or ends the process.
fn hand_over(m: &mut Machine<'_, '_>, callers: &[Term]) -> *const u32 {
    let trace = raw_trace(m, callers);
    let e = &mut m.ctx.state.exception;
    let (class, reason) = (e.class, e.reason);
    e.reason = Term::NONE;
    e.trace = Term::NONE;
    e.arguments = Term::NONE;
    e.info = Term::NONE;
    e.frames.clear();
    rethrow(m, class, reason, trace)
}

/// Goes to the handler with a raw trace.
pub fn rethrow(m: &mut Machine<'_, '_>, class: Class, reason: Term, trace: Term) -> *const u32 {
    let (mut at, base) = (m.heap().stop, m.heap().hend);
    while at < base {
        // SAFETY: within the stack, all of whose words look like terms (heap/H1, code/K2).
        let slot = unsafe { Term::from_raw(*at) };
        if let Some(data) = slot.as_catch() {
            // SAFETY: a catch marker's data is the address of its record; see the module's page.
            let handler = unsafe { &*(data as *const Continuation) };
            if m.ctx.state.frames.has(Frames::TRACED) {
                let from = m.heap().stop;
                unwound(m, from, at, Some(handler), class.term(), reason);
            }
            // SAFETY: the slot is Y register `frame` of the handler's frame.
            m.heap().stop = unsafe { at.sub(handler.frame as usize) };
            m.set_x(0, Term::NONE);
            m.set_x(1, class.term());
            m.set_x(2, reason);
            m.set_x(3, trace);
            return Continuation::code(handler).0;
        }
        // SAFETY: at most the base.
        at = unsafe { at.add(1) };
    }
    if m.ctx.state.frames.has(Frames::TRACED) {
        let from = m.heap().stop;
        unwound(m, from, base, None, class.term(), reason);
    }
    uncaught(m, class, reason, trace)
}

#[cold]
fn uncaught(m: &mut Machine<'_, '_>, class: Class, reason: Term, trace: Term) -> *const u32 {
    let reason = match class {
        Class::Exit => reason,
        Class::Error => {
            let trace = stacktrace(m.ctx, trace);
            m.ctx.tuple(&[reason, trace])
        }
        Class::Throw => {
            let nocatch = m.ctx.tuple(&[Term::atom(am::nocatch), reason]);
            let trace = stacktrace(m.ctx, trace);
            m.ctx.tuple(&[nocatch, trace])
        }
    };
    m.ctx.state.exit_reason = reason;
    if class != Class::Exit {
        myriad_vm::report::crashed(m.ctx, reason);
    }
    m.end = SliceEnd::Exited;
    std::ptr::null()
}

/// The frame of a return point, by its address, if there still is one.
fn caller(address: &Term) -> Option<[Term; PER_FRAME]> {
    code::at_record(address.as_usize()?, |record| {
        // SAFETY: the functions of code that is there are (code/K3).
        let function = unsafe { record.function.as_ref()? };
        Some(pack(function.mfa, place_of(function, record.line)))
    })?
}

/// The stack trace as Erlang sees it, of a raw trace.
pub fn stacktrace<A: Build<'static> + ?Sized>(heap: &mut A, raw: Term) -> Term {
    let Some(raw) = raw.as_tuple() else { return raw };
    let [_, arguments, info, given, raised, rest @ ..] = raw.elements() else { return Term::NIL };
    if given.is_some() {
        return *given;
    }
    let Some((raised, callers)) = raised.as_usize().and_then(|n| rest.split_at_checked(PER_FRAME * n)) else {
        return Term::NIL;
    };
    let raised = raised.as_chunks().0.iter().copied();
    let frames: Vec<[Term; PER_FRAME]> = raised.chain(callers.iter().filter_map(caller)).collect();
    let mut list = Term::NIL;
    for (i, [module, function, arity_and_line, file]) in frames.into_iter().enumerate().rev() {
        let packed = arity_and_line.as_small().unwrap_or(0);
        let (arity, line) = (packed & 0xff, packed >> 8);
        let mut location = Term::NIL;
        if i == 0 && info.is_some() && !info.is(FROM_FUNC_INFO) {
            let entry = heap.tuple(&[Term::atom(am::error_info), *info]);
            location = heap.cons(entry, location);
        }
        if line != 0 {
            let entry = heap.tuple(&[Term::atom(am::line), Term::small(line)]);
            location = heap.cons(entry, location);
            let name = match file.as_atom() {
                Some(name) => heap.string(name.text()),
                None => {
                    let extension = heap.string(".erl");
                    let module = module.as_atom().map_or("", Atom::text);
                    module
                        .chars()
                        .rev()
                        .fold(extension, |tail, c| heap.cons(Term::small(i64::from(u32::from(c))), tail))
                }
            };
            let entry = heap.tuple(&[Term::atom(am::file), name]);
            location = heap.cons(entry, location);
        }
        let arity = if i == 0 && arguments.is_some() { *arguments } else { Term::small(arity) };
        let entry = heap.tuple(&[module, function, arity, location]);
        list = heap.cons(entry, list);
    }
    list
}

// ---- instructions

/// `func_info`: no clause matched.
pub unsafe fn function_clause(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operand of the instruction.
    let arity = unsafe { high(pc) } as usize;
    let arguments = m.args_list(arity);
    error_with(m, pc, Term::atom(am::function_clause), arguments, FROM_FUNC_INFO)
}

macro_rules! value_errors {
    ($($name:ident $tag:ident)*) => { $(
        #[doc = concat!("Raises `{", stringify!($tag), ", Value}`.")]
        pub unsafe fn $name(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
            // SAFETY: operand of the instruction.
            let value = unsafe { m.source(pc.add(1)) };
            tagged_error_at(m, pc, am::$tag, value)
        }
    )* };
}
value_errors! { badmatch badmatch case_end case_clause try_case_end try_clause badrecord badrecord }

/// Raises `if_clause`.
pub unsafe fn if_end(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    error_at(m, pc, Term::atom(am::if_clause))
}

/// Raises `undef` here.
pub unsafe fn undef(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    error_at(m, pc, Term::atom(am::undef))
}

/// Control has run off a function whose last call was not to return.
pub unsafe fn unreachable_code(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    error_at(m, pc, Term::atom(am::badarg))
}

/// A term is not what the instruction is for, which no compiler lets happen.
#[cold]
#[inline(never)]
pub unsafe fn wrong_kind(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    error_at(m, pc, Term::atom(am::badarg))
}

/// The function could not be decoded: it goes beyond a limit of this VM.
pub unsafe fn not_decodable(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    error_at(m, pc, Term::atom(am::system_limit))
}

/// `raise`: raises an exception again that a handler has had.
pub unsafe fn raise(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    let (trace, reason) = unsafe { (m.source(pc.add(1)), m.source(pc.add(2))) };
    let class = trace.as_tuple().and_then(|t| t.elements().first().copied()).and_then(Class::from_term);
    match class {
        Some(class) => rethrow(m, class, reason, trace),
        None => error_at(m, pc, Term::atom(am::badarg)),
    }
}

/// `raw_raise`: class, reason and raw trace in X0 to X2.
pub unsafe fn raw_raise(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    let (class_term, reason, trace) = (m.x(0), m.x(1), m.x(2));
    let Some(class) = Class::from_term(class_term) else {
        m.set_x(0, Term::atom(am::badarg));
        // SAFETY: the next instruction.
        return unsafe { pc.add(1) };
    };
    let trace = match trace.as_tuple().map(|t| t.elements()) {
        Some(elements @ [old, _, info, _, _, ..]) if !old.is(class_term) || info.is(FROM_FUNC_INFO) => {
            let mut elements = elements.to_vec();
            elements[0] = class_term;
            if elements[2].is(FROM_FUNC_INFO) {
                // As in OTP, the place of a clause failure is forgotten here.
                elements[2] = Term::NONE;
                if elements[HEAD - 1].as_usize().is_some_and(|raised| raised > 0)
                    && let Some(packed) = elements.get_mut(HEAD + 2)
                {
                    *packed = Term::small(packed.small_value() & 0xff);
                }
            }
            m.ctx.tuple(&elements)
        }
        Some(_) => trace,
        // Not a raw trace: taken as one given as a term.
        None => m.ctx.tuple(&[class_term, Term::NONE, Term::NONE, trace, Term::small(0)]),
    };
    rethrow(m, class, reason, trace)
}

/// `build_stacktrace`: the raw trace in X0 becomes a term.
pub unsafe fn build_stacktrace(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    let raw = m.x(0);
    let list = stacktrace(m.ctx, raw);
    m.set_x(0, list);
    // SAFETY: the next instruction.
    unsafe { pc.add(1) }
}

/// `catch_end`: clears the marker; after an exception makes the value of the expression.
pub unsafe fn catch_end(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operand of the instruction.
    unsafe { m.set(high(pc), Term::NIL) };
    if m.x(0).is_none() {
        let (class, reason, trace) = (m.x(1), m.x(2), m.x(3));
        let exit = Term::atom(am::EXIT);
        let value = match class.as_atom() {
            Some(am::throw) => reason,
            Some(am::error) => {
                let trace = stacktrace(m.ctx, trace);
                let pair = m.ctx.tuple(&[reason, trace]);
                m.ctx.tuple(&[exit, pair])
            }
            _ => m.ctx.tuple(&[exit, reason]),
        };
        m.set_x(0, value);
        if m.heap().needs_collection() && !m.collect(0, 1) {
            return std::ptr::null();
        }
    }
    // SAFETY: the next instruction.
    unsafe { pc.add(1) }
}

/// A guard failed (to the label in the word at `fail`) or, without a label, `error:Reason` of the operator `what`.
#[cold]
pub unsafe fn guard_failed(
    m: &mut Machine<'_, '_>,
    pc: *const u32,
    fail: *const u32,
    what: Mfa,
    arguments: &[Term],
    reason: Term,
) -> *const u32 {
    // SAFETY: operand of the instruction.
    unsafe {
        if *fail != 0 {
            return target(fail);
        }
    }
    let arguments = m.ctx.list(arguments);
    bif_error(m, pc, what, arguments, reason)
}

/// `erlang:F/A`
pub const fn erlang(function: Atom, arity: u8) -> Mfa {
    mfa(am::erlang, function, arity)
}
