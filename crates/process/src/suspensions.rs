//! Why a process does not run though it could: others have suspended it, or a port that it sends to is busy.

/// What keeps a process from running: in the lowest bit whether it waits for a busy port, above it how often others have suspended it.
#[derive(Default)]
pub struct Suspensions(u32);

/// The bit of a busy port.
const BUSY_PORT: u32 = 1;
/// One suspension by another.
const BY_OTHER: u32 = 2;

impl Suspensions {
    /// Another process, or the VM, suspends it once more.
    pub fn suspend(&mut self) {
        self.0 += BY_OTHER;
    }

    /// One suspension is taken back.
    pub fn resume(&mut self) {
        if self.by_others() {
            self.0 -= BY_OTHER;
        }
    }

    /// It begins, or ceases, to wait for a busy port. Has that changed anything?
    pub fn wait_at_port(&mut self, waits: bool) -> bool {
        let changes = (self.0 & BUSY_PORT != 0) != waits;
        self.0 ^= u32::from(changes);
        changes
    }

    /// Is one in force that another process must take back?
    pub fn by_others(&self) -> bool {
        self.0 >= BY_OTHER
    }

    /// Is any in force?
    pub fn any(&self) -> bool {
        self.0 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::Suspensions;

    #[test]
    fn each_suspension_is_taken_back_by_itself() {
        let mut suspensions = Suspensions::default();
        suspensions.suspend();
        suspensions.suspend();
        assert!(suspensions.wait_at_port(true) && !suspensions.wait_at_port(true));
        suspensions.resume();
        assert!(suspensions.by_others());
        suspensions.resume();
        suspensions.resume();
        assert!(!suspensions.by_others() && suspensions.any());
        assert!(suspensions.wait_at_port(false) && !suspensions.any());
    }
}
