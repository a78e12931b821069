//! What happens at a traced call, and at its return.
//!
//! The engine comes here from the breakpoint stub with the arguments, and puts on the stack what [`CallFrames`] says: first (deepest)
//! the frame that reports where the call returns to, then those that report what it returns.

use crate::breakpoint::{Breakpoint, MaybeSpec};
use crate::event::{self, Fate, Receiver, tracer_for};
use crate::module::Event;
use crate::naming::tracer_of;
use crate::spec::{Host, Message, Verdict};
use crate::tracers::Interned;
use crate::{Tracing, sequential, times};
use myriad_term::{Arena, Atom, Build, Mfa, Term, TermRef, am};
use myriad_vm::tracer::flags;
use myriad_vm::{Ctx, Vm};

/// The caller of a traced function.
#[derive(Clone, Copy)]
pub struct Caller {
    /// The function that the call returns to.
    pub mfa: Mfa,
    /// File (an atom, or nil: the module's own) and line, 0 = unknown.
    pub place: (Term, u32),
}

/// A frame that tells what a call returns.
#[derive(Clone, Copy)]
pub struct ReturnFrame {
    /// The tracer of a meta trace; nil: the process's own.
    pub tracer: Term,
    /// Exceptions are told, too.
    pub exception: bool,
}

/// What the engine puts on the stack.
#[derive(Default)]
pub struct CallFrames {
    /// A frame that tells where the call returns to.
    pub return_to: bool,
    /// Of the call trace.
    pub call: Option<ReturnFrame>,
    /// Of the meta trace.
    pub meta: Option<ReturnFrame>,
    /// The number of the function whose time ran before.
    pub time: Option<u64>,
}

/// What a specification may do to the process that calls, or sends a message.
pub(crate) struct CallHost<'h, 'c> {
    pub(crate) ctx: &'h mut Ctx<'c>,
    pub(crate) caller: &'h dyn Fn() -> Option<Caller>,
}

/// What a list of flags says.
#[derive(Clone, Default)]
struct Wanted {
    bits: u32,
    tracer: Option<Interned>,
}

const NONE: Wanted = Wanted { bits: 0, tracer: None };
const SILENT: Wanted = Wanted { bits: flags::SILENT, tracer: None };

/// One flag, `{tracer, Tracer}` or `{tracer, Module, State}`.
fn flag_of(vm: &'static Vm, term: TermRef<'_>) -> Option<Wanted> {
    if let Some(name) = term.as_atom() {
        let bits = if name == am::all { flags::EVERY } else { flags::bit(name)? };
        return Some(Wanted { bits, tracer: None });
    }
    let tracer = tracer_of(vm, am::tracer, term)?;
    Some(Wanted { bits: 0, tracer: Some(tracer) })
}

/// A list of them.
fn flags_of(vm: &'static Vm, list: TermRef<'_>) -> Option<Wanted> {
    let mut all = Wanted::default();
    let mut items = list.list_iter();
    for item in items.by_ref() {
        let one = flag_of(vm, item)?;
        all.bits |= one.bits;
        all.tracer = one.tracer.or(all.tracer);
    }
    items.tail().is_nil().then_some(all)
}

impl CallHost<'_, '_> {
    fn change_flags(&mut self, whom: Option<TermRef<'_>>, off: Wanted, on: Wanted) -> Option<Term> {
        let vm = self.ctx.vm;
        let own = self.ctx.process.trace.tracer();
        let pid = match whom {
            None => self.ctx.pid(),
            Some(term) => match term.as_atom() {
                Some(name) => match vm.names.whereis(name)? {
                    myriad_process::Named::Process(pid) => pid,
                    myriad_process::Named::Port(_) => return None,
                },
                None => term.as_local_pid()?,
            },
        };
        let process = vm.processes.get(pid)?;
        let guard = Tracing::of(vm).lock();
        let goes_on = |tracer: &Term| event::goes_on(vm, *tracer, pid.term());
        let old = process.trace.tracer().filter(goes_on);
        let flags = if old.is_some() { process.trace.flags() } else { 0 } & !off.bits | on.bits;
        // Without a tracer being named, another process gets the tracer of this one, or none.
        let named = on.tracer.as_ref().map(Interned::word);
        let tracer = named.or(if whom.is_some() { own } else { old }).filter(goes_on);
        process.trace.set(flags, tracer);
        drop(guard);
        Some(Term::TRUE)
    }

