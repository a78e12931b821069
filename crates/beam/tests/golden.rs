//! The listings of two recorded modules are what they were. `MYRIAD_BLESS=1` rewrites them; read the diff.

use std::path::Path;

use myriad_beam::{FieldDefault, Module, Type};

fn check(name: &str) {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let module = Module::load(&std::fs::read(data.join(name).with_extension("beam")).unwrap()).unwrap();
    let (listing, golden) = (module.disasm(), data.join(name).with_extension("disasm"));
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
fn otp_25() {
    check("t25");
}

#[test]
fn otp_29() {
    check("t29");
}

#[test]
fn native_records_of_otp_29() {
    let module = Module::load(include_bytes!("data/t29.beam")).unwrap();
    let records: Vec<_> = module.records.iter().map(|r| (module.atom(r.name), r.exported)).collect();
    assert_eq!(records, [("pt", true), ("loc", false)]);
    let pt: Vec<_> = module.records[0].fields.iter().map(|(name, default)| (module.atom(*name), *default)).collect();
    assert_eq!(pt[0], ("x", FieldDefault::Int(0)));
    assert!(matches!(pt[1], ("y", FieldDefault::Lit(_))));
    assert_eq!(pt[2], ("z", FieldDefault::None));
    assert_eq!(module.records[1].fields[3].1, FieldDefault::Int(1_000_000_000_000));
}

#[test]
fn types_lines_and_lambdas_of_otp_25() {
    let module = Module::load(include_bytes!("data/t25.beam")).unwrap();
    assert_eq!(module.type_of(0), Type::ANY);
    assert_eq!(module.type_of(u32::MAX), Type::ANY);
    assert_eq!(module.lambdas.iter().map(|l| l.free).collect::<Vec<_>>(), [1, 0]);
    let lines: Vec<_> = module.lines.items.iter().map(|line| line.line).collect();
    assert!(lines.is_sorted() && lines[0] == 7, "{lines:?}");
}
