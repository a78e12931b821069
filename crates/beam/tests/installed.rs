//! Every .beam file of the installed OTP loads, every function of it decodes, and what was decoded
//! agrees with what the scan said.

mod common;

use myriad_beam::{Module, Op, is_access};
use std::time::{Duration, Instant};

#[test]
fn every_installed_module_decodes() {
    let (mut modules, mut functions, mut instructions) = (0, 0, 0_u64);
    let mut failures = Vec::new();
    for path in common::all() {
        let bytes = std::fs::read(&path).unwrap();
        let module = match Module::load(&bytes) {
            Ok(module) => module,
            Err(error) => {
                failures.push(format!("{}: {error}", path.display()));
                continue;
            }
        };
        modules += 1;
        assert_eq!(Some(module.name()), path.file_stem().and_then(|stem| stem.to_str()));
        let mut end = 0;
        for (index, function) in module.functions.iter().enumerate() {
            let body = module.decode_function(index as u32).unwrap();
            assert!(function.start >= end, "functions do not overlap");
            end = function.end;
            let trapped = body.iter().last().is_some_and(|instr| instr.op == Op::IntCodeEnd);
            let decoded = body.len() as u32 - u32::from(trapped);
            assert_eq!(decoded, function.instructions, "{} {}", path.display(), module.atom(function.name));
            assert!(body.iter().all(|instr| instr.args.len() == instr.op.arity()));
            let labels = body.iter().filter(|instr| instr.op == Op::Label);
            for instr in labels {
                let def = module.label(instr.args[0].number().unwrap() as u32).unwrap();
                assert_eq!((def.function, def.offset), (index as u32, instr.offset));
            }
            assert_eq!(module.function_at(function.entry), Some(index as u32));
            functions += 1;
            instructions += body.len() as u64;
        }
    }
    println!("{modules} modules, {functions} functions, {instructions} instructions");
    assert!(failures.is_empty(), "{} failures, such as {:#?}", failures.len(), &failures[..failures.len().min(20)]);
}

/// Most accesses are proved by the function's own code; what is left are mostly elements of tuples that other functions of the
/// module return, of which the compiler knows.
#[test]
fn most_accesses_are_proved() {
    let (mut accesses, mut checks, mut refusals, mut adoptions) = (0, 0, 0, 0);
    let (mut proving, mut decoding) = (Duration::ZERO, Duration::ZERO);
    for path in common::all() {
        let Ok(module) = Module::load(&std::fs::read(&path).unwrap()) else { continue };
        for index in 0..module.functions.len() as u32 {
            let start = Instant::now();
            let body = module.decode_function(index).unwrap();
            let decoded = Instant::now();
            let proofs = module.proofs(index, &body);
            (decoding, proving) = (decoding + (decoded - start), proving + decoded.elapsed());
            accesses += body.iter().filter(|instr| is_access(instr.op)).count();
            checks += proofs.checks();
            refusals += proofs.refusals();
            adoptions += proofs.adoptions();
        }
    }
    println!(
        "{accesses} accesses, {checks} to be checked; {refusals} refused, {adoptions} adoptions; decoded in {decoding:?}, proved in {proving:?}"
    );
    assert_eq!(refusals, 0, "no compiler changes a tuple that others may know");
    assert!(checks * 5 <= accesses);
    assert!(adoptions * 5_000 <= accesses);
}
