//! Messages in a stream of bytes: packets with a length header, lines, or whatever comes.

use crate::bytes::Run;
use myriad_term::BinaryBuffer;

/// How a port's bytes are cut into messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framing {
    /// As they come.
    Stream,
    /// Packets after a big-endian length of this number of bytes (1, 2 or 4).
    Packet(usize),
    /// Lines of at most this number of bytes.
    Line(usize),
}

/// One message.
#[derive(PartialEq, Eq, Debug)]
pub enum Frame<'a> {
    /// Plain data.
    Data(Run<'a>),
    /// A line (or its end), without the line end.
    Line(BinaryBuffer),
    /// A part of a line that is longer than the limit, or the last line without an end.
    PartOfLine(BinaryBuffer),
}

/// Input between messages.
pub struct Reader {
    framing: Framing,
    /// What has come of a packet's header, and how much.
    head: ([u8; 4], usize),
    /// What has come of a packet after its header, or of a line.
    partial: BinaryBuffer,
}

/// Room that is taken ahead for a packet; more is taken as bytes really come.
const AHEAD: usize = 1 << 20;
/// The rest of a packet is read into its own memory if it is so large.
const LARGE: usize = 16 << 10;

impl Reader {
    /// Nothing read yet.
    pub const fn new(framing: Framing) -> Reader {
        Reader { framing, head: ([0; 4], 0), partial: BinaryBuffer::new() }
    }

    /// Takes bytes; tells `tell` the messages that are complete with them.
    pub fn feed<'a>(&mut self, bytes: &'a [u8], tell: impl FnMut(Frame<'a>)) {
        match self.framing {
            Framing::Stream => {
                Some(bytes).filter(|b| !b.is_empty()).map(Run::Borrowed).map(Frame::Data).map_or((), tell)
            }
            Framing::Packet(header) => self.feed_packets(header, bytes, tell),
            Framing::Line(limit) => self.feed_lines(limit, bytes, tell),
        }
    }

    fn feed_packets<'a>(&mut self, header: usize, mut bytes: &'a [u8], mut tell: impl FnMut(Frame<'a>)) {
        let header = header.min(4);
        while !bytes.is_empty() {
            if self.head.1 < header {
                if self.head.1 == 0
                    && let Some(packet) = packet_size(bytes, header).and_then(|size| bytes.get(header..size))
                {
                    tell(Frame::Data(Run::Borrowed(packet)));
                    bytes = &bytes[header + packet.len()..];
                    continue;
                }
                let (head, have) = &mut self.head;
                head[*have] = bytes[0];
                *have += 1;
                bytes = &bytes[1..];
                if *have < header {
                    continue;
                }
                self.partial.reserve(self.wanted().min(AHEAD));
            }
            let part = bytes.len().min(self.wanted());
            self.partial.extend_from_slice(&bytes[..part]);
            bytes = &bytes[part..];
            if let Some(packet) = self.whole_packet() {
                tell(packet);
            }
        }
    }

    /// Bytes that are still to come of a packet whose header is there.
    fn wanted(&self) -> usize {
        match self.framing {
            Framing::Packet(header) if self.head.1 >= header.min(4) => {
                let size = packet_size(&self.head.0[..self.head.1], self.head.1).unwrap_or(0);
                size.saturating_sub(self.head.1 + self.partial.len())
            }
            _ => 0,
        }
    }

    /// The packet in progress, if all of it is there.
    pub fn whole_packet(&mut self) -> Option<Frame<'static>> {
        let Framing::Packet(header) = self.framing else { return None };
        if self.head.1 < header.min(4) || self.wanted() > 0 {
            return None;
        }
        self.head.1 = 0;
        Some(Frame::Data(Run::Owned(std::mem::take(&mut self.partial))))
    }

    /// The memory of a large packet in progress, with room, and how many bytes it still wants: they can be read to where they stay.
    pub fn large_packet(&mut self) -> Option<(&mut BinaryBuffer, usize)> {
        let wanted = self.wanted();
        if wanted < LARGE {
            return None;
        }
        self.partial.reserve(wanted.min(AHEAD));
        Some((&mut self.partial, wanted))
    }

    fn feed_lines<'a>(&mut self, limit: usize, bytes: &[u8], mut tell: impl FnMut(Frame<'a>)) {
        let mut rest = bytes;
        while let Some(byte) = rest.first() {
            if *byte == b'\n' {
                if self.partial.last() == Some(&b'\r') {
                    self.partial.pop();
                }
                tell(Frame::Line(std::mem::take(&mut self.partial)));
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
                let over = BinaryBuffer::from(&self.partial[limit..]);
                self.partial.truncate(limit);
                tell(Frame::PartOfLine(std::mem::replace(&mut self.partial, over)));
            }
            self.partial.push(*byte);
            rest = &rest[1..];
        }
    }

    /// No more bytes will come: gives what is left of an unfinished line. An unfinished packet is dropped, as by OTP.
    pub fn finish(&mut self) -> Option<Frame<'static>> {
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
    pub fn header(self, len: usize) -> Option<Header> {
        let size = if let Framing::Packet(size) = self { size.min(8) } else { 0 };
        let bytes = (len as u64).to_be_bytes();
        let header = Header { bytes, start: 8 - size };
        (size == 0 || bytes[..8 - size].iter().all(|b| *b == 0)).then_some(header)
    }
}

/// The length before a packet; empty where there is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    bytes: [u8; 8],
    start: usize,
}

impl Header {
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed<'a>(reader: &mut Reader, bytes: &'a [u8]) -> Vec<Frame<'a>> {
        let mut frames = Vec::new();
        reader.feed(bytes, |frame| frames.push(frame));
        frames
    }

    fn lines(limit: usize, input: &[&[u8]]) -> Vec<String> {
        let mut reader = Reader::new(Framing::Line(limit));
        let mut frames: Vec<Frame<'_>> = input.iter().flat_map(|i| feed(&mut reader, i)).collect();
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
        assert_eq!(feed(&mut reader, &[0]), []);
        assert_eq!(feed(&mut reader, &[3, 1, 2]), []);
        let data = |bytes: &'static [u8]| Frame::Data(Run::Borrowed(bytes));
        assert_eq!(feed(&mut reader, &[3, 0, 0, 0, 1, 9, 0]), [data(&[1, 2, 3]), data(&[]), data(&[9])]);
        assert_eq!(reader.finish(), None);
    }

    #[test]
    fn output_headers() {
        let header = |framing: Framing, len| framing.header(len).map(|h| h.bytes().to_vec());
        assert_eq!(header(Framing::Packet(4), 258), Some(vec![0, 0, 1, 2]));
        assert_eq!(header(Framing::Packet(1), 255), Some(vec![255]));
        assert_eq!(header(Framing::Packet(1), 256), None);
        assert_eq!(header(Framing::Stream, 1 << 40), Some(vec![]));
    }
}
