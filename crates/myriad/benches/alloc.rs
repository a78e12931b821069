//! Allocators compared on what a VM does with small blocks: `cargo xtask bench alloc` (docs/memory.md).
//!
//! Four programs, after Larson and Krishnan (ISMM 1998) and the benchmarks of Zhang 2011. Each is run by threads that hand blocks to one another, as
//! schedulers do with messages, and by each allocator in a process of its own. When it is through, its threads stay, and give back after half a
//! second what they keep free, as idle schedulers do. Printed are the medians of processor time, of the most memory that was resident, and of what is
//! resident two seconds later.
//!
//! ```text
//! cargo bench --profile quick -p myriad --bench alloc [--features snmalloc] -- [RUNS]
//! ```

#[path = "../src/magazines.rs"]
#[allow(dead_code, unused_imports, reason = "the VM asks for more, and has its tests")]
mod magazines;

use mimalloc as _;
use myriad_sync::{LockClass, Mutex, OnceLock, thread};
use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

/// An allocator: its calls, and how a thread gives back what it keeps free.
struct Allocator {
    name: &'static str,
    take: unsafe fn(usize) -> *mut u8,
    give: unsafe fn(*mut u8, usize),
    trim: fn(),
}

unsafe extern "C" {
    fn mi_malloc(size: usize) -> *mut u8;
    fn mi_free(block: *mut u8);
    fn mi_collect(force: bool);
}

/// Those that are compared; the first is the VM's.
const ALLOCATORS: &[Allocator] = &[
    Allocator {
        name: "mimalloc behind magazines",
        take: |size| magazines::take(size),
        // SAFETY: the caller's promise.
        give: |block, size| unsafe { magazines::give(block, size) },
        trim: || {
            magazines::give_back();
            // SAFETY: any thread may call it.
            unsafe { mi_collect(true) };
        },
    },
    Allocator {
        name: "mimalloc",
        // SAFETY: any size may be asked for.
        take: |size| unsafe { mi_malloc(size) },
        // SAFETY: the caller's promise.
        give: |block, _| unsafe { mi_free(block) },
        // SAFETY: any thread may call it.
        trim: || unsafe { mi_collect(true) },
    },
    #[cfg(feature = "snmalloc")]
    Allocator {
        name: "snmalloc",
        // SAFETY: any size may be asked for.
        take: |size| unsafe { snmalloc_sys::sn_rust_alloc(8, size).cast() },
        // SAFETY: the caller's promise.
        give: |block, size| unsafe {
            snmalloc_sys::sn_rust_dealloc(block.cast(), 8, size);
        },
        // It has nothing to call.
        trim: || (),
    },
    Allocator {
        name: "the system's",
        // SAFETY: any size may be asked for.
        take: |size| unsafe { libc::malloc(size).cast() },
        // SAFETY: the caller's promise.
        give: |block, _| unsafe { libc::free(block.cast()) },
        trim: || {
            #[cfg(all(target_os = "linux", target_env = "gnu"))]
            // SAFETY: any thread may call it.
            unsafe {
                libc::malloc_trim(0);
            }
        },
    },
];

/// A program: its name, and what each of its threads does, of which each has a number.
struct Program {
    name: &'static str,
    run: fn(&Work, usize),
}

const PROGRAMS: &[Program] = &[
    Program { name: "producer/consumer", run: producer_consumer },
    Program { name: "Larson", run: larson },
    Program { name: "Hackbench", run: hackbench },
    Program { name: "Random", run: random },
];

/// A block, which whoever has it owns.
struct Block {
    at: *mut u8,
    size: usize,
}

// SAFETY: a block is nobody's but its owner's.
unsafe impl Send for Block {}

static CLASS: LockClass = LockClass::new("bench_inbox", 900);

/// What the threads of a run share.
struct Work {
    allocator: &'static Allocator,
    inboxes: Vec<Mutex<Vec<Block>>>,
}

impl Work {
    /// A block, written whole as a message is.
    fn take(&self, size: usize) -> Block {
        // SAFETY: any size may be asked for.
        let at = unsafe { (self.allocator.take)(size) };
        assert!(!at.is_null(), "no memory for {size} bytes");
        // SAFETY: the block's own bytes.
        unsafe { at.write_bytes(1, size) };
        Block { at, size }
    }

