//! The way of one form through Cranelift, the edits and the check.

use cranelift_codegen::binemit::Reloc;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{ExternalName, Function, UserFuncName};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::{Context, FinalizedMachExceptionHandler, FinalizedRelocTarget, MachBufferFinalized};
use cranelift_codegen::{Final, ir};
use cranelift_frontend::FunctionBuilderContext;

use super::edit::{self, Made};
use super::marks::{Mark, Range, Ranges};
use super::translate::{Translated, signature, translate};
use crate::code::{Code, Refused, Relocation, operations};
use crate::form::{ARGUMENTS, Form, Symbol};

/// Compiles one form, with or without optimising.
pub fn generate(form: &Form, optimise: bool, check: bool) -> Result<Code, Refused> {
    let isa = machine(optimise, check).map_err(Refused::Generator)?;
    let function = Function::with_name_signature(UserFuncName::default(), signature(ARGUMENTS + 1));
    let mut context = Context::for_function(function);
    let Translated { marks, graph } =
        translate(form, &mut context.func, &mut FunctionBuilderContext::new(), isa.frontend_config());
    context
        .compile(&*isa, &mut ControlPlane::default())
        .map_err(|error| Refused::Generator(format!("{:?}", error.inner)))?;
    let compiled = context.compiled_code().ok_or_else(|| Refused::Generator("no code".to_owned()))?;
    let buffer = &compiled.buffer;
    let made = Made {
        bytes: buffer.data(),
        ranges: ranges(buffer, &marks),
        handlers: handlers(buffer, graph.ways_in.len())?,
        relocations: relocations(buffer, &context.func)?,
    };
    let mut code = edit::edit(made)?;
    code.points = graph.ways_in.iter().zip(&code.points).map(|(way, (_, offset))| (way.point, *offset)).collect();
    code.figures.operations = operations(form) as u32;
    Ok(code)
}

/// A processor's abilities that code may rely on: Cranelift's name, and whether this one has it.
type Feature = (&'static str, fn() -> bool);

static FEATURES: [Feature; 8] = [
    ("has_sse3", || is_x86_feature_detected!("sse3")),
    ("has_ssse3", || is_x86_feature_detected!("ssse3")),
    ("has_sse41", || is_x86_feature_detected!("sse4.1")),
    ("has_sse42", || is_x86_feature_detected!("sse4.2")),
    ("has_popcnt", || is_x86_feature_detected!("popcnt")),
    ("has_lzcnt", || is_x86_feature_detected!("lzcnt")),
    ("has_bmi1", || is_x86_feature_detected!("bmi1")),
    ("has_bmi2", || is_x86_feature_detected!("bmi2")),
];

/// Those that this processor has, a bit each.
pub fn features() -> u32 {
    (0..).zip(&FEATURES).map(|(bit, (_, is_there))| u32::from(is_there()) << bit).sum()
}

/// This processor, with what it has beyond the base and what pays off; nothing that needs wide registers.
fn machine(optimise: bool, check: bool) -> Result<OwnedTargetIsa, String> {
    let mut flags = settings::builder();
    let choices = [
        ("enable_pinned_reg", "true"),
        ("preserve_frame_pointers", "true"),
        ("enable_probestack", "false"),
        ("unwind_info", "false"),
        ("opt_level", if optimise { "speed" } else { "none" }),
        ("enable_verifier", if check { "true" } else { "false" }),
    ];
    for (name, value) in choices {
        flags.set(name, value).map_err(|error| error.to_string())?;
    }
    let triple = "x86_64-unknown-linux-gnu".parse().map_err(|_| "no such target".to_owned())?;
    let mut builder = cranelift_codegen::isa::lookup(triple).map_err(|error| error.to_string())?;
    for (name, _) in FEATURES.iter().filter(|(_, is_there)| is_there()) {
        builder.enable(name).map_err(|error| error.to_string())?;
    }
    builder.finish(settings::Flags::new(flags)).map_err(|error| error.to_string())
}

fn ranges(buffer: &MachBufferFinalized<Final>, marks: &[Mark]) -> Ranges {
    let ranges = buffer.get_srclocs_sorted().iter();
    let range = |range: &cranelift_codegen::MachSrcLoc<Final>| {
        let mark = marks.get(range.loc.bits() as usize)?;
        Some(Range { start: range.start, end: range.end, mark: *mark })
    };
    Ranges(ranges.filter_map(range).collect())
}

/// The offsets of the ways in, which are the handlers of the one call that has some.
fn handlers(buffer: &MachBufferFinalized<Final>, expected: usize) -> Result<Vec<u32>, Refused> {
    let mut offsets = vec![None; expected];
    for handler in buffer.call_sites().flat_map(|site| site.exception_handlers) {
        if let FinalizedMachExceptionHandler::Tag(tag, offset) = handler
            && let Some(slot) = offsets.get_mut(tag.as_u32() as usize)
        {
            *slot = Some(*offset);
        }
    }
    let all: Option<Vec<u32>> = offsets.into_iter().collect();
    all.ok_or_else(|| Refused::Unexpected("a way in has no code".to_owned()))
}

fn relocations(buffer: &MachBufferFinalized<Final>, function: &ir::Function) -> Result<Vec<Relocation>, Refused> {
    let relocation = |reloc: &cranelift_codegen::FinalizedMachReloc| {
        let FinalizedRelocTarget::ExternalName(ExternalName::User(name)) = reloc.target else { return None };
        let name = function.params.user_named_funcs().get(name)?;
        let absolute = reloc.kind == Reloc::Abs8;
        absolute.then_some(Relocation { offset: reloc.offset, symbol: Symbol(name.index), addend: reloc.addend })
    };
    let all: Option<Vec<Relocation>> = buffer.relocs().iter().map(relocation).collect();
    all.ok_or_else(|| Refused::Unexpected("a relocation of another kind".to_owned()))
}
