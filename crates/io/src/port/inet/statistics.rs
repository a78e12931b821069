//! What `inet:getstat/1` shows.

/// Packets in one direction.
#[derive(Default, Clone)]
pub(super) struct Traffic {
    packets: u64,
    bytes: u64,
    largest: u64,
    /// The mean distance of a packet's size from the mean.
    deviation: f64,
}

/// Packets in both.
#[derive(Default, Clone)]
pub(super) struct Statistics {
    pub(super) received: Traffic,
    pub(super) sent: Traffic,
}

impl Traffic {
    /// Counts a packet of so many bytes.
    pub(super) fn count(&mut self, bytes: usize) {
        let size = bytes as u64;
        self.packets += 1;
        self.bytes += size;
        self.largest = self.largest.max(size);
        let distance = (size as f64 - self.mean() as f64).abs();
        self.deviation += (distance - self.deviation) / self.packets as f64;
    }

    fn mean(&self) -> u64 {
        self.bytes.checked_div(self.packets).unwrap_or(0)
    }
}

impl Statistics {
    /// The items that are asked for by their numbers; nothing if one is unknown. `queued`: bytes that wait to be sent.
    pub(super) fn show(&self, wanted: &[u8], queued: usize) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        for item in wanted {
            let value = match item {
                1 => self.received.packets,
                2 => self.received.largest,
                3 => self.received.mean(),
                4 => self.received.deviation as u64,
                5 => self.sent.packets,
                6 => self.sent.largest,
                7 => self.sent.mean(),
                8 => queued as u64,
                9 => self.received.bytes,
                10 => self.sent.bytes,
                _ => return None,
            };
            out.push(*item);
            // Byte counts have 64 bits, all others 32.
            if *item >= 9 { out.extend(value.to_be_bytes()) } else { out.extend((value as u32).to_be_bytes()) }
        }
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_counted() {
        let mut s = Statistics::default();
        [10, 20, 30].into_iter().for_each(|n| s.received.count(n));
        assert_eq!(s.show(&[1, 2, 3, 8], 7).unwrap(), [1, 0, 0, 0, 3, 2, 0, 0, 0, 30, 3, 0, 0, 0, 20, 8, 0, 0, 0, 7]);
        assert_eq!(s.show(&[9], 0).unwrap(), [9, 0, 0, 0, 0, 0, 0, 0, 60]);
        assert_eq!(s.show(&[11], 0), None);
    }
}
