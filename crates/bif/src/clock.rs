//! Time: monotonic and system time, offset, unique integers, calendar conversions that need the time zone.

use myriad_term::{Build, Term, am, arith};
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub CLOCK = "erlang" {
    "monotonic_time" / 0 Plain => |ctx, _| { let ns = monotonic(ctx); Ok(ctx.int(ns)) };
    "monotonic_time" / 1 Plain => |ctx, a| { let ns = monotonic(ctx); converted(ctx, i128::from(ns), a[0]) };
    "system_time" / 0 Plain => |ctx, _| { let ns = system(ctx); Ok(ctx.int(ns)) };
    "system_time" / 1 Plain => |ctx, a| { let ns = system(ctx); converted(ctx, i128::from(ns), a[0]) };
    "time_offset" / 0 Plain => |ctx, _| { let ns = ctx.vm.clock.offset_ns(); Ok(ctx.int(ns)) };
    "time_offset" / 1 Plain => |ctx, a| { let ns = ctx.vm.clock.offset_ns(); converted(ctx, i128::from(ns), a[0]) };
    "timestamp" / 0 Plain => |ctx, _| { let ns = system(ctx); Ok(now_triple(ctx, ns / 1000)) };
    "unique_integer" / 0 Plain => |ctx, _| { let v = ctx.sched.next_unique(); Ok(ctx.int128(v)) };
    "unique_integer" / 1 Plain => unique_integer_1;
}}

myriad_vm::bifs! { pub OS_CLOCK = "os" {
    "system_time" / 0 Plain => |ctx, _| { let ns = ctx.vm.platform.system_ns(); Ok(ctx.int(ns)) };
    "system_time" / 1 Plain => |ctx, a| { let ns = ctx.vm.platform.system_ns(); converted(ctx, i128::from(ns), a[0]) };
    "timestamp" / 0 Plain => |ctx, _| { let ns = ctx.vm.platform.system_ns(); Ok(now_triple(ctx, ns / 1000)) };
    "perf_counter" / 0 Plain => |ctx, _| { let ns = ctx.vm.platform.now_ns(); Ok(ctx.uint(ns)) };
}}

myriad_vm::bifs! { pub INTERNAL_CLOCK = "erts_internal" {
    "time_unit" / 0 Plain => |_, _| Ok(Term::small(1_000_000_000));
    "perf_counter_unit" / 0 Plain => |_, _| Ok(Term::small(1_000_000_000));
}}

/// Erlang monotonic time, nanoseconds.
fn monotonic(ctx: &Ctx<'_>) -> i64 {
    ctx.vm.clock.monotonic_ns(&*ctx.vm.platform)
}

/// Erlang system time, nanoseconds.
fn system(ctx: &Ctx<'_>) -> i64 {
    monotonic(ctx).saturating_add(ctx.vm.clock.offset_ns())
}

/// `{MegaSeconds, Seconds, MicroSeconds}`
fn now_triple(ctx: &mut Ctx<'_>, micros: i64) -> Term {
    let seconds = micros.div_euclid(1_000_000);
    let parts = [seconds.div_euclid(1_000_000), seconds.rem_euclid(1_000_000), micros.rem_euclid(1_000_000)];
    ctx.tuple(&parts.map(Term::small))
}

/// Parts of a second of a time unit.
pub(crate) fn parts_per_second(unit: Term) -> Option<i128> {
    if let Some(parts) = unit.as_small() {
        return (parts > 0).then_some(i128::from(parts));
    }
    Some(match unit.as_atom()? {
        am::second | am::seconds => 1,
        am::millisecond | am::milli_seconds => 1_000,
        am::microsecond | am::micro_seconds => 1_000_000,
        am::nanosecond | am::nano_seconds | am::native | am::perf_counter => 1_000_000_000,
        _ => return None,
    })
}

fn converted(ctx: &mut Ctx<'_>, ns: i128, unit: Term) -> BifResult {
    match parts_per_second(unit) {
        Some(parts) => Ok(ctx.int128((ns * parts).div_euclid(1_000_000_000))),
        None if unit.as_big().is_some_and(|(negative, _)| !negative) => converted_finely(ctx, ns, unit),
        None => badarg(),
    }
}

/// The same for a unit of which a second has more parts than fit a machine's number.
fn converted_finely(ctx: &mut Ctx<'_>, ns: i128, parts: Term) -> BifResult {
    let (ns, second) = (ctx.int128(ns), Term::small(1_000_000_000));
    let mut result = || -> arith::ArithResult {
        let product = arith::mul(ctx, ns, parts)?;
        let rest = arith::rem(ctx, product, second)?;
        let quotient = arith::div(ctx, product, second)?;
        if rest.as_small().is_some_and(|r| r < 0) { arith::sub(ctx, quotient, Term::small(1)) } else { Ok(quotient) }
    };
    result().map_err(crate::guards::raised)
}

fn unique_integer_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (mut positive, mut monotonic) = (false, false);
    let mut options = args[0].list_iter();
    for option in options.by_ref() {
        match option.as_atom() {
            Some(am::positive) => positive = true,
            Some(am::monotonic) => monotonic = true,
            _ => return badarg(),
        }
    }
    if !options.tail().is_nil() {
        return badarg();
    }
    let value = if monotonic { ctx.vm.next_monotonic_unique() } else { ctx.sched.next_unique() };
    // Negative ones begin at the bottom; moved up, the same numbers are positive.
    let value = if positive { value - myriad_sched::local::LEAST_UNIQUE + 1 } else { value };
    Ok(ctx.int128(value))
}
