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
pub(crate) use exports;
