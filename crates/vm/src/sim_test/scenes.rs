//! Scenes: a few steps of some schedulers, in which something happens at one certain place.

use super::world::{World, runner};
use super::{Virtual, config, parts, release};
use crate::process::Process;
use crate::scheduler::{Scheduler, Step};
use crate::vm::Vm;
use myriad_sync::Arc;
use myriad_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::cell::RefCell;

type Hook = Box<dyn FnMut()>;

thread_local! {
    static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
}

/// What a scene lets happen, happens here.
pub(super) fn point() {
    // Out of the cell first: what happens may pass points itself.
    let hook = HOOK.take();
    if let Some(mut hook) = hook {
        hook();
        HOOK.set(Some(hook));
    }
}

/// Lets `hook` happen at every point of `scene`.
fn while_at_points<T>(hook: impl FnMut() + 'static, scene: impl FnOnce() -> T) -> T {
    HOOK.set(Some(Box::new(hook)));
    let result = scene();
    HOOK.set(None);
    result
}

struct Stage {
    vm: &'static Vm,
    machine: Arc<Virtual>,
    schedulers: Vec<Scheduler>,
}

impl Stage {
    fn new(schedulers: usize, online: usize) -> Stage {
        let world = World::new(1);
        let woken = (0..schedulers).map(|_| AtomicBool::new(false)).collect();
        let machine = Arc::new(Virtual { now: AtomicU64::new(1), woken, seed: 1 });
        let vm = Vm::on_machine(config(schedulers, 0), release(), parts(&world), Box::new(machine.clone()));
        world.prepare(vm);
        assert!(vm.set_schedulers_online(online).is_some());
        let schedulers = (0..schedulers).map(|id| Scheduler::new(vm, id).unwrap()).collect();
        Stage { vm, machine, schedulers }
    }

    /// A process that runs and runs, in no queue yet.
    fn runner(&self) -> &'static Process {
        let pid = runner(self.vm);
        let process = self.vm.processes.get(pid).unwrap();
        let taken: Vec<_> = self.vm.schedulers.iter().filter_map(|s| s.pop()).collect();
        assert!(taken.len() == 1 && std::ptr::eq(taken[0], process));
        process
    }

    /// Has this scheduler find nothing to do, and park.
    fn park(&mut self, id: usize) {
        assert!(matches!(self.schedulers[id].step(), Step::Idle(_)));
        assert!(self.schedulers[id].before_park());
        self.take_wakeup(id);
    }

    /// Was it woken since it was last asked?
    fn take_wakeup(&self, id: usize) -> bool {
        self.machine.woken[id].swap(false, Ordering::Relaxed)
    }

    fn queued(&self) -> Vec<usize> {
        self.vm.schedulers.iter().map(|s| s.len()).collect()
    }
}

#[test]
fn one_that_passes_on_what_it_has_keeps_none_when_it_becomes_active() {
    let mut stage = Stage::new(2, 1);
    let vm = stage.vm;
    for process in [stage.runner(), stage.runner(), stage.runner()] {
        vm.schedulers[1].push(process);
    }
    let mut points = 0;
    let comes_online = move || {
        points += 1;
        assert!(points < 1000, "it passes on to itself without end");
        assert!(vm.set_schedulers_online(2).is_some());
    };
    let step = while_at_points(comes_online, || stage.schedulers[1].step());
    assert!(matches!(step, Step::Idle(_)));
    assert_eq!(stage.queued(), [3, 0]);
}

#[test]
fn who_may_not_work_is_not_idle() {
    let mut stage = Stage::new(3, 1);
    let vm = stage.vm;
    stage.park(2);
    stage.park(1);
    assert!(!vm.has_idle_scheduler(), "only the first may work, and it is awake");
    stage.park(0);
    assert!(vm.has_idle_scheduler());
    stage.schedulers[0].after_park(true);
    assert!(!vm.has_idle_scheduler());
    // A change wakes all; from then on the second counts.
    assert!(vm.set_schedulers_online(2).is_some());
    assert!(stage.take_wakeup(1) && stage.take_wakeup(2));
    for id in [1, 2] {
        stage.schedulers[id].after_park(true);
        stage.park(id);
    }
    assert!(vm.has_idle_scheduler());
    assert!(vm.set_schedulers_online(1).is_some());
    for id in [1, 2] {
        stage.schedulers[id].after_park(true);
        stage.park(id);
    }
    assert!(!vm.has_idle_scheduler());
}

#[test]
fn a_wake_up_withheld_for_one_that_looks_is_made_up() {
    let mut stage = Stage::new(4, 4);
    let (vm, machine) = (stage.vm, stage.machine.clone());
    let mut more: Vec<_> = (0..4).map(|_| stage.runner()).collect();
    stage.park(2);
    assert!(matches!(stage.schedulers[1].step(), Step::Idle(_)));
    // While the second looks for work, two others get more than they can run; nobody else is woken for that.
    let work_comes = move || {
        machine.now.fetch_add(1, Ordering::Relaxed);
        for id in [3, 0] {
            if let (Some(one), Some(other)) = (more.pop(), more.pop()) {
                vm.enqueue_at(id, one);
                vm.enqueue_at(id, other);
            }
        }
    };
    assert!(while_at_points(work_comes, || stage.schedulers[1].spin(None)));
    assert!(!stage.take_wakeup(2), "one that looks for work is enough");
    // It takes what is nearest: of what the other has, it has told nobody.
    let Step::Ran(_) = stage.schedulers[1].step() else { panic!("there is work") };
    assert_eq!(stage.queued(), [2, 1, 0, 1]);
    assert!(stage.take_wakeup(2), "the first has more than it can run, and the third sleeps");
}
