//! One compression stream over zlib's own interface: what state it is in, its input queue, and a step of work.

use crate::bytes::{ByteQueue, Piece};
use libz_sys as z;
use myriad_term::BinaryBuffer;
use std::ffi::{c_int, c_uint};
use std::ptr;

/// What the stream does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    Deflate,
    Inflate,
}

/// What is done with input after the end of the compressed stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AtEnd {
    Error,
    Reset,
    Cut,
}

/// What went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Failure {
    NotInitialized,
    AlreadyInitialized,
    Stream,
    Data,
    Buffer,
    Memory,
    Version,
}

/// How a step ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Made {
    Continue,
    Finished,
    NeedDictionary(u32),
}

enum State {
    Open,
    Running(Mode),
    Closed,
}

/// A stream. `z` is boxed: zlib keeps a pointer back to it.
pub(super) struct Stream {
    z: Box<z::z_stream>,
    state: State,
    input: ByteQueue,
    at_end: AtEnd,
    end_seen: bool,
    /// Checksum of the plain data, kept for raw streams only, which have none of their own.
    crc: Option<crc32fast::Hasher>,
}

// SAFETY: the pointers in `z` are to memory that only this stream uses.
unsafe impl Send for Stream {}

fn check(code: c_int) -> Result<(), Failure> {
    match code {
        z::Z_OK => Ok(()),
        z::Z_DATA_ERROR => Err(Failure::Data),
        z::Z_BUF_ERROR => Err(Failure::Buffer),
        z::Z_MEM_ERROR => Err(Failure::Memory),
        z::Z_VERSION_ERROR => Err(Failure::Version),
        _ => Err(Failure::Stream),
    }
}

/// Size of the struct, as zlib's initialisers check it.
const STREAM_SIZE: c_int = size_of::<z::z_stream>() as c_int;

unsafe extern "C" {
    // Part of zlib's interface since 1.2.7; the bindings leave it out.
    fn inflateGetDictionary(stream: z::z_streamp, dictionary: *mut u8, length: *mut c_uint) -> c_int;
}

extern "C" fn allocate(_: z::voidpf, items: c_uint, size: c_uint) -> z::voidpf {
    // SAFETY: any sizes will do; null says that there is no memory.
    unsafe { libc::calloc(items as usize, size as usize) }
}

extern "C" fn release(_: z::voidpf, block: z::voidpf) {
    // SAFETY: zlib gives back what `allocate` gave it, once.
    unsafe { libc::free(block) }
}

/// A stream that has not been given to zlib yet.
fn fresh() -> z::z_stream {
    z::z_stream {
        next_in: ptr::null_mut(),
        avail_in: 0,
        total_in: 0,
        next_out: ptr::null_mut(),
        avail_out: 0,
        total_out: 0,
        msg: ptr::null_mut(),
        state: ptr::null_mut(),
        zalloc: allocate,
        zfree: release,
        opaque: ptr::null_mut(),
        data_type: 0,
        adler: 0,
        reserved: 0,
    }
}

impl Stream {
    pub(super) fn new() -> Stream {
        Stream {
            z: Box::new(fresh()),
            state: State::Open,
            input: ByteQueue::default(),
            at_end: AtEnd::Cut,
            end_seen: false,
            crc: None,
        }
    }

    fn in_mode(&self, mode: Mode) -> Result<(), Failure> {
        match self.state {
            State::Running(running) if running == mode => Ok(()),
            _ => Err(Failure::NotInitialized),
        }
    }

    fn begin(&mut self, mode: Mode, bits: i32, at_end: AtEnd) {
        self.state = State::Running(mode);
        self.at_end = at_end;
        self.end_seen = false;
        self.crc = (bits < 0).then(crc32fast::Hasher::new);
        self.input.clear();
    }

    pub(super) fn start_deflate(
        &mut self,
        level: i32,
        method: i32,
        bits: i32,
        memory: i32,
        strategy: i32,
    ) -> Result<(), Failure> {
        if !matches!(self.state, State::Open) {
            return Err(Failure::AlreadyInitialized);
        }
        *self.z = fresh();
        // SAFETY: a fresh stream, and a version and size that are this library's.
        let code = unsafe {
            z::deflateInit2_(&mut *self.z, level, method, bits, memory, strategy, z::zlibVersion(), STREAM_SIZE)
        };
        check(code)?;
        self.begin(Mode::Deflate, bits, AtEnd::Cut);
        Ok(())
    }

