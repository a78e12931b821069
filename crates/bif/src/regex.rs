//! Module `re`: the built-ins under the Erlang code of that module, over PCRE2 (`regex_code`).
//!
//! Repeated matches (`global`) and text in lists of Unicode characters are dealt with in Erlang: the built-ins trap there.

use crate::iolists::bytes_of;
use crate::regex_code::{Code, Flags, Outcome, error_text};
use crate::work;
use myriad_term::magic::{Magic, magic_reference};
use myriad_term::{Atom, Build, Export, Mfa, Term, am};
use myriad_vm::bif::{Escape, badarg};
use myriad_vm::{BifResult, Ctx};
use pcre2_sys as pcre;
use std::ops::Deref;

myriad_vm::bifs! { pub RE = "re" {
    "version" / 0 Plain => |ctx, _| Ok(ctx.binary(b"8.44 2020-02-12"));
    "compile" / 1 Plain => |ctx, a| compile(ctx, a[0], Term::NIL);
    "compile" / 2 Plain => |ctx, a| compile(ctx, a[0], a[1]);
    "run" / 2 Plain => |ctx, a| run(ctx, a[0], a[1], Term::NIL, true);
    "run" / 3 Plain => |ctx, a| run(ctx, a[0], a[1], a[2], true);
    "internal_run" / 4 Plain => |ctx, a| run(ctx, a[0], a[1], a[2], false);
    "inspect" / 2 Plain => inspect_2;
}}

/// Subjects longer than this are matched on a dirty scheduler.
const LONG: usize = 1 << 16;

fn atom(text: &str) -> Result<Term, Escape> {
    Ok(Atom::new(text)?.term())
}

fn trap(ctx: &mut Ctx<'_>, function: &str, args: &[Term]) -> BifResult {
    let mfa = Mfa { module: Atom::new("re")?, function: Atom::new(function)?, arity: args.len() as u8 };
    ctx.trap(Export::intern(mfa), args)
}

/// What is to be given back of a match.
#[derive(Clone, Copy)]
enum Which {
    All,
    AllButFirst,
    AllNames,
    First,
    Nothing,
    Listed(Term),
}

#[derive(Clone, Copy)]
enum As {
    Index,
    List,
    Binary,
}

/// Options of compiling and of running.
struct Options {
    flags: Flags,
    unicode: bool,
    compiling: bool,
    running: bool,
    run_bits: u32,
    global: bool,
    report: bool,
    offset: usize,
    which: Which,
    form: As,
    limit: Option<u32>,
    depth: Option<u32>,
}

impl Options {
    fn read(list: Term) -> Result<Options, Escape> {
        let mut o = Options {
            flags: Flags::default(),
            unicode: false,
            compiling: false,
            running: false,
            run_bits: 0,
            global: false,
            report: false,
            offset: 0,
            which: Which::All,
            form: As::Index,
            limit: None,
            depth: None,
        };
        let mut items = list.list_iter();
        for item in items.by_ref() {
            let known = match item.as_atom() {
                Some(name) => o.name(name.text()),
                None => o.pair(item),
            };
            if known.is_none() {
                return badarg();
            }
        }
        if items.tail().is_nil() { Ok(o) } else { badarg() }
    }

    /// An option that is an atom.
    fn name(&mut self, name: &str) -> Option<()> {
        let compile = match name {
            "anchored" => {
                self.flags.bits |= pcre::PCRE2_ANCHORED;
                self.run_bits |= pcre::PCRE2_ANCHORED;
                return Some(());
            }
            "bsr_anycrlf" => {
                self.flags.bsr = Some(pcre::PCRE2_BSR_ANYCRLF);
                return Some(());
            }
            "bsr_unicode" => {
                self.flags.bsr = Some(pcre::PCRE2_BSR_UNICODE);
                return Some(());
            }
            "unicode" => {
                self.unicode = true;
                pcre::PCRE2_UTF
            }
            "caseless" => pcre::PCRE2_CASELESS,
            "dollar_endonly" => pcre::PCRE2_DOLLAR_ENDONLY,
            "dotall" => pcre::PCRE2_DOTALL,
            "extended" => pcre::PCRE2_EXTENDED,
            "firstline" => pcre::PCRE2_FIRSTLINE,
            "multiline" => pcre::PCRE2_MULTILINE,
            "no_auto_capture" => pcre::PCRE2_NO_AUTO_CAPTURE,
            "dupnames" => pcre::PCRE2_DUPNAMES,
            "ungreedy" => pcre::PCRE2_UNGREEDY,
            "no_start_optimize" => pcre::PCRE2_NO_START_OPTIMIZE,
            "ucp" => pcre::PCRE2_UCP,
            "never_utf" => pcre::PCRE2_NEVER_UTF,
            _ => 0,
        };
        if compile != 0 {
            self.compiling = true;
            self.flags.bits |= compile;
            return Some(());
        }
        self.running = true;
        self.run_bits |= match name {
            "notbol" => pcre::PCRE2_NOTBOL,
            "noteol" => pcre::PCRE2_NOTEOL,
            "notempty" => pcre::PCRE2_NOTEMPTY,
            "notempty_atstart" => pcre::PCRE2_NOTEMPTY_ATSTART,
            "global" => {
                self.global = true;
                0
            }
            "report_errors" => {
                self.report = true;
                0
            }
            _ => return None,
        };
        Some(())
    }

