//! Terms of times, and of what is unique.

use crate::abi::Word;
use crate::define::checked_exports;
use crate::env::Env;
use crate::load;
use myriad_term::Build;
use std::ffi::c_int;

/// A time as three numbers: seconds by millions, seconds, microseconds.
fn triple(env: &mut Env, micros: i64) -> Word {
    let seconds = micros.div_euclid(1_000_000);
    let parts = [seconds.div_euclid(1_000_000), seconds.rem_euclid(1_000_000), micros.rem_euclid(1_000_000)];
    let parts = parts.map(|part| env.int(part));
    env.tuple(&parts).into()
}

checked_exports! {
    /// The time that this thread has computed, as `erlang:timestamp/0` has times.
    fn enif_cpu_time(env: &mut Env) -> Word {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: room for a time.
        match unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) } {
            0 => triple(env, time.tv_sec * 1_000_000 + time.tv_nsec / 1000),
            _ => env.badarg(),
        }
    }

    /// `erlang:now/0`
    fn enif_now_time(env: &mut Env) -> Word {
        match load::vm() {
            Some(vm) => triple(env, vm.clock.unique_micros(&*vm.platform)),
            None => env.badarg(),
        }
    }

    /// `erlang:unique_integer/1`: positive (1), monotonic (2).
    fn enif_make_unique_integer(env: &mut Env, properties: c_int) -> Word {
        let Some(vm) = load::vm() else { return env.badarg() };
        let value = match env.ctx() {
            _ if properties & 2 != 0 => vm.next_monotonic_unique(),
            Some(ctx) => ctx.sched.next_unique(),
            None => vm.foreign_unique(),
        };
        let value = if properties & 1 != 0 { value - myriad_sched::local::LEAST_UNIQUE + 1 } else { value };
        env.int128(value).into()
    }
}
