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
use myriad_vm::bif::Resumption;
use myriad_vm::subsystem::{Statistic, Subsystem};
use myriad_vm::{BifDef, Ctx, Vm};

/// The built-in functions of this crate.
pub static TABLES: &[&[BifDef]] = &[ddll::ERL_DDLL];

/// C drivers. Libraries are mapped into the system process, of which they know only one VM: all their state is the process's.
#[derive(Default)]
pub struct Drivers;

impl Subsystem for Drivers {
    fn tables(&self) -> &'static [&'static [BifDef]] {
        TABLES
    }

    fn start(&'static self, vm: &'static Vm) -> Result<(), String> {
        call::run_in(vm);
        // Functions that this interface shares with that of NIFs ask there.
        myriad_nif::load::run_in(vm);
        linked_in::find_by(vm, opening::find);
        Ok(())
    }

    fn statistic(&self, which: Statistic) -> usize {
        let (selected, closed) = events::selected();
        match which {
            Statistic::Polled => selected - closed + myriad_nif::selected(),
            Statistic::PolledByPorts => selected,
            Statistic::PolledByNifs => myriad_nif::selected(),
            Statistic::PolledInVain => closed,
            _ => 0,
        }
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
}