    pub(super) fn start_inflate(&mut self, bits: i32, at_end: AtEnd) -> Result<(), Failure> {
        if !matches!(self.state, State::Open) {
            return Err(Failure::AlreadyInitialized);
        }
        *self.z = fresh();
        // SAFETY: as above.
        let code = unsafe { z::inflateInit2_(&mut *self.z, bits, z::zlibVersion(), STREAM_SIZE) };
        check(code)?;
        self.begin(Mode::Inflate, bits, at_end);
        Ok(())
    }

    /// Frees what zlib holds; the code it gives.
    fn free(&mut self) -> c_int {
        let State::Running(mode) = self.state else { return z::Z_OK };
        self.state = State::Open;
        // SAFETY: initialised in this mode, and not freed yet: the state says so.
        unsafe {
            match mode {
                Mode::Deflate => z::deflateEnd(&mut *self.z),
                Mode::Inflate => z::inflateEnd(&mut *self.z),
            }
        }
    }

    /// Ends a stream. It is an error that input is left, or that it was not whole.
    pub(super) fn end(&mut self, mode: Mode) -> Result<(), Failure> {
        self.in_mode(mode)?;
        let whole = self.input.is_empty() && (mode == Mode::Deflate || self.end_seen);
        let code = self.free();
        self.input.clear();
        check(code)?;
        if whole { Ok(()) } else { Err(Failure::Data) }
    }

    pub(super) fn close(&mut self) -> Result<(), Failure> {
        if matches!(self.state, State::Closed) {
            return Err(Failure::NotInitialized);
        }
        self.free();
        self.input.clear();
        self.state = State::Closed;
        Ok(())
    }

    pub(super) fn reset(&mut self, mode: Mode) -> Result<(), Failure> {
        self.in_mode(mode)?;
        // SAFETY: initialised in this mode.
        let code = unsafe {
            match mode {
                Mode::Deflate => z::deflateReset(&mut *self.z),
                Mode::Inflate => z::inflateReset(&mut *self.z),
            }
        };
        check(code)?;
        self.input.clear();
        self.end_seen = false;
        if let Some(crc) = &mut self.crc {
            crc.reset();
        }
        Ok(())
    }

    /// Gives the dictionary's checksum.
    pub(super) fn set_dictionary(&mut self, mode: Mode, dictionary: &[u8]) -> Result<u32, Failure> {
        self.in_mode(mode)?;
        let len = u32::try_from(dictionary.len()).map_err(|_| Failure::Memory)?;
        // SAFETY: initialised in this mode; the bytes are only read, during the call.
        let code = unsafe {
            match mode {
                Mode::Deflate => z::deflateSetDictionary(&mut *self.z, dictionary.as_ptr(), len),
                Mode::Inflate => z::inflateSetDictionary(&mut *self.z, dictionary.as_ptr(), len),
            }
        };
        check(code)?;
        Ok(self.z.adler as u32)
    }

    pub(super) fn dictionary(&mut self) -> Result<Vec<u8>, Failure> {
        self.in_mode(Mode::Inflate)?;
        // A dictionary is at most a window long.
        let mut bytes = vec![0; 1 << 15];
        let mut len = 0;
        // SAFETY: initialised for inflating; the room is what zlib documents.
        check(unsafe { inflateGetDictionary(&mut *self.z, bytes.as_mut_ptr(), &mut len) })?;
        bytes.truncate(len as usize);
        Ok(bytes)
    }

    pub(super) fn set_params(&mut self, level: i32, strategy: i32) -> Result<(), Failure> {
        self.in_mode(Mode::Deflate)?;
        // What was put in before has been flushed by the caller: there is nothing to write.
        let mut room = [0u8; 1];
        self.z.next_in = ptr::null_mut();
        self.z.avail_in = 0;
        self.z.next_out = room.as_mut_ptr();
        self.z.avail_out = 0;
        // SAFETY: initialised for deflating; no input and no output.
        let code = unsafe { z::deflateParams(&mut *self.z, level, strategy) };
        self.z.next_out = ptr::null_mut();
        if code == z::Z_BUF_ERROR { Ok(()) } else { check(code) }
    }

