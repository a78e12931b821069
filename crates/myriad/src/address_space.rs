//! A limit on address space (`ulimit -v`): what is reserved ahead must leave room for what is used.
//!
//! Where there is no limit, address space costs nothing: the allocator begins with an arena of eight gigabytes ([`arena`]), and the C
//! library (whose allocator serves `zlib` and PCRE2) keeps 64 MB for each thread. Under one, an arena is a sixteenth of it, and the C
//! library's threads share theirs. Literals (`myriad_heap::literal`) and machine code (`myriad_jit`) see to themselves.

use crate::arena;
use myriad_sync::memory;

/// What share of the address space an arena of the allocator takes at most.
const ARENA_SHARE: usize = 16;
/// `mi_option_arena_reserve`, in KiB, and what it is by itself: the size of further arenas.
const ARENA_RESERVE: libc::c_int = 23;
const ARENA_KIB: usize = 1 << 20;
/// `mi_option_page_commit_on_demand`: 0 says that a run of slices is asked for as a whole (myriad.slices/SC1).
const COMMIT_ON_DEMAND: libc::c_int = 40;

unsafe extern "C" {
    fn mi_option_set(option: libc::c_int, value: libc::c_long);
}

/// Runs before `main`: the runtime's first allocation makes the first arena.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = fit;

extern "C" fn fit() {
    // SAFETY: numbers of allocators, set before there is a second thread.
    unsafe { mi_option_set(COMMIT_ON_DEMAND, 0) };
    let limit = memory::address_space();
    if limit == usize::MAX {
        // A system that counts what could be used may not have so much.
        if !arena::make(arena::MOST) {
            arena::make(ARENA_KIB * 1024);
        }
        return;
    }
    let share = limit / ARENA_SHARE;
    // SAFETY: as above.
    unsafe {
        mi_option_set(ARENA_RESERVE, (share / 1024).min(ARENA_KIB) as libc::c_long);
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
    arena::make(share);
}
