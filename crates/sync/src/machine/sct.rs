//! The syntax of `+sct`: `L0-3t0-1c0,0,1,1p0n0:L4c2p1n1`.
//!
//! Each part between colons has a list of logical processors, and for each level above a list of the same length or one number that
//! all have. The letters' order is that of the levels, from the inside out; nodes stand outside of processors or inside of them.
//! Upper case says that the numbers are the hardware's, which is all the same here.

use super::topology::{Entry, MOST_IDS, Node, Topology, Wrong};

/// Reads a topology.
pub fn parse(text: &str) -> Result<Topology, Wrong> {
    let mut entries = Vec::new();
    // A colon at the end is allowed.
    for part in text.strip_suffix(':').filter(|rest| !rest.is_empty()).unwrap_or(text).split(':') {
        read_part(part, &mut entries)?;
        if entries.len() > MOST_IDS as usize {
            return Err(Wrong::LogicalTwice);
        }
    }
    Topology::new(entries)
}

/// The numbers of each level.
#[derive(Default)]
struct Lists {
    logical: Option<Vec<u32>>,
    thread: Option<Vec<u32>>,
    core: Option<Vec<u32>>,
    processor: Option<Vec<u32>>,
    node: Option<Vec<u32>>,
    /// The node came before the processor.
    is_inside: bool,
}

fn read_part(part: &str, entries: &mut Vec<Entry>) -> Result<(), Wrong> {
    let mut lists = Lists::default();
    let mut rest = part;
    while let Some(letter) = rest.chars().next() {
        let end = rest[letter.len_utf8()..]
            .find(|c: char| c.is_ascii_alphabetic())
            .map_or(rest.len(), |at| at + letter.len_utf8());
        let (Lists { logical, thread, core, processor, node, is_inside }, numbers) =
            (&mut lists, &rest[letter.len_utf8()..end]);
        let (list, follows) = match letter {
            'L' => (&mut *logical, thread.is_some() || core.is_some() || processor.is_some() || node.is_some()),
            't' | 'T' => (&mut *thread, core.is_some() || processor.is_some() || node.is_some()),
            'c' | 'C' => (&mut *core, processor.is_some() || node.is_some()),
            'p' | 'P' => {
                *is_inside = node.is_some();
                (&mut *processor, false)
            }
            'n' | 'N' => (&mut *node, false),
            _ => return Err(Wrong::IdentifierType),
        };
        if follows || list.is_some() {
            return Err(Wrong::Hierarchy);
        }
        *list = Some(read_numbers(numbers)?);
        rest = &rest[end..];
    }
    add(lists, entries)
}

fn add(lists: Lists, entries: &mut Vec<Entry>) -> Result<(), Wrong> {
    let logical = lists.logical.ok_or(Wrong::MissingLogical)?;
    let others = [&lists.thread, &lists.core, &lists.processor, &lists.node];
    // One number is for all.
    if others.iter().any(|list| list.as_ref().is_some_and(|list| list.len() != 1 && list.len() != logical.len())) {
        return Err(Wrong::IdentifierRange);
    }
    let number = |list: &Option<Vec<u32>>, i: usize| list.as_ref().map(|list| *list.get(i).unwrap_or(&list[0]));
    for (i, logical) in logical.into_iter().enumerate() {
        entries.push(Entry {
            logical,
            thread: number(&lists.thread, i).unwrap_or(0),
            core: number(&lists.core, i).unwrap_or(0),
            processor: number(&lists.processor, i).unwrap_or(0),
            node: match number(&lists.node, i) {
                None => Node::None,
                Some(node) if lists.is_inside => Node::Inside(node),
                Some(node) => Node::Outside(node),
            },
        });
    }
    Ok(())
}

/// `0-3,8`: ranges may fall.
fn read_numbers(text: &str) -> Result<Vec<u32>, Wrong> {
    let mut numbers = Vec::new();
    for range in text.split(',') {
        let (first, last) = match range.split_once('-') {
            // A range that has a beginning and no end.
            Some((first, last)) => (number(first)?, number(last).map_err(|_| Wrong::IdentifierRange)?),
            None => (number(range)?, number(range)?),
        };
        if first <= last {
            numbers.extend(first..=last);
        } else {
            numbers.extend((last..=first).rev());
        }
        if numbers.len() > MOST_IDS as usize {
            return Err(Wrong::IdentifierRange);
        }
    }
    Ok(numbers)
}

fn number(text: &str) -> Result<u32, Wrong> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|n| digits && *n < MOST_IDS).ok_or(Wrong::Identifier)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::parse;

    /// As OTP 25 refuses them.
    #[test]
    fn what_makes_no_sense() {
        for (text, why) in [
            ("X", "invalid identifier type"),
            ("u", "invalid identifier type"),
            ("-noinput", "invalid identifier type"),
            ("L0-1c0-1d0", "invalid identifier type"),
            ("L0c0x", "invalid identifier type"),
            ("l0-1c0-1", "invalid identifier type"),
            ("L", "invalid identifier"),
            ("L0c", "invalid identifier"),
            ("L-1c0", "invalid identifier"),
            ("L0,c0", "invalid identifier"),
            ("L70000c0", "invalid identifier"),
            ("L99999999999999c0", "invalid identifier"),
            ("L0-c0", "invalid identifier range"),
            ("L0-65536c0-65536", "invalid identifier range"),
            ("L0-1c0-1,2", "invalid identifier range"),
            ("L0c0,1", "invalid identifier range"),
            ("L0-3c0-3p0-1", "invalid identifier range"),
            ("L0-7c0-3t0-1p0N0", "invalid hierarchy"),
            ("L0-1c0-1c0-1", "invalid hierarchy"),
            ("c0-1L0-1", "invalid hierarchy"),
            ("L0-1p0-1c0", "invalid hierarchy"),
            ("L0-1c0-1p0n0N0", "invalid hierarchy"),
            ("L0-1c0-1n0N0", "invalid hierarchy"),
            ("L0-1c0-1t", "invalid hierarchy"),
            (":L0c0", "missing logical identifier"),
            ("L0c0::L1c1", "missing logical identifier"),
            ("L0c0:L0c1", "not unique logical identifiers"),
            ("L0,0c0-1", "not unique logical identifiers"),
            ("L0-1", "not unique entities"),
            ("L0-1c0", "not unique entities"),
            ("L0-1c0-1p0N0:L2c0", "invalid nodes declaration"),
            ("L0-1n0-1", "invalid nodes declaration"),
            ("L0-1c0-1n0p0:L2c0p1", "invalid nodes declaration"),
            ("L0-1c0-1n0p0:L2c0p0n1", "invalid nodes declaration"),
        ] {
            assert_eq!(parse(text).map_err(|wrong| wrong.to_string()).err().as_deref(), Some(why), "{text}");
        }
    }

    #[test]
    fn what_makes_sense() {
        for text in ["L0", "L0t0", "L0c0:", "L0-1c0-1:", "L0,1c0,1p0,0", "L0-1T0-1C0P0", "L0-65535c0-65535", "L3-0c0-3"]
        {
            assert!(parse(text).is_ok(), "{text}");
        }
        // Lists of any length end in an error, and soon.
        assert!(parse(&"L0-65535c0-65535:".repeat(1000)).is_err());
        assert!(parse(&format!("L{}c0", "0-65535,".repeat(100_000))).is_err());
        assert!(parse("Lä0").is_err() && parse("ä").is_err() && parse("").is_err());
    }
}
