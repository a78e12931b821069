//! The life of processes: made, linked, named, ended; and what new and linked ones inherit.

use super::event::{self, tracer_for};
use super::flags;
use crate::Process;
use crate::ctx::Ctx;
use myriad_heap::Fragment;
use myriad_term::{Build, Mfa, Term, am};

const INHERIT_ON_SPAWN: u32 = flags::SET_ON_SPAWN | flags::SET_ON_FIRST_SPAWN;
const INHERIT_ON_LINK: u32 = flags::SET_ON_LINK | flags::SET_ON_FIRST_LINK;

impl Ctx<'_> {
    /// A process that this one has made, and nobody knows yet, gets its flags; `linked` if it is linked to this one.
    #[cold]
    fn inherit(&mut self, child: &Process, linked: bool) {
        let vm = self.vm;
        let guard = vm.trace.lock();
        let alive = self.this.trace.tracer().is_some_and(|tracer| event::is_alive(vm, tracer));
        let own = if alive { self.this.trace.flags() } else { 0 };
        let (mut flags, mut tracer) = (vm.trace.new_processes.flags(), vm.trace.new_processes.tracer());
        let mut left = own;
        for (asked, first, all) in
            [(true, flags::SET_ON_FIRST_SPAWN, INHERIT_ON_SPAWN), (linked, flags::SET_ON_FIRST_LINK, INHERIT_ON_LINK)]
        {
            if asked && own & all != 0 {
                flags |= own & flags::EVERY;
                tracer = self.this.trace.tracer();
                if own & first != 0 {
                    flags &= !all;
                    left &= !all;
                }
            }
        }
        if left != own {
            self.this.trace.set(left, self.this.trace.tracer());
        }
        child.trace.set(flags, tracer);
        drop(guard);
    }

    /// A process has been made, which calls `mfa` with `args`.
    #[inline]
    pub(crate) fn trace_spawn(&mut self, child: &Process, mfa: Mfa, args: &[Term], linked: bool) {
        if self.this.trace.flags() != 0 || self.vm.trace.new_processes.flags() != 0 {
            self.trace_spawned(child, mfa, args, linked);
        }
    }

    #[cold]
    fn trace_spawned(&mut self, child: &Process, mfa: Mfa, args: &[Term], linked: bool) {
        self.inherit(child, linked);
        let (own, new) = (self.pid().term(), child.pid.term());
        let mut memory = Fragment::with_capacity(2 * args.len() + 4);
        // The messages copy the arguments.
        let list = memory.list(args);
        let call = memory.tuple(&[mfa.module.term(), mfa.function.term(), list]);
        self.trace(flags::PROCS, am::spawn, &[new, call]);
        if linked {
            self.trace(flags::PROCS, am::link, &[new]);
        }
        if let Some(tracer) = tracer_for(self.vm, child, flags::PROCS) {
            let (set, scheduler) = (child.trace.flags(), self.scheduler_number());
            event::send(self.vm, tracer, set, scheduler, new, am::spawned, &[own, call]);
            if linked {
                event::send(self.vm, tracer, set, scheduler, new, am::getting_linked, &[own]);
            }
        }
    }

    /// This process links itself to another.
    #[inline]
    pub fn trace_link(&mut self, other: Term) {
        if self.this.trace.flags() == 0 {
            return;
        }
        self.trace(flags::PROCS, am::link, &[other]);
        if self.this.trace.wants(INHERIT_ON_LINK)
            && let Some(process) = other.as_local_pid().and_then(|pid| self.vm.processes.get(pid))
        {
            self.pass_on(process);
        }
    }

    #[cold]
    fn pass_on(&mut self, process: &Process) {
        let guard = self.vm.trace.lock();
        let (own, tracer) = (self.this.trace.flags(), self.this.trace.tracer());
        let mut flags = process.trace.flags() | own & flags::EVERY;
        if own & flags::SET_ON_FIRST_LINK != 0 {
            flags &= !INHERIT_ON_LINK;
            self.this.trace.set(own & !INHERIT_ON_LINK, tracer);
        }
        if process.trace.tracer().is_none() || process.trace.tracer() == tracer {
            process.trace.set(flags, tracer);
        }
        drop(guard);
    }

    /// This process ends.
    #[inline]
    pub(crate) fn trace_exit(&mut self) {
        let reason = self.proc.exit_reason;
        self.trace(flags::PROCS, am::exit, &[reason]);
    }
}
