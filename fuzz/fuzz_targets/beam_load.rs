//! `myriad_fuzz::targets::beam_load` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| myriad_fuzz::targets::beam_load(bytes));
