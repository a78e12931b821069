//! The emulator's command line, as `erlexec` gives it: flags up to a lone `--`, then what `erl_init:start/2` gets.
//!
//! Each flag is a line in [`FLAGS`]: its prefix, what its value must be, and what it does. A flag that means nothing
//! here (allocator settings, busy-wait thresholds) is checked as far as OTP documents it, and accepted.

use myriad_heap::{Architecture, MaxHeapSize, Settings, sizes};
use myriad_sync::machine::{BindType, sct};
use myriad_sync::thread::CAN_SPAWN;
use myriad_vm::config::{MOST_NATIVE_THREADS, MOST_PRIVATE_THREADS, NATIVE_THRESHOLD, NativeCache, NativeFiles};
use myriad_vm::emulator_flags::{Break, EmulatorFlags, FileNames, Warnings, WrongNames};
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
    /// The rest of the word, or the next word if it is one of these.
    Maybe(&'static [&'static str]),
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
    schedulers: Counts,
    dirty_cpu: Counts,
    /// `+Jcache`, if it was given.
    cache: Option<NativeCache>,
    version: bool,
}

const fn flag(prefix: &'static str, value: Value, apply: Apply) -> Flag {
    Flag { prefix, value, apply }
}

const fn ignored(prefix: &'static str, value: Value) -> Flag {
    Flag { prefix, value, apply: |_, _| Ok(()) }
}

const BUSY_WAITS: &[&str] = &["none", "very_short", "short", "medium", "long", "very_long"];
const CLEANUPS: &[&str] = &["very_eager", "eager", "medium", "lazy", "very_lazy"];
const WAKE_UPS: &[&str] = &["very_low", "low", "medium", "high", "very_high"];
const BOOLEANS: &[&str] = &["true", "false"];
const BREAKS: &[&str] = &["i", "c", "d"];
const WARP_MODES: &[&str] = &["no_time_warp", "single_time_warp", "multi_time_warp"];
/// KiB.
const LARGEST_DIST_BUFFER: u64 = 2_097_151;

