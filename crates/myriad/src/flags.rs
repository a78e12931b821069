//! The emulator's command line, as `erlexec` gives it: flags up to a lone `--`, then what `erl_init:start/2` gets.
//!
//! Each flag is a line in [`FLAGS`]: its prefix, what its value must be, and what it does. A flag that means nothing
//! here (allocator settings, busy-wait thresholds) is checked as far as OTP documents it, and accepted.

use myriad_heap::{MaxHeapSize, Settings};
use myriad_vm::vm::Config;
use std::path::PathBuf;

/// What the command line asks for.
pub enum Command {
    /// Run the VM.
    Run(Box<Config>),
    /// Print the version of the emulator.
    Version,
}

/// A flag that makes no sense, in OTP's words.
pub struct BadFlag(pub String);

/// How a flag takes its value.
#[derive(Clone, Copy, PartialEq)]
enum Value {
    /// None; the flag stands alone.
    None,
    /// The rest of the word, maybe empty.
    Attached,
    /// The rest of the word, or the next word.
    Required,
}

type Apply = fn(&mut Parsed, &str) -> Result<(), String>;

struct Flag {
    prefix: &'static str,
    value: Value,
    apply: Apply,
}

/// Numbers on their way to a [`Config`].
struct Parsed {
    config: Config,
    version: bool,
}

const fn flag(prefix: &'static str, value: Value, apply: Apply) -> Flag {
    Flag { prefix, value, apply }
}

const fn ignored(prefix: &'static str, value: Value) -> Flag {
    Flag { prefix, value, apply: |_, _| Ok(()) }
}

/// Longest prefixes first where one begins another.
static FLAGS: &[Flag] = &[
    flag("hms", Value::Required, |p, v| set(&mut p.config.heap.min_heap_size, v, 0, 1 << 40, "bad heap size")),
    flag("hmbs", Value::Required, |p, v| set(&mut p.config.heap.min_bin_vheap_size, v, 0, 1 << 40, "bad heap size")),
    flag("hmaxk", Value::Required, |p, v| truth(&mut p.config.heap.max_heap_size.kill, v, "bad max heap kill")),
    flag("hmaxel", Value::Required, |p, v| {
        truth(&mut p.config.heap.max_heap_size.error_logger, v, "bad max heap error logger")
    }),
    flag("hmaxib", Value::Required, |p, v| {
        truth(&mut p.config.heap.max_heap_size.include_shared, v, "bad max heap include shared binaries")
    }),
    flag("hmax", Value::Required, |p, v| {
        set(&mut p.config.heap.max_heap_size.size, v, 0, 1 << 60, "bad max heap size")
    }),
    flag("hmqd", Value::Required, |p, v| match v {
        "off_heap" => {
            p.config.off_heap_messages = true;
            Ok(())
        }
        "on_heap" => {
            p.config.off_heap_messages = false;
            Ok(())
        }
        _ => Err(format!("bad message queue data flag {v}")),
    }),
    ignored("hpds", Value::Required),
    flag("SDPcpu", Value::Required, |p, v| percentages(v, "dirty CPU schedulers").map(|n| p.config.dirty_cpu = n)),
    flag("SDcpu", Value::Required, |p, v| {
        pair(v, "amount of dirty CPU schedulers").map(|(n, _)| p.config.dirty_cpu = n.unwrap_or(p.config.dirty_cpu))
    }),
    flag("SDio", Value::Required, |p, v| set(&mut p.config.dirty_io, v, 1, 1024, "bad number of dirty IO schedulers")),
    flag("SP", Value::Required, |p, v| {
        percentages(v, "schedulers").map(|n| {
            p.config.schedulers = n;
            p.config.schedulers_online = n;
        })
    }),
    flag("S", Value::Required, schedulers),
    flag("P", Value::Required, |p, v| match v {
        "legacy" => Ok(()),
        _ => set(&mut p.config.process_limit, v, 1024, 134_217_727, "bad number of processes"),
    }),
    flag("Q", Value::Required, |p, v| match v {
        "legacy" => Ok(()),
        // The table's size is a power of two, and all of it may be used.
        _ => set(&mut p.config.port_limit, v, 1024, 134_217_727, "bad number of ports")
            .map(|()| p.config.port_limit = p.config.port_limit.next_power_of_two()),
    }),
    flag("t", Value::Required, |p, v| set(&mut p.config.atom_limit, v, 8192, 2_147_483_647, "bad atom table size")),
    flag("V", Value::None, |p, _| {
        p.version = true;
        Ok(())
    }),
    ignored("sbt", Value::Required),
    ignored("s", Value::Required),
    ignored("z", Value::Required),
    ignored("M", Value::Required),
    ignored("J", Value::Required),
    ignored("IO", Value::Required),
    ignored("i", Value::Required),
    ignored("pc", Value::Required),
    ignored("pad", Value::Required),
    ignored("R", Value::Required),
    ignored("rg", Value::Required),
    ignored("r", Value::None),
    ignored("A", Value::Required),
    ignored("a", Value::Required),
    ignored("B", Value::Attached),
    ignored("C", Value::Required),
    ignored("c", Value::Required),
    ignored("dcg", Value::Required),
    ignored("d", Value::None),
    ignored("D", Value::Attached),
    ignored("e", Value::Required),
    ignored("fn", Value::Attached),
    ignored("K", Value::Required),
    ignored("L", Value::None),
    ignored("l", Value::None),
    ignored("n", Value::Attached),
    ignored("T", Value::Required),
    ignored("v", Value::Attached),
    flag("W", Value::Required, |_, v| match v {
        "i" | "w" | "e" => Ok(()),
        _ => Err(format!("unrecognized warning_map option {v}")),
    }),
    ignored("x", Value::None),
];

