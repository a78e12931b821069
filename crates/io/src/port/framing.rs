//! Messages in a stream of bytes: packets with a length header, lines, or whatever comes.

/// How a port's bytes are cut into messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framing {
    /// As they come.
    Stream,
    /// Packets after a big-endian length of so many bytes (1, 2 or 4).
    Packet(usize),
    /// Lines of at most so many bytes.
    Line(usize),
}

/// One message.
#[derive(PartialEq, Eq, Debug)]
pub enum Frame {
    /// Plain data.
    Data(Vec<u8>),
    /// A line (or its end), without the line end.
    Line(Vec<u8>),
    /// A part of a line that is longer than the limit, or the last line without an end.
    PartOfLine(Vec<u8>),
}

/// Input between messages.
pub struct Reader {
    framing: Framing,
    partial: Vec<u8>,
}

/// Room that is taken ahead for a packet; more is taken as bytes really come.
const AHEAD: usize = 1 << 20;

impl Reader {
    /// Nothing read yet.
    pub const fn new(framing: Framing) -> Reader {
        Reader { framing, partial: Vec::new() }
    }

    /// Takes bytes; gives the messages that are complete with them.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Frame> {
        match self.framing {
            Framing::Stream if bytes.is_empty() => Vec::new(),
            Framing::Stream => vec![Frame::Data(bytes.to_vec())],
            Framing::Packet(header) => self.feed_packets(header, bytes),
            Framing::Line(limit) => self.feed_lines(limit, bytes),
        }
    }

    fn feed_packets(&mut self, header: usize, mut bytes: &[u8]) -> Vec<Frame> {
        let mut frames = Vec::new();
        while !bytes.is_empty() {
            if self.partial.is_empty()
                && let Some(packet) = packet_size(bytes, header).and_then(|size| bytes.get(header..size))
            {
                frames.push(Frame::Data(packet.to_vec()));
                bytes = &bytes[header + packet.len()..];
                continue;
            }
            let wanted = packet_size(&self.partial, header).unwrap_or(header);
            let part = bytes.len().min(wanted - self.partial.len());
            self.partial.extend_from_slice(&bytes[..part]);
            bytes = &bytes[part..];
            let Some(size) = packet_size(&self.partial, header) else { continue };
            if self.partial.len() == size {
                let mut packet = std::mem::take(&mut self.partial);
                packet.drain(..header);
                frames.push(Frame::Data(packet));
            } else if self.partial.len() == header {
                self.partial.reserve((size - header).min(AHEAD));
            }
        }
        frames
    }

    fn feed_lines(&mut self, limit: usize, bytes: &[u8]) -> Vec<Frame> {
        let mut frames = Vec::new();
        let mut rest = bytes;
        while let Some(byte) = rest.first() {
            if *byte == b'\n' {
                if self.partial.last() == Some(&b'\r') {
                    self.partial.pop();
                }
                frames.push(Frame::Line(std::mem::take(&mut self.partial)));
                rest = &rest[1..];
                continue;
            }
            // As much as fits, up to the line's end.
            let room = limit.saturating_sub(self.partial.len()).min(rest.len());
            if room > 0 {
                let run = memchr::memchr(b'\n', &rest[..room]).unwrap_or(room);
                self.partial.extend_from_slice(&rest[..run]);
                rest = &rest[run..];
                continue;
            }
            // A full line waits for what follows: its end would still belong to it, also after a carriage return.
            if *byte != b'\r' || self.partial.len() > limit {
                let over = self.partial.split_off(limit);
                frames.push(Frame::PartOfLine(std::mem::replace(&mut self.partial, over)));
            }
            self.partial.push(*byte);
            rest = &rest[1..];
        }
        frames
    }

    /// No more bytes will come: gives what is left of an unfinished line. An unfinished packet is dropped, as by OTP.
    pub fn finish(&mut self) -> Option<Frame> {
        let rest = std::mem::take(&mut self.partial);
        (matches!(self.framing, Framing::Line(_)) && !rest.is_empty()).then_some(Frame::PartOfLine(rest))
    }
}

/// The size of a packet with its header, once the header is there.
fn packet_size(partial: &[u8], header: usize) -> Option<usize> {
    let length = partial.get(..header)?;
    Some(header + length.iter().fold(0, |n, b| n << 8 | usize::from(*b)))
}

impl Framing {
    /// The header that goes before `len` bytes of output; nothing if they are too many for it.
    pub fn header(self, len: usize) -> Option<Vec<u8>> {
        let Framing::Packet(size) = self else { return Some(Vec::new()) };
        let all = (len as u64).to_be_bytes();
        let (front, header) = all.split_at(8 - size.min(8));
        front.iter().all(|b| *b == 0).then(|| header.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(limit: usize, input: &[&[u8]]) -> Vec<String> {
        let mut reader = Reader::new(Framing::Line(limit));
        let mut frames: Vec<Frame> = input.iter().flat_map(|i| reader.feed(i)).collect();
        frames.extend(reader.finish());
        let show = |f| match f {
            Frame::Line(b) => format!("eol {}", String::from_utf8_lossy(&b)),
            Frame::PartOfLine(b) => format!("noeol {}", String::from_utf8_lossy(&b)),
            Frame::Data(_) => "data".to_owned(),
        };
        frames.into_iter().map(show).collect()
    }

    #[test]
    fn lines_are_cut_as_erl_cuts_them() {
        assert_eq!(lines(4, &[b"ab\ncdefgh\nxyz"]), ["eol ab", "noeol cdef", "eol gh", "noeol xyz"]);
        assert_eq!(lines(4, &[b"abcd\r\nabc\r\nx\n"]), ["eol abcd", "eol abc", "eol x"]);
        assert_eq!(lines(4, &[b"abc\r", b"\nabcd", b"\nx\n"]), ["eol abc", "eol abcd", "eol x"]);
        assert_eq!(lines(4, &[b"\n\n"]), ["eol ", "eol "]);
        assert_eq!(lines(4, &[b"abcd", b"efghi", b"jk\r\r\n"]), ["noeol abcd", "noeol efgh", "eol ijk\r"]);
    }

    #[test]
    fn packets_come_whole() {
        let mut reader = Reader::new(Framing::Packet(2));
        assert_eq!(reader.feed(&[0]), []);
        assert_eq!(reader.feed(&[3, 1, 2]), []);
        assert_eq!(
            reader.feed(&[3, 0, 0, 0, 1, 9, 0]),
            [Frame::Data(vec![1, 2, 3]), Frame::Data(vec![]), Frame::Data(vec![9])]
        );
        assert_eq!(reader.finish(), None);
    }

    #[test]
    fn output_headers() {
        assert_eq!(Framing::Packet(4).header(258), Some(vec![0, 0, 1, 2]));
        assert_eq!(Framing::Packet(1).header(255), Some(vec![255]));
        assert_eq!(Framing::Packet(1).header(256), None);
        assert_eq!(Framing::Stream.header(1 << 40), Some(vec![]));
    }
}
