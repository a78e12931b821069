//! The store of sets and bags: chains of rows ([`crate::hash`]) in one shard or several ([`crate::shard_map`]).
//!
//! A scan goes shard by shard, bucket by bucket. Between two batches it keeps rows in place (ets/TB3 of `table`), so that it visits each row once.

use crate::access::user;
use crate::hash::{Fixed, Writing};
use crate::row::{Measured, NewRow, Row, RowAddress, list_reversed};
use crate::shard_map::{Rank, Shards};
use crate::store::{BATCH, Bucket, Caller, Flow, Judge, Position, Rows, Sweep, key_or_end};
use crate::table::{Gone, Kind, Table, Taken, User, WriteConcurrency};
use myriad_sync::ReadGuard;
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
    loop {
        let to = at.index.saturating_add(STRETCH);
        debug_assert!(to > at.index, "a walk gets on");
        // The key, or where the search continues: at this bucket, or in the next shard.
        let found = table.look_at(user(ctx), shards, shards.hash_at(at.shard), |shard| {
            let end = if shard.is_surely_empty() { 0 } else { shard.buckets() };
            match (at.index..end.min(to)).find_map(|i| shard.bucket(i).next()) {
                Some(row) => Ok(key_or_end(ctx, Some(row.key(table.options.keypos)))),
                None => Err(if to < end { Ok(to) } else { Err(shards.after(shard)) }),
            }
        })?;
        match found {
            Ok(key) => return Ok(key),
            Err(Ok(index)) => {
                ctx.bump(STRETCH / 64);
                at.index = index;
            }
            Err(Err(Some(shard))) => at = Bucket { shard, index: 0 },
            Err(Err(None)) => return Ok(key_or_end(ctx, None)),
        }
    }
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

    fn lock_all(&self) -> Vec<ReadGuard<'_, ()>> {
        let mut guards = Vec::new();
        let mut next = Some(Rank::FIRST);
        while let Some(rank) = next {
            let shard = self.at(rank);
            let guard = shard.lock().read();
            // ets.shard_map/SM1.
            if shard.has(self.hash_at(rank)) {
                next = self.after(shard);
                guards.push(guard);
            }
        }
        guards
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
        let ranks: Vec<Rank> = guards.iter().map(|shard| self.rank(shard)).collect();
        let of = |hash: u32| ranks.partition_point(|rank| *rank <= self.rank_of(hash)) - 1;
        let there = |row: &NewRow| {
            let (hash, key) = (row.row().hash(), row.row().key(table.options.keypos));
            guards[of(hash)].row_of(hash, key).is_some()
        };
        if new && rows.iter().any(there) {
            return Ok(false);
        }
        for row in rows {
            put(&mut guards[of(row.row().hash())], table, row);
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
        let shard = table.change_shard(user, self, hash)?;
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
            Some(Err(bucket)) => Some(Err(Bucket { shard: self.rank(shard), index: bucket + 1 })),
            None => None,
        })?;
        match found {
            None => Ok(None),
            Some(Ok(key)) => Ok(Some(key)),
            Some(Err(at)) => first_from(self, table, ctx, at).map(Some),
        }
    }

    fn slot(&self, table: &Table, ctx: &mut Ctx<'_>, number: usize) -> Result<Option<Term>, Gone> {
        let total = self.sum(|shard| shard.buckets() as isize) as usize;
        if number >= total {
            return Ok((number == total).then(|| key_or_end(ctx, None)));
        }
        // The shards may have different numbers of buckets: counts through them one after another.
        let (mut left, mut next) = (number, Some(Rank::FIRST));
        while let Some(rank) = next {
            let shard = table.read_shard(user(ctx), self, self.hash_at(rank))?;
            if left < shard.buckets() {
                return Ok(Some(list_reversed(shard.bucket(left), ctx)));
            }
            left -= shard.buckets();
            next = self.after(&shard);
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
        while visited < BATCH {
            let shard = table.read_shard(user(ctx), self, self.hash_at(at.shard))?;
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
            } else if let Some(next) = self.after(&shard) {
                at = Bucket { shard: next, index: 0 };
            } else {
                sweep.position = Position::End;
                return Ok(visited);
            }
            if enough || rest {
                break;
            }
        }
        sweep.position = Position::Bucket(at);
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
        let mut shard = table.write_shard(user(ctx), self, self.hash_at(at.shard))?;
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
        sweep.position = if at.index < shard.buckets() {
            // Still under the lock: nothing moves from here on.
            sweep.pin(table);
            Position::Bucket(at)
        } else {
            self.after(&shard).map_or(Position::End, |shard| Position::Bucket(Bucket { shard, index: 0 }))
        };
        shard.done(ctx.sched.slices.as_ref());
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
        table.each_to_write(by.user, self, |mut shard| {
            shard.shrink(table.fixed());
            shard.done(by.slices);
        });
    }

    fn each(&self, table: &Table, user: User, each: &mut dyn FnMut(Row<'_>)) {
        table.each_to_read(user, self, |shard| {
            (0..shard.buckets()).flat_map(|bucket| shard.whole_bucket(bucket)).for_each(&mut *each);
        });
    }

    fn chains(&self, table: &Table, user: User, each: &mut dyn FnMut(usize)) -> Option<usize> {
        let mut hidden = 0;
        table.each_to_read(user, self, |shard| {
            (0..shard.buckets()).for_each(|i| each(shard.chain_length(i)));
            hidden += shard.hidden();
        });
        Some(hidden)
    }

    fn count(&self) -> usize {
        // Figures of different moments: less than nothing for one.
        self.sum(|shard| shard.count()).max(0) as usize
    }

    fn footprint(&self, table: &Table) -> usize {
        let readers = table.words_for_readers();
        // OTP has 64 locks at least where it has several.
        let at_least = match table.options.write_concurrency {
            WriteConcurrency::No => 1,
            _ => 64,
        };
        let shards = self.number().max(at_least);
        let locks = if shards == 1 { readers } else { 32 + shards * (16 + readers) };
        let rows = self.sum(|shard| shard.words()).max(0) as usize;
        let buckets = self.sum(|shard| shard.buckets() as isize) as usize;
        rows + segments_words(buckets) + 49 + locks + table.words_for_counters()
    }

    fn take_all(&self, table: &Table, user: User) -> Taken {
        let mut chains = Vec::new();
        table.each_to_write(user, self, |mut shard| chains.push(shard.take_all()));
        Taken::new(chains, Vec::new())
    }

    fn clear(&self, table: &Table, user: User) -> Result<(Taken, usize), Gone> {
        let mut guards = table.write_all(user, self)?;
        let (mut chains, mut count, mut shown) = (Vec::new(), 0, 0);
        for shard in &mut guards {
            if table.fixed() == Fixed::Yes {
                count += (0..shard.buckets()).map(|i| shard.retain_bucket(i, Fixed::Yes, |_| true)).sum::<usize>();
                continue;
            }
            shown += shard.count();
            chains.push(shard.take_all());
            debug_assert!(shard.len() == 0 && shard.words() == 0 && shard.hidden() == 0, "rows are left");
        }
        debug_assert!(shown >= 0, "more rows left than came");
        Ok((Taken::new(chains, Vec::new()), count + shown.max(0) as usize))
    }

    fn purge(&self, table: &Table, user: User) {
        let mut next = Some(Rank::FIRST);
        while let Some(rank) = next {
            let hash = self.hash_at(rank);
            {
                let shard = table.read_any(user, self, hash);
                next = self.after(&shard);
                if shard.hidden() == 0 {
                    continue;
                }
            }
            let mut shard = table.write_any(user, self, hash);
            next = self.after(&shard);
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
