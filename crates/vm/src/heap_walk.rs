//! What a heap walk (crate `observe`) has the upper crates say of the objects that they hold ([`Subsystem::each_object`]).
//!
//! [`Subsystem::each_object`]: crate::subsystem::Subsystem::each_object

use myriad_term::{Atom, Boxed, Pid, Port, RefNumbers};

/// What holds an object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Holder {
    /// A process; of a timer, the one that it will send its message to.
    Process(Pid),
    /// A port, for the terms that it keeps.
    Port(Port),
    /// The name that a timer will send its message to.
    Name(Atom),
    /// A table with a name.
    NamedTable(Atom),
    /// A table without one, by the numbers of its identifier.
    Table(RefNumbers),
    /// A compiled match specification, by its address.
    Specification(usize),
    /// The table of persistent terms.
    PersistentTerms,
}

/// Where it holds the object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// In a heap, a message or another signal.
    Heap,
    /// In a timer's message.
    Timer,
    /// In a row of a table.
    Row,
    /// In the memory of a specification.
    Specification,
    /// In the VM's own tables.
    System,
}

/// Gets each object.
pub type Visit<'a> = &'a mut dyn FnMut(Holder, Place, Boxed);
