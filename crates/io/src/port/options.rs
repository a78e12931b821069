//! The arguments of `open_port/2`.

use super::backlog::Limits;
use super::framing::Framing;
use myriad_term::{Atom, Term, am};

/// What a port is opened on.
#[derive(PartialEq, Eq, Debug)]
pub enum Target {
    /// A command line for the shell, or the name of a driver.
    Spawn(Vec<u8>),
    /// A file, by its name alone.
    File(Vec<u8>),
    /// A driver.
    Driver(Vec<u8>),
    /// A program.
    Executable(Vec<u8>),
    /// File descriptors for input and output.
    Fd(i64, i64),
}

/// An environment variable: its name, and its value, or nothing to take it out.
pub(super) type Variable = (Vec<u8>, Option<Vec<u8>>);

/// The settings.
#[derive(Debug)]
pub struct Settings {
    pub(super) framing: Framing,
    pub(super) directory: Option<Vec<u8>>,
    /// What differs in the program's environment.
    pub(super) environment: Vec<Variable>,
    pub(super) arguments: Option<Vec<Vec<u8>>>,
    pub(super) arg0: Option<Vec<u8>>,
    pub(super) exit_status: bool,
    pub(super) use_stdio: bool,
    pub(super) stderr_to_stdout: bool,
    pub(super) input: bool,
    pub(super) output: bool,
    pub(super) binary: bool,
    pub(super) eof: bool,
    pub(super) parallelism: bool,
    /// Bytes queued for output above which the port is busy, and at which it no longer is; nothing = never busy.
    pub(super) busy_limits: Option<(usize, usize)>,
    /// Limits of its queue of operations; nothing = the driver's.
    pub(super) queue_limits: Option<Limits>,
}

/// The longest line of the plain option `line`.
const DEFAULT_LINE: usize = 512;
/// OTP's default limits of the queue of a program's input.
const BUSY_LIMITS: (usize, usize) = (8192, 2048);

impl Default for Settings {
    fn default() -> Self {
        Settings {
            framing: Framing::Stream,
            directory: None,
            environment: Vec::new(),
            arguments: None,
            arg0: None,
            exit_status: false,
            use_stdio: true,
            stderr_to_stdout: false,
            input: false,
            output: false,
            binary: false,
            eof: false,
            parallelism: false,
            busy_limits: Some(BUSY_LIMITS),
            queue_limits: None,
        }
    }
}

/// A name or argument for the system: characters in a (deep) list as UTF-8, the bytes of a binary, the text of an atom
/// (not one in a list). No NUL.
pub fn native_text(term: Term) -> Option<Vec<u8>> {
    let bytes = if let Some(atom) = term.as_atom() {
        atom.text().as_bytes().to_vec()
    } else if let Some(bytes) = term.as_binary() {
        bytes.into_owned()
    } else {
        list_text(term)?
    };
    (!bytes.contains(&0)).then_some(bytes)
}

fn list_text(term: Term) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = vec![term];
    while let Some(mut at) = rest.pop() {
        while let Some((head, tail)) = at.as_cons() {
            if head.is_list() {
                rest.push(tail);
                at = head;
                continue;
            }
            let c = char::from_u32(u32::try_from(head.as_small()?).ok()?)?;
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            at = tail;
        }
        if !at.is_nil() {
            return None;
        }
    }
    Some(out)
}

/// The first argument; nothing: `badarg`.
pub fn target(term: Term) -> Option<Target> {
    if term.is_atom() || term.is_list() {
        return native_text(term).filter(|t| !t.is_empty()).map(Target::File);
    }
    if let Some([kind, a, b]) = term.as_tuple_of::<3>() {
        return (kind.is_am(am::fd)).then_some(Target::Fd(a.as_small()?, b.as_small()?));
    }
    let [kind, name] = term.as_tuple_of::<2>()?;
    let name = native_text(name).filter(|t| !t.is_empty())?;
    match kind.as_atom()? {
        am::spawn => Some(Target::Spawn(name)),
        am::spawn_driver => Some(Target::Driver(name)),
        am::spawn_executable => Some(Target::Executable(name)),
        _ => None,
    }
}

