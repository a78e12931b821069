//! Code that is executed, and gives what a plain interpreter of forms gives over the same memory.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod builder;
mod cases;
mod interpreter;
mod measure;
mod random;
mod shapes;
mod world;
