//! The engine of the test driver: each process is an [`Actor`] that does random things from a generator of its own.

use super::loops::{Loop, Tally};
use crate::bif::{BifResult, DirtyKind, Escape, Resumption};
use crate::code::Function;
use crate::ctx::Ctx;
use crate::deliver::Handled;
use crate::engine::{Engine, SliceEnd};
use crate::spawn::{SpawnOptions, spawn_orphan};
use crate::vm::Vm;
use crate::{OwnerState, Process, Signal, TraceFrame};
use myriad_code::{Entry, Executor, NativePtr};
use myriad_process::links::{AliasMode, Monitor, Target};
use myriad_process::{CodePtr, Message, Named, Payload, Priority};
use myriad_sched::Block;
use myriad_sched::SLICE_REDUCTIONS;
use myriad_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use myriad_sync::{Arc, LockClass, Mutex, Retirer};
use myriad_term::{Atom, Build, Export, Mfa, Pid, RefNumbers, Term, TermRef, am};
use myriad_testing::Random;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

static STUBS: [u32; 3] = [0; 3];
static CLASS: LockClass = LockClass::new("test_world", 990);

/// What one process remembers.
pub struct Actor {
    random: Random,
    /// Things still to do; then it only receives.
    budget: u32,
    peers: Vec<Pid>,
    /// Last number sent to each.
    pub sent: BTreeMap<Pid, u64>,
    /// Last number received from each.
    pub received: BTreeMap<Pid, u64>,
    /// Monitors of which no message has come.
    pub monitors: BTreeMap<[u32; 3], Pid>,
    /// Monitors taken back: one message may have come before.
    demonitored: BTreeSet<[u32; 3]>,
    /// Exit messages over a link, and how often a link was asked for.
    exits: BTreeMap<Pid, u32>,
    linked: BTreeMap<Pid, u32>,
    pub suspending: Vec<Pid>,
    /// Questions asked and not answered.
    pub asked: BTreeSet<[u32; 3]>,
    /// It waits for this virtual time.
    until: Option<u64>,
    /// Slices for which it only runs.
    runs: u32,
    /// For how many it runs after each message.
    sprints: u32,
    /// It wakes all sprinters from time to time.
    is_starter: bool,
    /// It calls a built-in on a dirty scheduler first of all.
    calls: bool,
    /// A link that it is about to take back.
    unlinking: Option<Pid>,
    /// The loop, or part of one, that it is at.
    pub doing: Option<Loop>,
    /// It blocks multi-scheduling; `true`: it has seen that this holds.
    block: Option<(Arc<AtomicBool>, bool)>,
}

enum Slot {
    Runs,
    Waits(Box<Actor>),
}

/// All actors of one VM.
pub struct World {
    seed: u64,
    actors: Mutex<BTreeMap<Pid, Slot>>,
    pub runnable_since: Mutex<BTreeMap<Pid, u64>>,
    sprinters: Mutex<Vec<Pid>>,
    /// Processes that are visited.
    visited: Mutex<BTreeSet<Pid>>,
    /// How often one was.
    visits: AtomicU64,
    trace: AtomicU64,
    place: AtomicU64,
    slices: AtomicU64,
    private_slices: AtomicU64,
    spawned: AtomicU64,
    /// Processes that have seen multi-scheduling blocked by themselves.
    blockers: AtomicU64,
    /// Slices on dirty schedulers.
    dirty: AtomicU64,
    /// Do processes begin loops more often than they do other things?
    of_loops: bool,
    pub loops: Tally,
}

/// Worlds by the address of their VM, for the exit hook, which is a plain function.
static WORLDS: Mutex<BTreeMap<usize, Arc<World>>> = Mutex::new(&WORLDS_CLASS, BTreeMap::new());
static WORLDS_CLASS: LockClass = LockClass::new("test_worlds", 985);

fn address(vm: &'static Vm) -> usize {
    std::ptr::from_ref(vm).addr()
}