    /// An option that is a tuple.
    fn pair(&mut self, item: Term) -> Option<()> {
        let tuple = item.as_tuple()?;
        let (name, value, form) = match tuple.elements() {
            [name, value] => (*name, *value, None),
            [name, value, form] => (*name, *value, Some(*form)),
            _ => return None,
        };
        let name = name.as_atom()?.text();
        if name == "newline" && form.is_none() {
            self.flags.newline = match value.as_atom()?.text() {
                "cr" => pcre::PCRE2_NEWLINE_CR,
                "lf" => pcre::PCRE2_NEWLINE_LF,
                "crlf" => pcre::PCRE2_NEWLINE_CRLF,
                "any" => pcre::PCRE2_NEWLINE_ANY,
                "anycrlf" => pcre::PCRE2_NEWLINE_ANYCRLF,
                _ => return None,
            };
            return Some(());
        }
        self.running = true;
        if name == "capture" {
            self.form = match form.map(|f| f.as_atom().map(Atom::text)) {
                None | Some(Some("index")) => As::Index,
                Some(Some("list")) => As::List,
                Some(Some("binary")) => As::Binary,
                _ => return None,
            };
            self.which = match value.as_atom().map(Atom::text) {
                Some("all") => Which::All,
                Some("all_but_first") => Which::AllButFirst,
                Some("all_names") => Which::AllNames,
                Some("first") => Which::First,
                Some("none") => Which::Nothing,
                None if value.is_nil() => Which::Nothing,
                None if value.is_cons() => Which::Listed(value),
                _ => return None,
            };
            return Some(());
        }
        let number = value.as_small().and_then(|n| u64::try_from(n).ok())?;
        let small = u32::try_from(number).unwrap_or(u32::MAX);
        match (name, form) {
            ("offset", None) => self.offset = usize::try_from(number).ok()?,
            ("match_limit", None) => self.limit = Some(small),
            ("match_limit_recursion", None) => self.depth = Some(small),
            _ => return None,
        }
        Some(())
    }

    fn crlf(&self) -> bool {
        [pcre::PCRE2_NEWLINE_ANY, pcre::PCRE2_NEWLINE_ANYCRLF, pcre::PCRE2_NEWLINE_CRLF].contains(&self.flags.newline)
    }
}

/// `{Text, Position}`
fn compile_error(ctx: &mut Ctx<'_>, (error, at): (i32, usize)) -> Term {
    let text = ctx.string(&error_text(error));
    let at = ctx.uint(at as u64);
    ctx.tuple(&[text, at])
}

/// `{re_pattern, Groups, Unicode, CrLf, Reference}`
fn pattern_term(ctx: &mut Ctx<'_>, code: Code, options: &Options) -> BifResult {
    let numbers = ctx.sched.next_ref(ctx.vm);
    let groups = Term::small(code.groups() as i64);
    let unicode = Term::small(i64::from(options.unicode));
    let reference = magic_reference(ctx, numbers, Magic::new(code));
    let tag = atom("re_pattern")?;
    Ok(ctx.tuple(&[tag, groups, unicode, Term::small(i64::from(options.crlf())), reference]))
}

fn compile(ctx: &mut Ctx<'_>, pattern: Term, list: Term) -> BifResult {
    let options = Options::read(list)?;
    if options.running {
        return badarg();
    }
    if options.unicode && !pattern.is_bitstring() {
        return trap(ctx, "ucompile", &[pattern, list]);
    }
    let bytes = bytes_of(ctx, pattern)?;
    let (tag, value) = match Code::compile(&bytes, options.flags) {
        Ok(code) => (am::ok.term(), pattern_term(ctx, code, &options)?),
        Err(error) => (am::error.term(), compile_error(ctx, error)),
    };
    Ok(ctx.tuple(&[tag, value]))
}

/// The reference of `{re_pattern, _, _, _, Reference}`.
fn kept(pattern: Term) -> Option<Magic> {
    let [tag, _, _, _, reference] = pattern.as_tuple_of::<5>()?;
    if tag.as_atom()?.text() != "re_pattern" {
        return None;
    }
    let magic = reference.as_magic()?;
    magic.get::<Code>()?;
    Some(Magic::clone(&magic))
}

/// A pattern that was compiled before, or for this run.
enum Source {
    Kept(Magic),
    Own(Code),
}

