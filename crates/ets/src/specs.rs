//! Specifications as values: compiling them, running them on lists, testing them.

use crate::select::compiled;
use crate::spec::machine::Machine;
use crate::spec::trace::Tested;
use crate::spec::{Compiled, Dialect, Spec};
use myriad_sync::Arc;
use myriad_term::magic::magic_reference;
use myriad_term::{Build, Magic, Term, am};
use myriad_trace::Tracing;
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub SPECS = "ets" {
    "match_spec_compile" / 1 Plain => match_spec_compile_1;
    "is_compiled_ms" / 1 Plain => |_, a| Ok(Term::bool(compiled(a[0]).is_some()));
    "match_spec_run_r" / 3 Plain => match_spec_run_r_3;
}}

myriad_vm::bifs! { pub TEST = "erlang" {
    "match_spec_test" / 3 Plain => match_spec_test_3;
}}

fn match_spec_compile_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Ok(spec) = Spec::compile(args[0], Dialect::Table) else { return badarg() };
    let numbers = ctx.sched.next_ref();
    Ok(magic_reference(ctx, Magic::new(numbers, Compiled(Arc::new(spec)))))
}

/// Terms run in one go.
const BATCH: usize = 256;

fn match_spec_run_r_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(spec) = compiled(args[1]) else { return badarg() };
    run(ctx, spec, args[0], args[2])
}

fn run(ctx: &mut Ctx<'_>, spec: Arc<Spec>, mut rest: Term, mut results: Term) -> BifResult {
    let mut machine = Machine::new(&spec, ctx.pid().term(), ctx.vm.node_name());
    loop {
        for _ in 0..BATCH {
            let Some((head, tail)) = rest.as_cons() else {
                return if rest.is_nil() { Ok(results) } else { badarg() };
            };
            if let Some(result) = machine.run(&spec, head.into(), ctx) {
                results = ctx.cons(result, results);
            }
            ctx.bump(1);
            rest = tail;
        }
        if ctx.exhausted() {
            drop(machine);
            return ctx.yield_to(Box::new(move |ctx| run(ctx, spec.clone(), rest, results)));
        }
    }
}

/// `{ok, Result, Flags, []}` or `{error, [{error, Text}]}`.
fn match_spec_test_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let dialect = match args[2].as_atom() {
        Some(am::table) => Dialect::Table,
        Some(am::trace) if args[0].is_list() => Dialect::Trace,
        _ => return badarg(),
    };
    let spec = match Spec::compile(args[1], dialect) {
        Ok(spec) => spec,
        Err(errors) => {
            let mut items = Vec::new();
            for error in errors {
                let text = ctx.string(&error);
                items.push(ctx.tuple(&[am::error.term(), text]));
            }
            let list = ctx.list(&items);
            return Ok(ctx.tuple(&[am::error.term(), list]));
        }
    };
    let mut machine = Machine::new(&spec, ctx.pid().term(), ctx.vm.node_name());
    let mut host = Tested { control_word: Tracing::of(ctx.vm).control_word() };
    let result = machine.run_for(&spec, args[0].into(), ctx, &mut host);
    let flags: Vec<Term> = [am::return_trace, am::exception_trace]
        .into_iter()
        .filter(|flag| result.is_some() && machine.actions.contains(flag))
        .map(|flag| flag.term())
        .collect();
    let result = match (result, machine.message(args[0].into())) {
        (Some(_), Some(message)) => crate::row::copy_out(message, ctx),
        (Some(result), None) => result,
        (None, _) => Term::FALSE,
    };
    let flags = ctx.list(&flags);
    Ok(ctx.tuple(&[am::ok.term(), result, flags, Term::NIL]))
}
