//! Noting calls for `process_flag(save_calls, N)`: `myriad_trace::saved_calls` says how calls come by here.

use crate::instr::Op;
use crate::machine::{Machine, wide};
use myriad_term::{Export, am};
use myriad_trace::saved_calls::{self, SEND, Saved};
use myriad_vm::bif::BifDef;

/// Notes the call that the instruction at `pc` makes, if it is one through an export.
///
/// # Safety
/// `pc` is a call instruction.
#[cold]
pub unsafe fn note_call(m: &mut Machine<'_, '_>, pc: *const u32) {
    // SAFETY: operands of the instruction.
    let export = unsafe {
        match m.op(pc) {
            Op::CallExt => wide(pc.add(2)),
            Op::CallExtLast | Op::CallExtOnly => wide(pc.add(1)),
            _ => return,
        }
    };
    // SAFETY: the operand is the address of an export, and exports stay.
    let export = unsafe { &*(export as *const Export) };
    saved_calls::save(m.ctx, Saved::Call(export.mfa));
}

/// Notes a call of a built-in.
pub fn note_bif(m: &mut Machine<'_, '_>, def: &'static BifDef) {
    let mut what = def.mfa();
    if def.function == "!" {
        what.function = am::send;
    }
    saved_calls::save(m.ctx, Saved::Call(what));
    if what.module == am::erlang && what.function == am::send {
        saved_calls::save(m.ctx, SEND);
    }
}
