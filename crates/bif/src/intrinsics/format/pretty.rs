//! `~p`: `io_lib_pretty:print/9`, which all of that module's entries lead to.
//!
//! First the term becomes a tree of texts whose lengths are known ([`super::tree`]), then the tree is laid out in lines
//! ([`super::layout`]). A limit on characters is left to the Erlang code, and so is a tuple that may be a record if there is
//! a function to be asked about it.

use super::layout;
use super::sizing::Line;
use super::text;
use super::text::{Charset, list_of_text};
use super::tree::Tree;
use crate::work::Budget;
use myriad_term::{Term, am};
use myriad_vm::bif::Escape;
use myriad_vm::{BifResult, Ctx};

/// Columns and lengths of lines that are laid out here.
const WIDEST: i64 = 1 << 30;

/// The options by which a term is printed.
#[derive(Clone, Copy)]
pub struct Options {
    /// The column that the text begins at, from one on.
    pub column: i64,
    /// Length of a line; 0 puts all on one.
    pub line_length: i64,
    /// Terms beyond are `...`; none is no limit.
    pub depth: Option<usize>,
    /// Characters of a line, its indentation not counted; none is no limit.
    pub line_chars: Option<i64>,
    /// Which characters of atoms and strings stand for themselves.
    pub charset: Charset,
    /// Is there a function that knows records, to be asked about each tuple that begins with an atom?
    pub records: bool,
    /// Are lists and binaries of printable characters shown as strings?
    pub strings: bool,
}

/// The limit of depth that a number says; `Err` if it is none.
pub fn depth_of(term: Term) -> Result<Option<usize>, Escape> {
    match term.as_small() {
        Some(depth) => Ok(usize::try_from(depth).ok()),
        None => Err(Escape::Decline),
    }
}

/// A number of columns or characters that can be reckoned with.
fn small(term: Term) -> Result<i64, Escape> {
    term.as_small().filter(|n| n.abs() < WIDEST).ok_or(Escape::Decline)
}

/// `io_lib_pretty:print/9`
pub fn print_9(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let &[term, column, line_length, depth, line_chars, chars, records, encoding, strings] = args else {
        return Err(Escape::Decline);
    };
    if chars.as_small().is_none_or(|limit| limit >= 0) {
        return Err(Escape::Decline);
    }
    let options = Options {
        column: small(column)?.max(1),
        line_length: small(line_length)?,
        depth: depth_of(depth)?,
        line_chars: Some(small(line_chars)?).filter(|most| *most >= 0),
        charset: if encoding.is_am(am::latin1) { Charset::Latin1 } else { Charset::Unicode },
        records: records.is_fun(),
        strings: strings.as_bool().ok_or(Escape::Decline)?,
    };
    let mut budget = Budget::of_intrinsic(ctx);
    let printed = print(ctx, term, &options, &mut budget, true);
    budget.charge(ctx);
    printed
}

/// What `io_lib_pretty:print/2` gives; [`Escape::Decline`] where that is to be found by itself. No effect before. It asks for
/// room on the heap only if it may: as the first that the call puts there, or asking would not end.
pub fn print(ctx: &mut Ctx<'_>, term: Term, options: &Options, budget: &mut Budget, may_ask: bool) -> BifResult {
    if options.depth == Some(0) {
        return Ok(list_of_text(ctx, "...", Term::NIL));
    }
    if options.line_length < 0 {
        return Err(Escape::Decline);
    }
    if !(term.is_list() || term.as_tuple().is_some() || term.as_map().is_some() || term.as_bits().is_some()) {
        let mut chars = Vec::new();
        budget.spend(ctx, text::number_cost(term))?;
        match term.as_atom() {
            Some(atom) => text::push_atom(&mut chars, atom, options.charset)?,
            None if text::push_number(&mut chars, term) || text::push_identifier(&mut chars, term) => {}
            None => return Err(Escape::Decline),
        }
        return Ok(text::list_of(ctx, &chars, Term::NIL));
    }
    let (tree, root) = Tree::of(ctx, term, options, budget)?;
    if may_ask {
        ctx.make_room(tree.words())?;
    }
    let length = tree.length(root);
    let most = options.line_chars.unwrap_or(length);
    let line = Line { length: options.line_length, chars: most };
    Ok(layout::lay_out(ctx, &tree, root, options.column, line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intrinsics::format::DEEPEST;
    use crate::test_support::in_process;
    use myriad_term::{Build, print::text as shown};

    const OPTIONS: Options = Options {
        column: 1,
        line_length: 80,
        depth: None,
        line_chars: None,
        charset: Charset::Latin1,
        records: false,
        strings: true,
    };

    fn printed(ctx: &mut Ctx<'_>, term: Term, options: &Options) -> Option<Term> {
        let mut budget = Budget::of_intrinsic(ctx);
        print(ctx, term, options, &mut budget, true).ok()
    }

    #[test]
    fn lists_are_nested_as_otp_nests_them() {
        in_process(|ctx| {
            let pair = ctx.tuple(&[Term::OK, Term::TRUE]);
            let list = ctx.list_onto(&[pair, Term::small(7)], Term::FALSE);
            let all = printed(ctx, list, &OPTIONS).expect("printed");
            assert_eq!(shown(all, 1000), "[91,[[123,[\"ok\",44,\"true\"],125],44,\"7\",124,102,97,108,115,101],93]");
            let narrow = Options { line_length: 6, ..OPTIONS };
            let lines = printed(ctx, list, &narrow).expect("printed");
            let mut flat = String::new();
            let all = Budget::of_intrinsic(ctx).each_deep(ctx, lines, |c| {
                let c = text::code_point(c).and_then(char::from_u32);
                flat.extend(c);
                c.is_some()
            });
            assert!(all.is_ok_and(|all| all));
            assert_eq!(flat, "[{ok,\n  true},\n 7|\n false]");
        });
    }

    /// Nesting that is allowed fits on half of a thread's stack, in the slowest build too; what is deeper is declined.
    #[test]
    fn deep_terms_take_little_stack() {
        let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(|| {
            in_process(|ctx| {
                for (line_length, levels, fits) in [(80, DEEPEST, true), (0, DEEPEST, true), (80, DEEPEST + 1, false)] {
                    for kind in 0..4 {
                        let mut term = Term::OK;
                        for _ in 0..levels {
                            term = match kind {
                                0 => ctx.list(&[term]),
                                1 => ctx.list_onto(&[Term::OK], term),
                                2 => ctx.tuple(&[Term::OK, term]),
                                _ => myriad_term::map::from_pairs(ctx, &[(Term::OK, term)]),
                            };
                        }
                        // A long list is not deep.
                        let result = printed(ctx, term, &Options { line_length, ..OPTIONS });
                        assert_eq!(result.is_some(), fits || kind == 1);
                    }
                }
            });
        });
        assert!(thread.expect("a thread").join().is_ok());
    }
}
