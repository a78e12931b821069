//! Loading, replacing, deleting and purging, seen through exports and fun entries.

use super::test_support::{RELEASED, Small, vm};
use super::*;
use crate::code::PurgeStep::{Abort, Complete, Prepare, PrepareOnLoad};
use myriad_sync::atomic::Ordering;
use myriad_term::Export;
use myriad_term::{FunEntry, Mfa, am};
use std::ptr;

fn load(server: &CodeServer, small: &Small) -> Result<(), FinishError> {
    server.finish_loading(&[&small.prepared()])
}

fn export(small: &Small) -> &'static Export {
    Export::intern(Mfa { module: Atom::new(small.name).unwrap(), function: am::start, arity: 0 })
}

fn version_of(export: &Export) -> Option<*const Module> {
    Function::of_export(export).module().map(ptr::from_ref)
}

fn fun_of(module: &Module) -> &'static FunEntry {
    module.funs[0]
}

#[test]
fn the_new_version_becomes_current_and_the_current_one_old() {
    let vm = vm(&[]);
    let (one, two) = (Small::named("server_tests_a", 1), Small::named("server_tests_a", 2));
    let (name, export) = (Atom::new(one.name).unwrap(), export(&one));
    assert_eq!(version_of(export), None);
    assert_eq!(Function::of_export(export).entry(), vm.engine().undefined().tier0);
    load(&vm.code, &one).unwrap();
    let first = vm.code.current(name).unwrap();
    assert_eq!(version_of(export), Some(ptr::from_ref(first)));
    load(&vm.code, &two).unwrap();
    let state = vm.code.state(name);
    assert!(ptr::eq(state.old.unwrap(), first));
    assert_eq!(version_of(export), state.current.map(ptr::from_ref));
    assert_eq!(load(&vm.code, &one), Err(FinishError::NotPurged(vec![name])));
    assert_eq!(vm.code.loaded(), vec![name]);
    assert!(fun_of(first).is_loaded(), "funs of old code run on");
}

#[test]
fn a_function_that_is_no_longer_exported_is_undefined() {
    let vm = vm(&[]);
    let mut small = Small::named("server_tests_b", 1);
    load(&vm.code, &small).unwrap();
    assert!(export(&small).is_defined());
    small.exported = false;
    load(&vm.code, &small).unwrap();
    assert!(!export(&small).is_defined());
}

#[test]
fn several_are_loaded_all_or_none() {
    let vm = vm(&[]);
    let names = ["server_tests_c", "server_tests_d"];
    let [c, d] = names.map(|name| Small::named(name, 1));
    let [c_name, d_name] = names.map(|name| Atom::new(name).unwrap());
    let (c1, c2, d1) = (c.prepared(), c.prepared(), d.prepared());
    assert_eq!(vm.code.finish_loading(&[&c1, &d1, &c2]), Err(FinishError::Duplicated(vec![c_name])));
    assert_eq!(vm.code.current(c_name).map(|_| ()), None);
    assert_eq!(vm.code.finish_loading(&[&c1, &d1]), Ok(()));
    assert_eq!(vm.code.finish_loading(&[&c1]), Err(FinishError::Used));
    load(&vm.code, &d).unwrap();
    assert_eq!(vm.code.finish_loading(&[&c2, &d.prepared()]), Err(FinishError::NotPurged(vec![d_name])));
    assert!(vm.code.state(c_name).old.is_none() && c2.is_fresh());
    let on_load = Small { on_load: true, ..Small::named("server_tests_e", 1) };
    assert_eq!(vm.code.finish_loading(&[&c2, &on_load.prepared()]), Err(FinishError::SeveralWithOnLoad));
}

