//! `myriad_fuzz::targets::match_spec` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| myriad_fuzz::targets::match_spec(bytes));
