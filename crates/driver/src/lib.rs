//! Drivers: C code behind ports, by the interface of `erl_driver.h`, version 3.3, and the module `erl_ddll` that loads them.
//!
//! Libraries are built against OTP's header and find the functions `driver_*` and `erl_drv_*` in the running program, which exports them
//! (`crates/myriad/build.rs`). What the interface has and this does not is missing there ([`MISSING`]), so that a library that needs it is refused by the
//! system's linker when it is loaded. To a port a driver is one more implementation of `io`'s [`Driver`](myriad_io::port::driver::Driver).
//!
//! | module | holds |
//! | --- | --- |
//! | `abi` | layouts |
//! | `binary` | counted bytes of drivers |
//! | `call` | calls of drivers that are under way |
//! | `data_lock` | the lock of a port's queue |
//! | `ddll` | the built-in functions of `erl_ddll` |
//! | `events` | descriptors that are waited for |
//! | `exports` | the functions of the interface |
//! | `instance` | a driver behind one port |
//! | `library` | what is mapped |
//! | `monitors` | processes that drivers monitor |
//! | `opening` | how `open_port/2` finds a driver |
//! | `port` | how functions of the interface find the port that they are about |
//! | `queue` | a driver's queue of output |
//! | `refusals` | why drivers were refused |
//! | `table` | the drivers that are loaded, and for whom |
//! | `terms` | terms as drivers describe them |
//! | `words` | small translations |
//! | `workers` | threads for work that takes long |

mod abi;
mod binary;
mod call;
mod data_lock;
mod ddll;
mod events;
mod exports;
mod instance;
mod library;
mod monitors;
mod opening;
mod port;
mod queue;
mod refusals;
mod table;
mod terms;
mod words;
mod workers;

pub use exports::{MISSING, names};

use myriad_io::port::linked_in;
use myriad_term::{Magic, Term};
use myriad_vm::bif::{IntrinsicDef, Resumption};
use myriad_vm::heap_walk::Visit;
use myriad_vm::subsystem::{Part, Statistic, Subsystem};
use myriad_vm::vm::PortOps;
use myriad_vm::{BifDef, Ctx, Vm};
use std::io::{self, Write};

/// The built-in functions of this crate.
pub static TABLES: &[&[BifDef]] = &[ddll::ERL_DDLL];

/// C drivers. Libraries are mapped into the system process, of which they know only one VM: all their state is the process's.
#[derive(Default)]
pub struct Drivers;

impl Subsystem for Drivers {
    fn parts(&'static self) -> Vec<Part> {
        Vec::new()
    }

    fn tables(&self) -> &'static [&'static [BifDef]] {
        TABLES
    }

    fn intrinsics(&self) -> &'static [IntrinsicDef] {
        &[]
    }

    fn start(&'static self, vm: &'static Vm) -> Result<(), String> {
        call::run_in(vm);
        // Functions that this interface shares with that of NIFs ask there.
        myriad_nif::load::run_in(vm);
        linked_in::find_by(vm, opening::find);
        Ok(())
    }

    fn process_exits(&self, ctx: &mut Ctx<'_>) -> Option<Resumption> {
        for (port, serial) in monitors::take(ctx.pid()) {
            port::in_turn(ctx.vm, port.into(), move |instance, context| instance.process_ended(context, serial));
        }
        for library in table::process_ended(ctx.vm, ctx.pid()) {
            port::end_all(ctx.vm, &library);
        }
        None
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

    fn locks(&self) -> Vec<(usize, Term)> {
        Vec::new()
    }

    fn statistic(&self, _: Statistic) -> usize {
        0
    }
}
