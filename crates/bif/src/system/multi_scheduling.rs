//! `system_flag(multi_scheduling, ...)`: while a process blocks it, one scheduler runs all Erlang code.

use myriad_sync::atomic::{AtomicBool, Ordering};
use myriad_sync::{LockClass, Mutex};
use myriad_term::{Atom, Build, Pid, Term, am};
use myriad_vm::{Ctx, Vm};

/// Who blocks, and what it was like before.
struct Blocked {
    /// Once for each time; the second says that it is the normal schedulers only.
    by: Vec<(Pid, bool)>,
    online_before: usize,
}

static CLASS: LockClass = LockClass::new("multi_scheduling", 282);
static BLOCKED: Mutex<Blocked> = Mutex::new(&CLASS, Blocked { by: Vec::new(), online_before: 0 });
/// Is anybody in the list? Ending processes look here first.
static ANY: AtomicBool = AtomicBool::new(false);

impl Blocked {
    fn state(&self, vm: &Vm) -> Atom {
        if vm.config.schedulers < 2 {
            am::disabled
        } else if self.by.is_empty() {
            am::enabled
        } else if self.by.iter().all(|(_, normal)| *normal) {
            am::blocked_normal
        } else {
            am::blocked
        }
    }

    fn unblock(&mut self, vm: &'static Vm) {
        if self.by.is_empty() && self.online_before > 0 {
            vm.set_schedulers_online(std::mem::take(&mut self.online_before));
            // Relaxed: under the lock.
            ANY.store(false, Ordering::Relaxed);
        }
    }
}

/// The state, as an atom.
pub(super) fn state_of(vm: &Vm) -> Atom {
    BLOCKED.lock().state(vm)
}

/// Blocks or unblocks; gives the state after. Nothing: no such value.
pub(super) fn set(ctx: &mut Ctx<'_>, how: Atom) -> Option<Atom> {
    let (vm, own) = (ctx.vm, ctx.pid());
    let mut blocked = BLOCKED.lock();
    match how {
        am::block | am::block_normal if vm.config.schedulers > 1 => {
            if blocked.by.is_empty() {
                blocked.online_before = vm.set_schedulers_online(1)?;
                // Relaxed: under the lock; a process that blocks looks again when it ends itself.
                ANY.store(true, Ordering::Relaxed);
            }
            blocked.by.push((own, how == am::block_normal));
        }
        am::block | am::block_normal => {}
        am::unblock | am::unblock_normal => {
            let one = blocked.by.iter().rposition(|b| *b == (own, how == am::unblock_normal));
            if let Some(at) = one {
                blocked.by.remove(at);
                blocked.unblock(vm);
            }
        }
        _ => return None,
    }
    Some(blocked.state(vm))
}

/// Who blocks, each once.
pub(super) fn blockers(ctx: &mut Ctx<'_>, normal: bool) -> Term {
    let mut pids: Vec<Pid> = BLOCKED.lock().by.iter().filter(|b| b.1 == normal).map(|b| b.0).collect();
    pids.sort_unstable();
    pids.dedup();
    let pids: Vec<Term> = pids.into_iter().map(Pid::term).collect();
    ctx.list(&pids)
}

/// A process that ends blocks no longer.
pub fn process_exits(ctx: &mut Ctx<'_>) {
    // Relaxed: its own blocking, which is all that counts here, it has seen.
    if ANY.load(Ordering::Relaxed) {
        let own = ctx.pid();
        let mut blocked = BLOCKED.lock();
        blocked.by.retain(|(pid, _)| *pid != own);
        blocked.unblock(ctx.vm);
    }
}