    fn trace(&mut self, arguments: &[TermRef<'_>]) -> Option<Term> {
        match arguments {
            [off, on] => self.change_flags(None, flags_of(self.ctx.vm, *off)?, flags_of(self.ctx.vm, *on)?),
            [whom, off, on] => {
                self.change_flags(Some(*whom), flags_of(self.ctx.vm, *off)?, flags_of(self.ctx.vm, *on)?)
            }
            _ => None,
        }
    }
}

impl Host for CallHost<'_, '_> {
    fn act<'m>(&mut self, name: Atom, arguments: &[TermRef<'m>], mut memory: &'m Arena) -> Option<TermRef<'m>> {
        match (name, arguments) {
            (am::caller | am::caller_line, []) => {
                let Some(caller) = (self.caller)() else { return Some(Term::UNDEFINED) };
                let Mfa { module, function, arity } = caller.mfa;
                let arity = Term::small(i64::from(arity));
                if name == am::caller {
                    return Some(memory.tuple(&[module.term(), function.term(), arity]));
                }
                let (file, line) = caller.place;
                let place = if line == 0 {
                    Term::UNDEFINED
                } else {
                    let text = match file.as_atom() {
                        Some(file) if !file.term().is_nil() => memory.string(file.text()),
                        _ => memory.string(&format!("{}.erl", module.text())),
                    };
                    memory.tuple(&[text, Term::small(i64::from(line))])
                };
                Some(memory.tuple(&[module.term(), function.term(), arity, place]))
            }
            (am::enable_trace, [flag]) => self.change_flags(None, NONE, flag_of(self.ctx.vm, *flag)?),
            (am::enable_trace, [whom, flag]) => self.change_flags(Some(*whom), NONE, flag_of(self.ctx.vm, *flag)?),
            (am::disable_trace, [flag]) => self.change_flags(None, flag_of(self.ctx.vm, *flag)?, NONE),
            (am::disable_trace, [whom, flag]) => self.change_flags(Some(*whom), flag_of(self.ctx.vm, *flag)?, NONE),
            (am::trace, arguments) => self.trace(arguments),
            (am::silent, [on]) => {
                match on.as_bool() {
                    Some(true) => self.change_flags(None, NONE, SILENT),
                    Some(false) => self.change_flags(None, SILENT, NONE),
                    None => Some(Term::TRUE),
                };
                Some(Term::TRUE)
            }
            (am::set_seq_token, [key, value]) => sequential::set_part(self.ctx, key.as_atom()?, *value),
            _ => ask(self.ctx, name, arguments, memory),
        }
    }
}

/// Questions, and the control word.
fn ask<'m>(ctx: &Ctx<'_>, name: Atom, arguments: &[TermRef<'m>], mut memory: &'m Arena) -> Option<TermRef<'m>> {
    let (vm, token) = (ctx.vm, ctx.state.token);
    match (name, arguments) {
        (am::process_dump, []) => {
            let text = vm.observer().process_dump(ctx);
            Some(memory.binary(text.as_bytes()))
        }
        (am::get_tcw, []) => Some(Term::small(i64::from(Tracing::of(vm).control_word()))),
        (am::set_tcw, [word]) => {
            let word = u32::try_from(word.as_small()?).ok()?;
            Some(Term::small(i64::from(Tracing::of(vm).set_control_word(word))))
        }
        (am::set_tcw_fake, [_]) => Some(Term::small(i64::from(Tracing::of(vm).control_word()))),
        (am::is_seq_trace, []) => Some(Term::bool(token.as_tuple().is_some())),
        (am::get_seq_token, []) => {
            Some(if token.as_tuple().is_some() { myriad_heap::copy_term(token, &mut memory) } else { Term::NIL })
        }
        (am::display, [term]) => Some(super::spec::display(*term)),
        _ => Some(Term::TRUE),
    }
}

/// A call of a function with this breakpoint. `returning` : the caller's frame tells already where it returns to.
pub fn called(
    ctx: &mut Ctx<'_>,
    breakpoint: &Breakpoint,
    mfa: Mfa,
    args: &[Term],
    returning: bool,
    caller: &dyn Fn() -> Option<Caller>,
) -> CallFrames {
    let mut frames = CallFrames::default();
    let local = breakpoint.behind.is_null();
    if let Some(spec) = &breakpoint.call
        && ctx.process.trace.wants(flags::CALL)
        && let Some(tracer) = tracer_for(ctx.vm, ctx.process, flags::CALL, am::call)
        && let Some(verdict) = verdict(ctx, spec, args, caller)
    {
        // As they were before the specification ran, but for `silent`.
        let now = ctx.process.trace.flags();
        frames.call = return_frame(&verdict, Term::NIL);
        if !matches!(verdict.message, Message::None) {
            frames.return_to = local && !returning && now & flags::RETURN_TO != 0;
            if now & flags::SILENT == 0 {
                tell_call(ctx, &tracer, now, mfa, args, verdict.message);
            }
        }
    }
    if let Some(meta) = &breakpoint.meta
        && ctx.process.trace.flags() & flags::SENSITIVE == 0
        && let Some(tracer) = meta.tracer()
    {
        match event::fate(ctx.vm, tracer, flags::CALL, am::call, ctx.pid().term()) {
            Fate::Ended if event::is_alive(ctx.vm, tracer) => {}
            Fate::Ended => meta.end(),
            Fate::Untold => {}
            Fate::Told(receiver) => {
                if let Some(verdict) = verdict(ctx, &meta.spec, args, caller) {
                    frames.meta = return_frame(&verdict, tracer);
                    if !matches!(verdict.message, Message::None) {
                        tell_call(ctx, &receiver, flags::CALL | flags::TIMESTAMP, mfa, args, verdict.message);
                    }
                }
            }
        }
    }
    if let Some(count) = &breakpoint.count {
        count.hit();
    }
    if let Some(times) = &breakpoint.time
        && times.is_active()
        && ctx.process.trace.wants(flags::CALL)
        && ctx.process.trace.tracer().is_some_and(|tracer| event::is_alive(ctx.vm, tracer))
    {
        frames.time = Some(times::called(ctx, times));
    }
    frames
}

