//! Native tasks, as Erlang code sees them: `tasks.erl` beside this file, with the task types of `examples/embed`.

mod common;
#[path = "../../../examples/embed/src/counter.rs"]
mod counter;

use counter::{counter, private_counter};
use myriad::task::{TaskType, register};

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
