//! The built-ins as a process calls them, against recorded calls of OTP 25 (`testdata/record.erl`).
//!
//! Calls run with few reductions in a slice, so that long ones give way and are resumed many times.

use crate::test_support::{call, in_process};
use myriad_term::equal::eq_exact;
use myriad_term::etf::{DecodeOptions, decode};
use myriad_term::print::display;
use myriad_term::{Atom, Build, Export, Mfa, Pid, Term, am};
use myriad_vm::spawn::{SpawnOptions, spawn_orphan};
use myriad_vm::{BifResult, Ctx, Escape};

fn atom(text: &str) -> Term {
    Atom::new(text).expect("room").term()
}

/// The terms of a recorded file.
fn recorded(ctx: &mut Ctx<'_>, mut bytes: &[u8]) -> Vec<Term> {
    let mut terms = Vec::new();
    while let Some((size, rest)) = bytes.split_first_chunk::<4>() {
        let (term, rest) = rest.split_at(u32::from_be_bytes(*size) as usize);
        terms.push(decode(ctx, term, DecodeOptions::default()).expect("a term").term);
        bytes = rest;
    }
    terms
}

fn shown(term: Term) -> String {
    String::from_utf8_lossy(&display(term)).into_owned()
}

/// Calls a function to its end.
fn finished(ctx: &mut Ctx<'_>, module: &str, function: &str, args: &[Term]) -> BifResult {
    ctx.state.reductions.begin_slice(20);
    let mut result = call(ctx, module, function, args);
    while let Err(Escape::Yield) = result {
        ctx.state.reductions.begin_slice(20);
        let mut rest = ctx.state.resumption.take().expect("a resumption");
        result = (rest.rest)(ctx);
    }
    result
}

/// Terms with `{'$table', N}` for tables and `'$reference'` for other references, as recorded, and back.
struct Tables(Vec<Term>);

impl Tables {
    fn map(&self, ctx: &mut Ctx<'_>, term: Term, one: &dyn Fn(&Self, &mut Ctx<'_>, Term) -> Option<Term>) -> Term {
        if let Some(term) = one(self, ctx, term) {
            return term;
        }
        if let Some(tuple) = term.as_tuple() {
            let elements: Vec<Term> = tuple.elements().iter().map(|e| self.map(ctx, *e, one)).collect();
            return ctx.tuple(&elements);
        }
        if term.is_cons() {
            let mut items = term.list_iter();
            let list: Vec<Term> = items.by_ref().map(|e| self.map(ctx, e, one)).collect();
            let tail = self.map(ctx, items.tail(), one);
            return ctx.list_onto(&list, tail);
        }
        term
    }

    fn real(&self, ctx: &mut Ctx<'_>, term: Term) -> Term {
        self.map(ctx, term, &|tables, _, term| {
            let [tag, n] = term.as_tuple_of::<2>()?;
            tag.is(atom("$table")).then(|| tables.0[n.as_usize().unwrap()])
        })
    }

    fn hidden(&self, ctx: &mut Ctx<'_>, term: Term) -> Term {
        self.map(ctx, term, &|tables, ctx, term| {
            if let Some(n) = tables.0.iter().position(|t| eq_exact(*t, term)) {
                return Some(ctx.tuple(&[atom("$table"), Term::small(n as i64)]));
            }
            term.is_reference().then(|| atom("$reference"))
        })
    }
}

fn chunks(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let name = args[0].as_atom().expect("a name").text();
    let mut lists = Vec::new();
    let mut got = finished(ctx, "ets", name, &args[1..])?;
    while let Some([list, continuation]) = got.as_tuple_of::<2>() {
        lists.push(list);
        got = finished(ctx, "ets", name, &[continuation])?;
    }
    assert!(got.is_am(am::end_of_table), "{}", shown(got));
    Ok(ctx.list(&lists))
}