/// The second argument, and what holds where it says nothing of `parallelism` (`+spp`); `Err` is the reason that
/// `erts_internal:open_port/2` gives.
pub fn settings(list: Term, target: &Target, parallelism: bool) -> Result<Settings, Atom> {
    let mut s = Settings { parallelism, ..Settings::default() };
    let (mut line, mut packet) = (None, None);
    let mut items = list.list_iter();
    for item in items.by_ref() {
        if let Some(flag) = item.as_atom() {
            match flag {
                // Takes back a packet size before it; lines stay.
                am::stream => packet = None,
                am::line => line = Some(DEFAULT_LINE),
                am::exit_status => s.exit_status = true,
                am::use_stdio => s.use_stdio = true,
                am::nouse_stdio => s.use_stdio = false,
                am::stderr_to_stdout => s.stderr_to_stdout = true,
                am::in_ => s.input = true,
                am::out => s.output = true,
                am::binary => s.binary = true,
                am::eof => s.eof = true,
                am::hide | am::overlapped_io => {}
                _ => return Err(am::badopt),
            }
            continue;
        }
        let Some([key, value]) = item.as_tuple_of::<2>() else { return Err(am::badopt) };
        match key.as_atom() {
            Some(am::packet) => packet = Some(value.as_usize().filter(|n| [1, 2, 4].contains(n)).ok_or(am::badopt)?),
            Some(am::line) => line = Some(value.as_usize().filter(|n| *n > 0).ok_or(am::badopt)?),
            Some(am::cd) => s.directory = Some(native_text(value).ok_or(am::badarg)?),
            Some(am::env) => s.environment = environment(value).ok_or(am::badopt)?,
            Some(am::args) => s.arguments = Some(arguments(value).ok_or(am::badopt)?),
            Some(am::arg0) => s.arg0 = Some(native_text(value).ok_or(am::badopt)?),
            Some(am::parallelism) => s.parallelism = value.as_bool().ok_or(am::badopt)?,
            Some(am::busy_limits_port) => {
                s.busy_limits = limits(value).ok_or(am::badopt)?.map(|(low, high)| (high.max(low), low));
            }
            Some(am::busy_limits_msgq) => {
                let limits = limits(value).ok_or(am::badopt)?;
                s.queue_limits = Some(limits.map_or(Limits::NONE, |(low, high)| Limits { low: low.min(high), high }));
            }
            _ => return Err(am::badopt),
        }
    }
    if !items.tail().is_nil() {
        return Err(am::badopt);
    }
    s.framing = match (line, packet) {
        (Some(_), Some(_)) => return Err(am::badopt),
        (Some(limit), None) => Framing::Line(limit),
        (None, Some(header)) => Framing::Packet(header),
        _ => Framing::Stream,
    };
    let executable = matches!(target, Target::Executable(_));
    if !executable && (s.arguments.is_some() || s.arg0.is_some()) {
        return Err(am::badarg);
    }
    if s.exit_status && matches!(target, Target::Fd(..) | Target::File(_)) {
        return Err(am::badarg);
    }
    if !s.input && !s.output {
        (s.input, s.output) = (true, true);
    }
    Ok(s)
}

/// `{Low, High}` or `disabled`; the outer option says whether it is well-formed.
fn limits(term: Term) -> Option<Option<(usize, usize)>> {
    if term.is_am(am::disabled) {
        return Some(None);
    }
    let [low, high] = term.as_tuple_of::<2>()?;
    let number = |term: Term| match term.as_big() {
        Some((false, [one])) => usize::try_from(*one).ok(),
        _ => term.as_usize(),
    };
    // The largest number of all stands for `disabled` within OTP.
    let limit = |term: Term| number(term).filter(|n| *n > 0 && *n < usize::MAX);
    let (low, high) = (limit(low)?, limit(high)?);
    Some(Some((low, high)))
}

fn environment(list: Term) -> Option<Vec<Variable>> {
    let mut entries = Vec::new();
    let mut items = list.list_iter();
    for item in items.by_ref() {
        let [name, value] = item.as_tuple_of::<2>()?;
        // Lists only, unlike all other names.
        let text = |term: Term| if term.is_list() { native_text(term) } else { None };
        let name = text(name).filter(|n| !n.contains(&b'='))?;
        // Without a value it is taken out.
        let value = if value.is_am(am::false_) { None } else { Some(text(value)?).filter(|v| !v.is_empty()) };
        entries.push((name, value));
    }
    items.tail().is_nil().then_some(entries)
}

fn arguments(list: Term) -> Option<Vec<Vec<u8>>> {
    let mut items = list.list_iter();
    let arguments = items.by_ref().map(native_text).collect::<Option<Vec<_>>>()?;
    items.tail().is_nil().then_some(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_heap::{Heap, Settings};
    use myriad_term::Build;

    #[test]
    fn text_for_the_system() {
        let mut arena = Heap::new(&Settings::default());
        let (inner, tail) = (arena.string("c"), arena.string("hé"));
        let deep = arena.list(&[Term::small(101), inner, tail]);
        assert_eq!(native_text(deep).as_deref(), Some("eché".as_bytes()));
        let nul = arena.binary(b"a\0");
        assert_eq!((native_text(nul), native_text(Term::small(1))), (None, None));
        assert_eq!(native_text(Term::NIL).as_deref(), Some(&b""[..]));
    }

    #[test]
    fn options_that_erl_refuses() {
        let mut arena = Heap::new(&Settings::default());
        let spawn = Target::Spawn(b"ls".to_vec());
        let mut check = |name: Atom, value: Term| {
            let option = arena.tuple(&[name.term(), value]);
            let list = arena.list(&[option]);
            settings(list, &spawn, false).map(|s| s.framing).map_err(|e| e.text())
        };
        assert_eq!(check(am::packet, Term::small(0)), Err("badopt"));
        assert_eq!(check(am::packet, Term::small(2)), Ok(Framing::Packet(2)));
        assert_eq!(check(am::line, Term::small(0)), Err("badopt"));
        assert_eq!(check(am::cd, Term::small(1)), Err("badarg"));
        assert_eq!(check(am::args, Term::NIL), Err("badarg"));
        assert_eq!(check(am::env, Term::OK), Err("badopt"));
        assert_eq!(check(am::busy_limits_port, Term::small(1)), Err("badopt"));
        assert!(settings(Term::OK, &spawn, false).is_err());
    }
}
