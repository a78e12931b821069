//! Lines on two scales, with marks.

use crate::{frame, label, polyline};

/// A scale from the lowest value that is shown to the highest, and its marks.
pub struct Axis {
    low: f64,
    high: f64,
    is_logarithmic: bool,
    marks: Vec<(f64, String)>,
}

impl Axis {
    /// Equal steps, each marked. Both ends are marks.
    pub fn steps(low: f64, high: f64, step: f64) -> Axis {
        let count = ((high - low) / step).round() as usize;
        let marks = (0..=count).map(|n| low + n as f64 * step).map(|value| (value, format!("{value:.1}")));
        Axis { low, high, is_logarithmic: false, marks: marks.collect() }
    }

    /// Equal factors: whole powers of ten around these values, at least one.
    pub fn decades(values: impl Iterator<Item = f64> + Clone) -> Axis {
        let logs = values.filter(|value| *value > 0.0).map(f64::log10);
        let (low, high) = (logs.clone().fold(f64::MAX, f64::min), logs.fold(f64::MIN, f64::max));
        // Nothing to show: one decade from 1 on.
        let (low, high) = if low > high { (0, 1) } else { (low.floor() as i32, high.ceil() as i32) };
        let high = high.max(low + 1);
        let marks = (low..=high).map(|log| {
            (10f64.powi(log), if log.abs() < 4 { format!("{}", 10f64.powi(log)) } else { format!("1e{log}") })
        });
        Axis { low: 10f64.powi(low), high: 10f64.powi(high), is_logarithmic: true, marks: marks.collect() }
    }

    /// Equal factors from the first of these numbers to the last, each marked.
    pub fn marked(numbers: &[usize]) -> Axis {
        let marks: Vec<_> = numbers.iter().map(|number| (*number as f64, number.to_string())).collect();
        let end = |mark: Option<&(f64, String)>| mark.map_or(1.0, |(value, _)| *value);
        Axis { low: end(marks.first()), high: end(marks.last()), is_logarithmic: true, marks }
    }

    /// Where a value stands, from 0 to 1; what lies outside stands at the end.
    fn share(&self, value: f64) -> f64 {
        let share = if self.is_logarithmic {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        share.clamp(0.0, 1.0)
    }
}

/// A line in the values' own units.
pub struct Line<'l> {
    /// As SVG has it.
    pub colour: &'l str,
    /// As SVG has them, or empty.
    pub dashes: &'l str,
    /// In the order in which they are joined.
    pub points: Vec<(f64, f64)>,
}

/// A frame with lines.
pub struct Panel<'l> {
    /// What it shows.
    pub title: &'l str,
    /// Without the margin for the labels.
    pub width: f64,
    /// Likewise.
    pub height: f64,
    /// From left to right.
    pub across: Axis,
    /// From the foot up.
    pub up: Axis,
    /// The lines.
    pub lines: Vec<Line<'l>>,
}

impl Panel<'_> {
    /// The panel; the labels of its scales stand left of the frame and below.
    pub fn svg(&self) -> String {
        let Panel { title, width, height, across, up, lines } = self;
        let x = |value| width * across.share(value);
        let y = |value| height * (1.0 - up.share(value));
        let mut text = frame(*width, *height, title);
        for (value, mark) in &across.marks {
            text += &label(x(*value), height + 14.0, "middle", mark);
        }
        for (value, mark) in &up.marks {
            text += &label(-4.0, y(*value) + 4.0, "end", mark);
        }
        for Line { colour, dashes, points } in lines {
            let points: Vec<_> = points.iter().map(|(across, up)| (x(*across), y(*up))).collect();
            text += &polyline(colour, dashes, &points);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_where_their_scales_say() {
        let axis = Axis::decades([3.0, 0.0, 500.0].into_iter());
        assert_eq!((axis.share(1.0), axis.share(1000.0), axis.marks.len()), (0.0, 1.0, 4));
        assert!((axis.share(10.0) - 1.0 / 3.0).abs() < 1e-9 && axis.share(0.0) == 0.0);
        let axis = Axis::steps(0.0, 1.0, 0.1);
        assert_eq!((axis.share(0.25), axis.share(2.0), axis.marks.len()), (0.25, 1.0, 11));
        assert_eq!(Axis::marked(&[1, 2, 16]).share(4.0), 0.5);
        assert_eq!(Axis::decades(std::iter::empty()).marks.len(), 2);
    }

    #[test]
    fn lines_rise_from_the_foot() {
        let line = Line { colour: "#000", dashes: "", points: vec![(0.0, 1.0), (1.0, 10.0)] };
        let (across, up) = (Axis::steps(0.0, 1.0, 0.5), Axis::decades([1.0, 10.0].into_iter()));
        let panel = Panel { title: "t", width: 100.0, height: 50.0, across, up, lines: vec![line] };
        assert!(panel.svg().contains("points=\"0.0,50.0 100.0,0.0\""));
    }
}
