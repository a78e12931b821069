//! The process dictionary.

use myriad_term::equal::eq_exact;
use myriad_term::{Build, Term};
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub DICTIONARY = "erlang" {
    "put" / 2 Plain => put_2;
    "get" / 1 Plain => get_1;
    "get" / 0 Plain => get_0;
    "get_keys" / 0 Plain => get_keys_0;
    "get_keys" / 1 Plain => get_keys_1;
    "erase" / 1 Plain => erase_1;
    "erase" / 0 Plain => erase_0;
}}

fn put_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let dictionary = ctx.proc.dictionary.get_or_insert_default();
    Ok(dictionary.put(args[0], args[1]).unwrap_or(Term::UNDEFINED))
}

fn get_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    Ok(ctx.proc.dictionary.as_ref().and_then(|d| d.get(args[0])).unwrap_or(Term::UNDEFINED))
}

fn entries(ctx: &Ctx<'_>) -> Vec<(Term, Term)> {
    ctx.proc.dictionary.as_ref().map(|d| d.entries.clone()).unwrap_or_default()
}

fn pairs(ctx: &mut Ctx<'_>) -> Term {
    let pairs: Vec<Term> = entries(ctx).into_iter().map(|(k, v)| ctx.tuple(&[k, v])).collect();
    ctx.list(&pairs)
}

fn get_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    Ok(pairs(ctx))
}

fn get_keys_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let keys: Vec<Term> = entries(ctx).into_iter().map(|(k, _)| k).collect();
    Ok(ctx.list(&keys))
}

fn get_keys_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let with_value = entries(ctx).into_iter().filter(|(_, v)| eq_exact(*v, args[0]));
    let keys: Vec<Term> = with_value.map(|(k, _)| k).collect();
    Ok(ctx.list(&keys))
}

fn erase_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    Ok(ctx.proc.dictionary.as_mut().and_then(|d| d.erase(args[0])).unwrap_or(Term::UNDEFINED))
}

fn erase_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let all = pairs(ctx);
    ctx.proc.dictionary = None;
    Ok(all)
}
