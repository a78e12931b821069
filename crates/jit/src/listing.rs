//! The listing of a function: its form and its machine code, with the instructions that they were made of.

use crate::compile::{Fresh, Why, make};
use crate::name::Name;
use myriad_beam::Line;
use myriad_native::listing;
use myriad_term::Mfa;
use myriad_term::print::atom_text;
use myriad_vm::Vm;
use myriad_vm::code::{Function, Module};
use std::fmt::Write;

/// `Module:Function/Arity`
pub(crate) fn name(mfa: Mfa) -> String {
    format!("{}:{}/{}", atom_text(mfa.module), atom_text(mfa.function), mfa.arity)
}

/// File and line of an index into a module's line table.
pub(crate) fn place(module: &Module, line: u32) -> Option<(String, u32)> {
    let Line { file, line } = module.beam.lines.get(line)?;
    let own = || format!("{}.erl", module.beam.name());
    Some((module.beam.lines.file(file).map_or_else(own, str::to_owned), line))
}

/// The listing of a function, which is compiled for it. It goes on running where it runs.
///
/// # Safety
/// The function's module is not released meanwhile.
///
/// # Errors
/// Why there is no machine code.
pub unsafe fn of_function(vm: &'static Vm, function: &'static Function) -> Result<String, Why> {
    let made = make(vm, function)?;
    Ok(of_made(function, &made))
}

/// The listing of what has been made of a function.
pub(crate) fn of_made(function: &Function, made: &Fresh) -> String {
    let (Some(module), code) = (function.module(), &made.made.code) else { return String::new() };
    let body = module.beam.decode_function(function.index).ok();
    let instruction = |number: usize| {
        let text = body.as_ref().and_then(|body| body.iter().nth(number));
        let text = text.map_or_else(String::new, |instr| module.beam.disasm_instruction(&instr));
        match made.lines.get(number).and_then(|line| place(module, *line)) {
            Some((file, line)) => format!("#{number} {file}:{line}: {text}"),
            None => format!("#{number} {text}"),
        }
    };
    let at = |place: usize| format!("#{}", made.numbers.get(place).copied().unwrap_or(0));
    let symbol = |number: u32| match made.made.outline.names.get(number as usize) {
        Some(Name::Visit(place)) => format!("tier 0 at {}", at(*place)),
        Some(Name::Adoption(place)) => format!("tier 0 at {}, where the message is adopted", at(*place)),
        Some(Name::Record(place)) => format!("return point behind {}", at(*place)),
        Some(Name::Marker { label, .. }) => format!("marker of the handler at label {label}"),
        Some(Name::Module) => "the module".to_owned(),
        Some(Name::Function(index)) => {
            module.functions.get(*index as usize).map_or_else(String::new, |function| name(function.mfa))
        }
        Some(Name::Import(index)) => {
            module.imports.get(*index as usize).map_or_else(String::new, |export| name(export.mfa))
        }
        Some(Name::Fun(index)) => format!("the entry of fun {index}"),
        Some(Name::Atom(index)) => format!("atom {index}"),
        Some(Name::Literal(index)) => format!("literal {index}"),
        Some(Name::Integer(_)) => "an integer that is not small".to_owned(),
        Some(Name::Leaf(leaf)) => format!("leaf {leaf:?}"),
        None => format!("symbol {number}"),
    };
    let mut out = format!("%% {}: {} bytes\n", name(function.mfa), code.bytes.len());
    // Writing to a String does not fail.
    if let Some(why) = &code.declined {
        let _ = writeln!(out, "%% not optimised: {why}");
    }
    for line in made.form.to_string().lines() {
        match line.strip_prefix("  source ").and_then(|number| number.parse().ok()) {
            Some(number) => writeln!(out, "%% {}", instruction(number)),
            None => writeln!(out, "{line}"),
        }
        .unwrap_or_default();
    }
    for number in 0..made.made.outline.names.len() as u32 {
        let _ = writeln!(out, "s{number}: {}", symbol(number));
    }
    out.push_str("machine code:\n");
    let said = |number: u32| format!("%% {}", instruction(number as usize));
    out.push_str(&listing::listing(code, said, |of| format!("s{}, {}", of.0, symbol(of.0))));
    out
}
