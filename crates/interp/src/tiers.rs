//! Between tier 0 and machine code: the ways from one to the other, and who has what where.
//!
//! Tier 0 sees machine code as one instruction, [`EnterNative`](crate::instr::Op::EnterNative) or [`ResumeNative`](crate::instr::Op::ResumeNative), whose work is
//! done when machine code leaves: it says which instruction comes next, or that the slice is over. Machine code sees tier 0 as an address to
//! jump to. Nothing of a process stands in machine registers or on the native stack when it stops, and no address of machine code in what
//! it keeps: it stops in tier 0 alone.
//!
//! While machine code runs:
//! - `r15` holds the [`Machine`], `rsp` is constant and a multiple of 16, and at `rsp` begin [`SPILL_BYTES`] that the code may use between calls;
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

use crate::machine::Machine;
use myriad_code::NativePtr;
use myriad_process::CodePtr;
use myriad_sync::OnceLock;
use myriad_vm::Vm;
use myriad_vm::code::Function;
use std::mem::offset_of;

/// Where things are in the register block, bytes from its start.
pub struct Registers {
    /// Reductions left, 32 bits.
    pub reductions: usize,
    /// The function called last.
    pub callee: usize,
    /// The heap's top.
    pub heap_top: usize,
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
}

/// The places of this build.
pub const REGISTERS: Registers = {
    type M = Machine<'static, 'static>;
    let ways = offset_of!(M, ways);
    Registers {
        reductions: offset_of!(M, reds),
        callee: offset_of!(M, callee),
        heap_top: offset_of!(M, htop),
        visit: ways + offset_of!(Ways, visit),
        descend: ways + offset_of!(Ways, descend),
        way_down: offset_of!(M, way_down),
        floats: offset_of!(M, floats),
        x: M::X_OFFSET,
    }
};

