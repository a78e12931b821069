//! Atomics, locks and threads come from crate `sync` (docs/design.md, section 8): no other names the standard library's.
//!
//! Tests may start threads as they like. This crate is no part of the VM.

use super::lexer::line_of;
use super::paths::paths;
use super::source::Module;
use super::tree::Finding;
use std::collections::BTreeMap;

/// Crates that may.
const EXEMPT: [&str; 2] = ["sync", "xtask"];

/// All uses of `std::sync` and `std::thread` where they are not wanted.
pub fn check(modules: &BTreeMap<String, Module>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for module in modules.values().filter(|module| !module.test && !EXEMPT.contains(&module.package.as_str())) {
        for path in paths(&module.code) {
            let line = line_of(&module.code, path.at);
            if let [library, part, ..] = path.words.as_slice()
                && ["std", "core", "alloc"].contains(&library.as_str())
                && ["sync", "thread"].contains(&part.as_str())
                && !module.puts_off(line, "facade")
            {
                let what = format!("`{}`: take it from `myriad_sync`", path.words.join("::"));
                findings.push(Finding::new(&module.path, line, what));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;
    use crate::tidy::tree::Tree;

    #[test]
    fn every_way_to_name_them_is_found() {
        let text = "use std::{fmt, sync::{Arc, atomic::AtomicU8}};\nfn f() { std::thread::sleep(t); core::sync::atomic::fence(o); }\n\
                    // tidy: facade: a reason\nstd::thread::park();\n#[cfg(test)]\nmod tests { use std::thread; }\n// std::sync\n";
        let files = [("crates/a/src/lib.rs", text), ("crates/sync/src/lib.rs", text), ("crates/a/tests/t.rs", text)];
        let findings = check(&source::modules(&Tree::of(&files)));
        let seen: Vec<(&str, usize)> = findings.iter().map(|f| (f.path.as_str(), f.line)).collect();
        assert_eq!(seen, [1, 1, 2, 2].map(|line| ("crates/a/src/lib.rs", line)));
    }
}