/// Longest prefixes first where one begins another. What is only checked means nothing to this VM.
static FLAGS: &[Flag] = &[
    flag("heap=", Value::Attached, |p, v| {
        p.config.architecture = match v {
            "hybrid" => Architecture::Hybrid,
            "shared" => Architecture::Shared,
            _ => Architecture::Private,
        };
        one_of(v, &["private", "hybrid", "shared"], "bad heap architecture")
    }),
    flag("hms", Value::Required, |p, v| heap_size(&mut p.config.heap.min_heap_size, v)),
    flag("hmbs", Value::Required, |p, v| heap_size(&mut p.config.heap.min_bin_vheap_size, v)),
    flag("hmaxk", Value::Required, |p, v| truth(&mut p.config.heap.max_heap_size.kill, v, "bad max heap kill")),
    flag("hmaxel", Value::Required, |p, v| {
        truth(&mut p.config.heap.max_heap_size.error_logger, v, "bad max heap error logger")
    }),
    flag("hmaxib", Value::Required, |p, v| {
        truth(&mut p.config.heap.max_heap_size.include_shared, v, "bad max heap include shared binaries")
    }),
    // What is no number is none.
    flag("hmax", Value::Required, |p, v| {
        let digits = v.strip_prefix('-').unwrap_or(v);
        if !digits.bytes().all(|c| c.is_ascii_digit()) {
            p.config.heap.max_heap_size.size = 0;
            return Ok(());
        }
        set(&mut p.config.heap.max_heap_size.size, v, 0, LARGEST_SETTING, "bad max heap size")
    }),
    flag("hmqd", Value::Required, |p, v| {
        p.config.off_heap_messages = v == "off_heap";
        one_of(v, &["off_heap", "on_heap"], "Invalid message_queue_data flag:")
    }),
    flag("hpds", Value::Required, |_, v| number(v, 1, 1 << 30, "bad initial process dictionary size")),
    flag("h", Value::Required, |_, v| Err(format!("bad heap size {v}"))),
    flag("SDPcpu", Value::Required, |p, v| percentages(v, "dirty CPU schedulers").map(|n| p.dirty_cpu = n)),
    flag("SDcpu", Value::Required, |p, v| amounts(v, "dirty CPU schedulers").map(|n| p.dirty_cpu = n)),
    flag("SDio", Value::Required, |p, v| set(&mut p.config.dirty_io, v, 1, 1024, "bad number of dirty I/O schedulers")),
    flag("SP", Value::Required, |p, v| percentages(v, "schedulers").map(|n| p.schedulers = n)),
    flag("S", Value::Required, |p, v| amounts(v, "schedulers").map(|n| p.schedulers = n)),
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
    flag("sbwtdcpu", Value::Required, |_, v| one_of(v, BUSY_WAITS, "bad dirty CPU scheduler busy wait threshold:")),
    flag("sbwtdio", Value::Required, |_, v| one_of(v, BUSY_WAITS, "bad dirty IO scheduler busy wait threshold:")),
    flag("sbwt", Value::Required, |p, v| {
        place_in(v, BUSY_WAITS, "bad scheduler busy wait threshold:").map(|at| p.config.tuning.set_search(at))
    }),
    flag("sbt", Value::Required, bind_type),
    flag("stbt", Value::Required, bind_type),
    flag("scl", Value::Required, |p, v| {
        one_of(v, BOOLEANS, "").map_err(|_| format!("bad scheduler compact load value '{v}'"))?;
        p.config.tuning.compacts = v == "true";
        Ok(())
    }),
    flag("sct", Value::Required, |p, v| {
        let topology = sct::parse(v).map_err(|wrong| format!("bad cpu topology '{v}': {wrong}"))?;
        p.config.cpu_topology = Some(topology);
        Ok(())
    }),
    ignored("sfwi", Value::Required),
    flag("spp", Value::Required, |p, v| {
        truth(&mut p.config.flags.port_parallelism, v, "bad port parallelism scheduling hint")
    }),
    flag("sssdcpu", Value::Required, |_, v| number(v, 20, 8192, "bad stack size for dirty CPU scheduler threads")),
    flag("sssdio", Value::Required, |_, v| number(v, 20, 8192, "bad stack size for dirty IO scheduler threads")),
    flag("sss", Value::Required, |_, v| number(v, 20, 8192, "bad stack size for scheduler threads")),
    flag("sub", Value::Required, |p, v| {
        one_of(v, BOOLEANS, "").map_err(|_| format!("bad scheduler utilization balancing  value '{v}'"))?;
        p.config.tuning.compacts = v == "false";
        Ok(())
    }),
    flag("swct", Value::Required, |p, v| {
        place_in(v, CLEANUPS, "scheduler wake cleanup threshold:").map(|at| p.config.tuning.set_cleanup(at))
    }),
    flag("sws", Value::Required, |_, v| one_of(v, &["default", "legacy"], "scheduler wakeup strategy:")),
    flag("swtdcpu", Value::Required, |_, v| one_of(v, WAKE_UPS, "dirty CPU scheduler wakeup threshold:")),
    flag("swtdio", Value::Required, |_, v| one_of(v, WAKE_UPS, "dirty IO scheduler wakeup threshold:")),
    flag("swt", Value::Required, |p, v| {
        place_in(v, WAKE_UPS, "scheduler wakeup threshold:").map(|at| p.config.tuning.set_wakes(at))
    }),
    flag("s", Value::Attached, |_, v| Err(format!("bad scheduling option -s{v}"))),
    flag("zdbbl", Value::Required, |p, v| {
        let limit = v.parse::<u64>().unwrap_or(0);
        p.config.flags.dist_buffer_kib = limit.min(LARGEST_DIST_BUFFER) as i64;
        if (1..=LARGEST_DIST_BUFFER).contains(&limit) { Ok(()) } else { Err(format!("Invalid dbbl limit: {limit}")) }
    }),
    flag("zdntgc", Value::Required, |_, v| number(v, 0, 100_000, "Invalid delayed node table gc:")),
    flag("zebwt", Value::Required, |_, v| one_of(v, BUSY_WAITS, "Invalid ets busy wait threshold:")),
    flag("zosrl", Value::Required, |_, v| number(v, 0, 134_217_727, "Invalid outstanding requests limit")),
    flag("z", Value::Attached, |_, v| Err(format!("bad -z option -z{v}"))),
    flag("IOPp", Value::Required, |_, v| number(v, 0, 100, "bad I/O pollset percentage number:")),
    flag("IOPt", Value::Required, |_, v| number(v, 0, 100, "bad I/O poll thread percentage number:")),
    flag("IOp", Value::Required, |_, v| number(v, 1, 1024, "bad I/O pollset number:")),
    flag("IOt", Value::Required, |_, v| number(v, 1, 1024, "bad I/O poll threads number:")),
    flag("IOs", Value::Required, |_, v| one_of(v, BOOLEANS, "bad +IOs boolean argument:")),
    flag("JPperfdirectory", Value::Required, |p, v| {
        p.config.native_files.perf_directory = v.into();
        Ok(())
    }),
    flag("JPperf", Value::Required, perf_files),
    flag("JDdump", Value::Required, |p, v| truth(&mut p.config.native_files.listings, v, "bad +JDdump flag")),
    flag("JMsingle", Value::Required, |p, v| truth(&mut p.config.native_single, v, "bad +JMsingle flag")),
    // Myriad's own.
    flag("JMvisits", Value::Required, |p, v| truth(&mut p.config.native_visits, v, "bad +JMvisits flag")),
    flag("JMintrinsics", Value::Required, |p, v| truth(&mut p.config.intrinsics, v, "bad +JMintrinsics flag")),
    flag("JMbuilt", Value::Required, |p, v| truth(&mut p.config.built_messages, v, "bad +JMbuilt flag")),
    flag("JMphases", Value::Required, |p, v| truth(&mut p.config.phases, v, "bad +JMphases flag")),
    flag("JMcache", Value::Required, |p, v| truth(&mut p.config.tuning.caches, v, "bad +JMcache flag")),
    flag("Jnative", Value::Required, |p, v| truth(&mut p.config.native, v, "bad +Jnative flag")),
    flag("Jthreshold", Value::Required, |p, v| {
        p.config.native_threshold = v.parse().unwrap_or(NATIVE_THRESHOLD);
        number(v, 1, u32::MAX.into(), "bad +Jthreshold number")
    }),
    flag("Jcache", Value::Required, |p, v| {
        p.cache = Some(match v {
            "true" => NativeCache::Usual,
            "false" => NativeCache::None,
            _ => NativeCache::At(std::path::absolute(v).map_err(|_| format!("bad +Jcache directory {v}"))?),
        });
        Ok(())
    }),
    flag("Jthreads", Value::Required, |p, v| {
        p.config.native_threads = v.parse().unwrap_or(0);
        number(v, 0, MOST_NATIVE_THREADS as u64, "bad +Jthreads number")
    }),
    flag("JMyields", Value::Required, |p, v| {
        p.config.yields = v.parse().ok();
        number(v, 0, u64::MAX, "bad +JMyields seed")
    }),
    flag("JMmigrate", Value::Required, |p, v| {
        p.config.migrates = v.parse().ok();
        number(v, 0, u64::MAX, "bad +JMmigrate seed")
    }),
    flag("JMthreads", Value::Required, |p, v| {
        p.config.private_threads = v.parse().unwrap_or(0);
        number(v, 0, MOST_PRIVATE_THREADS as u64, "bad number of private threads")
    }),
    flag("J", Value::Attached, |_, v| Err(format!("invalid JIT option -J{v}"))),
    flag("pc", Value::Required, |p, v| {
        p.config.flags.shows_unicode = v == "unicode";
        one_of(v, &["latin1", "unicode"], "bad range of printable characters:")
    }),
    ignored("pad", Value::Required),
    flag("R", Value::Required, |_, v| number(v, OLDEST_COMPATIBLE, NEWEST, "bad compatibility release number")),
    flag("rg", Value::Required, |_, v| number(v, 0, 1 << 30, "bad reader groups limit:")),
    ignored("r", Value::None),
    flag("A", Value::Required, |p, v| {
        // As in OTP, there is one at least.
        p.config.async_threads = v.parse().unwrap_or(1).max(1);
        number(v, 0, 1024, "bad number of async threads")
    }),
    flag("a", Value::Required, |_, v| number(v, 16, 8192, "bad stack size for async threads")),
    flag("B", Value::Maybe(BREAKS), |p, v| {
        p.config.flags.interrupt = match v {
            "i" => Break::Ignored,
            "c" => Break::Key,
            _ => Break::End,
        };
        Ok(())
    }),
    flag("C", Value::Required, |p, v| {
        p.config.flags.time_warp_mode = WARP_MODES.iter().copied().find(|mode| *mode == v);
        one_of(v, WARP_MODES, "Invalid time warp mode:")
    }),
    // Alone it turns the correction off.
    flag("c", Value::Maybe(BOOLEANS), |p, v| {
        p.config.flags.time_correction = v == "true";
        Ok(())
    }),
    ignored("dcg", Value::Required),
    ignored("d", Value::None),
    flag("e", Value::Required, |p, v| {
        p.config.flags.ets_limit = v.parse().unwrap_or(EmulatorFlags::default().ets_limit);
        Ok(())
    }),
    flag("fn", Value::Attached, file_names),
    flag("i", Value::Required, |_, v| match v {
        "init" => Ok(()),
        _ => Err(format!("module {v} does not export boot/1")),
    }),
    ignored("K", Value::Required),
    ignored("L", Value::None),
    // Myriad's own; a word alone, for `erlexec` hands on no value of a flag that it does not know.
    flag("nifcheck", Value::None, |p, _| {
        p.config.nif_check = true;
        Ok(())
    }),
    flag("n", Value::Required, |_, v| one_of(v, &["s", "a", "d"], "bad -n option")),
    flag("T", Value::Required, |_, v| number(v, 0, 9, "bad modified timing level")),
    flag("v", Value::Attached, |_, v| {
        eprintln!("warning: -v{v} (only in debug compiled code)");
        Ok(())
    }),
    flag("W", Value::Required, |p, v| {
        p.config.flags.warnings = match v {
            "i" => Warnings::Info,
            "e" => Warnings::Error,
            _ => Warnings::Warning,
        };
        one_of(v, &["i", "w", "e"], "unrecognized warning_map option")
    }),
    ignored("x", Value::None),
];

