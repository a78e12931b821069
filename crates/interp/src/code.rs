//! Decoded functions: one block of code, constants and continuation records each, and the way from an address back to
//! its function and line.
//!
//! D1. A block never changes once it is published in [`Function::decoded`], and lives until [`release`].
//! D2. The line table has an entry wherever line or frame change, in ascending order of offset.
//! D3. Before anybody can run a block, [`locate`] finds the addresses in it.
//! D4. A function has its code of tier 0 first; its machine code comes with a block of its own, the companion (`decode/companion.rs`). Who runs
//!     or returns to the first one goes on there.

use crate::tiers::{self, Heat};
use crate::verdict::Verdict;
use myriad_code::{Entry, NativePtr};
use myriad_process::CodePtr;
use myriad_sync::atomic::{AtomicU64, Ordering};
use myriad_sync::{LazyLock, LockClass, Published, RwLock};
use myriad_term::memory;
use myriad_vm::Vm;
use myriad_vm::code::{Continuation, Function};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ptr::NonNull;

/// From this offset on, code is on this line and has this many Y registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Bytes from the start of the code.
    pub offset: u32,
    /// Index into the module's line table, 0 = unknown.
    pub line: u32,
    /// Y registers, or [`myriad_beam::MIXED`].
    pub frame: u32,
}

/// The memory of a decoded function.
pub struct Block {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: D1: a block is immutable once shared.
unsafe impl Send for Block {}
// SAFETY: D1: a block is immutable once shared.
unsafe impl Sync for Block {}

impl Block {
    /// `bytes` zero bytes, 16-byte aligned.
    pub fn new(bytes: usize) -> Block {
        let layout = Layout::from_size_align(bytes.max(16), 16).unwrap_or_else(|_| Layout::new::<[u128; 1]>());
        // SAFETY: the size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else {
            memory::exhausted(memory::Purpose("code", "code"), layout.size())
        };
        Block { start, layout }
    }

