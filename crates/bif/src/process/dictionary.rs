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
    let dictionary = ctx.state.dictionary.get_or_insert_default();
    Ok(dictionary.put(args[0], args[1]).unwrap_or(Term::UNDEFINED))
}

fn get_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    Ok(ctx.dictionary_value(args[0]))
}

/// A list of what `item` makes of each entry that it wants. `item` must not look at the dictionary.
fn list_of(ctx: &mut Ctx<'_>, mut item: impl FnMut(&mut Ctx<'_>, Term, Term) -> Option<Term>) -> Term {
    let Some(dictionary) = ctx.state.dictionary.take() else { return Term::NIL };
    let mut list = Term::NIL;
    for [key, value] in dictionary.entries().iter().rev() {
        if let Some(item) = item(ctx, *key, *value) {
            list = ctx.cons(item, list);
        }
    }
    ctx.bump(dictionary.entries().len() / ENTRIES_PER_REDUCTION);
    ctx.state.dictionary = Some(dictionary);
    list
}

/// Entries that are listed for one reduction.
const ENTRIES_PER_REDUCTION: usize = 16;

fn get_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    Ok(list_of(ctx, |ctx, key, value| Some(ctx.tuple(&[key, value]))))
}

fn get_keys_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    Ok(list_of(ctx, |_, key, _| Some(key)))
}

fn get_keys_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    Ok(list_of(ctx, |_, key, value| eq_exact(value, args[0]).then_some(key)))
}

fn erase_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    Ok(ctx.state.dictionary.as_mut().and_then(|d| d.erase(args[0])).unwrap_or(Term::UNDEFINED))
}

fn erase_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let all = list_of(ctx, |ctx, key, value| Some(ctx.tuple(&[key, value])));
    ctx.state.dictionary = None;
    Ok(all)
}
