//! How functions of the interface are defined.

/// Defines functions of the interface, and lists their names.
#[macro_export]
macro_rules! exports {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block)*) => {
        $(
            $(#[$doc])*
            // SAFETY: the name is the interface's, which nothing else in the program has.
            #[unsafe(no_mangle)]
            pub extern "C" fn $name($($argument: $type),*) $(-> $result)? $body
        )*
        pub(super) const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

/// As [`exports!`], of functions whose arguments are checked if libraries are ([`crate::check`]).
macro_rules! checked_exports {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block)*) => {
        $crate::define::exports! {
            $(
                $(#[$doc])*
                fn $name($($argument: <$type as $crate::argument::Argument>::Raw),*) $(-> $result)? {
                    use $crate::argument::Answer;
                    use $crate::check::Call;
                    #[inline]
                    fn run($($argument: $type),*) $(-> $result)? $body
                    if !$crate::check::is_on() {
                        // SAFETY: ABI1.
                        $(let $argument = unsafe { <$type as $crate::argument::Argument>::of($argument) };)*
                        return run($($argument),*);
                    }
                    #[allow(unused_mut, reason = "some functions have no arguments")]
                    let mut call = Call::new(stringify!($name));
                    $(<$type as $crate::argument::Argument>::note($argument, stringify!($argument), &mut call);)*
                    $(<$type as $crate::argument::Argument>::check($argument, stringify!($argument), &mut call);)*
                    call.begin();
                    let answer = {
                        // SAFETY: ABI1, so much of it as has been looked at.
                        $(let $argument = unsafe { <$type as $crate::argument::Argument>::of($argument) };)*
                        run($($argument),*)
                    };
                    let call = Call::end();
                    if Answer::has_results(&answer) {
                        $(<$type as $crate::argument::Argument>::settle($argument, &call);)*
                    }
                    answer.given(&call)
                }
            )*
        }
    };
}
pub(crate) use checked_exports;
pub(crate) use exports;
