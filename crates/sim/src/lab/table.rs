//! The laboratory's figures as Markdown, CSV and a plot (SVG).

use super::{CORES, HOME_NS, Point, SECTIONS};
use myriad_chart::{Axis, COLOURS, Line, Panel, legend, picture, placed};
use std::fmt::Write;

/// A panel's size, and the margin that its labels stand in.
const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 200.0;
const MARGIN: f64 = 48.0;

/// The uses of a lock that are measured: is it read, and what that is called.
const USES: [(bool, &str); 2] = [(false, "Sections that write"), (true, "Readers, one write in 64")];

/// A line for each point, for other programs.
pub fn csv(points: &[Point]) -> String {
    let mut text = "use,lock,section_ns,cores,sections_per_s\n".to_owned();
    for p in points {
        let list = if p.reading { "reading" } else { "exclusive" };
        let _ = writeln!(text, "{list},{},{},{},{:.0}", p.lock, p.section_ns, p.cores, p.rate);
    }
    text
}

/// A table for each use and length of section.
pub fn markdown(machine: &str, points: &[Point]) -> String {
    let mut text = format!(
        "Simulated, \"{machine}\" continued to {} cores in equal sockets; a line's home answers a request in {HOME_NS} ns unless said \
         otherwise. Each core is as long between two sections as in one. A cell: million sections a second.\n",
        CORES[CORES.len() - 1]
    );
    for (reading, title) in USES {
        for section_ns in SECTIONS {
            let here: Vec<&Point> =
                points.iter().filter(|p| p.reading == reading && p.section_ns == section_ns).collect();
            if !here.is_empty() {
                text += &table(&format!("{title}, {section_ns} ns; cores:"), &here);
            }
        }
    }
    text
}

fn table(title: &str, points: &[&Point]) -> String {
    let locks = names(points);
    let of = |lock: &str| points.iter().filter(move |p| p.lock == lock).copied().collect::<Vec<_>>();
    let heads: String = of(locks[0]).iter().map(|p| format!(" {} |", p.cores)).collect();
    let mut text = format!("\n| {title} |{heads}\n| --- |{}\n", " ---: |".repeat(of(locks[0]).len()));
    for lock in locks {
        let cells: String = of(lock).iter().map(|p| format!(" {:.3} |", p.rate / 1e6)).collect();
        text += &format!("| {lock} |{cells}\n");
    }
    text
}

/// The locks of these points, in their order.
fn names(points: &[&Point]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for p in points {
        if !names.contains(&p.lock) {
            names.push(p.lock);
        }
    }
    names
}

/// Throughput over cores, a row of panels for each use and a panel for each length of section. Both scales are logarithmic: a collapse is a
/// fall by a factor, at any height.
pub fn svg(points: &[Point]) -> String {
    let mut body = String::new();
    for (row, (reading, title)) in USES.into_iter().enumerate() {
        let here: Vec<&Point> = points.iter().filter(|p| p.reading == reading).collect();
        let locks = names(&here);
        let top = row as f64 * (HEIGHT + 2.0 * MARGIN) + MARGIN;
        for (column, section_ns) in SECTIONS.into_iter().enumerate() {
            let these: Vec<&Point> = here.iter().filter(|p| p.section_ns == section_ns).copied().collect();
            let left = column as f64 * (WIDTH + MARGIN) + MARGIN;
            body += &placed(left, top, &panel(&format!("{title}, {section_ns} ns"), &these, &locks));
        }
        let names = legend(locks.iter().zip(COLOURS).map(|(lock, colour)| (*lock, colour, "")));
        body += &placed(SECTIONS.len() as f64 * (WIDTH + MARGIN) + MARGIN, top, &names);
    }
    picture(SECTIONS.len() as f64 * (WIDTH + MARGIN) + 180.0, USES.len() as f64 * (HEIGHT + 2.0 * MARGIN), &body)
}

/// One length of section: a line for each lock.
fn panel(title: &str, points: &[&Point], locks: &[&str]) -> String {
    let line = |(lock, colour)| {
        let points = points.iter().filter(|p| p.lock == lock).map(|p| (p.cores as f64, p.rate.max(1.0))).collect();
        Line { colour, dashes: "", points }
    };
    let title = format!("{title}: sections a second by cores");
    let up = Axis::decades(points.iter().map(|p| p.rate.max(1.0)));
    let lines = locks.iter().copied().zip(COLOURS).map(line).collect();
    Panel { title: &title, width: WIDTH, height: HEIGHT, across: Axis::marked(&CORES), up, lines }.svg()
}

#[cfg(test)]
mod tests {
    use super::{Point, csv, markdown, svg};

    #[test]
    fn each_point_is_told_in_each_form() {
        let point = |reading, lock, cores| Point { reading, lock, section_ns: 100, cores, rate: 2.5e6 };
        let points = [point(false, "MCS", 1), point(false, "MCS", 2), point(true, "reader groups", 2)];
        assert!(csv(&points).ends_with("exclusive,MCS,100,2,2500000\nreading,reader groups,100,2,2500000\n"));
        let text = markdown("a machine", &points);
        assert!(text.contains("| MCS | 2.500 | 2.500 |\n") && text.contains("| reader groups | 2.500 |\n"));
        // A panel for each length of section, and the legend.
        assert_eq!(svg(&points).matches("<polyline").count(), 2 * (4 + 1));
    }
}
