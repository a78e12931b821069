//! What `nif_supports` tells of this machine: protocols, options, flags, requests.

use super::control::FLAGS;
use super::ioctl::{INTERFACE_FLAGS, REQUESTS};
use super::option_table::{LEVELS, Level};
use super::terms::atom_of;
use myriad_term::{Build, Term, am};
use myriad_vm::{BifResult, Ctx};

const PROTOCOLS: &str = "/etc/protocols";

/// The protocols that are there where the system has no list of them.
const KNOWN: &str = "ip 0 IP\nicmp 1 ICMP\nigmp 2 IGMP\ntcp 6 TCP\nudp 17 UDP\nipv6 41 IPv6\nsctp 132 SCTP";

/// `nif_supports()`
pub(super) fn supports_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let all = ["sctp", "ipv6", "local", "netns", "sendfile"].map(|text| {
        let name = atom_of(text);
        ctx.tuple(&[name, Term::bool(true)])
    });
    Ok(ctx.list(&all))
}

/// `nif_supports(What)`; the empty list for what is unknown.
pub(super) fn supports_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    ctx.bump(200);
    match args[0].as_atom().map_or("", |name| name.text()) {
        "protocols" => Ok(protocols(ctx)),
        "options" => Ok(options(ctx)),
        "msg_flags" => Ok(pairs(ctx, FLAGS.iter().map(|(text, flag)| (*text, i64::from(*flag))))),
        "ioctl_requests" => Ok(pairs(ctx, REQUESTS.iter().map(|request| (request.0, request.1 as i64)))),
        "ioctl_flags" => Ok(pairs(ctx, INTERFACE_FLAGS.iter().map(|(text, flag)| (*text, i64::from(*flag))))),
        _ => Ok(Term::NIL),
    }
}

fn pairs(ctx: &mut Ctx<'_>, all: impl Iterator<Item = (&'static str, i64)>) -> Term {
    let all: Vec<Term> = all.map(|(text, number)| ctx.tuple(&[atom_of(text), Term::small(number)])).collect();
    ctx.list(&all)
}

/// `[{[Name], Number}]`: the names of each protocol.
fn protocols(ctx: &mut Ctx<'_>) -> Term {
    let text = std::fs::read_to_string(PROTOCOLS).unwrap_or_else(|_| KNOWN.to_owned());
    let mut rows: Vec<Term> = text
        .lines()
        .filter_map(fields)
        .map(|(names, number)| {
            let names: Vec<Term> = names.into_iter().map(atom_of).collect();
            let names = ctx.list(&names);
            ctx.tuple(&[names, Term::small(number)])
        })
        .collect();
    // One number may stand in several lines: the first has its name, so it comes last.
    rows.reverse();
    ctx.list(&rows)
}

/// The names and the number in a line.
fn fields(line: &str) -> Option<(Vec<&str>, i64)> {
    let mut words = line.split('#').next()?.split_whitespace();
    let name = words.next()?;
    let number = words.next()?.parse::<i32>().ok()?;
    Some((std::iter::once(name).chain(words).collect(), i64::from(number)))
}

/// `[{Level, [{Option, Number} | Option]}]`
fn options(ctx: &mut Ctx<'_>) -> Term {
    let levels: Vec<Term> = LEVELS.iter().map(|level| options_of(ctx, level)).collect();
    ctx.list(&levels)
}

fn options_of(ctx: &mut Ctx<'_>, level: &Level) -> Term {
    let mut all: Vec<Term> =
        level.rows.iter().map(|row| ctx.tuple(&[atom_of(row.0), Term::small(i64::from(row.1))])).collect();
    all.extend(level.absent.split_whitespace().map(atom_of));
    let all = ctx.list(&all);
    let name = if level.number == libc::SOL_SOCKET { am::socket.term() } else { Term::small(i64::from(level.number)) };
    ctx.tuple(&[name, all])
}

#[cfg(test)]
mod tests {
    use super::fields;

    #[test]
    fn lines_of_protocols() {
        assert_eq!(fields("rspf\t73\tRSPF CPHB  # Radio"), Some((vec!["rspf", "RSPF", "CPHB"], 73)));
        assert_eq!((fields("# none"), fields("x"), fields("x y")), (None, None, None));
    }
}
