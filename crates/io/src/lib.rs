//! Ports, files, and the built-in NIF modules that reach the operating system.
//!
//! | module | holds |
//! | --- | --- |
//! | [`buffer`] | the NIFs of `prim_buffer` |
//! | [`bytes`] | queues of bytes in pieces |
//! | [`file`] | the NIFs of `prim_file` |
//! | [`port`] | ports: file descriptors, programs |
//! | [`posix`] | error numbers as atoms |
//! | [`tracer`] | the NIFs of `erl_tracer` |
//! | [`zlib`] | the NIFs of `zlib` |

pub mod buffer;
pub mod bytes;
pub mod file;
pub mod port;
pub mod posix;
pub mod tracer;
pub mod zlib;

pub use port::{interrupts_are_input, with_terminal};

use myriad_vm::{BifDef, Ctx, Vm};

/// All tables of this crate.
pub static TABLES: &[&[BifDef]] =
    &[buffer::PRIM_BUFFER, file::PRIM_FILE, port::ERLANG, port::INTERNAL, tracer::ERL_TRACER, zlib::ZLIB];

/// Exit hook: closes the files of a process that ends. Its ports get its exit signals, over their links.
pub fn process_exits(ctx: &mut Ctx<'_>) -> Option<myriad_vm::bif::Resumption> {
    file::owner_exits(ctx.pid());
    None
}

/// Starts what this crate needs beside the schedulers.
pub fn start(vm: &'static Vm) -> Result<(), String> {
    vm.before_halt(|_| flush_all());
    port::start(vm)
}

/// Waits until all ports have written their output, as long as it goes on: what `halt` does before it stops the VM.
pub fn flush_all() {
    port::flush_all();
}
