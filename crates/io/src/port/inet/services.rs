//! The system's list of services: names, ports and protocols.

const SERVICES: &str = "/etc/services";

/// A text at the start of `data` after a byte with its length, and how many bytes that takes.
fn counted(data: &[u8]) -> Option<(String, usize)> {
    let len = usize::from(*data.first()?);
    Some((String::from_utf8_lossy(data.get(1..=len)?).into_owned(), len + 1))
}

/// Names, port and protocol of a line.
fn fields(line: &str) -> Option<(Vec<&str>, u16, &str)> {
    let mut words = line.split('#').next()?.split_whitespace();
    let (name, number) = (words.next()?, words.next()?);
    let (port, protocol) = number.split_once('/')?;
    Some((std::iter::once(name).chain(words).collect(), port.parse().ok()?, protocol))
}

/// The port of a service, in bytes: its name and its protocol, each after its length.
pub(super) fn port(data: &[u8]) -> Option<Vec<u8>> {
    let (name, used) = counted(data)?;
    let (protocol, _) = counted(data.get(used..)?)?;
    let text = std::fs::read_to_string(SERVICES).ok()?;
    let mut found = text.lines().filter_map(fields).filter(|(names, _, of)| *of == protocol && names.contains(&&*name));
    found.next().map(|(_, port, _)| port.to_be_bytes().to_vec())
}

/// The first name of a service: its port, and its protocol after the length.
pub(super) fn name(data: &[u8]) -> Option<Vec<u8>> {
    let (port, rest) = data.split_first_chunk::<2>()?;
    let (protocol, _) = counted(rest)?;
    let port = u16::from_be_bytes(*port);
    let text = std::fs::read_to_string(SERVICES).ok()?;
    let mut found = text.lines().filter_map(fields).filter(|(_, number, of)| *number == port && *of == protocol);
    found.next().and_then(|(names, ..)| names.first().map(|name| name.as_bytes().to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_texts() {
        assert_eq!(fields("www  80/tcp  http # web"), Some((vec!["www", "http"], 80, "tcp")));
        assert_eq!((fields("# nothing"), fields("x 99999/tcp"), fields("x y")), (None, None, None));
        assert_eq!(counted(&[2, b'a', b'b', 7]), Some(("ab".to_owned(), 3)));
        assert_eq!((counted(&[3, 1]), counted(&[]), port(&[1]), name(&[0])), (None, None, None, None));
    }
}
