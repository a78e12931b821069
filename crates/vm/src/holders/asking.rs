//! Processes are noted when they go to sleep, and asked.

use crate::ctx::Ctx;
use crate::runtime::Signal;
use crate::vm::Vm;
use myriad_heap::Holder;

impl Vm {
    /// Asks some of the processes that are noted, if that seems worth it.
    pub(crate) fn ask_idle_holders(&'static self, now_ns: u64) {
        let (asked, at_rest) = self.holders.take(now_ns, |pid| self.processes.get(pid).is_some());
        for pid in asked {
            self.signal_pid(pid, Signal::Call(Box::new(move |ctx| ctx.collect_if_idle(at_rest))));
        }
    }

    /// Asks one of those that are noted, if that is due.
    pub(crate) fn ask_sleeper(&'static self, now_ns: u64) {
        if let Some(pid) = self.sleepers.take(now_ns, |pid| self.processes.get(pid).is_some()) {
            self.signal_pid(pid, Signal::Call(Box::new(|ctx| ctx.collect_asleep())));
        }
    }
}

impl Ctx<'_> {
    /// The process, which was noted, is asked for a collection.
    fn collect_if_idle(&mut self, at_rest: bool) {
        if self.state.heap.is_asked(at_rest) && !self.state.flags.gc_disabled {
            self.state.tasks.get_or_insert_default().need(0);
            self.state.interrupt();
        }
    }

    /// The process goes to sleep, and there is something to note of its heap.
    #[cold]
    pub(crate) fn note_holder(&mut self) {
        match self.state.heap.note_held() {
            Some(Holder::Sleeps(share)) => self.vm.holders.note(self.pid(), share),
            Some(Holder::Answers { had, left }) => self.vm.holders.answer(had, left),
            None => {}
        }
    }

    /// The process, which was noted, is asked for a collection.
    fn collect_asleep(&mut self) {
        if self.state.heap.is_asked_asleep() && !self.state.flags.gc_disabled {
            self.state.tasks.get_or_insert_default().need(0);
            self.state.interrupt();
        }
    }

    /// The process goes to sleep, and may have to be noted.
    pub(crate) fn note_sleeper(&mut self) {
        if let Some(awaited) = self.state.heap.note_asleep() {
            self.vm.sleepers.note(self.pid(), awaited, self.vm.platform.now_ns());
        }
    }
}
