//! The module MD5 is OTP's, for every installed module: OTP's own `erl` is asked, both through
//! beam_lib and through the emulator, which has no answer for files of old compilers.

mod common;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use myriad_beam::{BeamFile, Module, md5};

const PROGRAM: &str = r#"
    [Root] = init:get_plain_arguments(),
    Hex = fun(B) -> string:lowercase(lists:flatten([io_lib:format("~2.16.0b", [C]) || <<C>> <= B])) end,
    Ask = fun(File) ->
        {ok, {_, MD5}} = beam_lib:md5(File),
        {ok, Bytes} = file:read_file(File),
        true = lists:member(erts_internal:beamfile_module_md5(Bytes), [MD5, undefined]),
        io:format("~ts ~s~n", [File, Hex(MD5)])
    end,
    lists:foreach(Ask, filelib:wildcard(filename:join([Root, "lib", "*", "ebin", "*.beam"]))),
    halt().
"#;

fn ask(root: &Path) -> Option<HashMap<PathBuf, String>> {
    let program = PROGRAM.replace('\n', " ");
    let output = Command::new(root.join("bin/erl"))
        .args(["-noshell", "-noinput", "-eval", &program, "-extra"])
        .arg(root)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    assert!(output.status.success(), "{text}");
    Some(text.lines().filter_map(|line| line.rsplit_once(' ')).map(|(f, h)| (f.into(), h.to_owned())).collect())
}

#[test]
fn md5_is_otps_for_every_installed_module() {
    let mut checked = 0;
    for root in common::roots() {
        let Some(answers) = ask(&root) else {
            println!("skipped: no erl in {}", root.display());
            continue;
        };
        for (path, answer) in answers {
            let bytes = std::fs::read(&path).unwrap();
            let ours = md5(&BeamFile::parse(&bytes).unwrap());
            let ours: String = ours.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(ours, answer, "{}", path.display());
            checked += 1;
        }
    }
    println!("{checked} modules checked");
}

/// Recorded from OTP 25.2.3, so that it is checked where there is no OTP as well.
#[test]
fn md5_is_the_recorded_one() {
    let bytes = include_bytes!("data/t25.beam");
    let module = Module::load(bytes).unwrap();
    let hex: String = module.md5().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, include_str!("data/t25.md5").trim());
}
