//! The picture: a column for each search; the time before the exception on real cores and on simulated ones, and the time to the handler.
//!
//! Times are logarithmic, so that as many times as fast is as far down, at any share.

use super::curve::{Curve, System, Way, whole_us};
use super::{SEARCHES, SIMULATED};
use myriad_chart::{Axis, COLOURS, Line, Panel, legend, picture, placed};

/// A panel's size, and the margin that its labels stand in.
const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 220.0;
const MARGIN: f64 = 52.0;
/// What is less stands at the foot: a thousandth of the sequential time, or a nanosecond to the handler.
const LEAST: f64 = 0.001;

/// What a row of panels shows of a curve with a share.
type Figure = fn(&[Curve], &Curve, u32) -> Option<f64>;

struct Row {
    title: &'static str,
    lines: Vec<(System, usize)>,
    figure: Figure,
}

fn rows() -> [Row; 3] {
    let real = [System::Myriad, System::Otp, System::Rayon];
    let before: Figure = |curves, curve, percent| Some(curve.before_us(percent)? / whole_us(curves, curve)?);
    let both = |system| [(system, 1), (system, 2)];
    let handler =
        real.map(|system| (system, 2)).into_iter().chain([2, 16, 128].map(|cores| (System::Simulated, cores)));
    [
        Row {
            title: "time before / whole sequential time",
            lines: real.into_iter().flat_map(both).collect(),
            figure: before,
        },
        Row {
            title: "the same, simulated",
            lines: SIMULATED.map(|cores| (System::Simulated, cores)).to_vec(),
            figure: before,
        },
        Row {
            title: "to the handler, us",
            lines: handler.collect(),
            figure: |_, curve, percent| curve.handler_us(percent),
        },
    ]
}

/// All panels.
pub fn svg(curves: &[Curve]) -> String {
    let mut body = String::new();
    for (row, at) in rows().iter().zip(0..) {
        let top = f64::from(at) * (HEIGHT + MARGIN) + MARGIN;
        for ((search, ..), column) in SEARCHES.iter().zip(0..) {
            body += &placed(f64::from(column) * (WIDTH + MARGIN) + MARGIN, top, &panel(row, search, curves));
        }
        let names: Vec<String> = row.lines.iter().map(name).collect();
        let lines = names.iter().zip(&row.lines).map(|(name, line)| (name.as_str(), colour(*line), dashes(*line)));
        body += &placed(SEARCHES.len() as f64 * (WIDTH + MARGIN) + MARGIN, top, &legend(lines));
    }
    picture(SEARCHES.len() as f64 * (WIDTH + MARGIN) + MARGIN + 160.0, 3.0 * (HEIGHT + MARGIN) + MARGIN, &body)
}

fn name((system, cores): &(System, usize)) -> String {
    format!("{}, {cores} {}", system.name(), if *cores == 1 { "core" } else { "cores" })
}

/// Real cores have a colour by what runs there, simulated ones by how many there are.
fn colour((system, cores): (System, usize)) -> &'static str {
    match system {
        System::Myriad => COLOURS[1],
        System::Otp => COLOURS[2],
        System::Rayon => COLOURS[3],
        System::Simulated => COLOURS[cores.ilog2() as usize % COLOURS.len()],
    }
}

/// One core has dashes; in the row of both kinds so have the simulated ones.
fn dashes((system, cores): (System, usize)) -> &'static str {
    match (system, cores) {
        (System::Simulated, _) => "6 2",
        (_, 1) => "2 3",
        _ => "",
    }
}

fn panel(row: &Row, search: &str, curves: &[Curve]) -> String {
    let points = |(system, cores): (System, usize)| -> Vec<(f64, f64)> {
        let is_it = |curve: &&Curve| {
            curve.search == search && curve.way == Way::Parallel && (curve.system, curve.cores) == (system, cores)
        };
        let Some(curve) = curves.iter().find(is_it) else { return Vec::new() };
        let point = |percent| Some((f64::from(percent) / 100.0, (row.figure)(curves, curve, percent)?));
        curve.percents().into_iter().filter_map(point).collect()
    };
    let lines: Vec<Line<'_>> = row
        .lines
        .iter()
        .map(|line| Line { colour: colour(*line), dashes: dashes(*line), points: points(*line) })
        .collect();
    let values = lines.iter().flat_map(|line| line.points.iter().map(|(_, y)| y.max(LEAST)));
    let up = Axis::decades(values);
    let title = format!("{search}, by a: {}", row.title);
    Panel { title: &title, width: WIDTH, height: HEIGHT, across: Axis::steps(0.0, 1.0, 0.1), up, lines }.svg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_curve_has_a_line_in_its_panels() {
        let mut curves = [Way::Sequential, Way::Parallel].map(|way| Curve::new("fib", "20", System::Myriad, way, 2));
        curves.iter_mut().for_each(|curve| curve.add_run("point 0 1000 10000\npoint 100 100000 0\n"));
        let picture = svg(&curves);
        // A hundredth of the whole time, and all of it: from corner to corner.
        assert!(picture.contains("points=\"0.0,220.0 300.0,0.0\""), "{picture}");
        assert_eq!(picture.matches("<polyline").count(), 4 * rows().iter().map(|row| row.lines.len()).sum::<usize>());
    }
}
