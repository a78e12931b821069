//! The instructions with code of their own, and how one leads to the next.
//!
//! Each instruction is a small function that ends in a call of the next one's, found by opcode: in optimised builds these are
//! jumps (sibling calls: all functions have one signature, and nothing lives on the native stack), so that each instruction has
//! an indirect jump of its own, which predicts better than one for all, and the hot state stays in registers: `pc`, the
//! register files `x` and `sp`, the heap top, the machine. Builds with debug assertions return to a loop after each one.
//! A function does its work inline only where that is a few machine instructions; all else is a call of a function that gets
//! the machine and the instruction's address, out of line so that the fast path saves no registers.
//!
//! R1. The compiler turns a last call into a jump only where no local variable of the function has its address taken. So the
//!     functions here keep none: what needs one is a function that is never inlined. Otherwise each run of the instruction
//!     would leave a frame on the native stack until the slice ends, and a slice is long enough to overflow it.
//!     `tools/tail-calls` looks through the machine code for calls that should be jumps.
//!
//! The instructions stand in modules by what they do; their safety rests on one argument, which stands once, at `State`.
//!
//! The idea is Haberman's (tail calls in a Protobuf parser, 2021), after continuation-passing threaded code.

mod bits;
mod compare;
mod control;
mod data;
mod loop_intrinsics;
mod moves;
mod numbers;
mod receiving;
mod state;
mod visit;

use crate::instr::{ANY, FROM_X, FROM_Y, Op, STEP, TO_Y, VERSIONS, X, X_ONLY, Y};
use crate::machine::{Machine, SlowOp};
use crate::{
    bifs, building, calls, costs, errors, guards, loop_intrinsics as loops, maps, matching, receive, sending, tiers,
    trace,
};
use myriad_term::Term;
use myriad_vm::engine::SliceEnd;
use state::State;
pub use visit::interpret;

/// An instruction's function: code pointer, X registers, stack pointer, heap top, machine.
type Instruction = unsafe fn(*const u32, *mut Term, *mut Term, *mut u64, *mut Machine<'static, 'static>);

/// Functions of hot instructions.
macro_rules! instructions {
    ($($name:ident($s:ident) $body:block)*) => {
        $(
            #[allow(non_snake_case, unused_mut, reason = "named as the opcodes are; some bodies change no state")]
            pub(super) unsafe fn $name<const SOURCES: u8, const DESTINATIONS: u8>(pc: *const u32, x: *mut Term, sp: *mut Term, htop: *mut u64, m: *mut Machine<'static, 'static>) {
                let mut $s = State::<SOURCES, DESTINATIONS> { pc, x, sp, htop, m };
                // SAFETY: the contract of `State`: `pc` is at this instruction, and the registers are the machine's.
                unsafe { $body }
            }
        )*
    };
}
use instructions;

/// The functions of the hot instructions.
mod hot {
    pub(super) use super::bits::*;
    pub(super) use super::compare::*;
    pub(super) use super::control::*;
    pub(super) use super::data::*;
    pub(super) use super::loop_intrinsics::*;
    pub(super) use super::moves::*;
    pub(super) use super::numbers::*;
    pub(super) use super::receiving::*;
}

macro_rules! table {
    (hot { $($hot:ident $hot_format:literal)* } either { $($either:ident $either_format:literal)* } slow { $($slow:ident $slow_format:literal $function:path)* }) => {
        /// The work of the instructions out of line, kept out of the functions below (R1).
        #[allow(non_snake_case, reason = "named as the opcodes are")]
        mod work {
            use super::*;
            $(
                #[inline(never)]
                pub(super) unsafe fn $slow(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
                    // SAFETY: the caller's promise, which is the same.
                    unsafe { $function(m, pc) }
                }
            )*
        }

        /// The functions of the instructions out of line.
        #[allow(non_snake_case, reason = "named as the opcodes are")]
        mod cool {
            use super::*;
            $(
                pub(super) unsafe fn $slow(pc: *const u32, x: *mut Term, sp: *mut Term, htop: *mut u64, m: *mut Machine<'static, 'static>) {
                    // SAFETY: the contract of `State`: `pc` is at this instruction, and the registers are the machine's.
                    unsafe { State::<ANY, ANY> { pc, x, sp, htop, m }.out_of_line(work::$slow) }
                }
            )*
        }

        /// The work of the instructions out of line, by opcode from the first of them on.
        static WORK: &[SlowOp] = &[$(work::$slow),*];

        /// All instructions' functions, by opcode and version.
        static TABLE: [Instruction; VERSIONS * STEP as usize] = {
            let general: [Instruction; Op::COUNT as usize] =
                [$(hot::$hot::<ANY, ANY>,)* $(hot::$either::<ANY, ANY>,)* $(cool::$slow,)*];
            let mut table = [general[0]; VERSIONS * STEP as usize];
            let mut i = 0;
            while i < general.len() {
                table[i] = general[i];
                i += 1;
            }
            let others: [[Instruction; VERSIONS - 1]; Op::EITHER.end as usize - Op::EITHER.start as usize] =
                [$([hot::$either::<X, X>, hot::$either::<X, ANY>, hot::$either::<Y, X>, hot::$either::<X, Y>],)*];
            i = 0;
            while i < others.len() {
                let opcode = Op::EITHER.start as usize + i;
                table[X_ONLY as usize + opcode] = others[i][0];
                table[FROM_X as usize + opcode] = others[i][1];
                table[FROM_Y as usize + opcode] = others[i][2];
                table[TO_Y as usize + opcode] = others[i][3];
                i += 1;
            }
            table
        };
    };
}
crate::instr::for_each_instruction!(table);

/// The work of an instruction that is out of line, but for those that lead to machine code.
///
/// # Safety
/// `pc` is an instruction.
#[inline(always)]
pub(crate) unsafe fn work_of(pc: *const u32) -> Option<SlowOp> {
    // SAFETY: the caller's promise.
    let opcode = unsafe { *pc } as u16;
    let leads_away = opcode == Op::EnterNative as u16 || opcode == Op::ResumeNative as u16;
    let index = usize::from(opcode.wrapping_sub(Op::EITHER.end));
    if leads_away { None } else { WORK.get(index).copied() }
}

/// Runs from `pc` until the slice ends.
///
/// # Safety
/// `pc` is an instruction of code that the process runs, `m` its state.
pub unsafe fn run(m: &mut Machine<'_, '_>, pc: *const u32) -> SliceEnd {
    let machine = (&raw mut *m).cast::<Machine<'static, 'static>>();
    // SAFETY: the caller's promise; the machine outlives the call. See `State`.
    unsafe {
        (*machine).next = pc;
        while !(*machine).next.is_null() {
            let (pc, heap) = ((*machine).next, (*machine).heap);
            costs::dispatched(*pc);
            TABLE[usize::from(*pc as u16)](pc, (*machine).x, (*heap).stop.cast(), (*heap).htop, machine);
        }
        (*machine).end
    }
}
