//! Intrinsics: functions of OTP's Erlang libraries that the VM can run without their Erlang code.
//!
//! A *native intrinsic* is a function of the VM, tried at the entry of the Erlang function. It gives the result, or it
//! *declines* ([`Escape::Decline`](crate::bif::Escape::Decline)), and the Erlang code behind it runs as if nothing had been tried. A *loop intrinsic* is a
//! function whose shape the engine knows ([`Loop`]): the engine decodes instructions of its own for it, which run one iteration at
//! a time, between one return of the fun and its next call.
//!
//! An upper crate states its intrinsics in one table, made by [`intrinsics!`](crate::intrinsics!) and handed over by
//! [`Subsystem::intrinsics`](crate::subsystem::Subsystem::intrinsics). Rules for every row:
//!
//! - Results, errors, the order of calls of funs, and for loops also frames, lines and reductions, must be those of the Erlang code. What an
//!   intrinsic cannot do so, it must decline, before anything can be observed.
//! - An intrinsic runs only for the module of the release's own stdlib, or its preloaded one, by MD5 ([`Registry::runs_intrinsics`]): a patched
//!   module, or one that `cover` has compiled, runs its Erlang code. It is decided when the module is loaded.
//! - While any function of the module has a breakpoint (a trace pattern with `local`, `call_count` or `call_time`, whichever process
//!   is traced), all processes run the module's Erlang code, a loop from its next iteration on ([`Module::is_traced`]).
//! - Nothing else turns an intrinsic off. A trace pattern for exported calls shows the call of the function itself; calls that its
//!   Erlang code would make to exported functions of other modules are not made, so neither that pattern nor `save_calls` shows them.
//! - An intrinsic is no built-in: `erlang:is_builtin/3`, `myriad compat` and `module_info` do not know it.
//!
//! [`Module::is_traced`]: crate::code::Module::is_traced
//! [`Registry::runs_intrinsics`]: crate::bif::Registry::runs_intrinsics

/// What a loop intrinsic does with its fun `F` and the rest of what it goes through, in the order of its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loop {
    /// `(F, List)`: calls `F(Head)` for what it does; `ok` at the end.
    Each,
    /// `(F, Acc, List)`: the next step is `F(Head, Acc)`; `Acc` at the end.
    Fold,
    /// `(F, List)`: a list of what `F(Head)` gives, with a frame for each element until the end, as a recursion has.
    Map,
    /// `(F, Acc, {K, V, Iterator})`: the next step is `F(K, V, Acc)`, then what `next/1` of the module makes of the iterator; `Acc`
    /// where that is `none`.
    FoldPairs,
    /// `(Text)`, the step of a loop over characters: the text itself if it is a list that begins with a character.
    Char,
    /// `(Text)`, such a step too: the text itself if it is a list that begins with a character that is plainly a cluster.
    Cluster,
}

impl Loop {
    /// Arguments of the function.
    pub const fn arity(self) -> u8 {
        match self {
            Loop::Char | Loop::Cluster => 1,
            Loop::Each | Loop::Map => 2,
            Loop::Fold | Loop::FoldPairs => 3,
        }
    }

    /// Arguments of its fun.
    pub const fn fun_arity(self) -> u8 {
        match self {
            Loop::Char | Loop::Cluster => 0,
            Loop::Each | Loop::Map => 1,
            Loop::Fold => 2,
            Loop::FoldPairs => 3,
        }
    }
}

/// States intrinsics, by module. A function may have a loop and a native intrinsic, which is tried where the loop's instruction does not fit.
///
/// ```ignore
/// intrinsics! { pub INTRINSICS {
///     "lists" {
///         "foreach_1" / 2 until 29 => Loop(Loop::Each);
///         "flatten" / 1 => Native(flatten);
///     }
/// }}
/// ```
#[macro_export]
macro_rules! intrinsics {
    ($vis:vis $table:ident {
        $($module:literal {
            $($name:literal / $arity:literal $(until $until:literal)? => $body:ident($what:expr);)*
        })*
    }) => {
        /// All intrinsics of this crate.
        $vis static $table: &[$crate::bif::IntrinsicDef] = &[$($(
            $crate::bif::IntrinsicDef {
                module: $module,
                function: $name,
                arity: $arity,
                until: $crate::bifs!(@or $($until)?; 65535),
                body: $crate::intrinsics!(@$body $module, $name, $arity, $what),
            }
        ),*),*];
    };
    (@Native $module:literal, $name:literal, $arity:literal, $function:expr) => {
        $crate::bif::Body::Native($crate::bif::BifDef {
            module: $module,
            function: $name,
            arity: $arity,
            kind: $crate::bif::BifKind::Plain,
            since: 0,
            until: 65535,
            function_ptr: $function,
            foreign: None,
        })
    };
    (@Loop $module:literal, $name:literal, $arity:literal, $shape:expr) => {{
        assert!($shape.arity() == $arity);
        $crate::bif::Body::Loop($shape)
    }};
}
