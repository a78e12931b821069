//! Scenes: who frees what is left of a process.

use super::scenes::Stage;
use crate::bif::DirtyKind;
use crate::scheduler::Step;
use crate::task::LONG_COLLECTION;
use crate::{Process, Signal};
use myriad_process::Payload;
use myriad_sync::atomic::Ordering;
use myriad_term::{Build, SharedBinary, am};

/// Kills it, and has the scheduler step until nobody can see it any more.
fn ends(stage: &mut Stage, process: &'static Process) {
    let pid = process.pid;
    stage.vm.schedulers[0].push(process);
    let reason = Payload::immediate(am::kill.term());
    assert!(stage.vm.send(process, Signal::Exit { from: pid.term(), reason, linked: false }));
    let mut steps = 0;
    while stage.vm.processes.get(pid).is_some() {
        assert!(matches!(stage.schedulers[0].step(), Step::Ran(_)));
        steps += 1;
        assert!(steps < 100, "it never ends");
    }
    for _ in 0..100 {
        let _ = stage.schedulers[0].step();
    }
    // What the scheduler keeps of references it gives back.
    stage.platform.now.fetch_add(10_000_000, Ordering::Relaxed);
    let _ = stage.schedulers[0].step();
}

#[test]
fn what_is_left_of_a_large_process_is_freed_by_a_dirty_scheduler() {
    let mut stage = Stage::new(1, 1);
    let vm = stage.vm;
    let mut dirty = vm.scheduler_local(1, true).unwrap();
    dirty.slot.park();
    // The end of the first process would be that of the VM.
    let [_, small, large, holder] = [(); 4].map(|()| stage.runner());
    let binary = SharedBinary::from_bytes(&[7; 100]);
    for process in [small, large] {
        // SAFETY: it is in no queue, so no other thread touches it.
        let state = unsafe { process.owner_state() };
        state.heap.shared_binary(binary.clone());
        if std::ptr::eq(process, large) {
            // SAFETY: it holds no terms but those that `collect` finds, and that binary, which may go.
            assert!(unsafe { state.collect(LONG_COLLECTION, &mut []) }.is_ok());
            state.heap.shared_binary(binary.clone());
        }
    }
    // SAFETY: as above.
    unsafe { holder.owner_state() }.heap.shared_binary(SharedBinary::from_bytes(&vec![7; 8 * LONG_COLLECTION]));

    let waiting = || vm.schedulers.dirty.waiting(DirtyKind::Cpu);
    ends(&mut stage, small);
    assert_eq!((binary.references(), waiting()), (2, 0), "a small one is freed at once");
    ends(&mut stage, large);
    assert_eq!((binary.references(), waiting()), (2, 1));
    ends(&mut stage, holder);
    assert_eq!(waiting(), 2, "one with a small heap may hold a large binary");
    while vm.run_dirty_job(DirtyKind::Cpu, &mut dirty) {}
    assert_eq!((binary.references(), waiting()), (1, 0));
}
