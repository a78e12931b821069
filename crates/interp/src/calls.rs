//! Calls that find their callee at run time: funs, `apply`, entries without code.

use crate::machine::{Machine, high, mfa, target, wide};
use crate::{decode, errors, stubs, tiers};
use myriad_term::boxed::Header;
use myriad_term::{Alloc, Export, FunEntry, Kind, Mfa, Term, am};
use myriad_trace::breakpoint;
use myriad_trace::saved_calls::{self, Saved};
use myriad_vm::code::{Continuation, Function, LOADED_LATER, MissingFun};
use myriad_vm::engine::SliceEnd;

/// Enters a function whose arguments are in place, unless reductions are used up.
pub fn enter(m: &mut Machine<'_, '_>, function: *const Function) -> *const u32 {
    m.callee = function;
    m.reds -= 1;
    // SAFETY: code/K3.
    let f = unsafe { &*function };
    if m.reds <= 0 && f.bif().is_none() {
        if !m.ctx.state.saves_calls() {
            tiers::sample(m, f);
        }
        if m.is_spent() {
            return m.stop(SliceEnd::Yielded, std::ptr::null(), function, usize::from(f.mfa.arity));
        }
    }
    f.entry().0
}

/// As [`enter`], of what an export leads to.
pub fn enter_saving(m: &mut Machine<'_, '_>, export: &'static Export) -> *const u32 {
    if m.ctx.state.saves_calls() {
        saved_calls::save(m.ctx, Saved::Call(export.mfa));
    }
    enter(m, Function::of_export(export))
}

/// The entry of a function not decoded yet.
pub unsafe fn undecoded(m: &mut Machine<'_, '_>, _pc: *const u32) -> *const u32 {
    // SAFETY: code/K3.
    let function = unsafe { &*m.callee };
    if crate::code::decoded(function).is_none() {
        decode::decode(m.ctx.vm, function);
    }
    // Not by its entry, which may be a breakpoint that this call has passed.
    let behind = if breakpoint::of(function).is_some() {
        stubs::behind_breakpoint(function)
    } else {
        stubs::entry_behind(function).tier0
    };
    behind.0
}

/// Is there nothing behind this function?
fn is_undefined(function: &Function) -> bool {
    function.module.is_null() && function.bif().is_none() && !breakpoint::is_stand_in(function)
}

/// The entry of an export without code: the process's error handler may load it.
pub unsafe fn undefined(m: &mut Machine<'_, '_>, _pc: *const u32) -> *const u32 {
    // SAFETY: code/K3.
    let function = unsafe { &*m.callee };
    let what = function.mfa;
    let now = Function::of_export(Export::intern(what));
    if !is_undefined(now) {
        m.callee = now;
        return now.entry().0;
    }
    let arguments = m.args_list(usize::from(what.arity));
    call_undefined(m, what, arguments)
}

/// A call of what does not exist: the process's error handler gets it, or for a module that may be loaded now ([`LOADED_LATER`]) who does that.
#[cold]
fn call_undefined(m: &mut Machine<'_, '_>, what: Mfa, arguments: Term) -> *const u32 {
    let usual = m.ctx.state.error_handler;
    let comes_later = LOADED_LATER.contains(&what.module)
        && usual == am::error_handler
        && m.ctx.vm.code.current(what.module).is_none();
    let handler = mfa(if comes_later { am::myriad } else { usual }, am::undefined_function, 3);
    call_handler(m, what, handler, arguments)
}

/// A call that the process's error handler gets instead (`erts_debug:breakpoint/2`).
#[cold]
pub fn debug_break(m: &mut Machine<'_, '_>, what: Mfa) -> *const u32 {
    let arguments = m.args_list(usize::from(what.arity));
    let handler = mfa(m.ctx.state.error_handler, am::breakpoint, 3);
    call_handler(m, what, handler, arguments)
}

