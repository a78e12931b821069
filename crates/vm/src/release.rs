//! The release profile: all in which OTP releases differ, as far as Myriad is concerned.
//!
//! Found once, at start, from the OTP root that `-root` names. Code asks the profile by the name of the difference and never
//! compares release numbers (docs/design.md, section 11); a new release is a new row of [`PROFILES`].

use myriad_beam::BeamFile;
use myriad_term::Atom;
use std::fs;
use std::ops::{Deref, RangeInclusive};
use std::path::{Path, PathBuf};

/// How one OTP release differs from others.
#[derive(Debug)]
pub struct Profile {
    /// The release's number.
    pub otp: u16,
    /// Does Myriad run it?
    pub supported: bool,
    /// `0.0 =:= -0.0` is false: the two are different keys and patterns.
    pub exact_zeros: bool,
    /// Most 64-bit words of an integer.
    pub integer_words: usize,
    /// How many processes there may be if the command line does not say.
    pub process_limit: usize,
    /// How many ports there may be if the command line does not say.
    pub port_limit: usize,
    /// `erlang:system_info(time_warp_mode)` if the command line does not say.
    pub time_warp_mode: &'static str,
    /// `term_to_binary/1` writes atoms in UTF-8 (tags 118, 119) also where Latin-1 would do (tag 100).
    pub utf8_atoms: bool,
    /// `max_heap_size` maps have `include_shared_binaries`, and processes the flag `async_dist` (since 26, 25.3).
    pub newer_process_flags: bool,
    /// `fun_info(Fun, pid)` is always the first process.
    pub fun_pid_is_init: bool,
    /// `erlang:system_info(nif_version)`.
    pub nif_version: &'static str,
    /// Terminals are driven by the port driver `tty_sl`, not by the NIF module `prim_tty`.
    pub tty_driver: bool,
    /// `user` and `standard_error` are ports on file descriptors: `user` on 0 and 1, `standard_error` on 2.
    pub user_fd_port: bool,
    /// As above, for `standard_error`.
    pub error_fd_port: bool,
    /// Standard input and output are Unicode without a terminal, too.
    pub unicode_stdio: bool,
    /// `open_port/2` takes a plain name of a driver's file.
    pub vanilla_driver: bool,
    /// A default tuple too short for its key is refused even if the key is there.
    pub strict_ets_defaults: bool,
    /// An heir without data gets no `ETS-TRANSFER` message.
    pub silent_heirs: bool,
    /// All bit strings have one form, which `erts_debug:flat_size/1` shows.
    pub one_bitstring_form: bool,
    /// `list_to_integer/1` of a text beyond the limit of integers: `system_limit`.
    pub limited_integer_text: bool,
    /// A compiled regular expression holds a reference.
    pub regex_references: bool,
    /// Flags of the distribution protocol that are offered.
    pub dist_flags: u64,
    /// Flags of the distribution protocol that a peer must offer.
    pub dist_mandatory: u64,
}

