//! Tier 0 as machine code has it ([`crate::tiers`]).

use crate::instr::Op;
use crate::machine::Machine;

/// Tier 0, as machine code calls it: runs from `pc` until it comes to an instruction that leads to machine code, which it gives; null: the slice is
/// over. Nothing stands on the native stack between one such call and the next, so it is as deep as one run.
///
/// # Safety
/// Of [`run`](super::run).
pub unsafe extern "C" fn interpret(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    let mut pc = pc;
    // What is out of line needs no run: most visits are that.
    // SAFETY: the caller's promise; the work gives the instruction that comes next.
    while let Some(work) = unsafe { super::work_of(pc) } {
        // SAFETY: as above.
        pc = unsafe { work(m, pc) };
        if pc.is_null() {
            return pc;
        }
    }
    // SAFETY: as above.
    unsafe {
        if leads_to_machine_code(pc) {
            return pc;
        }
        m.switch = std::ptr::null();
        m.is_visited = true;
        let _ = super::run(m, pc);
        m.is_visited = false;
    }
    m.switch
}

/// Does an instruction lead to machine code?
///
/// # Safety
/// One is there.
#[inline(always)]
unsafe fn leads_to_machine_code(pc: *const u32) -> bool {
    // SAFETY: the caller's promise.
    matches!(unsafe { *pc } as u16, op if op == Op::EnterNative as u16 || op == Op::ResumeNative as u16)
}
