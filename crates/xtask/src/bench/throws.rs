//! The slides' experiment with an exception (Yasugi et al. 2015; docs/parallel.md): a search throws to its root when more than a share of all solutions have been
//! found. How long does it take until then, and from there to the handler?
//!
//! `bench/throws.erl` on Myriad and on `erl`, on simulated cores, and the same trees searched by rayon (`bench/rayon`). The table shows a few of the shares, the
//! files in `target/throws/` all of them. Each run of a curve is a program of its own, and the programs take turns.

mod chart;
mod curve;

use super::measure::{Bench, progress, said};
use super::table::Tables;
use crate::files::{self, top};
use crate::otp;
use crate::stop::Stop;
use curve::{Curve, System, Way};
use std::path::PathBuf;
use std::process::Command;

/// A search, how large it is on real cores and on simulated ones, and that in small.
const SEARCHES: [(&str, [&str; 2], [&str; 2]); 3] = [
    ("fib", ["31", "28"], ["22", "16"]),
    ("nqueens", ["11", "11"], ["8", "6"]),
    ("pentomino", ["40", "30"], ["25", "20"]),
];
const REAL: [usize; 2] = [1, 2];
const SIMULATED: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
const MACHINE: &str = "server-2x64";
/// The shares that the table shows, in per cent.
const SHOWN: [u32; 7] = [0, 5, 10, 20, 30, 50, 100];

/// The program; those of `examples/loops` are compiled for `loops`.
pub fn sources() -> Vec<PathBuf> {
    vec![top().join("bench/throws.erl")]
}

/// The shares of the slides, in per cent: those of real cores, and on simulated ones not so many of the small ones.
fn shares(system: System, quick: bool) -> Vec<u32> {
    let step = match (quick, system) {
        (true, _) => 10,
        (false, System::Simulated) => 5,
        (false, _) => 1,
    };
    (0..30).step_by(step).chain((30..=100).step_by(10)).collect()
}

/// Measures all searches, and writes the figures and the picture.
pub fn throws(bench: &Bench, tables: &mut Tables) -> Result<(), Stop> {
    let experiment = Experiment { bench, stock: stock(bench)?, out: top().join("target/throws") };
    let mut curves = Vec::new();
    for (search, full, quick) in SEARCHES {
        let [real, simulated] = if bench.quick { quick } else { full };
        let found = experiment.curves(search, real, simulated);
        table(tables, search, &found)?;
        curves.extend(found);
    }
    if curves.iter().any(|curve| !curve.is_whole()) {
        tables.say("\nLEFT OUT: what did not run to its end, or is not here; make bench-throws builds the simulator and bench/rayon.")?;
    }
    files::make_folder(&experiment.out)?;
    for (name, text) in [("throws.csv", curve::csv(&curves)), ("throws.svg", chart::svg(&curves))] {
        let file = experiment.out.join(name);
        files::write(&file, text)?;
        tables.say(&format!("\n{}", file.strip_prefix(top()).unwrap_or(&file).display()))?;
    }
    Ok(())
}

/// The module `parallel` for `erl`, in a folder of its own: Myriad has its own one, and takes the program's where there is one.
fn stock(bench: &Bench) -> Result<PathBuf, Stop> {
    let folder = bench.work.join("stock");
    let sources = ["erl/parallel.erl", "erl/stock/parallel_parts.erl"].map(|name| top().join(name));
    otp::compile(&bench.otp, &folder, &["-W0"], &sources)?;
    Ok(folder)
}

/// Where the programs are, and where the figures go.
struct Experiment<'b> {
    bench: &'b Bench,
    stock: PathBuf,
    out: PathBuf,
}

