//! What others free while a scheduler sleeps wakes it to give memory back, by `+swct`: `clean_up.erl` beside this file.

mod common;

use myriad::task::{Next, Task, TaskContext, TaskType, Term, register};
use std::sync::atomic::{AtomicI64, Ordering};

/// How many times the second scheduler has given memory back.
static TRIMS: AtomicI64 = AtomicI64::new(0);

fn trim() {
    if std::thread::current().name() == Some("2_scheduler") {
        TRIMS.fetch_add(1, Ordering::Relaxed);
    }
}

/// Answers each call with that number.
struct Trims;

impl Task for Trims {
    fn init(&mut self, _: &mut TaskContext<'_, '_>, _: Term) -> Next {
        Next::Wait
    }

    fn event(&mut self, ctx: &mut TaskContext<'_, '_>, message: Term) -> Next {
        if let Some([_, from, _]) = message.as_tuple_of::<3>() {
            ctx.reply(from, Term::small(TRIMS.load(Ordering::Relaxed)));
        }
        Next::Wait
    }
}

/// One VM after the other: the allocator, and what is counted, are the program's.
#[test]
fn a_sleeping_scheduler_is_woken_when_so_much_is_freed() {
    myriad_term::memory::trim_by(trim);
    for (value, expected) in [("very_eager", "woken"), ("very_lazy", "asleep")] {
        let call = format!("main({expected})");
        let vm = common::vm(&["-S", "2:2", "-SDio", "1", "-swct", value], &common::program("clean_up", &call));
        register(vm, TaskType::new("trims", || Box::new(Trims))).expect("a new name");
        assert_eq!(vm.run(), 0, "{value}");
    }
}
