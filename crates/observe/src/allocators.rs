//! What the allocators hold that OTP has names for, by class of memory and by scheduler: for `system_info({allocator, _})`, `instrument` and crash
//! dumps.
//!
//! Myriad has one general allocator. What it counts itself is told under the name that OTP has for it. Heaps, messages and binaries are on the
//! account of the thread that took their memory (`sync::ledger`), and so on the instance of that scheduler. All threads that are no schedulers
//! share instance 0, which also has what is counted as a whole: literals, tables, processes. What else the system has given (the VM's own, and what
//! the general allocator keeps free) is spare memory of `std_alloc`, and what a scheduler's magazines keep for what it allocates next is spare memory
//! of its instance of that.

use crate::memory;
use myriad_heap::account::{self, Class};
use myriad_sync::{Account, Highest, Ledger, slot};
use myriad_term::memory::{Kept, kept};
use myriad_term::{Atom, am};
use myriad_vm::Vm;
use myriad_vm::subsystem::Statistic;

/// The names of an allocator, and of its three calls but for the first, which is called as it is.
pub struct Allocator {
    /// The name.
    pub name: Atom,
    /// Giving back.
    pub free: Atom,
    /// Making larger or smaller.
    pub realloc: Atom,
}

macro_rules! allocators {
    ($($name:ident $free:ident $realloc:ident;)*) => {
        /// Allocators with statistics, in OTP's order.
        pub const UTIL_ALLOCATORS: &[Allocator] =
            &[$(Allocator { name: am::$name, free: am::$free, realloc: am::$realloc }),*];
    };
}

allocators! {
    temp_alloc temp_free temp_realloc;
    sl_alloc sl_free sl_realloc;
    std_alloc std_free std_realloc;
    ll_alloc ll_free ll_realloc;
    eheap_alloc eheap_free eheap_realloc;
    ets_alloc ets_free ets_realloc;
    fix_alloc fix_free fix_realloc;
    literal_alloc literal_free literal_realloc;
    binary_alloc binary_free binary_realloc;
    driver_alloc driver_free driver_realloc;
}

impl Allocator {
    /// The instances that it has: one for each scheduler and one for all other threads, or that one alone.
    pub fn instances(&self, vm: &Vm) -> usize {
        if self.name == am::literal_alloc { 1 } else { instances(vm) }
    }
}

/// How many instances most allocators have.
pub fn instances(vm: &Vm) -> usize {
    vm.config.schedulers + 1
}

/// Blocks of one class.
#[derive(Clone, Copy)]
pub struct Part {
    /// What they are for.
    pub class: Atom,
    /// How many there are.
    pub blocks: usize,
    /// Their bytes.
    pub bytes: usize,
    /// The highest numbers of bytes; where they are not noted, those of now.
    pub highest: Highest,
    /// How often memory was taken and given back, if that is counted.
    calls: Option<[u64; 2]>,
}

/// What an instance of an allocator holds.
#[derive(Default)]
pub struct Holdings {
    /// By class.
    pub parts: Vec<Part>,
    /// Free blocks beside these that are known one by one.
    pub free: Vec<Kept>,
    /// Bytes of all free memory beside the parts.
    pub spare: usize,
}

impl Part {
    fn counted(class: Atom, blocks: usize, bytes: usize) -> Part {
        let highest = Highest { recent: bytes as u64, ever: bytes as u64 };
        Part { class, blocks, bytes, highest, calls: None }
    }

    /// What is on accounts.
    fn of<const UNIT: usize>(class: Atom, ledger: &Ledger<UNIT>, accounts: &[Account]) -> Part {
        let none = Part { calls: Some([0, 0]), ..Part::counted(class, 0, 0) };
        accounts.iter().fold(none, |sum, account| {
            let held = ledger.of(*account);
            let bytes = |size: u64| size.saturating_mul(UNIT as u64);
            Part {
                blocks: sum.blocks + held.number as usize,
                bytes: sum.bytes.saturating_add(bytes(held.size) as usize),
                highest: Highest {
                    recent: sum.highest.recent.saturating_add(bytes(held.highest.recent)),
                    ever: sum.highest.ever.saturating_add(bytes(held.highest.ever)),
                },
                calls: sum.calls.map(|[taken, given]| [taken + held.calls[0], given + held.calls[1]]),
                class,
            }
        })
    }
}

impl Holdings {
    /// How many blocks there are.
    pub fn blocks(&self) -> usize {
        self.parts.iter().map(|part| part.blocks).sum()
    }

    /// Bytes of all blocks.
    pub fn bytes(&self) -> usize {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(part.bytes))
    }

    /// The highest numbers of bytes; of several classes the sums, which may be more than there ever was at once.
    pub fn highest(&self) -> Highest {
        self.parts.iter().fold(Highest::default(), |sum, part| Highest {
            recent: sum.recent.saturating_add(part.highest.recent),
            ever: sum.ever.saturating_add(part.highest.ever),
        })
    }

    /// How often memory was taken and given back, if that is counted.
    pub fn calls(&self) -> Option<[u64; 2]> {
        let none = self.parts.is_empty().then_some([0, 0]);
        let calls = self.parts.iter().filter_map(|part| part.calls);
        calls.fold(none, |sum, [taken, given]| {
            let [before_taken, before_given] = sum.unwrap_or_default();
            Some([before_taken + taken, before_given + given])
        })
    }
}

