//! The lock profile ([`myriad_sync::profile`]) for Erlang: what OTP's module `lcnt` asks of the emulator, and `myriad:locks/0,1`.
//!
//! The shape of what is collected is that of `lcnt` (tools application): `{Name, Id, Type, [{{File, Line}, {Tries, Collisions, {Seconds,
//! Nanoseconds, Waits}}, Histogram}]}`. Counting begins with the first `lcnt_clear/0` or the first mask that is set, and
//! ends with an empty mask. All classes are counted; the mask only chooses which are shown.

use super::state::state;
use myriad_sync::profile::{self, Column, Counts, How, Row, Snapshot};
use myriad_term::{Atom, Build, Term, am};
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx};
use std::collections::BTreeMap;

myriad_vm::bifs! { pub LCNT = "erts_debug" {
    "lcnt_clear" / 0 Plain => |ctx, _| { clear(ctx); Ok(Term::atom(am::ok)) };
    "lcnt_collect" / 0 Plain => |ctx, _| collect(ctx);
    "lcnt_control" / 1 Plain => |ctx, a| control_1(ctx, a[0]);
    "lcnt_control" / 2 Plain => |ctx, a| control_2(ctx, a[0], a[1]);
}}

myriad_vm::bifs! { pub LOCKS = "myriad" {
    "locks" / 0 Plain => |ctx, _| report(ctx, Term::NIL);
    "locks" / 1 Plain => |ctx, a| locks_1(ctx, a[0]);
}}

/// `lcnt`'s categories, in OTP's order; a mask has a bit for each.
const CATEGORIES: [&str; 8] = ["allocator", "db", "debug", "distribution", "generic", "io", "process", "scheduler"];

/// `lcnt`'s histograms have so many places, of which the first is for waits below 2^11 nanoseconds.
const PLACES: usize = 30;
const FIRST_PLACE_LOG2: usize = 10;

/// What `lcnt` has set, and since when it counts.
pub struct LockProfile {
    /// A bit for each of `CATEGORIES`.
    mask: u8,
    copy_save: bool,
    since: Snapshot,
}

impl Default for LockProfile {
    fn default() -> LockProfile {
        LockProfile { mask: u8::MAX, copy_save: false, since: Snapshot::default() }
    }
}

fn named(text: &str) -> Term {
    Atom::new(text).map_or(Term::UNDEFINED, Term::atom)
}

/// Is it the atom of this text?
fn is(term: Term, text: &str) -> bool {
    term.as_atom().is_some_and(|atom| atom.text() == text)
}

fn category(class: &str) -> &'static str {
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| class.starts_with(prefix));
    match class {
        _ if begins(&["db_", "meta_name_tab"]) => "db",
        _ if begins(&["port_", "poll_", "efile_", "prim_buffer", "zlib", "driver_", "terminal_"]) => "io",
        _ if begins(&["ptab_", "reg_tab"]) => "process",
        _ if begins(&[
            "run_queue",
            "dirty_run_queue",
            "balance",
            "multi_scheduling",
            "scheduler_",
            "private_thread",
            "microstates",
        ]) =>
        {
            "scheduler"
        }
        _ => "generic",
    }
}

/// Counts from now on, unless the mask is empty.
fn clear(ctx: &Ctx<'_>) {
    let mut state = state(ctx.vm);
    if state.locks.mask != 0 && !profile::enabled() {
        profile::set_enabled(true);
    }
    state.locks.since = Snapshot::take();
}

/// What has been counted since it was last cleared.
fn counted(ctx: &Ctx<'_>) -> Snapshot {
    Snapshot::take().since(&state(ctx.vm).locks.since)
}

fn set_mask(ctx: &Ctx<'_>, mask: u8) {
    state(ctx.vm).locks.mask = mask;
    profile::set_enabled(mask != 0);
}

fn control_1(ctx: &mut Ctx<'_>, what: Term) -> BifResult {
    if is(what, "copy_save") {
        return Ok(Term::bool(state(ctx.vm).locks.copy_save));
    }
    if !is(what, "mask") {
        return badarg();
    }
    let mask = state(ctx.vm).locks.mask;
    let names: Vec<Term> =
        (0..CATEGORIES.len()).filter(|bit| mask & 1 << bit != 0).map(|bit| named(CATEGORIES[bit])).collect();
    ctx.make_room(2 * names.len())?;
    Ok(ctx.list(&names))
}

