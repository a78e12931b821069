//! `erts_internal:trace_pattern/3`: breakpoints on functions, filters for messages.

use super::{bad, bad_option};
use myriad_sync::Arc;
use myriad_term::{Atom, Export, Mfa, Term, am};
use myriad_trace::breakpoint::{Breakpoint, MaybeSpec, Meta, Patterns};
use myriad_trace::naming::tracer_of;
use myriad_trace::times::Times;
use myriad_trace::tracers::Interned;
use myriad_trace::{Filter, Filtered, Tracing};
use myriad_vm::bif::badarg;
use myriad_vm::code::{Function, Module};
use myriad_vm::{BifResult, Ctx, Vm};

/// The kinds of tracing that a list of options names.
#[derive(Clone, Default)]
struct Kinds {
    global: bool,
    local: bool,
    meta: Option<Interned>,
    count: bool,
    time: bool,
}

fn kinds(vm: &'static Vm, list: Term, own: Term) -> Option<Kinds> {
    let mut kinds = Kinds::default();
    let (mut any, mut items) = (false, list.list_iter());
    for item in items.by_ref() {
        any = true;
        match item.as_atom() {
            Some(am::local) => kinds.local = true,
            Some(am::global) => kinds.global = true,
            Some(am::meta) => kinds.meta = Some(Interned::one(own)?),
            Some(am::call_count) => kinds.count = true,
            Some(am::call_time) => kinds.time = true,
            Some(_) => return None,
            None => kinds.meta = Some(tracer_of(vm, am::meta, item)?),
        }
    }
    let breakpoints = kinds.local || kinds.meta.is_some() || kinds.count || kinds.time;
    if !items.tail().is_nil() || kinds.global && breakpoints {
        return None;
    }
    kinds.global |= !any;
    Some(kinds)
}

/// What is done with the functions that match.
enum How {
    On(MaybeSpec),
    Off,
    Restart,
    Pause,
}