/// The exit hook: forgets the actor.
pub fn process_exits(ctx: &mut Ctx<'_>) -> Option<Resumption> {
    let world = WORLDS.lock().get(&address(ctx.vm)).cloned().unwrap();
    let gone = world.actors.lock().remove(&ctx.pid());
    // One that never ran has none.
    assert!(!matches!(gone, Some(Slot::Runs)), "{:?} ends while it runs", ctx.pid());
    if let Some(Slot::Waits(actor)) = gone
        && matches!(actor.block, Some((_, true)))
    {
        world.blockers.fetch_sub(1, Ordering::Relaxed);
    }
    assert!(ctx.process.is_exiting());
    // Some own so much that it takes several slices.
    let mut slices = ctx.pid().data() % 4;
    let rest = move |ctx: &mut Ctx<'_>| {
        slices -= 1;
        ctx.bump(100_000);
        if slices == 0 { Ok(Term::OK) } else { Err(Escape::Yield) }
    };
    (slices > 0).then(|| Box::new(rest) as Resumption)
}

/// Most processes made after the first ones.
const MOST_SPAWNED: u64 = 40;
const FIRST: u64 = 6;
/// The seed of a process that runs and runs, and for how long.
const RUNNER: i64 = 2;
const RUNNER_SLICES: u32 = 4000;
/// The seed of a process that calls a built-in on a dirty scheduler, and then waits.
const CALLER: i64 = 3;
/// The seed of a process that runs for a while after each message, for so many slices.
const SPRINTER: i64 = 4;
const SPRINTER_SLICES: u32 = 40;
/// The seed of a process that sends each of these a message, waits until they are likely to be done, and does so again, so many times.
const STARTER: i64 = 5;
const STARTS: u32 = 20;
const BETWEEN_STARTS_NS: u64 = 2_000_000;

fn start() -> &'static Export {
    Export::intern(Mfa { module: am::erts_internal, function: am::start, arity: 1 })
}

fn with_seed(vm: &'static Vm, seed: i64) -> Pid {
    spawn_orphan(vm, start(), &[Term::small(seed)], &SpawnOptions::new(vm)).unwrap()
}

/// A process that runs and runs.
pub fn runner(vm: &'static Vm) -> Pid {
    with_seed(vm, RUNNER)
}

/// A process that calls a built-in on a dirty scheduler.
pub fn caller(vm: &'static Vm) -> Pid {
    with_seed(vm, CALLER)
}

impl World {
    pub fn new(seed: u64) -> Arc<World> {
        World::with(seed, false)
    }

    /// One in which loops are most of what happens.
    pub fn of_loops(seed: u64) -> Arc<World> {
        World::with(seed, true)
    }

    fn with(seed: u64, of_loops: bool) -> Arc<World> {
        Arc::new(World {
            seed,
            of_loops,
            loops: Tally::default(),
            actors: Mutex::new(&CLASS, BTreeMap::new()),
            runnable_since: Mutex::new(&CLASS, BTreeMap::new()),
            sprinters: Mutex::new(&CLASS, Vec::new()),
            visited: Mutex::new(&CLASS, BTreeSet::new()),
            visits: AtomicU64::new(0),
            trace: AtomicU64::new(0),
            place: AtomicU64::new(0),
            slices: AtomicU64::new(0),
            private_slices: AtomicU64::new(0),
            spawned: AtomicU64::new(0),
            blockers: AtomicU64::new(0),
            dirty: AtomicU64::new(0),
        })
    }

    /// Without any process.
    pub fn prepare(self: &Arc<World>, vm: &'static Vm) {
        crate::code::install_undefined::<Vm>(vm.engine());
        WORLDS.lock().insert(address(vm), self.clone());
    }

