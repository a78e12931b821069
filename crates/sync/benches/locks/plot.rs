//! The plot: throughput over threads, a panel for each length of section, a line for each lock.
//!
//! Both scales are logarithmic: a collapse is a fall by a factor, at any height.

use crate::{SECTIONS, THREADS, measure::Point, report::names};
use std::ops::RangeInclusive;

/// A panel's size, and the margin that its labels stand in.
const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 200.0;
const MARGIN: f64 = 48.0;

/// The lines' colours, told apart by most eyes (Okabe and Ito).
const COLOURS: [&str; 9] =
    ["#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8b4513", "#999999"];

/// Two rows of panels: sections that write, and readers.
pub fn svg(points: &[Point], reads: &[Point]) -> String {
    let rows = [("writing", points), ("reading", reads)];
    let mut body = String::new();
    for (row, (use_, points)) in rows.iter().enumerate() {
        let top = row as f64 * (HEIGHT + 2.0 * MARGIN);
        let mut left = 0.0;
        for section in SECTIONS {
            let these: Vec<&Point> = points.iter().filter(|point| point.section == section).collect();
            body += &placed(left, top, &panel(&format!("{use_}, {section} ns"), &these, &names(points)));
            left += WIDTH + MARGIN;
        }
        body += &placed(left, top, &legend(&names(points)));
    }
    let size = (SECTIONS.len() as f64 * (WIDTH + MARGIN) + 180.0, rows.len() as f64 * (HEIGHT + 2.0 * MARGIN));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0} {:.0}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{body}</svg>\n",
        size.0, size.1
    )
}

fn placed(left: f64, top: f64, what: &str) -> String {
    format!("<g transform=\"translate({:.0} {:.0})\">\n{what}</g>\n", left + MARGIN, top + MARGIN)
}

/// One length of section: frame, labels and lines.
fn panel(title: &str, points: &[&Point], locks: &[&str]) -> String {
    let decades = decades(points);
    let mut text = format!(
        "<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"none\" stroke=\"#888\"/>\n<text y=\"-8\">{title}: sections a second by threads</text>\n"
    );
    for threads in THREADS {
        text += &label(across(threads), HEIGHT + 14.0, "middle", &threads.to_string());
    }
    for decade in decades.clone() {
        text += &label(-4.0, up(10f64.powi(decade), &decades) + 4.0, "end", &format!("1e{decade}"));
    }
    for (lock, colour) in locks.iter().zip(COLOURS) {
        let places = points.iter().filter(|point| point.lock == *lock);
        let places: Vec<String> =
            places.map(|point| format!("{:.1},{:.1}", across(point.threads), up(point.rate, &decades))).collect();
        text += &format!(
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" points=\"{}\"/>\n",
            places.join(" ")
        );
    }
    text
}

fn label(x: f64, y: f64, anchor: &str, text: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>\n")
}

/// The powers of ten around the rates.
fn decades(points: &[&Point]) -> RangeInclusive<i32> {
    let rates = || points.iter().map(|point| point.rate.max(1.0).log10());
    let (least, most) = (rates().fold(f64::MAX, f64::min), rates().fold(0.0, f64::max));
    least.min(most).floor() as i32..=most.ceil().max(1.0) as i32
}

/// Where a count of threads stands.
fn across(threads: usize) -> f64 {
    WIDTH * (threads as f64).log2() / (THREADS[THREADS.len() - 1] as f64).log2()
}

/// Where a rate stands; SVG counts from the top.
fn up(rate: f64, decades: &RangeInclusive<i32>) -> f64 {
    let (low, high) = (f64::from(*decades.start()), f64::from(*decades.end()));
    HEIGHT * (1.0 - (rate.max(1.0).log10() - low) / (high - low).max(1.0))
}

fn legend(locks: &[&str]) -> String {
    let rows = locks.iter().zip(COLOURS).enumerate().map(|(row, (lock, colour))| {
        let y = row as f64 * 16.0;
        format!(
            "<rect y=\"{y}\" width=\"14\" height=\"4\" fill=\"{colour}\"/>\n{}",
            label(20.0, y + 6.0, "start", lock)
        )
    });
    rows.collect()
}
