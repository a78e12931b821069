//! Lists of all that a table holds (`processes/0`, `ports/0`), made in slices.

use crate::bif::{BifResult, badarg};
use crate::ctx::Ctx;
use myriad_process::{Listed, Listing};
use myriad_term::{Build, Mfa, Term, am};

/// Slots of a table that are looked at for a reduction.
pub const SLOTS_A_REDUCTION: usize = 256;
/// Identifiers that are put in a list for a reduction.
pub const IDS_A_REDUCTION: usize = 16;

impl Ctx<'_> {
    /// The list of all that the listing finds.
    pub fn list_all<T: Listed<Id: Send> + Sync>(&mut self, mut listing: Listing<T>) -> BifResult {
        while listing.go_on() {
            self.bump(Listing::<T>::CHUNK / SLOTS_A_REDUCTION);
            if self.exhausted() {
                let name = Mfa { module: am::erlang, function: am::ptab_list_continue, arity: 2 };
                let mut listing = Some(listing);
                let rest = move |ctx: &mut Ctx<'_>| match listing.take() {
                    Some(listing) => ctx.list_all(listing),
                    None => badarg(),
                };
                return self.yield_without_terms(name, Box::new(rest));
            }
        }
        let ids: Vec<Term> = listing.finish().into_iter().map(T::term).collect();
        self.bump(ids.len() / IDS_A_REDUCTION);
        Ok(self.list(&ids))
    }
}
