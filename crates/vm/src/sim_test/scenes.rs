//! Scenes: a few steps of some schedulers, in which something happens at one certain place.

use super::world::{World, caller, runner};
use super::{Virtual, config, parts, release};
use crate::bif::{DirtyKind, Escape};
use crate::ctx::Ctx;
use crate::scheduler::{BUSY_NS, OWN_LOOKS, Scheduler, Step};
use crate::shared_heap::has_signals;
use crate::timer::Action;
use crate::vm::Vm;
use crate::{Process, Signal};
use myriad_process::{Message, Payload, Priority, Status, Wake};
use myriad_sched::{Destination, SLICE_REDUCTIONS};
use myriad_sync::Arc;
use myriad_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use myriad_sync::thread::CAN_SPAWN;
use myriad_term::{Build, Pid, RefNumbers, SharedBinary, Term, am};
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
    myriad_sync::drive_by(super::point);
    let result = scene();
    HOOK.set(None);
    result
}

/// A VM whose schedulers are stepped by hand.
pub(super) struct Stage {
    pub(super) vm: &'static Vm,
    pub(super) platform: Arc<Virtual>,
    pub(super) schedulers: Vec<Scheduler>,
}

impl Stage {
    pub(super) fn new(schedulers: usize, online: usize) -> Stage {
        let world = World::new(1);
        let platform = Arc::new(Virtual::new(schedulers, None, 1));
        let vm = Vm::on_platform(config(schedulers, 1), release(), parts(&world), platform.clone());
        world.prepare(vm);
        assert!(vm.schedulers.set_online(online).is_some());
        let schedulers = (0..schedulers).map(|id| Scheduler::new(vm, id).unwrap()).collect();
        Stage { vm, platform, schedulers }
    }

    /// A process that runs and runs, in no queue yet.
    pub(super) fn runner(&self) -> &'static Process {
        self.taken(runner(self.vm))
    }

    /// A new process, taken out of its queue.
    fn taken(&self, pid: Pid) -> &'static Process {
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
        self.platform.woken[id].swap(false, Ordering::Relaxed)
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
        assert!(vm.schedulers.set_online(2).is_some());
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
    assert!(!vm.schedulers.has_idle(), "only the first may work, and it is awake");
    stage.park(0);
    assert!(vm.schedulers.has_idle());
    stage.schedulers[0].after_park(true);
    assert!(!vm.schedulers.has_idle());
    // A change wakes all; from then on the second counts.
    assert!(vm.schedulers.set_online(2).is_some());
    assert!(stage.take_wakeup(1) && stage.take_wakeup(2));
    for id in [1, 2] {
        stage.schedulers[id].after_park(true);
        stage.park(id);
    }
    assert!(vm.schedulers.has_idle());
    assert!(vm.schedulers.set_online(1).is_some());
    for id in [1, 2] {
        stage.schedulers[id].after_park(true);
        stage.park(id);
    }
    assert!(!vm.schedulers.has_idle());
}

/// One scheduler stands still; the other has nothing to do and looks each 2 ms.
fn stand_still(stage: &mut Stage, for_ms: u64) -> Vec<Step> {
    let mut steps = Vec::new();
    for _ in 0..for_ms / 2 {
        let step = stage.schedulers[1].step();
        let is_idle = matches!(step, Step::Idle(_));
        steps.push(step);
        if !is_idle {
            break;
        }
        stage.platform.now.fetch_add(2_000_000, Ordering::Relaxed);
    }
    steps
}