    pub fn begin(self: &Arc<World>, vm: &'static Vm) {
        self.prepare(vm);
        let mut random = Random::new(self.seed);
        for i in 0..=FIRST {
            // The first one only waits: its end would be that of the VM.
            let seed = if i == 0 { 0 } else { (random.bits() >> 8) as i64 };
            spawn_orphan(vm, start(), &[Term::small(seed)], &SpawnOptions::new(vm)).unwrap();
        }
        if self.seed % 10 == 7 {
            // More to run than there are schedulers, for so long that one who waits behind it has lost patience.
            for _ in 0..=vm.schedulers.len() {
                runner(vm);
            }
            let low = SpawnOptions { priority: Priority::LOW, ..SpawnOptions::new(vm) };
            spawn_orphan(vm, start(), &[Term::small((random.bits() >> 8) as i64 | 1)], &low).unwrap();
        }
        if self.seed % 10 == 5 {
            // More to run than there are schedulers, again and again, and nothing in between.
            *self.sprinters.lock() = (0..vm.schedulers.len() + 2).map(|_| with_seed(vm, SPRINTER)).collect();
            with_seed(vm, STARTER);
        }
        if self.is_urgent() {
            let high = SpawnOptions { priority: Priority::HIGH, ..SpawnOptions::new(vm) };
            for _ in 1..vm.schedulers.len() {
                spawn_orphan(vm, start(), &[Term::small(RUNNER)], &high).unwrap();
            }
            (0..2).for_each(|_| _ = runner(vm));
        }
    }

    /// Do processes of high priority keep all schedulers but one busy? All others have their turn on that one: so nothing is bound to another, and
    /// no scheduler goes.
    pub fn is_urgent(&self) -> bool {
        self.seed % 10 == 3 && !self.of_loops
    }

    /// The driver is about to run this step on this scheduler.
    pub fn at(&self, scheduler: usize, step: u64) {
        self.place.store(step << 8 | scheduler as u64, Ordering::Relaxed);
    }

    pub fn digest(&self) -> u64 {
        self.trace.load(Ordering::Relaxed)
    }

    /// May processes change how many schedulers run? If not, binding to one holds at all times.
    fn changes_schedulers(&self) -> bool {
        !self.seed.is_multiple_of(4) && !self.is_urgent()
    }

    /// Slices that have run on private threads.
    pub fn private_slices(&self) -> u64 {
        self.private_slices.load(Ordering::Relaxed)
    }

    pub fn slices(&self) -> u64 {
        self.slices.load(Ordering::Relaxed)
    }

    pub fn actors(&self, mut f: impl FnMut(Pid, &Actor)) {
        for (pid, slot) in &*self.actors.lock() {
            match slot {
                Slot::Waits(actor) => f(*pid, actor),
                Slot::Runs => panic!("{pid:?} runs"),
            }
        }
    }

    /// Takes what a call on a dirty scheduler has given.
    fn call_is_back(&self, ctx: &mut Ctx<'_>) {
        let Some(mut rest) = ctx.state.resumption.take() else { return };
        assert_eq!((rest.rest)(ctx).ok().and_then(|list| list.list_length()), Some(100));
        assert!(ctx.state.retry_state.is_am(am::ok));
        ctx.state.retry_state = Term::NONE;
        // SAFETY: the actors keep no terms in the process.
        assert!(unsafe { ctx.collect(0, &mut []) });
    }

    /// Nobody runs it, and nobody else visits it, as long as it is visited (process/P3).
    fn visit(&self, process: &Process) {
        process.visit(|_, _| {
            assert!(self.visited.lock().insert(process.pid), "{:?} is visited twice", process.pid);
            myriad_sync::sim_point();
            self.visited.lock().remove(&process.pid);
            self.visits.fetch_add(1, Ordering::Relaxed);
        });
    }

    /// What `f` makes of the loop that a process is at which does not run.
    fn doing<T: Default>(&self, pid: Pid, f: impl FnOnce(&mut Option<Loop>) -> T) -> T {
        match self.actors.lock().get_mut(&pid) {
            Some(Slot::Waits(actor)) => f(&mut actor.doing),
            Some(Slot::Runs) | None => T::default(),
        }
    }

    pub fn visits(&self) -> u64 {
        self.visits.load(Ordering::Relaxed)
    }

