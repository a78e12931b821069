//! Links, monitors and aliases of one process: its own side of them.
//!
//! L1. Both ends keep their side by themselves; the sides agree once all signals under way have arrived.
//! L2. Unlinking takes effect at once on the own side: until the other side has acknowledged ([`Link::Unlinking`]), exit signals
//!     over the old link are ignored, and so are links that the other side makes until then: it made them before it handled the
//!     unlinking, which will end them.

use crate::parallel::Parallel;
use myriad_heap::Payload;
use myriad_sync::Arc;
use myriad_sync::atomic::AtomicBool;
use myriad_term::{Magic, Pid, Port, RefNumbers, Term};
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;

/// A map whose order depends on nothing but what was put in, so that a run can be repeated.
pub type Map<K, V> = HashMap<K, V, BuildHasherDefault<DefaultHasher>>;

/// One side of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Link {
    /// Linked.
    Active,
    /// The own side has taken it back; the number is that of the acknowledgement to wait for.
    Unlinking(u64),
}

/// When an alias ends (`monitor/3`'s option `alias`, `alias/1`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AliasMode {
    /// Only by `unalias/1`.
    Explicit,
    /// Also by `demonitor` or the `'DOWN'` message.
    Demonitor,
    /// Also by the first message that comes through it.
    Reply,
}

/// What a monitor watches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// A process of this node.
    Process(Pid),
    /// A port of this node.
    Port(myriad_term::Port),
    /// The offset between system time and monotonic time (`monitor(time_offset, clock_service)`).
    TimeOffset,
    /// No process any more: the target was gone when the monitor was made, the `'DOWN'` is on its way.
    Gone,
    /// As [`Target::Gone`], of a port.
    GonePort,
}

/// A monitor that the process has set.
pub struct Monitor {
    /// What it watches.
    pub target: Target,
    /// Registered name by which it was set, as `{Name, Node}` in the message, or [`Term::NONE`].
    pub name: Term,
    /// First element of the message instead of `'DOWN'`.
    pub tag: Option<Payload>,
}

/// A monitor that another process has set on this one.
#[derive(Clone, Copy)]
pub struct Watcher {
    /// The process that has set it.
    pub from: Pid,
    /// The name it was addressed by, or [`Term::NONE`].
    pub name: Term,
}

/// What is to know of the process's end and is no process. It is dropped then, and its `Drop` does what follows from that: on the thread
/// that ends the process, or where the process was found ended.
pub trait Watch: Send {
    /// What `process_info(Pid, monitored_by)` shows for it, if that is still there.
    fn shown(&self) -> Option<Shown>;
}

/// What watches a process and is no process.
pub enum Shown {
    /// An object, of which a reference is shown.
    Object(Magic),
    /// A port.
    Port(Port),
}

/// The suspensions of one process by another, on the side of the other.
#[derive(Default)]
pub struct Suspension {
    /// How many.
    pub times: u32,
    /// Has the suspended process seen one of them? It says so.
    pub active: Arc<AtomicBool>,
}

/// All of them. Boxed as a whole: most processes have one or two.
#[derive(Default)]
pub struct Tables {
    /// By the term of the other end (a local pid or port).
    pub links: BTreeMap<u64, (Term, Link)>,
    /// Set by this process.
    pub monitors: Map<RefNumbers, Monitor>,
    /// Set on this process.
    pub watchers: Map<RefNumbers, Watcher>,
    /// The same, of others than processes.
    pub watches: Map<RefNumbers, Box<dyn Watch>>,
    /// Active aliases.
    pub aliases: Map<RefNumbers, AliasMode>,
    /// Processes that this one has suspended.
    pub suspending: Map<Pid, Suspension>,
    /// The process has asked to be told of nodes ([`crate::nodes`]).
    pub watches_nodes: bool,
    /// Number for the next unlinking.
    pub unlink_serial: u64,
    /// Loops whose parts others may do.
    pub parallel: Option<Box<Parallel>>,
}

/// The relations of one process.
#[derive(Default)]
pub struct Relations(Option<Box<Tables>>);

impl Relations {
    /// None yet.
    pub const fn new() -> Relations {
        Relations(None)
    }

    /// The tables, if any relation was ever made.
    pub fn get(&self) -> Option<&Tables> {
        self.0.as_deref()
    }

    /// The tables, made if need be.
    pub fn tables(&mut self) -> &mut Tables {
        self.0.get_or_insert_default()
    }

    /// Loops whose parts others may do, if there ever was one.
    #[inline]
    pub fn parallel_mut(&mut self) -> Option<&mut Parallel> {
        self.0.as_deref_mut().and_then(|tables| tables.parallel.as_deref_mut())
    }

