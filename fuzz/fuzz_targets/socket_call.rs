//! `myriad_fuzz::targets::socket_call` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| myriad_fuzz::targets::socket_call(bytes));
