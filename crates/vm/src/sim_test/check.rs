//! What must hold when nothing moves any more.

use super::world::{World, name};
use crate::OwnerState;
use crate::vm::Vm;
use myriad_process::links::{Link, Target};
use myriad_process::{Named, Status};
use myriad_term::Pid;
use std::collections::BTreeMap;

fn state(vm: &'static Vm, pid: Pid) -> Option<&'static OwnerState> {
    // SAFETY: the schedulers are stopped, and nobody changes it here.
    vm.processes.get(pid).map(|p| unsafe { &*p.owner_state() })
}

/// Is no process in a queue or running, and no timer set? (A look from outside, while they may be at it.)
pub fn nothing_moves(vm: &'static Vm) -> bool {
    let _pin = vm.progress.pin();
    let waits = |pid: Pid| vm.processes.get(pid).is_none_or(|p| p.status() == Status::Waiting && p.has_no_signals());
    vm.timers.count() == 0 && vm.schedulers.iter().all(|s| s.is_empty()) && vm.processes.pids().into_iter().all(waits)
}

/// Checks a VM in which nothing runs and no timer is set.
pub fn at_rest(vm: &'static Vm, world: &World, what: &str) {
    let alive = vm.processes.pids();
    assert_eq!(alive.len(), vm.processes.count(), "{what}: the table's count");
    assert!(vm.schedulers.iter().all(|s| s.is_empty()), "{what}: a process lies in a queue");
    for pid in &alive {
        let process = vm.processes.get(*pid).unwrap();
        assert_eq!(process.status(), Status::Waiting, "{what}: {pid:?}");
        assert!(process.has_no_signals(), "{what}: {pid:?} has not seen its signals");
        let state = state(vm, *pid).unwrap();
        assert!(state.unhandled.is_none(), "{what}: {pid:?} has not handled all its signals");
        assert!(!state.suspensions.by_others(), "{what}: {pid:?} is suspended for ever");
        assert!(state.messages.is_empty(), "{what}: {pid:?} has messages");
        assert!(!state.receive_timer.is_set(), "{what}: {pid:?} has a timer");
        relations(vm, *pid, state, what);
        let parallel = state.relations.get().and_then(|tables| tables.parallel.as_deref());
        let is_through = parallel.is_none_or(|parallel| parallel.at_work() == 0 && parallel.role.is_none());
        assert!(is_through, "{what}: {pid:?} has parts that are at work, or is one");
        names(vm, *pid, what);
    }
    for n in 0..3 {
        if let Some(Named::Process(pid)) = vm.names.whereis(name(n)) {
            let named = vm.processes.get(pid).and_then(|p| p.name());
            assert_eq!(named, Some(name(n)), "{what}: {pid:?} has lost its name");
        }
    }
    let mut received = BTreeMap::new();
    world.actors(|pid, actor| {
        assert!(alive.contains(&pid), "{what}: {pid:?} has an actor, and is gone");
        assert!(actor.asked.is_empty(), "{what}: {pid:?} waits for an answer");
        assert!(actor.suspending.is_empty());
        assert!(actor.doing.is_none(), "{what}: {pid:?} is at a loop");
        received.extend(actor.received.iter().map(|(from, n)| ((*from, pid), *n)));
        for (numbers, target) in &actor.monitors {
            let tables = state(vm, pid).and_then(|p| p.relations.get());
            let known = tables.is_some_and(|t| t.monitors.keys().any(|r| r.0 == *numbers));
            assert!(known, "{what}: {pid:?} has lost a monitor on {target:?}");
        }
    });
    world.actors(|pid, actor| {
        for (to, sent) in &actor.sent {
            if alive.contains(to) {
                assert_eq!(received.get(&(pid, *to)), Some(sent), "{what}: messages from {pid:?} to {to:?}");
            }
        }
    });
}

fn relations(vm: &'static Vm, pid: Pid, state: &OwnerState, what: &str) {
    let Some(tables) = state.relations.get() else { return };
    for (other, link) in tables.links.values() {
        let other = other.as_local_pid().unwrap();
        assert_eq!(*link, Link::Active, "{what}: {pid:?} unlinks {other:?} for ever");
        let Some(peer) = self::state(vm, other) else { panic!("{what}: {pid:?} is linked to {other:?}, who is gone") };
        assert!(peer.relations.is_linked(pid.term()), "{what}: only {pid:?} knows of its link to {other:?}");
    }
    for (reference, monitor) in &tables.monitors {
        let Target::Process(target) = monitor.target else { continue };
        let Some(peer) = self::state(vm, target) else { panic!("{what}: {pid:?} monitors {target:?}, who is gone") };
        let watchers = peer.relations.get().map(|t| &t.watchers);
        assert!(watchers.is_some_and(|w| w.contains_key(reference)), "{what}: {target:?} does not know of its monitor");
    }
    for (reference, watcher) in &tables.watchers {
        let peer = self::state(vm, watcher.from);
        let monitors = peer.and_then(|p| p.relations.get()).map(|t| &t.monitors);
        assert!(
            monitors.is_some_and(|m| m.contains_key(reference)),
            "{what}: {pid:?} keeps a monitor of {:?}",
            watcher.from
        );
    }
}

fn names(vm: &'static Vm, pid: Pid, what: &str) {
    let Some(name) = vm.processes.get(pid).and_then(|p| p.name()) else { return };
    assert_eq!(vm.names.whereis(name), Some(Named::Process(pid)), "{what}: a name of {pid:?}");
}
