//! `myriad compat`: which built-ins, instructions, NIF functions and functions of the driver interface are there and which are not, from the tables; whether there is machine code.

use std::collections::BTreeSet;

/// Prints the lists; the exit status.
pub fn print() -> i32 {
    let mut there = BTreeSet::new();
    for def in myriad::boot::tables().iter().flat_map(|t| t.iter()) {
        there.insert((def.module, def.function, def.arity, def.kind.is_nif()));
    }
    // Instructions of their own, wherever they are called from.
    there.insert(("erlang", "hibernate", 3, false));
    let asked = asked_for();
    let missing: Vec<_> = asked
        .iter()
        .filter(|(m, f, a)| {
            !there.contains(&(m.as_str(), f.as_str(), *a, false))
                && !there.contains(&(m.as_str(), f.as_str(), *a, true))
        })
        .collect();
    println!("built-in functions: {}", there.iter().filter(|t| !t.3).count());
    println!("functions of built-in NIF modules: {}", there.iter().filter(|t| t.3).count());
    println!("machine code (+Jnative true): {}", myriad::native::lacks().unwrap_or("yes"));
    for (module, function, arity, nif) in &there {
        println!("  {module}:{function}/{arity}{}", if *nif { " (NIF)" } else { "" });
    }
    println!("missing of what OTP 25 has: {}", missing.len());
    for (module, function, arity) in missing {
        println!("  {module}:{function}/{arity}");
    }
    missing_of("NIF interface (enif_*)", myriad_nif::names().count(), &[]);
    missing_of("driver interface (driver_*, erl_drv_*)", myriad_driver::names().count(), myriad_driver::MISSING);
    0
}

/// What is missing of so many functions of an interface for C libraries.
fn missing_of(interface: &str, functions: usize, missing: &[&str]) {
    println!("missing of the {interface}, {functions} functions: {}", missing.len());
    for name in missing {
        println!("  {name}");
    }
}

/// What the emulator of OTP 25 offers: a list kept beside this file, `module:function/arity` a line.
fn asked_for() -> Vec<(String, String, u8)> {
    include_str!("otp25_functions.txt")
        .lines()
        .filter_map(|line| {
            let (module, rest) = line.split_once(':')?;
            let (function, arity) = rest.rsplit_once('/')?;
            Some((module.to_owned(), function.to_owned(), arity.parse().ok()?))
        })
        .collect()
}
