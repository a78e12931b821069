//! What is to be seen of machine code: counts, files for profilers (`+JPperf`), listings (`+JDdump`).

use crate::compile::{Compiled, Why, compile};
use crate::counters::Counters;
use crate::listing::{self, of_made, place};
use crate::reason;
use myriad_interp::code::decoded;
use myriad_native::link::CodeSpace;
use myriad_native::perf::{self, Dump, Map};
use myriad_sync::{Arc, LockClass, Mutex};
use myriad_term::{Arena, TermRef};
use myriad_vm::Vm;
use myriad_vm::code::{Function, Module};
use myriad_vm::config::Config;
use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::time::Instant;

static CLASS: LockClass = LockClass::new("native_files", 738);

/// Files that are written as functions are compiled.
struct Files {
    map: Option<Map>,
    dump: Option<Dump>,
    /// Modules for which there is a listing; `None`: none are wanted.
    listed: Option<HashSet<String>>,
}

/// What is to be seen of a VM's machine code.
pub(crate) struct Views {
    counters: Counters,
    /// `None`: none are wanted.
    files: Option<Mutex<Files>>,
}

/// What is there, unless it cannot be made: a profile is no reason to stop.
fn made<T>(file: io::Result<T>, flag: &str) -> Option<T> {
    file.map_err(|error| eprintln!("myriad: no file for {flag}: {error}")).ok()
}

impl Views {
    /// Those that the command line asks for.
    pub(crate) fn new(config: &Config) -> Views {
        let wanted = &config.native_files;
        let directory = &wanted.perf_directory;
        let files = Files {
            map: wanted.perf_map.then(|| made(Map::create(directory), "+JPperf")).flatten(),
            dump: wanted.perf_dump.then(|| made(Dump::create(directory), "+JPperf")).flatten(),
            listed: wanted.listings.then(HashSet::new),
        };
        let any = files.map.is_some() || files.dump.is_some() || files.listed.is_some();
        Views { counters: Counters::default(), files: any.then(|| Mutex::new(&CLASS, files)) }
    }

    /// What has been counted.
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Compiles a function, and shows what has come of it.
    ///
    /// # Safety
    /// As for [`compile`].
    pub(crate) unsafe fn compile(&self, vm: &'static Vm, function: &'static Function, space: &Arc<CodeSpace>) {
        let (begun, since) = (Instant::now(), perf::now());
        // SAFETY: the caller's promise.
        let result = unsafe { compile(vm, function, space) };
        self.counters.done(result.as_ref().map(|compiled| &compiled.fresh.made.code), begun.elapsed());
        if let Err(why) = &result
            && let Some(place) = reason::place(why)
            && let Some(code) = decoded(function)
        {
            code.verdict.set(1 + place as u8);
        }
        if let Some(files) = &self.files
            && let Some(module) = function.module()
        {
            let mut files = files.lock();
            let written = files.write(module, function, &result, since);
            if let Err(error) = written {
                // A disk that is full stays so: nothing more is written.
                eprintln!("myriad: +JPperf, +JDdump: {error}");
                *files = Files { map: None, dump: None, listed: None };
            }
        }
    }
}

impl Files {
    fn write(
        &mut self,
        module: &Module,
        function: &Function,
        result: &Result<Compiled, Why>,
        since: u64,
    ) -> io::Result<()> {
        if let Ok(compiled) = result {
            self.profile(module, function, compiled, since)?;
        }
        let Some(listed) = &mut self.listed else { return Ok(()) };
        let text = match result {
            Ok(compiled) => of_made(function, &compiled.fresh),
            Err(Why::Late) => return Ok(()),
            Err(why) => format!("%% {} stays in tier 0: {why}\n", listing::name(function.mfa)),
        };
        // As OTP names its listings: in the current directory, made anew by each run.
        let name = module.beam.name().replace('/', "_");
        let is_new = listed.insert(name.clone());
        let mut options = OpenOptions::new();
        options.create(true).write(true).truncate(is_new).append(!is_new);
        options.open(format!("{name}.asm"))?.write_all(text.as_bytes())
    }

    fn profile(&mut self, module: &Module, function: &Function, compiled: &Compiled, since: u64) -> io::Result<()> {
        if self.map.is_none() && self.dump.is_none() {
            return Ok(());
        }
        let source = source(module);
        let own = format!("{}.erl", module.beam.name());
        let mut lines: Vec<(u32, String, u32)> = Vec::new();
        for (offset, number) in &compiled.fresh.made.code.sources {
            let line = compiled.fresh.lines.get(*number as usize).and_then(|line| place(module, *line));
            if let Some((file, line)) = line {
                let file = source.clone().filter(|_| file == own).unwrap_or(file);
                lines.push((*offset, file, line));
            }
        }
        let lines: Vec<(u32, &str, u32)> =
            lines.iter().map(|(offset, file, line)| (*offset, file.as_str(), *line)).collect();
        let (address, bytes) = (compiled.start, compiled.fresh.made.code.bytes.len());
        // SAFETY: it has been written before it was published, and is not freed as long as the function is there.
        let code = unsafe { std::slice::from_raw_parts(address as *const u8, bytes) };
        let name = format!("${}", listing::name(function.mfa));
        let function = perf::Function { name: &name, address, code, lines: &lines };
        self.map.as_mut().map_or(Ok(()), |map| map.add(&function))?;
        self.dump.as_mut().map_or(Ok(()), |dump| dump.add(&function, since))
    }
}

/// The path of a module's source, if its compiler has noted it.
fn source(module: &Module) -> Option<String> {
    let mut arena = &Arena::new();
    let info = module.compile_info(&mut arena);
    let mut pairs = info.list_iter().filter_map(TermRef::as_tuple_of::<2>);
    let [_, path] = pairs.find(|[key, _]| key.as_atom().is_some_and(|key| key.text() == "source"))?;
    path.list_iter().map(|code| char::from_u32(code.as_small()? as u32)).collect()
}
