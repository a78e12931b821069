//! What the layers above hang on a process.

use crate::lazy_box::StaticDefault;

/// The types of the layers above of which a process keeps values. This crate hands them back as it got them, and never looks
/// into them: so a process knows neither the code that it runs, nor the scheduler, nor the tracer.
pub trait Runtime: 'static {
    /// One version of a loaded module.
    type Module;
    /// One function of it.
    type Function;
    /// The rest of a long built-in that has given way.
    type Suspended: Send;
    /// What tracing counts and measures of a process.
    type Watched: StaticDefault;
    /// What a signal may ask the receiver's own thread to do ([`crate::Signal::Call`]).
    type Request: Send;
    /// What one process may ask another ([`crate::Signal::Ask`]).
    type Question: Send;
    /// The outcome of a built-in that ran on a dirty scheduler ([`crate::Signal::Returned`]).
    type Returned: Send;
}
