//! `erlang:port_info/1,2`.

use super::{Port, State};
use myriad_term::{Atom, Build, Term, TermRef, am};
use myriad_vm::Vm;

/// What `port_info/1` shows, in this order, after the registered name.
const DEFAULT: [Atom; 7] = [am::name, am::links, am::id, am::connected, am::input, am::output, am::os_pid];

/// A port's number in `{id, Number}` has these bits below it, as in OTP's port terms.
pub(super) const ID_SHIFT: u32 = 3;

fn pids<'h, B: Build<'h>>(memory: &mut B, pids: impl Iterator<Item = myriad_term::Pid>) -> TermRef<'h> {
    let terms: Vec<TermRef<'h>> = pids.map(|p| p.term()).collect();
    memory.list(&terms)
}

impl Port {
    /// `{Item, Value}`; `[]` for the name of a port without one; nothing if there is no such item.
    pub(super) fn info<'h, B: Build<'h>>(
        &self,
        memory: &mut B,
        vm: &Vm,
        state: &State,
        item: Atom,
    ) -> Option<TermRef<'h>> {
        let common = &state.common;
        let value = match item {
            am::registered_name => match vm.names.name_of_port(self.id) {
                Some(name) => name.term(),
                None => return Some(Term::NIL),
            },
            am::name => memory.byte_list(&self.name, Term::NIL),
            am::links => pids(memory, common.links.iter()),
            am::id => memory.uint(self.id.number() << ID_SHIFT),
            am::connected => common.owner.term(),
            am::input => memory.uint(common.input),
            am::output => memory.uint(common.output),
            am::os_pid => {
                common.rare.get().and_then(|rare| rare.os_pid).map_or(Term::UNDEFINED, |pid| memory.uint(pid))
            }
            am::monitors => {
                let monitors = state.driver.monitors();
                let monitors: Vec<TermRef<'h>> =
                    monitors.into_iter().map(|pid| memory.tuple(&[am::process.term(), pid.term()])).collect();
                memory.list(&monitors)
            }
            am::monitored_by => {
                pids(memory, common.rare.get().into_iter().flat_map(|rare| rare.watchers.values().copied()))
            }
            am::parallelism => Term::bool(self.parallelism),
            am::memory => Term::small((size_of::<Port>() + state.driver.queued() + state.driver.memory()) as i64),
            am::locking => {
                if self.shared.is_some() {
                    am::driver_level.term()
                } else {
                    am::port_level.term()
                }
            }
            am::queue_size => Term::small(state.driver.queued() as i64),
            _ => return None,
        };
        Some(memory.tuple(&[item.term(), value]))
    }

    /// What `port_info/1` shows.
    pub(super) fn all_info<'h, B: Build<'h>>(&self, memory: &mut B, vm: &Vm, state: &State) -> TermRef<'h> {
        let mut items = Vec::new();
        if let Some(named) = self.info(memory, vm, state, am::registered_name).filter(|t| !t.is_nil()) {
            items.push(named);
        }
        items.extend(DEFAULT.iter().filter_map(|item| self.info(memory, vm, state, *item)));
        memory.list(&items)
    }
}
