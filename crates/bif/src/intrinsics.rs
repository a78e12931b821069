//! Intrinsics: functions of OTP's Erlang libraries that the VM runs without their Erlang code.
//!
//! [`INTRINSICS`] has all of them, a row for each: function, last release whose Erlang code is known to do the same, and what
//! stands for it. `myriad_vm::intrinsic` states the rules that hold for every row: when an intrinsic runs, and what it must
//! leave as the Erlang code has it. They exist for speed alone. Without its row the function is slower and nothing else: the
//! Erlang code runs. `+JMintrinsics false` starts a VM without any, so that their worth can be measured.
//!
//! | module | holds intrinsics of |
//! | --- | --- |
//! | [`mod@format`] | `io_lib`, `io_lib_format`, `io_lib_pretty` |
//! | [`strings`] | `string`; steps of `unicode_util` over characters, `unicode:characters_to_list/1` |
//! | [`sorting`] | `lists:sort/1` and its kin |
//! | [`flatten`] | `lists:flatten/1` |
//! | [`budget`] | how much one call may do |
//! | [`wide`] | `unicode:characters_to_binary/3`, to UTF-16 and UTF-32 |
//!
//! Loop intrinsics have no code here: crate `interp` decodes them as instructions (`decode/loop_intrinsics.rs`).
//!
//! They are part of this crate and not one of their own: they share the walks over character data (`unicode`, `iodata`), texts
//! of identifiers and the budget of long work with the built-ins, and the unit tests their VM.

pub mod budget;
pub mod flatten;
pub mod format;
pub mod sorting;
pub mod strings;
pub mod wide;

use format::text::{Charset, MOST, is_char};
use format::{formats, leaves, pretty};
use myriad_term::am;
use myriad_vm::bif::Escape;
use myriad_vm::intrinsic::Loop;
use strings::{SPACE, case, chars, compare, cut, older, search};

