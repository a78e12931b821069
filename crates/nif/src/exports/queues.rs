//! I/O vectors and I/O queues.

use crate::abi::{Binary, IoVector, Out, Piece, Row, Word};
use crate::check;
use crate::check::registry::{self, Thing};
use crate::define::checked_exports;
use crate::env::{Env, Held};
use crate::queue::{Queue, Vector};
use myriad_term::binary::SharedBinary;
use std::ffi::{c_int, c_uint};

/// The only option of a queue.
const NORMAL: c_uint = 1;

/// The memory of a queue that is no more.
#[allow(dead_code, reason = "it is kept, and not looked at")]
struct Shell(Box<Queue>);

// SAFETY: it has nothing any more.
unsafe impl Send for Shell {}

checked_exports! {
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
    fn enif_free_iovec(vector: Option<&mut IoVector>) {
        if let Some(vector) = vector.and_then(IoVector::take_vector) {
            // SAFETY: from `Box::into_raw` in `enif_inspect_iovec`, and taken once.
            drop(unsafe { Box::from_raw(vector.cast::<Vector>()) });
        }
    }

    /// An empty queue.
    fn enif_ioq_create(options: c_uint) -> *mut Queue {
        if options != NORMAL {
            return std::ptr::null_mut();
        }
        let queue: *mut Queue = Box::into_raw(Box::default());
        if check::is_on() {
            registry::comes(Thing::Queue, queue.addr());
        }
        queue
    }

    /// The queue is used no more.
    fn enif_ioq_destroy(queue: &mut Queue) {
        // SAFETY: ABI1: of `enif_ioq_create`, and used no more.
        let mut queue = unsafe { Box::from_raw(queue) };
        if check::is_on() {
            *queue = Queue::default();
            registry::goes(Thing::Queue, (&raw const *queue).addr());
            registry::keep(Box::new(Shell(queue)), size_of::<Queue>(), None);
        }
    }

    /// Puts the bytes of a binary behind all others, but for the first `skip`; what it owned is the queue's, or goes.
    fn enif_ioq_enq_binary(queue: &mut Queue, binary: &mut Binary, skip: usize) -> c_int {
        let owner = match super::binaries::disown(binary) {
            Some(owner) => owner,
            None => SharedBinary::from_bytes(Row::of_data(binary.data).slice(binary.size)),
        };
        super::binaries::release(binary);
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