fn run(ctx: &mut Ctx<'_>, subject: Term, pattern: Term, list: Term, global: bool) -> BifResult {
    let options = Options::read(list)?;
    let text = pattern.as_tuple().is_none();
    let source = if text {
        if options.unicode && (!pattern.is_bitstring() || !subject.is_bitstring()) {
            return trap(ctx, "urun", &[subject, pattern, list]);
        }
        let bytes = bytes_of(ctx, pattern)?;
        match Code::compile(&bytes, options.flags) {
            Ok(code) => Source::Own(code),
            Err(_) if !options.report => return badarg(),
            Err(error) => {
                let error = compile_error(ctx, error);
                let tag = atom("compile")?;
                let reason = ctx.tuple(&[tag, error]);
                return Ok(ctx.tuple(&[am::error.term(), reason]));
            }
        }
    } else {
        let Some(magic) = kept(pattern) else { return badarg() };
        if options.compiling {
            return badarg();
        }
        if magic.get::<Code>().is_some_and(Code::is_unicode) && !subject.is_bitstring() {
            return trap(ctx, "urun", &[subject, pattern, list]);
        }
        Source::Kept(magic)
    };
    if options.global && global {
        let (compiled, how) = match source {
            Source::Own(code) => (pattern_term(ctx, code, &options)?, ctx.tuple(&[list, Term::TRUE, pattern])),
            Source::Kept(_) => (pattern, ctx.tuple(&[list, Term::FALSE])),
        };
        return trap(ctx, "grun", &[subject, compiled, how]);
    }
    let code = match &source {
        Source::Own(code) => code,
        Source::Kept(magic) => match magic.get::<Code>() {
            Some(code) => code,
            None => return badarg(),
        },
    };
    let bytes = match subject.as_binary() {
        Some(bytes) => bytes,
        None => bytes_of(ctx, subject)?.into(),
    };
    if bytes.len() > LONG && !ctx.sched.dirty {
        work::dirty(ctx)?;
    }
    ctx.bump(16 + bytes.len().saturating_sub(options.offset) / 8);
    let reason = match code.run(bytes.deref(), options.offset, options.run_bits, options.limit, options.depth) {
        Outcome::Match(groups) => return captured(ctx, code, &options, &bytes, &groups),
        Outcome::NoMatch => return atom("nomatch"),
        Outcome::Bad => return badarg(),
        _ if !options.report => return atom("nomatch"),
        Outcome::MatchLimit => atom("match_limit")?,
        Outcome::DepthLimit => atom("match_limit_recursion")?,
    };
    Ok(ctx.tuple(&[am::error.term(), reason]))
}

type Place = Option<(usize, usize)>;

/// `match` or `{match, Captured}`
fn captured(ctx: &mut Ctx<'_>, code: &Code, options: &Options, subject: &[u8], groups: &[Place]) -> BifResult {
    let nth = |i: usize| groups.get(i).copied().flatten();
    let by_name = |name: &[u8]| {
        let names = code.names();
        names.iter().filter(|(n, _)| *n == name).find_map(|(_, group)| nth(*group))
    };
    let places: Vec<Place> = match options.which {
        Which::Nothing => return atom("match"),
        Which::All => groups.to_vec(),
        Which::AllButFirst => groups.iter().skip(1).copied().collect(),
        Which::First => vec![nth(0)],
        Which::AllNames => {
            let mut names: Vec<&[u8]> = code.names().into_iter().map(|(n, _)| n).collect();
            names.dedup();
            if names.is_empty() {
                return atom("match");
            }
            names.into_iter().map(by_name).collect()
        }
        Which::Listed(list) => {
            let mut places = Vec::new();
            let mut items = list.list_iter();
            for item in items.by_ref() {
                places.push(match (item.as_small(), item.as_atom()) {
                    (Some(n), _) => usize::try_from(n).ok().and_then(nth),
                    (_, Some(name)) => by_name(name.text().as_bytes()),
                    _ => by_name(&bytes_of(ctx, item)?),
                });
            }
            if !items.tail().is_nil() {
                return badarg();
            }
            places
        }
    };
    let unicode = code.is_unicode();
    let mut items = Vec::with_capacity(places.len());
    for place in places {
        let bytes = place.and_then(|(at, len)| subject.get(at..at + len)).unwrap_or(&[]);
        items.push(match options.form {
            As::Index => {
                let (at, len) = place.map_or((-1, 0), |(at, len)| (at as i64, len as i64));
                ctx.tuple(&[Term::small(at), Term::small(len)])
            }
            As::Binary => ctx.binary(bytes),
            As::List if unicode => ctx.string(&String::from_utf8_lossy(bytes)),
            As::List => ctx.byte_list(bytes, Term::NIL),
        });
    }
    let list = ctx.list(&items);
    let tag = atom("match")?;
    Ok(ctx.tuple(&[tag, list]))
}

fn inspect_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (Some(magic), Some("namelist")) = (kept(args[0]), args[1].as_atom().map(Atom::text)) else { return badarg() };
    let Some(code) = magic.get::<Code>() else { return badarg() };
    let mut names: Vec<&[u8]> = code.names().into_iter().map(|(n, _)| n).collect();
    names.dedup();
    let names: Vec<Term> = names.into_iter().map(|n| ctx.binary(n)).collect();
    let list = ctx.list(&names);
    Ok(ctx.tuple(&[args[1], list]))
}
