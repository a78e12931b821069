//! What the Erlang programs of `mutants` and `soak` print: a line with counts, and one with `FAILED` for each failure.

use crate::json::Json;

/// The number before the first place where `what` follows one.
pub fn before(said: &str, what: &str) -> Option<u64> {
    said.match_indices(what).find_map(|(at, _)| {
        let digits = said[..at].bytes().rev().take_while(u8::is_ascii_digit).count();
        said[at - digits..at].parse().ok()
    })
}

/// What failed, a text each.
pub fn failures(said: &str) -> Json {
    let lines = said.lines().filter_map(|line| line.split_once(": FAILED "));
    Json::List(lines.map(|(_, why)| why.into()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_stand_before_their_words() {
        let said = "soak: episodes soak: 120 episodes: [{a,3}]";
        assert_eq!(
            (before(said, " episodes"), before(said, " calls"), before(" calls", " calls")),
            (Some(120), None, None)
        );
    }
}
