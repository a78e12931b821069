//! Many pieces of work, so many at a time.

use std::sync::Mutex;
use std::thread;

/// Does the work on each item, in their order, `jobs` at a time.
pub fn each<T: Send>(items: Vec<T>, jobs: usize, work: impl Fn(T) + Sync) {
    let items = Mutex::new(items.into_iter());
    thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let Some(item) = items.lock().ok().and_then(|mut items| items.next()) else { break };
                    work(item);
                }
            });
        }
    });
}

/// Does the same work so many times at once; what each came to.
pub fn at_once<R: Send>(times: usize, work: impl Fn() -> R + Sync) -> Vec<R> {
    thread::scope(|scope| {
        let started: Vec<_> = (0..times).map(|_| scope.spawn(&work)).collect();
        started.into_iter().filter_map(|one| one.join().ok()).collect()
    })
}

/// How many jobs the machine does at a time.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who waits for the others waits for ever unless they all run.
    #[test]
    fn all_run_at_once() {
        let barrier = std::sync::Barrier::new(3);
        let leaders = at_once(3, || barrier.wait().is_leader());
        assert_eq!((leaders.len(), leaders.iter().filter(|leads| **leads).count()), (3, 1));
    }

    #[test]
    fn each_item_has_its_turn() {
        for jobs in [0, 1, 3] {
            let done = Mutex::new(Vec::new());
            each((0..20).collect(), jobs, |item| done.lock().unwrap().push(item));
            let mut done = done.into_inner().unwrap();
            done.sort_unstable();
            assert_eq!(done, (0..20).collect::<Vec<_>>());
        }
    }
}
