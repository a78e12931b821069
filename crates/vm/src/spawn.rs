//! Making processes.
//!
//! The new process's arguments are copied straight into its own first heap block, so a spawn allocates the process, its
//! block, and nothing else.

use crate::code::{CodePtr, Function};
use crate::ctx::Ctx;
use crate::links::{AliasMode, Monitor, Target, Watcher};
use crate::process::{Flags, Priority, Private, Process, Resume};
use crate::signal::Parcel;
use crate::vm::Vm;
use myriad_heap::{Heap, Settings};
use myriad_term::{Arena, Atom, Build, Export, Mfa, Pid, RefNumbers, Term, am};

/// How a new process is to be.
pub struct SpawnOptions {
    /// Link with the parent.
    pub link: bool,
    /// Monitored by the parent under this reference; with the alias mode and the tag it asked for.
    pub monitor: Option<(RefNumbers, Option<AliasMode>, Option<Parcel>)>,
    /// Priority.
    pub priority: Priority,
    /// Heap sizes and limits.
    pub heap: Settings,
    /// `message_queue_data` is `off_heap`.
    pub off_heap_messages: bool,
    /// `async_dist`
    pub async_dist: bool,
    /// Bound to this scheduler (from 1), or (0) to none.
    pub scheduler: u32,
    /// A system process.
    pub system: bool,
}

impl SpawnOptions {
    /// As the VM's defaults are.
    pub fn new(vm: &Vm) -> SpawnOptions {
        SpawnOptions {
            link: false,
            monitor: None,
            priority: Priority::Normal,
            heap: vm.heap_settings(),
            off_heap_messages: vm.config.off_heap_messages,
            async_dist: false,
            scheduler: 0,
            system: false,
        }
    }
}

/// The table is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooManyProcesses;

fn private(export: &'static Export, args: &[Term], options: &SpawnOptions) -> Private {
    let words: usize = args.iter().map(|a| myriad_heap::copied_size(*a)).sum();
    let mut heap = Heap::with_room(&options.heap, words);
    let saved_x: Vec<Term> = args.iter().map(|a| myriad_heap::copy_term(*a, &mut heap)).collect();
    let function = Function::of_export(export);
    let mut new = Private::new(heap, Resume { pc: CodePtr::NULL, function }, export.mfa);
    new.saved_x = saved_x;
    new.flags =
        Flags { off_heap_messages: options.off_heap_messages, async_dist: options.async_dist, ..Flags::default() };
    new
}

/// Makes a process without a parent (the first one, system processes of the VM itself) that calls `export`.
pub fn spawn_orphan(
    vm: &'static Vm,
    export: &'static Export,
    args: &[Term],
    options: &SpawnOptions,
) -> Result<Pid, TooManyProcesses> {
    let made = vm.processes.insert(|pid| {
        let mut private = private(export, args, options);
        private.group_leader = pid.term();
        Box::new(Process::new(pid, options.priority, options.system, 0, private))
    });
    let process = made.ok_or(TooManyProcesses)?;
    let pid = process.pid;
    process.wake(vm);
    Ok(pid)
}

impl Ctx<'_> {
    /// Spawns a process that calls `export` with `args`.
    pub fn spawn(
        &mut self,
        export: &'static Export,
        args: &[Term],
        options: SpawnOptions,
    ) -> Result<Pid, TooManyProcesses> {
        let (vm, parent) = (self.vm, self.pid());
        let mut new = private(export, args, &options);
        if export.mfa == (Mfa { module: am::erlang, function: am::apply, arity: 3 })
            && let [m, f, a] = args
            && let (Some(module), Some(function), Some(n)) = (m.as_atom(), f.as_atom(), a.list_length())
        {
            new.initial_call = Mfa { module, function, arity: n as u8 };
        }
        new.parent = parent.term();
        new.group_leader = myriad_heap::copy_term(self.proc.group_leader, &mut new.heap);
        if options.link {
            new.relations.link(parent.term());
        }
        if let Some((reference, ..)) = &options.monitor {
            let watcher = Watcher { from: parent, name: Term::NONE };
            new.relations.tables().watchers.insert(*reference, watcher);
        }
        let home = self.sched.id % vm.schedulers.len();
        let (priority, system) = (options.priority, options.system);
        let sequential = self.proc.token.is_some().then(|| self.spawn_request(export.mfa, args, &options));
        let made = vm.processes.insert(|pid| {
            if let Some(request) = sequential {
                request.carry_out(self, &mut new, pid);
            }
            let process = Process::new(pid, priority, system, home as u32, new);
            process.bind(options.scheduler);
            Box::new(process)
        });
        let process = made.ok_or(TooManyProcesses)?;
        let pid = process.pid;
        if options.link {
            self.proc.relations.link(pid.term());
        }
        if let Some((reference, alias, tag)) = options.monitor {
            let tables = self.proc.relations.tables();
            let monitor = Monitor { target: Target::Process(pid), name: Term::NONE, tag, spawning: false };
            tables.monitors.insert(reference, monitor);
            if let Some(mode) = alias {
                tables.aliases.insert(reference, mode);
            }
        }
        self.trace_spawn(process, export.mfa, args, options.link);
        process.wake(vm);
        Ok(pid)
    }
}

/// What a spawn looks like as a message, for sequential tracing.
struct SpawnMessage {
    request: Term,
    reference: Term,
    memory: Arena,
}

impl SpawnMessage {
    fn carry_out(mut self, ctx: &mut Ctx<'_>, new: &mut Private, pid: Pid) {
        let word = Term::atom(am::ok);
        let reply = self.memory.tuple(&[Term::atom(am::spawn_reply), self.reference, word, pid.term()]);
        ctx.spawn_with_token(new, pid.term(), self.request, reply);
    }
}

impl Ctx<'_> {
    #[cold]
    fn spawn_request(&mut self, mfa: Mfa, args: &[Term], options: &SpawnOptions) -> SpawnMessage {
        let mut memory = Arena::new();
        let numbers = match &options.monitor {
            Some((numbers, ..)) => *numbers,
            None => self.sched.next_ref(self.vm),
        };
        let reference = memory.reference(numbers);
        let call = memory.tuple(&[mfa.module.term(), mfa.function.term(), Term::small(i64::from(mfa.arity))]);
        let mut named = Vec::new();
        named.extend(options.link.then_some(Term::atom(am::link)));
        named.extend(options.monitor.is_some().then_some(Term::atom(am::monitor)));
        let named = memory.list(&named);
        let args = memory.list(args);
        let request = memory.tuple(&[
            Term::atom(am::spawn_request),
            reference,
            self.pid().term(),
            self.proc.group_leader,
            call,
            named,
            Term::atom(am::spawn_reply),
            args,
        ]);
        SpawnMessage { request, reference, memory }
    }
}

/// A `spawn_request` that this process made has been carried out: leaves `{spawn_reply, Ref, ok | error, Pid | Reason}`.
pub(crate) fn reply_arrived(ctx: &mut Ctx<'_>, reference: RefNumbers, result: Result<Pid, Atom>) {
    let mut fragment = myriad_heap::Fragment::with_capacity(10);
    let r = fragment.reference(reference);
    let (word, value) = match result {
        Ok(pid) => (am::ok, pid.term()),
        Err(reason) => (am::error, reason.term()),
    };
    let term = fragment.tuple(&[Term::atom(am::spawn_reply), r, Term::atom(word), value]);
    ctx.arrive(crate::message::Message { term, fragment: Some(fragment), token: Term::NONE });
}
