//! Pictures of figures (SVG), for what measures: the simulator, the benchmarks. It is no part of the VM and needs no other crate.
//!
//! A picture is a text that is put together from texts: [`picture`] around [`placed`] panels. A [`Panel`] has lines on two scales; what has something else within a
//! [`frame`] writes it itself. SVG counts from the top, so a scale of the second axis is turned round here, and nowhere else.

mod panel;

pub use panel::{Axis, Line, Panel};

/// The lines' colours, told apart by most eyes (after Okabe and Ito).
pub const COLOURS: [&str; 9] =
    ["#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8b4513", "#999999"];

/// A whole picture, of so many units.
pub fn picture(width: f64, height: f64, body: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{body}</svg>\n"
    )
}

/// What stands so far from the left and from the top.
pub fn placed(left: f64, top: f64, what: &str) -> String {
    format!("<g transform=\"translate({left:.0} {top:.0})\">\n{what}</g>\n")
}

/// A text; `anchor` says which part of it stands there: `start`, `middle` or `end`.
pub fn label(x: f64, y: f64, anchor: &str, text: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>\n", escaped(text))
}

/// A frame with its title above.
pub fn frame(width: f64, height: f64, title: &str) -> String {
    let title = escaped(title);
    format!(
        "<rect width=\"{width}\" height=\"{height}\" fill=\"none\" stroke=\"#888\"/>\n<text y=\"-8\">{title}</text>\n"
    )
}

/// A line through points; `dashes` as SVG has them, or empty.
pub fn polyline(colour: &str, dashes: &str, points: &[(f64, f64)]) -> String {
    let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let dashes = if dashes.is_empty() { String::new() } else { format!("stroke-dasharray=\"{dashes}\" ") };
    format!(
        "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" {dashes}points=\"{}\"/>\n",
        points.join(" ")
    )
}

/// What the lines are: names, each with the colour and the dashes of its line.
pub fn legend<'l>(lines: impl IntoIterator<Item = (&'l str, &'l str, &'l str)>) -> String {
    let row = |(row, (name, colour, dashes)): (usize, (&str, &str, &str))| {
        let y = row as f64 * 16.0;
        polyline(colour, dashes, &[(0.0, y + 2.0), (24.0, y + 2.0)]) + &label(30.0, y + 6.0, "start", name)
    };
    lines.into_iter().enumerate().map(row).collect()
}

/// A text that is no markup.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_no_markup() {
        assert!(label(1.0, 2.0, "end", "a <b> & c").ends_with(">a &lt;b> &amp; c</text>\n"));
        assert!(frame(3.0, 4.0, "<").contains("&lt;"));
    }

    #[test]
    fn a_line_has_dashes_where_it_wants_some() {
        let points = [(0.0, 1.0), (2.0, 3.0)];
        assert!(polyline("#000", "", &points).ends_with("stroke-width=\"1.5\" points=\"0.0,1.0 2.0,3.0\"/>\n"));
        assert!(polyline("#000", "6 3", &points).contains(" stroke-dasharray=\"6 3\" points="));
        assert_eq!(legend([("a", "#000", ""), ("b", "#000", "2")]).matches("<polyline").count(), 2);
    }
}
