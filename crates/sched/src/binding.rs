//! Which scheduler is bound to which processor: what `+sbt`, `+sct` and `erlang:system_flag/2` decide.
//!
//! A scheduler's thread says once that it is there; whoever changes the binding then moves all threads, which the operating system can
//! do for any of them. Dirty schedulers, and whatever a bound thread starts, are not bound (`sync::machine::affinity`).

use myriad_sync::machine::affinity::Thread;
use myriad_sync::machine::{BindType, Machine, Place, Topology};
use myriad_sync::{LockClass, Mutex, slot};
use std::io;

static CLASS: LockClass = LockClass::new("scheduler_binding", 668);

/// The binding of all normal schedulers.
#[derive(Debug)]
pub struct Binding {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    bind_type: BindType,
    defined: Option<Topology>,
    /// Read when it is first wanted.
    machine: Option<Machine>,
    threads: Box<[Seat]>,
    /// It has been told that threads cannot be bound.
    has_warned: bool,
}

/// A scheduler's thread, if it runs, and the processor that it is bound to.
#[derive(Clone, Default, Debug)]
struct Seat {
    thread: Option<Thread>,
    bound: Option<u32>,
}

impl Binding {
    /// Of so many schedulers, none of which runs yet. `defined`: the topology by `+sct`.
    pub fn new(schedulers: usize, bind_type: BindType, defined: Option<Topology>) -> Binding {
        let threads = vec![Seat::default(); schedulers].into();
        let state = State { bind_type, defined, machine: None, threads, has_warned: false };
        Binding { state: Mutex::new(&CLASS, state) }
    }

    /// The calling thread is that of scheduler `id` from now on, and is bound as that one is to be.
    pub fn enter(&self, id: usize) {
        slot::be_named(id);
        let mut state = self.state.lock();
        state.threads[id].thread = Thread::current();
        let processor = state.order().get(id).copied();
        state.bind(id, processor);
    }

    /// How schedulers are to be bound.
    pub fn bind_type(&self) -> BindType {
        self.state.lock().bind_type
    }

    /// Binds them otherwise; gives what was so before.
    pub fn set_bind_type(&self, bind_type: BindType) -> BindType {
        let mut state = self.state.lock();
        let old = std::mem::replace(&mut state.bind_type, bind_type);
        state.bind_all();
        old
    }

    /// The processor that each scheduler is bound to.
    pub fn bound(&self) -> Vec<Option<u32>> {
        self.state.lock().threads.iter().map(|seat| seat.bound).collect()
    }

    /// Where the schedulers will be that are to be bound. Where there are more schedulers than processors, some are not.
    pub fn intended_places(&self) -> Vec<Option<Place>> {
        let mut state = self.state.lock();
        let order = state.order();
        let mut places: Vec<_> = state.machine().places(&order).into_iter().map(Some).collect();
        places.resize(state.threads.len(), None);
        places
    }

    /// The topology that the command line or a program has defined.
    pub fn defined(&self) -> Option<Topology> {
        self.state.lock().defined.clone()
    }

    /// The topology that the operating system tells of.
    pub fn detected(&self) -> Option<Topology> {
        self.state.lock().machine().topology()
    }

    /// The one that counts.
    pub fn used(&self) -> Option<Topology> {
        self.state.lock().used()
    }

    /// Defines a topology, or none, and binds the schedulers by it; gives the one that counted before.
    pub fn define(&self, topology: Option<Topology>) -> Option<Topology> {
        let mut state = self.state.lock();
        let old = state.used();
        state.defined = topology;
        state.bind_all();
        old
    }

    /// Looks at the machine anew, the next time that it is wanted.
    pub fn forget_machine(&self) {
        self.state.lock().machine = None;
    }
}

impl State {
    fn machine(&mut self) -> &Machine {
        self.machine.get_or_insert_with(Machine::read)
    }

    fn used(&mut self) -> Option<Topology> {
        self.defined.clone().or_else(|| self.machine().topology())
    }

