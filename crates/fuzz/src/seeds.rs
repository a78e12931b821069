//! What mutation starts from.

use std::fs;
use std::path::{Path, PathBuf};

/// Largest seed that is taken.
const LARGEST: usize = 48 * 1024;
/// Files of the OTP installation that are taken, spread over all.
const INSTALLED: usize = 80;

/// The seeds of a target: its kept corpus under `corpus`; for the loader, files of the OTP installation too.
pub fn of(target: &str, corpus: &Path) -> Vec<Vec<u8>> {
    let mut files = files(&corpus.join(target), |_| true);
    if target == "beam_load" {
        let root = std::env::var_os("MYRIAD_OTP_ROOT").map_or_else(|| PathBuf::from("/usr/lib/erlang"), PathBuf::from);
        let beams = self::files(&root.join("lib"), |p| p.extension().is_some_and(|e| e == "beam"));
        files.extend(beams.iter().step_by(beams.len() / INSTALLED + 1).cloned());
    }
    files.iter().filter_map(|f| fs::read(f).ok()).filter(|bytes| bytes.len() <= LARGEST).flat_map(split).collect()
}

/// A file of many records (four bytes of length before each, as `corpus/make.escript` writes them) is as many seeds.
fn split(bytes: Vec<u8>) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    let mut rest = &bytes[..];
    while let Some((size, after)) = rest.split_first_chunk::<4>() {
        match after.split_at_checked(u32::from_be_bytes(*size) as usize) {
            Some((record, after)) => {
                records.push(record.to_vec());
                rest = after;
            }
            None => return vec![bytes],
        }
    }
    if rest.is_empty() && !records.is_empty() { records } else { vec![bytes] }
}

/// Files below a directory, sorted.
fn files(directory: &Path, wanted: fn(&Path) -> bool) -> Vec<PathBuf> {
    let (mut found, mut left) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                left.push(path);
            } else if wanted(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