fn control_2(ctx: &mut Ctx<'_>, what: Term, value: Term) -> BifResult {
    if is(what, "copy_save") {
        // What is gone stays in the profile anyway, as far as there is room.
        state(ctx.vm).locks.copy_save = match value {
            v if v.is_am(am::true_) => true,
            v if v.is_am(am::false_) => false,
            _ => return badarg(),
        };
        return Ok(Term::atom(am::ok));
    }
    if !is(what, "mask") || value.list_length().is_none() {
        return badarg();
    }
    let mut mask = 0;
    for item in value.list_iter() {
        match CATEGORIES.iter().position(|name| is(item, name)) {
            Some(bit) => mask |= 1 << bit,
            None => {
                ctx.make_room(4)?;
                return Ok(ctx.tuple(&[Term::atom(am::error), Term::atom(am::badarg), item]));
            }
        }
    }
    set_mask(ctx, mask);
    Ok(Term::atom(am::ok))
}

/// What one of `lcnt`'s locks is told apart by.
type Lock = (&'static str, usize, &'static str);

fn lock_of(row: &Row) -> Lock {
    let kind = match row.how {
        How::Mutex => "mutex",
        How::Spin | How::Queue => "spinlock",
        How::Read | How::Write => "rw_mutex",
    };
    (row.class.name(), row.lock, kind)
}

fn time(ctx: &mut Ctx<'_>, ns: u64) -> [Term; 2] {
    [ctx.uint(ns / 1_000_000_000), ctx.uint(ns % 1_000_000_000)]
}

fn histogram(ctx: &mut Ctx<'_>, counts: &Counts) -> Term {
    let mut places = [0; PLACES];
    for (log2, count) in counts.waits.iter().enumerate() {
        places[log2.saturating_sub(FIRST_PLACE_LOG2).min(PLACES - 1)] += count;
    }
    let places = places.map(|count| ctx.uint(count));
    ctx.tuple(&places)
}

fn collect(ctx: &mut Ctx<'_>) -> BifResult {
    let mask = state(ctx.vm).locks.mask;
    let mut counted = counted(ctx);
    counted.rows.retain(|row| {
        let category = category(row.class.name());
        CATEGORIES.iter().position(|name| *name == category).is_some_and(|bit| mask & 1 << bit != 0)
    });
    let by_place = counted.sums(|row| {
        let place = row.site.map_or(("undefined", 0), |site| (site.file(), site.line()));
        (lock_of(row), place)
    });
    let mut by_lock = BTreeMap::<Lock, Vec<_>>::new();
    for ((lock, place), counts) in by_place {
        by_lock.entry(lock).or_default().push((place, counts));
    }
    let places: usize = by_lock.values().map(Vec::len).sum();
    // A place: tuples of 2, 3, 3, 3 and PLACES elements, a cell, and at most PLACES + 6 integers that are not small.
    ctx.make_room(32 + by_lock.len() * 16 + places * (24 + 3 * (PLACES + 6)))?;
    let mut of_class = BTreeMap::<&str, usize>::new();
    by_lock.keys().for_each(|(class, ..)| *of_class.entry(class).or_default() += 1);
    let names: BTreeMap<usize, Term> = ctx.vm.subsystems().flat_map(|one| one.locks()).collect();
    let mut locks = Term::NIL;
    for ((class, lock, kind), places) in by_lock.into_iter().rev() {
        let stats: Vec<Term> = places.iter().map(|((file, line), counts)| stats(ctx, file, *line, counts)).collect();
        let stats = ctx.list(&stats);
        let id = match lock {
            0 => named("others"),
            lock if names.contains_key(&lock) => names[&lock],
            _ if of_class[class] == 1 => Term::UNDEFINED,
            lock => ctx.uint(lock as u64),
        };
        let lock = ctx.tuple(&[named(class), id, named(kind), stats]);
        locks = ctx.cons(lock, locks);
    }
    let duration = time(ctx, counted.ns);
    let duration = ctx.tuple(&duration);
    let duration = ctx.tuple(&[named("duration"), duration]);
    let locks = ctx.tuple(&[named("locks"), locks]);
    Ok(ctx.list(&[duration, locks]))
}