/// Calls `handler` for a call of `what` that found nothing; without a handler that is `undef`.
fn call_handler(m: &mut Machine<'_, '_>, what: Mfa, handler: Mfa, arguments: Term) -> *const u32 {
    match defined(handler) {
        Some(handler) => enter_with(m, handler, [what.module.term(), what.function.term(), arguments]),
        None => errors::undefined_call(m, what, arguments),
    }
}

/// The export of this name, if there is something behind it.
fn defined(name: Mfa) -> Option<&'static Export> {
    let export = Export::intern(name);
    (!is_undefined(Function::of_export(export))).then_some(export)
}

/// Enters what an export leads to with these arguments.
fn enter_with(m: &mut Machine<'_, '_>, export: &'static Export, arguments: [Term; 3]) -> *const u32 {
    for (i, argument) in arguments.into_iter().enumerate() {
        m.set_x(i, argument);
    }
    enter_saving(m, export)
}

/// The first call of the process has returned.
pub unsafe fn bottom(m: &mut Machine<'_, '_>, _pc: *const u32) -> *const u32 {
    m.ctx.state.exit_reason = Term::atom(am::normal);
    m.end = SliceEnd::Exited;
    std::ptr::null()
}

/// What calling a term with some arguments comes to, if not to a function.
enum Otherwise {
    /// A local fun whose module's version is not loaded: `handler` is called with module, fun and arguments, once a purge has
    /// ended if the process `waits` for one.
    Handler {
        entry: &'static FunEntry,
        handler: &'static Export,
        waits: bool,
    },
    BadArity,
    BadFun,
    /// A fun that is not loaded, and there is no error handler to call.
    Undefined,
}

/// Finds what a fun of `arity` arguments runs; puts its free variables after the arguments.
#[inline(always)]
fn resolve(m: &mut Machine<'_, '_>, fun: Term, arity: usize) -> Result<&'static Function, Otherwise> {
    if let Some((entry, _, free)) = fun.as_local_fun() {
        if usize::from(entry.id.arity) != arity {
            return Err(Otherwise::BadArity);
        }
        let Some(function) = Function::of_fun(entry) else { return Err(unloaded(m, entry)) };
        for (i, variable) in free.iter().enumerate() {
            m.set_x(arity + i, *variable);
        }
        return Ok(function);
    }
    match fun.as_export_fun() {
        Some(export) if usize::from(export.mfa.arity) == arity => {
            if m.ctx.state.saves_calls() {
                saved_calls::save(m.ctx, Saved::Call(export.mfa));
            }
            Ok(Function::of_export(export))
        }
        Some(_) => Err(Otherwise::BadArity),
        None => Err(Otherwise::BadFun),
    }
}

/// What the call of a local fun without code comes to.
#[cold]
fn unloaded(m: &mut Machine<'_, '_>, entry: &'static FunEntry) -> Otherwise {
    let (module, function, waits) = match m.ctx.vm.code.missing_fun(entry) {
        MissingFun::Bad => return Otherwise::BadFun,
        MissingFun::Wait => (am::erts_code_purger, am::pending_purge_lambda, true),
        MissingFun::Load => (m.ctx.state.error_handler, am::undefined_lambda, false),
    };
    match defined(mfa(module, function, 3)) {
        Some(handler) => Otherwise::Handler { entry, handler, waits },
        None => Otherwise::Undefined,
    }
}