myriad_vm::intrinsics! { pub INTRINSICS {
    "lists" {
        "foreach_1" / 2 until 29 => Loop(Loop::Each);
        "foldl_1" / 3 until 29 => Loop(Loop::Fold);
        "map_1" / 2 until 29 => Loop(Loop::Map);
        "flatten" / 1 => Native(flatten::flatten);
        "sort" / 1 => Native(|ctx, a| sorting::sort(ctx, a, false));
        "usort" / 1 => Native(|ctx, a| sorting::sort(ctx, a, true));
        "keysort" / 2 => Native(|ctx, a| sorting::key_sort(ctx, a, false));
        "ukeysort" / 2 => Native(|ctx, a| sorting::key_sort(ctx, a, true));
    }
    "maps" {
        "fold_1" / 3 until 25 => Loop(Loop::FoldPairs);
    }
    "unicode_util" {
        "cp" / 1 until 25 => Loop(Loop::Char);
        "gc" / 1 until 25 => Loop(Loop::Cluster);
        "cp" / 1 until 25 => Native(chars::first_char);
        "gc" / 1 until 25 => Native(chars::first_cluster);
    }
    "unicode" {
        "characters_to_list" / 1 => Native(chars::to_list);
        "characters_to_binary" / 3 => Native(wide::characters_to_binary);
    }
    "string" {
        "length" / 1 until 25 => Native(cut::length);
        "reverse" / 1 until 25 => Native(cut::reverse);
        "slice" / 2 until 25 => Native(|ctx, a| cut::slice(ctx, a[0], a[1], None));
        "slice" / 3 until 25 => Native(|ctx, a| cut::slice(ctx, a[0], a[1], Some(a[2]).filter(|n| !n.is_am(am::infinity))));
        "trim" / 1 until 25 => Native(|ctx, a| cut::trim(ctx, a[0], None, None));
        "trim" / 2 until 25 => Native(|ctx, a| cut::trim(ctx, a[0], Some(a[1]), None));
        "trim" / 3 until 25 => Native(|ctx, a| cut::trim(ctx, a[0], Some(a[1]), Some(a[2])));
        "lexemes" / 2 until 25 => Native(search::lexemes);
        "find" / 2 until 25 => Native(|ctx, a| search::find(ctx, a, false));
        "find" / 3 until 25 => Native(|ctx, a| match a[2].as_atom() {
            Some(am::leading) => search::find(ctx, a, false),
            Some(am::trailing) => search::find(ctx, a, true),
            _ => Err(Escape::Decline),
        });
        "split" / 2 until 25 => Native(|ctx, a| search::split(ctx, a, search::Where::Leading));
        "split" / 3 until 25 => Native(|ctx, a| search::split(ctx, a, match a[2].as_atom() {
            Some(am::leading) => search::Where::Leading,
            Some(am::trailing) => search::Where::Trailing,
            Some(am::all) => search::Where::All,
            _ => return Err(Escape::Decline),
        }));
        "prefix" / 2 until 25 => Native(search::prefix);
        "uppercase" / 1 until 25 => Native(|ctx, a| case::convert(ctx, a[0], case::Case::Upper));
        "lowercase" / 1 until 25 => Native(|ctx, a| case::convert(ctx, a[0], case::Case::Lower));
        "casefold" / 1 until 25 => Native(|ctx, a| case::convert(ctx, a[0], case::Case::Fold));
        "titlecase" / 1 until 25 => Native(|ctx, a| case::title(ctx, a[0]));
        "pad" / 2 until 25 => Native(|ctx, a| cut::pad(ctx, a[0], a[1], cut::Side::Trailing, SPACE));
        "pad" / 3 until 25 => Native(|ctx, a| cut::pad(ctx, a[0], a[1], cut::Side::of(a[2])?, SPACE));
        "pad" / 4 until 25 => Native(|ctx, a| cut::pad(ctx, a[0], a[1], cut::Side::of(a[2])?, a[3]));
        "take" / 2 until 25 => Native(|ctx, a| search::take(ctx, a, false));
        "take" / 3 until 25 => Native(|ctx, a| search::take(ctx, a, a[2].as_bool().ok_or(Escape::Decline)?));
        "take" / 4 until 25 => Native(|ctx, a| match a[3].as_atom() {
            Some(am::leading) => search::take(ctx, a, a[2].as_bool().ok_or(Escape::Decline)?),
            _ => Err(Escape::Decline),
        });
        "nth_lexeme" / 3 until 25 => Native(search::nth_lexeme);
        "equal" / 2 until 25 => Native(|ctx, a| compare::equal(ctx, a, false));
        "equal" / 3 until 25 => Native(|ctx, a| compare::equal(ctx, a, a[2].as_bool().ok_or(Escape::Decline)?));
        "chr" / 2 => Native(|ctx, a| older::index(ctx, a, false));
        "rchr" / 2 => Native(|ctx, a| older::index(ctx, a, true));
        "str" / 2 => Native(older::index_of);
        "substr" / 2 => Native(|ctx, a| older::part(ctx, a[0], a[1], None));
        "substr" / 3 => Native(|ctx, a| older::part(ctx, a[0], a[1], Some(a[2])));
        "strip" / 1 => Native(|ctx, a| older::strip(ctx, a[0], None, None));
        "strip" / 2 => Native(|ctx, a| older::strip(ctx, a[0], Some(a[1]), None));
        "strip" / 3 => Native(|ctx, a| older::strip(ctx, a[0], Some(a[1]), Some(a[2])));
        "tokens" / 2 => Native(older::tokens);
        "to_upper" / 1 => Native(|ctx, a| older::convert(ctx, a, true));
        "to_lower" / 1 => Native(|ctx, a| older::convert(ctx, a, false));
    }
    "io_lib" {
        "write" / 1 until 25 => Native(formats::write_1);
        "write" / 2 until 25 => Native(formats::write_2);
        "write_atom" / 1 until 25 => Native(|ctx, a| leaves::write_atom(ctx, a, Charset::Unicode));
        "write_atom_as_latin1" / 1 until 25 => Native(|ctx, a| leaves::write_atom(ctx, a, Charset::Latin1));
        "write_string" / 2 => Native(|ctx, a| leaves::write_string(ctx, a, Charset::Unicode, MOST));
        "write_latin1_string" / 2 => Native(|ctx, a| leaves::write_string(ctx, a, Charset::Latin1, 255));
        "write_string_as_latin1" / 2 => Native(|ctx, a| leaves::write_string(ctx, a, Charset::Latin1, MOST));
        "printable_list" / 1 => Native(|ctx, a| {
            let shown = Charset::printable(ctx.vm);
            leaves::flat(ctx, a, |c| shown.shows(c))
        });
        "printable_unicode_list" / 1 => Native(|ctx, a| leaves::flat(ctx, a, |c| Charset::Unicode.shows(c)));
        "printable_latin1_list" / 1 => Native(|ctx, a| leaves::flat(ctx, a, |c| Charset::Latin1.shows(c)));
        "char_list" / 1 => Native(|ctx, a| leaves::flat(ctx, a, is_char));
        "latin1_char_list" / 1 => Native(|ctx, a| leaves::flat(ctx, a, |c| c < 256));
        "deep_char_list" / 1 => Native(|ctx, a| leaves::deep(ctx, a, is_char));
        "deep_latin1_char_list" / 1 => Native(|ctx, a| leaves::deep(ctx, a, |c| c < 256));
        "chars_length" / 1 => Native(leaves::chars_length);
    }
    "io_lib_format" {
        "fwrite" / 2 until 25 => Native(|ctx, a| formats::fwrite(ctx, a[0], a[1]));
        "fwrite" / 3 until 25 => Native(|ctx, a| formats::without_options(a[2]).and_then(|()| formats::fwrite(ctx, a[0], a[1])));
        "scan" / 2 until 25 => Native(|ctx, a| formats::scan(ctx, a[0], a[1]));
        "build" / 1 until 25 => Native(|ctx, a| formats::build(ctx, a[0]));
        "build" / 2 until 25 => Native(|ctx, a| formats::without_options(a[1]).and_then(|()| formats::build(ctx, a[0])));
    }
    "io_lib_pretty" {
        "print" / 9 until 25 => Native(pretty::print_9);
    }
}}