/// Releases whose nodes it may have to speak with (`+R`).
const OLDEST_COMPATIBLE: u64 = 23;
const NEWEST: u64 = 29;

/// What a small integer holds on OTP.
const LARGEST_SETTING: u64 = (1 << 59) - 1;

fn one_of(text: &str, words: &[&str], message: &str) -> Result<(), String> {
    place_in(text, words, message).map(|_| ())
}

fn place_in(text: &str, words: &[&str], message: &str) -> Result<usize, String> {
    words.iter().position(|word| *word == text).ok_or_else(|| format!("{message} {text}"))
}

fn number(text: &str, min: u64, max: u64, message: &str) -> Result<(), String> {
    set(&mut 0, text, min, max, message)
}

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

/// A size of the table of heap sizes that is at least this one.
fn heap_size(to: &mut usize, text: &str) -> Result<(), String> {
    set(to, text, 1, i32::MAX as u64, "bad heap size")?;
    *to = sizes::at_least(*to);
    Ok(())
}

fn truth(to: &mut bool, text: &str, message: &str) -> Result<(), String> {
    *to = text == "true";
    one_of(text, BOOLEANS, message)
}

/// `+stbt` differs only where the topology is unknown, which it never is here.
fn bind_type(p: &mut Parsed, text: &str) -> Result<(), String> {
    let bind_type = BindType::of_flag(text);
    p.config.bind_type =
        bind_type.ok_or_else(|| format!("setting scheduler bind type '{text}' failed: invalid type"))?;
    Ok(())
}

