//! Between tier 0 and machine code: the ways from one to the other, and who has what where.
//!
//! Tier 0 sees machine code as one instruction, [`EnterNative`](crate::instr::Op::EnterNative) or [`ResumeNative`](crate::instr::Op::ResumeNative), which
//! ends the slice as far as tier 0 is concerned: machine code calls tier 0 in its turn ([`Machine::interpret`]) where it needs it, by a jump to an
//! address below, and goes on where that comes to such an instruction again. Nothing of a process stands in machine registers or on the
//! native stack when it stops, and no address of machine code in what it keeps: it stops in tier 0 alone.
//!
//! While machine code runs:
//! - `r15` holds the [`Machine`], `rsp` is constant and a multiple of 16, and at `rsp` begin [`SPILL_BYTES`] that the code may use between calls;
//! - `ebp` holds the reductions left, with a sign;
//! - the heap's top is in [`Machine::htop`], not in the heap; the stack pointer is in a register;
//! - all other registers may be written.
//!
//! | where | registers |
//! | --- | --- |
//! | a function's entry | `rdi` the stack pointer, `rsi` `rdx` `rcx` `r8` `r9` X0 to X4, all others of its arguments in the block |
//! | behind a call or a visit, at a handler | `rax` the stack pointer, `rdx` X0; X0 is in the block, too, if tier 0 came there |
//! | a return | `rax` the stack pointer without the record's address, `rdx` X0, `rcx` the record |
//! | a visit | `rdi` the stack pointer, `rsi` the instruction of tier 0 that goes on |
//!
//! Who calls a function in machine code has counted the reduction, stored the function as the machine's callee, and pushed the return point.

pub use crate::machine::FLOAT_REGISTERS;

use crate::code;
use crate::machine::Machine;
use myriad_code::NativePtr;
use myriad_sync::OnceLock;
use myriad_sync::atomic::{AtomicU32, Ordering};
use myriad_vm::Vm;
use myriad_vm::code::{Continuation, Function};
use std::mem::offset_of;

/// Where things are in the register block, bytes from its start.
pub struct Registers {
    /// The function called last.
    pub callee: usize,
    /// The heap's top.
    pub heap_top: usize,
    /// The address of the slice's context.
    pub context: usize,
    /// The process's pid.
    pub pid: usize,
    /// What a rare leaf is told, two words; the first is then what it has given.
    pub told: usize,
    /// See [`Ways::visit`].
    pub visit: usize,
    /// See [`Ways::descend`].
    pub descend: usize,
    /// Where [`Ways::descend`] goes on.
    pub way_down: usize,
    /// Float registers.
    pub floats: usize,
    /// X registers.
    pub x: usize,
    /// Their address.
    pub x_pointer: usize,
}

/// The places of this build.
pub const REGISTERS: Registers = {
    type M = Machine<'static, 'static>;
    let ways = offset_of!(M, ways);
    Registers {
        callee: offset_of!(M, callee),
        heap_top: offset_of!(M, htop),
        context: offset_of!(M, ctx),
        pid: offset_of!(M, pid),
        told: offset_of!(M, told),
        visit: ways + offset_of!(Ways, visit),
        descend: ways + offset_of!(Ways, descend),
        way_down: offset_of!(M, way_down),
        floats: offset_of!(M, floats),
        x: M::X_OFFSET,
        x_pointer: offset_of!(M, x),
    }
};

/// Whoever makes machine code.
pub trait Compiler: Send + Sync {
    /// A function has been decoded, and is about to run.
    fn decoded(&self, vm: &'static Vm, function: &'static Function);

    /// A process that has used up some hundred reductions, or its slice, is about to run this function, or one that returns to it; it was decoded and has no machine
    /// code: a sample of what runs often.
    fn sampled(&self, vm: &'static Vm, function: &'static Function, heat: &Heat);
}

/// How often a function was sampled. Several threads count at once, without order.
#[derive(Default)]
pub struct Heat(AtomicU32);

impl Heat {
    /// Counts a sample; `true` for one of all, the one that makes it so many. Then it stays so, until [`Heat::cool`].
    pub fn reaches(&self, threshold: u32) -> bool {
        // Relaxed: nothing else is read by it. Few threads come between the load and the addition, so it does not overflow.
        self.0.load(Ordering::Relaxed) < threshold && self.0.fetch_add(1, Ordering::Relaxed) + 1 == threshold
    }

