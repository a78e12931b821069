//! The environment, as `os` shows it.

use myriad_term::{Build, Term};
use myriad_vm::bif::{BADARG, Escape, badarg};
use myriad_vm::native::{self, name_bytes, name_encoding, name_list};
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub ENVIRONMENT = "os" {
    "getenv" / 1 Plain => getenv_1;
    "putenv" / 2 Plain => |_, a| set(a[0], Some(a[1]));
    "unsetenv" / 1 Plain => |_, a| set(a[0], None);
    "env" / 0 Plain => env_0;
    "getpid" / 0 Plain => |ctx, _| Ok(ctx.string(&std::process::id().to_string()));
}}

/// A variable's name: without `=`.
fn name(term: Term) -> Result<Vec<u8>, Escape> {
    match name_bytes(term, name_encoding(), false) {
        Some(name) if !name.contains(&b'=') => Ok(name),
        _ => badarg(),
    }
}

fn getenv_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    match native::variable(&name(args[0])?) {
        Some(value) => Ok(name_list(ctx, &value, name_encoding())),
        None => Ok(Term::FALSE),
    }
}

fn set(variable: Term, value: Option<Term>) -> BifResult {
    let variable = name(variable)?;
    let value = match value {
        Some(value) => Some(name_bytes(value, name_encoding(), false).ok_or(BADARG)?),
        None => None,
    };
    native::set_variable(variable, value);
    Ok(Term::TRUE)
}

fn env_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let encoding = name_encoding();
    let mut pairs = Vec::new();
    for (name, value) in native::variables() {
        let pair = [name_list(ctx, &name, encoding), name_list(ctx, &value, encoding)];
        pairs.push(ctx.tuple(&pair));
    }
    Ok(ctx.list(&pairs))
}
