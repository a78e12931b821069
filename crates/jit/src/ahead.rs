//! Compiling a module before any VM runs it: for images, and for releases as they are installed.

use crate::cache::Cache;
use crate::compile::{Why, make};
use myriad_vm::Vm;
use myriad_vm::code::{Function, Prepared};
use std::io;

/// What compiling ahead has come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ahead {
    /// Functions that have a file's code now.
    pub compiled: usize,
    /// Functions that stay in tier 0.
    pub declined: usize,
    /// Bytes of the file.
    pub bytes: u64,
}

/// Compiles all functions of a module that has been prepared, and writes them to the cache. Nothing of it runs.
///
/// # Errors
/// The file could not be written.
pub fn compile_ahead(vm: &'static Vm, prepared: &Prepared, cache: &Cache) -> io::Result<Ahead> {
    let module = prepared.module();
    let mut ahead = Ahead::default();
    let mut functions = Vec::new();
    for function in module.functions.iter().filter(|function| function.bif().is_none()) {
        // SAFETY: the module lives as long as this call, and what is made of the function refers to neither.
        let function = unsafe { &*std::ptr::from_ref::<Function>(function) };
        match make(vm, function) {
            Ok(fresh) => functions.push((function.index, fresh.made)),
            Err(Why::Declined(_) | Why::Refused(_) | Why::Memory(_) | Why::Late) => ahead.declined += 1,
        }
    }
    ahead.compiled = functions.len();
    if !functions.is_empty() {
        ahead.bytes = cache.write_module(vm, module, &functions)?;
    }
    Ok(ahead)
}