    fn give(&self, block: Block) {
        // SAFETY: a block is taken once, given back once, and nobody uses it.
        unsafe { (self.allocator.give)(block.at, block.size) }
    }

    fn send(&self, to: usize, blocks: &mut Vec<Block>) {
        self.inboxes[to].lock().append(blocks);
    }

    /// Gives back what others have sent; how much that was.
    fn receive(&self, own: usize) -> usize {
        let blocks = std::mem::take(&mut *self.inboxes[own].lock());
        let count = blocks.len();
        blocks.into_iter().for_each(|block| self.give(block));
        count
    }
}

/// Numbers that look drawn (Marsaglia's xorshift), the same in each run.
struct Drawn(u64);

impl Drawn {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }

    /// The size of a message: most are small.
    fn message(&mut self) -> usize {
        match self.below(100) {
            0..70 => 64 + self.below(128),
            70..95 => 192 + self.below(832),
            _ => 1024 + self.below(7168),
        }
    }
}

/// Half of the threads take blocks, which the others give back.
fn producer_consumer(work: &Work, own: usize) {
    const BATCHES: usize = 20_000;
    const BATCH: usize = 100;
    const MOST: usize = 100_000;
    let other = own ^ 1;
    if own % 2 == 1 {
        let mut left = BATCHES * BATCH;
        while left > 0 {
            match work.receive(own) {
                0 => thread::yield_now(),
                count => left -= count,
            }
        }
        return;
    }
    let mut drawn = Drawn(own as u64 + 1);
    for _ in 0..BATCHES {
        while work.inboxes[other].lock().len() > MOST {
            thread::yield_now();
        }
        let mut blocks = (0..BATCH).map(|_| work.take(drawn.message())).collect();
        work.send(other, &mut blocks);
    }
}

/// Each thread replaces drawn ones of the blocks that it has, and hands all to the next now and then.
fn larson(work: &Work, own: usize) {
    const ROUNDS: usize = 100;
    const BLOCKS: usize = 5_000;
    const REPLACED: usize = 40_000;
    let mut drawn = Drawn(own as u64 + 1);
    let next = (own + 1) % work.inboxes.len();
    let mut blocks: Vec<Block> = (0..BLOCKS).map(|_| work.take(16 + drawn.below(1000))).collect();
    for _ in 0..ROUNDS {
        for _ in 0..REPLACED {
            let fresh = work.take(16 + drawn.below(1000));
            work.give(std::mem::replace(&mut blocks[drawn.below(BLOCKS)], fresh));
        }
        work.send(next, &mut blocks);
        while blocks.len() < BLOCKS {
            let mut inbox = work.inboxes[own].lock();
            let wanted = inbox.len().min(BLOCKS - blocks.len());
            blocks.extend(inbox.drain(..wanted));
            drop(inbox);
            thread::yield_now();
        }
    }
    blocks.into_iter().for_each(|block| work.give(block));
}

/// Each thread sends bursts of messages of one size, and then gives back those that have come.
fn hackbench(work: &Work, own: usize) {
    const LOOPS: usize = 300;
    const BURST: usize = 10_000;
    let threads = work.inboxes.len();
    let mut left = LOOPS * BURST;
    for turn in 0..LOOPS {
        // In a turn no two send to one, so each gets as many as it sends.
        let to = (own + 1 + turn % (threads - 1)) % threads;
        for _ in 0..BURST / 100 {
            let mut blocks = (0..100).map(|_| work.take(104)).collect();
            work.send(to, &mut blocks);
        }
        left = left.saturating_sub(work.receive(own));
    }
    while left > 0 {
        left = left.saturating_sub(work.receive(own));
        thread::yield_now();
    }
}

