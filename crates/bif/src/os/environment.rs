//! The environment, as `os` shows it.

use crate::native_names::encoding;
use myriad_term::{Build, Term};
use myriad_vm::bif::{BADARG, Escape, badarg};
use myriad_vm::os_text::{self, name_bytes, name_list};
use myriad_vm::{BifResult, Ctx, Vm};

myriad_vm::bifs! { pub ENVIRONMENT = "os" {
    "getenv" / 1 Plain => getenv_1;
    "putenv" / 2 Plain => |ctx, a| set(ctx.vm, a[0], Some(a[1]));
    "unsetenv" / 1 Plain => |ctx, a| set(ctx.vm, a[0], None);
    "env" / 0 Plain => env_0;
    "getpid" / 0 Plain => |ctx, _| Ok(ctx.string(&std::process::id().to_string()));
}}

/// A variable's name: without `=`.
fn name(vm: &'static Vm, term: Term) -> Result<Vec<u8>, Escape> {
    match name_bytes(term, encoding(vm), false) {
        Some(name) if !name.contains(&b'=') => Ok(name),
        _ => badarg(),
    }
}

fn getenv_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    match os_text::variable(&name(ctx.vm, args[0])?) {
        Some(value) => Ok(name_list(ctx, &value, encoding(ctx.vm))),
        None => Ok(Term::FALSE),
    }
}

fn set(vm: &'static Vm, variable: Term, value: Option<Term>) -> BifResult {
    let variable = name(vm, variable)?;
    let value = match value {
        Some(value) => Some(name_bytes(value, encoding(vm), false).ok_or(BADARG)?),
        None => None,
    };
    os_text::set_variable(variable, value);
    Ok(Term::TRUE)
}

fn env_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let encoding = encoding(ctx.vm);
    let mut pairs = Vec::new();
    for (name, value) in os_text::variables() {
        let pair = [name_list(ctx, &name, encoding), name_list(ctx, &value, encoding)];
        pairs.push(ctx.tuple(&pair));
    }
    Ok(ctx.list(&pairs))
}
