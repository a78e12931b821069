//! The emulator flags as they came on the command line, for the built-ins that answer by them.

use myriad_vm::Vm;

/// The value of the last flag `-name`, attached to it or the next word.
pub fn flag_value(vm: &'static Vm, name: &str) -> Option<&'static str> {
    let words = &vm.config.emulator_flags;
    let named = |word: &'static String| word.strip_prefix('-').and_then(|w| w.strip_prefix(name));
    let (i, attached) = words.iter().enumerate().rev().find_map(|(i, w)| named(w).map(|v| (i, v)))?;
    if attached.is_empty() { words.get(i + 1).map(String::as_str) } else { Some(attached) }
}
