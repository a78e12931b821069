//! Loading, replacing, deleting and purging, seen through exports and fun entries.

use super::*;
use crate::code::MissingFun;
use crate::code::PurgeStep::{Abort, Complete, Prepare, PrepareOnLoad};
use crate::code::test_support::{RELEASED, Small, vm};
use myriad_term::{FunEntry, Mfa, am};

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
    let vm = vm(Vec::new());
    let (one, two) = (Small::named("server_tests_a", 1), Small::named("server_tests_a", 2));
    let (name, export) = (Atom::new(one.name).unwrap(), export(&one));
    assert_eq!(version_of(export), None);
    assert_eq!(Function::of_export(export).entry(), vm.engine().undefined_stub());
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
    let vm = vm(Vec::new());
    let mut small = Small::named("server_tests_b", 1);
    load(&vm.code, &small).unwrap();
    assert!(export(&small).is_defined());
    small.exported = false;
    load(&vm.code, &small).unwrap();
    assert!(!export(&small).is_defined());
}

#[test]
fn several_are_loaded_all_or_none() {
    let vm = vm(Vec::new());
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
    let vm = vm(Vec::new());
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
    assert!(vm.code.purge(vm, name, PrepareOnLoad));
    assert!(vm.code.purge(vm, name, Complete));
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
    let vm = vm(Vec::new());
    let small = Small::named("server_tests_g", 1);
    let name = Atom::new(small.name).unwrap();
    load(&vm.code, &small).unwrap();
    let fun = fun_of(vm.code.current(name).unwrap());
    assert_eq!(vm.code.delete(name), Deleted::Done);
    assert_eq!(vm.code.delete(name), Deleted::NotLoaded);
    assert!(!export(&small).is_defined() && fun.is_loaded());
    assert_eq!(vm.code.loaded(), vec![name]);
    assert!(!vm.code.purge(vm, name, Complete), "not prepared");
    assert!(vm.code.purge(vm, name, Prepare));
    assert!(!fun.is_loaded() && vm.code.is_purge_pending(fun));
    assert_eq!(vm.code.missing_fun(fun), MissingFun::Wait);
    assert!(vm.code.purge(vm, name, Abort));
    assert!(fun.is_loaded() && !vm.code.is_purge_pending(fun));
    assert!(!vm.code.purge(vm, name, Abort));
    assert!(vm.code.purge(vm, name, Prepare));
    assert!(vm.code.purge(vm, name, Complete));
    assert!(!fun.is_loaded() && !vm.code.is_purge_pending(fun));
    assert_eq!(vm.code.missing_fun(fun), MissingFun::Load);
    load(&vm.code, &Small::named(small.name, 2)).unwrap();
    assert_eq!(vm.code.missing_fun(fun), MissingFun::Bad);
    assert_eq!(vm.code.delete(name), Deleted::Done);
    assert!(vm.code.purge(vm, name, Prepare) && vm.code.purge(vm, name, Complete));
    assert!(vm.code.loaded().is_empty());
    assert!(!vm.code.purge(vm, name, Prepare), "nothing left");
}

#[test]
fn funs_of_the_same_code_loaded_again_stay_with_the_new_version() {
    let vm = vm(Vec::new());
    let small = Small::named("server_tests_h", 1);
    let name = Atom::new(small.name).unwrap();
    load(&vm.code, &small).unwrap();
    let fun = fun_of(vm.code.current(name).unwrap());
    load(&vm.code, &small).unwrap();
    let current = ptr::from_ref(vm.code.current(name).unwrap());
    assert!(ptr::eq(fun, fun_of(vm.code.current(name).unwrap())));
    for step in [Prepare, Complete] {
        assert!(vm.code.purge(vm, name, step));
        assert_eq!(Function::of_fun(fun).and_then(Function::module).map(ptr::from_ref), Some(current));
    }
}

#[test]
fn a_purged_version_is_freed_after_thread_progress() {
    let vm = vm(Vec::new());
    let small = Small::named("server_tests_i", 1);
    let name = Atom::new(small.name).unwrap();
    let slot = vm.progress.register().unwrap();
    load(&vm.code, &small).unwrap();
    vm.code.delete(name);
    assert!(vm.code.purge(vm, name, Prepare) && vm.code.purge(vm, name, Complete));
    let before = vm.code.table.read().retained.len();
    assert_eq!(before, 0, "a slice that began before may still read it");
    for _ in 0..4 {
        slot.quiescent();
    }
    assert_eq!(vm.code.table.read().retained.len(), 1, "freed, but for its literals");
    // Relaxed: this thread has run the release itself.
    assert!(RELEASED.load(Ordering::Relaxed) >= 1);
}
