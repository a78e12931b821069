//! Which architecture is to be the default: all programs of `examples/` and the rates of `bench/micro.erl` on each, against private heaps.
//!
//! Another one is to be it whose geometric mean is [`MEAN`] at least with no program below [`LEAST`].

use super::Experiment;
use super::arithmetic::median;
use crate::bench::measure::{RATES, examples};
use crate::bench::table::{Tables, geometric_mean};
use crate::files;
use crate::stop::Stop;

/// What the geometric mean is to be, and each program at least.
const MEAN: f64 = 1.05;
const LEAST: f64 = 0.95;

/// The table: how much better than private heaps each architecture is, by the time that passed or the rate.
pub fn choice(experiment: &Experiment<'_>, tables: &mut Tables) -> Result<(), Stop> {
    let own: Vec<usize> = (0..experiment.vms.len()).filter(|at| experiment.vms[*at].name != "erl").collect();
    let columns = own.iter().map(|at| format!(" {} |", experiment.vms[*at].letter)).collect::<String>();
    tables.say(&format!("\n| The choice: how much better than private heaps, two schedulers |{columns}"))?;
    tables.say(&format!("| --- |{}", " ---: |".repeat(own.len())))?;
    let mut all: Vec<Vec<f64>> = own.iter().map(|_| Vec::new()).collect();
    for (name, speeds) in measured(experiment) {
        let unit = experiment.vms.iter().position(|vm| vm.name == "private").and_then(|at| speeds[at]);
        let ratios = own.iter().map(|at| speeds[*at].zip(unit).map(|(speed, unit)| speed / unit));
        let mut cells = String::new();
        for (ratio, all) in ratios.zip(&mut all) {
            cells += &ratio.map_or_else(|| " failed |".to_owned(), |ratio| format!(" {ratio:.2} |"));
            all.extend(ratio);
        }
        tables.say(&format!("| {name} |{cells}"))?;
    }
    let means =
        all.iter().map(|all| geometric_mean(all).map_or_else(|| " - |".to_owned(), |mean| format!(" {mean:.2} |")));
    tables.say(&format!("| geometric mean |{}", means.collect::<String>()))?;
    let chosen = own.iter().zip(&all).filter(|(_, all)| is_better(all)).map(|(at, _)| experiment.vms[*at].name);
    let chosen: Vec<&str> = chosen.collect();
    let chosen = if chosen.is_empty() { "private".to_owned() } else { chosen.join(" or ") };
    tables.say(&format!("\nBy a mean of {MEAN} with no program below {LEAST} the default is {chosen}."))
}

/// Is this the better architecture?
fn is_better(ratios: &[f64]) -> bool {
    geometric_mean(ratios).is_some_and(|mean| mean >= MEAN) && ratios.iter().all(|ratio| *ratio >= LEAST)
}

/// Each program with its speed on all VMs: runs a millisecond, or what it counts a second.
fn measured(experiment: &Experiment<'_>) -> Vec<(String, Vec<Option<f64>>)> {
    let bench = experiment.bench;
    let medians = |title: &str, measure: &dyn Fn(&super::Vm) -> Option<f64>| -> Vec<Option<f64>> {
        let found = experiment.turns(title, measure);
        found.into_iter().map(|runs| median(runs.into_iter().collect::<Option<_>>()?)).collect()
    };
    let programs = examples().into_iter().map(|program| {
        let module = files::stem(&program).to_owned();
        let speeds = medians(&module, &|vm| bench.example(&vm.path, &vm.flags, &module, &[]).map(|ms| 1.0 / ms));
        (module, speeds)
    });
    let rates = RATES.iter().map(|words| {
        let speeds = medians(words[0], &|vm| {
            let flags = [vm.flags.as_slice(), &["+P", "2000000"]].concat();
            bench.figure(&vm.path, &flags, "micro", words)
        });
        (format!("{} (rate)", words[0]), speeds)
    });
    programs.chain(rates).collect()
}

#[cfg(test)]
mod tests {
    use super::is_better;

    #[test]
    fn one_that_is_better_is_so_without_exception() {
        assert!(is_better(&[1.25, 1.0, 0.96]));
        assert!(!is_better(&[2.0, 2.0, 0.94]) && !is_better(&[1.0, 1.04]) && !is_better(&[]));
    }
}
