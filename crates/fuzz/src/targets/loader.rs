//! Any bytes given as a `.beam` file load or are refused; what loads decodes, lists, and translates for the interpreter.

use super::process::in_process;
use myriad_beam::Module;

/// See the file's head.
pub fn beam_load(bytes: &[u8]) {
    let Ok(module) = Module::load(bytes) else { return };
    for index in 0..module.functions.len() as u32 {
        let body = module.decode_function(index).expect("what the scan lets through can be decoded");
        assert!(body.iter().all(|instr| instr.args.len() == instr.op.arity()));
    }
    assert!(!module.disasm().is_empty());
    in_process(|ctx| {
        let Ok(prepared) = myriad_vm::code::prepare(bytes, &ctx.vm.bifs, ctx.vm.engine()) else { return };
        for function in &prepared.module().functions {
            // SAFETY: the code is dropped below, before `prepared` is: nobody else gets to see the function.
            let function = unsafe { &*std::ptr::from_ref(function) };
            if let Some(code) = myriad_interp::decode::translate(ctx.vm, function) {
                assert!(!myriad_interp::disasm::listing(&code).is_empty());
            }
        }
    });
}