#[test]
fn a_module_with_on_load_waits_for_it() {
    let vm = vm(&[]);
    let plain = Small::named("server_tests_f", 1);
    let waiting = Small { on_load: true, ..Small::named("server_tests_f", 2) };
    let (name, export) = (Atom::new(plain.name).unwrap(), export(&plain));
    load(&vm.code, &plain).unwrap();
    let first = vm.code.current(name).unwrap();
    assert!(vm.code.on_load_function(name).is_none());
    assert!(!vm.code.finish_after_on_load(name, true));
    // It fails: the current version stays, the other one is purged.
    assert_eq!(load(&vm.code, &waiting), Err(FinishError::OnLoad(vec![name])));
    assert_eq!(version_of(export), Some(ptr::from_ref(first)));
    let function = vm.code.on_load_function(name).unwrap();
    assert_eq!(version_of(function), vm.code.state(name).on_load.map(ptr::from_ref));
    assert!(vm.code.finish_after_on_load(name, false));
    assert!(vm.purge(name, PrepareOnLoad));
    assert!(vm.purge(name, Complete));
    assert!(vm.code.state(name).on_load.is_none());
    assert_eq!(version_of(export), Some(ptr::from_ref(first)));
    // It succeeds.
    assert_eq!(load(&vm.code, &waiting), Err(FinishError::OnLoad(vec![name])));
    assert!(vm.code.finish_after_on_load(name, true));
    let state = vm.code.state(name);
    assert!(ptr::eq(state.old.unwrap(), first) && state.on_load.is_none());
    assert_eq!(version_of(export), state.current.map(ptr::from_ref));
    assert!(vm.code.on_load_function(name).is_none());
}

#[test]
fn a_purge_takes_the_funs_away_and_an_abort_gives_them_back() {
    let vm = vm(&[]);
    let small = Small::named("server_tests_g", 1);
    let name = Atom::new(small.name).unwrap();
    load(&vm.code, &small).unwrap();
    let fun = fun_of(vm.code.current(name).unwrap());
    assert_eq!(vm.code.delete(name), Deleted::Done);
    assert_eq!(vm.code.delete(name), Deleted::NotPurged);
    assert!(!export(&small).is_defined() && fun.is_loaded());
    assert_eq!(vm.code.loaded(), vec![name]);
    assert!(!vm.purge(name, Complete), "not prepared");
    assert!(vm.purge(name, Prepare));
    assert!(!fun.is_loaded() && vm.code.is_purge_pending(fun));
    assert_eq!(vm.code.missing_fun(fun), MissingFun::Wait);
    assert!(vm.purge(name, Abort));
    assert!(fun.is_loaded() && !vm.code.is_purge_pending(fun));
    assert!(!vm.purge(name, Abort));
    assert!(vm.purge(name, Prepare));
    assert!(vm.purge(name, Complete));
    assert!(!fun.is_loaded() && !vm.code.is_purge_pending(fun));
    assert_eq!(vm.code.missing_fun(fun), MissingFun::Load);
    load(&vm.code, &Small::named(small.name, 2)).unwrap();
    assert_eq!(vm.code.missing_fun(fun), MissingFun::Bad);
    assert_eq!(vm.code.delete(name), Deleted::Done);
    assert!(vm.purge(name, Prepare) && vm.purge(name, Complete));
    assert!(vm.code.loaded().is_empty());
    assert!(!vm.purge(name, Prepare), "nothing left");
}

#[test]
fn funs_of_the_same_code_loaded_again_stay_with_the_new_version() {
    let vm = vm(&[]);
    let small = Small::named("server_tests_h", 1);
    let name = Atom::new(small.name).unwrap();
    load(&vm.code, &small).unwrap();
    let fun = fun_of(vm.code.current(name).unwrap());
    load(&vm.code, &small).unwrap();
    let current = ptr::from_ref(vm.code.current(name).unwrap());
    assert!(ptr::eq(fun, fun_of(vm.code.current(name).unwrap())));
    for step in [Prepare, Complete] {
        assert!(vm.purge(name, step));
        assert_eq!(Function::of_fun(fun).and_then(Function::module).map(ptr::from_ref), Some(current));
    }
}

