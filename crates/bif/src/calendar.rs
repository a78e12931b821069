//! Dates: the machine's clock and time zone, and conversions between them.
//!
//! The time zone is the C library's, as it was at start. Dates before 1902 have no local time, as in OTP.

use myriad_term::{Build, Term, am};
use myriad_vm::bif::{Escape, badarg};
use myriad_vm::{BifResult, Ctx};
use std::mem::MaybeUninit;

myriad_vm::bifs! { pub CALENDAR = "erlang" {
    "date" / 0 Plain => |ctx, _| { let [y, m, d, ..] = local_now(ctx)?; Ok(triple(ctx, [y, m, d])) };
    "time" / 0 Plain => |ctx, _| { let [.., h, m, s] = local_now(ctx)?; Ok(triple(ctx, [h, m, s])) };
    "localtime" / 0 Plain => |ctx, _| { let now = local_now(ctx)?; Ok(date_time(ctx, now)) };
    "universaltime" / 0 Plain => |ctx, _| { let now = universal(seconds_now(ctx)); Ok(date_time(ctx, now)) };
    "universaltime_to_localtime" / 1 Plain => universaltime_to_localtime_1;
    "localtime_to_universaltime" / 2 Plain => localtime_to_universaltime_2;
    "universaltime_to_posixtime" / 1 Plain => |ctx, a| {
        let seconds = posix(fields(a[0])?, FIRST_POSIX_YEAR)?;
        Ok(ctx.int(seconds))
    };
    "posixtime_to_universaltime" / 1 Plain => posixtime_to_universaltime_1;
    "now" / 0 Plain => now_0;
}}

/// Year, month, day, hour, minute, second.
type Fields = [i64; 6];

const FIRST_POSIX_YEAR: i64 = 1600;
const FIRST_LOCAL_YEAR: i64 = 1902;
const LAST_YEAR: i64 = i32::MAX as i64 - 1;
const DAY: i64 = 86_400;
/// Days from the first of March of the year 0 to 1970.
const DAYS_TO_1970: i64 = 719_468;

fn seconds_now(ctx: &Ctx<'_>) -> i64 {
    ctx.vm.platform.system_ns().div_euclid(1_000_000_000)
}

fn local_now(ctx: &Ctx<'_>) -> Result<Fields, Escape> {
    local(seconds_now(ctx))
}

fn triple(ctx: &mut Ctx<'_>, parts: [i64; 3]) -> Term {
    let parts = parts.map(|part| ctx.int(part));
    ctx.tuple(&parts)
}

fn date_time(ctx: &mut Ctx<'_>, [y, mo, d, h, mi, s]: Fields) -> Term {
    let parts = [triple(ctx, [y, mo, d]), triple(ctx, [h, mi, s])];
    ctx.tuple(&parts)
}

fn leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn month_days(year: i64, month: i64) -> i64 {
    match month {
        2 if leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The numbers of `{{Y, Mo, D}, {H, Mi, S}}`.
fn fields(term: Term) -> Result<Fields, Escape> {
    let numbers = || -> Option<Fields> {
        let [date, time] = term.as_tuple_of::<2>()?;
        let ([y, mo, d], [h, mi, s]) = (date.as_tuple_of::<3>()?, time.as_tuple_of::<3>()?);
        Some([y.as_small()?, mo.as_small()?, d.as_small()?, h.as_small()?, mi.as_small()?, s.as_small()?])
    };
    numbers().map_or_else(badarg, Ok)
}

/// Checks a date from year `first` on.
fn checked([y, mo, d, h, mi, s]: Fields, first: i64) -> Result<Fields, Escape> {
    let right = (first..=LAST_YEAR).contains(&y)
        && (1..=12).contains(&mo)
        && (1..=month_days(y, mo)).contains(&d)
        && (0..24).contains(&h)
        && (0..60).contains(&mi)
        && (0..60).contains(&s);
    if right { Ok([y, mo, d, h, mi, s]) } else { badarg() }
}

/// Days of the years before `year`, counted from March.
fn days_of_years(year: i64) -> i64 {
    365 * year + year / 4 - year / 100 + year / 400
}

/// Seconds since 1970 of a date in universal time.
fn posix(date: Fields, first: i64) -> Result<i64, Escape> {
    let [y, mo, d, h, mi, s] = checked(date, first)?;
    // Years begin in March, so that the leap day is the last.
    let (year, month) = if mo > 2 { (y, mo - 3) } else { (y - 1, mo + 9) };
    let days = days_of_years(year) + (month * 306 + 5) / 10 + d - 1 - DAYS_TO_1970;
    Ok(days * DAY + h * 3600 + mi * 60 + s)
}

/// The date of a second since 1970. (Before the year 1 it counts as OTP does: not as any calendar.)
fn universal(seconds: i64) -> Fields {
    let days = i128::from(seconds.div_euclid(DAY)) + i128::from(DAYS_TO_1970);
    let second = seconds.rem_euclid(DAY);
    let mut year = ((10_000 * days + 14_780) / 3_652_425) as i64;
    let days = days as i64;
    let mut day = days - days_of_years(year);
    if day < 0 {
        year -= 1;
        day = days - days_of_years(year);
    }
    let month = (100 * day + 52) / 3060;
    let date = [year + (month + 2) / 12, (month + 2) % 12 + 1, day - (month * 306 + 5) / 10 + 1];
    [date[0], date[1], date[2], second / 3600, second % 3600 / 60, second % 60]
}

/// The local date of a second since 1970.
fn local(seconds: i64) -> Result<Fields, Escape> {
    let mut tm = MaybeUninit::<libc::tm>::uninit();
    // SAFETY: two valid places; the result is looked at only where the call says that it has been written.
    let tm = unsafe {
        if libc::localtime_r(&seconds, tm.as_mut_ptr()).is_null() {
            return badarg();
        }
        tm.assume_init()
    };
    let year = i64::from(tm.tm_year) + 1900;
    Ok([year, tm.tm_mon as i64 + 1, tm.tm_mday.into(), tm.tm_hour.into(), tm.tm_min.into(), tm.tm_sec.into()])
}

fn universaltime_to_localtime_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let date = local(posix(fields(args[0])?, FIRST_LOCAL_YEAR)?)?;
    Ok(date_time(ctx, date))
}

fn localtime_to_universaltime_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let daylight = match args[1].as_atom() {
        Some(am::true_) => 1,
        Some(am::false_) => 0,
        Some(am::undefined) => -1,
        _ => return badarg(),
    };
    let [y, mo, d, h, mi, s] = checked(fields(args[0])?, FIRST_LOCAL_YEAR)?;
    // SAFETY: all its fields are numbers (and a pointer that may be null).
    let mut tm: libc::tm = unsafe { MaybeUninit::zeroed().assume_init() };
    // Checked above: each fits.
    tm.tm_year = (y - 1900) as i32;
    [tm.tm_mon, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec] = [mo - 1, d, h, mi, s].map(|n| n as i32);
    tm.tm_isdst = daylight;
    tm.tm_wday = -1;
    // SAFETY: a valid place.
    let seconds = unsafe { libc::mktime(&mut tm) };
    // The second before 1970 looks like failure, but only success sets the day of the week.
    if seconds == -1 && tm.tm_wday == -1 {
        return badarg();
    }
    Ok(date_time(ctx, universal(seconds)))
}

