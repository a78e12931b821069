//! Built-in functions, by Erlang module.
