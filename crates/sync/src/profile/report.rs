//! The lock profile for people and for programs: tables of text, and JSON.

use super::{Counts, How, Row, Snapshot};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

/// By what rows are sorted, the greatest first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Column {
    /// Acquisitions that had to wait.
    Collisions,
    /// Acquisitions.
    Tries,
    /// Time spent waiting.
    Wait,
}

impl Column {
    /// By its name on the command line.
    pub fn of_name(name: &str) -> Option<Column> {
        match name {
            "collisions" => Some(Column::Collisions),
            "tries" => Some(Column::Tries),
            "wait" => Some(Column::Wait),
            _ => None,
        }
    }

    fn of(self, counts: &Counts) -> u64 {
        match self {
            Column::Collisions => counts.collisions,
            Column::Tries => counts.tries,
            Column::Wait => counts.wait_ns,
        }
    }
}

/// Places that the text shows.
const MOST_PLACES: usize = 15;

fn sorted<K: Ord + Clone>(sums: &BTreeMap<K, Counts>, by: Column) -> Vec<(K, Counts)> {
    let mut rows: Vec<(K, Counts)> = sums.iter().map(|(key, counts)| (key.clone(), *counts)).collect();
    // Stable: rows that are equal stay in the order of their keys.
    rows.sort_by_key(|(_, counts)| std::cmp::Reverse((by.of(counts), counts.collisions, counts.wait_ns, counts.tries)));
    rows
}

