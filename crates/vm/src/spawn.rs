//! Making processes.
//!
//! The new process's arguments are copied straight into its own first heap block, so a spawn allocates the process, its
//! block, and nothing else. Where all processes have one heap they are pointers, as a message is (heap.shared/SH2).

use crate::code::Function;
use crate::ctx::Ctx;
use crate::tracer::{ReplyDelivery, SpawnMessages};
use crate::vm::Vm;
use crate::{OwnerState, Process, Resume, Signal};
use myriad_heap::{Heap, Settings, shared};
use myriad_process::links::{AliasMode, Monitor, Target, Watcher};
use myriad_process::parallel::Role;
use myriad_process::{Flags, Message, Payload, Priority};
use myriad_term::{Arena, Build, Export, Mfa, Pid, RefNumbers, Term, TermRef, am};

/// The options of a new process.
pub struct SpawnOptions {
    /// Link with the parent.
    pub link: bool,
    /// Monitored by the parent under this reference; with the alias mode and the tag it asked for.
    pub monitor: Option<(RefNumbers, Option<AliasMode>, Option<Payload>)>,
    /// The priority that it begins with.
    pub priority: Priority,
    /// Heap sizes and limits.
    pub heap: Settings,
    /// `message_queue_data` is `off_heap`.
    pub off_heap_messages: bool,
    /// `async_dist`
    pub async_dist: bool,
    /// Bound to this scheduler (from 1), or (0) to none.
    pub scheduler: u32,
    /// The private thread that it begins on, which it was taken for ([`Vm::take_private_thread`]).
    pub private_thread: Option<usize>,
    /// A system process.
    pub system: bool,
    /// The list of options as it was given, for sequential tracing; a term of the parent's.
    pub given: Term,
    /// The reply to a request.
    pub reply: Option<Reply>,
    /// A part of a loop, made because a scheduler asks for work.
    pub role: Option<Role>,
}

/// The reply to a `spawn_request`. Terms of the parent's.
#[derive(Clone, Copy)]
pub struct Reply {
    /// The reference of the request, which the reply bears.
    pub reference: Term,
    /// The first element of the reply: `spawn_reply`, or what the option `reply_tag` says.
    pub tag: Term,
    /// Is it sent if the request succeeds?
    pub sent: bool,
}

impl SpawnOptions {
    /// As the VM's defaults are.
    pub fn new(vm: &Vm) -> SpawnOptions {
        SpawnOptions {
            link: false,
            monitor: None,
            priority: Priority::NORMAL,
            heap: vm.heap_settings(),
            off_heap_messages: vm.config.off_heap_messages,
            async_dist: false,
            scheduler: 0,
            private_thread: None,
            system: false,
            given: Term::NIL,
            reply: None,
            role: None,
        }
    }
}

/// The table is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooManyProcesses;

/// Of a process that gets copies of its arguments, terms of the parent's heap.
fn state(parent: &mut Heap, export: &'static Export, args: &[Term], options: &SpawnOptions) -> OwnerState {
    let words = args.iter().filter_map(|a| parent.handed_down_size(*a)).sum();
    let mut heap = Heap::with_room(&options.heap, words);
    let saved_x = args.iter().map(|a| parent.hand_down(*a, &mut heap)).collect();
    state_with(heap, saved_x, export, options)
}

/// The same without a parent.
fn orphaned_state(export: &'static Export, args: &[TermRef<'_>], options: &SpawnOptions) -> OwnerState {
    let words = args.iter().map(|a| myriad_heap::copied_size(*a)).sum();
    let mut heap = Heap::with_room(&options.heap, words);
    let saved_x = args.iter().map(|a| myriad_heap::copy_term(*a, &mut heap)).collect();
    state_with(heap, saved_x, export, options)
}

/// Of a process that refers to its arguments in the one heap of all.
fn sharing_state(export: &'static Export, args: &[Term], options: &SpawnOptions) -> OwnerState {
    let mut heap = Heap::new(&options.heap);
    // It may refer to what is young, though it has not run.
    heap.touch();
    state_with(heap, args.to_vec(), export, options)
}

fn state_with(heap: Heap, saved_x: Vec<Term>, export: &'static Export, options: &SpawnOptions) -> OwnerState {
    let function = Function::of_export(export);
    let mut new = OwnerState::new(heap, Resume::entry(function), export.mfa);
    new.saved_x = saved_x;
    new.flags =
        Flags { off_heap_messages: options.off_heap_messages, async_dist: options.async_dist, ..Flags::default() };
    new
}

/// What a process calls that begins in `erlang:apply/3`, or as `spawn_request` has it.
fn applied(first: Mfa, args: &[Term]) -> Option<[Term; 3]> {
    match (first.module, first.function, args) {
        (am::erlang, am::apply, [m, f, a]) => Some([*m, *f, *a]),
        (am::erts_internal, am::spawn_init, [call]) => call.as_tuple_of::<3>(),
        _ => None,
    }
}

