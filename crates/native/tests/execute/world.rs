//! What code runs in: a register block, an Erlang stack, a heap, records, and a trampoline in and out.
//!
//! The trampoline follows the table of `myriad_native::x64`. It fills what no function may rely on with rubbish.

use std::arch::naked_asm;

use myriad_native::code::{Code, Options};
use myriad_native::compile;
use myriad_native::form::{Form, Point, Symbol};
use myriad_native::link::{CodeSpace, Linked};
use myriad_native::memory::Mode;
use myriad_native::x64::SPILL_AREA;

/// Words of the register block that the trampoline uses; those behind are free.
pub const FIRST_FREE: usize = 8;

/// Words of the register block.
pub const BLOCK_WORDS: usize = 128;

/// Words of the stack.
pub const STACK_WORDS: usize = 1 << 16;

/// Words of the heap.
pub const HEAP_WORDS: usize = 64;

/// The symbols that forms of these tests may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Name {
    /// The entry of a function.
    Entry(u32),
    /// The record of a point.
    Record(Point),
    /// The heap.
    Heap,
    /// Where visits go.
    Visit,
    /// A function by the convention for C.
    Leaf,
    /// The same, which keeps all registers.
    RareLeaf,
}

impl Name {
    /// Its symbol.
    pub fn symbol(self) -> Symbol {
        Symbol(match self {
            Self::Heap => 0,
            Self::Visit => 1,
            Self::Leaf => 2,
            Self::RareLeaf => 3,
            Self::Entry(number) => 16 + number,
            Self::Record(Point(number)) => 256 + number,
        })
    }

    fn of(symbol: Symbol) -> Self {
        match symbol.0 {
            0 => Self::Heap,
            1 => Self::Visit,
            2 => Self::Leaf,
            3 => Self::RareLeaf,
            number @ 16..256 => Self::Entry(number - 16),
            number => Self::Record(Point(number - 256)),
        }
    }
}

/// The word of the register block that has the counter before and after a run.
pub const COUNTER: usize = 7;

/// What a visit adds to the counter.
pub const COUNTED: i32 = 0x1234_5678;

/// What a visit gives back as X0, of word 8 of the block, which it counts up.
pub fn visited(word: u64) -> u64 {
    word.wrapping_mul(0x9e37_79b9).wrapping_add(17)
}

/// The function by the convention for C.
pub extern "C" fn leaf(a: u64, b: u64, c: u64, d: u64, e: u64, f: u64) -> u64 {
    [b, c, d, e, f].iter().fold(a.rotate_left(7), |sum, word| sum.wrapping_mul(31) ^ word)
}

/// The same, which keeps all registers.
#[unsafe(naked)]
unsafe extern "C" fn rare_leaf() {
    std::arch::naked_asm!(
        "push rax", "push rcx", "push rdx", "push rsi", "push rdi", "push r8", "push r9", "push r10", "push r11",
        "sub rsp, 256",
        "movups [rsp], xmm0", "movups [rsp + 16], xmm1", "movups [rsp + 32], xmm2", "movups [rsp + 48], xmm3",
        "movups [rsp + 64], xmm4", "movups [rsp + 80], xmm5", "movups [rsp + 96], xmm6", "movups [rsp + 112], xmm7",
        "movups [rsp + 128], xmm8", "movups [rsp + 144], xmm9", "movups [rsp + 160], xmm10", "movups [rsp + 176], xmm11",
        "movups [rsp + 192], xmm12", "movups [rsp + 208], xmm13", "movups [rsp + 224], xmm14", "movups [rsp + 240], xmm15",
        "call {leaf}",
        "movups xmm0, [rsp]", "movups xmm1, [rsp + 16]", "movups xmm2, [rsp + 32]", "movups xmm3, [rsp + 48]",
        "movups xmm4, [rsp + 64]", "movups xmm5, [rsp + 80]", "movups xmm6, [rsp + 96]", "movups xmm7, [rsp + 112]",
        "movups xmm8, [rsp + 128]", "movups xmm9, [rsp + 144]", "movups xmm10, [rsp + 160]", "movups xmm11, [rsp + 176]",
        "movups xmm12, [rsp + 192]", "movups xmm13, [rsp + 208]", "movups xmm14, [rsp + 224]", "movups xmm15, [rsp + 240]",
        "add rsp, 256",
        "pop r11", "pop r10", "pop r9", "pop r8", "pop rdi", "pop rsi", "pop rdx", "pop rcx", "pop rax",
        "ret",
        leaf = sym leaf,
    )
}

/// Everything that code sees.
#[repr(C)]
pub struct World {
    /// The register block.
    pub block: [u64; BLOCK_WORDS],
    /// The heap.
    pub heap: [u64; HEAP_WORDS],
    /// The stack, which grows down.
    pub stack: Vec<u64>,
    /// By point: the record, whose first word is the point's address. The last one is that of who called first.
    records: Vec<[u64; 2]>,
    space: CodeSpace,
    linked: Vec<Linked>,
    /// The code, by function.
    pub codes: Vec<Code>,
    /// A word of the register block that has a certain value at the start of a run.
    pub fuel: Option<(usize, u64)>,
}