#[test]
fn what_waits_for_a_scheduler_that_stands_still_runs_elsewhere() {
    let mut stage = Stage::new(2, 2);
    let vm = stage.vm;
    let (waiting, woken) = (stage.runner(), stage.runner());
    // One process is what that scheduler runs next: nothing to steal.
    vm.schedulers.enqueue_at(0, waiting);
    let steps = stand_still(&mut stage, 2);
    assert!(matches!(steps[..], [Step::Idle(Some(2_000_000))]), "it looks again");
    let steps = stand_still(&mut stage, 4);
    assert!(matches!(steps.last(), Some(Step::Ran(_))));
    assert_eq!(stage.queued(), [0, 1]);
    // As long as that is so nothing goes there.
    woken.home.store(0, Ordering::Relaxed);
    vm.schedulers.enqueue_woken(woken);
    assert_eq!(stage.queued(), [0, 2]);
    // It gets on.
    assert!(matches!(stage.schedulers[0].step(), Step::Ran(_)));
    assert!(!vm.schedulers[0].is_away());
}

#[test]
fn timers_of_a_scheduler_that_stands_still_fire_elsewhere() {
    let mut stage = Stage::new(2, 2);
    let vm = stage.vm;
    let fired = Arc::new(AtomicBool::new(false));
    let theirs = fired.clone();
    let call = Action::Call(Box::new(move |_| theirs.store(true, Ordering::Relaxed)));
    let _ = vm.timers.set(vm.timers.reserve(0), 1_000_000, call);
    stand_still(&mut stage, 4);
    assert!(!fired.load(Ordering::Relaxed), "nobody can tell yet that it does not get on");
    stand_still(&mut stage, 4);
    assert!(fired.load(Ordering::Relaxed));
}

#[test]
fn who_looks_after_others_sleeps_on_when_all_sleep() {
    let mut stage = Stage::new(2, 2);
    stage.park(0);
    assert!(matches!(stage.schedulers[1].step(), Step::Idle(None)));
}

/// With the time of one processor, what the others have in their queues comes to the first at once; more time makes nobody active that has no work.
#[test]
fn less_capacity_leaves_fewer_active_at_once() {
    let mut stage = Stage::new(3, 3);
    let vm = stage.vm;
    for process in [stage.runner(), stage.runner()] {
        vm.schedulers[2].push(process);
    }
    (0..3).for_each(|id| {
        stage.take_wakeup(id);
    });
    vm.schedulers.set_capacity(1);
    assert_eq!(vm.schedulers.active(), 1);
    assert!(stage.take_wakeup(1) && stage.take_wakeup(2) && !stage.take_wakeup(0));
    assert!(matches!(stage.schedulers[2].step(), Step::Idle(_)));
    assert_eq!(stage.queued(), [2, 0, 0]);
    vm.schedulers.set_capacity(3);
    assert_eq!(vm.schedulers.active(), 1);
    // A look that finds the same changes nothing: some may be active beyond it, for processes that are bound to them.
    vm.schedulers.set_capacity(1);
    assert!(vm.schedulers.set_online(3).is_some());
    vm.schedulers.set_capacity(1);
    assert_eq!(vm.schedulers.active(), 3);
}

/// Two schedulers, of which the first alone is active because no more is done than that.
fn one_of_two() -> Stage {
    let stage = Stage::new(2, 2);
    stage.vm.schedulers.set_capacity(1);
    stage.vm.schedulers.set_capacity(2);
    assert!(stage.vm.schedulers.active() == 1 && stage.take_wakeup(1));
    stage
}

#[test]
fn one_that_rests_is_woken_for_what_takes_long() {
    let stage = one_of_two();
    let vm = stage.vm;
    let (all, mut wakes) = ([(); 40].map(|()| stage.runner()), false);
    let many = all.iter().position(|process| {
        vm.schedulers.enqueue_at(0, process);
        wakes = stage.take_wakeup(1);
        vm.schedulers.active() == 2
    });
    // As long as nothing is known, each of them may take a whole slice.
    assert_eq!((many, wakes), (Some(31), true));
}

#[test]
fn one_that_rests_is_woken_when_another_works_on_and_on() {
    let mut stage = one_of_two();
    let vm = stage.vm;
    for process in [stage.runner(), stage.runner()] {
        vm.schedulers.enqueue_at(0, process);
    }
    let slices = (1..2000).find(|_| {
        assert!(matches!(stage.schedulers[0].step(), Step::Ran(_)));
        vm.schedulers.active() == 2
    });
    // A slice costs 101 reductions here, with what it costs apart from its own.
    assert!(matches!(slices, Some(1200..1400)), "{slices:?}");
    assert!(stage.take_wakeup(1));
    assert!(matches!(stage.schedulers[1].step(), Step::Ran(_)), "one of two is for it");
}