    fn take(&self, ctx: &mut Ctx<'_>) -> Box<Actor> {
        assert!(!self.visited.lock().contains(&ctx.pid()), "{:?} is run while it is visited", ctx.pid());
        let mut actors = self.actors.lock();
        match actors.insert(ctx.pid(), Slot::Runs) {
            Some(Slot::Waits(actor)) => return actor,
            Some(Slot::Runs) => panic!("{:?} is run twice", ctx.pid()),
            None => {}
        }
        drop(actors);
        let is_part = ctx.state.relations.parallel_mut().is_some_and(|parallel| parallel.role.is_some());
        let part = is_part.then(|| {
            let arguments = ctx.state.saved_x.to_vec();
            Loop::part(ctx, &arguments, &self.loops)
        });
        let seed = ctx.state.saved_x.first().and_then(|x| x.as_small()).expect("the first argument");
        ctx.state.saved_x.clear();
        let mut random = Random::new(seed as u64);
        ctx.state.flags.trap_exit = !is_part && (seed == 0 || random.below(3) == 0);
        // In some worlds few know each other, so that what they do meets more often.
        let known = if self.seed.is_multiple_of(3) { 2 } else { FIRST };
        let mut peers: Vec<Pid> = (1..=known).map(Pid::from_data).collect();
        peers.extend(ctx.state.parent.as_local_pid());
        Box::new(Actor {
            budget: match seed {
                _ if is_part => 0,
                0 | RUNNER | CALLER | SPRINTER => 0,
                STARTER => STARTS,
                _ => 20 + random.below(60) as u32,
            },
            random,
            peers,
            sent: BTreeMap::new(),
            received: BTreeMap::new(),
            monitors: BTreeMap::new(),
            demonitored: BTreeSet::new(),
            exits: BTreeMap::new(),
            linked: BTreeMap::new(),
            suspending: Vec::new(),
            asked: BTreeSet::new(),
            until: None,
            runs: if seed == RUNNER && !is_part { RUNNER_SLICES } else { 0 },
            sprints: if seed == SPRINTER && !is_part { SPRINTER_SLICES } else { 0 },
            is_starter: seed == STARTER && !is_part,
            calls: seed == CALLER && !is_part,
            unlinking: None,
            doing: part,
            block: None,
        })
    }

    /// Nothing runs elsewhere while one process has the schedulers for itself: at no place of a slice.
    fn check_block(&self, ctx: &Ctx<'_>) {
        let (blockers, here) = (self.blockers.load(Ordering::Relaxed), ctx.sched.id);
        assert!(blockers == 0 || here == 0, "{:?} runs on {here} while that is blocked", ctx.pid());
    }
}

/// Sends so much that the receiver has no slice long enough to handle it.
fn flood(ctx: &Ctx<'_>, other: Pid) {
    for _ in 0..16 {
        ctx.signal_to(other, Signal::Call(Box::new(|ctx| ctx.bump(SLICE_REDUCTIONS as usize / 8))));
    }
}

impl Actor {
    fn peer(&mut self) -> Pid {
        self.peers[self.random.below(self.peers.len() as u64) as usize]
    }

    fn link(&mut self, ctx: &mut Ctx<'_>, other: Pid) {
        if other == ctx.pid() {
            return;
        }
        *self.linked.entry(other).or_insert(0) += 1;
        if ctx.state.relations.link(other.term()) && !ctx.signal_to(other, Signal::Link(ctx.pid())) {
            if ctx.state.flags.trap_exit {
                let reason = Payload::immediate(Term::atom(am::noproc));
                ctx.signal_to(ctx.pid(), Signal::Exit { from: other.term(), reason, linked: true });
            } else {
                ctx.state.relations.drop_link(other.term());
            }
        }
    }

    fn monitor(&mut self, ctx: &mut Ctx<'_>, other: Pid) {
        if other == ctx.pid() {
            return;
        }
        let reference = ctx.sched.next_ref();
        self.monitors.insert(reference.0, other);
        let monitor = Monitor { target: Target::Process(other), name: Term::NONE, tag: None };
        ctx.state.relations.tables().monitors.insert(reference, monitor);
        let signal = Signal::Monitor { from: ctx.pid(), reference, name: Term::NONE };
        if !ctx.signal_to(other, signal) {
            ctx.signal_to(ctx.pid(), Signal::Down { reference, reason: Payload::immediate(Term::atom(am::noproc)) });
        }
    }

