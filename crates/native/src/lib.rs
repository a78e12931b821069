//! Machine code: an intermediate form, a back end that makes code of it, and the memory that code stands in.
//!
//! It knows words, frames and the processor; what terms, functions and instructions of Erlang are, the crate above knows.

pub mod form;