fn set<T: TryFrom<u64>>(to: &mut T, text: &str, min: u64, max: u64, message: &str) -> Result<(), String> {
    let value = text.parse::<u64>().ok().filter(|v| (min..=max).contains(v)).and_then(|v| T::try_from(v).ok());
    match value {
        Some(value) => {
            *to = value;
            Ok(())
        }
        None => Err(format!("{message} {text}")),
    }
}

fn truth(to: &mut bool, text: &str, message: &str) -> Result<(), String> {
    *to = match text {
        "true" => true,
        "false" => false,
        _ => return Err(format!("{message} {text}")),
    };
    Ok(())
}

/// `N`, `N:M` or `:M`; each from 1 to 1024.
fn pair(text: &str, what: &str) -> Result<(Option<usize>, Option<usize>), String> {
    let number = |part: &str| match part {
        "" => Ok(None),
        _ => part
            .parse::<usize>()
            .ok()
            .filter(|n| (1..=1024).contains(n))
            .map(Some)
            .ok_or_else(|| format!("bad {what} {text}")),
    };
    let (first, second) = text.split_once(':').unwrap_or((text, ""));
    Ok((number(first)?, number(second)?))
}

fn percentages(text: &str, what: &str) -> Result<usize, String> {
    let first = text.split(':').next().unwrap_or("");
    let percent: usize = match first {
        "" => 100,
        _ => first.parse().map_err(|_| format!("bad {what} percentage {text}"))?,
    };
    Ok((myriad_sync::available_parallelism() * percent).div_ceil(100).clamp(1, 1024))
}

fn schedulers(p: &mut Parsed, text: &str) -> Result<(), String> {
    let all = myriad_sync::available_parallelism();
    if text == "0" || text == "0:0" {
        p.config.schedulers = all;
        p.config.schedulers_online = all;
        return Ok(());
    }
    // A negative number counts down from what there is.
    if let Some(less) = text.strip_prefix('-') {
        let n = less.parse::<usize>().ok().and_then(|n| all.checked_sub(n)).filter(|n| *n > 0);
        let n = n.ok_or_else(|| format!("bad amount of schedulers {text}"))?;
        p.config.schedulers = n;
        p.config.schedulers_online = n;
        return Ok(());
    }
    let (total, online) = pair(text, "amount of schedulers")?;
    p.config.schedulers = total.unwrap_or(all);
    p.config.schedulers_online = online.unwrap_or(p.config.schedulers);
    if p.config.schedulers_online > p.config.schedulers {
        return Err(format!("bad amount of schedulers online {text}"));
    }
    Ok(())
}

