//! The interpreter as the scheduler sees it.

use crate::instr::Op;
use crate::machine::Machine;
use crate::parallel;
use crate::{bifs, calls, code, errors, hidden, run, stack, stubs};
use myriad_code::{Entry, Executor};
use myriad_process::CodePtr;
use myriad_sched::X_REGISTERS;
use myriad_term::{Term, am};
use myriad_trace::saved_calls::{self, Saved};
use myriad_vm::bif::{BifResult, Escape};
use myriad_vm::code::Function;
use myriad_vm::engine::{Engine, SliceEnd};
use myriad_vm::{Ctx, OwnerState, Resume, TraceFrame};
use std::ops::Range;

/// Tier 0.
#[derive(Default)]
pub struct Interpreter;

impl Interpreter {
    /// An interpreter: all its state is in the functions it has decoded and in the processes.
    pub fn new() -> Interpreter {
        Interpreter
    }
}

/// The machine for a slice of the process of `ctx`, with its X registers in place.
fn machine<'a, 'b>(ctx: &'a mut Ctx<'b>) -> &'a mut Machine<'a, 'b> {
    ctx.state.count_negatively(ctx.sched.pace.first_look());
    let m = Machine::begin(ctx, run::interpret);
    let live = m.ctx.state.saved_x.len().min(X_REGISTERS);
    // Most processes that waited have none.
    if live > 0 {
        // SAFETY: there are so many X registers.
        unsafe { std::ptr::copy_nonoverlapping(m.ctx.state.saved_x.as_ptr(), m.x, live) };
        m.ctx.state.saved_x.clear();
    }
    if m.heap().stop == m.heap().hend {
        stubs::push_bottom(m);
    }
    m
}

/// The first call of a process.
fn first_call(m: &mut Machine<'_, '_>, function: &Function) -> *const u32 {
    if m.ctx.state.saves_calls() {
        saved_calls::save(m.ctx, Saved::Call(function.mfa));
    }
    calls::first_apply(m, function).unwrap_or_else(|| function.entry().0)
}

/// Goes on with the rest of a long built-in.
fn resume(ctx: &mut Ctx<'_>) -> Option<BifResult> {
    let mut rest = ctx.state.resumption.take()?;
    let result = (rest.rest)(ctx);
    if matches!(result, Err(Escape::Yield)) && ctx.state.resumption.is_none() {
        ctx.state.resumption = Some(rest);
    }
    Some(result)
}

/// What is left until the engine would have looked up is for the next slice that runs here, unless this one has ended by a look.
#[inline]
fn keep_rest_of_look(ctx: &mut Ctx<'_>, end: SliceEnd) {
    let left = ctx.state.reductions.of_engine();
    if (end != SliceEnd::Yielded || left > 0) && !ctx.state.saves_calls() {
        ctx.sched.pace.stopped_before_look(left);
    }
}

impl Executor<myriad_vm::Vm> for Interpreter {
    fn undecoded(&self) -> Entry {
        stubs::entry(Op::Undecoded)
    }

    fn undefined(&self) -> Entry {
        stubs::entry(Op::UndefinedEntry)
    }

    fn breakpoint(&self) -> Entry {
        stubs::entry(Op::Breakpoint)
    }

    fn entry_behind(&self, function: &Function) -> Entry {
        stubs::entry_behind(function)
    }

    fn code_ranges(&self, function: &Function, ranges: &mut Vec<Range<usize>>) {
        let blocks = code::decoded(function).into_iter().flat_map(|code| code.blocks());
        ranges.extend(blocks.map(|block| {
            let start = block.start() as usize;
            start..start + block.len()
        }));
    }

    fn release(&self, function: &Function) {
        code::release(function);
    }
}

/// Where an exception is to be raised for what is wanted no more: where the process stands (null), or in this frame of a loop.
#[cold]
fn what_stops(m: &mut Machine<'_, '_>) -> Option<*mut u64> {
    if m.ctx.is_aborted() {
        return Some(std::ptr::null_mut());
    }
    let (frame, at_once) = parallel::stopped(m.ctx)?;
    Some(if at_once { frame.cast() } else { std::ptr::null_mut() })
}

