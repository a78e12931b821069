//! `myriad_fuzz::targets::regex` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| myriad_fuzz::targets::regex(bytes));