#[test]
fn a_purged_version_is_freed_after_thread_progress() {
    let vm = vm(&[]);
    let small = Small::named("server_tests_i", 1);
    let name = Atom::new(small.name).unwrap();
    let slot = vm.progress.register().unwrap();
    load(&vm.code, &small).unwrap();
    vm.code.delete(name);
    assert!(vm.purge(name, Prepare) && vm.purge(name, Complete));
    assert_eq!(vm.literals.waiting(), 1, "its literals wait for the collector, which waits for thread progress itself");
    for _ in 0..4 {
        slot.quiescent();
    }
    assert_eq!(vm.literals.waiting(), 1, "freed, and nothing more waits");
    // Relaxed: this thread has run the release itself.
    assert!(RELEASED.load(Ordering::Relaxed) >= 1);
}

#[test]
fn nifs_are_bound_once_to_each_version() {
    use crate::bif::{BifDef, BifKind};
    use crate::code::{NifBinding, nif_list};
    static DEFS: &[BifDef] = &[BifDef {
        module: "server_tests_j",
        function: "start",
        arity: 0,
        kind: BifKind::Nif,
        since: 0,
        until: 65535,
        function_ptr: |_, _| Ok(myriad_term::Term::OK),
        foreign: None,
    }];
    static TABLES: [&[BifDef]; 1] = [DEFS];
    let vm = vm(&TABLES);
    let small = Small::named("server_tests_j", 1);
    let name = Atom::new(small.name).unwrap();
    let bind = || vm.code.bind_nifs(name, &vm.bifs, vm.engine(), Box::new(crate::code::BuiltInNifs));
    assert_eq!(bind(), NifBinding::NotLoaded);
    load(&vm.code, &small).unwrap();
    assert_eq!(Function::of_export(export(&small)).entry(), vm.engine().undecoded().tier0);
    assert_eq!((bind(), bind()), (NifBinding::Bound, NifBinding::Again));
    let function = Function::of_export(export(&small));
    assert!(function.bif().is_some_and(|def| ptr::eq(def, &DEFS[0])));
    assert_eq!(function.entry(), vm.engine().entry_behind(function).tier0);
    let mut arena = &myriad_term::Arena::new();
    assert_eq!(nif_list(&mut arena, vm.code.current(name).unwrap()).list_length(), Some(1));
    // The on_load function of a new version binds that version, not the current one.
    let next = Small { on_load: true, ..Small::named(small.name, 2) };
    assert_eq!(load(&vm.code, &next), Err(FinishError::OnLoad(vec![name])));
    assert_eq!((bind(), bind()), (NifBinding::Bound, NifBinding::Again));
    let waiting = vm.code.state(name).on_load.unwrap();
    assert!(waiting.functions[0].bif().is_some());
}

#[test]
fn readers_never_see_a_version_that_was_freed() {
    use myriad_sync::atomic::AtomicBool;
    use myriad_sync::thread;
    let vm = vm(&[]);
    let small = Small::named("server_tests_k", 1);
    let (name, export) = (Atom::new(small.name).unwrap(), export(&small));
    static STOP: AtomicBool = AtomicBool::new(false);
    let reader = move || {
        let slot = vm.progress.register().unwrap();
        let mut seen = 0_u32;
        // Relaxed: only when it ends is at stake.
        while !STOP.load(Ordering::Relaxed) {
            if let Some(module) = Function::of_export(export).module() {
                assert_eq!(module.name, name);
                assert!(module.exports.iter().any(|(e, _)| ptr::eq(*e, export)));
                seen += 1;
            }
            slot.quiescent();
        }
        seen
    };
    let readers: Vec<_> = (0..2).map(|i| thread::spawn(&format!("reader_{i}"), reader).unwrap()).collect();
    let slot = vm.progress.register().unwrap();
    for round in 0..300 {
        load(&vm.code, &Small { value: round as u8 % 16, ..small.clone() }).unwrap();
        if vm.code.state(name).old.is_some() {
            assert!(vm.purge(name, Prepare) && vm.purge(name, Complete));
        }
        slot.quiescent();
    }
    STOP.store(true, Ordering::Relaxed);
    slot.park();
    for reader in readers {
        assert!(reader.join().is_ok());
    }
}