#[test]
fn one_that_rests_looks_after_one_that_stands_still() {
    let mut stage = one_of_two();
    let vm = stage.vm;
    vm.schedulers.enqueue_at(0, stage.runner());
    let steps = stand_still(&mut stage, 2);
    assert!(matches!(steps[..], [Step::Idle(Some(2_000_000))]), "it looks again");
    let steps = stand_still(&mut stage, 6);
    assert!(matches!(steps.last(), Some(Step::Ran(_))));
    assert_eq!((vm.schedulers.active(), stage.queued()), (2, vec![0, 1]));
}

#[test]
fn a_wake_up_withheld_for_one_that_looks_is_made_up() {
    let mut stage = Stage::new(4, 4);
    let (vm, platform) = (stage.vm, stage.platform.clone());
    let mut more: Vec<_> = (0..4).map(|_| stage.runner()).collect();
    stage.park(2);
    assert!(matches!(stage.schedulers[1].step(), Step::Idle(_)));
    // While the second looks for work, two others get more than they can run; nobody else is woken for that.
    let work_comes = move || {
        platform.now.fetch_add(1, Ordering::Relaxed);
        for id in [3, 0] {
            if let (Some(one), Some(other)) = (more.pop(), more.pop()) {
                vm.schedulers.enqueue_at(id, one);
                vm.schedulers.enqueue_at(id, other);
            }
        }
    };
    assert!(while_at_points(work_comes, || stage.schedulers[1].search(None)));
    assert!(!stage.take_wakeup(2), "one that looks for work is enough");
    // It takes what is nearest: of what the other has, it has told nobody.
    let Step::Ran(_) = stage.schedulers[1].step() else { panic!("there is work") };
    assert_eq!(stage.queued(), [2, 1, 0, 1]);
    assert!(stage.take_wakeup(2), "the first has more than it can run, and the third sleeps");
}

#[test]
fn a_wake_up_withheld_for_one_that_finds_nothing_is_made_up() {
    let mut stage = Stage::new(4, 4);
    let (vm, platform) = (stage.vm, stage.platform.clone());
    let mut more: Vec<_> = (0..4).map(|_| stage.runner()).collect();
    stage.park(2);
    assert!(matches!(stage.schedulers[1].step(), Step::Idle(_)));
    // Two others get more than they can run when the second has looked for the last time, and still counts as one that searches.
    let mut looks = 0;
    let work_comes = move || {
        platform.now.fetch_add(1_000_000, Ordering::Relaxed);
        looks += 1;
        if looks == 2 {
            for id in [3, 3, 0, 0] {
                vm.schedulers.enqueue_at(id, more.pop().unwrap());
            }
        }
    };
    assert!(!while_at_points(work_comes, || stage.schedulers[1].search(None)));
    assert!(!stage.take_wakeup(2), "one that looks for work is enough");
    assert!(!stage.schedulers[1].before_park(), "there is work after all");
    stage.schedulers[1].after_park(false);
    let Step::Ran(_) = stage.schedulers[1].step() else { panic!("there is work") };
    assert!(stage.take_wakeup(2), "the first has more than it can run, and the third sleeps");
}

/// Signals that nobody answers.
fn flood(process: &Process, vm: &'static Vm, many: usize) {
    for n in 0..many as u32 {
        assert!(vm.send(process, Signal::Demonitor(RefNumbers([n, 0, u32::MAX]))));
    }
}

/// Those that a process which does not run has before it.
fn signals_of(process: &Process) -> usize {
    // SAFETY: no scheduler steps, so nobody else touches it or takes its signals.
    unsafe {
        let mut many = process.waiting_signals().count();
        process.owner_state().unhandled.iter().for_each(|signals| many += signals.nodes().count());
        many
    }
}