    fn spawn(&mut self, ctx: &mut Ctx<'_>, world: &World) {
        if world.spawned.fetch_add(1, Ordering::Relaxed) >= MOST_SPAWNED {
            return;
        }
        let mut options = SpawnOptions::new(ctx.vm);
        options.link = self.random.below(3) == 0;
        options.priority = match self.random.below(12) {
            0..=2 => Priority::LOW,
            3 => Priority::HIGH,
            4 => Priority::MAX,
            _ => Priority::NORMAL,
        };
        options.scheduler = self.scheduler(ctx, world);
        let monitored = self.random.below(2) == 0;
        let reference = ctx.sched.next_ref();
        if monitored {
            options.monitor = Some((reference, Some(AliasMode::Demonitor), None));
        }
        let link = options.link;
        let seed = Term::small((self.random.bits() >> 8) as i64 | 1);
        let pid = ctx.spawn(start(), &[seed], options).unwrap();
        if monitored {
            self.monitors.insert(reference.0, pid);
        }
        if link {
            *self.linked.entry(pid).or_insert(0) += 1;
        }
        self.peers.push(pid);
    }

    /// A scheduler to be bound to, or none.
    fn scheduler(&mut self, ctx: &Ctx<'_>, world: &World) -> u32 {
        let any = 1 + self.random.below(ctx.vm.schedulers.len() as u64) as u32;
        if self.random.below(4) == 0 && !world.is_urgent() { any } else { 0 }
    }

    /// Blocks multi-scheduling, looks whether it is blocked, or takes it back.
    fn block_or_unblock(&mut self, ctx: &mut Ctx<'_>, world: &World) {
        if self.block.is_none() {
            self.block = Some((ctx.vm.schedulers.block(ctx.process, Block::Normal, ctx.sched), false));
        }
        match &mut self.block {
            None => {}
            Some((reached, seen)) if !*seen => {
                // Also at once, when nobody can have heard of it.
                *seen = ctx.vm.schedulers.are_blocked(ctx.sched, Block::Normal, reached);
                world.blockers.fetch_add(u64::from(*seen), Ordering::Relaxed);
            }
            Some(_) => self.unblock(ctx, world),
        }
    }

    fn unblock(&mut self, ctx: &mut Ctx<'_>, world: &World) {
        if let Some((_, seen)) = self.block.take() {
            world.blockers.fetch_sub(u64::from(seen), Ordering::Relaxed);
            ctx.vm.schedulers.unblock(ctx.pid(), Block::Normal);
        }
    }

    /// Goes on with its loop. Some: the slice ends.
    fn go_on(&mut self, ctx: &mut Ctx<'_>, world: &World) -> Option<SliceEnd> {
        match self.doing.as_mut()?.step(ctx, &world.loops) {
            Err(end) => end,
            Ok(is_part) => {
                self.doing = None;
                if !is_part {
                    return None;
                }
                ctx.state.exit_reason = Term::atom(am::normal);
                Some(SliceEnd::Exited)
            }
        }
    }

