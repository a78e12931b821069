//! Messages of a word to a megabyte, to one receiver to a thousand, sent again by each up to twenty times.

use super::Experiment;
use super::arithmetic::median;
use super::run;
use crate::bench::measure::Pair;
use crate::bench::table::{Better, Tables};
use crate::stop::Stop;

/// Words of a message; the last is a megabyte.
const WORDS: [u64; 6] = [1, 10, 100, 1_000, 10_000, 131_072];
const RECEIVERS: [u64; 4] = [1, 10, 100, 1_000];
const RESENDS: [u64; 4] = [0, 1, 5, 20];
/// Words that all receivers may keep together, and that may be copied in a run: more is left out.
const KEPT: u64 = 200_000_000;
const COPIED: u64 = 1_000_000_000;
/// A figure is of so many sends at least.
const SENDS: u64 = 20_000;

/// Is this one measured? A run that is quick takes the small ones.
fn fits(words: u64, receivers: u64, resends: u64, quick: bool) -> bool {
    let limit = if quick { 1_000 } else { 1 };
    words * receivers * limit <= KEPT && words * receivers * (resends + 1) * limit <= COPIED
}

/// How often the program runs for one figure.
fn times(words: u64, receivers: u64, resends: u64) -> u64 {
    let sends = receivers * (resends + 1);
    (SENDS / sends).min(COPIED / 10 / (sends * words)).clamp(1, 1_000)
}

/// The table: nanoseconds of processor time a send.
pub fn messages(experiment: &Experiment<'_>, tables: &mut Tables) -> Result<(), Stop> {
    let names: Vec<&str> = experiment.vms.iter().map(|vm| vm.letter).collect();
    let bench = experiment.bench;
    let columns = names.iter().map(|name| format!(" {name}, ns a send | {name}, MB |")).collect::<String>();
    tables.say(&format!("\n| Messages: words | receivers | re-sends |{columns}"))?;
    tables.say(&format!("| ---: | ---: | ---: |{}", " ---: | ---: |".repeat(names.len())))?;
    let mut left_out = 0;
    for (words, receivers, resends) in all() {
        if !fits(words, receivers, resends, bench.quick) {
            left_out += 1;
            continue;
        }
        let numbers = [words, receivers, resends].map(|number| number.to_string());
        let program: Vec<&str> = std::iter::once("heaps_broadcast").chain(numbers.iter().map(String::as_str)).collect();
        let times = if bench.quick { 1 } else { times(words, receivers, resends) as u32 };
        let title = format!("{words} words to {receivers}, {resends} re-sends");
        let found = experiment.turns(&title, |vm| run::timed(bench, vm, &super::ONE, "time", &program, times));
        let medians = found.iter().map(|runs| {
            let of = |figure: fn(&run::Timed) -> f64| {
                median(runs.iter().map(|run| run.as_ref().map(figure)).collect::<Option<_>>()?)
            };
            (
                of(|run| run.processor).map(|ns| ns / (receivers * (resends + 1)) as f64),
                of(|run| run.peak).map(|bytes| bytes / 1_048_576.0),
            )
        });
        let medians: Vec<(Option<f64>, Option<f64>)> = medians.collect();
        let shown = |value: Option<f64>, decimals: usize| {
            value.map_or_else(|| "failed".to_owned(), |value| format!("{value:.decimals$}"))
        };
        let cells = medians.iter().map(|(ns, memory)| format!(" {} | {} |", shown(*ns, 0), shown(*memory, 1)));
        tables.say(&format!("| {words} | {receivers} | {resends} |{}", cells.collect::<String>()))?;
        for (vm, (ns, _)) in experiment.vms.iter().zip(&medians).skip(1) {
            let pair = Pair { erl: medians.first().and_then(|(erl, _)| *erl), vm: *ns };
            tables.keep("Messages", &format!("{title}, {}", vm.name), "ns a send", Better::Less, pair);
        }
    }
    tables.say(&format!("\nLEFT OUT: {left_out} of {}, which would keep or copy too much.", all().count()))
}

fn all() -> impl Iterator<Item = (u64, u64, u64)> {
    WORDS.into_iter().flat_map(|words| {
        RECEIVERS.into_iter().flat_map(move |n| RESENDS.into_iter().map(move |again| (words, n, again)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_take_too_much_is_left_out() {
        assert!(fits(131_072, 1_000, 0, false) && fits(10_000, 1_000, 20, false));
        assert!(!fits(131_072, 1_000, 20, false) && !fits(131_072, 1_000, 0, true));
        assert!(all().filter(|(words, n, again)| fits(*words, *n, *again, false)).count() > 85);
    }

    #[test]
    fn short_runs_are_repeated() {
        assert_eq!((times(1, 1, 0), times(1, 100, 0), times(131_072, 1_000, 0)), (1_000, 200, 1));
        assert!(all().all(|(words, n, again)| times(words, n, again) > 0));
    }
}