/// `fp` and `no_fp` say whether frames have pointers to the ones before, which ours, on the Erlang stack, never have.
fn perf_files(p: &mut Parsed, text: &str) -> Result<(), String> {
    let files = &mut p.config.native_files;
    (files.perf_map, files.perf_dump) = match text {
        "true" | "fp" => (true, true),
        "map" => (true, false),
        "dump" => (false, true),
        _ => (false, false),
    };
    one_of(text, &["true", "false", "map", "dump", "fp", "no_fp"], "bad +JPperf support flag")
}

/// `l`, `u` or `a`, then perhaps what to do about names that are neither.
fn file_names(p: &mut Parsed, text: &str) -> Result<(), String> {
    p.config.flags.file_names = match text.as_bytes().first() {
        Some(b'u') => FileNames::Utf8,
        Some(b'l') => FileNames::Latin1,
        _ => FileNames::Locale,
    };
    p.config.flags.wrong_names = match text.as_bytes().get(1) {
        Some(b'i') => WrongNames::Ignored,
        Some(b'e') => WrongNames::Error,
        _ => WrongNames::Warning,
    };
    match text.strip_prefix(['l', 'u', 'a']) {
        Some("" | "w" | "i" | "e") => Ok(()),
        Some(rest) => Err(format!("bad type of warnings for wrongly coded filename: {rest}")),
        None => Err(format!("bad filename encoding {text}, can be (l,u or a, optionally followed by w, i or e)")),
    }
}

