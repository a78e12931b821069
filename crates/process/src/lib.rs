//! The process: its state, the signals by which all others act on it, its messages, links and names.
//!
//! Above `heap` in the crate order (docs/architecture.md). A process knows no code, no scheduler and no tracer: what the layers above
//! hang on it are types of a [`Runtime`], and a sender learns from the returned [`Wake`] what it must do.
//!
//! | module | holds |
//! | --- | --- |
//! | [`runtime`] | what the layers above hang on a process |
//! | [`process`] | what all threads see of a process, and its transitions |
//! | [`status`], [`priority`] | the scheduling state as a pure table; the priorities |
//! | [`owner`] | the part that only its owner touches, with [`dictionary`], [`exception`], [`reductions`] and [`suspensions`] |
//! | [`roots`] | the terms that it holds outside heap and stack; collections |
//! | [`signal`] | the outer queue: what others may say to a process, and the terms that they send along |
//! | [`message`] | the inner queue: messages, the receive position and its marks |
//! | [`tasks`] | what others have asked it to do for itself |
//! | [`ending`] | how far it has come with its end |
//! | [`links`] | links, monitors, aliases, suspensions: a process's own side of them |
//! | [`table`], [`listing`] | from a pid to the process; all processes of one moment |
//! | [`names`] | registered names |
//! | [`tracee`] | the one word that is tested before anything is traced |
//! | [`mod@trail`] | where a receiver of many messages finds the next but some |
//! | [`parallel`] | loops whose parts other processes may do |
//! | [`timer`], [`code_ptr`] | the name of a timer, and the time of a receive; an address in code |
//! | [`lazy_box`] | parts that few processes have |

pub mod code_ptr;
pub mod dictionary;
pub mod ending;
pub mod exception;
pub mod lazy_box;
pub mod links;
pub mod listing;
pub mod message;
pub mod names;
pub mod nodes;
pub mod owner;
pub mod parallel;
pub mod priority;
pub mod process;
pub mod reductions;
pub mod roots;
pub mod runtime;
pub mod signal;
pub mod status;
pub mod suspensions;
pub mod table;
pub mod tasks;
pub mod timer;
pub mod tracee;
pub mod trail;

pub use code_ptr::CodePtr;
pub use dictionary::Dictionary;
pub use ending::Ending;
pub use exception::{Class, Exception, TraceFrame};
pub use lazy_box::{LazyBox, StaticDefault};
pub use listing::{Listed, Listing};
pub use message::{Message, MessageQueue, QueueMark, Taken};
pub use myriad_heap::Payload;
pub use names::{Named, Names};
pub use owner::{Flags, Frames, Markers, OwnerState, Resume};
pub use priority::{Band, Priority};
pub use process::{DirtyState, Process};
pub use reductions::{LOOK, Reductions};
pub use runtime::Runtime;
pub use signal::{Packet, Signal, Signals};
pub use status::{Status, Wake};
pub use suspensions::Suspensions;
pub use table::ProcessTable;
pub use tasks::{Task, Tasks};
pub use timer::{ReceiveTimer, TimerId, WheelSet};
pub use tracee::Tracee;
pub use trail::Trail;
