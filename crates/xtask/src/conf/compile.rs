//! Compiling suites, by the stock compiler on the stock VM.

use super::suite::Suite;
use super::world::{World, link};
use crate::{files, parallel, program};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles what is not compiled yet. What does not compile leaves no `.beam` behind; what the compiler says of a suite is in its log.
pub fn compile(world: &World, suites: &[Suite]) {
    let mut applications: Vec<&Suite> = suites.iter().collect();
    applications.sort_by_key(|suite| suite.application);
    applications.dedup_by_key(|suite| suite.application);
    parallel::each(applications, world.jobs, |suite| helpers(world, suite));
    parallel::each(suites.iter().collect(), world.jobs, |suite| {
        if !files::is_newer(&world.beam(suite), &suite.source()) {
            data(world, suite);
            code(world, suite);
        }
    });
}

/// The modules beside an application's suites.
fn helpers(world: &World, suite: &Suite) {
    let ebin = world.ebin(suite);
    let _ = files::make_folder(&ebin);
    for helper in files::ending(&suite.folder, ".erl") {
        let name = files::stem(&helper);
        let is_left_out = name.ends_with("_SUITE") || name.starts_with("re_testoutput") || name == "crypto_reference";
        if !is_left_out && !ebin.join(format!("{name}.beam")).exists() {
            let _ = program::quiet(with_headers(world, suite).arg("-W0").arg(files::name(&helper)));
        }
    }
}

/// The compiler in the folder of a suite. Headers that an installation lacks come with the sources; those that a build makes, and the
/// application's private ones, are the installation's.
fn with_headers(world: &World, suite: &Suite) -> Command {
    let ebin = world.ebin(suite);
    let mut command = world.otp.erlc(&ebin);
    let libraries = suite.folder.parent().and_then(Path::parent).unwrap_or(&suite.folder);
    command.arg("-I").arg(libraries).arg("-pa").arg(&ebin).current_dir(&suite.folder).env("ERL_LIBS", world.libs());
    for folder in private_headers(world, suite).into_iter().chain(installed(world, "public_key", "include")) {
        command.arg("-I").arg(folder);
    }
    command
}

/// The folders in which an application's own code finds its headers.
fn private_headers(world: &World, suite: &Suite) -> Vec<PathBuf> {
    let Some(source) = installed(world, suite.application, "src") else { return vec![] };
    let within = std::fs::read_dir(&source).into_iter().flatten().flatten().map(|entry| entry.path());
    let folders = within.filter(|path| path.is_dir()).collect::<Vec<_>>();
    [source].into_iter().chain(folders).collect()
}

/// A folder of an installed application.
fn installed(world: &World, application: &str, folder: &str) -> Option<PathBuf> {
    let prefix = format!("{application}-");
    let within = std::fs::read_dir(world.otp.root.join("lib")).ok()?.flatten();
    let mut found = within.filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix));
    found.next().map(|entry| entry.path().join(folder)).filter(|path| path.is_dir())
}

/// Modules that the suite's cases load, and its programs, drivers and NIFs of one C file each, which is nearly all of them.
fn data(world: &World, suite: &Suite) {
    for source in files::ending(&suite.data(), ".erl") {
        let mut compiler = world.otp.erlc(&world.ebin(suite));
        let compiler = compiler.arg("-W0").arg(source).current_dir(&suite.folder).env("ERL_LIBS", world.libs());
        let _ = program::quiet(compiler);
    }
    tests_of_threads(suite);
    for source in files::ending(&suite.data(), ".c") {
        let _ = program::quiet(&mut c_compiler(world, &source));
    }
}

/// The tests of threads that the NIF suite's Makefile makes of those of drivers, by other names of functions and types, between two texts.
fn tests_of_threads(suite: &Suite) {
    let data = suite.data();
    let (head, tail) = (files::read_if_there(&data.join("head.txt")), files::read_if_there(&data.join("tail.txt")));
    if head.is_empty() || tail.is_empty() {
        return;
    }
    for name in ["basic.c", "rwlock.c", "tsd.c"] {
        let text = files::read_if_there(&suite.folder.join("erl_drv_thread_SUITE_data").join(name));
        let text = text.replace("erl_drv_", "enif_").replace("driver_", "enif_").replace("ErlDrv", "ErlNif");
        let _ = std::fs::write(data.join(name), head.clone() + &text + &tail);
    }
}

fn c_compiler(world: &World, source: &Path) -> Command {
    let mut command = program::command("gcc");
    command.args(["-O1", "-w"]);
    let made: PathBuf = if is_program(&files::read_if_there(source)) {
        command.arg("-DHAVE_STRERROR");
        source.with_extension("")
    } else {
        command.args(["-shared", "-fPIC", "-DHAVE_ISFINITE"]).arg("-I").arg(world.otp.root.join("usr/include"));
        source.with_extension("so")
    };
    command.arg("-o").arg(made).arg(source).args(companions(source)).arg("-lm");
    command
}

/// The files that stand beside headers which a file takes in, and that it does not take in themselves.
fn companions(source: &Path) -> Vec<PathBuf> {
    let text = files::read_if_there(source);
    let taken: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("#include \"")?.strip_suffix('"')).collect();
    let of = |header: &str| header.strip_suffix(".h").map(|name| format!("{name}.c"));
    let other = |name: &String| !taken.contains(&name.as_str()) && *name != files::name(source);
    let names = taken.iter().filter_map(|header| of(header)).filter(other);
    names.map(|name| source.with_file_name(name)).filter(|path| path.exists()).collect()
}

/// Has a C file a `main`, or the macro that some have in its place?
fn is_program(text: &str) -> bool {
    text.lines().any(|line| {
        let bare = line.strip_prefix("int ").or_else(|| line.strip_prefix("void ")).unwrap_or(line);
        line.starts_with("MAIN(")
            || bare.strip_prefix("main").is_some_and(|rest| rest.trim_start_matches(' ').starts_with('('))
    })
}

/// The suite itself.
fn code(world: &World, suite: &Suite) {
    let ebin = world.ebin(suite);
    // Suites look for the sources of their helpers beside their own code, as an installed test has them.
    for source in files::ending(&suite.folder, ".erl") {
        link(&source, &ebin.join(files::name(&source)));
    }
    let mut compiler = with_headers(world, suite);
    compiler.args(["-W0", "+debug_info"]).arg(format!("{}.erl", suite.module()));
    let log = files::create(&ebin.join(format!("{}.log", suite.name)));
    if !matches!(log.and_then(|log| program::run_to(&mut compiler, log)), Ok(0)) {
        let _ = std::fs::remove_file(world.beam(suite));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_have_a_main() {
        for text in ["int main(int n)", "x\nvoid main ()\n", "main(n)", "MAIN(x)"] {
            assert!(is_program(text), "{text}");
        }
        for text in ["int mainly(int n)", "  int main()", "static int main_loop()", ""] {
            assert!(!is_program(text), "{text}");
        }
    }
}
