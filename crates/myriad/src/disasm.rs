//! `myriad disasm`: a `.beam` file as the loader reads it.

use crate::said::{Refused, say};
use myriad::boot;
use myriad_beam::Module;
use myriad_vm::code::prepare;
use myriad_vm::release::Release;
use myriad_vm::vm::Config;
use std::ffi::OsString;
use std::path::PathBuf;

/// The words that the command takes.
pub const TAKES: &str = "disasm [--decoded] FILE.beam [FUNCTION/ARITY]";

/// Lists the functions of a file, or one: generic instructions or, with `--decoded`, what the interpreter makes of them.
pub fn main(words: &[OsString]) -> Result<(), Refused> {
    let (options, words): (Vec<&OsString>, Vec<&OsString>) =
        words.iter().partition(|word| word.as_encoded_bytes().starts_with(b"-"));
    let (file, wanted) = match words[..] {
        [file] => (file, None),
        [file, function] => (file, Some(name(&function.to_string_lossy())?)),
        _ => return Err(Refused::Usage),
    };
    let is_decoded = match options[..] {
        [] => false,
        [option] if option == "--decoded" => true,
        _ => return Err(Refused::Usage),
    };
    let named = |error: &dyn std::fmt::Display| Refused::Because(format!("{}: {error}", file.display()));
    let bytes = std::fs::read(file).map_err(|error| named(&error))?;
    let module = Module::load(&bytes).map_err(|error| named(&error))?;
    let functions = module.functions.iter().map(|function| (module.atom(function.name), u32::from(function.arity)));
    let is_wanted = |function: &(&str, u32)| {
        wanted.as_ref().is_none_or(|(name, arity)| *name == function.0 && *arity == function.1)
    };
    let chosen: Vec<usize> =
        functions.enumerate().filter(|(_, function)| is_wanted(function)).map(|(index, _)| index).collect();
    if let (true, Some((name, arity))) = (chosen.is_empty(), &wanted) {
        return Err(named(&format!("no function {name}/{arity}")));
    }
    if is_decoded {
        return say(&decoded(&bytes, &chosen).map_err(|error| named(&error))?);
    }
    if wanted.is_none() {
        return say(&module.disasm());
    }
    say(&chosen.iter().map(|index| module.disasm_function(*index as u32)).collect::<String>())
}

/// `FUNCTION/ARITY` in its parts.
fn name(word: &str) -> Result<(String, u32), Refused> {
    let (name, arity) = word.rsplit_once('/').ok_or(Refused::Usage)?;
    Ok((name.to_owned(), arity.parse().map_err(|_| Refused::Usage)?))
}

/// The instructions of the interpreter. Nothing of the file runs.
fn decoded(bytes: &[u8], functions: &[usize]) -> Result<String, String> {
    let root = std::env::var_os("MYRIAD_OTP_ROOT").map_or_else(|| "/usr/lib/erlang".into(), PathBuf::from);
    let vm = boot::bare(Config::default(), Release::find(&root)?);
    let prepared = prepare(bytes, &vm.bifs, vm.engine()).map_err(|error| error.to_string())?;
    // For ever: decoded code refers to it.
    let prepared: &'static _ = Box::leak(Box::new(prepared));
    let functions = functions.iter().filter_map(|index| prepared.module().functions.get(*index));
    let listings = functions.filter_map(|function| {
        let code = myriad_interp::decode::translate(vm, function)?;
        let (name, arity) = (function.mfa.function, function.mfa.arity);
        Some(format!("{}/{arity}\n{}\n", name.text(), myriad_interp::disasm::listing(&code)))
    });
    Ok(listings.collect())
}
