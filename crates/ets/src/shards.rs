//! The store of sets and bags: chains of rows ([`crate::hash`]) in one shard, or several with `write_concurrency`.
//!
//! A scan goes shard by shard, bucket by bucket. Between two batches it keeps rows in place (ets/TB3 of `table`), so that it visits each row once.

use crate::access::user;
use crate::hash::{Fixed, Shards, Writing};
use crate::row::{Measured, NewRow, Row, RowAddress, list_reversed};
use crate::store::{BATCH, Bucket, Caller, Flow, Judge, Position, Rows, Sweep, key_or_end};
use crate::table::{Gone, Kind, Table, Taken, User};
use myriad_sync::RwLock;
use myriad_term::hash::table_hash;
use myriad_term::{Term, TermRef};
use myriad_vm::Ctx;

/// Puts one row into its shard as the table's type wants it.
#[inline]
fn put(shard: &mut Writing<'_>, table: &Table, row: NewRow) {
    let fixed = table.fixed();
    debug_assert!(table.options.kind != Kind::OrderedSet, "an ordered set has no shards");
    match table.options.kind {
        Kind::Set | Kind::OrderedSet => shard.insert_set(row, fixed),
        Kind::Bag => shard.insert_bag(row, fixed),
        Kind::DuplicateBag => shard.insert_duplicate(row, fixed),
    }
}

/// Buckets gone through without looking up.
const STRETCH: usize = 1024;

/// The key of the first visible row in or after a bucket.
fn first_from(shards: &Shards, table: &Table, ctx: &mut Ctx<'_>, mut at: Bucket) -> Result<Term, Gone> {
    while at.shard < shards.len() {
        let to = at.index.saturating_add(STRETCH);
        debug_assert!(to > at.index, "a walk gets on");
        // The key, or where the search continues: at this bucket, or in the next shard.
        let found = table.look_at(user(ctx), shards, at.shard as u32, |shard| {
            let end = if shard.len() > 0 { shard.buckets() } else { 0 };
            match (at.index..end.min(to)).find_map(|i| shard.bucket(i).next()) {
                Some(row) => Ok(key_or_end(ctx, Some(row.key(table.options.keypos)))),
                None => Err((to < end).then_some(to)),
            }
        })?;
        match found {
            Ok(key) => return Ok(key),
            Err(Some(index)) => {
                ctx.bump(STRETCH / 64);
                at.index = index;
            }
            Err(None) => at = Bucket { shard: at.shard + 1, index: 0 },
        }
    }
    Ok(key_or_end(ctx, None))
}

/// The place of a scan after one of its batches.
fn position(shards: &Shards, at: Bucket) -> Position {
    if at.shard < shards.len() { Position::Bucket(at) } else { Position::End }
}

/// Replaces rows of a shard as a judge wants it.
fn replace_rows(shard: &mut Writing<'_>, rows: Vec<RowAddress>, judge: &mut impl Judge) {
    for row in rows {
        // SAFETY: ets.row/R1: the shard's lock is held for writing, and the row leaves it at the end of this turn at the earliest.
        let row = unsafe { row.row() };
        if let Some(new) = judge.successor(row) {
            shard.replace(row, new);
        }
    }
}

/// Words of the segments that hold this number of buckets in OTP: a first one, larger ones, and tables of these.
fn segments_words(buckets: usize) -> usize {
    const FIRST: usize = 256;
    const SEGMENT: usize = 2048;
    // A table of segments has a header; each one after the first is so much larger than the one before.
    const HEADER: usize = 6;
    const GROWTH: usize = 128;
    let segments = buckets.saturating_sub(FIRST).div_ceil(SEGMENT);
    let (mut words, mut holds) = (FIRST + segments * SEGMENT, 0);
    while holds < segments {
        holds = if holds == 0 { FIRST } else { holds + GROWTH };
        words += HEADER + holds;
    }
    words
}

impl Rows for Shards {
    const ORDERED: bool = false;
    const OPTIMISTIC: bool = true;

    fn locks(&self) -> impl Iterator<Item = &RwLock<()>> {
        self.iter().map(|shard| shard.lock())
    }

