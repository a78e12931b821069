//! What a scheduler sees to when it rests: memory that is no longer needed goes back to the system.
//!
//! Who has worked sleeps for a while only; if nothing comes meanwhile, it looks. Processes that sleep may be worth asking (`holders.rs`, `sleepers.rs`) where others have ended. The one heap of all processes is collected first, and marked where that is due (heap.marking_times): what has ended
//! held something. Then, after a period of work, what the scheduler keeps free goes. Who sleeps on is woken where others have freed much of what it has allocated (`clean_up.rs`).

use crate::clean_up;
use crate::scheduler::Scheduler;
use myriad_heap::bundle;
use myriad_heap::shared::{self, AtRest, Unneeded};
use myriad_sched::dispatcher::{TRIM_AFTER, TRIM_REDUCTIONS};
use myriad_sched::microstate::{self, State};
use std::time::Duration;

/// From one look to the next while a helper marks the one heap.
const MARKS: Duration = Duration::from_millis(50);

/// What a scheduler has still to see to.
#[derive(Default)]
pub(crate) struct Rest {
    /// Reductions since free memory last went back to the system.
    untrimmed: u64,
    /// As many as that when it last went to sleep.
    seen: u64,
    /// It looks when it has slept for so long.
    look_after: Option<Duration>,
    /// It has run something since it last looked.
    has_run: bool,
}

impl Rest {
    /// It has run for so many reductions.
    #[inline(always)]
    pub(crate) fn has_run(&mut self, reductions: u64) {
        self.untrimmed += reductions;
    }

    /// It goes to sleep, for so long at most; gives after how long it is to look, if that comes first.
    fn begin(&mut self, timeout: Option<Duration>) -> Option<Duration> {
        if self.untrimmed != self.seen {
            self.seen = self.untrimmed;
            self.has_run = true;
            self.look_after = Some(TRIM_AFTER);
        }
        self.look_after.filter(|look_after| timeout.is_none_or(|timeout| timeout > *look_after))
    }

    /// It looks at the one heap of all processes: `true` if that is to be collected first.
    fn is_collection_due(&mut self, now_ns: u64) -> bool {
        let look = shared::look_at_rest(std::mem::take(&mut self.has_run), now_ns);
        self.look_after = match look {
            AtRest::Collect => Some(MARKS),
            AtRest::Later(due_ns) => Some(Duration::from_nanos(due_ns.saturating_sub(now_ns))),
            AtRest::Nothing => None,
        };
        look == AtRest::Collect
    }

    /// Has it worked enough to give memory back? Then it does so now.
    fn take_trim(&mut self) -> bool {
        let is_due = self.untrimmed >= TRIM_REDUCTIONS;
        if is_due {
            (self.untrimmed, self.seen) = (0, 0);
        }
        is_due
    }
}

impl Scheduler {
    /// Parks, for so long at most, and looks meanwhile. Returns sooner if the one heap is to be collected before it parks again.
    pub(crate) fn park_and_look(&mut self, timeout: Option<Duration>) {
        let (vm, id) = (self.vm, self.local.id);
        let _sleep = microstate::within(State::Sleep);
        self.look_for_clean_up();
        if vm.clean_up.take_due(id) {
            self.rest.untrimmed = self.rest.untrimmed.max(TRIM_REDUCTIONS);
        }
        if shared::is_on() && shared::look_before_rest(self.local.now_ns) {
            return;
        }
        if vm.sleepers.is_due(self.local.now_ns) {
            return vm.ask_sleeper(self.local.now_ns);
        }
        let timeout = vm.holders.shorten(timeout, self.local.now_ns);
        let timeout = vm.sleepers.shorten(timeout, self.local.now_ns);
        let Some(look_after) = self.rest.begin(timeout) else { return vm.platform.park(id, timeout) };
        let before = vm.platform.now_ns();
        vm.platform.park(id, Some(look_after));
        let now_ns = vm.platform.now_ns();
        if u128::from(now_ns.saturating_sub(before)) < look_after.as_nanos() {
            return;
        }
        self.rest.look_after = None;
        vm.holders.look_at_rest();
        if shared::is_on() && self.rest.is_collection_due(now_ns) {
            return;
        }
        if self.rest.take_trim() {
            let _aux = microstate::within(State::Aux);
            if shared::is_on() {
                shared::give_back(Unneeded::All);
            }
            bundle::give_back();
            myriad_term::memory::trim();
            vm.clean_up.is_done(id, clean_up::bytes_in_use());
        }
    }
}