/// `M`, a letter for the allocator, a parameter: allocators are others here, so the values are only looked at.
fn allocator_setting(name: &str, value: &str) -> Result<(), String> {
    const STRATEGIES: &[&str] =
        &["bf", "aobf", "aoff", "aoffcbf", "aoffcaobf", "ageffcaoff", "ageffcbf", "ageffcaobf", "gf", "af"];
    const NUMBERS: [&str; 19] = [
        "amcbf", "rmcbf", "mcs", "asbcst", "acul", "acnl", "acfml", "lmbcs", "mbcgs", "mbsd", "mmbcs", "mmmbc",
        "mmsbc", "rsbcmt", "rsbcst", "rmbcmt", "sbct", "smbcs", "scs",
    ];
    let bad = || Err(format!("bad \"M{name}\" value: {value}"));
    let mut letters = name.chars();
    let (allocator, parameter) = (letters.next(), letters.as_str());
    match (allocator, parameter) {
        (Some('e'), "a") if ["min", "max", "config"].contains(&value) => Ok(()),
        (Some('e'), "a") => Err("bad \"Mea\" parameter".to_owned()),
        (Some('i'), "t" | "m") | (None, _) => Err("bad \"M\" parameter".to_owned()),
        (Some('u'), parameter) if ["ycs", "mmc", "sac"].contains(&parameter) => {
            if value.parse::<u64>().is_ok() || BOOLEANS.contains(&value) { Ok(()) } else { bad() }
        }
        (Some(allocator), parameter) if "BDEFHILMRSTUXu".contains(allocator) => match parameter {
            "as" => {
                if STRATEGIES.contains(&value) {
                    Ok(())
                } else {
                    // OTP leaves a letter out here.
                    Err(format!("bad \"M{allocator}a\" value: {value}"))
                }
            }
            "e" | "t" | "ramv" | "atags" | "cp" | "sbcmt" => Ok(()),
            _ if NUMBERS.contains(&parameter) => {
                if value == "de" || value.parse::<i64>().is_ok() {
                    Ok(())
                } else {
                    bad()
                }
            }
            _ => Err(format!("bad \"M{allocator}\" parameter")),
        },
        _ => Err("bad \"M\" parameter".to_owned()),
    }
}

