//! `myriad_fuzz::target::bif_call` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| myriad_fuzz::target::bif_call(bytes));
