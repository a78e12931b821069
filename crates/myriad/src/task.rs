//! Native tasks (Hedqvist 1998, 5.2.3): state machines in Rust that are processes to all others, with a pid, links, monitors, messages, exit
//! signals and tracing.
//!
//! A program that embeds the VM registers types of tasks ([`register`]) before it runs it; Erlang code starts one by `myriad:spawn_task(Type,
//! Arg)`. A task is a process that runs `myriad:run_task/2` (`erl/myriad.erl`): that waits for what comes next and calls the task for it, so
//! waiting, time limits, collections and all signals are those of any process.
//!
//! ```text
//!   allocate --> init --> setup --+--> wait  -- a message -------------> event    --+
//!                                 |          -- none before the time --> time_out --+--> wait, idle or exit
//!                                 +--> idle  -- a message -------------> event    --+
//!                                 |          -- none ------------------> idle     --+
//!                                 +--> exit
//!   ended, by itself or by an exit signal: terminate, then dropped
//! ```
//!
//! TK1. A task belongs to the process that it was started for, which alone calls it. While it is called it is not in the table, so no lock is
//!      held meanwhile: a task may send, and may be asked for by a crash dump.
//! TK2. A task that panics stops the VM; the dump names the task.
//!
//! What was not done: tasks that have port identifiers (the paper's flag `TASK_PORT_TYPE`), which are refused when they are registered. A time limit
//! stands until it is over, is set anew or taken back; other events do not end it.

use myriad_sync::{LockClass, Mutex};
use myriad_term::print::pid_text;
use myriad_term::{Build, Pid, am};
use myriad_vm::bif::{BADARG, Resumption, badarg};
use myriad_vm::subsystem::{Part, Subsystem};
use myriad_vm::{BifDef, BifResult, Escape, Vm};
use std::cell::Cell;
use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

pub use myriad_process::Priority;
pub use myriad_term::{Atom, Term};
pub use myriad_vm::Ctx;
pub use myriad_vm::private_thread::Mode;

static CLASS: LockClass = LockClass::new("native_tasks", 290);

/// The exit status of a VM that a task's panic has stopped: that of a broken invariant.
const PANICKED: i32 = 134;

/// What a task does next.
#[must_use]
pub enum Next {
    /// Waits for a message, or for its time limit.
    Wait,
    /// Goes on with batch work ([`Task::idle`]) as long as no message comes.
    Idle,
    /// Ends for this reason.
    Exit(Term),
}

/// A task: what it does when something comes up. A call is short, or the task has a thread of its own ([`TaskType::start_thread`]).
/// Terms that it is given live until the call returns.
pub trait Task: Send {
    /// It has a pid, and takes its argument.
    fn init(&mut self, ctx: &mut TaskContext<'_, '_>, argument: Term) -> Next;

    /// Called after [`Task::init`], if that does not end it: others may have sent it messages by now. What it says counts in place of what
    /// `init` said.
    fn setup(&mut self, _: &mut TaskContext<'_, '_>, next: Next) -> Next {
        next
    }

    /// There is no message, and it has said [`Next::Idle`].
    fn idle(&mut self, _: &mut TaskContext<'_, '_>) -> Next {
        Next::Wait
    }

    /// A message has come.
    fn event(&mut self, ctx: &mut TaskContext<'_, '_>, message: Term) -> Next;

    /// The time that [`TaskContext::set_time_out`] has set is over, and there is no message.
    fn time_out(&mut self, _: &mut TaskContext<'_, '_>) -> Next {
        Next::Wait
    }

