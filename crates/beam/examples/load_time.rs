//! How long it takes to load, decode and analyse .beam files: `cargo run --release -p myriad-beam --example
//! load_time FILE...`. Reading the files is not counted.

use std::hint::black_box;
use std::time::{Duration, Instant};

use myriad_beam::{BeamFile, Body, Module, md5};

/// The sum over all items of the best of several rounds: robust against a busy machine.
fn best<T>(items: &[T], mut work: impl FnMut(&T)) -> Duration {
    let mut time = |item: &T| {
        let start = Instant::now();
        work(item);
        start.elapsed()
    };
    items.iter().map(|item| (0..25).map(|_| time(item)).min().unwrap_or_default()).sum()
}

fn main() {
    let files: Vec<Vec<u8>> = std::env::args().skip(1).filter_map(|path| std::fs::read(path).ok()).collect();
    let modules: Vec<Module> = files.iter().filter_map(|bytes| Module::load(bytes).ok()).collect();
    let code: usize = modules.iter().map(Module::code_size).sum();
    let instructions: u32 = modules.iter().flat_map(|m| &m.functions).map(|f| f.instructions).sum();
    println!("{} modules, {code} bytes of code, {instructions} instructions", modules.len());
    let load = best(&files, |bytes| drop(Module::load(bytes)));
    let hash = best(&files, |bytes| {
        black_box(BeamFile::parse(bytes).map(|file| md5(&file)).ok());
    });
    let scan = best(&modules, |module| assert!(module.rescan().is_ok()));
    let decode = best(&modules, |module| {
        for index in 0..module.functions.len() as u32 {
            drop(black_box(module.decode_function(index)));
        }
    });
    println!("load {load:?} (of which scan {scan:?}, md5 {hash:?}), decode {decode:?}");
    let decoded =
        |module: &Module| (0..module.functions.len() as u32).flat_map(|f| module.decode_function(f)).collect();
    let bodies: Vec<(&Module, Vec<Body>)> = modules.iter().map(|module| (module, decoded(module))).collect();
    let frames = best(&bodies, |(module, bodies)| bodies.iter().for_each(|body| drop(black_box(module.frames(body)))));
    let live = best(&bodies, |(module, bodies)| bodies.iter().for_each(|body| drop(black_box(module.liveness(body)))));
    println!("frames {frames:?}, liveness {live:?}");
}