    /// Does one thing. Some: the slice ends.
    fn act(&mut self, ctx: &mut Ctx<'_>, world: &World) -> Option<SliceEnd> {
        self.budget -= 1;
        if self.is_starter {
            let sprinters = world.sprinters.lock().clone();
            sprinters.into_iter().for_each(|sprinter| self.send(ctx, sprinter));
            return self.receive_within(ctx, BETWEEN_STARTS_NS);
        }
        let other = self.peer();
        if world.of_loops && self.random.below(2) == 0 {
            self.doing = Some(Loop::begin(ctx, &mut self.random, &world.loops));
            return None;
        }
        match self.random.below(30) {
            0..=4 => self.send(ctx, other),
            5 => self.doing = Some(Loop::begin(ctx, &mut self.random, &world.loops)),
            6 | 7 if !world.seed.is_multiple_of(3) => self.spawn(ctx, world),
            6 => self.link(ctx, other),
            8 | 9 => self.link(ctx, other),
            7 | 10 | 11 => {
                self.unlinking = Some(other);
                return self.unlink(ctx);
            }
            12 | 13 => self.monitor(ctx, other),
            14 => {
                if let Some((numbers, target)) = self.monitors.pop_first() {
                    let reference = RefNumbers(numbers);
                    if ctx.state.relations.monitor_over(reference).is_some() {
                        ctx.signal_to(target, Signal::Demonitor(reference));
                    }
                    self.demonitored.insert(numbers);
                }
            }
            // Only those with higher numbers: two that suspend each other would wait for ever.
            15 if other.data() > ctx.pid().data() && self.suspending.len() < 2 => {
                let suspension = ctx.state.relations.tables().suspending.entry(other).or_default();
                suspension.times += 1;
                let active = suspension.active.clone();
                ctx.signal_to(other, Signal::Suspend { active, reply: None });
                self.suspending.push(other);
            }
            16 => self.resume_one(ctx),
            17 => {
                let reference = ctx.sched.next_ref();
                if other != ctx.pid() && ctx.ask(other, Signal::IsAlive { from: ctx.pid(), reference }) {
                    self.asked.insert(reference.0);
                }
            }
            18 => {
                let name = name(self.random.below(3));
                ctx.vm.names.register(&ctx.vm.processes, name, Named::Process(other), Retirer::Thread(&ctx.sched.slot));
            }
            19 => {
                ctx.vm.names.unregister(
                    &ctx.vm.processes,
                    name(self.random.below(3)),
                    Retirer::Thread(&ctx.sched.slot),
                );
            }
            20 if self.random.below(if world.seed.is_multiple_of(3) { 20 } else { 4 }) == 0 => {
                let reason = if self.random.below(2) == 0 { am::kill } else { am::normal };
                let reason = Payload::immediate(reason.term());
                if other.data() != 0 {
                    ctx.signal_to(other, Signal::Exit { from: ctx.pid().term(), reason, linked: false });
                }
            }
            21 if self.random.below(if world.seed.is_multiple_of(3) { 20 } else { 6 }) == 0 => {
                ctx.state.exit_reason = ctx.tuple(&[Term::atom(am::error), Term::small(1)]);
                return Some(SliceEnd::Exited);
            }
            22 => {
                // A receive with a timeout.
                let longest = if self.random.below(8) == 0 { 20_000_000 } else { 100_000 };
                let after = 1 + self.random.below(longest);
                return self.receive_within(ctx, after);
            }
            23 => {
                ctx.process.bind(self.scheduler(ctx, world));
                return Some(SliceEnd::Yielded);
            }
            24 | 25 if world.changes_schedulers() => self.block_or_unblock(ctx, world),
            26 if world.changes_schedulers() => {
                let online = 1 + self.random.below(ctx.vm.schedulers.len() as u64) as usize;
                assert!(ctx.vm.schedulers.set_online(online).is_some());
            }
            // More signals than a slice handles: what comes behind them waits.
            28 if self.random.below(3) == 0 => flood(ctx, other),
            29 => {
                if let Some(process) = ctx.vm.processes.get(other) {
                    world.visit(process);
                }
            }
            27 if ctx.vm.config.dirty_cpu > 0 => return Some(SliceEnd::Dirty(DirtyKind::Cpu)),
            _ => {}
        }
        None
    }

    fn send(&mut self, ctx: &mut Ctx<'_>, to: Pid) {
        let number = self.sent.entry(to).or_insert(0);
        *number += 1;
        let term = Term::small((ctx.pid().data() << 24 | *number) as i64);
        let message = Message::new(Payload::immediate(term), Term::NONE);
        ctx.signal_to(to, Signal::Message(message));
    }

    /// Takes a message, or waits for one so long.
    fn receive_within(&mut self, ctx: &mut Ctx<'_>, after_ns: u64) -> Option<SliceEnd> {
        let at = ctx.vm.platform.now_ns() + after_ns;
        let timer = ctx.vm.set_receive_timer(ctx.sched.id, at, ctx.pid());
        ctx.state.receive_timer.arm(Some(timer));
        self.until = Some(at);
        self.receive(ctx)
    }