const MANY: usize = 20 * SLICE_REDUCTIONS as usize;

#[test]
fn a_slice_handles_so_many_signals() {
    let mut stage = Stage::new(1, 1);
    let vm = stage.vm;
    let process = stage.runner();
    vm.schedulers[0].push(process);
    flood(process, vm, MANY);
    let mut left = MANY;
    let mut slices = 0;
    while left > 0 {
        // One that only runs handles them between its own slices; more come, and wait behind.
        if slices == 3 {
            flood(process, vm, MANY);
            left += MANY;
        }
        assert!(matches!(stage.schedulers[0].step(), Step::Ran(used) if used <= SLICE_REDUCTIONS as u32));
        assert_eq!(process.status(), Status::Runnable);
        let before = std::mem::replace(&mut left, signals_of(process));
        assert!(before - left <= SLICE_REDUCTIONS as usize, "{} in one slice", before - left);
        slices += 1;
        assert!(slices < 200, "{left} of them are never handled");
    }
}

#[test]
fn an_end_answers_so_many_signals_in_a_slice() {
    let mut stage = Stage::new(1, 1);
    let vm = stage.vm;
    // The end of the first process would be that of the VM.
    let (_, process) = (stage.runner(), stage.runner());
    vm.schedulers[0].push(process);
    // Some that it takes before it learns of its end, some behind, and some that come while it ends.
    flood(process, vm, MANY);
    let kill = || Payload::immediate(am::kill.term());
    assert!(vm.send(process, Signal::Exit { from: process.pid.term(), reason: kill(), linked: false }));
    flood(process, vm, MANY);
    let mut slices = 0;
    while vm.processes.get(process.pid).is_some() {
        if process.is_exiting() && slices % 2 == 0 {
            let _ = vm.send(process, Signal::Demonitor(RefNumbers([0, 0, u32::MAX])));
        }
        let Step::Ran(used) = stage.schedulers[0].step() else { panic!("it ends") };
        // A slice of the hook that this world has costs more.
        assert!(used <= SLICE_REDUCTIONS as u32 || used >= 100_000, "{used} reductions");
        slices += 1;
        assert!(slices < 400, "it never ends");
    }
    assert!(slices >= 2 * MANY / SLICE_REDUCTIONS as usize, "{slices} slices only");
}

#[test]
fn signals_that_were_taken_and_not_handled_count() {
    let mut stage = Stage::new(1, 1);
    let (vm, process) = (stage.vm, stage.runner());
    vm.schedulers[0].push(process);
    // SAFETY: no scheduler steps.
    let has_signals = || unsafe { has_signals(process) };
    assert!(!has_signals());
    flood(process, vm, MANY);
    let mut taken = 0;
    while signals_of(process) > 0 {
        assert!(has_signals(), "{} signals are not handled", signals_of(process));
        assert!(matches!(stage.schedulers[0].step(), Step::Ran(_)));
        taken += usize::from(process.has_no_signals());
    }
    assert!(taken > 1 && !has_signals(), "{taken} slices end with signals that were taken");
}

/// It goes on with its signals, of which there are many, without being woken for them; then it waits.
fn handles_all(stage: &mut Stage, process: &Process) {
    let mut slices = 0;
    while signals_of(process) > 0 {
        assert_eq!(process.status(), Status::Runnable);
        assert!(matches!(stage.schedulers[0].step(), Step::Ran(_)));
        slices += 1;
    }
    assert!(slices >= MANY / SLICE_REDUCTIONS as usize, "{slices} slices only");
    assert_eq!(process.status(), Status::Waiting);
}

#[test]
fn one_that_is_suspended_handles_all_signals() {
    let mut stage = Stage::new(1, 1);
    let vm = stage.vm;
    let process = stage.runner();
    vm.schedulers[0].push(process);
    let active = Arc::new(AtomicBool::new(false));
    assert!(vm.send(process, Signal::Suspend { active: active.clone(), reply: None }));
    flood(process, vm, MANY);
    handles_all(&mut stage, process);
    assert!(active.load(Ordering::Relaxed));
}

