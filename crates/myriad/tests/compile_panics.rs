//! A function whose compiling panics runs on in tier 0, and the VM says why: by threads that compile and without, and in the `myriad` command, whose hook
//! ends it at any other panic.
//!
//! Builds with assertions make no code for functions of the name below (`jit/src/compile.rs`).

#![cfg(all(feature = "native", debug_assertions, target_arch = "x86_64", target_os = "linux"))]

mod common;

use std::process::Command;

/// Runs the function until something has been tried with it, then ends with 0 if it is as it should be.
const PROGRAM: &str = r#"
    Text = "-module(subject).
        -export([panics_when_compiled/2]).
        panics_when_compiled(0, Acc) -> Acc;
        panics_when_compiled(N, Acc) -> panics_when_compiled(N - 1, Acc + N).",
    {ok, Tokens, _} = erl_scan:string(Text),
    Parse = fun Parse([]) -> []; Parse(All) ->
        {Form, [Dot | Rest]} = lists:splitwith(fun(T) -> element(1, T) =/= dot end, All),
        {ok, Parsed} = erl_parse:parse_form(Form ++ [Dot]),
        [Parsed | Parse(Rest)] end,
    {ok, subject, Code} = compile:forms(Parse(Tokens)),
    {module, subject} = code:load_binary(subject, "subject", Code),
    State = fun() -> myriad_native:state(subject, panics_when_compiled, 2) end,
    Tried = fun Tried(N) ->
        1250025000 = subject:panics_when_compiled(50000, 0),
        case State() of interpreted when N > 0 -> Tried(N - 1); Other -> Other end end,
    {refused, panic} = Tried(1000),
    #{refused := #{panic := Panics}} = myriad_native:info(),
    {error, <<"panic: ", _/binary>>} = myriad_native:listing({subject, panics_when_compiled, 2}),
    50005000 = subject:panics_when_compiled(10000, 0),
    halt(Panics - 1)."#;

#[test]
fn on_the_scheduler() {
    assert_eq!(common::vm(&["-S", "1:1", "-Jthreads", "0", "-Jcache", "false"], PROGRAM).run(), 0);
}

#[test]
fn in_the_command_on_a_thread_that_compiles() {
    let root = std::env::var("MYRIAD_OTP_ROOT").unwrap_or_else(|_| "/usr/lib/erlang".to_owned());
    let script = format!("{}/../../bin/erl", env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(script);
    command.env("MYRIAD_EMULATOR", env!("CARGO_BIN_EXE_myriad")).env("MYRIAD_OTP_ROOT", root);
    command.args(["+Jcache", "false", "-noshell", "-boot", "no_dot_erlang", "-eval", PROGRAM]);
    let output = command.output().expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}
