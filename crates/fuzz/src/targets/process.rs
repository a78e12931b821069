//! A process to call built-ins in, on a VM that runs nothing else.

use myriad_interp::Interpreter;
use myriad_term::{Atom, Mfa, Term};
use myriad_testing::TestProcess;
use myriad_vm::{BifDef, BifResult, Ctx, Escape, Vm};
use std::cell::RefCell;

fn new_vm() -> &'static Vm {
    let (functions, tables) = (Box::<myriad_bif::Builtins>::default(), Box::<myriad_ets::Tables>::default());
    myriad_testing::vm(Interpreter::new(), vec![functions, tables, Box::<myriad_io::Io>::default()])
}

thread_local! {
    static PROCESS: RefCell<Option<TestProcess>> = const { RefCell::new(None) };
}

/// Runs `work` in the thread's process (the first thread's: a VM has one), whose heap is empty before and after.
pub(super) fn in_process<R>(work: impl FnOnce(&mut Ctx<'_>) -> R) -> R {
    let work = |ctx: &mut Ctx<'_>| {
        ctx.state.reductions.begin_slice(4000);
        let result = work(ctx);
        ctx.state.resumption = None;
        ctx.state.dictionary = None;
        ctx.state.trap_args.clear();
        // SAFETY: `work` is over, and what it gives holds no terms of this heap.
        let within_its_limit = unsafe { ctx.collect(0, &mut []) };
        assert!(within_its_limit, "no limit is set");
        result
    };
    PROCESS.with_borrow_mut(|process| process.get_or_insert_with(|| TestProcess::new(new_vm())).run(work))
}

/// The definition of a built-in, of any kind.
pub(super) fn built_in(ctx: &Ctx<'_>, module: Atom, function: Atom, arity: usize) -> Option<&'static BifDef> {
    let mfa = Mfa { module, function, arity: u8::try_from(arity).ok()? };
    ctx.vm.bifs.bif(mfa).or_else(|| ctx.vm.bifs.nif(mfa))
}

/// Calls it, in as many slices as it takes.
pub(super) fn call(ctx: &mut Ctx<'_>, def: &BifDef, args: &[Term]) -> BifResult {
    ctx.state.reductions.begin_slice(200);
    let mut result = (def.function_ptr)(ctx, args);
    while let (Err(Escape::Yield), Some(mut rest)) = (&result, ctx.state.resumption.take()) {
        ctx.state.reductions.begin_slice(4000);
        result = (rest.rest)(ctx);
        ctx.state.resumption.get_or_insert(rest);
    }
    ctx.state.resumption = None;
    result
}