#[test]
fn one_whose_call_is_on_a_dirty_scheduler_handles_all_signals() {
    let mut stage = Stage::new(1, 1);
    let vm = stage.vm;
    let process = stage.taken(caller(vm));
    vm.schedulers[0].push(process);
    flood(process, vm, MANY);
    handles_all(&mut stage, process);
    assert!(process.is_dirty(), "nobody has run its call");
}

#[test]
fn who_waits_for_the_last_of_many_signals_waits_behind_nobody_less_urgent() {
    let mut stage = Stage::new(1, 1);
    let vm = stage.vm;
    let (low, other) = (stage.runner(), stage.runner());
    low.set_priority(Priority::LOW);
    for process in [other, low] {
        vm.schedulers[0].push(process);
    }
    flood(low, vm, MANY);
    let answered = Arc::new(AtomicBool::new(false));
    let answer = answered.clone();
    let asks = Signal::Call(Box::new(move |_| answer.store(true, Ordering::Relaxed)));
    assert!(vm.signal_urgently(low.pid, asks, Priority::HIGH));
    while !answered.load(Ordering::Relaxed) {
        assert!(matches!(stage.schedulers[0].step(), Step::Ran(_)));
        assert!(
            answered.load(Ordering::Relaxed) || low.queue_priority() == Priority::HIGH,
            "it waits behind normal ones"
        );
    }
    assert_eq!(low.queue_priority(), Priority::LOW);
}

