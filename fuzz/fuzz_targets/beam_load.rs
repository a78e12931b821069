//! Any bytes given as a .beam file load or are refused; what loads decodes, and lists.
//!
//! Start with real files: `cargo fuzz run beam_load corpus/beam_load crates/beam/tests/data`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_beam::Module;

fuzz_target!(|bytes: &[u8]| {
    let Ok(module) = Module::load(bytes) else { return };
    for index in 0..module.functions.len() as u32 {
        let body = module.decode_function(index).expect("what the scan lets through can be decoded");
        assert!(body.iter().all(|instr| instr.args.len() == instr.op.arity()));
    }
    assert!(!module.disasm().is_empty());
});