fn walk(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let name = |term: Term| term.as_atom().expect("a name").text();
    let mut keys = Vec::new();
    let mut key = finished(ctx, "ets", name(args[1]), &args[..1])?;
    while !key.is_am(am::end_of_table) {
        keys.push(key);
        key = finished(ctx, "ets", name(args[2]), &[args[0], key])?;
    }
    Ok(ctx.list(&keys))
}

/// What a call gives, in the form of the record.
fn outcome(ctx: &mut Ctx<'_>, function: &str, args: &[Term]) -> Term {
    ctx.state.error_cause = Term::NONE;
    let result = match function {
        "chunks" => chunks(ctx, args),
        "walk" => walk(ctx, args),
        _ => finished(ctx, "ets", function, args),
    };
    match result {
        Ok(value) => ctx.tuple(&[atom("value"), value]),
        Err(Escape::Error(reason)) => {
            let cause = ctx.state.error_cause;
            let cause = if cause.is_none() { atom("none") } else { cause };
            ctx.tuple(&[atom("error"), reason, cause])
        }
        Err(_) => atom("another_escape"),
    }
}

#[test]
fn recorded_calls_give_what_otp_gives() {
    in_process(|ctx| {
        let mut tables = Tables(Vec::new());
        let calls = recorded(ctx, include_bytes!("../testdata/calls.bin"));
        assert!(calls.len() > 3000);
        let mut wrong = 0;
        for (i, record) in calls.into_iter().enumerate() {
            let [function, args, expected] = record.as_tuple_of::<3>().expect("a record");
            let function = function.as_atom().expect("a name").text();
            let real = tables.real(ctx, args);
            let real: Vec<Term> = real.list_iter().collect();
            let got = outcome(ctx, function, &real);
            if function == "new" {
                let [_, table] = got.as_tuple_of::<2>().expect("a table");
                tables.0.push(table);
                continue;
            }
            let got = tables.hidden(ctx, got);
            if !eq_exact(got, expected) {
                wrong += 1;
                println!("{i} {function} {}\n  expected {}\n  got      {}", shown(args), shown(expected), shown(got));
                assert!(wrong < 8);
            }
        }
        assert_eq!(wrong, 0);
    });
}

#[test]
fn recorded_specifications_give_what_otp_gives() {
    in_process(|ctx| {
        let records = recorded(ctx, include_bytes!("../testdata/specs.bin"));
        assert!(records.len() > 200);
        let mut wrong = 0;
        for record in records {
            let [term, spec, dialect, expected] = record.as_tuple_of::<4>().expect("a record");
            let got = match finished(ctx, "erlang", "match_spec_test", &[term, spec, dialect]) {
                Ok(value) => value,
                Err(Escape::Error(reason)) => ctx.tuple(&[atom("EXIT"), reason]),
                Err(_) => atom("another_escape"),
            };
            let (expected, got) = (shown(expected), shown(got).replace(&shown(ctx.pid().term()), "<0.9.0>"));
            if expected != got {
                wrong += 1;
                println!("{} {}\n  expected {expected}\n  got      {got}", shown(term), shown(spec));
            }
        }
        assert_eq!(wrong, 0);
    });
}

/// `{Tag, Value}` options and atoms, as a list.
fn new_table(ctx: &mut Ctx<'_>, name: &str, options: &[Term]) -> Term {
    let options = ctx.list(options);
    finished(ctx, "ets", "new", &[atom(name), options]).ok().expect("a table")
}

/// Another process, which never runs.
fn another(ctx: &mut Ctx<'_>) -> Pid {
    let first = Export::intern(Mfa { module: am::erts_internal, function: am::start, arity: 0 });
    spawn_orphan(ctx.vm, first, &[], &SpawnOptions::new(ctx.vm)).expect("room")
}

fn info(ctx: &mut Ctx<'_>, table: Term, item: &str) -> String {
    shown(finished(ctx, "ets", "info", &[table, atom(item)]).ok().expect("an answer"))
}

