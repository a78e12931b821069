//! Starting programs.
//!
//! By `posix_spawn`, which does not copy the page tables of a large VM; its end is noticed through a process descriptor
//! (`poll.rs`), so that nothing depends on signals. Every descriptor of the VM is closed on exec, so a program gets
//! just those that it is meant to have.

use super::options::{Settings, Target};
use super::stream::Ends;
use myriad_sync::machine::affinity::while_unbound;
use rustix::fs::{Access, AtFlags, CWD, FileType};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use std::collections::BTreeMap;
use std::ffi::{CString, OsString};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::ptr;

/// A program that was started.
pub(super) struct Started {
    /// Its process, or how it would have ended: it could not be started.
    pub(super) process: Result<u32, i32>,
    /// Our ends of its pipes.
    pub(super) ends: Ends,
}

/// Descriptors that the VM was started with are not for the programs that it starts, beside the standard three.
pub(super) fn keep_descriptors_from_programs() {
    // SAFETY: sets a flag of each open descriptor. An old kernel does not know it; then they are inherited.
    unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}

/// A pipe whose both ends have numbers above those that programs are given.
fn pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    let high = |fd: OwnedFd| if fd.as_raw_fd() >= 10 { Ok(fd) } else { rustix::io::fcntl_dupfd_cloexec(&fd, 10) };
    Ok((high(read)?, high(write)?))
}

/// The file actions of `posix_spawn`, freed when dropped.
struct Actions(libc::posix_spawn_file_actions_t);

fn code(code: libc::c_int) -> Result<(), Errno> {
    if code == 0 { Ok(()) } else { Err(Errno::from_raw_os_error(code)) }
}

impl Actions {
    fn new() -> Result<Actions, Errno> {
        let mut actions = MaybeUninit::uninit();
        // SAFETY: initialises what it is given, unless it fails.
        unsafe {
            code(libc::posix_spawn_file_actions_init(actions.as_mut_ptr()))?;
            Ok(Actions(actions.assume_init()))
        }
    }

    fn copy(&mut self, from: &OwnedFd, to: i32) -> Result<(), Errno> {
        // SAFETY: initialised; only notes the numbers.
        code(unsafe { libc::posix_spawn_file_actions_adddup2(&raw mut self.0, from.as_raw_fd(), to) })
    }

    fn change_directory(&mut self, to: &CString) -> Result<(), Errno> {
        // SAFETY: initialised; copies the name.
        code(unsafe { libc::posix_spawn_file_actions_addchdir_np(&raw mut self.0, to.as_ptr()) })
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        // SAFETY: initialised, and not destroyed before.
        unsafe { libc::posix_spawn_file_actions_destroy(&raw mut self.0) };
    }
}

/// The attributes of `posix_spawn`: a session of its own and no blocked signals.
struct Attributes(libc::posix_spawnattr_t);

impl Attributes {
    fn new() -> Result<Attributes, Errno> {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: initialises what it is given, unless it fails.
        let mut this = unsafe {
            code(libc::posix_spawnattr_init(attributes.as_mut_ptr()))?;
            Attributes(attributes.assume_init())
        };
        let mut none = MaybeUninit::uninit();
        // SAFETY: `sigemptyset` initialises the set; the attributes are initialised.
        unsafe {
            libc::sigemptyset(none.as_mut_ptr());
            code(libc::posix_spawnattr_setsigmask(&raw mut this.0, none.as_ptr()))?;
            let flags = libc::POSIX_SPAWN_SETSIGMASK | SETSID;
            code(libc::posix_spawnattr_setflags(&raw mut this.0, flags as libc::c_short))?;
        }
        Ok(this)
    }
}

/// `POSIX_SPAWN_SETSID`
const SETSID: libc::c_int = 0x80;

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: initialised, and not destroyed before.
        unsafe { libc::posix_spawnattr_destroy(&raw mut self.0) };
    }
}

/// The VM's environment with the changes that the port asks for.
fn environment(changes: &[(Vec<u8>, Option<Vec<u8>>)]) -> Vec<CString> {
    let own = myriad_vm::os_text::variables().into_iter();
    let mut all: BTreeMap<OsString, OsString> =
        own.map(|(name, value)| (OsString::from_vec(name), OsString::from_vec(value))).collect();
    for (name, value) in changes {
        let name = OsString::from_vec(name.clone());
        match value {
            Some(value) if !name.is_empty() => drop(all.insert(name, OsString::from_vec(value.clone()))),
            _ => drop(all.remove(&name)),
        }
    }
    all.into_iter()
        .filter_map(|(name, value)| c_string([name.as_bytes(), b"=", value.as_bytes()].concat()).ok())
        .collect()
}

