//! What is told of a dump: its processes by the size of their heaps; of one process its stack, its messages and its objects by kind.

use super::objects::{Object, Objects, Word, object};
use super::printing::text;
use super::{DumpFile, Section};
use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// How many entries of a stack, a message queue or a dictionary are shown.
const ENTRIES: usize = 1000;

impl DumpFile<'_> {
    /// All processes, those with the largest heaps first.
    pub fn summary(&self) -> String {
        let mut out = String::new();
        // Writing to a String does not fail.
        let _ = self.write_summary(&mut out);
        out
    }

    /// All of a process that the dump has; nothing if it has no such process.
    pub fn process(&self, pid: &str) -> Option<String> {
        let process = self.of("proc", pid)?;
        let mut out = String::new();
        let _ = self.write_process(&mut out, process);
        Some(out)
    }

    fn write_summary(&self, out: &mut String) -> fmt::Result {
        if let Some(first) = self.sections.first() {
            writeln!(out, "{} ({})", first.field("Slogan"), first.field("System version"))?;
        }
        let mut processes: Vec<&Section<'_>> = self.named("proc").collect();
        processes.sort_by_key(|process| std::cmp::Reverse(heap_words(process)));
        let sum = processes.iter().map(|process| heap_words(process)).fold(0, u64::saturating_add);
        writeln!(out, "{} processes, {sum} words of heaps\n", processes.len())?;
        writeln!(
            out,
            "{:>12} {:>9} {:>12}  {:<12} {:<10} name",
            "heap words", "messages", "bytes", "process", "state"
        )?;
        for process in processes {
            let [messages, bytes] = ["Message queue length", "Memory"].map(|field| process.number(field));
            let (words, state) = (heap_words(process), process.field("State"));
            writeln!(out, "{words:>12} {messages:>9} {bytes:>12}  {:<12} {state:<10} {}", process.of, name(process))?;
        }
        Ok(())
    }

    fn write_process(&self, out: &mut String, process: &Section<'_>) -> fmt::Result {
        let pid = process.of;
        writeln!(out, "{pid} {}: {}, parent {}", name(process), process.field("State"), process.field("Spawned by"))?;
        for field in
            ["Program counter", "Link list", "Stack+heap", "Heap unused", "OldHeap", "Heap fragment data", "Memory"]
        {
            writeln!(out, "{field}: {}", process.field(field))?;
        }
        let objects = Objects::of(self, pid);
        if let Some(stack) = self.of("proc_stack", pid) {
            entries(out, "stack", stack.lines(), |line| entry(&objects, line))?;
        }
        let lines = |name| self.of(name, pid).into_iter().flat_map(|section| section.lines());
        entries(out, "messages, the oldest first", lines("proc_messages"), |line| whole(&objects, line))?;
        entries(out, "dictionary", lines("proc_dictionary"), |line| whole(&objects, line))?;
        kinds(out, lines("proc_heap"))
    }
}

fn heap_words(process: &Section<'_>) -> u64 {
    let parts = ["Stack+heap", "OldHeap", "Heap fragment data"].map(|field| process.number(field));
    parts.into_iter().fold(0, u64::saturating_add)
}

/// The registered name, or the first function.
fn name<'a>(process: &Section<'a>) -> &'a str {
    let name = process.field("Name");
    if name.is_empty() { process.field("Spawned as") } else { name }
}

fn entries<'a>(
    out: &mut String,
    title: &str,
    lines: impl Iterator<Item = &'a str>,
    show: impl Fn(&'a str) -> String,
) -> fmt::Result {
    let lines: Vec<&str> = lines.collect();
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{title} ({}):", lines.len())?;
    lines.iter().take(ENTRIES).try_for_each(|line| writeln!(out, "  {}", show(line)))?;
    if lines.len() > ENTRIES { writeln!(out, "  ...") } else { Ok(()) }
}

/// A word of a stack: `PLACE:word`.
fn entry<'a>(objects: &Objects<'a>, line: &'a str) -> String {
    match line.split_once(':') {
        Some((_, word)) if word.starts_with('S') => whole(objects, word),
        Some((place, word)) => format!("  {place}: {}", whole(objects, word)),
        None => line.to_owned(),
    }
}

