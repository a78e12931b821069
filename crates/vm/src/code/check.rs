//! Does a process still run in old code?
//!
//! It does if it will go on in it (where it was stopped) or return to it (a return point on its stack). Raw stack traces that
//! an exception keeps are not a reason to keep the code: they forget the module instead. Funs are not one either: `purge.rs`.

use super::Module;
use crate::ctx::Ctx;
use myriad_term::Atom;
use std::ops::Range;
use std::ptr;

impl Ctx<'_> {
    /// Does this process run in the old version of the module? `stopped`: it is between two slices, so that where it will go
    /// on counts too; else it is inside a built-in that it called itself.
    pub fn runs_old_code(&mut self, name: Atom, stopped: bool) -> bool {
        let Some(version) = self.vm.code.version_to_check(name) else { return false };
        for frame in &mut self.proc.exception.frames {
            if ptr::eq(frame.module, version) {
                frame.module = ptr::null();
            }
        }
        // SAFETY: the purger, or the caller of this check, keeps the version until this process has made progress (V2).
        let module = unsafe { &*version };
        let resume = self.proc.resume;
        if stopped && module.owns(resume.function) {
            return true;
        }
        let ranges = ranges_of(self, module);
        if stopped && contains(&ranges, resume.pc.0.addr()) {
            return true;
        }
        self.proc.heap.stack().iter().any(|word| contains(&ranges, *word as usize))
    }
}

/// The addresses of all code and return points that the engine has made for a version, ascending.
fn ranges_of(ctx: &Ctx<'_>, module: &Module) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    for function in &module.functions {
        ctx.vm.engine().code_ranges(function, &mut ranges);
    }
    ranges.sort_unstable_by_key(|range| range.start);
    ranges
}

fn contains(ranges: &[Range<usize>], address: usize) -> bool {
    let after = ranges.partition_point(|range| range.start <= address);
    after > 0 && ranges[after - 1].contains(&address)
}
