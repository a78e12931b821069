//! What a process has beside its X and Y registers when it stops between two instructions: float registers, and the binary that
//! `bs_put_*` instructions fill. Calls lose both.
//!
//! It is put behind the live X registers in [`saved_x`](myriad_vm::OwnerState::saved_x), as terms: the binary with the bits where
//! it is filled and where it ends, the halves of the float registers as small integers, and how many terms that is. After that
//! comes NONE, which no register holds.

use crate::building::Target;
use crate::machine::{FLOAT_REGISTERS, Machine};
use myriad_term::Term;

/// Terms that the float registers take, and the binary.
const FLOATS: usize = 2 * FLOAT_REGISTERS;
const BINARY: usize = 3;

/// Saves what there is.
pub fn save(m: &mut Machine<'_, '_>) {
    let building = m.building();
    let calculates = m.floats.iter().any(|f| f.to_bits() != 0);
    let saved = &mut m.ctx.state.saved_x;
    let live = saved.len();
    if let Some((binary, at, end)) = building {
        saved.extend([binary, Term::small(at as i64), Term::small(end as i64)]);
    }
    if calculates {
        let halves = m.floats.iter().map(|f| f.to_bits()).flat_map(|b| [b >> 32, b & 0xffff_ffff]);
        saved.extend(halves.map(|half| Term::small(half as i64)));
    }
    let terms = saved.len() - live;
    if terms > 0 {
        saved.extend([Term::small(terms as i64), Term::NONE]);
    }
}

/// Takes it from behind the X registers of a process that resumes, if it is there.
#[inline(always)]
pub fn take(saved: &mut Vec<Term>) -> Option<Vec<Term>> {
    if saved.last().is_some_and(|mark| mark.is_none()) { Some(split(saved)) } else { None }
}

#[cold]
fn split(saved: &mut Vec<Term>) -> Vec<Term> {
    saved.pop();
    let terms = saved.pop().and_then(|terms| terms.as_small()).unwrap_or(0) as usize;
    saved.split_off(saved.len().saturating_sub(terms))
}

/// Puts back what has been taken.
#[cold]
pub fn restore(m: &mut Machine<'_, '_>, taken: &[Term]) {
    let mut rest = taken;
    if taken.len() != FLOATS
        && let Some(([binary, at, end], halves)) = taken.split_first_chunk::<BINARY>()
    {
        m.build = Target::of(*binary, at.small_value() as usize, end.small_value() as usize, m.heap().collections());
        rest = halves;
    }
    for (float, halves) in m.floats.iter_mut().zip(rest.chunks_exact(2)) {
        *float = f64::from_bits((halves[0].small_value() as u64) << 32 | halves[1].small_value() as u64);
    }
}