fn percent(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { 100.0 * part as f64 / of as f64 }
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// The end of the bucket within which this share of what a histogram counts lies, in microseconds; nothing if it counts nothing.
fn quantile(histogram: &[u64], share: f64) -> String {
    let all: u64 = histogram.iter().sum();
    let mut below = 0;
    let at = histogram.iter().position(|count| {
        below += count;
        all > 0 && below as f64 >= share * all as f64
    });
    at.map_or_else(|| "-".to_owned(), |bucket| format!("{:.1}", (1_u64 << (bucket + 1)) as f64 / 1e3))
}

fn place(row: &Row) -> String {
    row.site.map_or_else(|| "(many)".to_owned(), |site| format!("{}:{}", site.file(), site.line()))
}

type ClassKey = (&'static str, How);

fn by_class(row: &Row) -> ClassKey {
    (row.class.name(), row.how)
}

fn instances(profile: &Snapshot) -> BTreeMap<ClassKey, usize> {
    let mut seen = BTreeMap::<ClassKey, BTreeSet<usize>>::new();
    for row in &profile.rows {
        seen.entry(by_class(row)).or_default().insert(row.lock);
    }
    seen.into_iter().map(|(key, locks)| (key, locks.len())).collect()
}

fn total(profile: &Snapshot) -> Counts {
    profile.sums(|_| ()).remove(&()).unwrap_or_default()
}

fn class_table(out: &mut String, profile: &Snapshot, by: Column, all: &Counts) -> std::fmt::Result {
    let instances = instances(profile);
    writeln!(
        out,
        "{:<22} {:<6} {:>6} {:>12} {:>11} {:>8} {:>8} {:>10} {:>9} {:>9} {:>9} {:>10}",
        "lock",
        "how",
        "locks",
        "tries",
        "collisions",
        "of tries",
        "of all",
        "wait ms",
        "p50 us",
        "p99 us",
        "held us",
        "kept ms"
    )?;
    for (key, counts) in sorted(&profile.sums(by_class), by) {
        writeln!(
            out,
            "{:<22} {:<6} {:>6} {:>12} {:>11} {:>6.2} % {:>6.2} % {:>10.3} {:>9} {:>9} {:>9} {:>10.3}",
            key.0,
            key.1.name(),
            instances[&key],
            counts.tries,
            counts.collisions,
            percent(counts.collisions, counts.tries),
            percent(counts.collisions, all.collisions),
            ms(counts.wait_ns),
            quantile(&counts.waits, 0.5),
            quantile(&counts.waits, 0.99),
            quantile(&counts.holds, 0.5),
            ms(counts.kept_ns),
        )?;
    }
    Ok(())
}

fn place_table(out: &mut String, profile: &Snapshot, by: Column) -> std::fmt::Result {
    writeln!(
        out,
        "\n{:<22} {:<6} {:>12} {:>11} {:>10} {:>9} {:>10}  place",
        "lock", "how", "tries", "collisions", "wait ms", "kept", "kept ms"
    )?;
    let sums = profile.sums(|row| (by_class(row), place(row)));
    for (((class, how), place), counts) in sorted(&sums, by).into_iter().take(MOST_PLACES) {
        writeln!(
            out,
            "{:<22} {:<6} {:>12} {:>11} {:>10.3} {:>9} {:>10.3}  {place}",
            class,
            how.name(),
            counts.tries,
            counts.collisions,
            ms(counts.wait_ns),
            counts.kept,
            ms(counts.kept_ns),
        )?;
    }
    Ok(())
}

fn thread_table(out: &mut String, profile: &Snapshot, by: Column) -> std::fmt::Result {
    writeln!(
        out,
        "\n{:<16} {:<22} {:<6} {:>12} {:>11} {:>10} {:>10}",
        "thread", "lock", "how", "tries", "collisions", "wait ms", "kept ms"
    )?;
    for thread in profile.threads.keys() {
        let mut of = profile.clone();
        of.rows.retain(|row| row.thread == *thread);
        for ((class, how), counts) in sorted(&of.sums(by_class), by) {
            writeln!(
                out,
                "{:<16} {:<22} {:<6} {:>12} {:>11} {:>10.3} {:>10.3}",
                profile.threads[thread],
                class,
                how.name(),
                counts.tries,
                counts.collisions,
                ms(counts.wait_ns),
                ms(counts.kept_ns),
            )?;
        }
    }
    Ok(())
}

/// A table by class, one by place in the source and, if wished, one by thread.
pub fn text(profile: &Snapshot, by: Column, by_thread: bool) -> String {
    let all = total(profile);
    let mut out = format!(
        "{:.3} s, {} tries, {} collisions ({:.3} %), {:.3} ms waited\n\n",
        profile.ns as f64 / 1e9,
        all.tries,
        all.collisions,
        percent(all.collisions, all.tries),
        ms(all.wait_ns)
    );
    let written = class_table(&mut out, profile, by, &all)
        .and_then(|()| place_table(&mut out, profile, by))
        .and_then(|()| if by_thread { thread_table(&mut out, profile, by) } else { Ok(()) });
    written.expect("a string takes all");
    if profile.uncounted != 0 {
        out.push_str(&format!("\nnot counted: {} acquisitions\n", profile.uncounted));
    }
    out
}

fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// All rows, as one JSON object: `{"ns", "uncounted", "rows": [{"class", "how", "lock", "place", "thread", "tries", "collisions",
/// "wait_ns", "held", "held_ns", "kept", "kept_ns", "waits", "holds"}]}`. `lock` and `place` are null in a row that stands for several;
/// the histograms end with their last bucket that is not zero.
pub fn json(profile: &Snapshot, by: Column) -> String {
    let mut rows: Vec<&Row> = profile.rows.iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(by.of(&row.counts)));
    let mut out = format!("{{\"ns\":{},\"uncounted\":{},\"rows\":[", profile.ns, profile.uncounted);
    for (i, row) in rows.into_iter().enumerate() {
        let counts = &row.counts;
        let lock = if row.lock == 0 { "null".to_owned() } else { row.lock.to_string() };
        let place = row.site.map_or_else(|| "null".to_owned(), |_| quoted(&place(row)));
        let numbers = [
            ("tries", counts.tries),
            ("collisions", counts.collisions),
            ("wait_ns", counts.wait_ns),
            ("held", counts.held),
            ("held_ns", counts.held_ns),
            ("kept", counts.kept),
            ("kept_ns", counts.kept_ns),
        ];
        out.push_str(if i == 0 { "\n" } else { ",\n" });
        out.push_str(&format!(
            "{{\"class\":{},\"how\":\"{}\",\"lock\":{lock},\"place\":{place},\"thread\":{}",
            quoted(row.class.name()),
            row.how.name(),
            quoted(profile.threads.get(&row.thread).map_or("", String::as_str)),
        ));
        out.extend(numbers.map(|(name, number)| format!(",\"{name}\":{number}")));
        for (name, histogram) in [("waits", &counts.waits), ("holds", &counts.holds)] {
            let used = histogram.iter().rposition(|count| *count != 0).map_or(0, |last| last + 1);
            out.push_str(&format!(",\"{name}\":{:?}", &histogram[..used]));
        }
        out.push('}');
    }
    out.push_str("\n]}\n");
    out
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Column, json, quantile, text};
    use crate::{
        LockClass,
        profile::{Counts, How, Row, Snapshot},
    };
    use std::panic::Location;

    static OFTEN: LockClass = LockClass::new("often", 1);
    static FOUGHT: LockClass = LockClass::new("fought_over", 2);

    fn profile() -> Snapshot {
        let site = Some(Location::caller());
        let mut waits = [0; super::super::BUCKETS];
        waits[10] = 3;
        waits[12] = 1;
        let fought = Counts {
            tries: 10,
            collisions: 4,
            wait_ns: 9_000,
            kept: 2,
            kept_ns: 1_500_000,
            waits,
            ..Counts::default()
        };
        let often = Counts { tries: 1_000, ..Counts::default() };
        let rows = vec![
            Row { class: &OFTEN, lock: 64, how: How::Spin, site, thread: 0, counts: often },
            Row { class: &FOUGHT, lock: 128, how: How::Write, site, thread: 1, counts: fought },
            Row { class: &FOUGHT, lock: 0, how: How::Write, site: None, thread: 0, counts: often },
        ];
        let threads = [(0, "one \"1\"".to_owned()), (1, "two".to_owned())].into();
        Snapshot { ns: 2_000_000_000, rows, threads, uncounted: 5 }
    }

    #[test]
    fn text_is_sorted_and_sums_by_class_place_and_thread() {
        let lines = |by, threads| text(&profile(), by, threads).lines().map(str::to_owned).collect::<Vec<_>>();
        let by_collisions = lines(Column::Collisions, true);
        assert_eq!(by_collisions[0], "2.000 s, 2010 tries, 4 collisions (0.199 %), 0.009 ms waited");
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let expected =
            ["fought_over", "write", "2", "1010", "4", "0.40", "%", "100.00", "%", "0.009", "2.0", "8.2", "-", "1.500"];
        assert_eq!(words(&by_collisions[3]), expected);
        assert!(by_collisions[4].starts_with("often"));
        assert_eq!(by_collisions.iter().filter(|line| line.ends_with("(many)")).count(), 1);
        assert_eq!(by_collisions.iter().filter(|line| line.starts_with("one \"1\"")).count(), 2);
        assert_eq!(by_collisions.last().expect("lines"), "not counted: 5 acquisitions");
        assert!(lines(Column::Tries, false)[3].starts_with("fought_over"));
        assert!(lines(Column::Tries, false).iter().all(|line| !line.starts_with("two")));
    }

    #[test]
    fn json_has_a_row_for_each_row() {
        let json = json(&profile(), Column::Collisions);
        let lines: Vec<&str> = json.lines().collect();
        assert_eq!(lines[0], "{\"ns\":2000000000,\"uncounted\":5,\"rows\":[");
        assert!(
            lines[1].starts_with("{\"class\":\"fought_over\",\"how\":\"write\",\"lock\":128,\"place\":\"crates/sync/")
        );
        assert!(lines[1].contains("\"thread\":\"two\",\"tries\":10,\"collisions\":4,\"wait_ns\":9000,\"held\":0"));
        assert!(lines[1].ends_with("\"waits\":[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 1],\"holds\":[]},"));
        assert!(lines[3].contains("\"lock\":null,\"place\":null,\"thread\":\"one \\\"1\\\"\""));
        assert_eq!((lines.len(), lines[4]), (5, "]}"));
    }

    #[test]
    fn a_quantile_is_the_end_of_its_bucket() {
        assert_eq!(quantile(&[0, 0], 0.5), "-");
        assert_eq!(quantile(&[0; 10].map(|zero: u64| zero + 1), 0.5), "0.0");
        assert_eq!(quantile(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 1], 0.9), "1.0");
        assert_eq!(quantile(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 1], 0.95), "2.0");
    }

    #[test]
    fn snapshots_subtract() {
        let early = profile();
        let mut late = early.clone();
        late.ns += 500;
        late.uncounted += 1;
        late.rows[1].counts.tries += 7;
        late.rows.push(Row { thread: 1, ..late.rows[0] });
        let between = late.since(&early);
        assert_eq!((between.ns, between.uncounted, between.rows.len()), (500, 1, 2));
        assert_eq!(between.rows[0].counts, Counts { tries: 7, ..Counts::default() });
        assert_eq!(between.rows[1].counts.tries, 1_000);
        assert_eq!(Column::of_name("wait"), Some(Column::Wait));
        assert_eq!(Column::of_name("waits"), None);
    }
}