    /// It is counted anew.
    pub fn cool(&self) {
        // Relaxed: as above; samples that others count meanwhile may be lost.
        self.0.store(0, Ordering::Relaxed);
    }
}

static COMPILER: OnceLock<Box<dyn Compiler>> = OnceLock::new();

/// From now on this one makes machine code, unless another does already.
pub fn install(compiler: Box<dyn Compiler>) {
    COMPILER.get_or_init(|| compiler);
}

/// The one that does.
pub(crate) fn compiler() -> Option<&'static dyn Compiler> {
    COMPILER.get().map(|compiler| &**compiler)
}

/// A call, which has been made, has found reductions used up: who compiles what runs often is told of the function that is called; if that has machine code, of the
/// one to which it returns, for a loop over a list that calls nothing else is met nowhere else.
#[inline]
pub(crate) fn sample(m: &Machine<'_, '_>, function: &'static Function) {
    let Some(compiler) = compiler() else { return };
    let tell = |function| match code::decoded(function) {
        Some(code) if code.is_native() => false,
        Some(code) => {
            compiler.sampled(m.ctx.vm, function, &code.heat);
            true
        }
        None => true,
    };
    if !tell(function) && m.sp().addr() < m.ctx.state.heap.hend.addr() {
        // SAFETY: at the entry of a function a return point is on top of the stack (the frames of crate `code`, `module.rs`), whose function stays (code/K3).
        let caller = unsafe { (*((*m.sp()).raw() as *const Continuation)).function.as_ref() };
        caller.map(tell);
    }
}

/// Bytes at `rsp` that machine code may use between calls.
pub const SPILL_BYTES: usize = 4096;

/// What machine code jumps to, in the register block.
#[repr(C)]
pub struct Ways {
    /// Goes on at an instruction of tier 0 (`visit`).
    pub visit: NativePtr,
    /// The same, at the instruction in [`Machine::way_down`], with X0 to X4 as at a function's entry.
    pub descend: NativePtr,
}

/// Runs machine code that is a function's entry, or a point behind one, at the address in the operand: whoever enters a function has done what a
/// caller does. If machine code has called tier 0, that goes back to it instead.
///
/// # Safety
/// `pc` is at the instruction, whose address leads to code that has been published and is not released as long as a process runs it.
pub unsafe fn switch(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    if m.is_visited {
        m.switch = pc;
    } else {
        // SAFETY: the caller's promise.
        unsafe { ways::enter(m, pc) };
    }
    std::ptr::null()
}

/// Where machine code enters a function that has none: it leaves for the function's entry in tier 0.
pub const CALL: NativePtr = NativePtr(ways::call as *const u8);

/// Where machine code returns to code that is in tier 0 alone, behind the record.
pub const RETURN: NativePtr = NativePtr(ways::return_down as *const u8);

/// The ways out, for a register block.
pub const WAYS: Ways =
    Ways { visit: NativePtr(ways::visit as *const u8), descend: NativePtr(ways::descend as *const u8) };

#[cfg(target_arch = "x86_64")]
mod ways {
    use super::{Machine, SPILL_BYTES};
    use crate::instr::Op;
    use myriad_heap::Heap;
    use myriad_vm::code::{Continuation, Function};
    use std::arch::naked_asm;
    use std::mem::offset_of;

    type M = Machine<'static, 'static>;

    // Six registers are pushed, behind the return address: one word more, and the stack pointer is a multiple of 16.
    const FRAME: usize = SPILL_BYTES + 8;
    const _: () = assert!(SPILL_BYTES.is_multiple_of(16));

    /// Goes on in machine code where the instruction at `rax` leads. The heap's top is in the heap.
    macro_rules! go_up {
        () => {
            "mov ebp, [r15 + {reductions}]
            mov r11, [r15 + {heap}]
            mov r10, [r11 + {heap_top}]
            mov [r15 + {htop}], r10
            mov r10, [rax + 4]
            cmp word ptr [rax], {enter}
            je 2f
            mov rax, [r11 + {heap_stop}]
            mov rdx, [r15 + {x}]
            jmp r10
            2:
            mov rdi, [r11 + {heap_stop}]
            mov rsi, [r15 + {x}]
            mov rdx, [r15 + {x} + 8]
            mov rcx, [r15 + {x} + 16]
            mov r8, [r15 + {x} + 24]
            mov r9, [r15 + {x} + 32]
            jmp r10"
        };
    }

