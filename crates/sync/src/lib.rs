//! Synchronisation: the only place that names atomics, locks or threads (docs/design.md, section 8).