/// The releases known.
static PROFILES: &[Profile] = &[
    Profile {
        otp: 25,
        supported: true,
        exact_zeros: false,
        integer_words: (1 << 19) - 1,
        process_limit: 1 << 18,
        port_limit: 1 << 16,
        time_warp_mode: "no_time_warp",
        utf8_atoms: false,
        newer_process_flags: false,
        fun_pid_is_init: false,
        nif_version: "2.16",
        tty_driver: true,
        user_fd_port: true,
        error_fd_port: true,
        unicode_stdio: false,
        vanilla_driver: true,
        strict_ets_defaults: false,
        silent_heirs: false,
        one_bitstring_form: false,
        limited_integer_text: false,
        regex_references: false,
        dist_flags: 0xD_07DF_7FBC,
        dist_mandatory: 0x107_0F94,
    },
    Profile {
        otp: 27,
        supported: false,
        exact_zeros: true,
        integer_words: (1 << 16) - 1,
        process_limit: 1 << 20,
        port_limit: 1 << 16,
        time_warp_mode: "multi_time_warp",
        utf8_atoms: true,
        newer_process_flags: true,
        fun_pid_is_init: true,
        nif_version: "2.17",
        tty_driver: false,
        user_fd_port: false,
        error_fd_port: true,
        unicode_stdio: true,
        vanilla_driver: false,
        strict_ets_defaults: false,
        silent_heirs: false,
        one_bitstring_form: true,
        limited_integer_text: true,
        regex_references: false,
        dist_flags: 0xD_07DF_7FBC,
        dist_mandatory: 0x4_0307_0F94,
    },
    Profile {
        otp: 29,
        supported: false,
        exact_zeros: true,
        integer_words: (1 << 16) - 1,
        process_limit: 1 << 20,
        port_limit: 1 << 16,
        time_warp_mode: "multi_time_warp",
        utf8_atoms: true,
        newer_process_flags: true,
        fun_pid_is_init: true,
        nif_version: "2.18",
        tty_driver: false,
        user_fd_port: false,
        error_fd_port: false,
        unicode_stdio: true,
        vanilla_driver: false,
        strict_ets_defaults: true,
        silent_heirs: true,
        one_bitstring_form: true,
        limited_integer_text: true,
        regex_references: true,
        dist_flags: 0x6D_07DF_7FBC,
        dist_mandatory: 0x4_0307_0F94,
    },
];

/// The release that runs.
#[derive(Clone, Debug)]
pub struct Release {
    profile: &'static Profile,
    /// `erlang:system_info(version)`: of the run-time system, as the root names it.
    pub erts_version: String,
    /// The full version, if the root says it: `25.2.3`.
    pub otp_version: String,
    /// The OTP root.
    pub root: PathBuf,
    /// The files of the preloaded modules, by name.
    pub preloaded: Vec<PathBuf>,
    /// The directory of stdlib's modules: the newest, where patches have left several.
    stdlib: Option<PathBuf>,
}

impl Deref for Release {
    type Target = Profile;

    fn deref(&self) -> &Profile {
        self.profile
    }
}

impl Release {
    /// Finds out which release is at this root. The error is one line for the user.
    pub fn find(root: &Path) -> Result<Release, String> {
        let (erts_version, otp) = start_erl(root)
            .or_else(|| from_directories(root))
            .ok_or_else(|| format!("{}: no OTP release here (releases/start_erl.data is missing)", root.display()))?;
        let profile = profile(&otp)?;
        let ebin = root.join("lib").join(format!("erts-{erts_version}")).join("ebin");
        let preloaded = beam_files(&ebin)
            .ok_or_else(|| format!("{}: cannot read the directory of the preloaded modules", ebin.display()))?;
        if preloaded.is_empty() {
            return Err(format!("{}: no preloaded modules here", ebin.display()));
        }
        let otp_version = fs::read_to_string(root.join("releases").join(&otp).join("OTP_VERSION"));
        let otp_version = otp_version.map_or(otp, |text| text.trim().to_owned());
        let stdlib = newest(root, "stdlib").map(|name| root.join("lib").join(name).join("ebin"));
        Ok(Release { profile, erts_version, otp_version, root: root.to_owned(), preloaded, stdlib })
    }

    /// Is it one of these? For the rows of tables that name the releases which have what they state.
    pub fn is_within(&self, releases: RangeInclusive<u16>) -> bool {
        releases.contains(&self.otp)
    }

    /// Is a module of this name and MD5 a preloaded one of the release, or one of its stdlib? It reads the file of that name there, and no
    /// other.
    pub fn ships(&self, module: Atom, md5: [u8; 16]) -> bool {
        let name = format!("{}.beam", module.text());
        let preloaded = self.preloaded.iter().find(|file| file.ends_with(&name)).cloned();
        let Some(file) = preloaded.or_else(|| Some(self.stdlib.as_ref()?.join(name))) else { return false };
        let Ok(bytes) = fs::read(file) else { return false };
        BeamFile::parse(&bytes).is_ok_and(|beam| myriad_beam::md5(&beam) == md5)
    }

