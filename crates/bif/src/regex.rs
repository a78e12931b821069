//! Module `re`: the built-ins under the Erlang code of that module, over PCRE2.
//!
//! | module | holds |
//! | --- | --- |
//! | [`pcre`] | a safe cover of PCRE2 |
//! | [`tables`] | its character tables, by Latin-1 |
//! | [`pattern`] | compiled patterns as terms, and at hand |
//! | [`options`] | options |
//! | [`captured`] | what a match gives back |
//! | [`global`] | all matches in a row |
//!
//! Patterns of OTP's older releases are in another dialect than PCRE2's: crate `pcre-dialect` translates them.
//!
//! Text in lists of Unicode characters is dealt with in Erlang: the built-ins trap there. A match that takes long goes to a
//! dirty scheduler: one over a long subject at once, one over a short one when it has taken more than a few thousand steps.

mod captured;
mod global;
mod options;
mod pattern;
mod pcre;
mod tables;

use crate::iolists::bytes_of;
use crate::work::{self, Pace, in_slices_at};
use captured::Captures;
use myriad_sync::Arc;
use myriad_term::{Atom, Build, Export, Mfa, Term, am};
use myriad_vm::bif::{Escape, badarg};
use myriad_vm::{BifResult, Ctx};
use options::Options;
use pattern::{Regex, Source};
use pcre::{Limits, Outcome, Place, Subject};
use pcre2_sys::PCRE2_ANCHORED;
use std::borrow::Cow;

myriad_vm::bifs! { pub RE = "re" {
    "version" / 0 Plain => version_0;
    "compile" / 1 Plain => |ctx, a| compile(ctx, a[0], Term::NIL);
    "compile" / 2 Plain => |ctx, a| compile(ctx, a[0], a[1]);
    "run" / 2 Plain => |ctx, a| run(ctx, a[0], a[1], Term::NIL);
    "run" / 3 Plain => |ctx, a| run(ctx, a[0], a[1], a[2]);
    "internal_run" / 4 Plain => internal_run_4;
    "inspect" / 2 Plain => inspect_2;
}}

/// Subjects longer than this are searched on a dirty scheduler.
const LONG: usize = 1 << 18;
/// As above, for patterns that match only where the search begins.
const LONG_ANCHORED: usize = 1 << 24;
/// As above, for all matches in a row.
const LONG_GLOBAL: usize = 1 << 12;
fn atom(text: &str) -> Result<Term, Escape> {
    Ok(Atom::new(text)?.term())
}

/// Elixir keeps compiled patterns in `.beam` files, with this text, and compiles anew where it is another: it has to be
/// another, as OTP's compiled patterns of release 25 are the code of its library.
fn version_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let version = if is_old(ctx) { "8.44 2020-02-12 (Myriad)" } else { "10.46 2025-08-27" };
    Ok(ctx.binary(version.as_bytes()))
}

/// Patterns as OTP's older releases have them?
fn is_old(ctx: &Ctx<'_>) -> bool {
    !ctx.vm.release.regex_references
}

fn trap(ctx: &mut Ctx<'_>, function: &str, args: &[Term]) -> BifResult {
    let mfa = Mfa { module: Atom::new("re")?, function: Atom::new(function)?, arity: args.len() as u8 };
    ctx.trap(Export::intern(mfa), args)
}

/// `{Text, Position}`
fn compile_error(ctx: &mut Ctx<'_>, (text, at): &(String, usize)) -> Term {
    let text = ctx.string(text);
    let at = ctx.uint(*at as u64);
    ctx.tuple(&[text, at])
}

fn compile(ctx: &mut Ctx<'_>, text: Term, list: Term) -> BifResult {
    let Some(options) = Options::read(list, is_old(ctx)) else { return crate::system::bad_option(ctx) };
    if options.running {
        return crate::system::bad_option(ctx);
    }
    if options.unicode() && !text.is_bitstring() {
        return trap(ctx, "ucompile", &[text, list]);
    }
    let text = bytes_of(ctx, text)?;
    ctx.bump(50 + text.len());
    let (tag, value) = match pattern::compiled(Source { text, flags: options.flags }) {
        Ok(regex) => {
            let tag = atom("re_pattern")?;
            (am::ok.term(), pattern::term(ctx, &regex, tag))
        }
        Err(error) => (am::error.term(), compile_error(ctx, &error)),
    };
    Ok(ctx.tuple(&[tag, value]))
}