/// How many schedulers of a kind there are, and how many of them are online.
type Counts = (usize, usize);

/// As many as the machine has processors; online as many as this process may use.
fn processors() -> Counts {
    (myriad_sync::configured_processors(), myriad_sync::available_parallelism())
}

/// `N`, `N:M` or `:M`. Nothing or 0 is what there is; a negative number counts down from that.
fn amounts(text: &str, what: &str) -> Result<Counts, String> {
    let (first, second) = text.split_once(':').unwrap_or((text, ""));
    let (all, available) = processors();
    let amount = |part: &str, all: usize| -> Option<usize> {
        let number: i64 = if part.is_empty() { 0 } else { leading_number(part)? };
        let amount = if number <= 0 { all as i64 + number } else { number };
        (1..=1024).contains(&amount).then_some(amount as usize)
    };
    let bad = |which: &str, part: &str| format!("bad amount of {what}{which} {part}");
    let total = amount(first, all).ok_or_else(|| bad("", first))?;
    let online = match text.contains(':') {
        true => amount(second, available).ok_or_else(|| bad(" online", second))?,
        false => total.min(available),
    };
    if online > total {
        return Err(format!("bad amount of {what} online {online} (total amount of {what} {total})"));
    }
    Ok((total, online))
}

/// `N`, `N:M` or `:M`, in hundredths of the cores.
fn percentages(text: &str, what: &str) -> Result<Counts, String> {
    let (first, second) = text.split_once(':').unwrap_or((text, ""));
    let percent = |part: &str, else_: usize| -> Result<usize, String> {
        let percent = if part.is_empty() { Some(else_ as i64) } else { leading_number(part) };
        percent.and_then(|n| usize::try_from(n).ok()).ok_or_else(|| format!("bad {what} percentage specifier {text}"))
    };
    let (all, available) = processors();
    let amount = |percent: usize, all: usize| (all.saturating_mul(percent) / 100).clamp(1, 1024);
    let first = percent(first, 100)?;
    let online_percent = percent(second, if text.contains(':') { 100 } else { first.min(100) })?;
    let (total, online) = (amount(first, all), amount(online_percent, available));
    if online > total {
        return Err(format!(
            "bad {what} online percentage {online_percent} (total amount of {what} {total}, online {online})"
        ));
    }
    Ok((total, online))
}

/// The number that a text begins with, as C's `atoi` and `sscanf` take it.
fn leading_number(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let number: i64 = digits[..end].parse().ok()?;
    Some(if text.starts_with('-') { -number } else { number })
}

fn defaults() -> Config {
    Config {
        // These four and `native_cache` follow from all flags together.
        schedulers: 1,
        schedulers_online: 1,
        dirty_cpu: 1,
        dirty_cpu_online: 1,
        dirty_io: 10,
        process_limit: 262_144,
        private_threads: MOST_PRIVATE_THREADS,
        async_threads: 1,
        port_limit: 65_536,
        atom_limit: 1 << 20,
        heap: Settings {
            max_heap_size: MaxHeapSize { kill: true, error_logger: true, ..MaxHeapSize::default() },
            ..Settings::default()
        },
        architecture: Architecture::Hybrid,
        off_heap_messages: false,
        root: PathBuf::new(),
        arguments: Vec::new(),
        bind_type: BindType::Unbound,
        cpu_topology: None,
        flags: EmulatorFlags::default(),
        backtrace_depth: 8,
        intrinsics: true,
        native_threshold: NATIVE_THRESHOLD,
        native: cfg!(feature = "native") && !myriad_sync::REPEATS,
        native_threads: 1,
        native_single: false,
        native_visits: false,
        native_files: NativeFiles::default(),
        native_cache: NativeCache::None,
        tuning: Default::default(),
        nif_check: false,
        yields: None,
        migrates: None,
        built_messages: true,
        phases: false,
    }
}

