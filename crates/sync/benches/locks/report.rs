//! The figures as Markdown and as CSV.

use crate::{SECTIONS, THREADS, measure::Point};
use std::fmt::Write;

/// A line for each point, for other programs.
pub fn csv(points: &[Point], reads: &[Point]) -> String {
    let mut text = "use,lock,section_ns,threads,sections_per_s,fairness,alone_ns\n".to_owned();
    for (list, points) in [("exclusive", points), ("reading", reads)] {
        for p in points {
            let alone = p.alone.map_or_else(String::new, |ns| format!("{ns:.1}"));
            let row = (p.lock, p.section, p.threads, p.rate, p.fairness);
            writeln!(text, "{list},{},{},{},{:.0},{:.3},{alone}", row.0, row.1, row.2, row.3, row.4)
                .expect("a string takes all");
        }
    }
    text
}

/// A table for each length of section, and one of the latencies.
pub fn markdown(points: &[Point], reads: &[Point]) -> String {
    let cores = myriad_sync::available_parallelism();
    let mut text = format!(
        "{cores} cores. Each thread is as long between two sections as in one. A cell: million sections a second, and in brackets \
         the least thread's share by the mean share.\n"
    );
    text += &alone(points);
    for (title, points) in [("Sections that write", points), ("Readers, one write in 64", reads)] {
        for section in SECTIONS {
            text += &table(title, section, points);
        }
    }
    text
}

/// What each lock costs that nobody else wants.
fn alone(points: &[Point]) -> String {
    let first = points.iter().filter(|point| point.section == SECTIONS[0]);
    let rows = first.filter_map(|point| Some(format!("| {} | {:.1} |\n", point.lock, point.alone?)));
    format!("\n| lock, uncontended | ns |\n| --- | ---: |\n{}", rows.collect::<String>())
}

fn table(title: &str, section: u32, points: &[Point]) -> String {
    let heads: String = THREADS.iter().map(|threads| format!(" {threads} |")).collect();
    let mut text =
        format!("\n| {title}, {section} ns; threads: |{heads}\n| --- |{}\n", " ---: |".repeat(THREADS.len()));
    for lock in names(points) {
        let row = points.iter().filter(|point| point.lock == lock && point.section == section);
        let cells: String = row.map(|point| format!(" {:.3} ({:.2}) |", point.rate / 1e6, point.fairness)).collect();
        text += &format!("| {lock} |{cells}\n");
    }
    text
}

/// The locks of these points, in their order.
pub fn names(points: &[Point]) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = Vec::new();
    for point in points {
        if !names.contains(&point.lock) {
            names.push(point.lock);
        }
    }
    names
}