    /// Runs tier 0 from `rsi`, with the stack pointer `rdi`, and goes on in machine code afterwards, or leaves.
    macro_rules! go_down {
        () => {
            concat!(
                "mov [r15 + {reductions}], ebp
                mov r11, [r15 + {heap}]
                mov [r11 + {heap_stop}], rdi
                mov rdx, [r15 + {htop}]
                mov [r11 + {heap_top}], rdx
                mov rdi, r15
                call [r15 + {interpret}]
                test rax, rax
                je 3f
                ",
                go_up!(),
                "
                3:
                add rsp, {frame}
                pop r15
                pop r14
                pop r13
                pop r12
                pop rbp
                pop rbx
                ret"
            )
        };
    }

    /// X0 to X4 go from their machine registers to the block.
    macro_rules! keep_x {
        () => {
            "mov [r15 + {x}], rsi
            mov [r15 + {x} + 8], rdx
            mov [r15 + {x} + 16], rcx
            mov [r15 + {x} + 24], r8
            mov [r15 + {x} + 32], r9"
        };
    }

    /// A way down: some instructions, then [`go_down`].
    macro_rules! way_down {
        ($($text:expr),* ; $($operands:tt)*) => {
            naked_asm!(
                $($text,)*
                go_down!(),
                interpret = const offset_of!(M, interpret),
                frame = const FRAME,
                reductions = const offset_of!(M, reds),
                heap = const offset_of!(M, heap),
                htop = const offset_of!(M, htop),
                heap_top = const offset_of!(Heap, htop),
                heap_stop = const offset_of!(Heap, stop),
                x = const M::X_OFFSET,
                enter = const Op::EnterNative as u16,
                $($operands)*
            )
        };
    }

    /// Runs machine code where the instruction leads, and tier 0 where that does, until the slice ends.
    #[unsafe(naked)]
    pub(super) unsafe extern "sysv64" fn enter(_m: &mut Machine<'_, '_>, _at: *const u32) {
        naked_asm!(
            "push rbx
            push rbp
            push r12
            push r13
            push r14
            push r15
            sub rsp, {frame}
            mov r15, rdi
            mov rax, rsi",
            go_up!(),
            frame = const FRAME,
            reductions = const offset_of!(M, reds),
            heap = const offset_of!(M, heap),
            htop = const offset_of!(M, htop),
            heap_top = const offset_of!(Heap, htop),
            heap_stop = const offset_of!(Heap, stop),
            x = const M::X_OFFSET,
            enter = const Op::EnterNative as u16,
        )
    }

    /// See [`super::CALL`].
    #[unsafe(naked)]
    pub(super) unsafe extern "sysv64" fn call() {
        way_down!(
            keep_x!(),
            "mov rsi, [r15 + {callee}]
            mov rsi, [rsi + {entry}]";
            callee = const offset_of!(M, callee), entry = const Function::ENTRY_OFFSET,
        )
    }

    /// See [`super::RETURN`].
    #[unsafe(naked)]
    pub(super) unsafe extern "sysv64" fn return_down() {
        way_down!(
            "mov [r15 + {x}], rdx
            mov rdi, rax
            lea rsi, [rcx + {record}]";
            record = const size_of::<Continuation>(),
        )
    }

    /// See [`super::Ways::visit`].
    #[unsafe(naked)]
    pub(super) unsafe extern "sysv64" fn visit() {
        way_down!("";)
    }

    /// See [`super::Ways::descend`].
    #[unsafe(naked)]
    pub(super) unsafe extern "sysv64" fn descend() {
        way_down!(
            keep_x!(),
            "mov rsi, [r15 + {way_down}]";
            way_down = const offset_of!(M, way_down),
        )
    }
}

/// Elsewhere there is no machine code to come from or to go to.
#[cfg(not(target_arch = "x86_64"))]
mod ways {
    use super::Machine;

    pub(super) unsafe extern "C" fn enter(_: &mut Machine<'_, '_>, _: *const u32) {
        std::process::abort()
    }

    pub(super) unsafe extern "C" fn call() {
        std::process::abort()
    }

    pub(super) unsafe extern "C" fn return_down() {
        std::process::abort()
    }

    pub(super) unsafe extern "C" fn visit() {
        std::process::abort()
    }

    pub(super) unsafe extern "C" fn descend() {
        std::process::abort()
    }
}