fn stats(ctx: &mut Ctx<'_>, file: &str, line: u32, counts: &Counts) -> Term {
    let place = ctx.tuple(&[named(file), Term::small(i64::from(line))]);
    let [seconds, ns] = time(ctx, counts.wait_ns);
    let waits = ctx.uint(counts.waits.iter().sum());
    let waited = ctx.tuple(&[seconds, ns, waits]);
    let (tries, collisions) = (ctx.uint(counts.tries), ctx.uint(counts.collisions));
    let numbers = ctx.tuple(&[tries, collisions, waited]);
    let histogram = histogram(ctx, counts);
    ctx.tuple(&[place, numbers, histogram])
}

/// `on` counts from now on, `off` ends counting; a list of options reports as a binary: `{sort, collisions | tries | wait}`,
/// `by_scheduler`, `json`.
fn locks_1(ctx: &mut Ctx<'_>, what: Term) -> BifResult {
    if is(what, "on") {
        set_mask(ctx, u8::MAX);
        clear(ctx);
    } else if is(what, "off") {
        profile::set_enabled(false);
    } else {
        return report(ctx, what);
    }
    Ok(Term::atom(am::ok))
}

fn report(ctx: &mut Ctx<'_>, options: Term) -> BifResult {
    if options.list_length().is_none() {
        return badarg();
    }
    let (mut by, mut by_thread, mut as_json) = (Column::Collisions, false, false);
    for option in options.list_iter() {
        match option.as_tuple_of::<2>() {
            Some([sort, column]) if is(sort, "sort") => {
                match column.as_atom().and_then(|name| Column::of_name(name.text())) {
                    Some(column) => by = column,
                    None => return badarg(),
                }
            }
            _ if is(option, "by_scheduler") => by_thread = true,
            _ if is(option, "json") => as_json = true,
            _ => return badarg(),
        }
    }
    let counted = counted(ctx);
    let text = if as_json { profile::json(&counted, by) } else { profile::text(&counted, by, by_thread) };
    Ok(ctx.binary(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::{CATEGORIES, category};
    use crate::test_support::{call, in_process, text};
    use myriad_term::{Atom, Build, Term, am};

    #[test]
    fn each_category_of_a_class_is_one_of_lcnts() {
        for class in ["db_tab", "run_queue", "port_lock", "reg_tab", "atom_tab"] {
            assert!(CATEGORIES.contains(&category(class)), "{class}");
        }
        assert_ne!(category("db_tab"), category("atom_tab"));
    }

    #[test]
    fn the_mask_switches_and_bad_words_are_refused() {
        in_process(|ctx| {
            let name = |text| Term::atom(Atom::new(text).expect("short"));
            let ask = |ctx: &mut _, function, args: &[Term]| text(call(ctx, "erts_debug", function, args));
            assert_eq!(ask(ctx, "lcnt_control", &[name("copy_save")]), "false");
            assert_eq!(ask(ctx, "lcnt_control", &[name("copy_save"), Term::TRUE]), "ok");
            assert_eq!(ask(ctx, "lcnt_control", &[name("copy_save")]), "true");
            let bad = ctx.list(&[name("db"), name("sea")]);
            assert_eq!(ask(ctx, "lcnt_control", &[name("mask"), bad]), "{error,badarg,sea}");
            let improper = ctx.cons(name("db"), name("io"));
            for (what, value) in
                [("mask", name("db")), ("mask", improper), ("copy_save", Term::small(1)), ("sea", Term::NIL)]
            {
                let refused = ask(ctx, "lcnt_control", &[name(what), value]);
                assert!(refused.contains("badarg"), "{refused}");
            }
            let some = ctx.list(&[name("io"), name("db")]);
            assert_eq!(ask(ctx, "lcnt_control", &[name("mask"), some]), "ok");
            assert_eq!(ask(ctx, "lcnt_control", &[name("mask")]), "[db,io]");
            assert_eq!(text(call(ctx, "erlang", "system_info", &[Term::atom(am::lock_counting)])), "true");
            assert_eq!(ask(ctx, "lcnt_control", &[name("mask"), Term::NIL]), "ok");
            assert_eq!(ask(ctx, "lcnt_clear", &[]), "ok");
            assert_eq!(text(call(ctx, "erlang", "system_info", &[Term::atom(am::lock_counting)])), "false");
            let collected = ask(ctx, "lcnt_collect", &[]);
            assert!(collected.starts_with("[{duration,{") && collected.ends_with("{locks,[]}]"), "{collected}");
            let options = ctx.list(&[name("json"), name("csv")]);
            assert!(text(call(ctx, "myriad", "locks", &[options])).contains("badarg"));
        });
    }
}