    #[inline]
    fn with_rows<R>(
        &self,
        table: &Table,
        user: User,
        key: TermRef<'_>,
        mut each: impl FnMut(&mut dyn Iterator<Item = Row<'_>>) -> R,
    ) -> Result<R, Gone> {
        let hash = table_hash(key);
        table.look_at(user, self, hash, |shard| each(&mut shard.rows_of(hash, key)))
    }

    #[inline]
    fn with_rows_once<R>(
        &self,
        table: &Table,
        user: User,
        key: TermRef<'_>,
        each: impl FnOnce(&mut dyn Iterator<Item = Row<'_>>) -> R,
    ) -> Result<R, Gone> {
        let hash = table_hash(key);
        let shard = table.read_shard(user, self, hash)?;
        // In a set the row that follows need not be looked at.
        Ok(if table.options.kind == Kind::Set {
            each(&mut shard.row_of(hash, key).into_iter())
        } else {
            each(&mut shard.rows_of(hash, key))
        })
    }

    #[inline(always)]
    fn with_row<R>(
        &self,
        table: &Table,
        user: User,
        key: TermRef<'_>,
        mut f: impl FnMut(Option<Row<'_>>) -> R,
    ) -> Result<R, Gone> {
        let hash = table_hash(key);
        table.look_at(user, self, hash, |shard| f(shard.row_of(hash, key)))
    }

    #[inline]
    fn insert(&self, table: &Table, by: Caller<'_>, row: NewRow) -> Result<(), Gone> {
        let mut shard = table.write_shard(by.user, self, row.row().hash())?;
        put(&mut shard, table, row);
        shard.done(by.slices);
        Ok(())
    }

    #[inline]
    fn insert_tuple(&self, table: &Table, by: Caller<'_>, tuple: Measured<'_>, key: TermRef<'_>) -> Result<(), Gone> {
        let hash = table_hash(key);
        let mut shard = table.write_shard(by.user, self, hash)?;
        shard.insert_tuple(tuple, key, hash, table.fixed());
        shard.done(by.slices);
        Ok(())
    }

    #[inline]
    fn insert_new(&self, table: &Table, by: Caller<'_>, tuple: TermRef<'_>, key: TermRef<'_>) -> Result<bool, Gone> {
        let hash = table_hash(key);
        // Most often one looks like this to find that it is there.
        if table.look_at(by.user, self, hash, |shard| shard.row_of(hash, key).is_some())? {
            return Ok(false);
        }
        let mut shard = table.write_shard(by.user, self, hash)?;
        if shard.row_of(hash, key).is_some() {
            return Ok(false);
        }
        put(&mut shard, table, table.new_row(tuple, hash));
        shard.done(by.slices);
        Ok(true)
    }

    fn insert_all(&self, table: &Table, by: Caller<'_>, rows: Vec<NewRow>, new: bool) -> Result<bool, Gone> {
        let mut guards = table.write_all(by.user, self)?;
        let mask = guards.len() - 1;
        debug_assert!(guards.len() == self.len() && self.len().is_power_of_two(), "TB2: all shards are locked");
        let there = |row: &NewRow| {
            let (hash, key) = (row.row().hash(), row.row().key(table.options.keypos));
            guards[hash as usize & mask].row_of(hash, key).is_some()
        };
        if new && rows.iter().any(there) {
            return Ok(false);
        }
        for row in rows {
            put(&mut guards[row.row().hash() as usize & mask], table, row);
        }
        guards.into_iter().for_each(|shard| shard.done(by.slices));
        Ok(true)
    }

    #[inline]
    fn delete(
        &self,
        table: &Table,
        by: Caller<'_>,
        key: TermRef<'_>,
        wanted: impl FnMut(Row<'_>) -> bool,
    ) -> Result<usize, Gone> {
        let hash = table_hash(key);
        let mut shard = table.write_shard(by.user, self, hash)?;
        let count = shard.delete(hash, key, table.fixed(), wanted);
        debug_assert!(count <= 1 || table.options.kind != Kind::Set, "S2: a set had two rows of a key");
        shard.done(by.slices);
        Ok(count)
    }

    fn take(&self, table: &Table, ctx: &mut Ctx<'_>, key: TermRef<'_>) -> Result<Term, Gone> {
        let hash = table_hash(key);
        let mut shard = table.write_shard(user(ctx), self, hash)?;
        let list = list_reversed(shard.rows_of(hash, key), ctx);
        if !list.is_nil() {
            shard.delete(hash, key, table.fixed(), |_| true);
        }
        debug_assert!(shard.row_of(hash, key).is_none(), "what is given has left");
        shard.done(ctx.sched.slices.as_ref());
        Ok(list)
    }

    #[inline(always)]
    fn change_in_place<T>(
        &self,
        table: &Table,
        user: User,
        key: TermRef<'_>,
        change: impl FnOnce(Row<'_>) -> Option<T>,
    ) -> Result<Option<T>, Gone> {
        debug_assert!(table.options.kind == Kind::Set, "a key has one row to be changed");
        let hash = table_hash(key);
        let shard = table.write_shard(user, self, hash)?;
        Ok(shard.row_of(hash, key).and_then(change))
    }

    #[inline]
    fn change<T, E>(
        &self,
        table: &Table,
        user: User,
        key: TermRef<'_>,
        change: impl FnOnce(Option<Row<'_>>, u32) -> Result<(T, Option<NewRow>), E>,
    ) -> Result<Result<T, E>, Gone> {
        debug_assert!(table.options.kind == Kind::Set, "a key has one row to be changed");
        let hash = table_hash(key);
        let mut shard = table.write_shard(user, self, hash)?;
        let row = shard.row_of(hash, key).map(Row::address);
        // SAFETY: ets.row/R1: the shard's lock is held for writing.
        let row = row.map(|row| unsafe { row.row() });
        Ok(change(row, hash).map(|(result, new)| {
            match (row, new) {
                (Some(row), Some(new)) => shard.replace(row, new),
                (None, Some(new)) => shard.insert_set(new, table.fixed()),
                (_, None) => {}
            }
            result
        }))
    }

    fn first(&self, table: &Table, ctx: &mut Ctx<'_>) -> Result<Term, Gone> {
        first_from(self, table, ctx, Bucket::FIRST)
    }

    fn last(&self, table: &Table, ctx: &mut Ctx<'_>) -> Result<Term, Gone> {
        self.first(table, ctx)
    }

    fn next(&self, table: &Table, ctx: &mut Ctx<'_>, key: TermRef<'_>, _: bool) -> Result<Option<Term>, Gone> {
        let hash = table_hash(key);
        let found = table.look_at(user(ctx), self, hash, |shard| match shard.after(hash, key) {
            Some(Ok(row)) => Some(Ok(key_or_end(ctx, Some(row.key(table.options.keypos))))),
            Some(Err(bucket)) => Some(Err(bucket)),
            None => None,
        })?;
        let bucket = match found {
            None => return Ok(None),
            Some(Ok(key)) => return Ok(Some(key)),
            Some(Err(bucket)) => bucket,
        };
        debug_assert!(self.len().is_power_of_two(), "a hash's low bits choose the shard");
        let at = Bucket { shard: hash as usize & (self.len() - 1), index: bucket + 1 };
        first_from(self, table, ctx, at).map(Some)
    }

    fn slot(&self, table: &Table, ctx: &mut Ctx<'_>, number: usize) -> Result<Option<Term>, Gone> {
        let total: usize = self.iter().map(|s| s.buckets()).sum();
        if number >= total {
            return Ok((number == total).then(|| key_or_end(ctx, None)));
        }
        // The shards may have different numbers of buckets: counts through them one after another.
        let mut left = number;
        for i in 0..self.len() {
            let shard = table.read_shard(user(ctx), self, i as u32)?;
            if left < shard.buckets() {
                return Ok(Some(list_reversed(shard.bucket(left), ctx)));
            }
            left -= shard.buckets();
        }
        Ok(Some(Term::NIL))
    }

    fn start(&self) -> Position {
        Position::Bucket(Bucket::FIRST)
    }

    fn visit(
        &self,
        table: &Table,
        ctx: &mut Ctx<'_>,
        sweep: &mut Sweep,
        visit: &mut dyn FnMut(&mut Ctx<'_>, Row<'_>) -> Flow,
    ) -> Result<usize, Gone> {
        let Position::Bucket(mut at) = sweep.position else { return Ok(0) };
        let mut visited = 0;
        while at.shard < self.len() && visited < BATCH {
            let shard = table.read_shard(user(ctx), self, at.shard as u32)?;
            let from = at.index;
            let mut enough = false;
            while at.index < shard.buckets() && visited < BATCH && !enough {
                for row in shard.bucket(at.index) {
                    visited += 1;
                    enough |= visit(ctx, row) == Flow::Enough;
                }
                at.index += 1;
                if at.index - from >= 8 * BATCH {
                    break;
                }
            }
            debug_assert!(at.index <= shard.buckets().max(from), "a scan goes no further than there are buckets");
            visited += (at.index - from) / 8;
            let rest = at.index < shard.buckets();
            if rest {
                // Still under the lock: nothing moves from here on.
                sweep.pin(table);
            } else {
                at = Bucket { shard: at.shard + 1, index: 0 };
            }
            if enough || rest {
                break;
            }
        }
        sweep.position = position(self, at);
        Ok(visited)
    }

    fn alter(
        &self,
        table: &Table,
        ctx: &mut Ctx<'_>,
        sweep: &mut Sweep,
        judge: &mut impl Judge,
    ) -> Result<usize, Gone> {
        let Position::Bucket(mut at) = sweep.position else { return Ok(0) };
        let mut shard = table.write_shard(user(ctx), self, at.shard as u32)?;
        let (before, from) = (judge.count(), at.index);
        while at.index < shard.buckets() && at.index - from < BATCH {
            if judge.deletes() {
                shard.retain_bucket(at.index, table.fixed(), |row| judge.is_doomed(row));
            } else {
                let rows = shard.bucket(at.index).map(Row::address).collect();
                replace_rows(&mut shard, rows, judge);
            }
            at.index += 1;
        }
        debug_assert!(judge.count() >= before && at.index - from <= BATCH);
        let visited = at.index - from + judge.count() - before;
        if at.index >= shard.buckets() {
            at = Bucket { shard: at.shard + 1, index: 0 };
        } else {
            // Still under the lock: nothing moves from here on.
            sweep.pin(table);
        }
        shard.done(ctx.sched.slices.as_ref());
        sweep.position = position(self, at);
        Ok(visited)
    }

    fn alter_key(&self, table: &Table, by: Caller<'_>, key: TermRef<'_>, judge: &mut impl Judge) -> Result<(), Gone> {
        let hash = table_hash(key);
        let mut shard = table.write_shard(by.user, self, hash)?;
        if judge.deletes() {
            shard.delete(hash, key, table.fixed(), |row| judge.is_doomed(row));
        } else {
            let rows = shard.rows_of(hash, key).map(Row::address).collect();
            replace_rows(&mut shard, rows, judge);
        }
        shard.done(by.slices);
        Ok(())
    }

    fn shrink(&self, table: &Table, by: Caller<'_>) {
        for shard in self {
            let mut shard = table.write_to(shard, by.user);
            shard.shrink(table.fixed());
            shard.done(by.slices);
        }
    }

    fn each(&self, table: &Table, user: User, each: &mut dyn FnMut(Row<'_>)) {
        for shard in self {
            let shard = table.read_any(user, shard);
            (0..shard.buckets()).flat_map(|bucket| shard.whole_bucket(bucket)).for_each(&mut *each);
        }
    }

    fn chains(&self, table: &Table, user: User, each: &mut dyn FnMut(usize)) -> Option<usize> {
        let mut hidden = 0;
        for shard in self {
            let shard = table.read_any(user, shard);
            (0..shard.buckets()).for_each(|i| each(shard.chain_length(i)));
            hidden += shard.hidden();
        }
        Some(hidden)
    }

    fn count(&self) -> usize {
        self.iter().map(|s| s.len()).sum()
    }

    fn footprint(&self, table: &Table) -> usize {
        let readers = table.words_for_readers();
        let locks = if self.len() == 1 { readers } else { 32 + self.len() * (16 + readers) };
        let rows = self.iter().map(|s| s.words()).sum::<usize>();
        rows + segments_words(self.iter().map(|s| s.buckets()).sum()) + 49 + locks + table.words_for_counters()
    }

    fn take_all(&self, table: &Table, user: User) -> Taken {
        let chains: Vec<_> = self.iter().map(|s| table.write_to(s, user).take_all()).collect();
        Taken::new(chains, Vec::new())
    }

    fn clear(&self, table: &Table, user: User) -> Result<(Taken, usize), Gone> {
        let mut guards = table.write_all(user, self)?;
        let (mut chains, mut count) = (Vec::new(), 0);
        for shard in &mut guards {
            if table.fixed() == Fixed::Yes {
                count += (0..shard.buckets()).map(|i| shard.retain_bucket(i, Fixed::Yes, |_| true)).sum::<usize>();
                continue;
            }
            count += shard.len();
            chains.push(shard.take_all());
            debug_assert!(shard.len() == 0 && shard.words() == 0 && shard.hidden() == 0, "rows are left");
        }
        Ok((Taken::new(chains, Vec::new()), count))
    }

    fn purge(&self, table: &Table, user: User) {
        for shard in self {
            if table.read_any(user, shard).hidden() == 0 {
                continue;
            }
            let mut shard = table.write_to(shard, user);
            if table.fixed() == Fixed::No {
                shard.purge();
                debug_assert_eq!(shard.hidden(), 0, "TB3: what was hidden has left");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::segments_words;

    /// From `ets:info(T, memory)` of OTP 25, less 49 words for the table and those of the rows.
    #[test]
    fn segments_take_what_they_take_in_otp() {
        let otp = [(1, 256), (256, 256), (257, 2566), (2304, 2566), (2305, 4614), (5000, 6662), (100_000, 100_870)];
        for (buckets, words) in otp.into_iter().chain([(600_000, 600_972)]) {
            assert_eq!(segments_words(buckets), words, "{buckets}");
        }
    }
}
