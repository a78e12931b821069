//! The laboratory's figures as Markdown, CSV and a plot (SVG).

use super::{CORES, HOME_NS, Point, SECTIONS};
use std::fmt::Write;

/// A panel's size, and the margin that its labels stand in.
const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 200.0;
const MARGIN: f64 = 48.0;

/// The lines' colours, told apart by most eyes (Okabe and Ito).
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00", "#56b4e9"];

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
        body += &placed(SECTIONS.len() as f64 * (WIDTH + MARGIN) + MARGIN, top, &legend(&locks));
    }
    let size = (SECTIONS.len() as f64 * (WIDTH + MARGIN) + 180.0, USES.len() as f64 * (HEIGHT + 2.0 * MARGIN));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0} {:.0}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{body}</svg>\n",
        size.0, size.1
    )
}

fn placed(left: f64, top: f64, what: &str) -> String {
    format!("<g transform=\"translate({left:.0} {top:.0})\">\n{what}</g>\n")
}

/// One length of section: frame, labels and lines.
fn panel(title: &str, points: &[&Point], locks: &[&str]) -> String {
    let logs = || points.iter().map(|p| p.rate.max(1.0).log10());
    let (low, high) = (logs().fold(9.0, f64::min).floor(), logs().fold(0.0, f64::max).ceil());
    let up = |log: f64| HEIGHT * (1.0 - (log - low) / (high - low).max(1.0));
    let across = |cores: usize| WIDTH * (cores as f64).log2() / (CORES[CORES.len() - 1] as f64).log2();
    let mut text = format!(
        "<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"none\" stroke=\"#888\"/>\n<text y=\"-8\">{title}: sections a second by cores</text>\n"
    );
    for cores in CORES {
        text += &label(across(cores), HEIGHT + 14.0, "middle", &cores.to_string());
    }
    for decade in low as i32..=high as i32 {
        text += &label(-4.0, up(decade.into()) + 4.0, "end", &format!("1e{decade}"));
    }
    for (lock, colour) in locks.iter().zip(COLOURS) {
        let places = points.iter().filter(|p| p.lock == *lock);
        let places: Vec<String> =
            places.map(|p| format!("{:.1},{:.1}", across(p.cores), up(p.rate.max(1.0).log10()))).collect();
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
        assert_eq!(svg(&points).matches("<polyline").count(), 2 * 4);
    }
}
