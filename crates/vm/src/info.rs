//! `process_info/1,2`: what a process tells of itself, always in its own thread.

use crate::ctx::Ctx;
use myriad_term::{Term, am};

/// The answer to `process_info(Pid, Items)`; the items are known to be right.
pub fn process_info(ctx: &mut Ctx<'_>, items: Term, _as_list: bool) -> Term {
    use myriad_term::Build;
    match items.as_atom() {
        Some(am::registered_name) => match ctx.this.name() {
            Some(name) => ctx.tuple(&[items, name.term()]),
            None => Term::NIL,
        },
        _ => Term::UNDEFINED,
    }
}