    /// Takes back a link, once all signals that came before are handled.
    fn unlink(&mut self, ctx: &mut Ctx<'_>) -> Option<SliceEnd> {
        let other = self.unlinking.take()?;
        match ctx.settle_signals() {
            Ok(()) => {}
            Err(Escape::Wait) => {
                self.unlinking = Some(other);
                return Some(SliceEnd::Waiting);
            }
            Err(_) => return Some(SliceEnd::Exited),
        }
        if let Some(id) = ctx.state.relations.unlink(other.term())
            && !ctx.signal_to(other, Signal::Unlink { from: ctx.pid(), id })
        {
            ctx.state.relations.unlink_acknowledged(other.term(), id);
        }
        None
    }

    fn resume_one(&mut self, ctx: &mut Ctx<'_>) {
        let Some(other) = self.suspending.pop() else { return };
        let tables = ctx.state.relations.tables();
        let suspension = tables.suspending.get_mut(&other).expect("it suspends it");
        suspension.times -= 1;
        if suspension.times == 0 {
            tables.suspending.remove(&other);
        }
        ctx.signal_to(other, Signal::Resume(ctx.pid()));
    }

    /// Takes a message, or waits.
    fn receive(&mut self, ctx: &mut Ctx<'_>) -> Option<SliceEnd> {
        if ctx.state.messages.is_empty() {
            let handled = ctx.fetch_signals(ctx.state.reductions.left());
            if handled == Handled::Fatal {
                return Some(SliceEnd::Exited);
            }
            if ctx.state.suspensions.by_others() {
                return Some(SliceEnd::Waiting);
            }
            if handled == Handled::Some && ctx.state.messages.is_empty() {
                return Some(SliceEnd::Yielded);
            }
        }
        let taken = ctx.state.messages.take();
        if let Some((message, _)) = &taken {
            self.message(ctx, message.term());
        }
        if taken.is_some() || ctx.state.receive_timer.has_fired() {
            if let Some(at) = self.until.take() {
                assert!(taken.is_some() || ctx.vm.platform.now_ns() >= at, "woken too early");
            }
            if let Some(timer) = ctx.state.receive_timer.end() {
                ctx.vm.timers.cancel(timer);
            }
            return None;
        }
        Some(SliceEnd::Waiting)
    }

    fn message(&mut self, ctx: &mut Ctx<'_>, term: TermRef<'_>) {
        let me = ctx.pid();
        if let Some(n) = term.as_small() {
            let (from, number) = (Pid::from_data(n as u64 >> 24), n as u64 & 0xff_ffff);
            let last = self.received.insert(from, number).unwrap_or(0);
            assert_eq!(number, last + 1, "{me:?}: messages of {from:?}");
            self.runs = self.sprints;
        } else if let Some([_, reference, _, object, _]) = term.as_tuple_of::<5>() {
            let numbers = reference.as_local_ref().unwrap().0;
            let pid = object.as_local_pid();
            let expected =
                self.monitors.remove(&numbers).map_or_else(|| self.demonitored.remove(&numbers), |p| Some(p) == pid);
            assert!(expected, "{me:?}: 'DOWN' of {pid:?} twice, or of another");
        } else if let Some([_, from, reason]) = term.as_tuple_of::<3>() {
            if !reason.is_am(am::normal) {
                let count = self.exits.entry(from.as_local_pid().unwrap()).or_insert(0);
                *count += 1;
                // The other side may have linked once, each own link call once more.
                let asked = self.linked.get(&from.as_local_pid().unwrap()).copied().unwrap_or(0);
                assert!(*count <= 1 + asked, "{me:?}: {count} exit messages of {from:?}");
            }
        } else if let Some([reference, _]) = term.as_tuple_of::<2>() {
            let numbers = reference.as_local_ref().unwrap().0;
            assert!(self.asked.remove(&numbers), "{me:?}: an answer comes twice");
        } else {
            panic!("{me:?}: a strange message");
        }
    }
}

pub fn name(n: u64) -> Atom {
    [am::error, am::kill, am::normal][n as usize]
}