/// The term at the beginning of a line.
fn whole<'a>(objects: &Objects<'a>, line: &'a str) -> String {
    Word::parse(line).map_or_else(|| "<not understood>".to_owned(), |(word, _)| text(objects, word))
}

/// How many objects of each kind there are, and what they take.
fn kinds<'a>(out: &mut String, lines: impl Iterator<Item = &'a str>) -> fmt::Result {
    let mut kinds: BTreeMap<&str, (usize, Option<usize>)> = BTreeMap::new();
    for (at, object) in lines.filter_map(object).map(|(at, text)| (at, Object::parse(text))) {
        let (count, words) = kinds.entry(object.kind()).or_insert((0, Some(0)));
        *count += 1;
        *words = words.zip(object.words(at)).map(|(sum, more)| sum + more);
    }
    if kinds.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nobjects that these lead to:\n{:>10} {:>12}  kind", "count", "words")?;
    kinds.into_iter().try_for_each(|(kind, (count, words))| {
        let words = words.map_or("?".to_owned(), |words| words.to_string());
        writeln!(out, "{count:>10} {words:>12}  {kind}")
    })
}

#[cfg(test)]
mod tests {
    use crate::dump_file::{DumpFile, NoDump};

    const DUMP: &str = "=erl_crash_dump:0.5\nMon\nSlogan: why\nSystem version: Myriad\n\
        =proc:<0.1.0>\nState: Waiting\nSpawned as: a:b/1\nStack+heap: 10\nOldHeap: 5\n\
        =proc:<0.2.0>\nState: Running\nName: big\nMessage queue length: 2\nStack+heap: 100\nMemory: 900\n\
        =proc_stack:<0.2.0>\ny0:H10\ny1:A3:a b\n0x7f:SReturn addr 0x1 (m:f/1)\n\
        =proc_heap:<0.2.0>\n10:t3:I1,H20,H40\n20:lI104|H30\n30:lI105|N\n40:lI1|H50\n50:lP<0.1.0>|I2\n60:lI1|H60\n\
        70:Mh1:1:H80\n80:lA1:k|HA0\n90:YcB0:1:2\nA0:F4:2.50\n\
        =proc_messages:<0.2.0>\nH60:N\nH70:N\nH90:N\nHF0:N\nHC0:N\n=literals\nC0:E4:g2EF\n=binary:B0\n4:YWJjZA==\n=end\n";

    #[test]
    fn processes_are_sorted_by_their_heaps() {
        let summary = DumpFile::parse(DUMP).unwrap().summary();
        let lines: Vec<Vec<&str>> = summary.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["2", "processes,", "115", "words", "of", "heaps"]);
        assert_eq!(lines[4], ["100", "2", "900", "<0.2.0>", "Running", "big"]);
        assert_eq!(lines[5], ["15", "0", "0", "<0.1.0>", "Waiting", "a:b/1"]);
    }

    #[test]
    fn a_process_has_its_stack_its_messages_and_its_objects() {
        let dump = DumpFile::parse(DUMP).unwrap();
        assert_eq!(dump.process("<0.3.0>"), None);
        let process = dump.process("<0.2.0>").unwrap();
        let has = |line: &str| assert!(process.lines().any(|other| other == line), "{line}\n{process}");
        has("    y0: {1,\"hi\",[1,<0.1.0>|2]}");
        has("    y1: 'a b'");
        has("  Return addr 0x1 (m:f/1)");
        has("  #{k => 2.5}");
        has("  <<\"bc\">>");
        has("  <nothing at F0>");
        has("  5");
        has("         6           12  cons");
        has("         1            ?  shared or sub binary");
        // A list that is its own tail.
        assert!(process.contains("[1,1,1,") && process.lines().any(|line| line.ends_with(",1...")), "{process}");
    }

    #[test]
    fn what_is_no_dump_is_refused_and_a_torn_one_shown() {
        assert_eq!(DumpFile::parse("x").err(), Some(NoDump));
        for end in 15..DUMP.len() {
            let dump = DumpFile::parse(&DUMP[..end]).unwrap();
            let shown: Vec<String> = dump.pids().filter_map(|pid| dump.process(pid)).collect();
            assert_eq!(shown.len(), dump.pids().count());
            assert!(!dump.summary().is_empty());
        }
    }
}
