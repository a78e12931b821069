//! What built-ins cost that copy terms, and what those do that count on what has come, when very much has.

use crate::test_support::{call, in_process, text};
use myriad_sched::SLICE_REDUCTIONS;
use myriad_term::{Build, RefNumbers, Term, am};
use myriad_vm::bif::Escape;
use myriad_vm::deliver::Handled;
use myriad_vm::{BifResult, Ctx, Signal};

/// Reductions that the call counts by itself.
fn cost(ctx: &mut Ctx<'_>, module: &str, function: &str, args: &[Term]) -> usize {
    ctx.state.reductions.begin_slice(0);
    assert!(call(ctx, module, function, args).is_ok(), "{module}:{function}/{}", args.len());
    usize::try_from(-ctx.state.reductions.left()).expect("it gives none")
}

#[test]
fn what_is_copied_costs_what_it_is_large() {
    in_process(|ctx| {
        let me = ctx.pid().term();
        let other = call(ctx, "erlang", "spawn", &[am::erlang.term(), am::halt.term(), Term::NIL]).ok().expect("room");
        for len in [4, 4_000, 400_000] {
            let large = ctx.list(&vec![Term::OK; len]);
            let (arguments, tag) = (ctx.list(&[large]), ctx.tuple(&[am::tag.term(), large]));
            let options = ctx.list(&[tag]);
            let (infinity, port) = (Term::small(1_000_000), am::process.term());
            let calls: [(&str, &[Term]); 6] = [
                ("send", &[other, large]),
                ("send", &[other, large, Term::NIL]),
                ("exit", &[other, large]),
                ("start_timer", &[infinity, me, large]),
                ("spawn", &[am::erlang.term(), am::halt.term(), arguments]),
                ("monitor", &[port, other, options]),
            ];
            for (function, args) in calls {
                let cost = cost(ctx, "erlang", function, args);
                let least = 2 * len / 16;
                assert!((least..least + 20).contains(&cost), "{function}/{} of {len}: {cost}", args.len());
            }
            assert!(cost(ctx, "erlang", "send", &[me, large]) < 20, "what it sends to itself is not copied");
        }
    });
}

const MANY: usize = 20 * SLICE_REDUCTIONS as usize;

fn flood(ctx: &Ctx<'_>, many: usize) {
    for n in 0..many as u32 {
        assert!(ctx.signal_to(ctx.pid(), Signal::Demonitor(RefNumbers([n, 0, u32::MAX]))));
    }
}

/// Calls it slice after slice, until it no longer waits; each time more comes than a slice handles. Then nothing is left.
fn call_to_its_end(ctx: &mut Ctx<'_>, function: &str, args: &[Term]) -> BifResult {
    flood(ctx, MANY);
    for slice in 0.. {
        ctx.state.reductions.begin_slice(SLICE_REDUCTIONS);
        let result = call(ctx, "erlang", function, args);
        if !matches!(result, Err(Escape::Wait)) {
            assert!(slice >= MANY / SLICE_REDUCTIONS as usize, "{function}: {slice} slices only");
            if !matches!(result, Err(Escape::Dead)) {
                assert!(ctx.state.retry_state.is_none());
                while ctx.has_signals() {
                    assert_ne!(ctx.fetch_signals(i32::MAX), Handled::Fatal);
                }
            }
            return result;
        }
        assert!(ctx.state.reductions.left() >= -1, "{function}: {} reductions left", ctx.state.reductions.left());
        assert!(slice < 3 * MANY / SLICE_REDUCTIONS as usize, "{function}: it waits for what comes later");
        flood(ctx, SLICE_REDUCTIONS as usize);
    }
    unreachable!("the loop has no end of its own")
}

#[test]
fn much_that_has_come_takes_effect_first() {
    in_process(|ctx| {
        let me = ctx.pid().term();
        assert!(call(ctx, "erlang", "send", &[me, Term::OK]).is_ok());
        assert_eq!(text(call_to_its_end(ctx, "unlink", &[me])), "true");
        let length = call_to_its_end(ctx, "process_info", &[me, am::message_queue_len.term()]);
        assert_eq!(text(length), "{message_queue_len,1}");
        // Its own exit signal comes once.
        ctx.state.flags.trap_exit = true;
        assert_eq!(text(call_to_its_end(ctx, "exit", &[me, am::normal.term()])), "true");
        assert_eq!(ctx.state.messages.len(), 2);
        ctx.state.flags.trap_exit = false;
        assert!(matches!(call_to_its_end(ctx, "exit", &[me, am::kill.term()]), Err(Escape::Dead)));
    });
}
