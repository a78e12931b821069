//! Error numbers of the operating system as the atoms that Erlang programs match on.

use myriad_term::{Atom, Build, Term, am};
use myriad_vm::{BifResult, Ctx};
use rustix::io::Errno;

macro_rules! names {
    ($($code:ident $text:literal)*) => {
        const NAMES: &[(i32, &str)] = &[$((libc::$code, $text)),*];
    };
}

names! {
    EPERM "eperm" ENOENT "enoent" ESRCH "esrch" EINTR "eintr" EIO "eio" ENXIO "enxio" E2BIG "e2big" ENOEXEC "enoexec"
    EBADF "ebadf" ECHILD "echild" EAGAIN "eagain" ENOMEM "enomem" EACCES "eacces" EFAULT "efault" ENOTBLK "enotblk"
    EBUSY "ebusy" EEXIST "eexist" EXDEV "exdev" ENODEV "enodev" ENOTDIR "enotdir" EISDIR "eisdir" EINVAL "einval"
    ENFILE "enfile" EMFILE "emfile" ENOTTY "enotty" ETXTBSY "etxtbsy" EFBIG "efbig" ENOSPC "enospc" ESPIPE "espipe"
    EROFS "erofs" EMLINK "emlink" EPIPE "epipe" EDOM "edom" ERANGE "erange" EDEADLK "edeadlk"
    ENAMETOOLONG "enametoolong" ENOLCK "enolck" ENOSYS "enosys" ENOTEMPTY "enotempty" ELOOP "eloop" ENOMSG "enomsg"
    EIDRM "eidrm" ENOSTR "enostr" ENODATA "enodata" ETIME "etime" ENOSR "enosr" EREMOTE "eremote" ENOLINK "enolink"
    EPROTO "eproto" EMULTIHOP "emultihop" EBADMSG "ebadmsg" EOVERFLOW "eoverflow" EILSEQ "eilseq" EUSERS "eusers"
    ENOTSOCK "enotsock" EDESTADDRREQ "edestaddrreq" EMSGSIZE "emsgsize" EPROTOTYPE "eprototype"
    ENOPROTOOPT "enoprotoopt" EPROTONOSUPPORT "eprotonosupport" ESOCKTNOSUPPORT "esocktnosupport"
    ENOTSUP "enotsup" EPFNOSUPPORT "epfnosupport" EAFNOSUPPORT "eafnosupport" EADDRINUSE "eaddrinuse"
    EADDRNOTAVAIL "eaddrnotavail" ENETDOWN "enetdown" ENETUNREACH "enetunreach" ENETRESET "enetreset"
    ECONNABORTED "econnaborted" ECONNRESET "econnreset" ENOBUFS "enobufs" EISCONN "eisconn" ENOTCONN "enotconn"
    ESHUTDOWN "eshutdown" ETOOMANYREFS "etoomanyrefs" ETIMEDOUT "etimedout" ECONNREFUSED "econnrefused"
    EHOSTDOWN "ehostdown" EHOSTUNREACH "ehostunreach" EALREADY "ealready" EINPROGRESS "einprogress" ESTALE "estale"
    EDQUOT "edquot" ECANCELED "ecanceled"
}

/// The text of an error number; `unknown` if OTP has no name for it.
pub fn text(errno: Errno) -> &'static str {
    let code = errno.raw_os_error();
    NAMES.iter().find(|(c, _)| *c == code).map_or("unknown", |(_, text)| text)
}

/// The atom of an error number.
pub fn atom(errno: Errno) -> Atom {
    match errno {
        Errno::NOENT => am::enoent,
        Errno::INVAL => am::einval,
        // A full atom table leaves only what is there already.
        _ => Atom::new(text(errno)).unwrap_or(am::error),
    }
}

/// `{error, Posix}`
pub fn error(ctx: &mut Ctx<'_>, errno: Errno) -> BifResult {
    let reason = atom(errno).term();
    Ok(ctx.tuple(&[Term::atom(am::error), reason]))
}

/// `ok`, or `{error, Posix}`.
pub fn unit(ctx: &mut Ctx<'_>, result: Result<(), Errno>) -> BifResult {
    match result {
        Ok(()) => Ok(Term::OK),
        Err(errno) => error(ctx, errno),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_names() {
        assert_eq!(text(Errno::NOENT), "enoent");
        assert_eq!(text(Errno::from_raw_os_error(libc::EOPNOTSUPP)), "enotsup");
        assert_eq!(text(Errno::from_raw_os_error(3999)), "unknown");
        assert_eq!(atom(Errno::ACCESS).text(), "eacces");
    }
}
