//! Pids, ports and references as text, and back.

use myriad_term::print::{NodeLookup, parse_pid, parse_port, parse_ref, pid_text, port_text, ref_text};
use myriad_term::{Build, Term};
use myriad_vm::bif::{BADARG, badarg};
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub IDENTIFIERS = "erlang" {
    "pid_to_list" / 1 Plain => |ctx, a| if a[0].is_pid() { Ok(ctx.string(&pid_text(a[0]))) } else { badarg() };
    "port_to_list" / 1 Plain => |ctx, a| if a[0].is_port() { Ok(ctx.string(&port_text(a[0]))) } else { badarg() };
    "ref_to_list" / 1 Plain => |ctx, a| if a[0].is_reference() { Ok(ctx.string(&kept_ref_text(a[0]))) } else { badarg() };
    "list_to_pid" / 1 Plain => list_to_pid;
    "list_to_port" / 1 Plain => list_to_port;
    "list_to_ref" / 1 Plain => |ctx, a| parsed(ctx, a[0], parse_ref);
}}

/// The text of a reference, for `list_to_ref/1` to find what it stands for.
pub(crate) fn kept_ref_text(reference: Term) -> String {
    if let Some(magic) = reference.as_magic() {
        magic.keep();
    }
    ref_text(reference)
}

/// Longer texts are no identifiers.
const MAX_TEXT: usize = 128;

type Parse<'c> = fn(&mut Ctx<'c>, &str, NodeLookup<'_>) -> Option<Term>;

fn parsed<'c>(ctx: &mut Ctx<'c>, list: Term, parse: Parse<'c>) -> BifResult {
    let mut text = String::new();
    let mut items = list.list_iter();
    for item in items.by_ref().take(MAX_TEXT + 1) {
        match item.as_small().and_then(|c| u8::try_from(c).ok()) {
            Some(c) if c.is_ascii() => text.push(char::from(c)),
            _ => return badarg(),
        }
    }
    if !items.tail().is_nil() || text.len() > MAX_TEXT {
        return badarg();
    }
    // Without a connection no other node is known.
    parse(ctx, &text, &|_| None).ok_or(BADARG)
}

fn list_to_pid(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let pid = parsed(ctx, args[0], parse_pid)?;
    match pid.as_local_pid() {
        Some(pid) if !pid.is_plausible() => badarg(),
        _ => Ok(pid),
    }
}

fn list_to_port(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let port = parsed(ctx, args[0], parse_port)?;
    match port.as_local_port() {
        Some(port) if !port.is_plausible() => badarg(),
        _ => Ok(port),
    }
}
