//! `process_flag(save_calls, N)`: the last calls that a process made through exports, and its sends and receives among them.
//!
//! Nothing on the way of a call asks for it. While calls are saved, the engine gets many reductions fewer than there
//! are ([`OwnerState::count_negatively`](myriad_vm::OwnerState::count_negatively)), so that every call finds them used up and comes by where a slice would
//! end; there the call is noted, and is made if there were reductions after all. Built-ins called by an instruction of their own
//! come by where traced ones do ([`Switches::hooked`](myriad_vm::tracer::switches::Switches::hooked)).

pub use myriad_vm::tracer::watched::Saved;

use myriad_heap::Fragment;
use myriad_term::{Arena, Build, Term, TermRef, am};
use myriad_vm::Ctx;
use myriad_vm::deliver::Question;
use std::collections::VecDeque;

/// The process remembers `most` calls from now on, none of those before; gives how many it remembered until now.
pub fn set(ctx: &mut Ctx<'_>, most: u16) -> u16 {
    let old = std::mem::replace(&mut ctx.state.flags.save_calls, most);
    match (old, most) {
        (0, 0) => return 0,
        (0, _) => ctx.vm.switches.add_hook(),
        (_, 0) => ctx.vm.switches.remove_hook(),
        _ => {}
    }
    ctx.state.count_negatively(ctx.sched.pace.look());
    ctx.state.watched.saved = (most > 0).then(VecDeque::new);
    old
}

/// Notes one.
#[cold]
pub fn save(ctx: &mut Ctx<'_>, what: Saved) {
    let most = usize::from(ctx.state.flags.save_calls);
    if ctx.state.flags.sensitive {
        return;
    }
    if let Some(saved) = ctx.state.watched.get_mut().and_then(|watched| watched.saved.as_mut()) {
        if saved.len() >= most {
            saved.pop_front();
        }
        saved.push_back(what);
    }
}

/// `process_flag(Pid, save_calls, N)`: asks another process to remember `most` calls. The answer is how many it remembered until
/// then.
pub fn question(most: u16) -> Box<dyn Question> {
    Box::new(Most(most))
}

struct Most(u16);

impl Question for Most {
    fn answer<'m>(&self, ctx: &mut Ctx<'_>, _: &'m Arena) -> TermRef<'m> {
        Term::small(i64::from(set(ctx, self.0)))
    }

    fn of_the_dead(&self) -> Term {
        Term::atom(am::badarg)
    }

    fn memory(&self) -> Option<&Fragment> {
        None
    }
}

/// What was noted, the last one last; `false` if nothing is.
pub fn as_list<'h, B: Build<'h>>(saved: Option<&VecDeque<Saved>>, out: &mut B) -> TermRef<'h> {
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
