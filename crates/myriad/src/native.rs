//! Machine code for Erlang: what `erl/myriad_native.erl` asks of the emulator.

use myriad_term::{Atom, Build, Term, map};
#[cfg(feature = "native")]
use myriad_vm::Vm;
use myriad_vm::bif::badarg;
use myriad_vm::code::{Function, Module};
use myriad_vm::subsystem::{Part, Subsystem};
use myriad_vm::vm::Config;
use myriad_vm::{BifDef, BifResult, Ctx};

/// What a VM has of machine code.
pub struct MachineCode(Result<Seen, String>);

#[cfg(feature = "native")]
use myriad_jit::Seen;

/// Without the feature `native` there is nothing to be seen.
#[cfg(not(feature = "native"))]
enum Seen {}

impl MachineCode {
    /// Starts the compiler that the command line asks for. If there is none, `config.native` says so from now on.
    pub(crate) fn start(config: &mut Config) -> MachineCode {
        let started = if config.native { compiler(config) } else { Err("+Jnative false".to_owned()) };
        config.native = started.is_ok();
        MachineCode(started)
    }
}

#[cfg(feature = "native")]
fn compiler(config: &Config) -> Result<Seen, String> {
    // While the process has one thread: a compiler starts others.
    myriad_sync::biased_lock::asymmetric::works();
    let compiler = myriad_jit::Jit::new(config).map_err(|why| why.to_string())?;
    // What is to be seen of functions is seen when they are compiled.
    if !myriad_sync::REPEATS && config.native_files == Default::default() {
        myriad_jit::Cache::open(&config.native_cache);
    }
    let seen = compiler.seen();
    myriad_interp::tiers::install(Box::new(compiler));
    Ok(seen)
}

#[cfg(not(feature = "native"))]
fn compiler(_: &Config) -> Result<Seen, String> {
    Err(NOT_BUILT.to_owned())
}

#[cfg(not(feature = "native"))]
const NOT_BUILT: &str = "this emulator was built without";

/// Why `+Jnative true` would leave all functions in tier 0, as far as that is known of the build.
pub fn lacks() -> Option<&'static str> {
    #[cfg(feature = "native")]
    return (!myriad_native::HAS_BACK_END).then_some("no code for this processor");
    #[cfg(not(feature = "native"))]
    Some(NOT_BUILT)
}

myriad_vm::bifs! { pub NATIVE = "myriad_native" {
    "info" / 0 Plain => |ctx, _| Ok(info(ctx));
    "state" / 3 Plain => |ctx, args| state_3(ctx, args);
    "listing" / 3 DirtyCpu => |ctx, args| listing_3(ctx, args);
}}

fn atom(text: &str) -> Term {
    Atom::new(text).map_or(Term::UNDEFINED, Term::atom)
}

/// A map of numbers by name.
#[cfg(feature = "native")]
fn numbers(ctx: &mut Ctx<'_>, all: &[(&str, u64)]) -> Term {
    let pairs: Vec<(Term, Term)> = all.iter().map(|(name, number)| (atom(name), ctx.uint(*number))).collect();
    map::from_pairs(ctx, &pairs)
}

fn info(ctx: &mut Ctx<'_>) -> Term {
    let seen = match &ctx.vm.part::<MachineCode>().0 {
        Ok(seen) => seen,
        Err(why) => {
            let why = ctx.binary(why.as_bytes());
            let enabled = ctx.tuple(&[Term::FALSE, why]);
            return map::from_pairs(ctx, &[(atom("enabled"), enabled)]);
        }
    };
    let mut pairs = vec![(atom("enabled"), Term::TRUE)];
    figures(ctx, seen, &mut pairs);
    map::from_pairs(ctx, &pairs)
}