    /// The first byte.
    pub fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Bytes.
    #[allow(clippy::len_without_is_empty, reason = "no block is empty")]
    pub fn len(&self) -> usize {
        self.layout.size()
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout in `new`.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

/// A decoded function.
pub struct Decoded {
    /// Whose code it is.
    pub function: *const Function,
    /// Code with continuation records in it, constants.
    pub block: Block,
    /// Bytes of code at the block's start.
    pub code_bytes: u32,
    /// Offset of the entry.
    pub entry: u32,
    /// Lines and frames (D2).
    pub places: Box<[Place]>,
    /// Offsets of the continuation records, ascending.
    pub records: Box<[u32]>,
    /// The block that goes with the function's machine code (D4).
    companion: Published<Decoded>,
    /// The machine code, if this is a companion.
    native: Option<NativeCode>,
    /// How often it was about to run when somebody looked.
    pub(crate) heat: Heat,
    /// Why the function has no machine code.
    pub verdict: Verdict,
}

/// Machine code that goes with a companion.
pub struct NativeCode {
    /// Where callers in machine code enter.
    pub entry: NativePtr,
    /// How many bytes it has.
    pub bytes: usize,
    /// Has it a loop that does not look for breakpoints? While the function has one, calls run tier 0's code.
    pub passes_breakpoints: bool,
    /// Its memory, which is given back when this is dropped.
    pub memory: Box<dyn Send + Sync>,
}

// SAFETY: D1.
unsafe impl Send for Decoded {}
// SAFETY: D1.
unsafe impl Sync for Decoded {}

impl Decoded {
    /// Code in a block: code of so many bytes first, with the entry at an offset.
    pub(crate) fn new(
        function: *const Function,
        block: Block,
        [code_bytes, entry]: [u32; 2],
        places: Box<[Place]>,
        records: Box<[u32]>,
    ) -> Decoded {
        let (companion, heat, verdict) = (Published::new(), Heat::default(), Verdict::default());
        Decoded { function, block, code_bytes, entry, places, records, companion, native: None, heat, verdict }
    }

    /// Where the function begins, in both tiers.
    pub fn begin(&self) -> Entry {
        let code = self.companion.get().unwrap_or(self);
        let native = code.native.as_ref().map_or(tiers::CALL, |native| native.entry);
        Entry { tier0: CodePtr(code.entry()), native }
    }

    /// Where a call goes on in tier 0 that has passed a breakpoint of the function.
    pub fn begin_behind_breakpoint(&self) -> CodePtr {
        let code =
            self.companion.get().filter(|code| code.native.as_ref().is_some_and(|native| !native.passes_breakpoints));
        CodePtr(code.unwrap_or(self).entry())
    }

    /// Does the function have machine code?
    pub(crate) fn is_native(&self) -> bool {
        self.companion.is_there()
    }

    /// How many bytes of machine code the function has.
    pub fn native_bytes(&self) -> Option<usize> {
        self.companion.get()?.native.as_ref().map(|native| native.bytes)
    }

    /// Its block, and that of its companion.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &Block> {
        std::iter::once(&self.block).chain(self.companion.get().map(|companion| &companion.block))
    }

    /// The first instruction of the function.
    pub fn entry(&self) -> *const u32 {
        // SAFETY: within the block.
        unsafe { self.block.start().add(self.entry as usize).cast() }
    }

    /// The place of an address in the code.
    pub fn place(&self, pc: *const u32) -> Place {
        let offset = (pc as usize).wrapping_sub(self.block.start() as usize) as u32;
        let after = self.places.partition_point(|p| p.offset <= offset);
        after.checked_sub(1).and_then(|i| self.places.get(i)).copied().unwrap_or(Place { offset: 0, line: 0, frame: 0 })
    }

    /// The code, word by word.
    pub fn words(&self) -> &[u32] {
        // SAFETY: D1; the code is at the block's start.
        unsafe { std::slice::from_raw_parts(self.block.start().cast(), self.code_bytes as usize / 4) }
    }
}

/// Where an address is.
#[derive(Clone, Copy)]
pub struct Location {
    /// The function in whose code the address lies.
    pub function: &'static Function,
    /// Index into its module's line table, 0 = unknown.
    pub line: u32,
    /// Y registers of its frame there.
    pub frame: u32,
}

struct Range {
    end: usize,
    decoded: *const Decoded,
}
// SAFETY: only followed while the function is not released.
unsafe impl Send for Range {}
// SAFETY: only followed while the function is not released.
unsafe impl Sync for Range {}

static CLASS: LockClass = LockClass::new("code_ranges", 710);
static RANGES: LazyLock<RwLock<BTreeMap<usize, Range>>> = LazyLock::new(|| RwLock::new(&CLASS, BTreeMap::new()));

/// Publishes what was decoded for `function`, unless another thread was first.
pub fn publish(vm: &'static Vm, function: &'static Function, decoded: Box<Decoded>) {
    let start = decoded.block.start() as usize;
    let end = start + decoded.block.len();
    let bytes = (end - start) as i64;
    let raw = Box::into_raw(decoded);
    // D3: a thread that finds the code by its function may raise in it at once, and must find where that is.
    RANGES.write().insert(start, Range { end, decoded: raw });
    // Release: pairs with the Acquire of the threads that read `decoded`; on failure nothing is read.
    let won = function.decoded.compare_exchange(std::ptr::null_mut(), raw.cast(), Ordering::AcqRel, Ordering::Relaxed);
    if won.is_err() {
        RANGES.write().remove(&start);
        // SAFETY: it could be found by addresses in it only, and no process has run it.
        drop(unsafe { Box::from_raw(raw) });
        return;
    }
    myriad_vm::code::count_bytes(bytes);
    function.settle_entry(vm.engine());
}

/// Publishes the machine code of a function, and its companion, which has the addresses of it. `false`: another thread was first, or the function
/// has been released.
///
/// # Safety
/// The function is not released meanwhile, and the companion leads to machine code that is complete.
pub unsafe fn publish_companion(
    vm: &'static Vm,
    function: &Function,
    mut companion: Box<Decoded>,
    native: NativeCode,
) -> bool {
    companion.native = Some(native);
    let Some(code) = decoded(function) else { return false };
    let start = companion.block.start() as usize;
    let end = start + companion.block.len();
    let raw = NonNull::from(Box::leak(companion));
    // D3.
    RANGES.write().insert(start, Range { end, decoded: raw.as_ptr() });
    // SAFETY: it comes from a box, and is complete.
    if !unsafe { code.companion.publish(raw) } {
        RANGES.write().remove(&start);
        // SAFETY: as in `publish`.
        drop(unsafe { Box::from_raw(raw.as_ptr()) });
        return false;
    }
    myriad_vm::code::count_bytes((end - start) as i64);
    function.settle_entry(vm.engine());
    true
}

/// What was decoded for a function.
pub fn decoded(function: &Function) -> Option<&'static Decoded> {
    // Acquire: pairs with the exchange in `publish`.
    // SAFETY: D1; code/K3 keeps the function while it is looked at.
    unsafe { function.decoded.load(Ordering::Acquire).cast::<Decoded>().as_ref() }
}

/// Counts releases: what a thread remembers of an address counts only while this stays the same.
static RELEASES: AtomicU64 = AtomicU64::new(0);