    /// The same, made if need be.
    #[inline]
    pub fn parallel(&mut self) -> &mut Parallel {
        self.tables().parallel.get_or_insert_default()
    }

    /// Takes all of them (at the end of the process).
    pub fn take(&mut self) -> Tables {
        self.0.take().map_or_else(Tables::default, |b| *b)
    }

    /// Adds a link or makes an unlinking one active again. `true` if the other side must be told.
    pub fn link(&mut self, other: Term) -> bool {
        debug_assert!(can_be_linked(other));
        self.tables().links.insert(other.raw(), (other, Link::Active)).is_none_or(|(_, l)| l != Link::Active)
    }

    /// The other side has linked itself to this process (L2); is that new?
    pub fn linked_by(&mut self, other: Term) -> bool {
        debug_assert!(can_be_linked(other));
        let mut new = false;
        self.tables().links.entry(other.raw()).or_insert_with(|| {
            new = true;
            (other, Link::Active)
        });
        new
    }

    /// Is there an active link?
    pub fn is_linked(&self, other: Term) -> bool {
        self.get().and_then(|t| t.links.get(&other.raw())).is_some_and(|(_, l)| *l == Link::Active)
    }

    /// Takes a link back; the number to send, if there was one (L2).
    pub fn unlink(&mut self, other: Term) -> Option<u64> {
        let tables = self.0.as_deref_mut()?;
        let entry = tables.links.get_mut(&other.raw())?;
        if entry.1 != Link::Active {
            return None;
        }
        tables.unlink_serial += 1;
        entry.1 = Link::Unlinking(tables.unlink_serial);
        debug_assert!(!self.is_linked(other), "L2: it takes effect at once");
        self.get().map(|tables| tables.unlink_serial)
    }

    /// The other side unlinks, or has ended: drops an active link. `true` if there was one.
    pub fn drop_link(&mut self, other: Term) -> bool {
        let Some(tables) = self.0.as_deref_mut() else { return false };
        match tables.links.get(&other.raw()) {
            Some((_, Link::Active)) => {
                tables.links.remove(&other.raw());
                true
            }
            _ => false,
        }
    }

    /// The other side has acknowledged unlinking number `id`.
    pub fn unlink_acknowledged(&mut self, other: Term, id: u64) {
        if let Some(tables) = self.0.as_deref_mut()
            && tables.links.get(&other.raw()).is_some_and(|(_, l)| *l == Link::Unlinking(id))
        {
            tables.links.remove(&other.raw());
        }
    }

    /// The alias of a reference.
    pub fn alias(&self, reference: RefNumbers) -> Option<AliasMode> {
        self.get()?.aliases.get(&reference).copied()
    }

    /// Ends an alias; `true` if it was active.
    pub fn unalias(&mut self, reference: RefNumbers) -> bool {
        self.0.as_deref_mut().is_some_and(|t| t.aliases.remove(&reference).is_some())
    }

    /// A monitor has ended by `demonitor` or `'DOWN'`: its alias too, unless explicit.
    pub fn monitor_over(&mut self, reference: RefNumbers) -> Option<Monitor> {
        let tables = self.0.as_deref_mut()?;
        let monitor = tables.monitors.remove(&reference);
        if monitor.is_some() && tables.aliases.get(&reference).is_some_and(|m| *m != AliasMode::Explicit) {
            tables.aliases.remove(&reference);
        }
        monitor
    }
}

/// Is this the other end of a link: a process or port of this node?
fn can_be_linked(other: Term) -> bool {
    other.as_local_pid().is_some() || other.as_local_port().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unlinking_ignores_the_old_link_until_acknowledged() {
        let other = Pid::new(7, 0).term();
        let mut r = Relations::default();
        assert!(r.link(other));
        assert!(!r.link(other));
        let id = r.unlink(other).unwrap();
        assert!(!r.is_linked(other) && !r.drop_link(other) && r.unlink(other).is_none());
        assert!(r.link(other), "linking again before the acknowledgement tells the other side");
        r.unlink_acknowledged(other, id);
        assert!(r.is_linked(other), "an old acknowledgement does not end the new link");
    }

    #[test]
    fn a_link_that_crosses_an_unlinking_is_ended_by_it() {
        let other = Pid::new(7, 0).term();
        let mut r = Relations::default();
        r.link(other);
        let id = r.unlink(other).unwrap();
        r.linked_by(other);
        assert!(!r.is_linked(other));
        r.unlink_acknowledged(other, id);
        r.linked_by(other);
        assert!(r.is_linked(other), "made after the other side knew");
    }
}