/// The process ends, slice by slice.
fn ends(ctx: &mut Ctx<'_>) {
    let Some(mut rest) = crate::admin::process_exits(ctx) else { return };
    loop {
        ctx.state.reductions.begin_slice(10);
        if !matches!(rest(ctx), Err(Escape::Yield)) {
            break;
        }
    }
}

#[test]
fn tables_end_with_their_owner_or_go_to_the_heir() {
    in_process(|ctx| {
        let heir = another(ctx);
        let option = ctx.tuple(&[atom("heir"), heir.term(), atom("gift")]);
        let kept = new_table(ctx, "kept", &[option]);
        let lost = new_table(ctx, "lost", &[]);
        let named = new_table(ctx, "named_and_lost", &[atom("named_table")]);
        let row = ctx.tuple(&[Term::small(1)]);
        assert!(finished(ctx, "ets", "insert", &[kept, row]).is_ok());
        assert!(finished(ctx, "ets", "safe_fixtable", &[kept, Term::TRUE]).is_ok());
        ends(ctx);
        for table in [lost, named] {
            assert_eq!(info(ctx, table, "size"), "undefined");
        }
        assert_eq!(info(ctx, kept, "size"), "1");
        assert_eq!(info(ctx, kept, "owner"), shown(heir.term()));
        assert_eq!((info(ctx, kept, "fixed"), info(ctx, kept, "heir")), ("false".into(), shown(heir.term())));
        // The former owner may read it, but no longer write.
        let refused = finished(ctx, "ets", "insert", &[kept, row]);
        assert!(matches!(refused, Err(Escape::Error(reason)) if reason.is_am(am::badarg)));
        assert!(ctx.state.error_cause.is_am(am::access));
    });
}

#[test]
fn tables_are_given_away_to_the_living_only() {
    in_process(|ctx| {
        let other = another(ctx);
        let table = new_table(ctx, "gift", &[]);
        let nobody = Pid::new(900, 3).term();
        assert!(finished(ctx, "ets", "give_away", &[table, nobody, atom("x")]).is_err());
        assert_eq!(info(ctx, table, "owner"), shown(ctx.pid().term()));
        assert!(finished(ctx, "ets", "give_away", &[table, other.term(), atom("x")]).is_ok());
        assert_eq!(info(ctx, table, "owner"), shown(other.term()));
        // It does not go with the one that made it.
        ends(ctx);
        assert_eq!(info(ctx, table, "size"), "0");
    });
}

#[test]
fn an_identifier_without_its_table_is_found_by_number() {
    in_process(|ctx| {
        let table = new_table(ctx, "t", &[]);
        let numbers = table.as_local_ref().expect("a reference");
        let plain = ctx.reference(numbers);
        let row = ctx.tuple(&[Term::small(1)]);
        assert!(finished(ctx, "ets", "insert", &[plain, row]).is_ok());
        assert_eq!(info(ctx, table, "size"), "1");
        assert!(finished(ctx, "ets", "delete", &[plain]).is_ok());
        assert!(finished(ctx, "ets", "lookup", &[plain, Term::small(1)]).is_err());
    });
}

#[test]
fn specifications_may_be_deep() {
    in_process(|ctx| {
        let (mut guard, mut pattern) = (Term::TRUE, atom("$1"));
        for _ in 0..100_000 {
            guard = ctx.tuple(&[atom("not"), guard]);
            pattern = ctx.tuple(&[pattern]);
        }
        let guards = ctx.list(&[guard]);
        let body = ctx.list(&[atom("$1")]);
        let head = ctx.tuple(&[pattern]);
        let clause = ctx.tuple(&[head, guards, body]);
        let spec = ctx.list(&[clause]);
        let table = new_table(ctx, "t", &[]);
        let mut key = Term::small(7);
        for _ in 0..100_000 {
            key = ctx.tuple(&[key]);
        }
        let row = ctx.tuple(&[key]);
        assert!(finished(ctx, "ets", "insert", &[table, row]).is_ok());
        let found = finished(ctx, "ets", "select", &[table, spec]).ok().expect("a list");
        assert_eq!(shown(found), "[7]");
    });
}
