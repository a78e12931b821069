//! `erlang:port_info/1,2`.

use super::{Port, State};
use myriad_term::{Atom, Build, Term, am};
use myriad_vm::Ctx;

/// What `port_info/1` shows, in this order, after the registered name.
const DEFAULT: [Atom; 7] = [am::name, am::links, am::id, am::connected, am::input, am::output, am::os_pid];

/// A port's number in `{id, Number}` has these bits below it, as in OTP's port terms.
pub(super) const ID_SHIFT: u32 = 3;

fn pids(ctx: &mut Ctx<'_>, pids: impl Iterator<Item = myriad_term::Pid>) -> Term {
    let terms: Vec<Term> = pids.map(|p| p.term()).collect();
    ctx.list(&terms)
}

impl Port {
    /// `{Item, Value}`; `[]` for the name of a port without one; nothing if there is no such item.
    pub(super) fn info(&self, ctx: &mut Ctx<'_>, state: &State, item: Atom) -> Option<Term> {
        let common = &state.common;
        let value = match item {
            am::registered_name => match ctx.vm.names.name_of_port(self.id) {
                Some(name) => name.term(),
                None => return Some(Term::NIL),
            },
            am::name => ctx.byte_list(&self.name, Term::NIL),
            am::links => pids(ctx, common.links.iter().copied()),
            am::id => ctx.uint(self.id.number() << ID_SHIFT),
            am::connected => common.owner.term(),
            am::input => ctx.uint(common.input),
            am::output => ctx.uint(common.output),
            am::os_pid => self.os_pid.map_or(Term::UNDEFINED, |p| Term::small(i64::from(p))),
            am::monitors => Term::NIL,
            am::monitored_by => pids(ctx, common.watchers.values().copied()),
            am::parallelism => Term::bool(self.parallelism),
            am::memory => Term::small((size_of::<Port>() + state.driver.queued() + state.driver.memory()) as i64),
            am::locking => am::port_level.term(),
            am::queue_size => Term::small(state.driver.queued() as i64),
            _ => return None,
        };
        Some(ctx.tuple(&[item.term(), value]))
    }

    /// What `port_info/1` shows.
    pub(super) fn all_info(&self, ctx: &mut Ctx<'_>, state: &State) -> Term {
        let mut items = Vec::new();
        if let Some(named) = self.info(ctx, state, am::registered_name).filter(|t| !t.is_nil()) {
            items.push(named);
        }
        items.extend(DEFAULT.iter().filter_map(|item| self.info(ctx, state, *item)));
        ctx.list(&items)
    }
}
