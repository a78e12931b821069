//! Misses of the data caches, which the paper reads from the processor's counters and we have counted by valgrind, with the caches of the
//! machine at hand: a program's are those of a VM that runs it without those of a VM that does not.

use super::Experiment;
use super::programs::{self, Program};
use super::vms::Vm;
use crate::bench::measure::Bench;
use crate::bench::table::Tables;
use crate::stop::Stop;
use std::process::Stdio;

/// References to data, misses of the first cache, and of the last.
type Misses = [f64; 3];

/// The programs: of those that take valgrind less than a minute.
const NAMES: [&str; 5] = ["procs 100x1000", "ring", "eddie", "keeplive 100x1000x10", "sendsame 100x1000x10"];

/// The table, if valgrind is there.
pub fn misses(experiment: &Experiment<'_>, tables: &mut Tables) -> Result<(), Stop> {
    tables.say(
        "\n| Data-cache misses (valgrind) | | references, thousands | misses of the first cache | of the last |",
    )?;
    tables.say("| --- | --- | ---: | ---: | ---: |")?;
    let mut seen = false;
    for program in programs::all(true).filter(|program| NAMES.contains(&program.name)) {
        for vm in &experiment.vms {
            crate::bench::measure::progress(&format!("{}, {}, by valgrind", program.name, vm.name));
            let found = of(experiment.bench, vm, program);
            seen |= found.is_some();
            let cells = match found {
                Some(counts) => counts.map(|count| format!("{:.0}", count / 1000.0)).join(" | "),
                None => "- | - | -".to_owned(),
            };
            tables.say(&format!("| {} | {} | {cells} |", program.name, vm.letter))?;
        }
    }
    crate::bench::measure::progress("");
    if seen {
        Ok(())
    } else {
        tables.say("\nLEFT OUT: valgrind counted nothing: it is not there, or does not run these VMs.")
    }
}

fn of(bench: &Bench, vm: &Vm, program: &Program) -> Option<Misses> {
    let (with, without) = (counts(bench, vm, &program.words(bench.quick))?, counts(bench, vm, &["none"])?);
    Some(std::array::from_fn(|at| (with[at] - without[at]).max(0.0)))
}

/// The counts of a VM from start to end. Each process that the start goes through says its own: the last one is the VM's.
fn counts(bench: &Bench, vm: &Vm, words: &[&str]) -> Option<Misses> {
    let mut command = bench.start("valgrind".as_ref());
    command
        .args(["--tool=cachegrind", "--cache-sim=yes", "--trace-children=yes", "--cachegrind-out-file=/dev/null"])
        .arg(&vm.path);
    let flags = [vm.flags.as_slice(), &super::ONE].concat();
    bench.with_programs(&mut command, &flags);
    command.args(["-run", "heaps", "main", "once"]).args(words).stdout(Stdio::null()).stderr(Stdio::piped());
    let output = command.output().ok()?;
    output.status.success().then(|| counted(&String::from_utf8_lossy(&output.stderr)))?
}

/// Of `D refs`, `D1  misses` and `LLd misses` the largest.
fn counted(text: &str) -> Option<Misses> {
    let most = |name: &str, what: &str| {
        let numbers = text.lines().filter_map(|line| {
            let (said, count) = line.split_once(':')?;
            let mut words = said.split_whitespace().skip(1);
            let fits = words.next()? == name && words.next()? == what;
            fits.then(|| count.split('(').next()?.trim().replace(',', "").parse::<f64>().ok())?
        });
        numbers.reduce(f64::max)
    };
    Some([most("D", "refs")?, most("D1", "misses")?, most("LLd", "misses")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_the_vm() {
        let text = "==1== D refs:        10  (8 rd + 2 wr)\n==1== D1  misses:     1  ( 1 rd + 0 wr)\n==1== LLd misses:     1  ( 1 rd + 0 wr)\n\
                    ==2== D refs:        1,000,200  (8 rd + 2 wr)\n==2== D1  misses:     3,001  ( 1 rd + 0 wr)\n==2== LLd misses:     20 ( 1 rd)\n\
                    ==2== D1  miss rate:   0.0% (\n";
        assert_eq!(counted(text), Some([1_000_200.0, 3_001.0, 20.0]));
        assert_eq!(counted("==1== I refs: 5\n"), None);
    }
}