/// Makes a call that comes to something else than a function. An error is raised while the caller's frame is still there, for the
/// stack trace shows the caller: with its continuation pushed already it shows up twice, as in OTP.
///
/// # Safety
/// The call is the instruction at `pc`.
#[cold]
unsafe fn call_otherwise(
    m: &mut Machine<'_, '_>,
    pc: *const u32,
    last: bool,
    otherwise: Otherwise,
    fun: Term,
    arguments: Term,
) -> *const u32 {
    use myriad_term::Build;
    let reason = match otherwise {
        Otherwise::Handler { entry, handler, waits } => {
            // SAFETY: the caller promises that the instruction at `pc` is the one at hand.
            unsafe { link(m, pc, last) };
            let next = enter_with(m, handler, [entry.id.module.term(), fun, arguments]);
            if waits && !next.is_null() && m.ctx.vm.code.wait_for_purge(entry, m.ctx.pid()) {
                m.ctx.suspend();
                return m.stop(SliceEnd::Waiting, std::ptr::null(), m.callee, 3);
            }
            return next;
        }
        Otherwise::BadArity => {
            let pair = m.ctx.tuple(&[fun, arguments]);
            m.ctx.tuple(&[Term::atom(am::badarity), pair])
        }
        Otherwise::Undefined => Term::atom(am::undef),
        Otherwise::BadFun => m.ctx.tuple(&[Term::atom(am::badfun), fun]),
    };
    if last {
        return errors::error_at(m, pc, reason);
    }
    // SAFETY: the caller promises that the instruction at `pc` is the one at hand.
    unsafe { link(m, pc, last) };
    errors::error_after_push(m, pc, reason)
}

/// `call_fun`, `call_fun2`.
#[inline(never)]
pub unsafe fn call_fun(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: the instruction at hand.
    unsafe { call_fun_at(m, pc, false) }
}

/// The same in tail position.
pub unsafe fn call_fun_last(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: the instruction at hand.
    unsafe { call_fun_at(m, pc, true) }
}

#[inline(always)]
unsafe fn call_fun_at(m: &mut Machine<'_, '_>, pc: *const u32, last: bool) -> *const u32 {
    // SAFETY: operands of the instruction.
    let (arity, fun) = unsafe { (high(pc) as usize, m.source(pc.add(2))) };
    match resolve(m, fun, arity) {
        Ok(function) => {
            // SAFETY: the instruction at hand.
            unsafe { link(m, pc, last) };
            enter(m, function)
        }
        Err(otherwise) => {
            let arguments = m.args_list(arity);
            // SAFETY: the instruction at hand.
            unsafe { call_otherwise(m, pc, last, otherwise, fun, arguments) }
        }
    }
}

/// Drops the frame or pushes the continuation, as the instruction at `pc` says (null and `last`: there is neither).
unsafe fn link(m: &mut Machine<'_, '_>, pc: *const u32, last: bool) {
    // SAFETY: operand of the instruction.
    unsafe {
        if !last {
            m.push(target(pc.add(1)).cast());
        } else if !pc.is_null() {
            m.drop_frame(*pc.add(1) as usize);
        }
    }
}

unsafe fn apply_named(m: &mut Machine<'_, '_>, pc: *const u32, last: bool) -> *const u32 {
    // SAFETY: operand of the instruction.
    let arity = unsafe { high(pc) as usize };
    let (module, function) = (m.x(arity), m.x(arity + 1));
    let (Some(module), Some(function)) = (module.as_atom(), function.as_atom()) else {
        let arguments = m.args_list(arity);
        return apply_badarg(m, pc, &[module, function, arguments]);
    };
    if is_apply(module, function, arity) {
        // SAFETY: the instruction at hand.
        return unsafe { apply_mfa(m, pc, last) };
    }
    let export = Export::intern(mfa(module, function, arity as u8));
    // SAFETY: the instruction at hand.
    unsafe { enter_export(m, pc, last, export) }
}

/// Is this `erlang:apply/3`? Called by name it leaves no trace of itself: what it is to call is called instead.
fn is_apply(module: myriad_term::Atom, function: myriad_term::Atom, arity: usize) -> bool {
    arity == 3 && module == am::erlang && function == am::apply
}

/// The first call of a process, if it is one of `erlang:apply/3`.
pub fn first_apply(m: &mut Machine<'_, '_>, function: &Function) -> Option<*const u32> {
    let Mfa { module, function, arity } = function.mfa;
    // SAFETY: a null place stands for a call from nowhere, and there is no frame to drop.
    is_apply(module, function, usize::from(arity)).then(|| unsafe { apply_mfa(m, std::ptr::null(), true) })
}