/// Whoever makes machine code.
pub trait Compiler: Send + Sync {
    /// A function has been decoded, and is about to run.
    fn decoded(&self, vm: &'static Vm, function: &'static Function);
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

/// Runs machine code that is a function's entry, at the address in the operand: whoever enters has done what a caller does.
///
/// # Safety
/// `pc` is at the instruction, whose address leads to code that has been published and is not released as long as a process runs it.
pub unsafe fn enter(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: the operand is an address of machine code.
    unsafe { ways::enter_function(m, crate::machine::wide(pc.add(1)) as *const u8).0 }
}

/// Runs machine code from a point behind an entry, at the address in the operand.
///
/// # Safety
/// As for [`enter`].
pub unsafe fn resume(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: as above.
    unsafe { ways::enter_point(m, crate::machine::wide(pc.add(1)) as *const u8).0 }
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
    use super::{CodePtr, Machine, SPILL_BYTES};
    use myriad_heap::Heap;
    use myriad_vm::code::{Continuation, Function};
    use std::arch::naked_asm;
    use std::mem::offset_of;

    type M = Machine<'static, 'static>;

    const CALLEE: usize = offset_of!(M, callee);
    const HEAP: usize = offset_of!(M, heap);
    const HTOP: usize = offset_of!(M, htop);
    const NATIVE_STACK: usize = offset_of!(M, native_stack);
    const WAY_DOWN: usize = offset_of!(M, way_down);
    const X: usize = M::X_OFFSET;
    const HEAP_TOP: usize = offset_of!(Heap, htop);
    const HEAP_STOP: usize = offset_of!(Heap, stop);
    const ENTRY: usize = Function::ENTRY_OFFSET;
    const RECORD: usize = size_of::<Continuation>();

    // Six registers are pushed, behind the return address: one word more, and the stack pointer is a multiple of 16.
    const FRAME: usize = SPILL_BYTES + 8;
    const _: () = assert!(SPILL_BYTES.is_multiple_of(16));

    macro_rules! begin {
        () => {
            "push rbx\npush rbp\npush r12\npush r13\npush r14\npush r15\nsub rsp, {frame}\nmov [rdi + {native_stack}], rsp\nmov r15, rdi\nmov r10, rsi\nmov r11, [r15 + {heap}]\nmov rax, [r11 + {heap_top}]\nmov [r15 + {htop}], rax"
        };
    }

    /// Goes on at `rax` in tier 0, with the stack pointer `rdi`.
    macro_rules! leave {
        () => {
            "mov r11, [r15 + {heap}]\nmov [r11 + {heap_stop}], rdi\nmov rdx, [r15 + {htop}]\nmov [r11 + {heap_top}], rdx\nmov rsp, [r15 + {native_stack}]\nadd rsp, {frame}\npop r15\npop r14\npop r13\npop r12\npop rbp\npop rbx\nret"
        };
    }

    /// Runs the code of a function at an address until it leaves: the instruction of tier 0 that comes next.
    #[unsafe(naked)]
    pub(super) unsafe extern "sysv64" fn enter_function(_m: &mut Machine<'_, '_>, _at: *const u8) -> CodePtr {
        naked_asm!(
            begin!(),
            "mov rdi, [r11 + {heap_stop}]",
            "mov rsi, [r15 + {x}]",
            "mov rdx, [r15 + {x} + 8]",
            "mov rcx, [r15 + {x} + 16]",
            "mov r8, [r15 + {x} + 24]",
            "mov r9, [r15 + {x} + 32]",
            "jmp r10",
            frame = const FRAME, native_stack = const NATIVE_STACK, heap = const HEAP, heap_top = const HEAP_TOP, htop = const HTOP,
            heap_stop = const HEAP_STOP, x = const X,
        )
    }

    /// The same from a point behind the entry.
    #[unsafe(naked)]
    pub(super) unsafe extern "sysv64" fn enter_point(_m: &mut Machine<'_, '_>, _at: *const u8) -> CodePtr {
        naked_asm!(
            begin!(),
            "mov rax, [r11 + {heap_stop}]",
            "mov rdx, [r15 + {x}]",
            "jmp r10",
            frame = const FRAME, native_stack = const NATIVE_STACK, heap = const HEAP, heap_top = const HEAP_TOP, htop = const HTOP,
            heap_stop = const HEAP_STOP, x = const X,
        )
    }

    /// See [`super::CALL`].
    #[unsafe(naked)]
    pub(super) unsafe extern "sysv64" fn call() {
        naked_asm!(
            "mov [r15 + {x}], rsi",
            "mov [r15 + {x} + 8], rdx",
            "mov [r15 + {x} + 16], rcx",
            "mov [r15 + {x} + 24], r8",
            "mov [r15 + {x} + 32], r9",
            "mov rax, [r15 + {callee}]",
            "mov rax, [rax + {entry}]",
            leave!(),
            frame = const FRAME, native_stack = const NATIVE_STACK, heap = const HEAP, heap_top = const HEAP_TOP, htop = const HTOP,
            heap_stop = const HEAP_STOP, x = const X, callee = const CALLEE, entry = const ENTRY,
        )
    }

    /// See [`super::RETURN`].
    #[unsafe(naked)]
    pub(super) unsafe extern "sysv64" fn return_down() {
        naked_asm!(
            "mov [r15 + {x}], rdx",
            "mov rdi, rax",
            "lea rax, [rcx + {record}]",
            leave!(),
            frame = const FRAME, native_stack = const NATIVE_STACK, heap = const HEAP, heap_top = const HEAP_TOP, htop = const HTOP,
            heap_stop = const HEAP_STOP, x = const X, record = const RECORD,
        )
    }

    /// See [`super::Ways::visit`].
    #[unsafe(naked)]
    pub(super) unsafe extern "sysv64" fn visit() {
        naked_asm!(
            "mov rax, rsi",
            leave!(),
            frame = const FRAME, native_stack = const NATIVE_STACK, heap = const HEAP, heap_top = const HEAP_TOP, htop = const HTOP,
            heap_stop = const HEAP_STOP,
        )
    }

    /// See [`super::Ways::descend`].
    #[unsafe(naked)]
    pub(super) unsafe extern "sysv64" fn descend() {
        naked_asm!(
            "mov [r15 + {x}], rsi",
            "mov [r15 + {x} + 8], rdx",
            "mov [r15 + {x} + 16], rcx",
            "mov [r15 + {x} + 24], r8",
            "mov [r15 + {x} + 32], r9",
            "mov rax, [r15 + {way_down}]",
            leave!(),
            frame = const FRAME, native_stack = const NATIVE_STACK, heap = const HEAP, heap_top = const HEAP_TOP, htop = const HTOP,
            heap_stop = const HEAP_STOP, x = const X, way_down = const WAY_DOWN,
        )
    }
}

/// Elsewhere there is no machine code to come from or to go to.
#[cfg(not(target_arch = "x86_64"))]
mod ways {
    use super::{CodePtr, Machine};

    pub(super) unsafe extern "C" fn enter_function(_: &mut Machine<'_, '_>, _: *const u8) -> CodePtr {
        std::process::abort()
    }

    pub(super) unsafe extern "C" fn enter_point(_: &mut Machine<'_, '_>, _: *const u8) -> CodePtr {
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
