//! What others have asked a process to do for itself before it runs on: by the band of the priority, each in the order they came.

use crate::priority::{BANDS, Priority};
use myriad_heap::Payload;
use myriad_term::Pid;
use std::collections::VecDeque;

/// So many tasks of normal priority are done before one of low priority.
const LOW_TURN: usize = 8;

/// One task. The request lives in its own payload.
pub struct Task {
    /// Who gets the answer.
    pub from: Pid,
    /// What is to be done.
    pub request: Payload,
    /// How urgent it is.
    pub priority: Priority,
}

/// What a process has to do before it runs on. Boxed where it is kept: nearly always there is nothing.
#[derive(Default)]
pub struct Tasks {
    queues: [VecDeque<Task>; BANDS],
    /// Normal ones taken since the last low one.
    normal: usize,
    /// The process itself wants so many words: a collection, whether there is room or not.
    need: Option<usize>,
    /// A dirty scheduler does them, or is about to.
    handed_over: bool,
}

impl Tasks {
    /// Adds one behind those of its band.
    pub fn push(&mut self, task: Task) {
        self.queues[task.priority.band() as usize].push_back(task);
    }

    /// Is there any that somebody asks for?
    pub fn is_empty(&self) -> bool {
        self.queues.iter().all(VecDeque::is_empty)
    }

    /// Takes out the one that is to be done next.
    pub fn pick(&mut self) -> Option<Task> {
        let [max, high, normal, low] = &mut self.queues;
        if let Some(task) = max.pop_front().or_else(|| high.pop_front()) {
            return Some(task);
        }
        if normal.is_empty() || self.normal >= LOW_TURN && !low.is_empty() {
            self.normal = 0;
            return low.pop_front();
        }
        self.normal += 1;
        normal.pop_front()
    }

    /// Takes out all that others ask for: what the process itself needs stays.
    pub fn take_requests(&mut self) -> Tasks {
        let queues = std::mem::take(&mut self.queues);
        Tasks { queues, normal: std::mem::take(&mut self.normal), ..Tasks::default() }
    }

    /// The process needs a collection after which so many words are free.
    pub fn need(&mut self, words: usize) {
        self.need = Some(words);
    }

    /// Does the process itself need a collection?
    pub fn is_needed(&self) -> bool {
        self.need.is_some()
    }

    /// The words that the process needs, if it does: they are provided for now.
    pub fn take_need(&mut self) -> Option<usize> {
        self.need.take()
    }

    /// A dirty scheduler is to do them.
    pub fn hand_over(&mut self) {
        debug_assert!(!self.handed_over, "one scheduler has them at a time");
        self.handed_over = true;
    }

    /// The process's own scheduler does what is left.
    pub fn take_back(&mut self) {
        self.handed_over = false;
    }

    /// Is a dirty scheduler to do them, or does it?
    pub fn is_handed_over(&self) -> bool {
        self.handed_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_term::Term;

    fn tasks(priorities: &[Priority]) -> Tasks {
        let mut tasks = Tasks::default();
        for (number, &priority) in (0..).zip(priorities) {
            let request = Payload::immediate(Term::small(number));
            tasks.push(Task { from: Pid::from_data(0), request, priority });
        }
        tasks
    }

    fn order(mut tasks: Tasks) -> Vec<i64> {
        std::iter::from_fn(|| tasks.pick()).map(|task| task.request.term().small_value()).collect()
    }

    #[test]
    fn higher_priorities_go_first_and_each_keeps_its_order() {
        let [max, high, normal, low] = [Priority::MAX, Priority::HIGH, Priority::NORMAL, Priority::LOW];
        assert_eq!(order(tasks(&[low, normal, high, max, normal, max])), [3, 5, 2, 1, 4, 0]);
    }

    #[test]
    fn low_ones_get_their_turn_among_many_normal_ones() {
        let mut priorities = vec![Priority::NORMAL; 2 * LOW_TURN];
        priorities.push(Priority::LOW);
        let order = order(tasks(&priorities));
        assert_eq!(order.iter().position(|number| *number == 2 * LOW_TURN as i64), Some(LOW_TURN));
    }

    #[test]
    fn requests_are_taken_and_the_need_stays() {
        let mut all = tasks(&[Priority::NORMAL]);
        all.need(5);
        let requests = all.take_requests();
        assert!(all.is_empty() && !requests.is_empty() && !requests.is_needed());
        assert_eq!((all.take_need(), all.is_needed()), (Some(5), false));
    }
}