    pub(super) fn enqueue(&mut self, piece: Piece) {
        self.input.push(piece);
    }

    /// Checksum of the plain data.
    pub(super) fn crc(&self) -> Result<u32, Failure> {
        match self.state {
            State::Running(_) => Ok(self.crc.as_ref().map_or(0, |c| c.clone().finalize())),
            _ => Err(Failure::NotInitialized),
        }
    }

    /// One call of zlib on at most `take` bytes of the first piece of input.
    fn call(&mut self, mode: Mode, take: usize, out: &mut BinaryBuffer, flush: c_int) -> (c_int, usize) {
        let front = self.input.front();
        let take = take.min(front.len()).min(u32::MAX as usize);
        let start = out.len();
        let room = out.spare();
        self.z.next_in = if take == 0 { ptr::null_mut() } else { front.as_ptr().cast_mut() };
        self.z.avail_in = take as u32;
        self.z.next_out = room.as_mut_ptr().cast();
        self.z.avail_out = room.len().min(u32::MAX as usize) as u32;
        let before = self.z.avail_out;
        // SAFETY: initialised in this mode; input and room are live and as long as said.
        let code = unsafe {
            match mode {
                Mode::Deflate => z::deflate(&mut *self.z, flush),
                Mode::Inflate => z::inflate(&mut *self.z, flush),
            }
        };
        let (consumed, produced) = (take - self.z.avail_in as usize, (before - self.z.avail_out) as usize);
        // SAFETY: zlib has written that many bytes.
        unsafe { out.advance(produced) };
        if let Some(crc) = &mut self.crc {
            match mode {
                Mode::Deflate => crc.update(&self.input.front()[..consumed]),
                Mode::Inflate => crc.update(&out[start..]),
            }
        }
        self.z.next_in = ptr::null_mut();
        self.z.avail_in = 0;
        self.z.next_out = ptr::null_mut();
        self.z.avail_out = 0;
        self.input.skip(consumed);
        (code, consumed)
    }