/// What came back.
#[derive(Debug, PartialEq, Eq, Clone)]
pub struct Outcome {
    /// The stack pointer, as an index of the stack.
    pub sp: usize,
    /// X0.
    pub x0: u64,
    /// The counter.
    pub counter: i32,
    /// The register block behind the trampoline's words.
    pub block: Vec<u64>,
    /// The heap.
    pub heap: Vec<u64>,
    /// The stack.
    pub stack: Vec<u64>,
}

impl World {
    /// Compiles and links functions whose points are numbered below `points` over all of them.
    pub fn new(forms: &[Form], points: usize, options: &Options) -> Box<Self> {
        let space = CodeSpace::new(1 << 22, Mode::Double).expect("memory for code");
        let codes =
            forms.iter().map(|form| compile(form, options).unwrap_or_else(|why| panic!("{why}\n{form}"))).collect();
        let mut world = Box::new(Self {
            block: [0; BLOCK_WORDS],
            heap: [0; HEAP_WORDS],
            stack: vec![0; STACK_WORDS],
            records: vec![[0; 2]; points + 1],
            space,
            linked: Vec::new(),
            codes,
            fuel: None,
        });
        // The functions refer to each other's addresses, so they are linked twice, the second time to where they have been the first time.
        let mut entries = vec![0; forms.len()];
        for _ in 0..2 {
            for linked in std::mem::take(&mut world.linked) {
                // SAFETY: nothing of it has run.
                unsafe { world.space.free(linked) };
            }
            let link = |(number, code): (usize, &Code)| {
                let resolve = |symbol| world.resolve(symbol, &entries);
                world.space.link(code, number as u64, resolve).expect("linked")
            };
            let linked: Vec<Linked> = world.codes.iter().enumerate().map(link).collect();
            let found: Vec<u64> = linked.iter().map(|linked| linked.entry as u64).collect();
            assert!(entries.iter().all(|entry| *entry == 0) || entries == found, "functions have moved");
            (entries, world.linked) = (found, linked);
        }
        for linked in &world.linked {
            for (Point(number), address) in &linked.points {
                world.records[*number as usize][0] = *address as u64;
            }
        }
        world.records[points][0] = leave as *const () as u64;
        world
    }

    fn resolve(&self, symbol: Symbol, entries: &[u64]) -> u64 {
        match Name::of(symbol) {
            Name::Heap => self.heap.as_ptr() as u64,
            Name::Visit => visit as *const () as u64,
            Name::Leaf => leaf as *const () as u64,
            Name::RareLeaf => rare_leaf as *const () as u64,
            Name::Entry(number) => entries[number as usize],
            Name::Record(point) => self.record(point),
        }
    }

    /// What a symbol stands for, to the interpreter.
    pub fn address(&self, symbol: Symbol) -> u64 {
        let entries: Vec<u64> = self.linked.iter().map(|linked| linked.entry as u64).collect();
        self.resolve(symbol, &entries)
    }

    /// The address of a point's record.
    pub fn record(&self, point: Point) -> u64 {
        self.records[point.0 as usize].as_ptr() as u64
    }

    /// The point whose record is at an address; the last one is that of who called first.
    pub fn point_of(&self, record: u64) -> Option<Point> {
        let offset = record.wrapping_sub(self.records.as_ptr() as u64);
        let number = offset / 16;
        (offset.is_multiple_of(16) && number < self.records.len() as u64).then_some(Point(number as u32))
    }

    /// The function that begins at an address.
    pub fn function_at(&self, address: u64) -> Option<usize> {
        self.linked.iter().position(|linked| linked.entry as u64 == address)
    }

    /// The first caller's point.
    pub fn outermost(&self) -> Point {
        Point(self.records.len() as u32 - 1)
    }

    /// Memory as it is at the start of a run; the stack pointer then.
    pub fn reset(&mut self, seed: u64) -> u64 {
        let fill = |words: &mut [u64], salt: u64| {
            for (index, word) in words.iter_mut().enumerate() {
                *word = (seed ^ salt).wrapping_mul(index as u64 + 0x1234_5677).rotate_left(index as u32);
            }
        };
        fill(&mut self.block, 1);
        fill(&mut self.heap, 2);
        if let Some((index, word)) = self.fuel {
            self.block[index] = word;
        }
        self.stack.fill(0);
        let sp = STACK_WORDS - 4;
        self.stack[sp] = self.record(self.outermost());
        self.address_of(sp)
    }

    /// The address of a word of the stack.
    pub fn address_of(&self, index: usize) -> u64 {
        self.stack.as_ptr() as u64 + 8 * index as u64
    }