    /// It has said that it exits, or an exit signal ends it. It is dropped next.
    fn terminate(&mut self, _: &mut Ctx<'_>, _reason: Term) {}

    /// What `myriad:task_info/1` and a crash dump tell of it.
    fn info(&self) -> String {
        String::new()
    }
}

/// A type of tasks.
pub struct TaskType {
    /// By which it is started.
    pub name: &'static str,
    /// With which a task begins: any of the 32 levels.
    pub priority: Priority,
    /// Makes a task, in its own process; it is dropped when it has ended.
    pub allocate: fn() -> Box<dyn Task>,
    /// A task would have a port identifier. There are no such tasks yet.
    pub port_type: bool,
    /// A task begins on a private thread, where the VM has any.
    pub start_thread: bool,
    /// A task cannot run on schedulers: it has a private thread from its beginning to its end, and is not started where there are none
    /// (`notsup`). While multi-scheduling is blocked it is called by the one scheduler that works, as all are.
    pub cannot_schedule: bool,
    /// A task cannot lower its priority.
    pub cannot_lower_priority: bool,
    /// A task cannot raise its priority.
    pub cannot_raise_priority: bool,
}

impl TaskType {
    /// A type of tasks of normal priority without any flag.
    pub const fn new(name: &'static str, allocate: fn() -> Box<dyn Task>) -> TaskType {
        TaskType {
            name,
            priority: Priority::NORMAL,
            allocate,
            port_type: false,
            start_thread: false,
            cannot_schedule: false,
            cannot_lower_priority: false,
            cannot_raise_priority: false,
        }
    }
}

/// What a task may not do, by its type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refused;

/// A task, as its process has it.
struct Running {
    of: &'static TaskType,
    task: Box<dyn Task>,
    /// When its time limit is over, by the platform's time.
    due_ns: Option<u64>,
    /// It goes on with batch work.
    is_idle: bool,
}

/// What a task acts by: its process (as [`Ctx`], which builds terms, sends and tells its pid), its time limit, and what its type lets it change.
pub struct TaskContext<'a, 'c> {
    ctx: &'a mut Ctx<'c>,
    of: &'static TaskType,
    due_ns: &'a mut Option<u64>,
}

impl<'c> Deref for TaskContext<'_, 'c> {
    type Target = Ctx<'c>;

    fn deref(&self) -> &Ctx<'c> {
        self.ctx
    }
}

impl DerefMut for TaskContext<'_, '_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.ctx
    }
}

impl TaskContext<'_, '_> {
    /// The answer to a call of `gen_server:call/2,3`: the message `{'$gen_call', from, Request}` had this `from`. `false`: it is no such term.
    pub fn reply(&mut self, from: Term, answer: Term) -> bool {
        let Some([to, tag]) = from.as_tuple_of::<2>() else { return false };
        // `[alias | Alias]`, where the caller takes no answer that comes too late.
        let to = tag.as_cons().filter(|(head, _)| head.is_am(am::alias)).map_or(to, |(_, alias)| alias);
        let message = self.ctx.tuple(&[tag, answer]);
        self.ctx.send(to, message).is_ok()
    }

    /// [`Task::time_out`] is called when this time is over, if no message has come by then; in place of the time that was set before.
    pub fn set_time_out(&mut self, after: Duration) {
        let after_ns = u64::try_from(after.as_nanos()).unwrap_or(u64::MAX);
        *self.due_ns = Some(self.ctx.vm.platform.now_ns().saturating_add(after_ns));
    }

    /// Takes the time back that was set.
    pub fn cancel_time_out(&mut self) {
        *self.due_ns = None;
    }

    /// Changes its priority.
    ///
    /// # Errors
    /// Its type cannot lower it, or cannot raise it.
    pub fn set_priority(&mut self, priority: Priority) -> Result<(), Refused> {
        let before = self.ctx.process.priority();
        // A higher priority is a lower number.
        if priority > before && self.of.cannot_lower_priority || priority < before && self.of.cannot_raise_priority {
            return Err(Refused);
        }
        self.ctx.process.set_priority(priority);
        Ok(())
    }

    /// Changes to a private thread, or back to the schedulers, when the call is over.
    ///
    /// # Errors
    /// Its type cannot be scheduled, or there is no private thread left.
    pub fn set_thread(&mut self, mode: Mode) -> Result<(), Refused> {
        if mode == Mode::Worker && self.of.cannot_schedule {
            return Err(Refused);
        }
        self.ctx.set_thread_mode(mode).map_err(|_| Refused)?;
        self.ctx.state.interrupt();
        Ok(())
    }
}