fn internal_run_4(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if args[3].as_bool().is_none() {
        return badarg();
    }
    run(ctx, args[0], args[1], args[2])
}

/// The pattern of a run, compiled for it if need be: `Err` is an error of its text.
fn pattern_of(ctx: &mut Ctx<'_>, term: Term, options: &Options) -> Result<Result<Arc<Regex>, (String, usize)>, Escape> {
    if term.as_tuple().is_none() {
        let text = bytes_of(ctx, term)?;
        return Ok(pattern::compiled(Source { text, flags: options.flags }));
    }
    let Some(kept) = pattern::of_term(term) else { return badarg() };
    if options.compiling {
        return badarg();
    }
    if !options.lines {
        return Ok(Ok(kept));
    }
    // PCRE2 takes the ends of line from the pattern only.
    let mut source = kept.source.clone();
    source.flags.newline = options.flags.newline;
    source.flags.bsr = options.flags.bsr.or(source.flags.bsr);
    Ok(pattern::compiled(source))
}

/// Bytes of a text that are checked to be UTF-8 for one reduction, and at once.
const CHECKED_PER_REDUCTION: usize = 16;
const CHECKED_AT_ONCE: usize = 16 * 1024;
/// The function that a process is said to be in while its subject is checked, slice by slice.
const RE_RUN_TRAP: Mfa = Mfa { module: am::erlang, function: am::re_run_trap, arity: 3 };

/// Checks a long subject slice by slice, and runs then.
fn check_and_run(ctx: &mut Ctx<'_>, subject: Term, pattern: Term, list: Term) -> BifResult {
    // A live argument until the call is over, and nothing is collected until then.
    let Some(bytes): Option<Cow<'static, [u8]>> = subject.as_binary() else { return badarg() };
    let mut checked = 0;
    let pace = Pace::of(CHECKED_PER_REDUCTION).in_function(RE_RUN_TRAP);
    in_slices_at(ctx, pace, move |ctx, budget| {
        let most = (*budget).min(bytes.len() - checked);
        *budget -= most;
        match std::str::from_utf8(&bytes[checked..checked + most]) {
            Ok(_) => checked += most,
            // The slice ends within a character.
            Err(error) if error.error_len().is_none() && checked + most < bytes.len() => checked += error.valid_up_to(),
            Err(_) => return badarg(),
        }
        if checked < bytes.len() { Ok(None) } else { run_checked(ctx, subject, pattern, list, true).map(Some) }
    })
}

fn run(ctx: &mut Ctx<'_>, subject: Term, pattern: Term, list: Term) -> BifResult {
    run_checked(ctx, subject, pattern, list, false)
}

