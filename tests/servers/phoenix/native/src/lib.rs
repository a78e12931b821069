//! A NIF library by rustler: terms both ways, an object with a lock, a dirty scheduler, a thread that sends, and failures.

use std::collections::HashMap;
use std::sync::Mutex;
use std::thread;

use rustler::{Atom, Encoder, Env, Error, NifResult, OwnedEnv, Resource, ResourceArc};

rustler::atoms! { ok, shouted, out_of_paper }

/// A sum that lives as long as a term refers to it.
struct Counter(Mutex<i64>);

#[rustler::resource_impl]
impl Resource for Counter {}

#[rustler::nif]
fn words(text: &str) -> HashMap<&str, u32> {
    let mut counts = HashMap::new();
    for word in text.split_whitespace() {
        *counts.entry(word).or_default() += 1;
    }
    counts
}

#[rustler::nif(schedule = "DirtyCpu")]
fn primes(below: usize) -> Vec<usize> {
    let mut composite = vec![false; below];
    let mut found = Vec::new();
    for number in 2..below {
        if !composite[number] {
            found.push(number);
            for multiple in (number * number..below).step_by(number) {
                composite[multiple] = true;
            }
        }
    }
    found
}

#[rustler::nif]
fn counter() -> ResourceArc<Counter> {
    ResourceArc::new(Counter(Mutex::new(0)))
}

#[rustler::nif]
fn add(counter: ResourceArc<Counter>, number: i64) -> i64 {
    let mut sum = counter.0.lock().expect("no holder panics");
    *sum += number;
    *sum
}

#[rustler::nif]
fn shout(env: Env, text: String) -> Atom {
    let to = env.pid();
    thread::spawn(move || OwnedEnv::new().send_and_clear(&to, |env| (shouted(), text.to_uppercase()).encode(env)));
    ok()
}

#[rustler::nif]
fn fail(how: &str) -> NifResult<Atom> {
    match how {
        "error" => Err(Error::BadArg),
        "atom" => Err(Error::RaiseTerm(Box::new(out_of_paper()))),
        _ => panic!("asked for"),
    }
}

rustler::init!("Elixir.Board.Native");