struct Table {
    types: HashMap<Atom, &'static TaskType>,
    /// Those that are not being called (TK1).
    waiting: HashMap<Pid, Running>,
}

/// The subsystem of native tasks.
pub(crate) struct Tasks(Mutex<Table>);

impl Default for Tasks {
    fn default() -> Self {
        Tasks(Mutex::new(&CLASS, Table { types: HashMap::new(), waiting: HashMap::new() }))
    }
}

fn tasks(vm: &'static Vm) -> &'static Tasks {
    vm.part::<Tasks>()
}

/// `myriad:spawn_task/2` starts tasks of this type from now on.
///
/// # Errors
/// The type's tasks would be ports, its name is no atom, or another type has it.
pub fn register(vm: &'static Vm, of: TaskType) -> Result<(), String> {
    if of.port_type {
        return Err(format!("task type {}: tasks cannot have port identifiers", of.name));
    }
    let name = Atom::new(of.name).map_err(|_| format!("task type {}: the name cannot be an atom", of.name))?;
    name_panics();
    let mut table = tasks(vm).0.lock();
    if table.types.contains_key(&name) {
        return Err(format!("task type {}: there is one of this name", of.name));
    }
    table.types.insert(name, Box::leak(Box::new(of)));
    Ok(())
}

myriad_sync::thread_local! {
    /// The task that this thread calls.
    static CALLED: Cell<Option<(&'static Vm, &'static TaskType, Pid)>> = const { Cell::new(None) };
}

/// From now on a panic in a task writes a dump first, which names the task (TK2), whatever the program does on panics.
fn name_panics() {
    static ONCE: myriad_sync::Once = myriad_sync::Once::new();
    ONCE.call_once(|| {
        let next = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if let Some((vm, of, pid)) = CALLED.take() {
                let text = info.to_string().lines().collect::<Vec<_>>().join(" ");
                vm.observer().fatal(&format!("Task {} {}: {text}", of.name, pid_text(pid.term())));
            }
            next(info);
        }));
    });
}

/// Calls a task, in its process.
fn call<T>(ctx: &mut Ctx<'_>, of: &'static TaskType, work: impl FnOnce(&mut Ctx<'_>) -> T) -> Result<T, Escape> {
    let (vm, pid) = (ctx.vm, ctx.pid());
    CALLED.set(Some((vm, of, pid)));
    let result = catch_unwind(AssertUnwindSafe(|| work(ctx)));
    CALLED.set(None);
    // The dump is written. This process does nothing more.
    result.map_err(|_| {
        vm.stop(PANICKED);
        Escape::Error(am::panic.term())
    })
}

/// Has the task of this process do something, and tells the Erlang code what it does next: a time to wait, `idle`, or `{exit, Reason}`.
fn step(ctx: &mut Ctx<'_>, work: impl FnOnce(&mut dyn Task, &mut TaskContext<'_, '_>) -> Next) -> BifResult {
    let (vm, pid) = (ctx.vm, ctx.pid());
    let Some(mut running) = tasks(vm).0.lock().waiting.remove(&pid) else { return badarg() };
    let Running { of, task, due_ns, .. } = &mut running;
    let next = call(ctx, of, |ctx| work(&mut **task, &mut TaskContext { ctx, of, due_ns }))?;
    ctx.bump(1);
    let now_ns = vm.platform.now_ns();
    let due_ns = running.due_ns;
    running.is_idle = matches!(next, Next::Idle);
    tasks(vm).0.lock().waiting.insert(pid, running);
    Ok(match next {
        Next::Exit(reason) => ctx.tuple(&[am::exit.term(), reason]),
        Next::Idle => am::idle.term(),
        Next::Wait => match due_ns {
            // Rounded up: it is not called too early.
            Some(due_ns) => {
                Term::small(due_ns.saturating_sub(now_ns).div_ceil(1_000_000).min(u64::from(u32::MAX)) as i64)
            }
            None => am::infinity.term(),
        },
    })
}

fn named(ctx: &Ctx<'_>, name: Term) -> Result<&'static TaskType, Escape> {
    let table = tasks(ctx.vm).0.lock();
    name.as_atom().and_then(|name| table.types.get(&name).copied()).ok_or(BADARG)
}

/// Was this process spawned as a task?
fn is_task(ctx: &Ctx<'_>) -> bool {
    ctx.state.initial_call.function == am::run_task
}

/// The options of `spawn_opt` that a type has.
fn options_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let of = named(ctx, args[0])?;
    let priority = ctx.tuple(&[am::priority.term(), of.priority.term()]);
    let has_threads = ctx.vm.schedulers.most_private_threads() > 0;
    let mode = if of.cannot_schedule || of.start_thread && has_threads { Mode::Private } else { Mode::Worker };
    let thread = ctx.tuple(&[am::thread.term(), mode.name().term()]);
    Ok(ctx.list(&[priority, thread]))
}

/// This process is to run a task of this type: if that cannot be scheduled, it keeps the private thread that it has, or gets one.
fn place_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let of = named(ctx, args[0])?;
    if !is_task(ctx) {
        return badarg();
    }
    if !of.cannot_schedule {
        return Ok(Mode::of(ctx.process).name().term());
    }
    ctx.state.flags.keeps_thread = true;
    ctx.switch_thread(Mode::Private)
}