/// Nobody runs what is there.
fn entry(stub: usize) -> Entry {
    let stub = &raw const STUBS[stub];
    Entry { tier0: CodePtr(stub), native: NativePtr(stub.cast()) }
}

impl Executor<Vm> for Arc<World> {
    fn undecoded(&self) -> Entry {
        entry(0)
    }

    fn undefined(&self) -> Entry {
        entry(2)
    }

    fn breakpoint(&self) -> Entry {
        entry(0)
    }

    fn entry_behind(&self, function: &Function) -> Entry {
        entry(usize::from(function.bif().is_some()))
    }

    fn code_ranges(&self, _: &Function, _: &mut Vec<Range<usize>>) {}

    fn release(&self, _: &Function) {}
}

impl Engine for Arc<World> {
    fn run(&self, ctx: &mut Ctx<'_>) -> SliceEnd {
        let mut actor = self.take(ctx);
        assert!(!ctx.state.suspensions.by_others(), "a suspended process runs");
        assert!(!ctx.state.in_dirty_call, "a process runs whose call is away");
        self.call_is_back(ctx);
        self.check_block(ctx);
        self.runnable_since.lock().remove(&ctx.pid());
        let here = ctx.sched.id;
        let place = ctx.process.bound_to();
        assert!(
            self.changes_schedulers() || place.is_none_or(|id| id == here) || ctx.sched.private,
            "{:?} runs away from {place:?}",
            ctx.pid()
        );
        self.private_slices.fetch_add(u64::from(ctx.sched.private), Ordering::Relaxed);
        let slice = self.slices.fetch_add(1, Ordering::Relaxed);
        let place = self.place.load(Ordering::Relaxed);
        let mut digest = Random::new(self.digest() ^ place << 24 ^ ctx.pid().data() ^ slice << 48);
        self.trace.store(digest.bits(), Ordering::Relaxed);
        let mut end = match actor.unlink(ctx) {
            None if actor.until.is_some() => actor.receive(ctx),
            end => end,
        };
        if std::mem::take(&mut actor.calls) {
            end = Some(SliceEnd::Dirty(DirtyKind::Cpu));
        }
        if actor.runs > 0 {
            actor.runs -= 1;
            if self.is_urgent() {
                // Whole slices, so that periods of the balance go by.
                ctx.bump(SLICE_REDUCTIONS as usize);
            }
            end = Some(SliceEnd::Yielded);
        }
        for _ in 0..1 + actor.random.below(5) {
            self.check_block(ctx);
            if end.is_some() {
                break;
            }
            ctx.bump(100);
            end = if actor.doing.is_some() {
                actor.go_on(ctx, self)
            } else if actor.budget > 0 {
                if actor.random.below(3) == 0 && !ctx.state.messages.is_empty() {
                    actor.receive(ctx)
                } else {
                    actor.act(ctx, self)
                }
            } else if actor.block.is_some() {
                actor.unblock(ctx, self);
                None
            } else if actor.suspending.is_empty() {
                actor.receive(ctx)
            } else {
                actor.resume_one(ctx);
                None
            };
        }
        self.actors.lock().insert(ctx.pid(), Slot::Waits(actor));
        end.unwrap_or(SliceEnd::Yielded)
    }

    fn is_to_stop(&self, ctx: &mut Ctx<'_>) -> bool {
        Loop::is_to_stop(ctx)
    }

    fn hand_over(&self, ctx: &mut Ctx<'_>) {
        if let Some(mut doing) = self.doing(ctx.pid(), |doing| doing.take()) {
            doing.cut(ctx, true, &self.loops);
            self.doing(ctx.pid(), |place| *place = Some(doing));
        }
    }

    fn run_dirty(&self, ctx: &mut Ctx<'_>) -> BifResult {
        assert!(ctx.sched.dirty);
        self.dirty.fetch_add(1, Ordering::Relaxed);
        ctx.state.retry_state = Term::OK;
        let list = ctx.list(&[Term::OK; 100]);
        myriad_sync::sim_point();
        Ok(list)
    }

    fn backtrace(&self, _: &OwnerState, _: usize) -> Vec<TraceFrame> {
        Vec::new()
    }
}