/// Takes what waits in a queue, one by one: on another thread, and so only what is shared.
fn taken_by_others(vm: &'static Vm, id: usize) -> Vec<&'static Process> {
    std::thread::scope(|scope| scope.spawn(|| std::iter::from_fn(|| vm.schedulers[id].pop()).collect()).join().unwrap())
}

#[test]
fn others_reach_the_later_half_of_a_queue() {
    let mut stage = Stage::new(2, 2);
    let vm = stage.vm;
    let processes: Vec<_> = (0..6).map(|_| stage.runner()).collect();
    let same = |some: &[&Process], from: usize| some.iter().zip(&processes[from..]).all(|(a, b)| std::ptr::eq(*a, *b));
    // From here on this thread is the second scheduler's.
    assert!(matches!(stage.schedulers[1].step(), Step::Idle(_)));
    vm.schedulers.enqueue(processes[0]);
    assert!(!vm.schedulers[1].offers(), "it runs that next itself");
    assert!(taken_by_others(vm, 1).is_empty());
    processes[1..4].iter().for_each(|process| vm.schedulers.enqueue(process));
    assert_eq!((vm.schedulers[1].lengths(), vm.schedulers[1].offers()), ([0, 0, 4, 0], true));
    // The second was shared when there were two, so the others wait behind it.
    let taken = taken_by_others(vm, 1);
    assert!(same(&taken, 1) && taken.len() == 1);
    processes[4..].iter().for_each(|process| vm.schedulers.enqueue(process));
    assert_eq!(vm.schedulers[1].lengths(), [0, 0, 5, 0]);
    let own: Vec<_> = std::iter::from_fn(|| vm.schedulers[1].pop()).collect();
    assert!(
        own.len() == 5 && std::ptr::eq(own[0], processes[0]) && same(&own[1..], 2),
        "in the order in which they came"
    );
    assert_eq!(stage.queued(), [0, 0]);
}

#[test]
fn what_becomes_urgent_is_found_where_nobody_else_reaches_it() {
    let mut stage = Stage::new(1, 1);
    let vm = stage.vm;
    let (low, other) = (stage.runner(), stage.runner());
    low.set_priority(Priority::LOW);
    assert!(matches!(stage.schedulers[0].step(), Step::Idle(_)));
    [other, low].into_iter().for_each(|process| vm.schedulers.enqueue(process));
    let asks = Signal::Call(Box::new(|_| ()));
    std::thread::scope(|scope| {
        assert!(scope.spawn(|| vm.signal_urgently(low.pid, asks, Priority::HIGH)).join().unwrap());
    });
    assert_eq!(vm.schedulers[0].lengths(), [0, 0, 1, 1]);
    let next = vm.schedulers[0].pop().unwrap();
    assert!(std::ptr::eq(next, low));
    assert_eq!(vm.schedulers[0].lengths(), [0, 0, 1, 0]);
}

#[test]
fn a_scheduler_is_there_once() {
    let mut stage = Stage::new(1, 1);
    assert!(Scheduler::new(stage.vm, 0).is_none());
    stage.schedulers.clear();
    assert!(Scheduler::new(stage.vm, 0).is_some());
}

#[test]
fn references_that_a_scheduler_keeps_go_back() {
    let mut stage = Stage::new(1, 1);
    let vm = stage.vm;
    let binary = SharedBinary::from_bytes(&[7; 100]);
    let held: Vec<_> = (0..100).map(|_| binary.clone()).collect();
    let there_are = held.len() + 1;
    let seen_by_others = || std::thread::scope(|scope| scope.spawn(|| binary.references()).join().unwrap());
    let makes_some = || drop([binary.clone(), binary.clone(), binary.clone()]);

    assert!(matches!(stage.schedulers[0].step(), Step::Idle(_)));
    makes_some();
    assert!(seen_by_others() > there_are, "it keeps them");
    assert!(matches!(stage.schedulers[0].step(), Step::Idle(_)));
    assert_eq!(seen_by_others(), there_are, "it has nothing to run");

    makes_some();
    vm.schedulers.enqueue(stage.runner());
    // It looks at the time in some of these steps.
    let works = |stage: &mut Stage| (0..60).for_each(|_| assert!(matches!(stage.schedulers[0].step(), Step::Ran(_))));
    works(&mut stage);
    assert!(seen_by_others() > there_are, "it is busy");
    stage.platform.now.fetch_add(1_000_000, Ordering::Relaxed);
    works(&mut stage);
    assert_eq!(seen_by_others(), there_are, "it has been busy for long");

    makes_some();
    assert!(seen_by_others() > there_are);
    vm.schedulers.stop();
    assert_eq!(stage.schedulers[0].step(), Step::Stop);
    assert_eq!(seen_by_others(), there_are, "it ends");
    makes_some();
    assert_eq!(seen_by_others(), there_are);
}

/// A busy scheduler looks at its events itself for a while, then others are to meet them; once it has waited it looks itself again.
#[test]
fn events_of_a_busy_scheduler_are_met_by_itself_first() {
    let mut stage = Stage::new(1, 1);
    let seen = |stage: &Stage| {
        let Virtual { own_looks, handed_over, .. } = &*stage.platform;
        [own_looks, handed_over].map(|count| count.load(Ordering::Relaxed))
    };
    for round in 1..3 {
        stage.park(0);
        stage.schedulers[0].after_park(true);
        stage.schedulers[0].serve();
        stage.vm.schedulers.enqueue(stage.runner());
        let busy = |stage: &mut Stage, looks: u64| {
            for _ in 0..60 * looks {
                // So many steps have some slices' time among them.
                stage.platform.now.fetch_add(BUSY_NS / 60, Ordering::Relaxed);
                assert!(matches!(stage.schedulers[0].step(), Step::Ran(_)));
            }
        };
        let before = seen(&stage);
        busy(&mut stage, 5);
        let [own, handed] = seen(&stage);
        assert!(own > before[0] && handed == before[1], "round {round}: {own}, {handed}");
        busy(&mut stage, 60);
        let [own, handed] = seen(&stage);
        if CAN_SPAWN {
            assert!(own == before[0] + u64::from(OWN_LOOKS) && handed > before[1], "round {round}: {own}, {handed}");
        } else {
            assert_eq!(handed, 0);
        }
        while stage.vm.schedulers[0].pop().is_some() {}
    }
}

const TIMERS: usize = 20_000;

/// Many timers of this scheduler are due at once: it fires them a few at a time, and has `slices` slices in each step.
fn fires_a_few_at_a_time(stage: &mut Stage, id: usize, slices: u64) {
    let (vm, timers) = (stage.vm, &stage.vm.timers);
    let now = stage.platform.now.load(Ordering::Relaxed);
    for _ in 0..TIMERS {
        vm.set_timer(timers.reserve(id), now + 5_000_000, Action::Call(Box::new(|_| {})));
    }
    stage.platform.now.store(now + 10_000_000, Ordering::Relaxed);
    let switches = || vm.schedulers[id].load.switches();
    let mut left = TIMERS;
    let mut steps = 0;
    while left > 0 {
        let (before, ran) = (left, switches());
        let step = stage.schedulers[id].step();
        left = timers.count();
        assert!(left == 0 || matches!(step, Step::Ran(_)), "it sleeps while timers are due");
        assert!(before - left <= SLICE_REDUCTIONS as usize / 4, "{} at once", before - left);
        assert_eq!(switches() - ran, slices);
        steps += 1;
        assert!(steps < 100, "they do not fire");
    }
}

#[test]
fn timers_that_are_due_together_fire_a_few_at_a_time() {
    let mut stage = Stage::new(2, 1);
    fires_a_few_at_a_time(&mut stage, 0, 0);
    // One that is not active.
    fires_a_few_at_a_time(&mut stage, 1, 0);
    let process = stage.runner();
    stage.vm.schedulers[0].push(process);
    fires_a_few_at_a_time(&mut stage, 0, 1);
}

#[test]
fn an_end_takes_so_many_timers_back_in_a_slice() {
    let mut stage = Stage::new(2, 2);
    let (vm, timers) = (stage.vm, &stage.vm.timers);
    // The end of the first process would be that of the VM.
    let (_, process) = (stage.runner(), stage.runner());
    vm.schedulers[0].push(process);
    for n in 0..TIMERS {
        let message = Payload::immediate(am::ok.term());
        let action = Action::Message(Destination::Process(process.pid), message);
        vm.set_timer(timers.reserve(n % 2), u64::MAX / 2, action);
    }
    let kill = Payload::immediate(am::kill.term());
    assert!(vm.send(process, Signal::Exit { from: process.pid.term(), reason: kill, linked: false }));
    let mut slices = 0;
    while timers.count() > 0 {
        let before = timers.count();
        assert!(matches!(stage.schedulers[0].step(), Step::Ran(_)));
        assert!(before - timers.count() <= SLICE_REDUCTIONS as usize, "{} at once", before - timers.count());
        slices += 1;
        assert!(slices < 100, "they stay");
    }
    assert_eq!(process.status(), Status::Runnable);
}

#[test]
fn a_slice_does_so_many_tasks() {
    let mut stage = Stage::new(1, 1);
    let vm = stage.vm;
    let (asker, process) = (stage.runner(), stage.runner());
    vm.schedulers[0].push(process);
    for n in 0..TIMERS {
        let request = Payload::build(3, |draft| draft.tuple(&[am::system_task_test.term(), Term::small(n as i64)]));
        let priority = [Priority::LOW, Priority::NORMAL, Priority::MAX][n % 3];
        assert!(vm.send(process, Signal::Task { from: asker.pid, request, priority }));
    }
    let mut slices = 0;
    while signals_of(asker) < TIMERS {
        let before = signals_of(asker);
        assert!(matches!(stage.schedulers[0].step(), Step::Ran(_)));
        let done = signals_of(asker) - before;
        assert!(done <= SLICE_REDUCTIONS as usize, "{done} at once");
        slices += 1;
        assert!(slices < 100, "they are not done");
    }
    assert_eq!(process.status(), Status::Runnable);
}

#[test]
fn messages_to_one_that_falls_behind_shorten_the_slice() {
    let mut stage = Stage::new(1, 1);
    let vm = stage.vm;
    let (sender, process) = (stage.runner(), stage.runner());
    vm.schedulers[0].push(process);
    let cost = Arc::new(AtomicU64::new(0));
    let price = cost.clone();
    // What it runs between its slices sends itself a message, as anybody would.
    let sends = move |ctx: &mut Ctx<'_>| {
        let before = ctx.state.reductions.left();
        assert!(ctx.send(ctx.pid().term(), am::ok.term()).is_ok());
        price.store((before - ctx.state.reductions.left()) as u64, Ordering::Relaxed);
    };
    for (messages, is_behind) in [(999, false), (1_000, true), (999, false)] {
        for _ in 0..messages {
            let message = Message::new(Payload::immediate(am::ok.term()), sender.pid.term());
            assert_eq!(process.push_message(message), Wake::AlreadyAwake);
        }
        assert!(matches!(stage.schedulers[0].step(), Step::Ran(_)));
        assert_eq!(process.is_behind(), is_behind);
        assert!(vm.send(process, Signal::Call(Box::new(sends.clone()))));
        assert!(vm.send(process, Signal::Call(Box::new(|ctx| while ctx.state.messages.take().is_some() {}))));
        assert!(matches!(stage.schedulers[0].step(), Step::Ran(_)));
        assert!(!process.is_behind(), "it has taken them all");
        assert_eq!(cost.load(Ordering::Relaxed) >= 64, is_behind);
        // The message that it has sent to itself.
        assert!(vm.send(process, Signal::Call(Box::new(|ctx| drop(ctx.state.messages.take())))));
        assert!(matches!(stage.schedulers[0].step(), Step::Ran(_)));
    }
}