impl Experiment<'_> {
    fn curves(&self, search: &'static str, real: &'static str, simulated: &'static str) -> Vec<Curve> {
        let systems = [System::Myriad, System::Otp, System::Rayon];
        let on = |system, cores: &[usize], n| {
            let parallel: Vec<_> = cores.iter().map(|cores| (system, Way::Parallel, *cores, n)).collect();
            [(system, Way::Sequential, 1, n)].into_iter().chain(parallel)
        };
        let real = systems.into_iter().flat_map(|system| on(system, &REAL, real));
        let cores = if self.bench.quick { &SIMULATED[..3] } else { &SIMULATED };
        let simulated = on(System::Simulated, cores, simulated);
        let curve = |(system, way, cores, n)| Curve::new(search, n, system, way, cores);
        let is_asked_for = |system: System| {
            let is_it = |case: &String| case.eq_ignore_ascii_case(system.name());
            self.bench.cases.as_ref().is_none_or(|cases| cases.iter().any(is_it))
        };
        let mut curves: Vec<Curve> = real.chain(simulated).filter(|curve| is_asked_for(curve.0)).map(curve).collect();
        for run in 1..=self.bench.runs {
            for curve in &mut curves {
                // A simulated run is the same each time.
                if run == 1 || curve.system != System::Simulated {
                    let what = format!("{search} on {} cores of {}, run {run}", curve.cores, curve.system.name());
                    progress(&what);
                    let text = said(&mut self.run(curve)).unwrap_or_default();
                    curve.add_run(&text);
                }
            }
        }
        progress("");
        curves
    }

    /// One run of a curve, each share once.
    fn run(&self, curve: &Curve) -> Command {
        let cores = curve.cores.to_string();
        let schedulers = ["+S", &format!("{cores}:{cores}")];
        let call = ["-eval", "throws:main(init:get_plain_arguments()), halt().", "-extra"];
        let mut command = match curve.system {
            System::Myriad => self.bench.start_vm(&self.bench.vm, &schedulers),
            System::Otp => {
                let mut command = self.bench.start_vm(&self.bench.erl, &schedulers);
                command.arg("-pa").arg(&self.stock);
                command
            }
            System::Rayon => self.bench.start(&top().join("target/rayon/release/throws-rayon")),
            System::Simulated => {
                let mut command = self.bench.start(&top().join("bin/myriad"));
                command.args(["sim", "--machine", MACHINE, "--cores", &cores, "--figures"]);
                command.arg(self.bench.work.join("simulated")).arg(self.bench.ebin().join("throws.beam"));
                command
            }
        };
        if matches!(curve.system, System::Myriad | System::Otp) {
            command.args(call);
        }
        command.args([curve.search, curve.way.name(), curve.n, "1"]);
        if curve.system == System::Rayon {
            command.arg(&cores);
        }
        // Of the sequential search only its whole time is asked for.
        let shares = if curve.way == Way::Sequential { vec![100] } else { shares(curve.system, self.bench.quick) };
        command.args(shares.iter().map(u32::to_string));
        command
    }
}

/// What one search came to: the time before the exception as a share of the whole sequential search's, and the time to the handler.
fn table(tables: &mut Tables, search: &str, curves: &[Curve]) -> Result<(), Stop> {
    let heads = SHOWN.map(|share| format!(" {:.2} |", f64::from(share) / 100.0)).concat();
    tables.say(&format!("\n| {search}: time before the exception over all of the sequential one's; a = | sequential, ms |{heads} to the handler, us: median, most |"))?;
    tables.say(&format!("| --- | ---: |{} ---: |", " ---: |".repeat(SHOWN.len())))?;
    for curve in curves.iter().filter(|curve| curve.way == Way::Parallel) {
        let whole = curve::whole_us(curves, curve);
        let cell = |value: Option<String>| value.map_or_else(|| " - |".to_owned(), |value| format!(" {value} |"));
        let shown =
            SHOWN.map(|share| curve.before_us(share).zip(whole).map(|(us, whole)| format!("{:.3}", us / whole)));
        let name = format!("{} {}, {} cores", curve.system.name(), curve.n, curve.cores);
        let handler = curve.handler().map(|spread| format!("{:.0}, {:.0}", spread.median, spread.most));
        let whole = whole.map(|us| format!("{:.1}", us / 1000.0));
        tables.say(&format!("| {name} |{}{}{}", cell(whole), shown.map(cell).concat(), cell(handler)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_the_slides() {
        let all = shares(System::Myriad, false);
        assert_eq!((all.len(), all[30], all[31], all[37]), (38, 30, 40, 100));
        assert_eq!(shares(System::Simulated, false).len(), 14);
        for share in SHOWN {
            assert!(shares(System::Simulated, false).contains(&share) && all.contains(&share));
        }
    }
}
