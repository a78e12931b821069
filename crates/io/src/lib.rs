//! Ports, files and the built-in NIF modules that reach the operating system.