    /// One step: at most `limit` bytes in and `room` bytes out. Gives the output, and how much input was used.
    pub(super) fn make(
        &mut self,
        mode: Mode,
        limit: usize,
        room: usize,
        flush: c_int,
    ) -> Result<(Made, BinaryBuffer, usize), Failure> {
        self.in_mode(mode)?;
        if mode == Mode::Inflate && self.end_seen && !self.input.is_empty() {
            match self.at_end {
                AtEnd::Error => return Err(Failure::Data),
                AtEnd::Cut => self.input.clear(),
                AtEnd::Reset => {
                    // SAFETY: initialised for inflating.
                    check(unsafe { z::inflateReset(&mut *self.z) })?;
                    self.end_seen = false;
                }
            }
        }
        let mut out = BinaryBuffer::new();
        out.try_reserve_exact(room).map_err(|_| Failure::Memory)?;
        // The allocation may be larger than asked for.
        let room = out.capacity();
        let (mut code, mut consumed) = (z::Z_OK, 0);
        while code == z::Z_OK && !self.input.is_empty() && consumed < limit && out.len() < room {
            let (c, n) = self.call(mode, limit - consumed, &mut out, z::Z_NO_FLUSH);
            (code, consumed) = (c, consumed + n);
        }
        if code == z::Z_OK && self.input.is_empty() && out.len() < room {
            code = self.call(mode, 0, &mut out, flush).0;
        }
        if code < 0 && code != z::Z_BUF_ERROR {
            check(code)?;
        }
        if code == z::Z_STREAM_END {
            self.end_seen = true;
        }
        let made = match code {
            z::Z_NEED_DICT => Made::NeedDictionary(self.z.adler as u32),
            _ if self.input.is_empty() && out.len() < room => Made::Finished,
            // No progress is possible at all: going on would never end.
            z::Z_BUF_ERROR if consumed == 0 && out.is_empty() => return Err(Failure::Buffer),
            _ => Made::Continue,
        };
        Ok((made, out, consumed))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.free();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(stream: &mut Stream, mode: Mode, data: &[u8], flush: c_int) -> Result<Vec<u8>, Failure> {
        stream.enqueue(Piece::Own(data.to_vec(), 0));
        let mut all = Vec::new();
        loop {
            let (made, out, _) = stream.make(mode, 8192, 64, flush)?;
            all.extend_from_slice(&out);
            match made {
                Made::Continue => {}
                Made::Finished => return Ok(all),
                Made::NeedDictionary(_) => return Err(Failure::Data),
            }
        }
    }

    fn compressed(bits: i32, data: &[u8]) -> Vec<u8> {
        let mut s = Stream::new();
        s.start_deflate(-1, 8, bits, 8, 0).unwrap();
        let out = run(&mut s, Mode::Deflate, data, z::Z_FINISH).unwrap();
        s.end(Mode::Deflate).unwrap();
        out
    }

    #[test]
    fn round_trips_in_all_formats() {
        let data: Vec<u8> = (0..100_000u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
        for bits in [-15, 15, 31, 9] {
            let packed = compressed(bits, &data);
            assert!(packed.len() < data.len() / 2);
            let mut s = Stream::new();
            s.start_inflate(bits, AtEnd::Error).unwrap();
            assert_eq!(run(&mut s, Mode::Inflate, &packed, z::Z_NO_FLUSH).unwrap(), data);
            assert_eq!(s.crc().unwrap() == crc32fast::hash(&data), bits < 0);
            assert_eq!(s.end(Mode::Inflate), Ok(()));
        }
    }

    #[test]
    fn what_follows_the_end() {
        let mut twice = compressed(15, b"hello hello hello");
        twice.extend_from_slice(&twice.clone());
        let once = |at_end| {
            let mut s = Stream::new();
            s.start_inflate(15, at_end).unwrap();
            run(&mut s, Mode::Inflate, &twice, z::Z_NO_FLUSH)
        };
        assert_eq!(once(AtEnd::Cut).unwrap(), b"hello hello hello");
        assert_eq!(once(AtEnd::Reset).unwrap(), b"hello hello hellohello hello hello");
        assert_eq!(once(AtEnd::Error), Err(Failure::Data));
    }

    #[test]
    fn unfinished_and_wrong_streams_are_errors() {
        let mut s = Stream::new();
        assert_eq!(s.end(Mode::Deflate), Err(Failure::NotInitialized));
        s.start_inflate(15, AtEnd::Cut).unwrap();
        assert_eq!(s.start_deflate(1, 8, 15, 8, 0), Err(Failure::AlreadyInitialized));
        assert_eq!(run(&mut s, Mode::Inflate, b"junkjunk", 0), Err(Failure::Data));
        assert_eq!(s.reset(Mode::Inflate), Ok(()));
        let packed = compressed(15, b"hello");
        assert_eq!(run(&mut s, Mode::Inflate, &packed[..8], 0).map(|o| o.len() <= 5), Ok(true));
        assert_eq!(s.end(Mode::Inflate), Err(Failure::Data));
        assert_eq!(s.start_deflate(1, 8, 47, 8, 0), Err(Failure::Stream));
        assert_eq!(s.close(), Ok(()));
        assert_eq!(s.close(), Err(Failure::NotInitialized));
    }

    #[test]
    fn dictionaries() {
        let mut d = Stream::new();
        d.start_deflate(-1, 8, 15, 8, 0).unwrap();
        // The value that erl gives.
        assert_eq!(d.set_dictionary(Mode::Deflate, b"hello"), Ok(103_547_413));
        let packed = run(&mut d, Mode::Deflate, b"hello hello", z::Z_FINISH).unwrap();
        let mut i = Stream::new();
        i.start_inflate(15, AtEnd::Cut).unwrap();
        i.enqueue(Piece::Own(packed, 0));
        assert_eq!(i.make(Mode::Inflate, 8192, 64, 0).unwrap().0, Made::NeedDictionary(103_547_413));
        assert_eq!(i.set_dictionary(Mode::Inflate, b"wrong"), Err(Failure::Data));
        assert!(i.set_dictionary(Mode::Inflate, b"hello").is_ok());
        assert_eq!(run(&mut i, Mode::Inflate, b"", 0).unwrap(), b"hello hello");
    }
}
