//! Finds the .beam files of the OTP releases on this machine.

#![allow(dead_code, reason = "each test uses its own part of this")]
use std::path::{Path, PathBuf};

pub mod made;

/// The roots to look at: `MYRIAD_OTP_ROOTS`, separated by colons, or else where Linux packages put OTP.
pub fn roots() -> Vec<PathBuf> {
    let named = std::env::var("MYRIAD_OTP_ROOTS").unwrap_or_else(|_| "/usr/lib/erlang".to_owned());
    named.split(':').map(PathBuf::from).filter(|root| root.is_dir()).collect()
}

/// All .beam files below a directory, in a fixed order.
pub fn beams(directory: &Path) -> Vec<PathBuf> {
    let (mut found, mut left) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                left.push(path);
            } else if path.extension().is_some_and(|ext| ext == "beam") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// All .beam files of all roots; prints why if there are none.
pub fn all() -> Vec<PathBuf> {
    let found: Vec<_> = roots().iter().flat_map(|root| beams(&root.join("lib"))).collect();
    if found.is_empty() {
        println!("skipped: no .beam files (set MYRIAD_OTP_ROOTS)");
    }
    found
}
