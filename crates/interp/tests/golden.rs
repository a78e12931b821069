//! The tier-0 code of two recorded modules is what it was. `MYRIAD_BLESS=1` rewrites it; read the diff.

mod common;

use myriad_interp::{decode, disasm};
use std::fmt::Write;
use std::path::Path;

fn check(name: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(root.join("../beam/tests/data").join(name).with_extension("beam")).unwrap();
    let vm = common::vm();
    let module = common::prepared(vm, &bytes).unwrap();
    let mut listing = String::new();
    for function in &module.functions {
        let decoded = decode::translate(vm, function).unwrap();
        let _ =
            writeln!(listing, "{}/{}\n{}", function.mfa.function.text(), function.mfa.arity, disasm::listing(&decoded));
    }
    let golden = root.join("tests/golden").join(name).with_extension("txt");
    if std::env::var_os("MYRIAD_BLESS").is_some() {
        std::fs::write(&golden, &listing).unwrap();
    }
    let expected = std::fs::read_to_string(&golden).unwrap();
    for (number, (have, want)) in listing.lines().zip(expected.lines()).enumerate() {
        assert_eq!(have, want, "{name}, line {}", number + 1);
    }
    assert_eq!(listing.len(), expected.len());
}

#[test]
fn modules_of_two_releases() {
    check("t25");
    check("t29");
}
