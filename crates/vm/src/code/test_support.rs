//! For the tests of this directory: an engine that runs nothing, a VM around it, and small .beam files made by hand. The test VM of
//! crate `testing` is made of another build of this crate, with other types.

use super::{Function, PreparedCode, prepare};
use crate::bif::{BifDef, BifResult, Escape, Registry};
use crate::ctx::Ctx;
use crate::engine::{Engine, SliceEnd};
use crate::observer::NoObserver;
use crate::release::Release;
use crate::spawn::{SpawnOptions, spawn_orphan};
use crate::subsystem::Functions;
use crate::tracer::NoTracer;
use crate::vm::{Config, Parts, Vm};
use crate::{OwnerState, TraceFrame};
use myriad_code::{Entry, Executor, NativePtr};
use myriad_process::CodePtr;
use myriad_sync::atomic::{AtomicUsize, Ordering};
use myriad_term::{Export, Mfa, am};
use std::ops::Range;
use std::ptr;

static STUBS: [u32; 3] = [0; 3];

/// Runs nothing.
pub(super) struct NoEngine;

/// How many functions of freed versions the engine was told of.
pub(super) static RELEASED: AtomicUsize = AtomicUsize::new(0);

impl Engine for NoEngine {
    fn run(&self, _: &mut Ctx<'_>) -> SliceEnd {
        SliceEnd::Waiting
    }

    fn run_dirty(&self, _: &mut Ctx<'_>) -> BifResult {
        Err(Escape::Dead)
    }

    fn backtrace(&self, _: &OwnerState, _: usize) -> Vec<TraceFrame> {
        Vec::new()
    }
}

/// Nobody runs what is there.
fn entry(stub: usize) -> Entry {
    let stub = &raw const STUBS[stub];
    Entry { tier0: CodePtr(stub), native: NativePtr(stub.cast()) }
}

impl Executor<Vm> for NoEngine {
    fn undecoded(&self) -> Entry {
        entry(0)
    }

    fn undefined(&self) -> Entry {
        entry(2)
    }

    fn breakpoint(&self) -> Entry {
        entry(0)
    }

    fn entry_behind(&self, function: &Function) -> Entry {
        entry(usize::from(function.bif().is_some()))
    }

    /// The function itself stands for its code, so that tests can point into it.
    fn code_ranges(&self, function: &Function, ranges: &mut Vec<Range<usize>>) {
        let start = ptr::from_ref(function).addr();
        ranges.push(start..start + size_of::<Function>());
    }

    fn release(&self, _: &Function) {
        // Relaxed: read after a join.
        RELEASED.fetch_add(1, Ordering::Relaxed);
    }
}

/// A VM that runs nothing.
pub(super) fn vm(tables: &'static [&'static [BifDef]]) -> &'static Vm {
    let release = Release::without_root(25).unwrap();
    vm_of(release, tables)
}

/// A VM of this release that runs nothing.
pub(super) fn vm_of(release: Release, tables: &'static [&'static [BifDef]]) -> &'static Vm {
    let parts = Parts {
        engine: Box::new(NoEngine),
        subsystems: vec![Functions::of(tables)],
        tracer: Box::new(NoTracer),
        observer: Box::new(NoObserver),
    };
    let vm = Vm::new(Config::default(), release, parts);
    super::install_undefined::<Vm>(vm.engine());
    vm
}

/// These built-ins.
pub(super) fn bifs(tables: &[&'static [BifDef]]) -> Registry {
    Registry::new(&Release::without_root(25).unwrap(), tables)
}

/// No built-ins.
pub(super) fn no_bifs() -> Registry {
    bifs(&[])
}

/// What a hand-made module is like. Its functions are `start/0`, which returns `value`, and a fun made of it.
#[derive(Clone)]
pub(super) struct Small {
    pub name: &'static str,
    /// 0 to 15.
    pub value: u8,
    pub exported: bool,
    pub on_load: bool,
    /// An external term.
    pub literal: Vec<u8>,
}

impl Small {
    pub fn named(name: &'static str, value: u8) -> Small {
        Small { name, value, exported: true, on_load: false, literal: vec![131, 97, 1] }
    }

    pub fn beam(&self) -> Vec<u8> {
        let word = |n: u32| n.to_be_bytes();
        let mut atoms = word(3).to_vec();
        for atom in [self.name, "start", "other"] {
            atoms.push(atom.len() as u8);
            atoms.extend(atom.bytes());
        }
        let mut code = [16, 0, 180, 3, 1].map(word).concat();
        // label 1, func_info Name f 0, label 2
        code.extend([1, 0x10, 2, 0x12, 0x22, 0x00, 1, 0x20]);
        if self.on_load {
            code.push(149);
        }
        // move Value {x,0}; return; int_code_end
        code.extend([64, self.value << 4 | 1, 3, 19, 3]);
        let row = [2, 0, 2].map(word).concat();
        let exports = if self.exported { [word(1).to_vec(), row].concat() } else { word(0).to_vec() };
        let funs = [1, 2, 0, 2, 0, 0, 7].map(word).concat();
        // One literal, uncompressed (size 0).
        let size = self.literal.len() as u32;
        let literals = [&word(0)[..], &word(1), &word(size), &self.literal].concat();
        form(&[
            (b"AtU8", atoms),
            (b"Code", code),
            (b"StrT", Vec::new()),
            (b"ImpT", [1, 3, 3, 1].map(word).concat()),
            (b"ExpT", exports),
            (b"FunT", funs),
            (b"LitT", literals),
        ])
    }

    pub fn prepared(&self) -> PreparedCode {
        PreparedCode::new(prepare(&self.beam(), &no_bifs(), &NoEngine).unwrap())
    }
}

fn form(chunks: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut body = b"BEAM".to_vec();
    for (id, data) in chunks {
        body.extend_from_slice(*id);
        body.extend((data.len() as u32).to_be_bytes());
        body.extend_from_slice(data);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    let size = (body.len() as u32).to_be_bytes();
    [b"FOR1".to_vec(), size.to_vec(), body].concat()
}

/// Runs a test inside a process of this VM.
pub(super) fn in_process<R>(vm: &'static Vm, test: impl FnOnce(&mut Ctx<'_>) -> R) -> R {
    let first = Export::intern(Mfa { module: am::erts_internal, function: am::start, arity: 0 });
    let pid = spawn_orphan(vm, first, &[], &SpawnOptions::new(vm)).unwrap();
    let process = vm.processes.get(pid).unwrap();
    let mut local = vm.scheduler_local(0, false).unwrap();
    process.start_running();
    // SAFETY: process/P2: this thread has made it Running, and nothing else runs in this VM.
    let state = unsafe { process.owner_state() };
    test(&mut Ctx { state, process, sched: &mut local, vm })
}
