//! Real servers under load (`tests/servers/measure`): the server runs on either VM, its clients on OTP's.

use super::measure::{Bench, Pair, values};
use super::table::{Better, Tables};
use crate::files::top;
use crate::program;
use crate::stop::Stop;
use std::path::Path;

/// The figures that ejabberd's load prints, in its order.
const FIGURES: [(&str, &str, Better); 6] = [
    ("time to open the sessions", "ms", Better::Less),
    ("processor time of the server for that", "ms", Better::Less),
    ("messages", "/s", Better::More),
    ("99th percentile of answers", "µs", Better::Less),
    ("processor time of the server for a message", "µs", Better::Less),
    ("resident memory at the end", "KB", Better::Less),
];

/// The seconds that a server may take from its start to its end.
const PATIENCE: u64 = 900;

/// Measures the part `servers`.
pub fn servers(bench: &Bench, tables: &mut Tables) -> Result<(), Stop> {
    let [sessions, rounds] = if bench.quick { ["100", "5"] } else { ["2000", "20"] };
    tables.begin(&format!("ejabberd, {sessions} sessions in pairs, {rounds} messages each"))?;
    let pairs: [Pair; 6] = bench.turns_of("ejabberd", |vm| bench.load(vm, "ejabberd", &[sessions, rounds]));
    for ((name, unit, better), pair) in FIGURES.into_iter().zip(pairs) {
        tables.row(name, unit, better, pair)?;
    }
    Ok(())
}

impl Bench {
    /// The figures of a server's load.
    fn load<const N: usize>(&self, vm: &Path, server: &str, sizes: &[&str]) -> Option<[f64; N]> {
        let mut command = program::limited(self.timeout.max(PATIENCE), top().join("tests/servers/measure"));
        values(command.arg(server).arg(vm).args(sizes))
    }
}