/// Reads the words after the program's name.
pub fn parse(words: &[Vec<u8>]) -> Result<Command, BadFlag> {
    let split = words.iter().position(|w| w == b"--").unwrap_or(words.len());
    let mut parsed =
        Parsed { config: defaults(), schedulers: processors(), dirty_cpu: processors(), cache: None, version: false };
    let mut flags = words[..split].iter().map(|w| String::from_utf8_lossy(w).into_owned()).peekable();
    while let Some(word) = flags.next() {
        read_flag(&mut parsed, &word, &mut flags).map_err(BadFlag)?;
    }
    let c = &mut parsed.config;
    (c.schedulers, c.schedulers_online) = parsed.schedulers;
    let (total, online) = parsed.dirty_cpu;
    if !CAN_SPAWN {
        // The sequential VM, whatever the flags say.
        (c.schedulers, c.schedulers_online) = (1, 1);
    }
    c.dirty_cpu = total.min(c.schedulers);
    c.dirty_cpu_online = online.min(c.dirty_cpu).min(c.schedulers_online);
    // With a threshold of 1 what is compiled says nothing of what runs often: it would push that out of the user's cache.
    let cache = if c.native_threshold == 1 { NativeCache::None } else { NativeCache::Usual };
    c.native_cache = parsed.cache.unwrap_or(cache);
    if parsed.version {
        return Ok(Command::Version);
    }
    parsed.config.arguments = words.get(split + 1..).unwrap_or_default().to_vec();
    parsed.config.root = root_of(&parsed.config.arguments);
    Ok(Command::Run(Box::new(parsed.config)))
}