fn verdict(ctx: &mut Ctx<'_>, spec: &MaybeSpec, args: &[Term], caller: &dyn Fn() -> Option<Caller>) -> Option<Verdict> {
    let Some(spec) = spec else {
        return Some(Verdict { message: Message::Plain, return_trace: false, exception_trace: false });
    };
    let (pid, node) = (ctx.pid().term(), ctx.vm.node_name());
    spec.run(pid, node, args, &mut CallHost { ctx, caller })
}

fn tell_call(ctx: &mut Ctx<'_>, tracer: &Receiver, flags: u32, mfa: Mfa, args: &[Term], message: Message) {
    let mut memory = &Arena::new();
    let last = if flags & flags::ARITY != 0 {
        Term::small(args.len() as i64)
    } else {
        // The message copies them.
        memory.list(args)
    };
    let call = memory.tuple(&[mfa.module.term(), mfa.function.term(), last]);
    let result = match &message {
        Message::Term(payload) => Some(payload.term()),
        Message::Plain | Message::None => None,
    };
    tell(ctx, tracer, flags, am::call, &[call], result);
}

/// Tells of the process that runs.
fn tell(ctx: &Ctx<'_>, tracer: &Receiver, flags: u32, tag: Atom, parts: &[TermRef<'_>], result: Option<TermRef<'_>>) {
    let (scheduler, tracee) = (ctx.scheduler_number(), ctx.pid().term());
    tracer.tell(ctx.vm, &Event { flags, scheduler, tracee, tag, parts, result });
}

/// A call with such a frame has returned `value`, or (`class`) has raised it.
#[cold]
pub fn returned(ctx: &mut Ctx<'_>, tracer: Term, mfa: TermRef<'_>, class: Option<Term>, value: TermRef<'_>) {
    let tag = if class.is_none() { am::return_from } else { am::exception_from };
    let (tracer, flags) = if tracer.is_nil() {
        let flags = ctx.process.trace.flags();
        match tracer_for(ctx.vm, ctx.process, flags::CALL, tag) {
            Some(tracer) if flags & flags::SILENT == 0 => (tracer, flags),
            _ => return,
        }
    } else {
        match event::fate(ctx.vm, tracer, flags::CALL, tag, ctx.pid().term()) {
            Fate::Told(tracer) => (tracer, flags::CALL | flags::TIMESTAMP),
            _ => return,
        }
    };
    let mut memory = &Arena::new();
    let value = class.map_or(value, |class| memory.tuple(&[class, value]));
    tell(ctx, &tracer, flags, tag, &[mfa, value], None);
}

/// Control has come back to this function (`undefined`: to none).
#[cold]
pub fn returned_to(ctx: &mut Ctx<'_>, mfa: Option<Mfa>) {
    if !ctx.process.trace.wants(flags::RETURN_TO) || ctx.process.trace.flags() & flags::SILENT != 0 {
        return;
    }
    let Some(tracer) = tracer_for(ctx.vm, ctx.process, flags::RETURN_TO, am::return_to) else { return };
    let mut memory = &Arena::new();
    let to = match mfa {
        Some(mfa) => {
            let arity = Term::small(i64::from(mfa.arity));
            memory.tuple(&[mfa.module.term(), mfa.function.term(), arity])
        }
        None => Term::UNDEFINED,
    };
    tell(ctx, &tracer, ctx.process.trace.flags(), am::return_to, &[to], None);
}

fn return_frame(verdict: &Verdict, tracer: Term) -> Option<ReturnFrame> {
    (verdict.return_trace || verdict.exception_trace)
        .then_some(ReturnFrame { tracer, exception: verdict.exception_trace })
}
