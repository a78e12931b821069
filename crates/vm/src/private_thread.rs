//! Private threads of a VM: giving a process one, taking it back, and what runs there. Their protocol is in `sched::private_threads`.

use crate::Process;
use crate::bif::{BifResult, Escape, NOTSUP, SYSTEM_LIMIT};
use crate::ctx::Ctx;
use crate::tracer::switches;
use crate::vm::Vm;
use myriad_heap::meter::{self, Work};
use myriad_heap::shared;
use myriad_sched::{Load, Local, Pace};
use myriad_sync::thread;
use myriad_term::{Atom, Term, am};

/// What runs a process: the value of the option and flag `thread`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// The schedulers, Hedqvist's *workers*.
    Worker,
    /// A thread of its own.
    Private,
}

impl Mode {
    /// By its name.
    pub const fn named(name: Atom) -> Option<Mode> {
        match name {
            am::worker => Some(Mode::Worker),
            am::private => Some(Mode::Private),
            _ => None,
        }
    }

    /// That of a process (of another one: a figure, already old).
    pub fn of(process: &Process) -> Mode {
        if process.private_thread().is_some() { Mode::Private } else { Mode::Worker }
    }

    /// Its name.
    pub const fn name(self) -> Atom {
        match self {
            Mode::Worker => am::worker,
            Mode::Private => am::private,
        }
    }
}

impl Vm {
    /// A private thread, for a process that is the caller's to place.
    ///
    /// # Errors
    /// `notsup` where there are none (the sequential VM, the simulator); `system_limit` if there are as many as may be.
    pub fn take_private_thread(&'static self) -> Result<usize, Escape> {
        if self.schedulers.most_private_threads() == 0 {
            return Err(NOTSUP);
        }
        let name = |thread: usize| format!("private_{}", thread + 1);
        let start = |thread| thread::spawn(&name(thread), move || self.run_private_thread(thread));
        self.schedulers.take_private_thread(start).ok_or(SYSTEM_LIMIT)
    }

    /// A process that runs, or was never published, gives its private thread back, if it has one.
    pub(crate) fn release_private_thread(&self, process: &Process) {
        if let Some(thread) = process.set_private_thread(None) {
            self.schedulers.give_back_private_thread(thread);
        }
    }

    /// The own state of a private thread, on that thread; `None`: thread progress has no room.
    fn private_local(&'static self, thread: usize) -> Option<Local> {
        self.adopt_thread();
        let slots = [self.progress.register()?, self.slices.register()?];
        let id = self.locals - 1 + thread;
        let mut local = Local::of_private_thread(self.locals, id, slots, &self.shared_counts, self.platform.as_ref());
        if let Some(seed) = self.config.yields {
            local.pace = Pace::drawn(seed, id);
        }
        self.draw_migrations(&mut local);
        Some(local)
    }

    /// Where processes move at random, this scheduler or private thread draws whether they do (`+JMmigrate`).
    pub(crate) fn draw_migrations(&self, local: &mut Local) {
        if let Some(seed) = self.config.migrates {
            local.pace.draw_chances(seed, local.id);
        }
    }

    fn run_private_thread(&'static self, thread: usize) {
        let local = self.private_local(thread).expect("there is room for all private threads");
        self.schedulers
            .run_private_thread(thread, local, |process, local, load| self.run_private_slice(process, local, load));
    }

    /// Runs a slice of a process that came from a private thread's queue; its reductions.
    fn run_private_slice(&'static self, process: &'static Process, local: &mut Local, load: &Load) -> u32 {
        // SAFETY: process/P1: it was in a queue, which this thread took it out of; nobody changes it before this thread makes it Running.
        let signals = unsafe { crate::scheduler::take_up(process) };
        let urgency = process.take_urgency();
        // SAFETY: process/P2, this thread has just made it Running.
        let state = unsafe { process.owner_state() };
        state.reductions.begin_slice(local.pace.begin_slice());
        state.begin_to_run(process.pid);
        let mut ctx = Ctx { state, process, sched: local, vm: self };
        let end = ctx.run_some_slice(signals);
        ctx.stay_urgent(urgency);
        let used = ctx.state.reductions.end_slice(ctx.sched.pace.slice());
        // Before others may run it, and look at the figures.
        load.count_slice(u64::from(used));
        self.after_slice(&mut ctx, end);
        meter::count(Work::Slice, 1);
        if shared::is_due() {
            self.collect_shared();
        }
        used
    }
}

impl Ctx<'_> {
    /// What runs the process from its next slice on; gives what does now. The slice is to end then.
    ///
    /// # Errors
    /// As those of [`Vm::take_private_thread`].
    pub fn set_thread_mode(&mut self, mode: Mode) -> Result<Mode, Escape> {
        let before = Mode::of(self.process);
        match mode {
            Mode::Worker => self.vm.release_private_thread(self.process),
            Mode::Private if before == Mode::Worker => {
                let thread = self.vm.take_private_thread()?;
                self.process.set_private_thread(Some(thread));
            }
            Mode::Private => {}
        }
        Ok(before)
    }

    /// `process_flag(thread, Mode)`
    pub fn switch_thread(&mut self, mode: Mode) -> BifResult {
        let before = self.set_thread_mode(mode)?;
        let old = Term::atom(before.name());
        if before == mode { Ok(old) } else { self.yield_to(Box::new(move |_| Ok(old))) }
    }

    /// The process moves to a private thread at the end of a slice, or back, if the draw says so (`+JMmigrate`). One in 8 slices, so that
    /// most processes do a few things in either place.
    #[cold]
    pub(crate) fn migrate(&mut self) {
        debug_assert!(self.vm.switches.any(switches::MIGRATION));
        let may_move = self.process.bound_to().is_none() && !self.state.flags.keeps_thread;
        if self.sched.pace.draws_one_of(8) && may_move {
            let other = match Mode::of(self.process) {
                Mode::Worker => Mode::Private,
                Mode::Private => Mode::Worker,
            };
            // Where no thread is left it stays.
            let _ = self.set_thread_mode(other);
        }
    }
}
