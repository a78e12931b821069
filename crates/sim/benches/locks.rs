//! `make bench-locks`, on simulated cores: see `lab.rs`.

fn main() {
    std::process::exit(myriad_sim::lab::command(std::env::args().skip(1)));
}
