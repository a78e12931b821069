//! A native task: a counter that answers `gen_server:call/2`, counts on by itself, and computes while it waits.

use myriad::task::{Atom, Ctx, Next, Task, TaskContext, TaskType, Term};
use myriad_term::Build;
use std::time::Duration;

/// The type: `myriad:spawn_task(counter, First)`.
pub fn counter() -> TaskType {
    TaskType::new("counter", || Box::<Counter>::default())
}

/// The same on a thread of its own, which it does not leave.
pub fn private_counter() -> TaskType {
    TaskType { cannot_schedule: true, ..TaskType::new("private_counter", || Box::<Counter>::default()) }
}

/// Calls that it answers: `read`, `next`, `{add, N}`, `{tick, Ms}` (it counts on once, after so long, if nothing comes), `{sum, N}` (it adds the
/// numbers up to N to it, bit by bit), `stop`. Another call is answered with `error`. The message `panic` is its end, and the VM's.
#[derive(Default)]
struct Counter {
    count: i64,
    /// Numbers from here down are still to be added.
    to_add: i64,
}

fn is(term: Term, name: &str) -> bool {
    term.as_atom().is_some_and(|atom| atom.text() == name)
}

impl Counter {
    fn next(&self) -> Next {
        if self.to_add > 0 { Next::Idle } else { Next::Wait }
    }

    /// The answer to a request, if it is one.
    fn answer(&mut self, ctx: &mut TaskContext<'_, '_>, request: Term) -> Option<Term> {
        if is(request, "next") {
            self.count += 1;
        } else if let Some([what, number]) = request.as_tuple_of::<2>() {
            let number = number.as_small()?;
            match what.as_atom()?.text() {
                "add" => self.count += number,
                "tick" => ctx.set_time_out(Duration::from_millis(u64::try_from(number).ok()?)),
                "sum" => self.to_add = number,
                _ => return None,
            }
        } else if !is(request, "read") {
            return None;
        }
        Some(Term::small(self.count))
    }
}

impl Task for Counter {
    fn init(&mut self, _: &mut TaskContext<'_, '_>, first: Term) -> Next {
        let Some(first) = first.as_small() else { return Next::Exit(Term::atom(atom("no_number"))) };
        self.count = first;
        Next::Wait
    }

    fn event(&mut self, ctx: &mut TaskContext<'_, '_>, message: Term) -> Next {
        assert!(!is(message, "panic"), "it was asked to");
        if let Some([_, from, request]) = message.as_tuple_of::<3>().filter(|[call, ..]| is(*call, "$gen_call")) {
            let stops = is(request, "stop");
            let answer = if stops { Some(Term::small(self.count)) } else { self.answer(ctx, request) };
            ctx.reply(from, answer.unwrap_or(Term::atom(atom("error"))));
            if stops {
                return Next::Exit(Term::atom(atom("normal")));
            }
        }
        self.next()
    }

    fn time_out(&mut self, _: &mut TaskContext<'_, '_>) -> Next {
        self.count += 1;
        self.next()
    }

    fn idle(&mut self, ctx: &mut TaskContext<'_, '_>) -> Next {
        for _ in 0..100.min(self.to_add) {
            self.count += self.to_add;
            self.to_add -= 1;
        }
        ctx.bump(100);
        self.next()
    }

    /// Tells the process that is registered as `undertaker`, if there is one.
    fn terminate(&mut self, ctx: &mut Ctx<'_>, reason: Term) {
        let message = ctx.tuple(&[Term::atom(atom("buried")), Term::small(self.count), reason]);
        let _ = ctx.send(Term::atom(atom("undertaker")), message);
    }

    fn info(&self) -> String {
        format!("counts {}", self.count)
    }
}

fn atom(text: &str) -> Atom {
    Atom::new(text).expect("room for atoms")
}