fn run_checked(ctx: &mut Ctx<'_>, subject: Term, pattern: Term, list: Term, checked: bool) -> BifResult {
    let Some(options) = Options::read(list, is_old(ctx)) else { return crate::system::bad_option(ctx) };
    let is_text = pattern.as_tuple().is_none();
    if is_text && !pattern.is_list() && !pattern.is_bitstring() {
        return badarg();
    }
    if is_text && options.unicode() && (!pattern.is_bitstring() || !subject.is_bitstring()) {
        return trap(ctx, "urun", &[subject, pattern, list]);
    }
    let regex = match pattern_of(ctx, pattern, &options)? {
        Ok(regex) => regex,
        Err(_) if !options.report => return badarg(),
        Err(error) => {
            let error = compile_error(ctx, &error);
            let tag = atom("compile")?;
            let reason = ctx.tuple(&[tag, error]);
            return Ok(ctx.tuple(&[am::error.term(), reason]));
        }
    };
    if !is_text && regex.source.is_unicode() && !subject.is_bitstring() {
        return trap(ctx, "urun", &[subject, pattern, list]);
    }
    let bytes: Cow<'_, [u8]> = match subject.as_binary() {
        Some(bytes) => bytes,
        None => match bytes_of(ctx, subject) {
            Ok(bytes) => bytes.into(),
            // The older releases look for all matches in Erlang, and it is there that the subject is refused.
            Err(_) if options.global && is_old(ctx) => {
                let options =
                    if is_text { ctx.tuple(&[list, Term::FALSE, pattern]) } else { ctx.tuple(&[list, Term::FALSE]) };
                return trap(ctx, "grun", &[subject, pattern, options]);
            }
            Err(error) => return Err(error),
        },
    };
    let is_binary = subject.is_bitstring();
    if is_binary && regex.code.is_unicode() && bytes.len() > CHECKED_AT_ONCE && !checked && !ctx.sched.dirty {
        return check_and_run(ctx, subject, pattern, list);
    }
    let anchored = options.run_bits & PCRE2_ANCHORED != 0 || regex.code.is_anchored();
    let long = match (options.global, anchored) {
        (true, _) => LONG_GLOBAL,
        (false, true) => LONG_ANCHORED,
        (false, false) => LONG,
    };
    let left = bytes.len().saturating_sub(options.offset);
    if left > long {
        work::dirty(ctx)?;
    }
    let text = if regex.code.is_unicode() {
        match std::str::from_utf8(&bytes) {
            Ok(text) => Subject::Text(text),
            Err(_) => return badarg(),
        }
    } else {
        Subject::Bytes(&bytes)
    };
    let run = Run { regex: &regex, options: &options, subject: text, here: work::dirty(ctx).is_err() };
    ctx.bump(16 + left.min(long) / 8);
    let captures = Captures::new(ctx, &run, subject)?;
    // Only what comes after a match may begin in the middle of a character, where `\C` has ended that.
    if let Subject::Text(text) = text
        && options.offset <= text.len()
        && !text.is_char_boundary(options.offset)
    {
        return badarg();
    }
    if options.global { global::run(ctx, &run, &captures) } else { once(ctx, &run, &captures) }
}

/// A run.
struct Run<'a> {
    regex: &'a Regex,
    options: &'a Options,
    subject: Subject<'a>,
    /// On a normal scheduler, to be left if it takes long?
    here: bool,
}

impl Run<'_> {
    /// One match.
    fn find(&self, ctx: &Ctx<'_>, start: usize, bits: u32, places: &mut Vec<Place>) -> Result<Outcome, Escape> {
        let Limits { steps, depth } = self.options.limits;
        let here = u32::try_from(ctx.vm.test_hooks.regex_steps.get()).unwrap_or(u32::MAX);
        let limits = Limits { steps: if self.here { steps.min(here) } else { steps }, depth };
        let outcome = self.regex.code.run(self.subject, start, bits, limits, places);
        if outcome == Outcome::MatchLimit && limits.steps < steps {
            work::dirty(ctx)?;
        }
        Ok(outcome)
    }

    /// What is given back for want of a match.
    fn without(&self, ctx: &mut Ctx<'_>, outcome: Outcome) -> BifResult {
        let reason = match outcome {
            Outcome::Bad => return badarg(),
            Outcome::MatchLimit if self.options.report => atom("match_limit")?,
            Outcome::DepthLimit if self.options.report => atom("match_limit_recursion")?,
            _ => return atom("nomatch"),
        };
        Ok(ctx.tuple(&[am::error.term(), reason]))
    }
}

fn once(ctx: &mut Ctx<'_>, run: &Run<'_>, captures: &Captures) -> BifResult {
    if run.options.offset > run.subject.bytes().len() {
        return Err(Escape::Error(atom("internal_error")?));
    }
    let mut places = Vec::new();
    match run.find(ctx, run.options.offset, run.options.run_bits, &mut places)? {
        Outcome::Match => {}
        other => return run.without(ctx, other),
    }
    match captures.of(ctx, run, &places) {
        None => atom("match"),
        Some(list) => {
            let tag = atom("match")?;
            Ok(ctx.tuple(&[tag, list]))
        }
    }
}

fn inspect_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (Some(regex), Some("namelist")) = (pattern::of_term(args[0]), args[1].as_atom().map(Atom::text)) else {
        return badarg();
    };
    let names: Vec<Term> = regex.names.iter().map(|(name, _)| ctx.binary(name)).collect();
    let list = ctx.list(&names);
    Ok(ctx.tuple(&[args[1], list]))
}