/// The current version's function, or a built-in's.
pub(super) fn function_of(vm: &'static Vm, mfa: Mfa) -> Option<&'static Function> {
    vm.code.current(mfa.module)?.functions.iter().find(|f| f.mfa == mfa)
}

impl How {
    /// What calls are traced for; nothing if tracing ends. Counting begins anew or pauses, and what else is named is traced as
    /// with no specification.
    fn spec(&self) -> Option<MaybeSpec> {
        match self {
            How::On(spec) => Some(spec.clone()),
            How::Off => None,
            How::Restart | How::Pause => Some(None),
        }
    }

    fn change(&self, kinds: &Kinds, b: &mut Breakpoint) {
        let Some(spec) = self.spec() else {
            if kinds.local {
                b.call = None;
            }
            if kinds.meta.is_some() {
                b.meta = None;
            }
            if kinds.count {
                b.count = None;
            }
            if kinds.time {
                b.time = None;
            }
            return;
        };
        if kinds.local {
            b.call = Some(spec.clone());
        }
        if let Some(tracer) = kinds.meta.clone() {
            b.meta = Some(Arc::new(Meta::new(spec, tracer)));
        }
        // Calls of what is not traced in any way are not counted anew.
        if !matches!(self, How::On(_)) && !b.traces() {
            return;
        }
        let pause = matches!(self, How::Pause);
        if kinds.count {
            let count = b.count.get_or_insert_default();
            if pause { count.pause(true) } else { count.restart() }
        }
        if kinds.time {
            let times = b.time.get_or_insert_with(Times::new);
            if pause { times.pause(true) } else { times.restart() }
        }
    }

    /// On what new code is to get. There, counting neither begins anew nor pauses.
    fn on_load(&self, old: Option<(Breakpoint, bool)>, kinds: &Kinds) -> Option<(Breakpoint, bool)> {
        let was_global = old.as_ref().is_some_and(|(_, global)| *global);
        match self.spec() {
            Some(spec) if kinds.global => Some((Breakpoint { call: Some(spec), ..Breakpoint::default() }, true)),
            None if kinds.global != was_global => old,
            None if kinds.global => None,
            _ => {
                let mut breakpoint = old.filter(|_| !was_global).unwrap_or_default().0;
                let counting = matches!(self, How::On(_) | How::Off);
                let Kinds { count, time, .. } = *kinds;
                let new = Kinds { count: count && counting, time: time && counting, ..kinds.clone() };
                self.change(&new, &mut breakpoint);
                breakpoint.traces().then_some((breakpoint, false))
            }
        }
    }

    /// On the matching functions of a module: how many there are.
    fn apply(
        &self,
        vm: &'static Vm,
        patterns: &mut Patterns,
        module: &'static Module,
        kinds: &Kinds,
        whose: &Whose,
    ) -> i64 {
        let mut count = 0;
        if kinds.global {
            if !matches!(self, How::Off) {
                // Breakpoints of functions go, those of functions that are not exported too.
                for function in module.functions.iter().filter(|f| whose.matches(f.mfa)) {
                    patterns.change(vm, function, |b| *b = Breakpoint::default());
                }
            }
            for (export, _) in module.exports.iter().filter(|(export, _)| whose.matches(export.mfa)) {
                count += 1;
                patterns.set_global(vm, export, self.spec());
            }
            return count;
        }
        for function in module.functions.iter().filter(|f| whose.matches(f.mfa)) {
            count += 1;
            if !matches!(self, How::Off)
                && let Some(export) = Export::find(function.mfa)
            {
                patterns.set_global(vm, export, None);
            }
            patterns.change(vm, function, |b| self.change(kinds, b));
        }
        count
    }
}

/// `{Module, Function, Arity}`, each but the first ones perhaps `'_'`.
struct Whose {
    module: Option<Atom>,
    function: Option<Atom>,
    arity: Option<i64>,
}

impl Whose {
    fn read(term: Term) -> Option<Whose> {
        let [module, function, arity] = term.as_tuple_of::<3>()?;
        let name = |t: Term| t.as_atom().map(|a| (a != am::underscore).then_some(a));
        let arity = match arity.as_atom() {
            Some(am::underscore) => None,
            Some(_) => return None,
            None => Some(arity.as_small()?),
        };
        let whose = Whose { module: name(module)?, function: name(function)?, arity };
        // What is given must come first.
        let open = [whose.module.is_none(), whose.function.is_none(), whose.arity.is_none()];
        (open.is_sorted()).then_some(whose)
    }

    fn modules(&self, vm: &'static Vm) -> Vec<&'static Module> {
        let names = self.module.map_or_else(|| vm.code.loaded(), |module| vec![module]);
        names.into_iter().filter_map(|name| vm.code.current(name)).collect()
    }

    fn matches(&self, mfa: Mfa) -> bool {
        self.function.is_none_or(|f| f == mfa.function) && self.arity.is_none_or(|a| a == i64::from(mfa.arity))
    }
}

pub(super) fn trace_pattern_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let vm = ctx.vm;
    let [what, how, list] = [args[0], args[1], args[2]];
    let named = |name| how.is_am(name);
    let filtered = match what.as_atom() {
        Some(am::send) => Some(Filtered::Send),
        Some(am::receive) => Some(Filtered::Receive),
        _ => None,
    };
    let compiled = if how.as_atom().is_none() || how.is_nil() {
        if how.is_nil() {
            Some(How::On(None))
        } else {
            Tracing::of(vm).compile(how, filtered).map(|spec| How::On(Some(spec)))
        }
    } else if named(am::true_) {
        Some(How::On(None))
    } else if named(am::false_) {
        Some(How::Off)
    } else if named(am::restart) {
        Some(How::Restart)
    } else if named(am::pause) {
        Some(How::Pause)
    } else {
        None
    };
    let Some(new) = compiled else { return bad(ctx, am::match_spec) };
    if what.is_am(am::send) || what.is_am(am::receive) {
        let filter = match new {
            How::On(None) => Filter::All,
            How::On(Some(spec)) => Filter::Some(spec),
            How::Off => Filter::Nothing,
            How::Restart | How::Pause => return bad(ctx, am::none),
        };
        if !list.is_nil() {
            return bad(ctx, am::none);
        }
        Tracing::of(vm).set_filter(if what.is_am(am::send) { Filtered::Send } else { Filtered::Receive }, filter);
        return Ok(Term::small(1));
    }
    let own = ctx.pid().term();
    let Some(kinds) = kinds(vm, list, own) else { return bad_option(ctx) };
    match &new {
        // Counting has no use for a specification.
        How::On(Some(_)) if (kinds.count || kinds.time) && !kinds.local && kinds.meta.is_none() => {
            return bad(ctx, if kinds.count { am::call_count } else { am::call_time });
        }
        _ => {}
    }
    if what.is_am(am::on_load) {
        let mut guard = Tracing::of(vm).lock();
        guard.on_load = new.on_load(guard.on_load.take(), &kinds);
        return Ok(Term::small(0));
    }
    let Some(whose) = Whose::read(what) else { return bad(ctx, am::none) };
    let mut guard = Tracing::of(vm).lock();
    let mut count = 0;
    for module in whose.modules(vm) {
        count += new.apply(vm, &mut guard, module, &kinds, &whose);
    }
    drop(guard);
    Ok(Term::small(count))
}

/// `erts_debug:breakpoint({Module, Function, Arity}, boolean())`: has the error handlers of processes that call a function called
/// instead, or no longer. How many functions there are.
pub(super) fn breakpoint_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (Some(whose), Some(on)) = (Whose::read(args[0]), args[1].as_bool()) else { return badarg() };
    let vm = ctx.vm;
    let mut patterns = Tracing::of(vm).lock();
    let mut count = 0;
    for module in whose.modules(vm) {
        for function in module.functions.iter().filter(|f| whose.matches(f.mfa)) {
            count += 1;
            patterns.change(vm, function, |b| b.debug = on);
        }
    }
    drop(patterns);
    Ok(Term::small(count))
}
