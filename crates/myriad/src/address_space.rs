//! A limit on address space (`ulimit -v`): what is reserved ahead must leave room for what is used.
//!
//! Where there is no limit, address space costs nothing: the allocator begins with an arena of a gigabyte ([`arena`]), and the C
//! library (whose allocator serves `zlib` and PCRE2) keeps 64 MB for each thread. Under one, an arena is a sixteenth of it, and the C
//! library's threads share theirs. Literals (`myriad_heap::literal`) and machine code (`myriad_jit`) see to themselves.

use crate::arena;
use myriad_sync::memory;

/// What share of the address space an arena of the allocator takes at most.
const ARENA_SHARE: usize = 16;
/// `mi_option_arena_reserve`, in KiB, and what it is by itself.
const ARENA_RESERVE: libc::c_int = 23;
const ARENA_KIB: usize = 1 << 20;

unsafe extern "C" {
    fn mi_option_set(option: libc::c_int, value: libc::c_long);
}

/// Runs before `main`: the runtime's first allocation makes the first arena.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = fit;

extern "C" fn fit() {
    let limit = memory::address_space();
    if limit == usize::MAX {
        arena::make(ARENA_KIB * 1024);
        return;
    }
    let arena_kib = (limit / 1024 / ARENA_SHARE).min(ARENA_KIB);
    // SAFETY: both set numbers of allocators, before there is a second thread.
    unsafe {
        mi_option_set(ARENA_RESERVE, arena_kib as libc::c_long);
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
    arena::make(arena_kib * 1024);
}
