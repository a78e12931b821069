//! A VM whose only scheduler is the calling thread: its process does what the target tells it, and in between operations that were left, timers and
//! events of descriptors have their turn.

use super::process::built_in;
use myriad_code::{Entry, Executor};
use myriad_term::{Atom, Export, Mfa, Pid, Term, am};
use myriad_testing::NoEngine;
use myriad_vm::code::Function;
use myriad_vm::engine::{Engine, SliceEnd};
use myriad_vm::scheduler::{Scheduler, Step};
use myriad_vm::spawn::{SpawnOptions, spawn_orphan};
use myriad_vm::{BifResult, Ctx, Escape, OwnerState, Signal, TraceFrame, Vm};
use std::cell::RefCell;
use std::ops::Range;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

type Work = Box<dyn FnOnce(&mut Ctx<'_>)>;

thread_local! {
    /// What the process does in its next slice.
    static WORK: RefCell<Option<Work>> = const { RefCell::new(None) };
    static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
}

/// An engine whose process does [`WORK`] instead of running code, and takes all messages.
struct Worker;

impl Executor<Vm> for Worker {
    fn undecoded(&self) -> Entry {
        NoEngine.undecoded()
    }

    fn undefined(&self) -> Entry {
        NoEngine.undefined()
    }

    fn breakpoint(&self) -> Entry {
        NoEngine.breakpoint()
    }

    fn entry_behind(&self, function: &Function) -> Entry {
        NoEngine.entry_behind(function)
    }

    fn code_ranges(&self, _: &Function, _: &mut Vec<Range<usize>>) {}

    fn release(&self, _: &Function) {}
}

impl Engine for Worker {
    fn run(&self, ctx: &mut Ctx<'_>) -> SliceEnd {
        ctx.state.flags.trap_exit = true;
        while let Some((message, _)) = ctx.state.messages.take() {
            drop(myriad_term::print::text(message.term(), 1000));
        }
        if let Some(work) = WORK.take() {
            work(ctx);
        }
        ctx.state.resumption = None;
        ctx.state.error_cause = am::none.term();
        ctx.state.trap_args.clear();
        // SAFETY: the work is over, and what it gives holds no terms of this heap.
        let within_its_limit = unsafe { ctx.collect(0, &mut []) };
        assert!(within_its_limit, "no limit is set");
        SliceEnd::Waiting
    }

    fn run_dirty(&self, _: &mut Ctx<'_>) -> BifResult {
        Err(Escape::Dead)
    }

    fn backtrace(&self, _: &OwnerState, _: usize) -> Vec<TraceFrame> {
        Vec::new()
    }
}

/// The VM, its process, and this thread as its scheduler.
pub(super) struct World {
    vm: &'static Vm,
    pid: Pid,
    scheduler: Scheduler,
    /// What open descriptors led to when it began, and inputs since they were last counted.
    descriptors: Vec<PathBuf>,
    inputs: usize,
}

impl World {
    fn new() -> World {
        super::isolation::leave_the_network();
        // SAFETY: no handler. What the runtime of a Rust program does before `main`, which libFuzzer's has not: who writes to a closed socket is told.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
        let vm = myriad_testing::vm(Worker, vec![Box::<myriad_io::Io>::default()]);
        vm.start_subsystems().expect("poll descriptors");
        let first = Export::intern(Mfa { module: am::erts_internal, function: am::start, arity: 0 });
        let pid = spawn_orphan(vm, first, &[], &SpawnOptions::new(vm)).expect("the table is empty");
        let scheduler = Scheduler::new(vm, 0).expect("the first thread");
        let mut world = World { vm, pid, scheduler, descriptors: Vec::new(), inputs: 0 };
        world.settle();
        world.descriptors = open_descriptors();
        world
    }

    /// Has the process do this.
    pub(super) fn run<R: 'static>(&mut self, work: impl FnOnce(&mut Ctx<'_>) -> R + 'static) -> R {
        let place = Rc::new(RefCell::new(None));
        let result = place.clone();
        WORK.set(Some(Box::new(move |ctx| *result.borrow_mut() = Some(work(ctx)))));
        self.vm.signal_pid(self.pid, Signal::Call(Box::new(|_| {})));
        for _ in 0..1000 {
            self.step_until_idle();
            if let Some(result) = place.take() {
                return result;
            }
        }
        let status = self.vm.processes.get(self.pid).map(|process| process.status());
        panic!("the process does not run: {status:?}")
    }

    /// Lets happen what is to happen by now.
    pub(super) fn settle(&mut self) {
        for _ in 0..100 {
            self.step_until_idle();
            if !meet_events(self.vm) {
                return;
            }
        }
    }

    /// Runs what there is to run, and is as if it parked.
    fn step_until_idle(&mut self) {
        while let Step::Ran(_) = self.scheduler.step() {}
        let parks = self.scheduler.before_park();
        self.scheduler.after_park(parks);
    }

    /// Nothing of the input is left: looked at now and then.
    fn check(&mut self) {
        self.inputs += 1;
        if self.inputs.is_multiple_of(64) {
            self.settle();
            let now = open_descriptors();
            assert!(now.len() <= self.descriptors.len(), "open: {now:?}, and at first: {:?}", self.descriptors);
        }
    }
}

/// Serves the events that are there: `true` if there were some.
pub(super) fn meet_events(vm: &Vm) -> bool {
    vm.platform.park(0, Some(Duration::ZERO));
    vm.platform.serve()
}

/// What the descriptors that are open lead to.
fn open_descriptors() -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    entries.filter_map(|entry| std::fs::read_link(entry.path()).ok()).collect()
}

/// Does `work` in the thread's world.
pub(super) fn in_world(work: impl FnOnce(&mut World)) {
    WORLD.with_borrow_mut(|world| {
        let world = world.get_or_insert_with(World::new);
        work(world);
        world.check();
    });
}

/// Calls a built-in by its name, here too if it wants a dirty scheduler.
pub(super) fn call(ctx: &mut Ctx<'_>, module: &str, function: &str, args: &[Term]) -> BifResult {
    let atom = |text| Atom::new(text).expect("a short name");
    let Some(def) = built_in(ctx, atom(module), atom(function), args.len()) else { return Err(Escape::Dead) };
    ctx.state.reductions.begin_slice(4000);
    let result = (def.function_ptr)(ctx, args);
    if !matches!(result, Err(Escape::Dirty(_))) {
        return result;
    }
    ctx.sched.dirty = true;
    let result = (def.function_ptr)(ctx, args);
    ctx.sched.dirty = false;
    result
}
