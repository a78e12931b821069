//! Processes that are told when nodes come and go, and the one that keeps this node alive.
//!
//! Both are rare, so one lock stands over all who are told, and a process that ends looks there only if it ever asked
//! ([`crate::links::Tables::watches_nodes`]).

use crate::{Message, Payload};
use myriad_sync::atomic::{AtomicU64, Ordering};
use myriad_sync::{LockClass, Mutex};
use myriad_term::{Atom, Build, Pid, Term, am, map};

/// A leaf: nothing is locked, and no signal sent, while it is held.
static CLASS: LockClass = LockClass::new("nodes_monitors", 666);

/// The form of the messages of one request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum NodeNews {
    /// `{nodeup, Node}`
    #[default]
    Plain,
    /// `{nodeup, Node, [{Key, Value}]}`
    List,
    /// `{nodeup, Node, #{Key => Value}}`
    Map,
}

/// What a process asks to be told of nodes that come and go (`process_flag(monitor_nodes, ...)`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct NodeWatch {
    /// How it is told.
    pub form: NodeNews,
    /// Of which nodes. `None`: of the visible ones, and the message names no type.
    pub node_type: Option<NodeType>,
    /// Whether with `connection_id`.
    pub connection_id: bool,
    /// Whether with `nodedown_reason`.
    pub nodedown_reason: bool,
}

/// The value of `node_type`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeType {
    /// Nodes that all others see.
    Visible,
    /// Nodes that connect by themselves alone.
    Hidden,
    /// Both.
    All,
}

/// The requests of one kind by one process.
struct Watcher {
    pid: Pid,
    watch: NodeWatch,
    /// How many messages it gets for each change.
    times: u32,
}

/// Whose end is the end of this node's life, and who is told of nodes.
pub struct Nodes {
    /// The raw term of the process whose end takes the name away. 0: the node is not alive.
    keeper: AtomicU64,
    watchers: Mutex<Vec<Watcher>>,
}

impl Default for Nodes {
    fn default() -> Nodes {
        Nodes { keeper: AtomicU64::new(0), watchers: Mutex::new(&CLASS, Vec::new()) }
    }
}

impl Nodes {
    /// One more request of this kind by a process; gives how many there were.
    pub fn add(&self, pid: Pid, watch: NodeWatch) -> u32 {
        let mut all = self.watchers.lock();
        if let Some(one) = all.iter_mut().find(|one| one.pid == pid && one.watch == watch) {
            one.times = one.times.saturating_add(1);
            return one.times - 1;
        }
        // Those of one process stand in the order of their kinds.
        let at = all.iter().position(|one| one.pid == pid && one.watch > watch).unwrap_or(all.len());
        all.insert(at, Watcher { pid, watch, times: 1 });
        0
    }

    /// Withdraws the requests of this kind by a process; gives how many there were.
    pub fn remove(&self, pid: Pid, watch: NodeWatch) -> u32 {
        let mut all = self.watchers.lock();
        match all.iter().position(|one| one.pid == pid && one.watch == watch) {
            Some(at) => all.remove(at).times,
            None => 0,
        }
    }

    /// Lets go of a process.
    pub fn forget(&self, pid: Pid) {
        self.watchers.lock().retain(|one| one.pid != pid);
    }

    /// Calls `tell` with the messages of a visible node's change, and with who gets them.
    pub fn news(&self, change: Change, node: Atom, mut tell: impl FnMut(Pid, Message)) {
        let told: Vec<(Pid, NodeWatch, u32)> = {
            let all = self.watchers.lock();
            all.iter().map(|one| (one.pid, one.watch, one.times)).collect()
        };
        for (pid, watch, times) in told.into_iter().filter(|(_, watch, _)| watch.covers_visible()) {
            for _ in 0..times {
                tell(pid, watch.message(change, node));
            }
        }
    }

    /// From now on the end of this process, which bears its name (the caller holds the lock over names), takes the node's name away.
    pub fn keep(&self, keeper: Pid) {
        // Release: pairs with `is_kept_by`.
        self.keeper.store(keeper.term().raw(), Ordering::Release);
    }

    /// Nobody keeps the node's name any more.
    pub fn keep_no_more(&self) {
        // Relaxed: nobody acts upon it before another process bears the keeper's name.
        self.keeper.store(0, Ordering::Relaxed);
    }

    /// Does this process's end take the name away?
    pub fn is_kept_by(&self, pid: Pid) -> bool {
        // Acquire: pairs with the store in `keep`, of which a process that ends knows by the lock over names: it was registered then, and has given
        // its name up since.
        self.keeper.load(Ordering::Acquire) == pid.term().raw()
    }
}

/// What befalls a node.
#[derive(Clone, Copy)]
pub enum Change {
    /// It is there from now on.
    Up,
    /// It has gone, for this reason.
    Down(Atom),
}

impl NodeWatch {
    /// Is a visible node's change told?
    fn covers_visible(self) -> bool {
        self.node_type != Some(NodeType::Hidden)
    }

    /// The message of a change of a visible node.
    fn message(self, change: Change, node: Atom) -> Message {
        let payload = Payload::build(32, |draft| {
            let tag = if matches!(change, Change::Up) { am::nodeup } else { am::nodedown };
            let mut pairs = Vec::new();
            if self.connection_id {
                pairs.push((am::connection_id.term(), Term::UNDEFINED));
            }
            if let (true, Change::Down(reason)) = (self.nodedown_reason, change) {
                pairs.push((am::nodedown_reason.term(), reason.term()));
            }
            if self.node_type.is_some() {
                pairs.push((am::node_type.term(), am::visible.term()));
            }
            let info = match self.form {
                NodeNews::Plain => return draft.tuple(&[tag.term(), node.term()]),
                NodeNews::Map => map::from_pairs(draft, &pairs),
                NodeNews::List => {
                    let items: Vec<_> = pairs.iter().map(|(key, value)| draft.tuple(&[*key, *value])).collect();
                    draft.list(&items)
                }
            };
            draft.tuple(&[tag.term(), node.term(), info])
        });
        Message::new(payload, Term::NONE)
    }
}
