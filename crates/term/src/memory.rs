//! What happens when there is no room left, in memory or in the atom table: OTP's slogan, then the end of the VM.
//!
//! The system promises more memory than it has and kills a program that takes the promise at its word. So every request for a large block is
//! held against what is there ([`is_there`]), and one that cannot be met ends the VM before it is made, with a slogan and a dump.
//! Large is [`LARGE`]: what is looked up costs a hundredth of what filling such a block does. All requests come by here, since the
//! global allocator of the command asks ([`is_there`], [`refused`]), as do those that map blocks of their own.
//!
//! ME1. What is refused could not be had: a block counts whole when it is about to be filled, and where it replaces another one, as
//!      when a heap is collected, what that will give back counts as there ([`Demand`]).
//! ME2. A request is looked at by itself. Memory that others have asked for and not written to yet is not missing so far:
//!      two large blocks at the same moment, each of which fits, may be too much together.

use myriad_sync::atomic::AtomicPtr;
use myriad_sync::{OnceLock, memory};
use std::alloc::Layout;
use std::cell::Cell;
use std::io::Write;
use std::ptr::NonNull;

/// Requests of this number of bytes and more are held against what is there.
pub const LARGE: usize = 64 << 20;
/// Requests of so many bytes and more say what they are for ([`allocate`]).
pub const NAMED: usize = 64 << 10;
/// Of what is there so much of it is left: for the tables of pages, and because the figure is an estimate.
const LEFT: usize = 128;

static HANDLER: OnceLock<fn(&str)> = OnceLock::new();
static TRIM: OnceLock<fn()> = OnceLock::new();
static KEPT: OnceLock<fn(usize) -> Vec<Kept>> = OnceLock::new();

/// OTP's names of an allocator and of the objects that it was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Purpose(pub &'static str, pub &'static str);

/// Binaries, and whatever else is a run of bytes.
pub const BINARY: Purpose = Purpose("binary", "binary");
/// Bytes of a binary's block before its own, which OTP's slogan does not count.
pub(crate) const BINARY_HEAD: usize = 32;
/// Intermediate results.
pub const TEMPORARY: Purpose = Purpose("temp", "tmp");

/// What a block takes, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Demand {
    /// Its size.
    pub bytes: usize,
    /// How much of it is written to, at least, before anything is given back.
    pub written: usize,
    /// What is given back then.
    pub freed: usize,
}

impl Demand {
    /// The demand of a new block, all of which will be filled.
    pub const fn new(bytes: usize) -> Demand {
        Demand { bytes, written: bytes, freed: 0 }
    }

    /// The demand of a block that takes the place of another one: `written` bytes are copied, and `freed` are given back then.
    pub const fn replacing(bytes: usize, written: usize, freed: usize) -> Demand {
        Demand { bytes, written, freed }
    }

    fn fits(self, available: usize) -> bool {
        let left = available - available / LEFT;
        self.written <= left && self.bytes <= left.saturating_add(self.freed)
    }
}

/// What this thread's requests are for.
#[derive(Clone, Copy)]
enum Caller {
    /// A caller that does not say it.
    Any,
    For(Purpose),
    /// A caller that has an answer when there is no memory.
    Fallible,
}

thread_local! {
    static CALLER: Cell<Caller> = const { Cell::new(Caller::Any) };
}

fn as_caller<R>(caller: Caller, request: impl FnOnce() -> R) -> R {
    let before = CALLER.replace(caller);
    let result = request();
    CALLER.set(before);
    result
}

/// Sets what is told the slogan before the VM ends. The first call counts.
pub fn on_exhausted(handler: fn(&str)) {
    let _ = HANDLER.set(handler);
}

/// Sets what gives the free memory of a thread's allocator back to the system. The first call counts.
pub fn trim_by(trim: fn()) {
    let _ = TRIM.set(trim);
}

/// Does anything give memory back?
pub fn can_trim() -> bool {
    TRIM.get().is_some()
}

/// Gives free memory of this thread, and of those that have ended, back to the system.
pub fn trim() {
    if let Some(trim) = TRIM.get() {
        trim();
    }
}

/// Blocks of one size that a thread keeps free, for what it allocates next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kept {
    /// Bytes of each.
    pub bytes: usize,
    /// How many there are.
    pub blocks: usize,
}

/// Sets what tells which blocks the thread with this number (`myriad_sync::slot`) keeps. The first call counts.
pub fn kept_by(tell: fn(usize) -> Vec<Kept>) {
    let _ = KEPT.set(tell);
}

/// What the thread with this number keeps.
pub fn kept(thread: usize) -> Vec<Kept> {
    KEPT.get().map_or(Vec::new(), |tell| tell(thread))
}

/// Is there so much memory? Blocks that are not large always find it.
#[inline]
pub fn is_there(demand: Demand) -> bool {
    demand.bytes < LARGE || is_large_there(demand)
}

#[cold]
fn is_large_there(demand: Demand) -> bool {
    demand.fits(memory::available()) || {
        // What the allocator keeps for later is not available to the system, which does not know better.
        trim();
        demand.fits(memory::available())
    }
}

/// Ends the VM if there is not so much memory.
#[inline]
pub fn require(purpose: Purpose, demand: Demand) {
    if !is_there(demand) {
        exhausted(purpose, demand.bytes)
    }
}