/// Makes a process without a parent (the first one, system processes of the VM itself) that calls `export`.
pub fn spawn_orphan(
    vm: &'static Vm,
    export: &'static Export,
    args: &[TermRef<'_>],
    options: &SpawnOptions,
) -> Result<Pid, TooManyProcesses> {
    let made = vm.processes.insert(|pid| {
        let mut state = orphaned_state(export, args, options);
        state.group_leader = pid.term();
        Box::new(Process::new(pid, options.priority, options.system, 0, state))
    });
    let process = made.ok_or(TooManyProcesses)?;
    let pid = process.pid;
    vm.wake(process);
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
        let shares = shared::is_on() && !self.sched.dirty;
        let mut new = if shares {
            sharing_state(export, args, &options)
        } else {
            state(&mut self.state.heap, export, args, &options)
        };
        self.pay_for_copy(new.heap.used_words());
        if let Some([m, f, a]) = applied(export.mfa, args)
            && let (Some(module), Some(function), Some(n)) = (m.as_atom(), f.as_atom(), a.list_length())
        {
            new.initial_call = Mfa { module, function, arity: n as u8 };
        }
        new.parent = parent.term();
        new.group_leader = myriad_heap::copy_term(self.state.group_leader, &mut new.heap);
        if options.link {
            new.relations.link(parent.term());
        }
        if let Some((reference, ..)) = &options.monitor {
            let watcher = Watcher { from: parent, name: Term::NONE };
            new.relations.tables().watchers.insert(*reference, watcher);
        }
        if let Some(role) = options.role {
            new.relations.parallel().role = Some(role);
        }
        let home = self.sched.id % vm.schedulers.len();
        let (priority, system) = (options.priority, options.system);
        let memory = Arena::new();
        let mut sequential =
            self.state.token.is_some().then(|| self.spawn_message(export.mfa, args, &options, &memory));
        let made = vm.processes.insert(|pid| {
            if let Some(message) = &mut sequential {
                message.carry_out(self, &mut new, pid);
            }
            let process = Process::new(pid, priority, system, home as u32, new);
            process.bind(options.scheduler);
            process.set_private_thread(options.private_thread);
            Box::new(process)
        });
        let Some(process) = made else {
            options.private_thread.inspect(|thread| vm.schedulers.give_back_private_thread(*thread));
            return Err(TooManyProcesses);
        };
        let pid = process.pid;
        if options.link {
            self.state.relations.link(pid.term());
        }
        if let Some((reference, alias, tag)) = options.monitor {
            let tables = self.state.relations.tables();
            let monitor = Monitor { target: Target::Process(pid), name: Term::NONE, tag };
            tables.monitors.insert(reference, monitor);
            if let Some(mode) = alias {
                tables.aliases.insert(reference, mode);
            }
        }
        self.trace_spawn(process, export.mfa, args, options.link);
        if options.role.is_some() {
            vm.wake_for_who_asks(process);
        } else {
            vm.wake(process);
        }
        if let Some(reply) = options.reply.filter(|reply| reply.sent) {
            let token = sequential.and_then(|message| message.token);
            self.reply_to_spawn(reply, Term::atom(am::ok), pid.term(), token);
        }
        Ok(pid)
    }

    /// Sends itself the reply to a request, with a sequential trace token or none: what it does with it is a matter of receiving
    /// it.
    pub fn reply_to_spawn(&mut self, reply: Reply, word: Term, value: Term, token: Option<Payload>) {
        let message = [reply.tag, reply.reference, word, value];
        let words = message.iter().map(|term| myriad_heap::copied_size(*term)).sum::<usize>();
        let message = Payload::build(words + 16, |draft| {
            let message = message.map(|term| myriad_heap::copy_term(term, draft));
            draft.tuple(&message)
        });
        let token = token.as_ref().map_or(Term::NONE, Payload::term);
        self.signal_to(self.pid(), Signal::Message(Message::new(message, token)));
    }
}

/// What a spawn looks like as a message, for sequential tracing.
struct SpawnMessage<'m> {
    request: TermRef<'m>,
    reference: TermRef<'m>,
    tag: Term,
    replies: ReplyDelivery,
    /// That of the reply, if it is sent.
    token: Option<Payload>,
    memory: &'m Arena,
}

impl SpawnMessage<'_> {
    fn carry_out(&mut self, ctx: &mut Ctx<'_>, new: &mut OwnerState, pid: Pid) {
        let reply = self.memory.tuple(&[self.tag, self.reference, Term::atom(am::ok), pid.term()]);
        let messages = SpawnMessages { request: self.request, reply, delivery: self.replies };
        self.token = ctx.vm.tracer().spawns_with_token(ctx, new, pid, messages);
    }
}

impl Ctx<'_> {
    #[cold]
    fn spawn_message<'m>(
        &mut self,
        mfa: Mfa,
        args: &[Term],
        options: &SpawnOptions,
        mut memory: &'m Arena,
    ) -> SpawnMessage<'m> {
        let (reference, tag, replies) = match (&options.reply, &options.monitor) {
            (Some(Reply { reference, tag, sent }), _) => {
                (*reference, *tag, if *sent { ReplyDelivery::AsMessage } else { ReplyDelivery::Never })
            }
            (None, Some((numbers, ..))) => {
                (memory.reference(*numbers), Term::atom(am::spawn_reply), ReplyDelivery::AtOnce)
            }
            (None, None) => {
                let numbers = self.sched.next_ref();
                (memory.reference(numbers), Term::atom(am::spawn_reply), ReplyDelivery::AtOnce)
            }
        };
        let call = memory.tuple(&[mfa.module.term(), mfa.function.term(), Term::small(i64::from(mfa.arity))]);
        let args = memory.list(args);
        // `spawn_link` has no list.
        let link = options.link && options.given.is_nil();
        let given = if link { memory.list(&[Term::atom(am::link)]) } else { options.given };
        let request = memory.tuple(&[
            Term::atom(am::spawn_request),
            reference,
            self.pid().term(),
            self.state.group_leader,
            call,
            given,
            tag,
            args,
        ]);
        SpawnMessage { request, reference, tag, replies, token: None, memory }
    }
}
