//! What is measured: a part has a table or two.

use super::measure::{Bench, Pair, RATES, examples};
use super::table::{Better, Tables};
use super::{alloc, compiling, heaps, loops, native, pauses, projects, scheduling, servers, smp_cost, throws};
use crate::files;
use crate::stop::Stop;

/// A part: its name, and how it is measured.
pub struct Part {
    name: &'static str,
    /// Measures, and makes its tables.
    pub run: fn(&Bench, &mut Tables) -> Result<(), Stop>,
}

/// All parts; the last ten only when they are named.
const PARTS: [Part; 20] = [
    Part { name: "examples", run: programs },
    Part { name: "scaling", run: scaling },
    Part { name: "rates", run: rates },
    Part { name: "shared", run: shared },
    Part { name: "builtins", run: builtins },
    Part { name: "io", run: io },
    Part { name: "boot", run: boot },
    Part { name: "idle", run: idle },
    Part { name: "compile", run: compiling::compile },
    Part { name: "net", run: net },
    Part { name: "projects", run: projects::projects },
    Part { name: "servers", run: servers::servers },
    Part { name: "native", run: native::native },
    Part { name: "smp-cost", run: smp_cost::smp_cost },
    Part { name: "scheduling", run: scheduling::scheduling },
    Part { name: "heaps", run: heaps::heaps },
    Part { name: "alloc", run: alloc::alloc },
    Part { name: "pauses", run: pauses::pauses },
    Part { name: "loops", run: loops::loops },
    Part { name: "throws", run: throws::throws },
];

/// The parts that are named, or all but the last ten.
pub fn chosen(names: &[String]) -> Result<Vec<&'static Part>, Stop> {
    if names.is_empty() {
        return Ok(PARTS.iter().take(PARTS.len() - 10).collect());
    }
    let find = |name: &String| {
        let part = PARTS.iter().find(|part| part.name == name);
        part.ok_or_else(|| Stop::Usage(format!("no part {name}")))
    };
    names.iter().map(find).collect()
}

fn programs(bench: &Bench, tables: &mut Tables) -> Result<(), Stop> {
    tables.begin("Program (examples/, default sizes), time")?;
    for program in examples() {
        let module = files::stem(&program);
        let pair = bench.turns(module, |vm| bench.example(vm, &[], module, &[]));
        tables.row(module, "ms", Better::Less, pair)?;
    }
    tables.mean()
}

fn scaling(bench: &Bench, tables: &mut Tables) -> Result<(), Stop> {
    tables.begin("Scaling: time on 1 scheduler over time on 2, median of pairs")?;
    for (module, arguments) in [
        ("mandelbrot", ["300", "24", "2"].as_slice()),
        ("random", &["60"]),
        ("hackbench", &["80"]),
        ("bigbang", &["900"]),
    ] {
        let pair = bench.turns(module, |vm| bench.speedup(vm, module, arguments));
        tables.row(module, "", Better::More, pair)?;
    }
    let pair = bench.turns("side by side", |vm| bench.side_by_side(vm, "mandelbrot", &["300", "12", "2"]));
    tables.row("mandelbrot on two VMs of one scheduler each: what the machine gives", "", Better::More, pair)
}

fn rates(bench: &Bench, tables: &mut Tables) -> Result<(), Stop> {
    tables.begin("Rate")?;
    for words in RATES {
        let pair = bench.turns(words[0], |vm| bench.micro(vm, &words));
        tables.row(words[0], "/s", Better::More, pair)?;
    }
    tables.mean()
}

fn shared(bench: &Bench, tables: &mut Tables) -> Result<(), Stop> {
    tables.begin("What all cores touch (bench/shared.erl): processes, as many schedulers")?;
    for case in bench.cases("shared")? {
        for processes in ["1", "2", "4"] {
            let title = format!("{case}, {processes}");
            let pair = bench.turns(&title, |vm| bench.shared(vm, &case, processes));
            tables.row(&title, "/s", Better::More, pair)?;
        }
    }
    tables.mean()
}

fn builtins(bench: &Bench, tables: &mut Tables) -> Result<(), Stop> {
    tables.begin("Built-in functions (bench/builtins.erl), processor time")?;
    for case in bench.cases("builtins")? {
        let pair = bench.turns(&case, |vm| bench.builtin(vm, &case));
        tables.row(&case, "ms", Better::Less, pair)?;
    }
    tables.mean()
}

/// Both figures come from the same runs; the second table is made when the first is through.
fn io(bench: &Bench, tables: &mut Tables) -> Result<(), Stop> {
    tables.begin("Ports and files (bench/io_ops.erl), processor time of the VM")?;
    let mut passed: Vec<(String, Pair)> = Vec::new();
    for case in bench.cases("io_ops")? {
        let [processor, wall] = bench.turns_of(&case, |vm| bench.io_case(vm, &case));
        tables.row(&case, "ms", Better::Less, processor)?;
        passed.push((case, wall));
    }
    tables.mean()?;
    tables.begin("The same, time that passed")?;
    for (case, wall) in passed {
        tables.row(&case, "ms", Better::Less, wall)?;
    }
    tables.mean()
}

/// The figures of a case come from the same runs.
fn net(bench: &Bench, tables: &mut Tables) -> Result<(), Stop> {
    let mut passed: Vec<(String, [Pair; 3])> = Vec::new();
    for case in bench.cases("net_ops")? {
        let pairs = bench.turns_of(&case, |vm| bench.net_case(vm, &case));
        passed.push((case, pairs));
    }
    for (index, title) in [
        "Sockets (bench/net_ops.erl), processor time of the server",
        "The same, time that passed",
        "The same, 99th percentile of answers",
    ]
    .iter()
    .enumerate()
    {
        tables.begin(title)?;
        for (case, pairs) in &passed {
            tables.row(case, "ms", Better::Less, pairs[index])?;
        }
        tables.mean()?;
    }
    Ok(())
}

fn boot(bench: &Bench, tables: &mut Tables) -> Result<(), Stop> {
    tables.begin("Start")?;
    for (title, words) in [
        ("boot to halt", [].as_slice()),
        ("boot to halt, -mode minimal", &["-boot", "no_dot_erlang", "-mode", "minimal"]),
    ] {
        let pair = bench
            .turns("boot", |vm| bench.wall(bench.start(vm).arg("-noshell").args(words).args(["-eval", "halt()."])));
        tables.row(title, "ms", Better::Less, pair)?;
    }
    Ok(())
}

fn idle(bench: &Bench, tables: &mut Tables) -> Result<(), Stop> {
    tables.begin("Memory")?;
    let count = bench.idle.to_string();
    let pair = bench.turns("idle processes", |vm| bench.micro(vm, &["idle", &count]));
    tables.row(&format!("an idle process (of {count})"), "bytes", Better::Less, pair)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_are_measured_only_when_named() {
        let names = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            chosen(&words).map(|parts| parts.iter().map(|part| part.name).collect::<Vec<_>>())
        };
        assert!(!names(&[]).unwrap().iter().any(|name| {
            ["projects", "servers", "smp-cost", "scheduling", "heaps", "alloc", "pauses", "loops", "throws"]
                .contains(name)
        }));
        assert_eq!(names(&["projects", "io"]).unwrap(), ["projects", "io"]);
        assert!(names(&["nothing"]).is_err());
    }
}
