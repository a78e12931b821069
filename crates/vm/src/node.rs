//! This node: the name that it bears while it is alive, and the processes that are told when nodes come and go.
//!
//! A node is alive from `setnode/2` on, until the process ends that was registered as `net_kernel` then.

use crate::Signal;
use crate::ctx::Ctx;
use crate::vm::Vm;
use myriad_process::names::Named;
use myriad_process::nodes::{Change, NodeWatch};
use myriad_term::{Atom, am, node};

impl Vm {
    /// Tells all who asked for it of this node's change.
    fn tell_of_node(&'static self, change: Change, node: Atom) {
        self.nodes.news(change, node, |pid, message| {
            self.signal_pid(pid, Signal::Message(message));
        });
    }

    /// Gives this node its name and creation, until the process ends that is registered as `net_kernel`. `false`: there is none, or
    /// the node is alive.
    pub fn name_node(&'static self, name: Atom, creation: u32) -> bool {
        let named = self.names.while_registered(am::net_kernel, |what| {
            let Named::Process(keeper) = what else { return false };
            if self.node_name() != am::nonode_nohost {
                return false;
            }
            self.nodes.keep(keeper);
            node::set_local(name, creation);
            true
        });
        if named == Some(true) {
            self.tell_of_node(Change::Up, name);
        }
        named == Some(true)
    }
}

impl Ctx<'_> {
    /// One more request to be told of nodes, or none of this kind any more; gives how many there were.
    pub fn watch_nodes(&mut self, watch: NodeWatch, on: bool) -> u32 {
        if !on {
            return self.vm.nodes.remove(self.pid(), watch);
        }
        self.state.relations.tables().watches_nodes = true;
        self.vm.nodes.add(self.pid(), watch)
    }

    /// A process that has given its name up lets go of what it has to do with nodes; with the one that keeps it this node's name goes.
    pub(crate) fn leave_nodes(&mut self) {
        let (vm, pid) = (self.vm, self.pid());
        if self.state.relations.get().is_some_and(|all| all.watches_nodes) {
            vm.nodes.forget(pid);
        }
        if vm.nodes.is_kept_by(pid) {
            let name = vm.node_name();
            node::set_local(am::nonode_nohost, 0);
            vm.nodes.keep_no_more();
            vm.tell_of_node(Change::Down(am::net_kernel_terminated), name);
        }
    }
}
