//! How long it takes to load and to decode .beam files: `cargo run --release -p myriad-beam --example
//! load_time FILE...`. Best of several rounds, all files together; reading the files is not counted.

use std::time::{Duration, Instant};

use myriad_beam::{BeamFile, Module, md5};

fn best(mut round: impl FnMut()) -> Duration {
    let time = |_| {
        let start = Instant::now();
        round();
        start.elapsed()
    };
    (0..15).map(time).min().unwrap_or_default()
}

fn main() {
    let files: Vec<Vec<u8>> = std::env::args().skip(1).filter_map(|path| std::fs::read(path).ok()).collect();
    let modules: Vec<Module> = files.iter().filter_map(|bytes| Module::load(bytes).ok()).collect();
    let code: usize = modules.iter().map(Module::code_size).sum();
    let instructions: u32 = modules.iter().flat_map(|m| &m.functions).map(|f| f.instructions).sum();
    println!("{} modules, {code} bytes of code, {instructions} instructions", modules.len());
    let load = best(|| files.iter().for_each(|bytes| drop(Module::load(bytes))));
    let hash = best(|| {
        for file in files.iter().filter_map(|bytes| BeamFile::parse(bytes).ok()) {
            std::hint::black_box(md5(&file));
        }
    });
    let scan = best(|| modules.iter().for_each(|module| assert!(module.rescan().is_ok())));
    let decode = best(|| {
        for module in &modules {
            for index in 0..module.functions.len() as u32 {
                drop(std::hint::black_box(module.decode_function(index)));
            }
        }
    });
    println!("load {load:?} (of which scan {scan:?}, md5 {hash:?}), decode {decode:?}");
}
