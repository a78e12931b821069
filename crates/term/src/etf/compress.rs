//! The zlib streams inside compressed external terms.

use super::decode::DecodeError;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// Output grows by this much at a time: what a stream claims to hold is not believed before it is seen.
const STEP: usize = 256 * 1024;

/// The `size` bytes that the stream at the head of `input` holds, and how many bytes of `input` it takes.
pub(super) fn inflate(input: &[u8], size: usize) -> Result<(Vec<u8>, usize), DecodeError> {
    let mut stream = Decompress::new(true);
    let mut output = Vec::new();
    loop {
        let used = stream.total_in() as usize;
        // One byte more than promised shows a stream that is too long.
        let room = (size + 1 - output.len()).min(STEP);
        output.reserve(room);
        let before = output.len();
        let rest = input.get(used..).ok_or(DecodeError::BadArg)?;
        let status =
            stream.decompress_vec(rest, &mut output, FlushDecompress::None).map_err(|_| DecodeError::BadArg)?;
        if output.len() > size {
            return Err(DecodeError::BadArg);
        }
        match status {
            Status::StreamEnd if output.len() == size => return Ok((output, stream.total_in() as usize)),
            Status::StreamEnd => return Err(DecodeError::BadArg),
            _ if output.len() == before && stream.total_in() as usize == used => return Err(DecodeError::BadArg),
            _ => {}
        }
    }
}

/// The zlib stream of the bytes, if it is at most `limit` bytes long.
pub(super) fn deflate(bytes: &[u8], level: u8, limit: usize) -> Option<Vec<u8>> {
    let mut stream = Compress::new(Compression::new(u32::from(level.min(9))), true);
    let mut output = Vec::new();
    loop {
        let used = stream.total_in() as usize;
        if output.len() == output.capacity() {
            output.reserve((bytes.len() / 8 + 64).min(STEP));
        }
        match stream.compress_vec(bytes.get(used..)?, &mut output, FlushCompress::Finish) {
            Ok(Status::StreamEnd) => return (output.len() <= limit).then_some(output),
            Ok(_) if output.len() <= limit => {}
            _ => return None,
        }
    }
}
