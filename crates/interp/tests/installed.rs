//! Every function of the OTP release on this machine can be decoded.

mod common;

use myriad_interp::{decode, disasm};
use std::path::{Path, PathBuf};

fn beams(directory: &Path) -> Vec<PathBuf> {
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

#[test]
fn all_functions_fit_the_formats() {
    let root = std::env::var_os("MYRIAD_OTP_ROOT").map_or_else(|| PathBuf::from("/usr/lib/erlang"), PathBuf::from);
    let files = beams(&root.join("lib"));
    if files.is_empty() {
        eprintln!("no OTP at {}: nothing to decode", root.display());
        return;
    }
    let vm = common::vm();
    let mut unfit = Vec::new();
    let mut functions = 0;
    for file in &files {
        let bytes = std::fs::read(file).unwrap();
        let Ok(module) = common::prepared(vm, &bytes) else { continue };
        for function in &module.functions {
            functions += 1;
            let decoded = decode::translate(vm, function).unwrap();
            if disasm::listing(&decoded).contains("FailLoading") {
                unfit.push(format!("{}:{}/{}", module.name.text(), function.mfa.function.text(), function.mfa.arity));
            }
        }
    }
    assert!(unfit.is_empty(), "{} of {functions} functions: {:?}", unfit.len(), &unfit[..unfit.len().min(20)]);
    assert!(functions > 1000);
}
