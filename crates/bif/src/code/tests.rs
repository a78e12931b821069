//! Results and errors, as OTP 25 gives them for the same calls.

use crate::test_support::{call, in_process, text};
use myriad_term::{Atom, Build, Pid, Term, am};
use myriad_vm::Ctx;

fn atom(name: &str) -> Term {
    Atom::new(name).unwrap().term()
}

fn erlang(ctx: &mut Ctx<'_>, function: &str, args: &[Term]) -> String {
    let mut result = call(ctx, "erlang", function, args);
    if let Some(mut rest) = ctx.state.resumption.take() {
        // It has given way.
        result = (rest.rest)(ctx);
    }
    text(result)
}

fn internal(ctx: &mut Ctx<'_>, function: &str, args: &[Term]) -> String {
    text(call(ctx, "erts_internal", function, args))
}

fn form(chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    let mut body = b"BEAM".to_vec();
    for (id, data) in chunks {
        body.extend_from_slice(*id);
        body.extend((data.len() as u32).to_be_bytes());
        body.extend_from_slice(data);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    [b"FOR1", &(body.len() as u32).to_be_bytes()[..], &body].concat()
}

/// A module whose only function is `start/0`; it returns 1.
fn beam(name: &str, on_load: bool) -> Vec<u8> {
    let atoms = [&[0, 0, 0, 2, name.len() as u8], name.as_bytes(), b"\x05start"].concat();
    let mut code = [16_u32, 0, 180, 3, 1].map(u32::to_be_bytes).concat();
    code.extend([1, 0x10, 2, 0x12, 0x22, 0x00, 1, 0x20]);
    if on_load {
        code.push(149);
    }
    // move 1 {x,0}; return; int_code_end
    code.extend([64, 0x11, 3, 19, 3]);
    let row = [1_u32, 2, 0, 2].map(u32::to_be_bytes).concat();
    form(&[(b"AtU8", &atoms), (b"Code", &code), (b"ImpT", &[0; 4]), (b"ExpT", &row)])
}

fn prepare(ctx: &mut Ctx<'_>, name: &str, on_load: bool) -> Term {
    let bytes = ctx.binary(&beam(name, on_load));
    let code = call(ctx, "erts_internal", "prepare_loading", &[atom(name), bytes]);
    code.unwrap_or_else(|_| panic!("{name} is well formed"))
}

fn load(ctx: &mut Ctx<'_>, names: &[&str]) -> String {
    let codes: Vec<Term> = names.iter().map(|name| prepare(ctx, name, false)).collect();
    let list = ctx.list(&codes);
    erlang(ctx, "finish_loading", &[list])
}

#[test]
fn preparing_wants_a_module_of_that_name() {
    in_process(|ctx| {
        let good = ctx.binary(&beam("bif_code_a", false));
        let bad = ctx.binary(b"FOR1");
        let bits = ctx.bitstring(&[0xe0], 3);
        assert!(internal(ctx, "prepare_loading", &[atom("bif_code_a"), good]).starts_with("#Ref<"));
        for (name, code, want) in [
            (atom("bif_code_b"), good, "{error,badfile}"),
            (atom("bif_code_a"), bad, "{error,badfile}"),
            (Term::small(1), good, "error:badarg"),
            (atom("bif_code_a"), atom("a"), "error:badarg"),
            (atom("bif_code_a"), bits, "error:badarg"),
        ] {
            assert_eq!(internal(ctx, "prepare_loading", &[name, code]), want);
        }
    });
}

#[test]
fn loading_twice_wants_a_purge_between() {
    in_process(|ctx| {
        let name = atom("bif_code_c");
        assert_eq!(erlang(ctx, "module_loaded", &[name]), "false");
        assert_eq!(erlang(ctx, "get_module_info", &[name]), "error:badarg");
        assert_eq!(load(ctx, &["bif_code_c", "bif_code_c"]), "{duplicated,[bif_code_c]}");
        assert_eq!(load(ctx, &["bif_code_c"]), "ok");
        assert_eq!(erlang(ctx, "module_loaded", &[name]), "true");
        assert_eq!(erlang(ctx, "function_exported", &[name, atom("start"), Term::small(0)]), "true");
        assert_eq!(erlang(ctx, "check_old_code", &[name]), "false");
        assert_eq!(load(ctx, &["bif_code_c"]), "ok");
        assert_eq!(erlang(ctx, "check_old_code", &[name]), "true");
        assert_eq!(load(ctx, &["bif_code_c"]), "{not_purged,[bif_code_c]}");
        assert_eq!(erlang(ctx, "delete_module", &[name]), "error:badarg");
        assert_eq!(internal(ctx, "purge_module", &[name, atom("prepare")]), "error:notsup");
        ctx.state.initial_call.module = am::erts_code_purger;
        assert_eq!(internal(ctx, "purge_module", &[name, atom("complete")]), "false");
        assert_eq!(internal(ctx, "purge_module", &[name, atom("prepare")]), "true");
        assert_eq!(internal(ctx, "check_process_code", &[name]), "false");
        assert_eq!(internal(ctx, "purge_module", &[name, atom("complete")]), "true");
        assert_eq!(internal(ctx, "purge_module", &[name, atom("now")]), "error:badarg");
        assert_eq!(erlang(ctx, "delete_module", &[name]), "true");
        assert_eq!(erlang(ctx, "delete_module", &[name]), "error:badarg");
        assert_eq!(erlang(ctx, "delete_module", &[atom("bif_code_never")]), "undefined");
        assert_eq!(erlang(ctx, "function_exported", &[name, atom("start"), Term::small(0)]), "false");
        assert_eq!(erlang(ctx, "loaded", &[]), "[bif_code_c]");
        assert_eq!(erlang(ctx, "pre_loaded", &[]), "[]");
    });
}

#[test]
fn prepared_code_can_be_used_once() {
    in_process(|ctx| {
        let code = prepare(ctx, "bif_code_d", false);
        let list = ctx.list(&[code]);
        assert_eq!(erlang(ctx, "has_prepared_code_on_load", &[code]), "false");
        assert_eq!(erlang(ctx, "finish_loading", &[list]), "ok");
        assert_eq!(erlang(ctx, "finish_loading", &[list]), "error:badarg");
        assert_eq!(erlang(ctx, "has_prepared_code_on_load", &[code]), "error:badarg");
        let reference = ctx.make_ref();
        let list = ctx.list(&[reference]);
        let improper = ctx.cons(code, code);
        for wrong in [list, improper, Term::small(1)] {
            assert_eq!(erlang(ctx, "finish_loading", &[wrong]), "error:badarg");
        }
        assert_eq!(erlang(ctx, "finish_loading", &[Term::NIL]), "ok");
    });
}

#[test]
fn on_load_is_called_and_then_decides() {
    in_process(|ctx| {
        let name = atom("bif_code_e");
        assert_eq!(erlang(ctx, "call_on_load_function", &[name]), "error:badarg");
        let (code, other) = (prepare(ctx, "bif_code_e", true), prepare(ctx, "bif_code_f", false));
        assert_eq!(erlang(ctx, "has_prepared_code_on_load", &[code]), "true");
        let both = ctx.list(&[code, other]);
        assert_eq!(erlang(ctx, "finish_loading", &[both]), "error:system_limit");
        let one = ctx.list(&[code]);
        assert_eq!(erlang(ctx, "finish_loading", &[one]), "{on_load,[bif_code_e]}");
        assert_eq!(erlang(ctx, "module_loaded", &[name]), "false");
        assert_eq!(erlang(ctx, "call_on_load_function", &[name]), "trap:start/0");
        assert_eq!(erlang(ctx, "finish_after_on_load", &[name, atom("maybe")]), "error:badarg");
        assert_eq!(erlang(ctx, "finish_after_on_load", &[name, Term::TRUE]), "true");
        assert_eq!(erlang(ctx, "finish_after_on_load", &[name, Term::TRUE]), "error:badarg");
        assert_eq!(erlang(ctx, "module_loaded", &[name]), "true");
    });
}

#[test]
fn module_info_has_its_items() {
    in_process(|ctx| {
        let name = atom("bif_code_g");
        assert_eq!(load(ctx, &["bif_code_g"]), "ok");
        for (key, want) in [
            ("module", "bif_code_g"),
            ("exports", "[{start,0}]"),
            ("functions", "[{start,0}]"),
            ("attributes", "[]"),
            ("compile", "[]"),
            ("nifs", "[]"),
            ("native", "false"),
            ("native_addresses", "[]"),
            ("else", "error:badarg"),
        ] {
            assert_eq!(erlang(ctx, "get_module_info", &[name, atom(key)]), want);
        }
        let all = erlang(ctx, "get_module_info", &[name]);
        assert!(all.starts_with("[{module,bif_code_g},{exports,[{start,0}]},{attributes,[]},{compile,[]},{md5,<<"));
        let bytes = ctx.binary(&beam("bif_code_g", false));
        let md5 = internal(ctx, "beamfile_module_md5", &[bytes]);
        assert_eq!(erlang(ctx, "get_module_info", &[name, atom("md5")]), md5);
    });
}

#[test]
fn chunks_of_plain_files_only() {
    in_process(|ctx| {
        let file = ctx.binary(&form(&[(b"Abcd", b"data"), (b"Efgh", b"")]));
        let broken = ctx.binary(b"FOR1\0\0\0\x10BEAMAbcd");
        let long = ctx.string("Abcde");
        let id = ctx.string("Abcd");
        let [empty, absent, wide] = ["Efgh", "Code", "Ab\u{100}d"].map(|s| ctx.string(s));
        for (code, id, want) in [
            (file, id, "<<\"data\">>"),
            (file, empty, "<<>>"),
            (file, absent, "undefined"),
            (broken, id, "undefined"),
            (file, long, "error:badarg"),
            (file, wide, "error:badarg"),
            (file, Term::NIL, "error:badarg"),
            (file, atom("Abcd"), "error:badarg"),
            (atom("a"), id, "error:badarg"),
        ] {
            assert_eq!(internal(ctx, "beamfile_chunk", &[code, id]), want);
        }
        let twice = ctx.binary(&form(&[(b"Abcd", b"first"), (b"Abcd", b"last")]));
        assert_eq!(internal(ctx, "beamfile_chunk", &[twice, id]), "<<\"last\">>");
        assert_eq!(internal(ctx, "beamfile_module_md5", &[broken]), "undefined");
        assert_eq!(internal(ctx, "beamfile_module_md5", &[file]), "undefined", "no atoms, no code");
        assert_eq!(internal(ctx, "beamfile_module_md5", &[id]), "error:badarg");
    });
}

#[test]
fn names_of_functions() {
    in_process(|ctx| {
        let (lists, reverse) = (atom("erlang"), atom("make_fun"));
        let big = ctx.uint(u64::MAX);
        for (arity, builtin, exported, fun) in [
            (Term::small(3), "true", "true", "fun erlang:make_fun/3"),
            (Term::small(2), "false", "false", "fun erlang:make_fun/2"),
            (Term::small(-1), "false", "false", "error:badarg"),
            (Term::small(256), "false", "false", "error:badarg"),
            (big, "error:badarg", "error:badarg", "error:badarg"),
            (reverse, "error:badarg", "error:badarg", "error:badarg"),
        ] {
            let args = [lists, reverse, arity];
            assert_eq!(erlang(ctx, "is_builtin", &args), builtin);
            assert_eq!(erlang(ctx, "function_exported", &args), exported);
            assert_eq!(erlang(ctx, "make_fun", &args), fun);
        }
        let args = [atom("A b"), atom("é"), Term::small(2)];
        let Ok(fun) = call(ctx, "erlang", "make_fun", &args) else { panic!("a fun") };
        let Ok(text) = call(ctx, "erlang", "fun_to_list", &[fun]) else { panic!("a list") };
        let bytes: Vec<u8> = text.list_iter().filter_map(|b| u8::try_from(b.as_small()?).ok()).collect();
        assert_eq!(bytes, "fun 'A b':é/2".as_bytes());
        assert_eq!(erlang(ctx, "fun_info_mfa", &[fun]), "{'A b',é,2}");
        assert_eq!(erlang(ctx, "fun_info", &[fun, atom("env")]), "{env,[]}");
        assert_eq!(erlang(ctx, "fun_info", &[fun, atom("pid")]), "{pid,undefined}");
        assert_eq!(erlang(ctx, "fun_info", &[fun, atom("type")]), "{type,external}");
        assert_eq!(erlang(ctx, "fun_info", &[fun, atom("other")]), "error:badarg");
        assert_eq!(erlang(ctx, "fun_info", &[atom("a"), atom("type")]), "error:badarg");
    });
}

#[test]
fn libraries_that_are_not_there() {
    let directory = std::env::temp_dir().join(format!("myriad-libraries-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("there.so"), [b"\x7fELF".as_slice(), &[0; 60]].concat()).unwrap();
    let directory = directory.to_str().unwrap().to_owned();
    in_process(|ctx| {
        let refused = |name: &str, why: &str| {
            let text = format!("Failed to load NIF library: '{directory}/{name}.so: {why}'");
            format!("{{error,{{load_failed,\"{text}\"}}}}")
        };
        let absent = ctx.binary(format!("{directory}/absent").as_bytes());
        let why = "cannot open shared object file: No such file or directory";
        assert_eq!(erlang(ctx, "load_nif", &[absent, Term::small(0)]), refused("absent", why));
    });
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn only_their_processes_may_purge_and_collect() {
    in_process(|ctx| {
        let me = ctx.pid().term();
        let collector =
            |ctx: &mut Ctx<'_>, f: &str, args: &[Term]| text(call(ctx, "erts_literal_area_collector", f, args));
        assert_eq!(collector(ctx, "release_area_switch", &[]), "error:notsup");
        assert_eq!(collector(ctx, "send_copy_request", &[me, atom("a"), atom("init")]), "error:notsup");
        assert_eq!(internal(ctx, "check_dirty_process_code", &[me, atom("a")]), "error:notsup");
        ctx.state.initial_call.module = am::erts_literal_area_collector;
        assert_eq!(collector(ctx, "release_area_switch", &[]), "false");
        let nobody = Pid::from_data(1 << 20).term();
        assert_eq!(collector(ctx, "send_copy_request", &[nobody, atom("a"), atom("init")]), "ok");
        ctx.state.initial_call.module = am::erts_dirty_process_signal_handler;
        assert_eq!(internal(ctx, "check_dirty_process_code", &[me, atom("a")]), "normal");
    });
}
