//! Processes, signals, timers, code, schedulers and the built-in function interface.
