//! How far a process has come with its end, which is a walk of several slices. What is done in each stage is the layers' above.

use crate::links::{Link, Monitor, Suspension, Tables, Watch, Watcher};
use crate::runtime::Runtime;
use crate::signal::Signals;
use crate::timer::WheelSet;
use myriad_term::{Pid, RefNumbers, Term};
use std::collections::{btree_map, hash_map};

/// How far a process has come with its end.
pub struct Ending<R: Runtime> {
    /// The stage that is being worked on.
    pub stage: Stage<R>,
    /// How many of the layers above have let go of it, or begun to.
    pub let_go: usize,
    /// What the last of them has left to do.
    pub rest: Option<Box<R::Suspended>>,
}

/// The stages, in their order.
pub enum Stage<R: Runtime> {
    /// Timers that would send it messages are taken back; those of the wheels before `wheel` are.
    Timers {
        /// The wheels on which there may be some.
        on: WheelSet,
        /// The number of the wheel.
        wheel: usize,
    },
    /// It gives up what the layers above keep for it.
    Hooks,
    /// The outer queue is closed, and what is left is answered: what came after the signal that ended it, then what was in the
    /// queue.
    Signals([Signals<R>; 2]),
    /// Those who are related to it are told.
    Relations(Box<Parting>),
    /// Its messages are dropped.
    Messages,
    /// Nothing is left.
    Done,
}

impl<R: Runtime> Ending<R> {
    /// Nothing is done yet; the first stage is that of timers if there may be some, `on` these wheels.
    pub fn new(on: WheelSet) -> Ending<R> {
        let stage = if on.is_empty() { Stage::Hooks } else { Stage::Timers { on, wheel: 0 } };
        Ending { stage, let_go: 0, rest: None }
    }
}

/// The relations that are left.
pub struct Parting {
    /// Links: the other end, and its state.
    pub links: btree_map::IntoValues<u64, (Term, Link)>,
    /// Monitors on others.
    pub monitors: hash_map::IntoIter<RefNumbers, Monitor>,
    /// Processes that it has suspended.
    pub suspending: hash_map::IntoIter<Pid, Suspension>,
    /// The one of them at hand, and how often it is still to be resumed.
    pub resuming: Option<(Pid, u32)>,
    /// Those who monitor it.
    pub watchers: hash_map::IntoIter<RefNumbers, Watcher>,
    /// Others who do.
    pub watches: hash_map::IntoValues<RefNumbers, Box<dyn Watch>>,
}

impl Parting {
    /// From all relations.
    pub fn new(tables: Tables) -> Parting {
        Parting {
            links: tables.links.into_values(),
            monitors: tables.monitors.into_iter(),
            suspending: tables.suspending.into_iter(),
            resuming: None,
            watchers: tables.watchers.into_iter(),
            watches: tables.watches.into_values(),
        }
    }
}
