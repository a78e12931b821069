//! The command `myriad-sim`; built with the feature `costs`.

#[global_allocator]
static ALLOCATOR: myriad_sim::CoreHeaps = myriad_sim::CoreHeaps;

fn main() {
    std::process::exit(myriad_sim::command());
}