fn c_string(bytes: Vec<u8>) -> Result<CString, Errno> {
    CString::new(bytes).map_err(|_| Errno::INVAL)
}

fn pointers(strings: &[CString]) -> Vec<*mut libc::c_char> {
    strings.iter().map(|s| s.as_ptr().cast_mut()).chain([ptr::null_mut()]).collect()
}

/// Path and arguments of what is to be run.
fn command(target: &Target, settings: &Settings) -> Result<(CString, Vec<CString>), Errno> {
    let (path, arguments) = match target {
        Target::Executable(path) => {
            let own_name = settings.arg0.clone().unwrap_or_else(|| path.clone());
            let rest = settings.arguments.clone().unwrap_or_default();
            (path.clone(), [vec![own_name], rest].concat())
        }
        Target::Spawn(line) | Target::Driver(line) => {
            let script = [b"exec ", line.as_slice()].concat();
            (b"/bin/sh".to_vec(), vec![b"sh".to_vec(), b"-c".to_vec(), script])
        }
        Target::Fd(..) | Target::File(_) => return Err(Errno::INVAL),
    };
    Ok((c_string(path)?, arguments.into_iter().map(c_string).collect::<Result<_, _>>()?))
}

/// Starts a program with pipes to it. `Err`: `open_port/2` fails so.
pub(super) fn start(target: &Target, settings: &Settings) -> Result<Started, Errno> {
    let (path, arguments) = command(target, settings)?;
    if matches!(target, Target::Executable(_)) {
        rustix::fs::stat(&path)?;
        rustix::fs::accessat(CWD, &path, Access::EXEC_OK, AtFlags::empty())?;
    }
    let to = if settings.output { Some(pipe()?) } else { None };
    let from = if settings.input { Some(pipe()?) } else { None };
    let process = run(&path, &arguments, settings, to.as_ref().map(|p| &p.0), from.as_ref().map(|p| &p.1));
    let ends = Ends { input: from.map(|p| p.0), output: to.map(|p| p.1) };
    for fd in [&ends.input, &ends.output].into_iter().flatten() {
        let flags = rustix::fs::fcntl_getfl(fd)?;
        rustix::fs::fcntl_setfl(fd, flags | rustix::fs::OFlags::NONBLOCK)?;
    }
    let process = match process {
        Ok(pid) => Ok(pid),
        Err(Errno::AGAIN | Errno::NOMEM | Errno::MFILE) => return Err(Errno::AGAIN),
        // OTP's forked child finds out, says so, and ends with the error's number.
        Err(errno) => Err(errno.raw_os_error()),
    };
    Ok(Started { process, ends })
}

fn run(
    path: &CString,
    arguments: &[CString],
    settings: &Settings,
    input: Option<&OwnedFd>,
    output: Option<&OwnedFd>,
) -> Result<u32, Errno> {
    let mut actions = Actions::new()?;
    if let Some(directory) = settings.directory.as_ref().filter(|d| !d.is_empty()) {
        let name = c_string(directory.clone())?;
        let is_directory = rustix::fs::stat(&name)
            .and_then(|s| if FileType::from_raw_mode(s.st_mode).is_dir() { Ok(()) } else { Err(Errno::NOTDIR) });
        if let Err(errno) = is_directory.and_then(|()| rustix::fs::access(&name, Access::EXEC_OK)) {
            eprintln!("spawn: Could not cd to {}\r", String::from_utf8_lossy(directory));
            return Err(errno);
        }
        actions.change_directory(&name)?;
    }
    let (in_number, out_number) = if settings.use_stdio { (0, 1) } else { (3, 4) };
    if let Some(fd) = input {
        actions.copy(fd, in_number)?;
    }
    if let Some(fd) = output {
        actions.copy(fd, out_number)?;
        if settings.stderr_to_stdout {
            actions.copy(fd, 2)?;
        }
    }
    let attributes = Attributes::new()?;
    let environment = environment(&settings.environment);
    let (argv, envp) = (pointers(arguments), pointers(&environment));
    let mut pid = 0;
    let spawn = || {
        // SAFETY: all are live, initialised, and end with a null pointer where they are lists.
        unsafe {
            libc::posix_spawn(
                &raw mut pid,
                path.as_ptr(),
                &raw const actions.0,
                &raw const attributes.0,
                argv.as_ptr(),
                envp.as_ptr(),
            )
        }
    };
    code(while_unbound(spawn))?;
    u32::try_from(pid).map_err(|_| Errno::SRCH)
}
