//! Searches that last for more than a slice, and what recorded calls do not show.

use crate::test_support::{call, in_process, text};
use myriad_term::{Build, Term, am};
use myriad_vm::bif::Escape;
use myriad_vm::{BifResult, Ctx};

/// Runs a call to its end; how often it gave way.
fn slices(ctx: &mut Ctx<'_>, function: &str, args: &[Term]) -> (BifResult, usize) {
    ctx.state.reductions.begin_slice(100);
    let (mut result, mut slices) = (call(ctx, "binary", function, args), 0);
    let mut rest = ctx.state.resumption.take();
    while let (Err(Escape::Yield), Some(go_on)) = (&result, &mut rest) {
        ctx.state.reductions.begin_slice(100);
        result = (go_on.rest)(ctx);
        slices += 1;
    }
    (result, slices)
}

/// Occurrences as pairs.
fn places(list: Term) -> Vec<(usize, usize)> {
    let pair = |t: Term| t.as_tuple_of::<2>().map(|[s, l]| (s.as_usize().unwrap_or(0), l.as_usize().unwrap_or(0)));
    list.list_iter().filter_map(pair).collect()
}

#[test]
fn long_searches_give_way_and_find_all() {
    in_process(|ctx| {
        let mut bytes = vec![b'.'; 300_000];
        // Around the borders of windows too.
        let starts = [0, 16_380, 16_384, 32_765, 49_150, 120_000, 299_996];
        for at in starts {
            bytes[at..at + 4].copy_from_slice(b"abcd");
        }
        let subject = ctx.binary(&bytes);
        let (ab, bcd, abcd, x) = (ctx.binary(b"ab"), ctx.binary(b"bcd"), ctx.binary(b"abcd"), ctx.binary(b"x"));
        for pattern in [abcd, ctx.list(&[ab, bcd, abcd])] {
            let (result, gave_way) = slices(ctx, "matches", &[subject, pattern]);
            let found = result.map(places).unwrap_or_default();
            assert_eq!(found, starts.map(|at| (at, 4)));
            assert!(gave_way > 0, "300000 bytes in one slice");
            let compiled = call(ctx, "binary", "compile_pattern", &[pattern]).unwrap_or(Term::NIL);
            assert_eq!(
                slices(ctx, "matches", &[subject, compiled]).0.map(places).ok(),
                Some(starts.map(|at| (at, 4)).to_vec())
            );
        }
        let (result, _) = slices(ctx, "match", &[subject, x]);
        assert_eq!(text(result), "nomatch");
        let option = Term::atom(am::global);
        let options = ctx.list(&[option]);
        let parts = slices(ctx, "split", &[subject, abcd, options]).0.unwrap_or(Term::NIL);
        let sizes: usize = parts.list_iter().filter_map(|p| p.as_bits().map(|b| b.len() / 8)).sum();
        assert_eq!((parts.list_length(), sizes), (Some(8), 300_000 - 28));
    });
}

#[test]
fn long_results_give_way() {
    in_process(|ctx| {
        let subject = ctx.binary(&vec![b'a'; 20_000]);
        let a = ctx.binary(b"a");
        let (result, gave_way) = slices(ctx, "matches", &[subject, a]);
        assert_eq!(result.map(places).unwrap_or_default().len(), 20_000);
        assert!(gave_way > 10);
    });
}

#[test]
fn parts_share_the_subject() {
    in_process(|ctx| {
        let subject = ctx.binary(&[b"x".repeat(100), b",".to_vec(), b"y".repeat(200)].concat());
        let comma = ctx.binary(b",");
        let parts: Vec<Term> =
            call(ctx, "binary", "split", &[subject, comma]).unwrap_or(Term::NIL).list_iter().collect();
        for part in parts {
            assert_eq!(text(call(ctx, "binary", "referenced_byte_size", &[part])), "301");
            let copy = call(ctx, "binary", "copy", &[part]).unwrap_or(Term::NIL);
            let size = part.as_bits().map_or(0, |b| b.len() / 8);
            assert_eq!(text(call(ctx, "binary", "referenced_byte_size", &[copy])), size.to_string());
        }
    });
}

#[test]
fn a_compiled_pattern_knows_its_kind() {
    in_process(|ctx| {
        let (a, bc) = (ctx.binary(b"a"), ctx.binary(b"bc"));
        for (pattern, tag) in
            [(a, am::bm), (ctx.list(&[a]), am::bm), (ctx.list(&[a, a]), am::ac), (ctx.list(&[a, bc]), am::ac)]
        {
            let compiled = call(ctx, "binary", "compile_pattern", &[pattern]).ok().and_then(|t| t.as_tuple_of::<2>());
            let [found, reference] = compiled.expect("it compiles");
            assert!(found.is_am(tag));
            let wrong = if tag == am::bm { am::ac } else { am::bm };
            let wrong = ctx.tuple(&[wrong.term(), reference]);
            assert_eq!(text(call(ctx, "binary", "match", &[a, wrong])), "error:badarg");
        }
    });
}