/// Makes the task of this process, which has none.
fn start_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (of, pid) = (named(ctx, args[0])?, ctx.pid());
    if !is_task(ctx) || tasks(ctx.vm).0.lock().waiting.contains_key(&pid) {
        return badarg();
    }
    let task = call(ctx, of, |_| (of.allocate)())?;
    tasks(ctx.vm).0.lock().waiting.insert(pid, Running { of, task, due_ns: None, is_idle: false });
    step(ctx, |task, ctx| match task.init(ctx, args[1]) {
        Next::Exit(reason) => Next::Exit(reason),
        next => task.setup(ctx, next),
    })
}

/// `{Type, Info}` of this process's task.
fn info_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let (vm, pid) = (ctx.vm, ctx.pid());
    let Some(running) = tasks(vm).0.lock().waiting.remove(&pid) else { return badarg() };
    let (of, info) = (running.of, call(ctx, running.of, |_| running.task.info())?);
    tasks(vm).0.lock().waiting.insert(pid, running);
    let name = Atom::new(of.name).map_err(|_| BADARG)?;
    let info = ctx.binary(info.as_bytes());
    Ok(ctx.tuple(&[name.term(), info]))
}

/// Goes on after what was not the task's own.
fn next_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let is_idle = tasks(ctx.vm).0.lock().waiting.get(&ctx.pid()).is_some_and(|running| running.is_idle);
    step(ctx, |_, _| if is_idle { Next::Idle } else { Next::Wait })
}

myriad_vm::bifs! { pub TASKS = "myriad_tasks" {
    "options" / 1 Plain => options_1;
    "place" / 1 Plain => place_1;
    "start" / 2 Plain => start_2;
    "event" / 1 Plain => |ctx, args| step(ctx, |task, ctx| task.event(ctx, args[0]));
    "idle" / 0 Plain => |ctx, _| step(ctx, |task, ctx| task.idle(ctx));
    "time_out" / 0 Plain => |ctx, _| step(ctx, |task, ctx| { ctx.cancel_time_out(); task.time_out(ctx) });
    "next" / 0 Plain => next_0;
    "info" / 0 Plain => info_0;
}}

impl Subsystem for Tasks {
    fn parts(&'static self) -> Vec<Part> {
        vec![self]
    }

    fn tables(&self) -> &'static [&'static [BifDef]] {
        const TABLES: &[&[BifDef]] = &[TASKS];
        TABLES
    }

    fn process_exits(&self, ctx: &mut Ctx<'_>) -> Option<Resumption> {
        if !is_task(ctx) {
            return None;
        }
        let mut running = self.0.lock().waiting.remove(&ctx.pid())?;
        let reason = ctx.state.exit_reason;
        let _ = call(ctx, running.of, |ctx| running.task.terminate(ctx, reason));
        None
    }
}
