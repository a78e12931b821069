//! Processes with threads of their own, as Erlang code sees them: `private_threads.erl` beside this file.

mod common;

/// Runs that program on two schedulers, with these flags beside and slices as the argument says; gives the VM's exit status.
fn run(beside: &[&str], slices: &str) -> i32 {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/private_threads.erl");
    let expression = format!(
        "{{ok, M, Code}} = compile:file({source:?}, [binary, report]),
         {{module, M}} = code:load_binary(M, {source:?}, Code),
         M:main({slices})."
    );
    let flags = ["-S", "2:2", "-SDio", "1", "-JMthreads", "8"];
    common::run(&[&flags, beside].concat(), &expression)
}

#[test]
fn processes_with_private_threads_do_what_others_do() {
    assert_eq!(run(&[], "whole"), 0);
}

#[test]
fn with_slices_of_drawn_lengths_too() {
    assert_eq!(run(&["-JMyields", "1"], "drawn"), 0);
}
