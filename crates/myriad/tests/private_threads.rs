//! Processes with threads of their own, as Erlang code sees them: `private_threads.erl` beside this file.

mod common;

/// Runs that program on two schedulers, with these flags beside and slices as the argument says; gives the VM's exit status.
fn run(beside: &[&str], slices: &str) -> i32 {
    let flags = ["-S", "2:2", "-SDio", "1", "-JMthreads", "8"];
    common::vm(&[&flags, beside].concat(), &common::program("private_threads", &format!("main({slices})"))).run()
}

#[test]
fn processes_with_private_threads_do_what_others_do() {
    assert_eq!(run(&[], "whole"), 0);
}

#[test]
fn with_slices_of_drawn_lengths_too() {
    assert_eq!(run(&["-JMyields", "1"], "drawn"), 0);
}

#[test]
fn where_there_are_none_that_is_said() {
    let expression = "{'EXIT', {notsup, _}} = (catch process_flag(thread, private)),
        {'EXIT', {notsup, _}} = (catch spawn_opt(fun() -> ok end, [{thread, private}])),
        worker = process_flag(thread, worker),
        halt(0).";
    assert_eq!(common::vm(&["-S", "1:1", "-SDio", "1", "-JMthreads", "0"], expression).run(), 0);
}