/// Each thread has processes that send messages to drawn ones, each on any thread, and whose heaps grow and shrink meanwhile.
fn random(work: &Work, own: usize) {
    const STEPS: usize = 1_500_000;
    const PROCESSES: usize = 2_000;
    const BATCH: usize = 32;
    let mut drawn = Drawn(own as u64 + 1);
    let mut heaps: Vec<Block> = (0..PROCESSES).map(|_| work.take(233 * 8)).collect();
    let mut outboxes: Vec<Vec<Block>> = work.inboxes.iter().map(|_| Vec::new()).collect();
    for step in 0..STEPS {
        let to = drawn.below(outboxes.len());
        outboxes[to].push(work.take(drawn.message()));
        if outboxes[to].len() == BATCH {
            work.send(to, &mut outboxes[to]);
            work.receive(own);
        }
        if step % 8 == 0 {
            let grown = work.take(8 * [233, 377, 610, 987, 1598, 2586][drawn.below(6)]);
            work.give(std::mem::replace(&mut heaps[drawn.below(PROCESSES)], grown));
        }
    }
    outboxes.iter_mut().enumerate().for_each(|(to, blocks)| work.send(to, blocks));
    heaps.into_iter().for_each(|block| work.give(block));
}

/// A figure of `/proc/self/status`, in kilobytes.
fn status(key: &str) -> f64 {
    let told = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = told.lines().find_map(|line| line.strip_prefix(key));
    line.and_then(|line| line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().ok()).unwrap_or(f64::NAN)
}

/// Milliseconds of processor time so far: the clock's ticks are a hundredth of a second.
fn processor_ms() -> f64 {
    let told = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = told.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() * 10.0
}

/// Runs a program in this process, and prints its figures.
fn measure(allocator: &'static Allocator, program: &'static Program) {
    static WORK: OnceLock<Work> = OnceLock::new();
    let threads = myriad_sync::available_parallelism().clamp(2, 16) & !1;
    let inboxes = (0..threads).map(|_| Mutex::new(&CLASS, Vec::new())).collect();
    let work = WORK.get_or_init(|| Work { allocator, inboxes });
    let before = processor_ms();
    let (tell, done) = std::sync::mpsc::channel();
    for own in 0..threads {
        let tell = tell.clone();
        let started = thread::spawn("bench", move || {
            // It has magazines from here on.
            myriad_sync::slot::index();
            (program.run)(work, own);
            let _ = tell.send(());
            thread::sleep(Duration::from_millis(300));
            // What came late.
            work.receive(own);
            thread::sleep(Duration::from_millis(500));
            (allocator.trim)();
            thread::sleep(Duration::from_secs(60));
        });
        started.expect("a thread");
    }
    (0..threads).for_each(|_| done.recv().expect("a thread that is through"));
    let took = processor_ms() - before;
    let peak = status("VmHWM");
    thread::sleep(Duration::from_secs(2));
    println!("value {took} {peak} {}", status("VmRSS"));
    std::process::exit(0);
}

/// The figures of a run in a process of its own.
fn run(allocator: &str, program: &str) -> Option<[f64; 3]> {
    let output = Command::new(std::env::current_exe().ok()?).args(["--one", allocator, program]).output().ok()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let figures: Vec<f64> =
        said.trim().strip_prefix("value ")?.split(' ').filter_map(|figure| figure.parse().ok()).collect();
    figures.try_into().ok()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [one, allocator, program] = words.as_slice()
        && one == "--one"
    {
        let allocator = ALLOCATORS.iter().find(|one| one.name == allocator);
        let program = PROGRAMS.iter().find(|one| one.name == program);
        if let (Some(allocator), Some(program)) = (allocator, program) {
            measure(allocator, program);
        }
        return;
    }
    let runs = words.first().and_then(|word| word.parse().ok()).unwrap_or(5);
    println!("| program | allocator | processor time | peak | resident 2 s later |");
    println!("| --- | --- | ---: | ---: | ---: |");
    for program in PROGRAMS {
        let mut found: BTreeMap<usize, Vec<[f64; 3]>> = BTreeMap::new();
        for _ in 0..runs {
            for (index, allocator) in ALLOCATORS.iter().enumerate() {
                if let Some(figures) = run(allocator.name, program.name) {
                    found.entry(index).or_default().push(figures);
                }
            }
        }
        for (index, allocator) in ALLOCATORS.iter().enumerate() {
            let all = found.remove(&index).unwrap_or_default();
            let [took, peak, later] =
                std::array::from_fn(|figure| median(all.iter().map(|figures| figures[figure]).collect()));
            let megabytes = |kilobytes: f64| kilobytes / 1024.0;
            println!(
                "| {} | {} | {took:.0} ms | {:.1} MB | {:.1} MB |",
                program.name,
                allocator.name,
                megabytes(peak),
                megabytes(later)
            );
        }
    }
}
