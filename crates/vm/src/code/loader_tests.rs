//! Every .beam file of the installed OTP is prepared; damaged ones are refused without a panic.

use super::*;
use crate::bif::{BifDef, BifKind};
use crate::code::test_support::{NoEngine, Small, bifs, no_bifs};
use myriad_code::Executor;
use myriad_term::am;
use myriad_term::{Export, Term};
use myriad_testing::Random;
use std::path::{Path, PathBuf};
use std::ptr;

fn installed() -> Vec<PathBuf> {
    let (mut files, mut directories) = (Vec::new(), vec![PathBuf::from("/usr/lib/erlang/lib")]);
    while let Some(directory) = directories.pop() {
        let Ok(entries) = std::fs::read_dir(directory) else { continue };
        for path in entries.filter_map(|e| Some(e.ok()?.path())) {
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|e| e == "beam") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

fn prepared(path: &Path, bifs: &Registry) -> Result<Prepared, LoadError> {
    prepare(&std::fs::read(path).unwrap(), bifs, &NoEngine)
}

#[test]
fn all_modules_of_otp_are_prepared() {
    let (bifs, files) = (no_bifs(), installed());
    for file in &files {
        let prepared = prepared(file, &bifs).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let module = prepared.module();
        assert_eq!(Some(module.name.text()), file.file_stem().and_then(|s| s.to_str()));
        assert_eq!(module.literals.len(), module.beam.literals.len());
        assert!(module.attributes(&mut &myriad_term::Arena::new()).list_length().is_some());
        assert!(module.compile_info(&mut &myriad_term::Arena::new()).list_length().is_some_and(|n| n > 0));
        assert!(module.exports.iter().any(|(e, _)| e.mfa.function == am::module_info && e.mfa.arity == 1));
        assert!(module.functions.iter().all(|f| f.module().is_some_and(|m| ptr::eq(m, module))));
    }
    // The base packages alone have some 280.
    assert!(files.is_empty() || files.len() > 250, "{} files", files.len());
}

#[test]
fn the_registry_takes_functions_over_and_leaves_nifs_alone() {
    static DEFS: &[BifDef] = &[
        BifDef {
            module: "lists",
            function: "reverse",
            arity: 2,
            kind: BifKind::Plain,
            since: 0,
            until: 65535,
            function_ptr: |_, _| Ok(Term::OK),
            foreign: None,
        },
        BifDef {
            module: "lists",
            function: "reverse",
            arity: 1,
            kind: BifKind::Nif,
            since: 0,
            until: 65535,
            function_ptr: |_, _| Ok(Term::OK),
            foreign: None,
        },
    ];
    let Some(lists) = installed().into_iter().find(|f| f.ends_with("lists.beam")) else { return };
    let prepared = prepared(&lists, &bifs(&[DEFS])).unwrap();
    let bound: Vec<_> = prepared.module().functions.iter().filter(|f| f.bif().is_some()).collect();
    assert_eq!(bound.len(), 1);
    assert_eq!((bound[0].mfa.function.text(), bound[0].mfa.arity), ("reverse", 2));
    assert_eq!(bound[0].entry(), NoEngine.entry_behind(bound[0]).tier0);
}

#[test]
fn places_name_the_file_and_the_line() {
    let Some(lists) = installed().into_iter().find(|f| f.ends_with("lists.beam")) else { return };
    let prepared = prepared(&lists, &no_bifs()).unwrap();
    let module = prepared.module();
    let (file, line) = location_of(module, 1).unwrap();
    let text: String = file.list_iter().filter_map(|c| char::from_u32(c.as_small()? as u32)).collect();
    assert_eq!(text, "lists.erl");
    assert!(line > 0);
    assert!(myriad_heap::is_literal(file.object_ptr()));
    assert_eq!(location_of(module, 0), None);
    assert_eq!(location_of(module, u32::MAX), None);
}

#[test]
fn preparing_publishes_nothing() {
    let code = Small::named("loader_tests_quiet", 1).prepared();
    let mfa = Mfa { module: code.name, function: am::start, arity: 0 };
    let export = Export::find(mfa).unwrap();
    assert!(!export.is_defined());
    drop(code);
    assert!(!export.is_defined());
}

#[test]
fn a_bad_literal_is_an_error() {
    let mut small = Small::named("loader_tests_bad", 1);
    assert!(prepare(&small.beam(), &no_bifs(), &NoEngine).is_ok());
    // A tuple that announces more than there is; a term and something behind it; no such tag.
    for literal in [vec![131, 104, 2, 97, 1], vec![131, 97, 1, 0], vec![131, 1]] {
        small.literal = literal;
        assert_eq!(prepare(&small.beam(), &no_bifs(), &NoEngine).err(), Some(LoadError::Literal(0)));
    }
}

#[test]
fn damaged_files_are_refused_or_harmless() {
    let bifs = no_bifs();
    let mut samples = vec![Small::named("loader_tests_damaged", 3).beam()];
    let wanted = ["lists.beam", "prim_eval.beam", "erl_bits.beam"];
    let files = installed().into_iter().filter(|f| wanted.iter().any(|w| f.ends_with(w)));
    samples.extend(files.map(|f| std::fs::read(f).unwrap()));
    let mut random = Random::new(1);
    for bytes in samples {
        for cut in (0..bytes.len()).step_by(bytes.len() / 97 + 1) {
            assert!(prepare(&bytes[..cut], &bifs, &NoEngine).is_err());
        }
        for _ in 0..300 {
            let mut damaged = bytes.clone();
            for _ in 0..4 {
                let at = random.below(damaged.len());
                damaged[at] = random.bits() as u8;
            }
            // Either way is right; what counts is that it returns, and that what it made can be dropped.
            drop(prepare(&damaged, &bifs, &NoEngine));
        }
    }
}

#[test]
fn functions_are_listed_in_the_order_of_the_code() {
    let Some(lists) = installed().into_iter().find(|f| f.ends_with("lists.beam")) else { return };
    let prepared = prepared(&lists, &no_bifs()).unwrap();
    let mut arena = &myriad_term::Arena::new();
    let first_three = |list: myriad_term::TermRef<'_>| -> Vec<(&'static str, i64)> {
        let pairs = list.list_iter().filter_map(|pair| pair.as_tuple_of::<2>());
        pairs.filter_map(|[f, a]| Some((f.as_atom()?.text(), a.as_small()?))).take(3).collect()
    };
    let exports = crate::code::export_list(&mut arena, prepared.module());
    assert_eq!(first_three(exports), [("keyfind", 3), ("keymember", 3), ("keysearch", 3)]);
    let functions = crate::code::function_list(&mut arena, prepared.module());
    assert_eq!(first_three(functions), [("keyfind", 3), ("keymember", 3), ("keysearch", 3)]);
    assert!(crate::code::nif_list(&mut arena, prepared.module()).is_nil());
}
