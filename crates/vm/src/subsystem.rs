//! What an upper crate adds to the VM: one value for each, handed over when the VM is made.
//!
//! No method has a default, so that a part which is forgotten does not compile. The crate's own mutable state lives in its value,
//! and thus in the VM ([`Vm::part`]): two VMs in one system process share only what terms share (docs/architecture.md).

use crate::bif::{BifDef, IntrinsicDef, Resumption};
use crate::ctx::Ctx;
use crate::heap_walk::Visit;
use crate::vm::{PortOps, Vm};
use myriad_term::{Magic, Term};
use std::any::{Any, TypeId};
use std::io::{self, Write};

/// Statistics that a subsystem may keep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Statistic {
    /// Number of ETS tables.
    Tables,
    /// Bytes that the tables and their rows take.
    TableBytes,
    /// Tables and their rows.
    TableBlocks,
    /// Open ports.
    Ports,
    /// Bytes that ports have read since the VM started.
    InputBytes,
    /// Bytes that ports have written since then.
    OutputBytes,
}

/// State that an upper crate keeps for a VM.
pub type Part = &'static (dyn Any + Send + Sync);

/// An upper crate, as the VM sees it.
pub trait Subsystem: Send + Sync {
    /// Its mutable state, each part of a type of its own: [`Vm::part`] finds it by that.
    fn parts(&'static self) -> Vec<Part>;

    /// Its built-in functions.
    fn tables(&self) -> &'static [&'static [BifDef]];

    /// The library functions that it has intrinsics for.
    fn intrinsics(&self) -> &'static [IntrinsicDef];

    /// Begins to work; no process runs yet.
    ///
    /// # Errors
    /// Why the VM cannot start, in words.
    fn start(&'static self, vm: &'static Vm) -> Result<(), String>;

    /// Releases what a process that ends holds outside its own memory. What would take long is given back, to be run in slices
    /// until it no longer yields.
    fn process_exits(&self, ctx: &mut Ctx<'_>) -> Option<Resumption>;

    /// Writes out what it still holds, before the VM halts. Bounded in time; runs on a dirty I/O scheduler.
    fn before_halt(&self);

    /// The port system, if it is this one.
    fn ports(&self) -> Option<&dyn PortOps>;

    /// Calls `visit` with each object of the terms that it holds, but for those behind magic references.
    fn each_object(&self, visit: Visit<'_>);

    /// Calls `visit` with each object of the terms that it holds behind this magic reference, if that is its own.
    fn each_object_of(&self, magic: &Magic, visit: Visit<'_>);

    /// Writes its sections of a crash dump.
    ///
    /// # Errors
    /// As `out` has them.
    fn dump(&self, vm: &'static Vm, out: &mut dyn Write) -> io::Result<()>;

    /// Terms that it keeps for all processes, with their keys: a crash dump has a section of them.
    fn persistent_terms(&self) -> Vec<(Term, Term)>;

    /// A statistic; 0 if it does not keep this one.
    fn statistic(&self, which: Statistic) -> usize;
}

/// The subsystems of a VM, in the order in which they let go of a process that ends.
pub(crate) struct Subsystems {
    all: Vec<&'static dyn Subsystem>,
    parts: Vec<(TypeId, Part)>,
    ports: Option<&'static dyn PortOps>,
}

impl Subsystems {
    pub(crate) fn new(all: Vec<Box<dyn Subsystem>>) -> Subsystems {
        let all: Vec<&'static dyn Subsystem> = all.into_iter().map(|one| &*Box::leak(one)).collect();
        let parts = all.iter().flat_map(|one| one.parts()).map(|part| (part.type_id(), part)).collect();
        let ports = all.iter().find_map(|one| one.ports());
        Subsystems { all, parts, ports }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &'static dyn Subsystem> {
        self.all.iter().copied()
    }

    pub(crate) fn get(&self, index: usize) -> Option<&'static dyn Subsystem> {
        self.all.get(index).copied()
    }

    pub(crate) fn ports(&self) -> Option<&'static dyn PortOps> {
        self.ports
    }
}

impl Vm {
    /// The state of this type that an upper crate keeps for this VM.
    ///
    /// # Panics
    /// The VM was made without that crate. So it has none of its functions either, and only a mistake in the wiring comes here.
    #[inline]
    pub fn part<T: Any>(&self) -> &'static T {
        let found = self.subsystems.parts.iter().find(|(id, _)| *id == TypeId::of::<T>());
        let part = found.and_then(|(_, part)| part.downcast_ref());
        part.unwrap_or_else(|| panic!("the VM was made without {}", std::any::type_name::<T>()))
    }

    /// The subsystems, in the order in which they let go of a process that ends.
    pub fn subsystems(&self) -> impl Iterator<Item = &'static dyn Subsystem> {
        self.subsystems.iter()
    }

    /// Begins the work of all subsystems.
    ///
    /// # Errors
    /// Why one of them cannot begin, in words.
    pub fn start_subsystems(&'static self) -> Result<(), String> {
        self.subsystems.iter().try_for_each(|one| one.start(self))
    }

    /// Has each subsystem write out what it holds: the VM is about to halt.
    pub fn before_halt(&self) {
        self.subsystems.iter().for_each(Subsystem::before_halt);
    }

    /// A statistic of whichever subsystem keeps it.
    pub fn statistic(&self, which: Statistic) -> usize {
        self.subsystems.iter().map(|one| one.statistic(which)).sum()
    }
}

/// A subsystem of built-in functions alone, and of what is done when a process ends: for examples and tests.
pub struct Functions {
    /// The functions.
    pub tables: &'static [&'static [BifDef]],
    /// See [`Subsystem::process_exits`].
    pub process_exits: fn(&mut Ctx<'_>) -> Option<Resumption>,
}

impl Functions {
    /// These functions.
    pub fn of(tables: &'static [&'static [BifDef]]) -> Box<dyn Subsystem> {
        Box::new(Functions { tables, process_exits: |_| None })
    }
}

impl Subsystem for Functions {
    fn parts(&'static self) -> Vec<Part> {
        Vec::new()
    }

    fn tables(&self) -> &'static [&'static [BifDef]] {
        self.tables
    }

    fn intrinsics(&self) -> &'static [IntrinsicDef] {
        &[]
    }

    fn start(&'static self, _: &'static Vm) -> Result<(), String> {
        Ok(())
    }

    fn process_exits(&self, ctx: &mut Ctx<'_>) -> Option<Resumption> {
        (self.process_exits)(ctx)
    }

    fn before_halt(&self) {}

    fn ports(&self) -> Option<&dyn PortOps> {
        None
    }

    fn each_object(&self, _: Visit<'_>) {}

    fn each_object_of(&self, _: &Magic, _: Visit<'_>) {}

    fn dump(&self, _: &'static Vm, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn persistent_terms(&self) -> Vec<(Term, Term)> {
        Vec::new()
    }

    fn statistic(&self, _: Statistic) -> usize {
        0
    }
}
