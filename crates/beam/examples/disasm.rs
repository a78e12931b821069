//! Prints the listing of .beam files: `cargo run -p myriad-beam --example disasm FILE...`.

fn main() {
    for path in std::env::args().skip(1) {
        match std::fs::read(&path).map_err(|error| error.to_string()) {
            Ok(bytes) => match myriad_beam::Module::load(&bytes) {
                Ok(module) => print!("{}", module.disasm()),
                Err(error) => eprintln!("{path}: {error}"),
            },
            Err(error) => eprintln!("{path}: {error}"),
        }
    }
}