/// The number of a scheduler's thread; instances of schedulers begin with 1.
fn scheduler(instance: usize) -> Option<usize> {
    slot::named(instance.checked_sub(1)?)
}

/// The accounts of an instance.
fn accounts(vm: &Vm, instance: usize) -> Vec<Account> {
    if instance > 0 {
        return Account::all().filter(|account| scheduler(instance) == Some(account.number().into())).collect();
    }
    let schedulers: Vec<usize> = (1..instances(vm)).filter_map(scheduler).collect();
    Account::all().filter(|account| !schedulers.contains(&account.number().into())).collect()
}

/// The threads of an instance.
fn threads(vm: &Vm, instance: usize) -> Vec<usize> {
    accounts(vm, instance).into_iter().map(|account| account.number().into()).collect()
}

fn bytes_of(kept: &[Kept]) -> usize {
    kept.iter().map(|kept| kept.blocks * kept.bytes).sum()
}

/// What an instance of an allocator holds.
pub fn holdings(vm: &Vm, allocator: Atom, instance: usize) -> Holdings {
    let is_whole = instance == 0;
    let parts = match allocator {
        am::eheap_alloc => {
            let accounts = accounts(vm, instance);
            let part = |class: Class| Part::of(class_name(class), class.ledger(), &accounts);
            Class::OF_PROCESSES.map(part).to_vec()
        }
        am::binary_alloc => {
            vec![Part::of(am::binary, myriad_term::binary::ledger(), &accounts(vm, instance))]
        }
        am::literal_alloc if is_whole => {
            let all: Vec<Account> = Account::all().collect();
            vec![Part::of(am::literal_alloc, Class::Literal.ledger(), &all)]
        }
        am::ets_alloc if is_whole => {
            vec![Part::counted(am::ets, vm.statistic(Statistic::TableBlocks), vm.statistic(Statistic::TableBytes))]
        }
        am::fix_alloc if is_whole => vec![
            Part::counted(am::proc, vm.processes.count(), memory::processes(vm)),
            Part::counted(am::bif_timer, vm.timers.messages(), vm.timers.message_bytes()),
        ],
        _ => Vec::new(),
    };
    if allocator != am::std_alloc {
        return Holdings { parts, ..Holdings::default() };
    }
    let free: Vec<Kept> = threads(vm, instance).into_iter().flat_map(kept).collect();
    let spare = if is_whole {
        let of_schedulers = (1..instances(vm)).filter_map(scheduler).flat_map(kept).collect::<Vec<Kept>>();
        resident_bytes().saturating_sub(known_bytes(vm)).saturating_sub(bytes_of(&of_schedulers))
    } else {
        bytes_of(&free)
    };
    Holdings { parts, free, spare }
}

/// Blocks of one class, by their sizes.
pub struct Sizes {
    /// What they are for.
    pub class: Atom,
    /// How many there are, by the least number of bytes that they have: they are less than a quarter larger.
    pub numbers: Vec<(usize, u64)>,
}

impl Sizes {
    fn of<const UNIT: usize>(class: Atom, ledger: &Ledger<UNIT>) -> Sizes {
        Sizes { class, numbers: ledger.by_size().map(|(size, number)| (size.saturating_mul(UNIT), number)).collect() }
    }
}

/// The sizes of the blocks of an allocator that are counted one by one. Which instances they are of is not known, so all are instance 0's.
pub fn sizes(allocator: Atom, instance: usize) -> Vec<Sizes> {
    match allocator {
        _ if instance > 0 => Vec::new(),
        am::eheap_alloc => Class::OF_PROCESSES.map(|class| Sizes::of(class_name(class), class.ledger())).into(),
        am::binary_alloc => vec![Sizes::of(am::binary, myriad_term::binary::ledger())],
        am::literal_alloc => vec![Sizes::of(am::literal_alloc, Class::Literal.ledger())],
        _ => Vec::new(),
    }
}

/// What a class of memory of heaps is called.
fn class_name(class: Class) -> Atom {
    match class {
        Class::Process => am::heap,
        Class::Fragment => am::message,
        Class::Bundle => am::bundle,
        Class::Literal => am::literal_alloc,
    }
}

/// Bytes of all blocks that are counted.
fn known_bytes(vm: &Vm) -> usize {
    let words = account::heaps().size.saturating_add(account::literals().size);
    let processes = memory::processes(vm) + vm.timers.message_bytes();
    words.saturating_mul(account::WORD)
        + myriad_term::binary::shared().size
        + vm.statistic(Statistic::TableBytes)
        + processes
}

/// From now on the recent highest figures are those from now on.
pub fn ask_anew(allocator: Atom) {
    match allocator {
        am::eheap_alloc => Class::OF_PROCESSES.iter().for_each(|class| class.ledger().ask_anew()),
        am::literal_alloc => Class::Literal.ledger().ask_anew(),
        am::binary_alloc => myriad_term::binary::ledger().ask_anew(),
        _ => {}
    }
}

/// Memory that the VM has from the system at the moment; 0 where the system does not tell.
pub fn resident_bytes() -> usize {
    let told = std::fs::read_to_string("/proc/self/status").ok();
    let line = told.as_deref().and_then(|told| told.lines().find_map(|line| line.strip_prefix("VmRSS:")));
    let kilobytes: Option<usize> = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
    kilobytes.map_or(0, |n| n.saturating_mul(1024))
}