/// A block from the global allocator, for what it is said to be; without it the VM ends.
///
/// # Safety
/// The layout is not empty.
#[inline]
pub unsafe fn allocate(layout: Layout, purpose: Purpose) -> NonNull<u8> {
    if layout.size() >= NAMED {
        // SAFETY: the caller promises that the layout is not empty.
        return unsafe { allocate_named(layout, purpose) };
    }
    // SAFETY: the caller promises that the layout is not empty.
    NonNull::new(unsafe { std::alloc::alloc(layout) }).unwrap_or_else(|| exhausted(purpose, told(purpose, layout)))
}

/// # Safety
/// As [`allocate`].
#[cold]
unsafe fn allocate_named(layout: Layout, purpose: Purpose) -> NonNull<u8> {
    // SAFETY: the caller promises that the layout is not empty.
    let block = named(purpose, || unsafe { std::alloc::alloc(layout) });
    NonNull::new(block).unwrap_or_else(|| exhausted(purpose, told(purpose, layout)))
}

/// The size that a slogan tells of a request.
fn told(purpose: Purpose, layout: Layout) -> usize {
    let head = if purpose == BINARY && layout.align() > 1 { BINARY_HEAD } else { 0 };
    layout.size().saturating_sub(head)
}

/// Runs what asks for memory. If there is none, the slogan says what it was for.
pub fn named<R>(purpose: Purpose, request: impl FnOnce() -> R) -> R {
    as_caller(Caller::For(purpose), request)
}

/// Runs what asks for memory and has an answer when there is none (`try_reserve`).
pub fn fallibly<R>(request: impl FnOnce() -> R) -> R {
    as_caller(Caller::Fallible, request)
}

/// The global allocator got no memory for a layout. Returns only to a caller that can do without.
#[cold]
pub fn refused(verb: &str, layout: Layout) {
    match CALLER.get() {
        Caller::Fallible => {}
        Caller::For(purpose) => end(verb, purpose, told(purpose, layout)),
        // What is made of single bytes mostly becomes a binary.
        Caller::Any => end(verb, if layout.align() == 1 { BINARY } else { TEMPORARY }, layout.size()),
    }
}

/// Ends the VM: there is no memory for `bytes` bytes.
#[cold]
pub fn exhausted(purpose: Purpose, bytes: usize) -> ! {
    end("allocate", purpose, bytes)
}

fn end(verb: &str, Purpose(allocator, kind): Purpose, bytes: usize) -> ! {
    // Nothing can be allocated for it.
    let mut room = [0; 160];
    let size = room.len();
    let mut rest = &mut room[..];
    // What does not fit is left out.
    let _ = write!(rest, "{allocator}_alloc: Cannot {verb} {bytes} bytes of memory (of type \"{kind}\").");
    let length = size - rest.len();
    let slogan = str::from_utf8(&room[..length]).unwrap_or("Cannot allocate memory.");
    match HANDLER.get() {
        Some(handler) => handler(slogan),
        None => eprintln!("{slogan}"),
    }
    std::process::abort()
}

/// The table of atoms is full: the VM ends, as OTP does. Returns only where no handler is installed (tests, tools).
#[cold]
pub fn no_more_atoms(limit: usize) {
    if let Some(handler) = HANDLER.get() {
        handler(&format!("no more index entries in atom_tab (max={limit})"));
    }
}

/// The layout of `many` things; a size that no memory has ends the VM.
pub fn layout<T>(many: usize, purpose: Purpose) -> Layout {
    match Layout::array::<T>(many) {
        Ok(layout) => layout,
        Err(_) => exhausted(purpose, many.saturating_mul(size_of::<T>())),
    }
}

/// So many null pointers: zeroed pages, so that an unused part of a large table costs nothing.
pub fn null_pointers<T>(many: usize, purpose: Purpose) -> Box<[AtomicPtr<T>]> {
    let layout = layout::<AtomicPtr<T>>(many, purpose);
    if layout.size() == 0 {
        return Box::default();
    }
    // SAFETY: the layout is that of the boxed slice, and not empty; null pointers are all-zero words.
    unsafe {
        let first = named(purpose, || std::alloc::alloc_zeroed(layout)).cast::<AtomicPtr<T>>();
        if first.is_null() {
            exhausted(purpose, layout.size());
        }
        Box::from_raw(std::ptr::slice_from_raw_parts_mut(first, many))
    }
}

#[cfg(test)]
mod tests {
    use super::{Demand, LARGE, fallibly, is_there, refused};
    use std::alloc::Layout;

    #[test]
    fn a_block_fits_whole_or_in_place_of_another() {
        let gb = 1 << 30;
        assert!(Demand::new(gb).fits(2 * gb));
        assert!(!Demand::new(2 * gb).fits(2 * gb));
        assert!(!Demand::new(usize::MAX).fits(usize::MAX / 2));
        assert!(Demand::new(1 << 60).fits(usize::MAX));
        assert!(Demand::replacing(3 * gb, gb, 2 * gb).fits(2 * gb));
        assert!(!Demand::replacing(5 * gb, gb, 2 * gb).fits(2 * gb));
        assert!(!Demand::replacing(3 * gb, 2 * gb, 2 * gb).fits(2 * gb));
        assert!(Demand::replacing(usize::MAX, 0, usize::MAX).fits(0));
    }

    #[test]
    fn small_blocks_are_always_there() {
        assert!(is_there(Demand::new(LARGE - 1)));
    }

    #[test]
    fn who_can_do_without_is_told() {
        fallibly(|| refused("allocate", Layout::new::<[u8; 100]>()));
    }
}