fn read_flag(
    p: &mut Parsed,
    word: &str,
    rest: &mut std::iter::Peekable<impl Iterator<Item = String>>,
) -> Result<(), String> {
    let unknown = || {
        let program = std::env::args().next().unwrap_or_default();
        format!("{program} unknown flag {word}")
    };
    let body = word.strip_prefix('-').ok_or_else(unknown)?;
    let missing = || format!("missing value of {word}");
    if let Some(name) = body.strip_prefix('M') {
        let value = rest.next_if(|value| !value.starts_with('-')).unwrap_or_default();
        return allocator_setting(name, &value);
    }
    let flag = FLAGS.iter().find(|f| match f.value {
        Value::None => body == f.prefix,
        Value::Maybe(words) => body.strip_prefix(f.prefix).is_some_and(|rest| rest.is_empty() || words.contains(&rest)),
        _ => body.starts_with(f.prefix),
    });
    let flag = flag.ok_or_else(unknown)?;
    let attached = &body[flag.prefix.len()..];
    match flag.value {
        Value::None | Value::Attached => (flag.apply)(p, attached),
        Value::Required if attached.is_empty() => {
            let value = rest.next().ok_or_else(missing)?;
            (flag.apply)(p, &value)
        }
        Value::Required => (flag.apply)(p, attached),
        Value::Maybe(words) if attached.is_empty() => {
            let value = rest.next_if(|value| words.contains(&value.as_str())).unwrap_or_default();
            (flag.apply)(p, &value)
        }
        Value::Maybe(_) => (flag.apply)(p, attached),
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
    fn files_of_machine_code() {
        let cases = [("true", true, true), ("fp", true, true), ("map", true, false), ("dump", false, true)];
        for (value, map, dump) in cases.into_iter().chain([("false", false, false), ("no_fp", false, false)]) {
            let files = config(&format!("-JPperf {value} -JDdump {map}")).native_files;
            assert_eq!((files.perf_map, files.perf_dump, files.listings), (map, dump, map), "{value}");
            assert_eq!(files.perf_directory, PathBuf::from("/tmp"));
        }
        let c = config("-JPperfdirectory /d -JPperf map -JMsingle true");
        assert_eq!(
            (c.native_files.perf_directory, c.native_files.perf_map, c.native_single),
            ("/d".into(), true, true)
        );
        assert!(
            matches!(parse(&words("-JPperf maps")), Err(BadFlag(message)) if message == "bad +JPperf support flag maps")
        );
    }

    #[test]
    fn flags_end_at_the_lone_dashes() {
        let c = config(
            "-S 2:1 -sbwt none -A1 -hms 300 -hmbs 1000 -Bi -MBas aobf -- -root /otp -- -home /h -- -noshell -extra -P 5",
        );
        assert_eq!((c.schedulers, c.schedulers_online, c.heap.min_heap_size), (2, 1, 376));
        assert_eq!(c.heap.min_bin_vheap_size, 1598);
        assert_eq!(c.root, PathBuf::from("/otp"));
        assert_eq!(c.arguments.len(), 10);
        assert_eq!(c.process_limit, 262_144);
    }

    #[test]
    fn the_last_of_several_flags_counts() {
        let flags =
            config("-C multi_time_warp -Cno_time_warp -c false -c true -fnu -fnle -B i -pc unicode -e 9 -W i").flags;
        assert_eq!((flags.time_warp_mode, flags.time_correction), (Some("no_time_warp"), true));
        assert_eq!((flags.file_names, flags.wrong_names), (FileNames::Latin1, WrongNames::Error));
        assert_eq!((flags.interrupt, flags.shows_unicode, flags.ets_limit), (Break::Ignored, true, 9));
        assert!(!config("-c -- -c true").flags.time_correction);
        assert_eq!(config("-B").flags.interrupt, Break::End);
        assert!(config("-nifcheck -n s").nif_check && !config("-n s").nif_check);
    }

    #[test]
    fn functions_that_are_not_hot_are_kept_only_on_demand() {
        let caches =
            ["", "-Jcache true", "-Jcache false", "-Jcache false -Jcache /d"].map(|text| config(text).native_cache);
        assert_eq!(caches, [NativeCache::Usual, NativeCache::Usual, NativeCache::None, NativeCache::At("/d".into())]);
        let all =
            ["-Jthreshold 1", "-Jthreshold 1 -Jcache true", "-Jcache /d -Jthreshold 1", "-Jthreshold 1 -Jthreshold 2"]
                .map(|text| config(text).native_cache);
        assert_eq!(all, [NativeCache::None, NativeCache::Usual, NativeCache::At("/d".into()), NativeCache::Usual]);
    }

    #[test]
    fn binding() {
        let bound = config("-sbt ns -stbt db -sct L1-0c0-1");
        assert_eq!(bound.bind_type, BindType::ThreadNoNodeProcessorSpread);
        assert_eq!(bound.cpu_topology.map(|topology| topology.entries()[0].logical), Some(1));
        assert_eq!(config("-sbt db -sbtu").bind_type, BindType::Unbound);
        assert_eq!((config("").bind_type, config("").cpu_topology), (BindType::Unbound, None));
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
        assert_eq!(message("-S 1:2"), "bad amount of schedulers online 2 (total amount of schedulers 1)");
        assert_eq!(message("-sbwt x"), "bad scheduler busy wait threshold: x");
        assert_eq!(message("-sbt x"), "setting scheduler bind type 'x' failed: invalid type");
        assert_eq!(message("-sct L0-1"), "bad cpu topology 'L0-1': not unique entities");
        assert_eq!(message("-Jthreshold 0"), "bad +Jthreshold number 0");
        assert_eq!(message("-Jthreads 65"), "bad +Jthreads number 65");
        assert_eq!(message("-Jthrow 1"), "invalid JIT option -Jthrow");
        assert_eq!(message("-sxx"), "bad scheduling option -sxx");
        assert_eq!(message("-MBXX 1"), "bad \"MB\" parameter");
        assert_eq!(message("-c -e 1000 -fnuw -Mea min"), "");
    }
}