impl Engine for Interpreter {
    fn run(&self, ctx: &mut Ctx<'_>) -> SliceEnd {
        let at = ctx.state.resume;
        let fresh = ctx.state.heap.stack_words() == 0;
        let hidden = hidden::take(&mut ctx.state.saved_x);
        let m = machine(ctx);
        if let Some(hidden) = hidden {
            hidden::restore(m, &hidden);
        }
        m.callee = at.function;
        let to_stop = if m.ctx.is_to_stop() { what_stops(m) } else { None };
        let pc = if let Some(frame) = to_stop {
            errors::abort_at(m, at.pc.0, frame)
        } else if m.ctx.state.resumption.is_some() {
            // Its arguments may be wanted for an error.
            match resume(m.ctx) {
                Some(result) => {
                    m.come_back();
                    bifs::finish(m, bifs::resumed(at.pc.0), result)
                }
                None => at.pc.0,
            }
        } else if at.pc == CodePtr::NULL {
            // SAFETY: code/K3: a process's function stays.
            match unsafe { at.function.as_ref() } {
                Some(f) if fresh => first_call(m, f),
                Some(f) => f.entry().0,
                None => stubs::code_of(Op::Bottom),
            }
        } else {
            at.pc.0
        };
        // SAFETY: `pc` is where the process stopped, or follows from it.
        let end = if pc.is_null() { m.end } else { unsafe { run::run(m, pc) } };
        m.leave();
        keep_rest_of_look(m.ctx, end);
        end
    }

    fn run_dirty(&self, ctx: &mut Ctx<'_>) -> BifResult {
        if let Some(result) = resume(ctx) {
            return result;
        }
        let Resume { pc, function } = ctx.state.resume;
        // SAFETY: the process stopped at the call.
        let Some((def, arity)) = (unsafe { bifs::called_at(function, bifs::resumed(pc.0)) }) else {
            return Err(Escape::Error(Term::atom(am::badarg)));
        };
        // Nothing is collected during the call, so a copy of the registers stays good.
        let args = ctx.state.saved_x.clone();
        match args.get(..arity) {
            Some(args) => def.call(ctx, args),
            None => Err(Escape::Error(Term::atom(am::badarg))),
        }
    }

    fn makes_room(&self) -> bool {
        true
    }

    fn has_part(&self, ctx: &mut Ctx<'_>) -> bool {
        parallel::has_part(ctx)
    }

    fn is_to_stop(&self, ctx: &mut Ctx<'_>) -> bool {
        ctx.is_aborted() || parallel::stopped(ctx).is_some()
    }

    fn hand_over(&self, ctx: &mut Ctx<'_>) {
        parallel::hand_over(ctx);
    }

    fn backtrace(&self, process: &OwnerState, depth: usize) -> Vec<TraceFrame> {
        let Resume { pc, function } = process.resume;
        let mut frames = Vec::new();
        let mut frame = 0;
        if let Some(at) = code::locate(pc) {
            // Inside a built-in that has given way and whose rest will run.
            if let Some(suspended) = &process.resumption
                // SAFETY: `locate` found the instruction that the process stopped at.
                && let Some(mfa) = suspended.name.or_else(|| unsafe { bifs::called_by(pc.0) })
            {
                frames.push(TraceFrame { mfa, line: 0, module: std::ptr::null() });
            }
            frames.push(TraceFrame { mfa: at.function.mfa, line: at.line, module: at.function.module });
            frame = at.frame as usize;
        // SAFETY: code/K3: a process's function stays.
        } else if let Some(f) = unsafe { function.as_ref() }
            // Inside a built-in that was called through its entry: where it will return to.
            && (pc != CodePtr::NULL || f.bif().is_none() || process.heap.stack_words() < 2)
        {
            let name = process.resumption.as_ref().and_then(|suspended| suspended.name);
            frames.push(TraceFrame { mfa: name.unwrap_or(f.mfa), line: 0, module: f.module });
        } else if pc.0 == stubs::code_of(Op::Hibernating) {
            use myriad_term::am;
            let mfa = crate::machine::mfa(am::erlang, am::hibernate, 3);
            frames.push(TraceFrame { mfa, line: 0, module: std::ptr::null() });
        }
        stack::walk(process.heap.stop, process.heap.hend, frame, None, |continuation| {
            if frames.len() < depth {
                // SAFETY: `walk` leaves out records without a function; code/K3.
                let f = unsafe { &*continuation.function };
                frames.push(TraceFrame { mfa: f.mfa, line: continuation.line, module: f.module });
            }
            frames.len() < depth
        });
        frames.truncate(depth);
        frames
    }

    fn frame_words(&self, process: &OwnerState) -> usize {
        let frame = code::locate(process.resume.pc).map_or(0, |at| at.frame as usize);
        stack::words_below_return(process.heap.stop, process.heap.hend, frame)
    }
}
