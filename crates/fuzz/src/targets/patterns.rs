//! Any pattern compiles or is refused, and running it over any subject ends within its limits.
//!
//! The input: four bytes of options, a byte of the length of the pattern, the pattern, the subject.

use super::process::{built_in, call, in_process};
use myriad_term::{Atom, Build, Term};
use myriad_vm::{BifResult, Ctx};

/// Options of compiling, a bit of the first two bytes each.
const COMPILING: [&str; 14] = [
    "unicode",
    "caseless",
    "multiline",
    "dotall",
    "anchored",
    "extended",
    "ungreedy",
    "dollar_endonly",
    "no_auto_capture",
    "firstline",
    "dupnames",
    "ucp",
    "bsr_anycrlf",
    "no_start_optimize",
];
/// Options of running, a bit of the third byte each.
const RUNNING: [&str; 5] = ["notbol", "noteol", "notempty", "notempty_atstart", "report_errors"];
/// A pattern may ask for this many steps; what takes longer is an error that it reports.
const STEPS: i64 = 20_000;

/// See the file's head.
pub fn regex(bytes: &[u8]) {
    let Some((options, [length, rest @ ..])) = bytes.split_first_chunk::<4>() else { return };
    let (pattern, subject) = rest.split_at(rest.len().min((*length).into()));
    in_process(|ctx| drop(whole(ctx, *options, pattern, subject)));
}

fn chosen(names: &[&str], bits: u16) -> Result<Vec<Term>, myriad_vm::Escape> {
    let set = names.iter().enumerate().filter(|(i, _)| bits >> i & 1 != 0);
    set.map(|(_, name)| Ok(Atom::new(name)?.term())).collect()
}

fn whole(ctx: &mut Ctx<'_>, options: [u8; 4], pattern: &[u8], subject: &[u8]) -> BifResult {
    let [low, high, running, offset] = options;
    let pattern = ctx.binary(pattern);
    let subject = ctx.binary(subject);
    let mut all = chosen(&COMPILING, u16::from_le_bytes([low, high]))?;
    let list = ctx.list(&all);
    re(ctx, "compile", &[pattern, list])?;
    all.extend(chosen(&RUNNING, running.into())?);
    let mut pair =
        |name: &str, value: i64| -> BifResult { Ok(ctx.tuple(&[Atom::new(name)?.term(), Term::small(value)])) };
    all.push(pair("match_limit", STEPS)?);
    all.push(pair("match_limit_recursion", STEPS)?);
    all.push(pair("offset", (offset >> 4).into())?);
    let list = ctx.list(&all);
    re(ctx, "run", &[subject, pattern, list])
}

fn re(ctx: &mut Ctx<'_>, function: &str, args: &[Term]) -> BifResult {
    let (module, function) = (Atom::new("re")?, Atom::new(function)?);
    let def = built_in(ctx, module, function, args.len()).expect("a function of re");
    call(ctx, def, args)
}