    /// The processors that schedulers are bound to, by number.
    fn order(&mut self) -> Vec<u32> {
        if self.bind_type == BindType::Unbound {
            return Vec::new();
        }
        let machine = self.machine.get_or_insert_with(Machine::read);
        machine.order(self.bind_type, self.defined.as_ref())
    }

    fn bind_all(&mut self) {
        let order = self.order();
        (0..self.threads.len()).for_each(|id| self.bind(id, order.get(id).copied()));
    }

    fn bind(&mut self, id: usize, processor: Option<u32>) {
        let Seat { thread: Some(thread), bound } = &mut self.threads[id] else { return };
        let done = match processor {
            Some(processor) => thread.bind(processor),
            None if bound.is_some() => thread.unbind(),
            None => Ok(()),
        };
        *bound = processor.filter(|_| done.is_ok());
        if let Err(error) = done {
            self.warn(&error);
        }
    }

    fn warn(&mut self, error: &io::Error) {
        if !std::mem::replace(&mut self.has_warned, true) {
            eprintln!("myriad: schedulers are not bound to processors: {error}");
        }
    }
}

#[cfg(all(test, not(any(miri, interleaved))))]
mod tests {
    use super::Binding;
    use myriad_sync::machine::{BindType, Machine, sct};

    #[test]
    fn schedulers_are_bound_and_unbound() {
        let usable = Machine::read().usable();
        let first = usable[0];
        let binding = Binding::new(2, BindType::NoSpread, Some(sct::parse(&format!("L{first}")).unwrap()));
        assert_eq!(binding.bound(), [None, None]);
        let binding = &binding;
        let enter = |id| {
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    binding.enter(id);
                    binding.bound()[id]
                });
            });
        };
        std::thread::scope(|scope| {
            let run = scope.spawn(move || {
                binding.enter(0);
                assert_eq!(binding.bound(), [Some(first), None]);
                assert_eq!(binding.set_bind_type(BindType::Unbound), BindType::NoSpread);
                assert_eq!(binding.bound(), [None, None]);
                assert_eq!(binding.set_bind_type(BindType::Spread), BindType::Unbound);
                assert_eq!(binding.bound(), [Some(first), None]);
                // One of which nothing is known, and which this process cannot use.
                let old = binding.define(Some(sct::parse("L65535").unwrap()));
                assert_eq!(old, Some(sct::parse(&format!("L{first}")).unwrap()));
                assert_eq!(binding.bound(), [None, None]);
                assert!(binding.defined().is_some() && binding.used() == binding.defined());
                binding.define(None);
                assert_eq!((binding.defined(), binding.used()), (None, binding.detected()));
                assert_eq!(binding.bound()[0].is_some(), !usable.is_empty());
            });
            run.join().unwrap();
        });
        enter(1);
        // More schedulers than processors leave some unbound.
        assert_eq!(binding.bound()[1].is_some(), Machine::read().usable().len() > 1);
    }

    /// The calling thread may not set affinities any more.
    #[cfg(target_os = "linux")]
    fn forbid_binding() {
        let step = |code: u32, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf, k };
        let refused = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
        let mut steps = [
            // The number of the system call is the first word.
            step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
            step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, libc::SYS_sched_setaffinity as u32),
            step(libc::BPF_RET | libc::BPF_K, 0, refused),
            step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
        ];
        let filter = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
        // SAFETY: both calls change the calling thread alone; the kernel copies the filter, whose steps live until then.
        let results = unsafe {
            [
                libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
                libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter),
            ]
        };
        assert_eq!(results, [0, 0]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn without_the_right_they_stay_unbound() {
        let binding = Binding::new(2, BindType::NoSpread, None);
        let has_warned = || binding.state.lock().has_warned;
        let run = |id| {
            forbid_binding();
            binding.enter(id);
            assert_eq!(binding.bound(), [None, None]);
        };
        assert!(!has_warned());
        std::thread::scope(|scope| scope.spawn(|| run(0)).join().unwrap());
        assert!(has_warned());
    }
}
