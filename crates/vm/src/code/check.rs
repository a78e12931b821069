//! Does a process still run in old code?
//!
//! It does if it will resume in it (where it was stopped) or return to it (a return point on its stack). Raw stack traces that
//! an exception keeps are not a reason to keep the code: they forget the module instead. Funs are not one either: crate `code`, `purge.rs`.

use super::Module;
use crate::ctx::Ctx;
use myriad_term::Atom;
use std::ops::Range;
use std::ptr;

impl Ctx<'_> {
    /// Does this process run in the old version of the module? It is stopped, in a receive, or in a built-in.
    pub fn runs_old_code(&mut self, name: Atom) -> bool {
        let Some(version) = self.vm.code.version_to_check(name) else { return false };
        for frame in self.state.exception.get_mut().into_iter().flat_map(|exception| &mut exception.frames) {
            if ptr::eq(frame.module, version) {
                frame.module = ptr::null();
            }
        }
        // SAFETY: the purger, or the caller of this check, keeps the version until this process has made progress (code/V2).
        let module = unsafe { &*version };
        let resume = self.state.resume;
        if module.owns(resume.function) {
            return true;
        }
        let ranges = ranges_of(self, module);
        if contains(&ranges, resume.pc.0.addr()) {
            return true;
        }
        self.state.heap.stack().iter().any(|word| contains(&ranges, *word as usize))
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

#[cfg(test)]
mod tests {
    use crate::TraceFrame;
    use crate::code::Function;
    use crate::code::PurgeStep::{Abort, Prepare};
    use crate::code::test_support::{Small, in_process, vm};
    use crate::ctx::Ctx;
    use myriad_process::CodePtr;
    use myriad_term::Atom;
    use std::ptr;

    /// A process, and a function of the old and of the current version of a module.
    fn with_two_versions(
        name: &'static str,
        test: impl FnOnce(&mut Ctx<'_>, Atom, &'static Function, &'static Function),
    ) {
        let vm = vm(&[]);
        for value in [1, 2] {
            vm.code.finish_loading(&[&Small::named(name, value).prepared()]).unwrap();
        }
        let name = Atom::new(name).unwrap();
        let state = vm.code.state(name);
        in_process(vm, |ctx| test(ctx, name, &state.old.unwrap().functions[0], &state.current.unwrap().functions[0]));
    }

    #[test]
    fn where_it_goes_on_counts_when_it_is_stopped() {
        with_two_versions("check_tests_a", |ctx, name, old, current| {
            assert!(!ctx.runs_old_code(name));
            ctx.state.resume.function = current;
            assert!(!ctx.runs_old_code(name));
            ctx.state.resume.function = old;
            assert!(ctx.runs_old_code(name));
            ctx.state.resume.function = ptr::null();
            ctx.state.resume.pc = CodePtr(ptr::from_ref(old).cast());
            assert!(ctx.runs_old_code(name));
        });
    }

    #[test]
    fn return_points_count() {
        with_two_versions("check_tests_b", |ctx, name, old, current| {
            for (function, runs) in [(current, false), (old, true)] {
                let heap = &mut ctx.state.heap;
                // SAFETY: a new heap has room for a few words; an aligned address looks like a small integer (heap/H2).
                unsafe {
                    heap.stop = heap.stop.sub(1);
                    *heap.stop = ptr::from_ref(function) as u64;
                }
                assert_eq!(ctx.runs_old_code(name), runs);
            }
            assert!(ctx.vm.purge(name, Prepare));
            assert!(ctx.runs_old_code(name));
            assert!(ctx.vm.purge(name, Abort));
            assert!(!ctx.runs_old_code(Atom::new("check_tests_none").unwrap()));
        });
    }

    #[test]
    fn raw_traces_forget_the_old_version_only() {
        with_two_versions("check_tests_c", |ctx, name, old, current| {
            let frame = |f: &Function| TraceFrame { mfa: f.mfa, line: 1, module: f.module };
            ctx.state.exception.frames = vec![frame(old), frame(current)];
            assert!(!ctx.runs_old_code(name));
            let [first, second] = [0, 1].map(|i| ctx.state.exception.frames[i].module);
            assert!(first.is_null() && ptr::eq(second, current.module));
        });
    }
}