/// Addresses that a thread remembers.
const REMEMBERED: usize = 64;

/// What a thread remembers of an address.
#[derive(Clone, Copy)]
struct Memory {
    address: usize,
    /// How often code had been released by then.
    releases: u64,
    decoded: *const Decoded,
    place: Place,
}

impl Memory {
    const NOTHING: Memory =
        Memory { address: 0, releases: 0, decoded: std::ptr::null(), place: Place { offset: 0, line: 0, frame: 0 } };
}

thread_local! {
    static MEMORY: [Cell<Memory>; REMEMBERED] = const { [const { Cell::new(Memory::NOTHING) }; REMEMBERED] };
}

/// As [`locate`], for the instructions that raise: remembers.
pub fn locate_often(pc: *const u32) -> Option<Location> {
    let memory = remembered(pc as usize)?;
    // SAFETY: not released since it was found; code that a process is in is not released (code/K3).
    Some(unsafe { location(&*memory.decoded, memory.place) })
}

/// The record that stands right before an instruction that raises, which is where a call returns to then.
pub fn record_before(pc: *const u32) -> Option<&'static Continuation> {
    let record = pc.cast::<Continuation>().wrapping_sub(1);
    // SAFETY: as in `locate_often`.
    let decoded = remembered(pc as usize).map(|memory| unsafe { &*memory.decoded })?;
    let offset = (record as usize).checked_sub(decoded.block.start() as usize)?;
    // SAFETY: it is a record of that code.
    decoded.records.binary_search(&(offset as u32)).is_ok().then(|| unsafe { &*record })
}

/// What is to be known of an address, of those that are asked for again and again.
fn remembered(address: usize) -> Option<Memory> {
    // Acquire: pairs with the AcqRel in `release`.
    let releases = RELEASES.load(Ordering::Acquire);
    MEMORY.with(|memories| {
        let slot = &memories[(address / 4) % REMEMBERED];
        let known = slot.get();
        if known.address == address && known.releases == releases {
            return Some(known);
        }
        let decoded = find(address)?;
        // SAFETY: in the table, so not released; the caller's process is in it.
        let place = unsafe { &*decoded }.place(address as *const u32);
        let found = Memory { address, releases, decoded, place };
        slot.set(found);
        Some(found)
    })
}

fn find(address: usize) -> Option<*const Decoded> {
    let ranges = RANGES.read();
    let (_, range) = ranges.range(..=address).next_back()?;
    (address < range.end).then_some(range.decoded)
}

fn location(decoded: &Decoded, place: Place) -> Location {
    // SAFETY: code/K3.
    Location { function: unsafe { &*decoded.function }, line: place.line, frame: place.frame }
}

/// Where an address in decoded code is: `process_info(P, current_function)` for [`myriad_vm::Resume::pc`].
pub fn locate(pc: CodePtr) -> Option<Location> {
    let decoded = find(pc.0 as usize)?;
    // SAFETY: in the table, so not released; the caller's process is in it.
    Some(unsafe { location(&*decoded, (*decoded).place(pc.0)) })
}

/// Is this the address of a continuation record?
pub fn is_record(address: usize) -> bool {
    at_record(address, |_| ()).is_some()
}

/// What `f` says of the continuation record at an address, if there is one, which stays there meanwhile.
pub fn at_record<T>(address: usize, f: impl FnOnce(&Continuation) -> T) -> Option<T> {
    let ranges = RANGES.read();
    let (start, range) = ranges.range(..=address).next_back()?;
    // SAFETY: in the table, so not released as long as that is read.
    let records = unsafe { &(*range.decoded).records };
    let is_one = address < range.end && records.binary_search(&((address - start) as u32)).is_ok();
    // SAFETY: one of that code.
    is_one.then(|| f(unsafe { &*(address as *const Continuation) }))
}

/// Frees what was decoded for a function.
pub fn release(function: &Function) {
    // AcqRel: takes the block over from the thread that published it.
    let raw = function.decoded.swap(std::ptr::null_mut(), Ordering::AcqRel).cast::<Decoded>();
    if raw.is_null() {
        return;
    }
    // AcqRel: see `locate_often`.
    RELEASES.fetch_add(1, Ordering::AcqRel);
    // SAFETY: published by `publish`; the caller says that no process runs it or the companion, which goes with it (`Engine::release`).
    let decoded = unsafe { Box::from_raw(raw) };
    for block in decoded.blocks() {
        myriad_vm::code::count_bytes(-(block.len() as i64));
        RANGES.write().remove(&(block.start() as usize));
    }
}