fn defaults() -> Config {
    let cores = myriad_sync::available_parallelism();
    Config {
        schedulers: cores,
        schedulers_online: cores,
        dirty_cpu: cores,
        dirty_io: 10,
        process_limit: 262_144,
        port_limit: 65_536,
        atom_limit: 1 << 20,
        heap: Settings {
            max_heap_size: MaxHeapSize { kill: true, error_logger: true, ..MaxHeapSize::default() },
            ..Settings::default()
        },
        off_heap_messages: false,
        root: PathBuf::new(),
        arguments: Vec::new(),
        emulator_flags: Vec::new(),
        backtrace_depth: 8,
    }
}

/// Reads the words after the program's name.
pub fn parse(words: &[Vec<u8>]) -> Result<Command, BadFlag> {
    let split = words.iter().position(|w| w == b"--").unwrap_or(words.len());
    let mut parsed = Parsed { config: defaults(), version: false };
    let mut flags = words[..split].iter().map(|w| String::from_utf8_lossy(w).into_owned());
    while let Some(word) = flags.next() {
        read_flag(&mut parsed, &word, &mut flags).map_err(BadFlag)?;
    }
    parsed.config.emulator_flags = words[..split].iter().map(|w| String::from_utf8_lossy(w).into_owned()).collect();
    if parsed.version {
        return Ok(Command::Version);
    }
    parsed.config.arguments = words.get(split + 1..).unwrap_or_default().to_vec();
    parsed.config.root = root_of(&parsed.config.arguments);
    Ok(Command::Run(Box::new(parsed.config)))
}

fn read_flag(p: &mut Parsed, word: &str, rest: &mut impl Iterator<Item = String>) -> Result<(), String> {
    let unknown = || format!("{word} unknown flag.");
    let body = word.strip_prefix('-').ok_or_else(unknown)?;
    let flag = FLAGS.iter().find(|f| match f.value {
        Value::None => body == f.prefix,
        _ => body.starts_with(f.prefix),
    });
    let flag = flag.ok_or_else(unknown)?;
    let attached = &body[flag.prefix.len()..];
    // Families (`-sbwt`, `-MBas`, `-zdbbl`) carry a sub-name before the value, which is the next word.
    let family = matches!(flag.prefix, "s" | "z" | "M" | "J" | "IO");
    match flag.value {
        Value::None | Value::Attached => (flag.apply)(p, attached),
        Value::Required if attached.is_empty() || family => {
            let value = rest.next().ok_or_else(|| format!("missing value of {word}"))?;
            (flag.apply)(p, &value)
        }
        Value::Required => (flag.apply)(p, attached),
    }
}

/// The word after `-root`.
fn root_of(arguments: &[Vec<u8>]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    let at = arguments.iter().position(|w| w == b"-root");
    let root = at.and_then(|i| arguments.get(i + 1));
    root.map(|r| PathBuf::from(std::ffi::OsStr::from_bytes(r))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Vec<u8>> {
        text.split_whitespace().map(|w| w.as_bytes().to_vec()).collect()
    }

    fn config(text: &str) -> Config {
        match parse(&words(text)) {
            Ok(Command::Run(config)) => *config,
            _ => panic!("not a run: {text}"),
        }
    }

    #[test]
    fn flags_end_at_the_lone_dashes() {
        let c =
            config("-S 2:1 -sbwt none -A1 -hms 300 -Bi -MBas aobf -- -root /otp -- -home /h -- -noshell -extra -P 5");
        assert_eq!((c.schedulers, c.schedulers_online, c.heap.min_heap_size), (2, 1, 300));
        assert_eq!(c.root, PathBuf::from("/otp"));
        assert_eq!(c.arguments.len(), 10);
        assert_eq!(c.process_limit, 262_144);
    }

    #[test]
    fn bad_values_are_named_as_otp_names_them() {
        let message = |text| match parse(&words(text)) {
            Err(BadFlag(m)) => m,
            Ok(_) => String::new(),
        };
        assert_eq!(message("-S foo"), "bad amount of schedulers foo");
        assert_eq!(message("-P abc"), "bad number of processes abc");
        assert_eq!(message("-hms -1"), "bad heap size -1");
        assert_eq!(message("-W x"), "unrecognized warning_map option x");
    }
}