/// Calls what `apply` has found.
unsafe fn enter_export(m: &mut Machine<'_, '_>, pc: *const u32, last: bool, export: &'static Export) -> *const u32 {
    if m.ctx.state.saves_calls() {
        saved_calls::save(m.ctx, Saved::Call(export.mfa));
    }
    let function = Function::of_export(export);
    if last
        && raises(&export.mfa)
        && let Some(def) = breakpoint::behind(function).bif()
    {
        // In tail position too the caller shows up in the stack trace, as in OTP.
        if breakpoint::of(function).is_none() {
            // SAFETY: as in `run_built_in`.
            let args = unsafe { m.args(usize::from(export.mfa.arity)) };
            m.leave();
            let result = (def.function_ptr)(m.ctx, args);
            m.come_back();
            return errors::raise_result(m, pc, result);
        }
        if !pc.is_null() {
            // SAFETY: operand of the instruction.
            unsafe { m.push(target(pc.add(2)).cast()) };
            return enter(m, function);
        }
    }
    // SAFETY: the instruction at hand.
    unsafe { link(m, pc, last) };
    enter(m, function)
}

/// Is this a built-in that does nothing but raise?
fn raises(mfa: &Mfa) -> bool {
    mfa.module == am::erlang && matches!((mfa.function, mfa.arity), (am::error, 1..=3) | (am::exit | am::throw, 1))
}

#[cold]
fn apply_badarg(m: &mut Machine<'_, '_>, pc: *const u32, arguments: &[Term]) -> *const u32 {
    apply_error(m, pc, arguments, am::badarg)
}

#[cold]
fn apply_error(m: &mut Machine<'_, '_>, pc: *const u32, arguments: &[Term], reason: myriad_term::Atom) -> *const u32 {
    use myriad_term::Build;
    let what = errors::erlang(am::apply, arguments.len() as u8);
    let arguments = m.ctx.list(arguments);
    errors::bif_error(m, pc, what, arguments, Term::atom(reason))
}

/// `apply`: `X[n]:X[n+1]` with n arguments.
pub unsafe fn apply(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: the instruction at hand.
    unsafe { apply_named(m, pc, false) }
}

/// `apply_last`
pub unsafe fn apply_last(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: the instruction at hand.
    unsafe { apply_named(m, pc, true) }
}

/// Most arguments that `apply/3` looks at, and one less `apply/2`: OTP's number of X registers, less one. No function has more
/// than 255, so a longer list leads to nothing, but a list beyond this is refused as such.
const MOST_APPLIED: usize = 1023;

/// Why a list is no list of arguments.
enum Unfit {
    /// No proper list.
    Improper,
    /// More than any function has.
    Long,
    /// More than the limit.
    TooLong,
}

/// Puts the elements of a list in the X registers: how many.
fn spread(m: &mut Machine<'_, '_>, list: Term, most: usize) -> Result<usize, Unfit> {
    let mut n = 0;
    let mut items = list.list_iter();
    for item in items.by_ref() {
        if n < usize::from(u8::MAX) {
            m.set_x(n, item);
        } else if n >= most {
            return Err(Unfit::TooLong);
        }
        n += 1;
    }
    match items.tail().is_nil() {
        false => Err(Unfit::Improper),
        true if n > usize::from(u8::MAX) => Err(Unfit::Long),
        true => Ok(n),
    }
}

/// The length of a proper list of a few elements, else 0.
fn few(list: Term) -> usize {
    let mut items = list.list_iter();
    let length = items.by_ref().take(4).count();
    if items.tail().is_nil() { length } else { 0 }
}

