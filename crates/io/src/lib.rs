//! Ports, files, and the built-in NIF modules that reach the operating system.
//!
//! | module | holds |
//! | --- | --- |
//! | [`buffer`] | the NIFs of `prim_buffer` |
//! | [`bytes`] | queues of bytes in pieces |
//! | [`mod@file`] | the NIFs of `prim_file` |
//! | [`port`] | ports: file descriptors, programs |
//! | [`posix`] | error numbers as atoms |
//! | [`socket`] | the NIFs of `prim_socket` and `prim_net` |
//! | `system` | calls of the system that all kinds of sockets need |
//! | [`tracer`] | the NIFs of `erl_tracer` |
//! | [`zlib`] | the NIFs of `zlib` |

pub mod buffer;
pub mod bytes;
pub mod file;
pub mod port;
pub mod posix;
pub mod socket;
mod system;
pub mod tracer;
pub mod zlib;

pub use port::{interrupts_are_input, with_terminal};

use myriad_sync::OnceLock;
use myriad_term::Term;
use myriad_vm::bif::{IntrinsicDef, Resumption};
use myriad_vm::heap_walk::Visit;
use myriad_vm::subsystem::{Part, Statistic, Subsystem};
use myriad_vm::vm::PortOps;
use myriad_vm::{BifDef, Ctx, Vm};
use port::{Ports, System};
use std::io::{self, Write};

/// All tables of this crate.
pub static TABLES: &[&[BifDef]] = &[
    buffer::PRIM_BUFFER,
    file::PRIM_FILE,
    port::ERLANG,
    port::INTERNAL,
    socket::PRIM_NET,
    socket::PRIM_SOCKET,
    tracer::ERL_TRACER,
    zlib::ZLIB,
];

/// Ports, open files and sockets of a VM.
#[derive(Default)]
pub struct Io {
    ports: OnceLock<System>,
    files: file::Owners,
    sockets: socket::Sockets,
}

impl Subsystem for Io {
    fn parts(&'static self) -> Vec<Part> {
        vec![&self.ports, &self.files, &self.sockets]
    }

    fn tables(&self) -> &'static [&'static [BifDef]] {
        TABLES
    }

    fn intrinsics(&self) -> &'static [IntrinsicDef] {
        port::inet::direct::INTRINSICS
    }

    fn start(&'static self, vm: &'static Vm) -> Result<(), String> {
        port::start(vm, &self.ports, &self.sockets)
    }

    /// Closes the files and sockets of a process that ends. Its ports get its exit signals, over their links.
    fn process_exits(&self, ctx: &mut Ctx<'_>) -> Option<Resumption> {
        self.files.owner_exits(ctx.pid());
        self.sockets.process_ends(ctx.vm, ctx.pid());
        None
    }

    fn before_halt(&self) {
        if let Some(ports) = self.ports.get() {
            ports.flush_all();
        }
    }

    fn ports(&self) -> Option<&dyn PortOps> {
        Some(&Ports)
    }

    fn each_object(&self, visit: Visit<'_>) {
        if let Some(ports) = self.ports.get() {
            port::dump::each_object(ports, visit);
        }
    }

    fn dump(&self, vm: &'static Vm, out: &mut dyn Write) -> io::Result<()> {
        port::dump::ports(vm, out)
    }

    fn locks(&self) -> Vec<(usize, Term)> {
        self.ports.get().map(port::locks).unwrap_or_default()
    }

    fn statistic(&self, which: Statistic) -> usize {
        let Some(ports) = self.ports.get() else { return 0 };
        match which {
            Statistic::Ports => ports.count(),
            Statistic::InputBytes => ports.traffic().0,
            Statistic::OutputBytes => ports.traffic().1,
            Statistic::Polled => ports.polled().0,
            Statistic::PolledByPorts => ports.polled().0 - ports.polled().1,
            Statistic::PolledByNifs => ports.polled().1,
            _ => 0,
        }
    }
}
