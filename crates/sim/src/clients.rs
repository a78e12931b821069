//! The clients of a simulated server: the other ends of its connections, and when they ask.
//!
//! A connection is a pair of sockets. The program's half is a port's, and what its pollers, ports and drivers do with it is what they do on a real machine (crate `io`); the
//! system hands bytes and events over at once and in the same order each time, so one seed replays one execution. When a client
//! asks is virtual: first within a time that the seed draws, then as long after each answer. It does not wait for a core, and takes none of its time.

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::{IntoRawFd, OwnedFd};

/// What a client sends at a time, and is sent.
const REQUEST: [u8; 64] = [b'r'; 64];
/// Most answers taken at a time.
const EVENTS: usize = 64;

/// The clients of this program's one run.
pub struct Clients {
    ends: Vec<OwnedFd>,
    /// The program's halves, until it asks for them.
    halves: Vec<OwnedFd>,
    /// Where answers show.
    answers: OwnedFd,
    /// Who asks when.
    agenda: BinaryHeap<Reverse<(u64, usize)>>,
    think_ns: u64,
    draws: u64,
}

thread_local! {
    static CLIENTS: RefCell<Option<Clients>> = const { RefCell::new(None) };
}

/// So many clients, each of which thinks for so long between an answer and the next request, on average.
///
/// # Errors
/// One line: the system has no room for their sockets.
pub fn prepare(count: usize, think_ns: u64, seed: u64) -> Result<(), String> {
    let clients = Clients::new(count, think_ns, seed).map_err(|why| format!("no room for {count} clients: {why}"))?;
    CLIENTS.set(Some(clients));
    Ok(())
}

/// Does something with the clients, if there are any.
pub fn with<R>(work: impl FnOnce(&mut Clients) -> R) -> Option<R> {
    CLIENTS.with_borrow_mut(|clients| clients.as_mut().map(work))
}

impl Clients {
    fn new(count: usize, think_ns: u64, seed: u64) -> Result<Clients, Errno> {
        let answers = epoll::create(CreateFlags::CLOEXEC)?;
        let (mut ends, mut halves) = (Vec::new(), Vec::new());
        for number in 0..count {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let (end, half) = rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            epoll::add(&answers, &end, EventData::new_u64(number as u64), EventFlags::IN | EventFlags::ET)?;
            ends.push(end);
            halves.push(half);
        }
        Ok(Clients { ends, halves, answers, agenda: BinaryHeap::new(), think_ns, draws: seed })
    }

    /// The descriptors of the program's halves, which are its own from now on; the clients begin.
    pub fn connect(&mut self, now_ns: u64) -> Vec<i32> {
        let halves = std::mem::take(&mut self.halves);
        (0..halves.len()).for_each(|number| self.ask_later(now_ns, number));
        halves.into_iter().map(IntoRawFd::into_raw_fd).collect()
    }

    /// When somebody asks next.
    pub fn next(&self) -> Option<u64> {
        self.agenda.peek().map(|Reverse((at, _))| *at)
    }

    /// The next one asks.
    pub fn ask(&mut self) {
        if let Some(Reverse((_, number))) = self.agenda.pop() {
            // The program may have closed the connection.
            let _ = rustix::io::write(&self.ends[number], &REQUEST);
        }
    }

    /// Takes the answers that have come by now: how many.
    pub fn take_answers(&mut self, now_ns: u64) -> u64 {
        let mut answers = 0;
        loop {
            let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
            let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
            // If it fails the answers are taken the next time.
            let _ = epoll::wait(&self.answers, rustix::buffer::spare_capacity(&mut events), Some(&now));
            if events.is_empty() {
                return answers;
            }
            for event in events {
                let number = event.data.u64() as usize;
                if matches!(rustix::io::read(&self.ends[number], &mut [0; 2 * REQUEST.len()]), Ok(1..)) {
                    answers += 1;
                    self.ask_later(now_ns, number);
                }
            }
        }
    }

    fn ask_later(&mut self, now_ns: u64, number: usize) {
        let think_ns = 1 + self.draw() % (2 * self.think_ns).max(1);
        self.agenda.push(Reverse((now_ns + think_ns, number)));
    }

    /// SplitMix64 (Steele, Lea, Flood 2014).
    fn draw(&mut self) -> u64 {
        self.draws = self.draws.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.draws;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::{Clients, REQUEST};
    use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};

    #[test]
    fn who_is_answered_asks_again_after_its_time() {
        let mut clients = Clients::new(3, 100, 7).unwrap();
        assert_eq!(clients.next(), None, "nobody is there to answer");
        let halves = clients.connect(1000);
        // SAFETY: the descriptors are this test's from here on.
        let halves: Vec<OwnedFd> = halves.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }).collect();
        assert!(clients.next().is_some_and(|at| (1001..=1200).contains(&at)));
        (0..3).for_each(|_| clients.ask());
        assert_eq!((clients.next(), clients.take_answers(1500)), (None, 0));
        for half in &halves {
            let half: &dyn std::os::fd::AsFd = half;
            let half: BorrowedFd<'_> = half.as_fd();
            assert_eq!(rustix::io::read(half, &mut [0; 100]), Ok(REQUEST.len()));
            assert_eq!(rustix::io::write(half, &REQUEST), Ok(REQUEST.len()));
        }
        assert_eq!(clients.take_answers(1500), 3);
        assert!(clients.next().is_some_and(|at| (1501..=1700).contains(&at)));
    }
}
