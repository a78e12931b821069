//! What an upper crate adds to the VM: one value for each, handed over when the VM is made.
//!
//! No method has a default, so that a part which is forgotten does not compile. The crate's own mutable state lives in its value,
//! and thus in the VM ([`Vm::part`]): two VMs in one system process share only what terms share (docs/architecture.md).

pub use crate::upcalls::{Part, Statistic, Subsystem};

use crate::bif::{BifDef, Resumption};
use crate::ctx::Ctx;
use crate::vm::Vm;
use std::any::Any;

impl Vm {
    /// The state of this type that an upper crate keeps for this VM.
    ///
    /// # Panics
    /// The VM was made without that crate. So it has none of its functions either, and only a mistake in the wiring comes here.
    #[inline]
    pub fn part<T: Any>(&self) -> &'static T {
        self.subsystems.parts.get().unwrap_or_else(|| panic!("the VM was made without {}", std::any::type_name::<T>()))
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
    fn tables(&self) -> &'static [&'static [BifDef]] {
        self.tables
    }

    fn process_exits(&self, ctx: &mut Ctx<'_>) -> Option<Resumption> {
        (self.process_exits)(ctx)
    }
}
