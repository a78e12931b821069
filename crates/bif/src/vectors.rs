//! Calls of built-in functions against what OTP gives for them: the files in `vectors`, made by `vectors/make.escript`.

use crate::test_support::{call, in_process, text};
use myriad_term::equal::eq_exact;
use myriad_term::etf::{DecodeOptions, decode};
use myriad_term::{Term, am};
use myriad_vm::bif::Escape;
use myriad_vm::{BifResult, Ctx};

/// Makes a call with little of a slice left, and continues it in new slices.
fn to_the_end(ctx: &mut Ctx<'_>, first: impl FnOnce(&mut Ctx<'_>) -> BifResult) -> BifResult {
    ctx.state.reductions.begin_slice(1);
    let mut result = first(ctx);
    while let (Err(Escape::Yield), Some(mut rest)) = (&result, ctx.state.resumption.take()) {
        ctx.state.reductions.begin_slice(1);
        result = (rest.rest)(ctx);
        ctx.state.resumption.get_or_insert(rest);
    }
    ctx.state.resumption = None;
    result
}

fn check(name: &str, file: &[u8]) {
    in_process(|ctx| {
        let calls = decode(ctx, file, DecodeOptions::default()).expect("external terms").term;
        let mut seen = 0;
        let mut wrong = Vec::new();
        for vector in calls.list_iter() {
            let [module, function, arguments, expected] = vector.as_tuple_of::<4>().expect("a call");
            let args: Vec<Term> = arguments.list_iter().collect();
            let name = |t: Term| t.as_atom().expect("a name").text();
            let result = to_the_end(ctx, |ctx| call(ctx, name(module), name(function), &args));
            let [class, value] = expected.as_tuple_of::<2>().expect("a result");
            let same = match &result {
                Ok(term) => class.is_am(am::ok) && eq_exact(*term, value),
                Err(Escape::Error(reason)) => class.is_am(am::error) && eq_exact(*reason, value),
                Err(_) => false,
            };
            seen += 1;
            if !same {
                wrong.push(format!("{vector}: {}", text(result)));
            }
        }
        assert!(seen > 10, "{name} holds no vectors");
        assert!(
            wrong.is_empty(),
            "{name}: {} of {seen} wrong:\n{}",
            wrong.len(),
            wrong[..wrong.len().min(20)].join("\n")
        );
    });
}

#[test]
fn iolists() {
    check("iolists", include_bytes!("../vectors/iolists.etf"));
}

#[test]
fn unicode() {
    check("unicode", include_bytes!("../vectors/unicode.etf"));
}

#[test]
fn system() {
    check("system", include_bytes!("../vectors/system.etf"));
}

#[test]
fn binaries() {
    check("binaries", include_bytes!("../vectors/binaries.etf"));
}

#[test]
fn binary() {
    check("binary", include_bytes!("../vectors/binary.etf"));
}

#[test]
fn searches_with_compiled_patterns() {
    in_process(|ctx| {
        let calls = decode(ctx, include_bytes!("../vectors/binary.etf"), DecodeOptions::default())
            .expect("external terms")
            .term;
        let mut seen = 0;
        for vector in calls.list_iter() {
            let [_, function, arguments, expected] = vector.as_tuple_of::<4>().expect("a call");
            let mut args: Vec<Term> = arguments.list_iter().collect();
            let (function, [class, value]) =
                (function.as_atom().expect("a name"), expected.as_tuple_of::<2>().expect("a result"));
            if !matches!(function.text(), "match" | "matches" | "split") || !class.is_am(am::ok) {
                continue;
            }
            // Empty subjects make bad patterns pass: those do not compile.
            let Ok(compiled) = call(ctx, "binary", "compile_pattern", &args[1..2]) else { continue };
            args[1] = compiled;
            let result = to_the_end(ctx, |ctx| call(ctx, "binary", function.text(), &args));
            assert!(result.as_ref().is_ok_and(|r| eq_exact(*r, value)), "{vector}: {}", text(result));
            seen += 1;
        }
        assert!(seen > 1000);
    });
}
