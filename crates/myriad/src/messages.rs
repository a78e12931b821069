//! `myriad messages`: which objects of a module are built to be sent (`beam::messages`).

use crate::said::{Refused, say};
use myriad_beam::{Class, LoadError, Module};
use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The words that the command takes.
pub const TAKES: &str = "messages MODULE|FILE.beam...";

/// What was found, in numbers.
#[derive(Default)]
struct Totals {
    local: usize,
    escaping: usize,
    unknown: usize,
    on_top: usize,
    sends: usize,
    messages: usize,
}

/// Lists what the functions of modules build and what becomes of it, and the totals.
pub fn main(words: &[OsString]) -> Result<(), Refused> {
    if words.is_empty() {
        return Err(Refused::Usage);
    }
    let (mut text, mut totals) = (String::new(), Totals::default());
    for word in words {
        let file = file_of(word)?;
        let named = |error: &dyn std::fmt::Display| Refused::Because(format!("{}: {error}", file.display()));
        let bytes = std::fs::read(&file).map_err(|error| named(&error))?;
        let module = Module::load(&bytes).map_err(|error| named(&error))?;
        list(&module, &mut text, &mut totals).map_err(|error| named(&error))?;
    }
    say(&(text + &totals.text()))
}

/// The file of a word: itself, or that of the library's module of this name.
fn file_of(word: &OsString) -> Result<PathBuf, Refused> {
    let path = Path::new(word);
    if path.extension().is_some_and(|extension| extension == "beam") || path.components().count() != 1 {
        return Ok(path.to_owned());
    }
    let root = std::env::var_os("MYRIAD_OTP_ROOT").map_or_else(|| "/usr/lib/erlang".into(), PathBuf::from);
    let libraries = std::fs::read_dir(root.join("lib")).into_iter().flatten().flatten();
    let mut name = word.clone();
    name.push(".beam");
    libraries
        .map(|library| library.path().join("ebin").join(&name))
        .find(|file| file.exists())
        .ok_or_else(|| Refused::Because(format!("no module {} in {}", word.to_string_lossy(), root.display())))
}

fn list(module: &Module, text: &mut String, totals: &mut Totals) -> Result<(), LoadError> {
    for (index, function) in module.functions.iter().enumerate() {
        let body = module.decode_function(index as u32)?;
        let found = module.messages(&body);
        totals.sends += found.sends;
        totals.messages += found.built.len();
        if found.sites.is_empty() {
            continue;
        }
        // Writing to a String does not fail.
        let _ = writeln!(text, "{}:{}/{}", module.name(), module.atom(function.name), function.arity);
        for site in &found.sites {
            let class = match site.class {
                Class::Local => "local",
                Class::Escaping => "escaping",
                Class::Unknown => "unknown",
            };
            let place = if site.on_top { "on top" } else { "" };
            let instruction = body.get(site.index).map_or_else(String::new, |instr| module.disasm_instruction(&instr));
            let _ = writeln!(text, "    {class:8}  {place:6}  {instruction}");
            totals.count(site.class, site.on_top);
        }
    }
    Ok(())
}

impl Totals {
    fn count(&mut self, class: Class, on_top: bool) {
        match class {
            Class::Local => self.local += 1,
            Class::Escaping => self.escaping += 1,
            Class::Unknown => self.unknown += 1,
        }
        self.on_top += usize::from(on_top);
    }

    fn text(&self) -> String {
        let Totals { local, escaping, unknown, on_top, sends, messages } = self;
        format!(
            "{} objects: {escaping} escaping, {local} local, {unknown} unknown; {on_top} on top of the heap when they are sent\n\
             {sends} sends, {messages} of a message on top of the heap\n",
            local + escaping + unknown
        )
    }
}
