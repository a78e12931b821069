//! Damaged files give an error or a module, in bounded time; never a panic. What still loads decodes.

mod common;

use myriad_beam::Module;
use myriad_testing::Random;

/// A file as it is, and with its literals left out of the compressed form, so that damage reaches them.
fn subjects() -> Vec<Vec<u8>> {
    let mut files = vec![include_bytes!("data/t25.beam").to_vec(), include_bytes!("data/t29.beam").to_vec()];
    let wanted = ["lists.beam", "prim_zip.beam", "gen.beam", "unicode.beam"];
    let installed = common::all();
    let named = installed.iter().filter(|path| wanted.iter().any(|name| path.ends_with(name)));
    files.extend(named.filter_map(|path| std::fs::read(path).ok()));
    files
}

/// Loads, decodes and analyses whatever loads; says whether it loaded.
fn survive(bytes: &[u8]) -> bool {
    match Module::load(bytes) {
        Ok(module) => {
            for index in 0..module.functions.len() as u32 {
                let body = module.decode_function(index).expect("what has been scanned can be decoded");
                assert!(body.iter().all(|instr| instr.args.len() == instr.op.arity()));
                // Analyses take longer than all else; some functions of each file are enough.
                if index % 8 == 0 {
                    let arity = u16::from(module.functions[index as usize].arity);
                    assert!(module.frames(&body).before(0).is_some());
                    assert!(module.liveness(&body).x(0).iter().all(|x| x < arity));
                }
            }
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}

#[test]
fn every_prefix_is_refused() {
    for file in subjects() {
        // Every length for small files; for large ones every length near both ends, and samples between.
        let step = if file.len() > 8192 { 97 } else { 1 };
        for length in (0..file.len()).filter(|n| *n < 2048 || n + 64 > file.len() || n % step == 0) {
            let loaded = survive(&file[..length]);
            // The form's size says more than there is.
            assert!(!loaded, "{length} of {}", file.len());
        }
    }
}

/// Prefixes of each chunk, with the sizes around it put right, so that the chunk's own reader must notice.
#[test]
fn truncated_chunks_do_not_panic() {
    for file in subjects() {
        let mut at = 12;
        while at + 8 <= file.len() {
            let size = u32::from_be_bytes(file[at + 4..at + 8].try_into().unwrap()) as usize;
            let next = at + 8 + size.next_multiple_of(4);
            let step = 1 + size / 200;
            for keep in (0..size).step_by(step) {
                let mut cut = file[..at + 4].to_vec();
                cut.extend((keep as u32).to_be_bytes());
                cut.extend(&file[at + 8..at + 8 + keep]);
                cut.resize(cut.len().next_multiple_of(4), 0);
                cut.extend(&file[next.min(file.len())..]);
                let form = (cut.len() - 8) as u32;
                cut[4..8].copy_from_slice(&form.to_be_bytes());
                survive(&cut);
            }
            at = next;
        }
    }
}

#[test]
fn flipped_bytes_do_not_panic() {
    let seed = std::env::var("MYRIAD_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0x5eed_u64);
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let mut loaded = 0;
    for file in subjects() {
        let rounds = 4_000_000 / file.len().max(1000);
        for _ in 0..rounds {
            let mut damaged = file.clone();
            for _ in 0..1 + random.below(3) {
                // Most of the damage where the tables and the code are: the first part of a file.
                let at =
                    if random.below(4) == 0 { random.below(damaged.len()) } else { random.below(damaged.len() / 2) };
                damaged[at] = match random.below(3) {
                    0 => damaged[at] ^ 1 << random.below(8),
                    1 => [0, 0xff, 0x7f, 0x80][random.below(4)],
                    _ => random.bits() as u8,
                };
            }
            loaded += usize::from(survive(&damaged));
        }
    }
    println!("{loaded} damaged files loaded");
    assert!(loaded > 0, "no damage went unnoticed: the test damages too much to reach the inner checks");
}
