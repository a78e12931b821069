//! `process_flag(save_calls, N)`: the last calls that a process made through exports, and its sends and receives among them.
//!
//! Nothing on the way of a call asks for it. While calls are saved, the engine is told of many reductions fewer than there
//! are ([`OwnerState::count_negatively`](crate::OwnerState::count_negatively)), so that every call finds them used up and comes by where a slice would end; there the call is
//! noted, and goes on if there were reductions after all. Built-ins called by an instruction of their own come by where traced
//! ones do ([`Switches::hooked`](crate::tracer::switches::Switches::hooked)).

pub use crate::tracer::watched::Saved;

use crate::ctx::Ctx;
use myriad_term::{Build, Term, am};
use std::collections::VecDeque;

impl Ctx<'_> {
    /// The process remembers so many calls from now on, none of those before; gives how many it was.
    pub fn set_saved_calls(&mut self, most: u16) -> u16 {
        let old = std::mem::replace(&mut self.state.flags.save_calls, most);
        match (old, most) {
            (0, 0) => return 0,
            (0, _) => self.vm.switches.add_hook(),
            (_, 0) => self.vm.switches.remove_hook(),
            _ => {}
        }
        self.state.count_negatively();
        self.state.watched.saved = (most > 0).then(VecDeque::new);
        old
    }

    /// Notes one.
    #[cold]
    pub fn save_call(&mut self, what: Saved) {
        let most = usize::from(self.state.flags.save_calls);
        if self.state.flags.sensitive {
            return;
        }
        if let Some(saved) = self.state.watched.get_mut().and_then(|watched| watched.saved.as_mut()) {
            if saved.len() >= most {
                saved.pop_front();
            }
            saved.push_back(what);
        }
    }
}

/// What was noted, the last one last; `false` if nothing is.
pub(crate) fn as_list<B: Build>(saved: Option<&VecDeque<Saved>>, out: &mut B) -> Term {
    let Some(saved) = saved else { return Term::FALSE };
    let mut list = Term::NIL;
    for what in saved.iter().rev() {
        let entry = match what {
            Saved::Call(mfa) => out.tuple(&[mfa.module.term(), mfa.function.term(), Term::small(i64::from(mfa.arity))]),
            Saved::Event(event) => event.term(),
        };
        list = out.cons(entry, list);
    }
    list
}

/// A message is taken out of the queue.
pub const RECEIVE: Saved = Saved::Event(am::receive);
/// A receive is over without one.
pub const TIMEOUT: Saved = Saved::Event(am::timeout);
/// A message is sent.
pub const SEND: Saved = Saved::Event(am::send);
