//! Ports, files, and the built-in NIF modules that reach the operating system.
//!
//! | module | holds |
//! | --- | --- |
//! | [`buffer`] | the NIFs of `prim_buffer` |
//! | [`bytes`] | queues of bytes in pieces |
//! | [`file`] | the NIFs of `prim_file` |
//! | [`posix`] | error numbers as atoms |
//! | [`zlib`] | the NIFs of `zlib` |

pub mod buffer;
pub mod bytes;
pub mod file;
pub mod posix;
pub mod zlib;

use myriad_vm::{BifDef, Ctx, Vm};

/// All tables of this crate.
pub static TABLES: &[&[BifDef]] = &[
    buffer::PRIM_BUFFER,
    file::PRIM_FILE,
    zlib::ZLIB,
];

/// Exit hook: closes what a process that ends has open here.
pub fn process_exits(ctx: &mut Ctx<'_>) {
    file::owner_exits(ctx.pid());
}

/// Starts what this crate needs beside the schedulers.
pub fn start(_vm: &'static Vm) -> Result<(), String> {
    Ok(())
}