    /// What came back, with memory as it is now.
    pub fn outcome(&self, sp: u64, x0: u64) -> Outcome {
        Outcome {
            sp: ((sp - self.stack.as_ptr() as u64) / 8) as usize,
            x0,
            counter: self.block[COUNTER] as i32,
            block: self.block[FIRST_FREE..].to_vec(),
            heap: self.heap.to_vec(),
            stack: self.stack.clone(),
        }
    }

    /// Runs a function from its entry until it returns to the first caller.
    pub fn run(&mut self, function: usize, seed: u64, x: [u64; 5]) -> Outcome {
        let sp = self.reset(seed);
        // SAFETY: the code follows the conventions, and touches nothing but this world.
        unsafe { enter(self.block.as_mut_ptr(), self.linked[function].entry, sp, x.as_ptr()) };
        self.came_back()
    }

    /// Runs a function from a point.
    pub fn run_from(&mut self, point: Point, seed: u64, x0: u64) -> Outcome {
        let sp = self.reset(seed);
        let address = self.records[point.0 as usize][0] as usize;
        // SAFETY: as in `run`.
        unsafe { enter_point(self.block.as_mut_ptr(), address, sp, x0) };
        self.came_back()
    }

    fn came_back(&self) -> Outcome {
        assert_eq!(self.block[3], self.block[0] - u64::from(SPILL_AREA), "rsp is not what it was");
        self.outcome(self.block[1], self.block[2])
    }
}

/// Rubbish into everything that neither parameters nor rsp, rbp, r11, r15 hold. Those that are parameters are set afterwards.
macro_rules! rubbish {
    () => {
        "
        mov rax, 0x5555555555555555
        mov rbx, rax
        mov rcx, rax
        mov rdx, rax
        mov rsi, rax
        mov rdi, rax
        mov r8, rax
        mov r9, rax
        mov r10, rax
        mov r12, rax
        mov r13, rax
        mov r14, rax
        movq xmm0, rax
        movq xmm1, rax
        movq xmm2, rax
        movq xmm3, rax
        movq xmm15, rax
        "
    };
}

/// # Safety
/// The address is that of an entry, the stack one on which a record lies, and what the code does allowed.
#[unsafe(naked)]
unsafe extern "C" fn enter(block: *mut u64, address: usize, sp: u64, x: *const u64) {
    naked_asm!(
        "push rbp; push rbx; push r12; push r13; push r14; push r15; sub rsp, 8",
        "mov r15, rdi",
        "mov [r15], rsp",
        "sub rsp, {area}",
        "mov r11, rsi",
        "mov [r15 + 40], rdx",
        "mov [r15 + 48], rcx",
        rubbish!(),
        "mov ebp, [r15 + {counter}]",
        "mov rax, [r15 + 48]",
        "mov rdi, [r15 + 40]",
        "mov rsi, [rax]",
        "mov rdx, [rax + 8]",
        "mov rcx, [rax + 16]",
        "mov r8, [rax + 24]",
        "mov r9, [rax + 32]",
        "mov rax, rbx",
        "jmp r11",
        area = const SPILL_AREA,
        counter = const 8 * COUNTER,
    )
}

/// # Safety
/// As `enter`, with the address of a point.
#[unsafe(naked)]
unsafe extern "C" fn enter_point(block: *mut u64, address: usize, sp: u64, x0: u64) {
    naked_asm!(
        "push rbp; push rbx; push r12; push r13; push r14; push r15; sub rsp, 8",
        "mov r15, rdi",
        "mov [r15], rsp",
        "sub rsp, {area}",
        "mov r11, rsi",
        "mov [r15 + 40], rdx",
        "mov [r15 + 48], rcx",
        rubbish!(),
        "mov ebp, [r15 + {counter}]",
        "mov rax, [r15 + 40]",
        "mov rdx, [r15 + 48]",
        "jmp r11",
        area = const SPILL_AREA,
        counter = const 8 * COUNTER,
    )
}

/// Where the first caller's record leads: back to who called `enter`.
#[unsafe(naked)]
unsafe extern "C" fn leave() {
    naked_asm!(
        "mov [r15 + 8], rax",
        "mov [r15 + 16], rdx",
        "mov [r15 + 24], rsp",
        "mov [r15 + {counter}], ebp",
        "mov rsp, [r15]",
        "add rsp, 8",
        "pop r15; pop r14; pop r13; pop r12; pop rbx; pop rbp",
        "ret",
        counter = const 8 * COUNTER,
    )
}

/// Where visits go: the word is the address of the record to go on at.
#[unsafe(naked)]
unsafe extern "C" fn visit() {
    naked_asm!(
        "mov r11, rsi",
        "mov [r15 + 40], rdi",
        rubbish!(),
        "mov rdx, [r15 + 64]",
        "inc qword ptr [r15 + 64]",
        "mov eax, 0x9e3779b9",
        "imul rdx, rax",
        "add rdx, 17",
        "add ebp, {counted}",
        "mov rax, [r15 + 40]",
        "mov rcx, r11",
        "jmp [rcx]",
        counted = const COUNTED,
    )
}
