//! Native tasks, as Erlang code sees them: `tasks.erl` beside this file, with the task types of `examples/embed`, and
//! `task_flags.erl` with the type below.

mod common;
#[path = "../../../examples/embed/src/counter.rs"]
mod counter;

use counter::{counter, private_counter};
use myriad::task::{Atom, Mode, Next, Priority, Refused, Task, TaskContext, TaskType, Term, register};

#[test]
fn tasks_are_processes_to_all_others() {
    let vm = common::vm(&["-S", "2:2", "-SDio", "1"], &common::program("tasks", "main()"));
    for of in [counter(), private_counter()] {
        register(vm, of).expect("a new name");
    }
    assert!(register(vm, counter()).is_err_and(|error| error.contains("there is one")));
    let port = TaskType { port_type: true, ..TaskType::new("port", counter().allocate) };
    assert!(register(vm, port).is_err_and(|error| error.contains("port identifiers")));
    let long: &'static str = "x".repeat(256).leak();
    assert!(register(vm, TaskType::new(long, counter().allocate)).is_err_and(|error| error.contains("atom")));
    assert_eq!(vm.run(), 0);
}

/// Does what calls tell it to: `{priority, Level}` and `{thread, Mode}` are answered with `ok` or `refused`.
struct Obeys;

impl Obeys {
    fn obey(ctx: &mut TaskContext<'_, '_>, request: Term) -> Option<Result<(), Refused>> {
        let [what, value] = request.as_tuple_of::<2>()?;
        match what.as_atom()?.text() {
            "priority" => Some(ctx.set_priority(Priority::of_level(value.as_usize()?)?)),
            "thread" => Some(ctx.set_thread(Mode::named(value.as_atom()?)?)),
            _ => None,
        }
    }
}

impl Task for Obeys {
    fn init(&mut self, _: &mut TaskContext<'_, '_>, _: Term) -> Next {
        Next::Wait
    }

    fn event(&mut self, ctx: &mut TaskContext<'_, '_>, message: Term) -> Next {
        if let Some([_, from, request]) = message.as_tuple_of::<3>() {
            let answer = match Obeys::obey(ctx, request) {
                Some(Ok(())) => "ok",
                Some(Err(Refused)) => "refused",
                None => "error",
            };
            ctx.reply(from, Term::atom(Atom::new(answer).expect("room for atoms")));
        }
        Next::Wait
    }
}

/// A type for each flag, one without any, and one for each end and one level without a name among the priorities.
fn types() -> Vec<TaskType> {
    let obeys = |name| TaskType::new(name, || Box::new(Obeys));
    let of_level = |name, level| TaskType { priority: Priority::of_level(level).expect("a level"), ..obeys(name) };
    vec![
        obeys("plain"),
        of_level("level_0", 0),
        of_level("level_10", 10),
        of_level("level_31", 31),
        TaskType { start_thread: true, ..obeys("start_thread") },
        TaskType { cannot_schedule: true, ..obeys("cannot_schedule") },
        TaskType { cannot_lower_priority: true, ..obeys("cannot_lower") },
        TaskType { cannot_raise_priority: true, ..obeys("cannot_raise") },
    ]
}

/// Runs a function of `task_flags.erl` with these flags of the emulator; gives the VM's exit status.
fn run(beside: &[&str], call: &str) -> i32 {
    let flags = [&["-S", "2:2", "-SDio", "1"], beside].concat();
    let vm = common::vm(&flags, &common::program("task_flags", call));
    types().into_iter().for_each(|of| register(vm, of).expect("a new name"));
    vm.run()
}

#[test]
fn flags_and_priorities_of_types_hold() {
    assert_eq!(run(&[], "main()"), 0);
}

#[test]
fn who_cannot_be_scheduled_does_not_move_where_all_others_do() {
    assert_eq!(run(&["-JMmigrate", "1", "-JMyields", "1"], "moving()"), 0);
}

#[test]
fn without_threads_some_are_scheduled_and_some_not_started() {
    assert_eq!(run(&["-JMthreads", "0"], "without_threads()"), 0);
}