/// `X0:X1` with the arguments in the list X2.
pub unsafe fn apply_mfa(m: &mut Machine<'_, '_>, pc: *const u32, last: bool) -> *const u32 {
    let mut all = [m.x(0), m.x(1), m.x(2)];
    let (module, function, list) = loop {
        let [module, function, list] = all;
        let (Some(module), Some(function)) = (module.as_atom(), function.as_atom()) else {
            return apply_badarg(m, pc, &all);
        };
        if module != am::erlang || !is_apply(module, function, few(list)) {
            break (module, function, list);
        }
        for (to, item) in all.iter_mut().zip(list.list_iter()) {
            *to = item;
        }
    };
    match spread(m, list, MOST_APPLIED) {
        Ok(n) => {
            let export = Export::intern(mfa(module, function, n as u8));
            // SAFETY: the instruction at hand.
            unsafe { enter_export(m, pc, last, export) }
        }
        Err(Unfit::Long) => {
            // SAFETY: the instruction at hand.
            unsafe { link(m, pc, last) };
            call_undefined(m, mfa(module, function, u8::MAX), list)
        }
        Err(Unfit::TooLong) => apply_error(m, pc, &all, am::system_limit),
        Err(Unfit::Improper) => apply_badarg(m, pc, &all),
    }
}

unsafe fn apply_fun(m: &mut Machine<'_, '_>, pc: *const u32, last: bool) -> *const u32 {
    let all = [m.x(0), m.x(1)];
    let [fun, list] = all;
    let arity = match spread(m, list, MOST_APPLIED - 1) {
        Ok(n) => n,
        Err(Unfit::Long) => usize::MAX,
        Err(Unfit::TooLong) => return apply_error(m, pc, &all, am::system_limit),
        Err(Unfit::Improper) => return apply_badarg(m, pc, &all),
    };
    match resolve(m, fun, arity) {
        Ok(function) => {
            // SAFETY: the instruction at hand.
            unsafe { link(m, pc, last) };
            enter(m, function)
        }
        // SAFETY: the instruction at hand.
        Err(otherwise) => unsafe { call_otherwise(m, pc, last, otherwise, fun, list) },
    }
}

/// A call of `erlang:apply/3`.
pub unsafe fn apply_list(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: the instruction at hand.
    unsafe { apply_mfa(m, pc, false) }
}

/// The same in tail position.
pub unsafe fn apply_list_last(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: the instruction at hand.
    unsafe { apply_mfa(m, pc, true) }
}

/// A call of `erlang:apply/2`.
pub unsafe fn apply_fun_list(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: the instruction at hand.
    unsafe { apply_fun(m, pc, false) }
}

/// The same in tail position.
pub unsafe fn apply_fun_list_last(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: the instruction at hand.
    unsafe { apply_fun(m, pc, true) }
}

/// A label that is branched back to: counts as a call does, for there need be none in the loop.
pub unsafe fn loop_head(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operand of the instruction; the next one.
    let (live, next) = unsafe { (high(pc) as usize, pc.add(1)) };
    m.reds -= 1;
    if m.reds <= 0 && m.is_spent() {
        return m.stop_between(SliceEnd::Yielded, next, live);
    }
    if m.heap().needs_collection() { m.collect_at(0, live, next) } else { next }
}

/// A call of `erlang:yield/0`.
pub unsafe fn yield_call(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    m.set_x(0, Term::TRUE);
    // SAFETY: an operand of the instruction.
    let next = unsafe { Continuation::code(target(pc.add(1)).cast()).0 };
    m.stop(SliceEnd::Yielded, next, std::ptr::null(), 1)
}

/// The same in tail position.
pub unsafe fn yield_last(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    m.set_x(0, Term::TRUE);
    // SAFETY: the instruction at hand; then a continuation is on top.
    let next = unsafe {
        m.drop_frame(*pc.add(1) as usize);
        m.pop()
    };
    m.stop(SliceEnd::Yielded, next, std::ptr::null(), 1)
}

/// `make_fun2`, `make_fun3`.
pub unsafe fn make_fun(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction; the words are fresh (term/A2).
    unsafe {
        let (entry, free) = (wide(pc.add(1)), *pc.add(3) as usize);
        let creator = m.pid;
        let at = m.heap().alloc(3 + free).as_ptr();
        *at = Header::new(Kind::Fun, 2 + free).raw();
        *at.add(1) = entry;
        *at.add(2) = creator.raw();
        for i in 0..free {
            *at.add(3 + i) = m.source(pc.add(4 + i)).raw();
        }
        m.set(high(pc), Term::from_boxed(at));
        pc.add(4 + free)
    }
}
