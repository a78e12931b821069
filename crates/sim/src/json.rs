//! The figures of a sweep as JSON, for programs.

use crate::report::{Row, Spent, Sweep};

/// All figures: an object with the machine's name, how true its costs are, and a row for each number of cores. Times are nanoseconds.
pub fn json(Sweep { machine, truth, rows, sequential_ns }: &Sweep) -> String {
    let rows: Vec<String> = rows.iter().map(row).collect();
    let sequential = sequential_ns.map_or("null".to_owned(), |ns| ns.to_string());
    let (machine, truth, rows) = (text(machine), text(truth), rows.join(",\n"));
    format!(
        "{{\"machine\": {machine}, \"calibration\": {truth}, \"sequential_ns\": {sequential}, \"rows\": [\n{rows}\n]}}\n"
    )
}

fn row(Row { figures, halved_ns }: &Row) -> String {
    let spent = Spent::NAMES.iter().zip(figures.spent.parts()).map(|(name, part)| (*name, part.to_string()));
    let locks = figures.waits.iter().map(|(class, waits)| {
        let (taken, waited, ns) = (waits.taken, waits.waited, waits.ns);
        (class.as_str(), format!("{{\"taken\": {taken}, \"waited\": {waited}, \"ns\": {ns}}}"))
    });
    let lines = figures.places.iter();
    let lines = lines.map(|(place, (ns, times))| (place.as_str(), format!("{{\"ns\": {ns}, \"times\": {times}}}")));
    format!(
        "{{\"cores\": {}, \"ns\": {}, \"halved_piece_ns\": {halved_ns}, \"digest\": \"{:016x}\", \"spent\": {}, \"locks\": {}, \"lines\": {}, \"processors\": {:?}}}",
        figures.cores,
        figures.ns,
        figures.digest,
        object(spent),
        object(locks),
        object(lines),
        figures.used
    )
}

fn object<'a>(entries: impl Iterator<Item = (&'a str, String)>) -> String {
    let entries: Vec<String> = entries.map(|(key, value)| format!("{}: {value}", text(key))).collect();
    format!("{{{}}}", entries.join(", "))
}

/// A text in quotes.
fn text(what: &str) -> String {
    let mut quoted = String::from("\"");
    for c in what.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted += &format!("\\u{:04x}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::{json, text};
    use crate::report::tests::{row, sweep};

    #[test]
    fn each_figure_has_a_key() {
        let text = json(&sweep("a machine", vec![row(), row()]));
        assert!(text.starts_with(
            "{\"machine\": \"a machine\", \"calibration\": \"True.\", \"sequential_ns\": 250, \"rows\": [\n{\"cores\": 2, \"ns\": 500, \"halved_piece_ns\": 510, "
        ));
        assert!(text.contains("\"idle beside work\": 0, \"searching\": 20, \"idle\": 80,"));
        assert!(text.contains("\"run queue\": {\"taken\": 8, \"waited\": 3, \"ns\": 40}"));
        assert!(
            text.ends_with(
                "\"lines\": {\"a file.rs:7\": {\"ns\": 60, \"times\": 4}}, \"processors\": [400, 100]}\n]}\n"
            ),
            "{text}"
        );
    }

    #[test]
    fn a_text_is_one_whatever_is_in_it() {
        assert_eq!(text("a\"\\\n"), "\"a\\\"\\\\\\u000a\"");
    }
}
