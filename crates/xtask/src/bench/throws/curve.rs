//! A curve: what one search came to on so many cores of one system, by the share of solutions after which it throws.

use crate::bench::measure::{Spread, spread};
use std::fmt::Write;

/// What the search runs on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum System {
    Myriad,
    /// `erl` with `erl/stock/parallel_parts.erl`.
    Otp,
    Rayon,
    /// Myriad on simulated cores, in virtual time.
    Simulated,
}

impl System {
    pub fn name(self) -> &'static str {
        match self {
            System::Myriad => "Myriad",
            System::Otp => "OTP",
            System::Rayon => "rayon",
            System::Simulated => "simulated",
        }
    }
}

/// How the search is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    Sequential,
    Parallel,
}

impl Way {
    pub fn name(self) -> &'static str {
        match self {
            Way::Sequential => "sequential",
            Way::Parallel => "parallel",
        }
    }
}

/// All runs of one search on so many cores.
pub struct Curve {
    pub search: &'static str,
    /// Its size.
    pub n: &'static str,
    pub system: System,
    pub way: Way,
    pub cores: usize,
    /// What each run printed; nothing of one that failed.
    runs: Vec<Vec<Point>>,
}

/// What one run came to with one share: microseconds before the first exception, and from there to the handler.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Point {
    percent: u32,
    before_us: f64,
    handler_us: f64,
}

impl Curve {
    /// No run yet.
    pub fn new(search: &'static str, n: &'static str, system: System, way: Way, cores: usize) -> Curve {
        Curve { search, n, system, way, cores, runs: Vec::new() }
    }

    /// A run, by what it printed.
    pub fn add_run(&mut self, text: &str) {
        self.runs.push(text.lines().filter_map(point).collect());
    }

    /// Has each run come to its end?
    pub fn is_whole(&self) -> bool {
        // The last share is printed last.
        self.runs.iter().all(|run| run.last().is_some_and(|point| point.percent == 100))
    }

    /// The shares, in per cent; none where a run failed, for the median of fewer must not look like a result.
    pub fn percents(&self) -> Vec<u32> {
        let shares = |run: &Vec<Point>| run.iter().map(|point| point.percent).collect();
        if self.is_whole() { self.runs.first().map(shares).unwrap_or_default() } else { Vec::new() }
    }

    /// The median of the runs with a share.
    pub fn before_us(&self, percent: u32) -> Option<f64> {
        self.median(percent, |point| point.before_us)
    }

    /// Likewise; nothing where nothing is thrown.
    pub fn handler_us(&self, percent: u32) -> Option<f64> {
        self.median(percent, |point| point.handler_us).filter(|_| percent < 100)
    }

    /// The spread of these medians over the shares.
    pub fn handler(&self) -> Option<Spread> {
        spread(self.percents().iter().filter_map(|percent| self.handler_us(*percent)).collect())
    }

    fn median(&self, percent: u32, of: impl Fn(&Point) -> f64) -> Option<f64> {
        let value = |run: &Vec<Point>| run.iter().find(|point| point.percent == percent).map(&of);
        let values: Option<Vec<f64>> = self.runs.iter().map(value).collect();
        Some(spread(values.filter(|_| self.is_whole())?)?.median)
    }
}

/// A line `point PERCENT NS NS`.
fn point(line: &str) -> Option<Point> {
    let mut words = line.strip_prefix("point ")?.split(' ');
    let percent = words.next()?.parse().ok()?;
    let mut us = || Some(words.next()?.parse::<f64>().ok()? / 1000.0);
    Some(Point { percent, before_us: us()?, handler_us: us()? })
}

/// How long the same search takes sequentially on the same system.
pub fn whole_us(curves: &[Curve], of: &Curve) -> Option<f64> {
    let is_it = |curve: &&Curve| {
        curve.way == Way::Sequential && (curve.search, curve.n, curve.system) == (of.search, of.n, of.system)
    };
    curves.iter().find(is_it)?.before_us(100)
}

/// A line for each point, for other programs.
pub fn csv(curves: &[Curve]) -> String {
    let mut text =
        "program,n,system,way,cores,runs,percent,before_us,before_over_sequential,to_handler_us\n".to_owned();
    for curve in curves {
        let Curve { search, n, system, way, cores, runs } = curve;
        let whole = whole_us(curves, curve);
        for percent in curve.percents() {
            let number = |value: Option<f64>, decimals: usize| value.map(|value| format!("{value:.decimals$}"));
            let before = curve.before_us(percent);
            let relative = before.zip(whole).map(|(before, whole)| before / whole);
            let cells = [number(before, 3), number(relative, 6), number(curve.handler_us(percent), 3)];
            let cells = cells.map(Option::unwrap_or_default).join(",");
            let _ = writeln!(
                text,
                "{search},{n},{},{},{cores},{},{percent},{cells}",
                system.name(),
                way.name(),
                runs.len()
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(way: Way, runs: &[&str]) -> Curve {
        let mut curve = Curve::new("fib", "20", System::Otp, way, 2);
        runs.iter().for_each(|run| curve.add_run(run));
        curve
    }

    #[test]
    fn figures_are_medians_of_whole_runs() {
        let curves = [
            curve(Way::Sequential, &["point 100 8000 0\n"]),
            curve(Way::Parallel, &["x\npoint 0 1000 300\npoint 100 4000 0\n", "point 0 3000 100\npoint 100 6000 0\n"]),
        ];
        assert_eq!((curves[1].before_us(0), curves[1].handler_us(0)), (Some(2.0), Some(0.2)));
        assert_eq!((curves[1].handler_us(100), curves[1].handler().map(|spread| spread.most)), (None, Some(0.2)));
        let lines = "fib,20,OTP,parallel,2,2,0,2.000,0.250000,0.200\nfib,20,OTP,parallel,2,2,100,5.000,0.625000,\n";
        assert!(csv(&curves).ends_with(lines), "{}", csv(&curves));
    }

    #[test]
    fn a_run_that_failed_leaves_no_figure() {
        let curve = curve(Way::Parallel, &["point 0 1000 300\npoint 100 4000 0\n", "point 0 1000 300\n"]);
        assert_eq!((curve.is_whole(), curve.percents(), curve.before_us(0)), (false, vec![], None));
    }
}
