//! The container: an IFF form `FOR1` of type `BEAM`, its chunks padded to four bytes; possibly the
//! whole of it compressed with gzip.
//!
//! Chunks that are not asked for are skipped, and trailing bytes after the form are ignored, as OTP
//! does. If a chunk occurs twice, the last one counts, as in OTP.

use std::borrow::Cow;
use std::io::Read;

use crate::error::{ChunkId, LoadError};
use crate::reader::Reader;

/// Nothing compressed may grow beyond this: bounded memory for hostile input.
const MAX_INFLATED: u64 = 1 << 28;

const FORM: ChunkId = ChunkId(*b"FOR1");

/// A .beam file split into chunks; nothing in the chunks has been looked at.
pub struct BeamFile<'a> {
    bytes: Cow<'a, [u8]>,
    chunks: Vec<(ChunkId, std::ops::Range<usize>)>,
}

impl<'a> BeamFile<'a> {
    /// Splits a file into its chunks, inflating it first if it is a gzip file.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, LoadError> {
        let bytes = if bytes.starts_with(&[0x1f, 0x8b]) { Cow::Owned(gunzip(bytes)?) } else { Cow::Borrowed(bytes) };
        let mut reader = Reader::new(FORM, &bytes);
        let mut head = || -> Result<(bool, usize), LoadError> {
            let form = reader.take(4)? == b"FOR1";
            let size = reader.u32()? as usize;
            Ok((form && reader.take(4)? == b"BEAM", size))
        };
        let size = match head() {
            Ok((true, size)) => size,
            _ => return Err(LoadError::NotBeam),
        };
        if size < 4 || size - 4 > reader.remaining() {
            return Err(reader.truncated());
        }
        let end = reader.offset() + (size - 4);
        let mut reader = Reader::window(FORM, &bytes, reader.offset(), end);
        let mut chunks = Vec::with_capacity(16);
        while !reader.is_empty() {
            let mut id = [0; 4];
            id.copy_from_slice(reader.take(4)?);
            let size = reader.u32()? as usize;
            let start = reader.offset();
            reader.take(size)?;
            // The last chunk's padding may be missing.
            reader
                .take(size.wrapping_neg() & 3)
                .or_else(|e| if reader.remaining() < 4 { Ok(&[][..]) } else { Err(e) })?;
            chunks.push((ChunkId(id), start..start + size));
            if reader.remaining() < 4 {
                break;
            }
        }
        Ok(Self { bytes, chunks })
    }

    /// The ids of the chunks, in the order of the file.
    pub fn chunk_ids(&self) -> impl Iterator<Item = ChunkId> + '_ {
        self.chunks.iter().map(|(id, _)| *id)
    }

    /// The data of a chunk.
    pub fn chunk(&self, id: &[u8; 4]) -> Option<&[u8]> {
        let (_, range) = self.chunks.iter().rfind(|(have, _)| have.0 == *id)?;
        self.bytes.get(range.clone())
    }

    /// The data of a chunk that must be there.
    pub(crate) fn need(&self, id: &[u8; 4]) -> Result<&[u8], LoadError> {
        self.chunk(id).ok_or(LoadError::MissingChunk { chunk: ChunkId(*id) })
    }

    /// A reader of a chunk, if it is there.
    pub(crate) fn reader(&self, id: &[u8; 4]) -> Option<Reader<'_>> {
        Some(Reader::new(ChunkId(*id), self.chunk(id)?))
    }
}

fn gunzip(bytes: &[u8]) -> Result<Vec<u8>, LoadError> {
    let mut out = Vec::new();
    let read = flate2::read::GzDecoder::new(bytes).take(MAX_INFLATED + 1).read_to_end(&mut out);
    match read {
        Ok(_) if out.len() as u64 <= MAX_INFLATED => Ok(out),
        _ => Err(LoadError::Inflate { chunk: FORM }),
    }
}

/// Inflates a zlib stream that declares its size; anything but exactly that size is an error.
pub(crate) fn inflate(chunk: ChunkId, bytes: &[u8], declared: usize) -> Result<Vec<u8>, LoadError> {
    // Deflate cannot gain more than 1032 to 1, so a larger claim is false and nothing is reserved for it.
    if declared / 1032 > bytes.len() || declared as u64 > MAX_INFLATED {
        return Err(LoadError::Inflate { chunk });
    }
    let mut out = Vec::with_capacity(declared.min(16 * bytes.len()));
    let read = flate2::read::ZlibDecoder::new(bytes).take(declared as u64 + 1).read_to_end(&mut out);
    match read {
        Ok(_) if out.len() == declared => Ok(out),
        _ => Err(LoadError::Inflate { chunk }),
    }
}

#[cfg(test)]
pub(crate) fn form(chunks: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut body = b"BEAM".to_vec();
    for (id, data) in chunks {
        body.extend_from_slice(*id);
        body.extend_from_slice(&(data.len() as u32).to_be_bytes());
        body.extend_from_slice(data);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    let mut file = b"FOR1".to_vec();
    file.extend_from_slice(&(body.len() as u32).to_be_bytes());
    file.extend(body);
    file
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn splits_plain_and_gzipped_files() {
        let plain = form(&[(b"Aaaa", vec![1, 2, 3]), (b"Bbbb", vec![]), (b"Aaaa", vec![9])]);
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&plain).unwrap();
        let packed = gz.finish().unwrap();
        for bytes in [&plain, &packed] {
            let file = BeamFile::parse(bytes).unwrap();
            assert_eq!(file.chunk_ids().map(|id| id.0).collect::<Vec<_>>(), [*b"Aaaa", *b"Bbbb", *b"Aaaa"]);
            assert_eq!(file.chunk(b"Aaaa"), Some(&[9][..]));
            assert_eq!(file.chunk(b"Bbbb"), Some(&[][..]));
            assert_eq!(file.chunk(b"Cccc"), None);
        }
    }

    #[test]
    fn refuses_other_files() {
        assert_eq!(BeamFile::parse(b"").err(), Some(LoadError::NotBeam));
        assert_eq!(BeamFile::parse(b"FOR1\0\0\0\x04BEEM").err(), Some(LoadError::NotBeam));
        assert!(matches!(BeamFile::parse(b"FOR1\0\0\0\x08BEAM").err(), Some(LoadError::Truncated { .. })));
        assert!(matches!(BeamFile::parse(&[0x1f, 0x8b, 8, 0]).err(), Some(LoadError::Inflate { .. })));
        let long = b"FOR1\0\0\0\x10BEAMCode\xff\xff\xff\xff....";
        assert!(matches!(BeamFile::parse(long).err(), Some(LoadError::Truncated { .. })));
    }

    #[test]
    fn inflates_exactly_the_declared_size() {
        let id = ChunkId(*b"LitT");
        let mut z = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        z.write_all(&[7; 5000]).unwrap();
        let packed = z.finish().unwrap();
        assert_eq!(inflate(id, &packed, 5000).unwrap(), vec![7; 5000]);
        for wrong in [0, 4999, 5001, usize::MAX >> 8] {
            assert!(inflate(id, &packed, wrong).is_err());
        }
    }
}