#[cfg(feature = "native")]
fn figures(ctx: &mut Ctx<'_>, seen: &Seen, pairs: &mut Vec<(Term, Term)>) {
    use myriad_jit::{Kind, REASONS};
    let counted = seen.counted();
    let of_kind = |kind| {
        let all = REASONS.iter().zip(counted.reasons).filter(move |((of, _), _)| *of == kind);
        all.map(|((_, name), number)| (*name, number)).collect::<Vec<_>>()
    };
    let single = [
        ("compiled", counted.compiled),
        ("not_optimised", counted.plain),
        ("queued", counted.queued),
        ("code_bytes", seen.memory().used as u64),
        ("milliseconds", counted.time.as_millis() as u64),
    ];
    for (name, number) in single {
        pairs.push((atom(name), ctx.uint(number)));
    }
    let edits = [
        ("exits", counted.exits),
        ("points", counted.points),
        ("flag_branches", counted.flag_branches),
        ("flag_registers", counted.flag_registers),
    ];
    let cache = [("hits", counted.cache_hits), ("misses", counted.cache_misses)];
    let (declined, refused) = (of_kind(Kind::Declined), of_kind(Kind::Refused));
    let groups: [(&str, &[_]); 4] =
        [("declined", &declined), ("refused", &refused), ("edits", &edits), ("cache", &cache)];
    for (name, group) in groups {
        pairs.push((atom(name), numbers(ctx, group)));
    }
}

#[cfg(not(feature = "native"))]
fn figures(_: &mut Ctx<'_>, seen: &Seen, _: &mut Vec<(Term, Term)>) {
    match *seen {}
}

/// A function of the version of a module that is loaded. It stays for as long as the built-in runs (code/U2).
fn function(ctx: &Ctx<'_>, args: &[Term]) -> Option<(&'static Module, &'static Function)> {
    let [module, name, arity] = args else { return None };
    let module = ctx.vm.code.current(module.as_atom()?)?;
    let (name, arity) = (name.as_atom()?, u8::try_from(arity.as_small()?).ok()?);
    let is_it = |function: &&Function| function.mfa.function == name && function.mfa.arity == arity;
    Some((module, module.functions.iter().find(is_it)?))
}

/// `myriad_native:state(Module, Function, Arity)`
fn state_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some((_, function)) = function(ctx, args) else { return badarg() };
    if function.bif().is_some() {
        return Ok(atom("built_in"));
    }
    let Some(code) = myriad_interp::code::decoded(function) else { return Ok(atom("not_called")) };
    if let Some(bytes) = code.native_bytes() {
        let bytes = ctx.uint(bytes as u64);
        return Ok(ctx.tuple(&[atom("native"), bytes]));
    }
    match reason(code.verdict.get()) {
        None => Ok(atom("interpreted")),
        Some((kind, name)) => Ok(ctx.tuple(&[atom(kind), atom(name)])),
    }
}

/// What a verdict says.
#[cfg(feature = "native")]
fn reason(verdict: u8) -> Option<(&'static str, &'static str)> {
    let (kind, name) = myriad_jit::REASONS.get(usize::from(verdict).checked_sub(1)?)?;
    let kind = match kind {
        myriad_jit::Kind::Declined => "declined",
        myriad_jit::Kind::Refused => "refused",
    };
    Some((kind, name))
}

#[cfg(not(feature = "native"))]
fn reason(_: u8) -> Option<(&'static str, &'static str)> {
    None
}

/// The listing of a function, or why there is none.
#[cfg(feature = "native")]
fn listing(vm: &'static Vm, module: &'static Module, function: &'static Function) -> Result<String, String> {
    if function.bif().is_some() {
        return Err("built in".to_owned());
    }
    if !module.pins.pin() {
        return Err("its module is to go".to_owned());
    }
    // SAFETY: the version is pinned.
    let listing = unsafe { myriad_jit::listing::of_function(vm, function) };
    module.pins.unpin();
    listing.map_err(|why| why.to_string())
}

/// `myriad_native:listing(Module, Function, Arity)`
#[cfg(feature = "native")]
fn listing_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some((module, function)) = function(ctx, args) else { return badarg() };
    let (ok, text) = match listing(ctx.vm, module, function) {
        Ok(text) => ("ok", text),
        Err(why) => ("error", why),
    };
    let text = ctx.binary(text.as_bytes());
    Ok(ctx.tuple(&[atom(ok), text]))
}

#[cfg(not(feature = "native"))]
fn listing_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if function(ctx, args).is_none() {
        return badarg();
    }
    let why = ctx.binary(NOT_BUILT.as_bytes());
    Ok(ctx.tuple(&[atom("error"), why]))
}

impl Subsystem for MachineCode {
    fn parts(&'static self) -> Vec<Part> {
        vec![self]
    }

    fn tables(&self) -> &'static [&'static [BifDef]] {
        const TABLES: &[&[BifDef]] = &[NATIVE];
        TABLES
    }
}