#[test]
fn who_ends_takes_suspensions_back_in_parts() {
    let mut stage = Stage::new(1, 1);
    let vm = stage.vm;
    let (other, process) = (stage.runner(), stage.runner());
    vm.schedulers[0].push(process);
    let times = MANY as u32;
    let suspend = move |ctx: &mut Ctx<'_>| {
        ctx.state.relations.tables().suspending.entry(other.pid).or_default().times = times;
    };
    assert!(vm.send(process, Signal::Call(Box::new(suspend))));
    let kill = Payload::immediate(am::kill.term());
    assert!(vm.send(process, Signal::Exit { from: process.pid.term(), reason: kill, linked: false }));
    while signals_of(other) < MANY {
        let before = signals_of(other);
        assert!(matches!(stage.schedulers[0].step(), Step::Ran(_)));
        let sent = signals_of(other) - before;
        assert!(sent <= SLICE_REDUCTIONS as usize, "{sent} at once");
    }
}

#[test]
fn a_long_message_is_made_on_a_dirty_scheduler_where_the_send_can_be_called_again() {
    let mut stage = Stage::new(1, 1);
    let vm = stage.vm;
    let process = stage.runner();
    vm.schedulers[0].push(process);
    let sent = Arc::new(AtomicU64::new(0));
    let count = sent.clone();
    let sends = move |ctx: &mut Ctx<'_>| {
        let (short, long) = (vec![am::ok.term(); 1_000], vec![am::ok.term(); 200_000]);
        let [short, long] = [short, long].map(|elements| ctx.state.heap.list(&elements));
        ctx.state.flags.off_heap_messages = true;
        let to = ctx.pid().term();
        assert!(ctx.send_or_wait(to, short).is_ok());
        assert!(matches!(ctx.send_or_wait(to, long), Err(Escape::Dirty(DirtyKind::Cpu))));
        assert!(ctx.send(to, long).is_ok(), "one that cannot be called again");
        while ctx.has_signals() {
            let _ = ctx.fetch_signals(1_000);
        }
        while ctx.state.messages.take().is_some() {
            count.fetch_add(1, Ordering::Relaxed);
        }
    };
    assert!(vm.send(process, Signal::Call(Box::new(sends))));
    assert!(matches!(stage.schedulers[0].step(), Step::Ran(_)));
    assert_eq!(sent.load(Ordering::Relaxed), 2);
}
