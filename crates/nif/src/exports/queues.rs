//! I/O vectors and I/O queues.

use crate::abi::{Binary, IoVector, Out, Piece, Row, Word};
use crate::define::exports;
use crate::env::{Env, Held};
use crate::queue::{Queue, Vector};
use myriad_term::binary::SharedBinary;
use std::ffi::{c_int, c_uint};

/// The only option of a queue.
const NORMAL: c_uint = 1;

exports! {
    /// The binaries of a list as an I/O vector, `most` of them, and the rest of the list. It lasts as long as the environment has its terms;
    /// without one, until `enif_free_iovec`.
    fn enif_inspect_iovec(env: Option<&mut Env>, most: usize, list: Word, rest: Out<Word>, to: &mut *mut IoVector) -> c_int {
        let Some((mut vector, tail)) = Vector::of_list(list.term(), most, env.is_none()) else { return 0 };
        *to = vector.tell(*to);
        match env {
            Some(env) => env.hold(Held::Vector(vector)),
            None => {
                // SAFETY: just filled in.
                unsafe { (**to).lasts(Box::into_raw(vector).cast()) };
            }
        }
        rest.set(tail.into())
    }

    /// A vector that was made without an environment is used no more.
    fn enif_free_iovec(vector: *mut IoVector) {
        // SAFETY: ABI1: a vector of `enif_inspect_iovec`.
        let vector = unsafe { vector.as_mut() }.and_then(IoVector::take_vector);
        if let Some(vector) = vector {
            // SAFETY: from `Box::into_raw` in `enif_inspect_iovec`, and taken once.
            drop(unsafe { Box::from_raw(vector.cast::<Vector>()) });
        }
    }

    /// An empty queue.
    fn enif_ioq_create(options: c_uint) -> *mut Queue {
        if options == NORMAL { Box::into_raw(Box::default()) } else { std::ptr::null_mut() }
    }

    /// The queue is used no more.
    fn enif_ioq_destroy(queue: *mut Queue) {
        // SAFETY: ABI1: of `enif_ioq_create`.
        drop(unsafe { Box::from_raw(queue) });
    }

    /// Puts the bytes of a binary behind all others, but for the first `skip`; what it owned is the queue's, or goes.
    fn enif_ioq_enq_binary(queue: &mut Queue, binary: &mut Binary, skip: usize) -> c_int {
        let owner = match super::binaries::disown(binary) {
            Some(owner) => owner,
            None => SharedBinary::from_bytes(Row::of_data(binary.data).slice(binary.size)),
        };
        c_int::from(queue.put_binary(owner, skip))
    }

    /// Puts the bytes of a vector behind all others, but for the first `skip`.
    fn enif_ioq_enqv(queue: &mut Queue, vector: &IoVector, skip: usize) -> c_int { c_int::from(queue.put_vector(vector, skip)) }

    /// How many bytes there are.
    fn enif_ioq_size(queue: &Queue) -> usize { queue.size() }

    /// Takes bytes from the front, if there are so many; how many are left.
    fn enif_ioq_deq(queue: &mut Queue, count: usize, to: Out<usize>) -> c_int {
        if !queue.take(count) {
            return 0;
        }
        to.set_if_wanted(queue.size());
        1
    }

    /// All bytes, as `writev` takes them, and in how many pieces.
    fn enif_ioq_peek(queue: &mut Queue, count: Out<c_int>) -> *const Piece {
        let pieces = queue.pieces();
        count.set_if_wanted(pieces.len() as c_int);
        pieces.as_ptr()
    }

    /// The first piece as a binary, and its size.
    fn enif_ioq_peek_head(env: &mut Env, queue: &Queue, size: Out<usize>, to: Out<Word>) -> c_int {
        let Some((head, bytes)) = queue.first(env) else { return 0 };
        size.set_if_wanted(bytes);
        to.set(head.into())
    }
}