fn posixtime_to_universaltime_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let seconds = match (args[0].as_small(), args[0].as_big()) {
        (Some(seconds), _) => seconds,
        (_, Some((negative, [magnitude]))) => {
            let seconds = if negative { -i128::from(*magnitude) } else { i128::from(*magnitude) };
            i64::try_from(seconds).or_else(|_| badarg())?
        }
        _ => return badarg(),
    };
    Ok(date_time(ctx, universal(seconds)))
}

/// Never the same twice, and always later.
fn now_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let now = ctx.vm.clock.unique_micros(&*ctx.vm.platform);
    let seconds = now.div_euclid(1_000_000);
    Ok(triple(ctx, [seconds.div_euclid(1_000_000), seconds.rem_euclid(1_000_000), now.rem_euclid(1_000_000)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(date: Fields) -> Option<i64> {
        posix(date, FIRST_POSIX_YEAR).ok()
    }

    #[test]
    fn dates_become_seconds() {
        assert_eq!(seconds([2020, 7, 1, 1, 2, 3]), Some(1_593_565_323));
        assert_eq!(seconds([1600, 1, 1, 0, 0, 0]), Some(-11_676_096_000));
        assert_eq!(seconds([1969, 12, 31, 23, 59, 59]), Some(-1));
        assert_eq!(seconds([99_999, 1, 1, 0, 0, 0]), Some(3_093_496_444_800));
        assert_eq!(seconds([2000, 2, 29, 0, 0, 0]), Some(951_782_400));
        for wrong in [[1599, 12, 31], [2021, 2, 29], [1900, 2, 29], [2020, 0, 1], [2020, 1, 0], [LAST_YEAR + 1, 1, 1]] {
            assert_eq!(seconds([wrong[0], wrong[1], wrong[2], 0, 0, 0]), None);
        }
    }

    #[test]
    fn seconds_become_dates() {
        for (second, date) in [
            (0, [1970, 1, 1, 0, 0, 0]),
            (-1, [1969, 12, 31, 23, 59, 59]),
            (1 << 59, [18_267_316_009, 3, 8, 6, 58, 8]),
            (1 << 62, [146_138_514_283, 6, 19, 7, 45, 4]),
            (i64::MAX, [292_277_026_596, 12, 4, 15, 30, 7]),
            (i64::MIN, [-292_277_022_657, 1, 26, 8, 29, 52]),
            (-(1 << 59), [-18_267_312_070, 10, 25, 17, 1, 52]),
            (-(1 << 40), [-32_873, 11, 11, 23, 23, 44]),
            (-62_167_219_201, [-1, 12, 30, 23, 59, 59]),
            (9_999_999_999_999, [318_857, 5, 20, 17, 46, 39]),
        ] {
            assert_eq!(universal(second), date, "{second}");
        }
    }
}
