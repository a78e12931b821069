//! Maps.

use crate::guards::bad_map;
use crate::work::{dirty, in_slices};
use myriad_term::map::{self, Builder, Map, Pair};
use myriad_term::word::ListIter;
use myriad_term::{Build, Term};
use myriad_vm::bif::{BADARG, Escape, badarg};
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub MAPS = "maps" {
    "get" / 2 Plain => |_, a| of(&a[1])?.get(a[0]).ok_or(Escape::BadKey(a[0]));
    "find" / 2 Plain => find_2;
    "is_key" / 2 Plain => |_, a| Ok(Term::bool(of(&a[1])?.has_key(a[0])));
    "put" / 3 Plain => |ctx, a| Ok(of(&a[2])?.put(ctx, a[0], a[1]));
    "update" / 3 Plain => |ctx, a| of(&a[2])?.update(ctx, a[0], a[1]).ok_or(Escape::BadKey(a[0]));
    "remove" / 2 Plain => |ctx, a| Ok(of(&a[1])?.remove(ctx, a[0]));
    "take" / 2 Plain => take_2;
    "keys" / 1 Plain => |ctx, a| list_of(ctx, a[0], |(key, _)| key);
    "values" / 1 Plain => |ctx, a| list_of(ctx, a[0], |(_, value)| value);
    "merge" / 2 Plain => merge_2;
    "from_list" / 1 Plain => from_list_1;
    "from_keys" / 2 Plain => from_keys_2;
}}

myriad_vm::bifs! { pub INTERNAL_MAPS = "erts_internal" {
    "map_next" / 3 Plain => map_next_3;
    "map_to_tuple_keys" / 1 Plain => map_to_tuple_keys_1;
}}

fn of(term: &Term) -> Result<Map<'_, 'static>, Escape> {
    match term.as_map() {
        Some(map) => Ok(map),
        None => bad_map(*term),
    }
}

/// Pairs of larger maps are merged on a dirty scheduler.
const LONG: usize = 20_000;
/// Pairs that a map is made of at once, however little of the slice is left.
const AT_ONCE: usize = 2048;
/// Pairs that are looked at for one reduction.
const PER_REDUCTION: usize = 8;

/// The map, its size counted as work.
fn counted<'a>(ctx: &mut Ctx<'_>, term: &'a Term) -> Result<Map<'a, 'static>, Escape> {
    let map = of(term)?;
    if map.size() > LONG {
        dirty(ctx)?;
    }
    ctx.bump(map.size() / 8);
    Ok(map)
}

fn find_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    Ok(match of(&args[1])?.get(args[0]) {
        Some(value) => ctx.tuple(&[Term::OK, value]),
        None => Term::atom(myriad_term::am::error),
    })
}

fn take_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    Ok(match of(&args[1])?.take(ctx, args[0]) {
        Some((value, rest)) => ctx.tuple(&[value, rest]),
        None => Term::atom(myriad_term::am::error),
    })
}

fn merge_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let first = counted(ctx, &args[0])?;
    let second = counted(ctx, &args[1])?;
    Ok(first.merge(ctx, second))
}

fn from_list_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    of_items(ctx, args[0], |item| item.as_tuple_of::<2>().map(|[key, value]| (key, value)))
}

fn from_keys_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let value = args[1];
    of_items(ctx, args[0], move |key| Some((key, value)))
}

/// The map of the pairs that `pair` makes of the elements of a list.
fn of_items(ctx: &mut Ctx<'_>, list: Term, pair: impl Fn(Term) -> Option<Pair<'static>> + Send + 'static) -> BifResult {
    let mut items = list.list_iter();
    let mut pairs = Vec::new();
    for item in items.by_ref().take(AT_ONCE) {
        pairs.push(pair(item).ok_or(BADARG)?);
    }
    if !items.tail().is_cons() {
        proper(&items)?;
        ctx.bump(pairs.len() / 4);
        return Ok(map::from_pairs(ctx, &pairs));
    }
    let mut builder = Builder::new(pairs.len() + items.tail().list_iter().take(map::MANY).count());
    for (key, value) in pairs {
        builder.push(key, value);
    }
    let mut complete = false;
    in_slices(ctx, PER_REDUCTION, move |ctx, budget| {
        while !complete && *budget > 0 {
            *budget -= 1;
            match items.next() {
                Some(item) => {
                    let (key, value) = pair(item).ok_or(BADARG)?;
                    builder.push(key, value);
                }
                None => {
                    proper(&items)?;
                    complete = true;
                }
            }
        }
        Ok(if complete { builder.build(ctx, budget) } else { None })
    })
}

/// The end of a list that was walked to it: a proper one?
fn proper(list: &ListIter) -> Result<(), Escape> {
    if list.tail().is_nil() { Ok(()) } else { badarg() }
}

/// A list of what `item` makes of each pair, in the order of `maps:to_list/1`.
fn list_of(ctx: &mut Ctx<'_>, term: Term, item: fn(Pair<'static>) -> Term) -> BifResult {
    let map = of(&term)?;
    let mut pairs = map.pairs_from_end();
    let mut list = Term::NIL;
    if map.size() <= AT_ONCE {
        for pair in pairs {
            list = ctx.cons(item(pair), list);
        }
        ctx.bump(map.size() / PER_REDUCTION);
        return Ok(list);
    }
    in_slices(ctx, PER_REDUCTION, move |ctx, budget| {
        for pair in pairs.by_ref().take(*budget) {
            *budget -= 1;
            list = ctx.cons(item(pair), list);
        }
        Ok((pairs.len() == 0).then_some(list))
    })
}

/// Pairs that one step of an iterator or one batch of a list gives.
const BATCH: usize = 100;

/// A step of `maps:iterator/1`: `{Key, Value, Next}` chains, or a list of pairs that ends in the rest of the path.
fn map_next_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (Some(path), Some(map)) = (args[0].as_usize(), args[1].as_map()) else { return badarg() };
    ctx.bump(BATCH / 4);
    let result = if args[2].is_am(myriad_term::am::iterator) {
        map::next_iterator(ctx, path as u64, map, BATCH)
    } else if args[2].is_list() {
        map::next_list(ctx, path as u64, map, BATCH, args[2])
    } else {
        return badarg();
    };
    result.or_else(|_| badarg())
}

fn map_to_tuple_keys_1(_: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    match of(&args[0])?.flat_keys() {
        Some(keys) => Ok(keys),
        None => badarg(),
    }
}