    /// A profile without files, for tests; nothing for a release that is not known.
    pub fn without_root(otp: u16) -> Option<Release> {
        let profile = PROFILES.iter().find(|p| p.otp == otp)?;
        Some(Release {
            profile,
            erts_version: String::new(),
            otp_version: otp.to_string(),
            root: PathBuf::new(),
            preloaded: Vec::new(),
            stdlib: None,
        })
    }
}

fn profile(otp: &str) -> Result<&'static Profile, String> {
    let known = otp.parse().ok().and_then(|number: u16| PROFILES.iter().find(|p| p.otp == number));
    match known {
        Some(profile) if profile.supported => Ok(profile),
        _ => {
            let run: Vec<String> = PROFILES.iter().filter(|p| p.supported).map(|p| p.otp.to_string()).collect();
            Err(format!("OTP {otp} is not supported yet (supported: {})", run.join(", ")))
        }
    }
}

/// `releases/start_erl.data`: the run-time system's version and the release.
fn start_erl(root: &Path) -> Option<(String, String)> {
    let text = fs::read_to_string(root.join("releases/start_erl.data")).ok()?;
    let mut words = text.split_whitespace();
    Some((words.next()?.to_owned(), words.next()?.to_owned()))
}

/// From the names of `lib/erts-*` and `releases/*`, where there is no `start_erl.data`.
fn from_directories(root: &Path) -> Option<(String, String)> {
    let erts = newest(root, "erts")?;
    let otp = names_in(&root.join("releases")).iter().filter_map(|name| name.parse::<u16>().ok()).max()?;
    Some((erts.strip_prefix("erts-")?.to_owned(), otp.to_string()))
}

/// The directory in `lib` of the newest version of an application.
fn newest(root: &Path, application: &str) -> Option<String> {
    let version = |name: &str| {
        let version = name.strip_prefix(application)?.strip_prefix('-')?;
        Some(version.split('.').map(|n| n.parse().unwrap_or(0)).collect::<Vec<u32>>())
    };
    let versions = names_in(&root.join("lib")).into_iter().filter_map(|name| Some((version(&name)?, name)));
    versions.max().map(|(_, name)| name)
}

/// What is in a directory; nothing if it cannot be read.
fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
}

fn beam_files(dir: &Path) -> Option<Vec<PathBuf>> {
    let entries = fs::read_dir(dir).ok()?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "beam"));
    files.sort_unstable();
    Some(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_installed_release_is_found() {
        let root = Path::new("/usr/lib/erlang");
        if !root.join("releases/start_erl.data").exists() {
            return;
        }
        let release = Release::find(root).unwrap();
        assert_eq!(release.otp, 25);
        assert_eq!(release.erts_version, "13.1.5");
        assert_eq!(release.otp_version, "25.2.3");
        assert_eq!(release.preloaded.len(), 21);
        assert_eq!(from_directories(root), start_erl(root));
    }

    #[test]
    fn a_release_knows_its_modules() {
        let Ok(release) = Release::find(Path::new("/usr/lib/erlang")) else { return };
        let bytes = fs::read(release.stdlib.as_ref().unwrap().join("lists.beam")).unwrap();
        let md5 = myriad_beam::md5(&BeamFile::parse(&bytes).unwrap());
        let [lists, maps] = ["lists", "maps"].map(|name| Atom::new(name).unwrap());
        assert!(release.ships(lists, md5));
        assert!(!release.ships(lists, [0; 16]));
        assert!(!release.ships(maps, md5));
        assert!(!Release::without_root(25).unwrap().ships(lists, md5));
    }

    #[test]
    fn what_is_not_supported_is_said_in_one_line() {
        let dir = std::env::temp_dir().join(format!("myriad-release-{}", std::process::id()));
        fs::create_dir_all(dir.join("releases")).unwrap();
        fs::write(dir.join("releases/start_erl.data"), "17.1 29\n").unwrap();
        let error = Release::find(&dir).unwrap_err();
        assert_eq!(error, "OTP 29 is not supported yet (supported: 25)");
        fs::write(dir.join("releases/start_erl.data"), "").unwrap();
        assert!(Release::find(&dir).unwrap_err().contains("no OTP release here"));
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn rows_ascend() {
        assert!(PROFILES.windows(2).all(|w| w[0].otp < w[1].otp));
    }
}
