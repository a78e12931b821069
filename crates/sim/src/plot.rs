//! The figures of a sweep as a picture (SVG): speed-up over cores, and where the cores' time went.

use crate::report::{Row, Spent, Sweep};
use myriad_chart::{frame, label, picture, placed, polyline};

/// A panel's size, and the margin that its labels stand in.
const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 240.0;
const MARGIN: f64 = 52.0;

/// A colour for each part of the time, told apart by most eyes (Okabe and Ito); what computes first, what idles last and pale.
const COLOURS: [&str; Spent::TIMES] = [
    "#0072b2", "#56b4e9", "#009e73", "#004d40", "#882255", "#d55e00", "#cc79a7", "#e69f00", "#f0e442", "#999999",
    "#bbbbbb", "#dddddd",
];

/// Two panels: speed-up against the first row beside what as many cores could give, both scales logarithmic; the shares of all cores' time.
pub fn svg(sweep: &Sweep) -> String {
    let body = placed(MARGIN, MARGIN, &speed_up(sweep)) + &placed(WIDTH + 3.0 * MARGIN, MARGIN, &shares(&sweep.rows));
    picture(2.0 * (WIDTH + 2.0 * MARGIN) + 110.0, HEIGHT + 2.0 * MARGIN, &body)
}

/// The curve, that of the absolute speed-up (dashed), and the line of what is possible.
fn speed_up(sweep: &Sweep) -> String {
    let Sweep { machine, rows, .. } = sweep;
    let mut text = frame(WIDTH, HEIGHT, &format!("{machine}: speed-up by cores"));
    let Some(first) = rows.first() else { return text };
    let most = rows.iter().map(|row| row.figures.cores as f64 / first.figures.cores as f64).fold(2.0, f64::max);
    // Both scales go from 1 to the most that is possible; what is slower than the first stands below the frame's foot, at most so far.
    let across = |factor: f64| WIDTH * factor.log2() / most.log2();
    let up = |factor: f64| HEIGHT * (1.0 - factor.log2().max(-0.5) / most.log2());
    let (mut points, mut absolute) = (Vec::new(), Vec::new());
    for row in rows {
        let factor = row.figures.cores as f64 / first.figures.cores as f64;
        let gained = first.figures.ns as f64 / row.figures.ns.max(1) as f64;
        points.push((across(factor), up(gained)));
        absolute.extend(sweep.absolute(row).map(|gained| (across(factor), up(gained))));
        text += &label(across(factor), HEIGHT + 26.0, "middle", &row.figures.cores.to_string());
        text += &label(-4.0, up(factor) + 4.0, "end", &format!("{factor:.0}"));
        text += &label(across(factor) + 4.0, up(gained) + 14.0, "start", &format!("{gained:.1}"));
    }
    let possible =
        format!("<line x1=\"0\" y1=\"{HEIGHT}\" x2=\"{WIDTH}\" y2=\"0\" stroke=\"#bbb\" stroke-dasharray=\"4\"/>\n");
    text + &possible + &polyline("#000", "6 3", &absolute) + &polyline("#000", "", &points)
}

/// A bar for each row, and what the colours mean.
fn shares(rows: &[Row]) -> String {
    let mut text = frame(WIDTH, HEIGHT, "where all cores' time went, by cores");
    let step = WIDTH / rows.len().max(1) as f64;
    for (i, Row { figures, .. }) in rows.iter().enumerate() {
        let whole = (figures.ns.max(1) * figures.cores) as f64;
        let left = step * (i as f64 + 0.15);
        let mut foot = HEIGHT;
        for (part, colour) in figures.spent.parts().iter().zip(COLOURS) {
            let height = (*part as f64 / whole).min(1.0) * HEIGHT;
            foot -= height;
            let width = step * 0.7;
            text += &format!(
                "<rect x=\"{left:.1}\" y=\"{foot:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\"/>\n"
            );
        }
        text += &label(step * (i as f64 + 0.5), HEIGHT + 26.0, "middle", &figures.cores.to_string());
    }
    for (i, (name, colour)) in Spent::NAMES.iter().zip(COLOURS).enumerate() {
        let top = i as f64 * 18.0;
        text +=
            &format!("<rect x=\"{:.0}\" y=\"{top:.0}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>\n", WIDTH + 12.0);
        text += &label(WIDTH + 28.0, top + 10.0, "start", name);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{COLOURS, svg};
    use crate::report::tests::{row, sweep};

    #[test]
    fn each_row_has_a_bar_of_all_parts_and_the_title_is_no_markup() {
        let mut half = row();
        half.figures.cores = 4;
        half.figures.ns = 250;
        let picture = svg(&sweep("a <b> & c", vec![row(), half]));
        assert!(picture.contains(">a &lt;b> &amp; c: speed-up by cores</text>"));
        assert_eq!(picture.matches("width=\"126.0\"").count(), 2 * COLOURS.len());
        // Twice the cores, twice as fast: from one corner to the other.
        assert!(picture.contains("points=\"0.0,240.0 360.0,0.0\""), "{picture}");
        // Half as fast as the sequential VM, and as fast.
        assert!(picture.contains("stroke-dasharray=\"6 3\" points=\"0.0,360.0 360.0,240.0\""), "{picture}");
    }
}
