//! The plot: throughput over threads, a panel for each length of section, a line for each lock.
//!
//! Both scales are logarithmic: a collapse is a fall by a factor, at any height.

use crate::{SECTIONS, THREADS, measure::Point, report::names};
use myriad_chart::{Axis, COLOURS, Line, Panel, legend, picture};

/// A panel's size, and the margin that its labels stand in.
const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 200.0;
const MARGIN: f64 = 48.0;

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
        let names = names(points);
        let lines = names.iter().zip(COLOURS).map(|(lock, colour)| (*lock, colour, ""));
        body += &placed(left, top, &legend(lines));
    }
    picture(SECTIONS.len() as f64 * (WIDTH + MARGIN) + 180.0, rows.len() as f64 * (HEIGHT + 2.0 * MARGIN), &body)
}

fn placed(left: f64, top: f64, what: &str) -> String {
    myriad_chart::placed(left + MARGIN, top + MARGIN, what)
}

/// One length of section: a line for each lock.
fn panel(title: &str, points: &[&Point], locks: &[&str]) -> String {
    let line = |(lock, colour)| {
        let points = points.iter().filter(|point| point.lock == lock);
        let points = points.map(|point| (point.threads as f64, point.rate.max(1.0))).collect();
        Line { colour, dashes: "", points }
    };
    let title = format!("{title}: sections a second by threads");
    let up = Axis::decades(points.iter().map(|point| point.rate.max(1.0)));
    let lines = locks.iter().copied().zip(COLOURS).map(line).collect();
    Panel { title: &title, width: WIDTH, height: HEIGHT, across: Axis::marked(&THREADS), up, lines }.svg()
}
