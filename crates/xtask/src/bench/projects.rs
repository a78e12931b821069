//! Whole commands of Elixir and rebar3 in new projects.

use super::measure::{Bench, Pair};
use super::table::{Better, Tables};
use crate::files::{self, top};
use crate::program;
use crate::stop::Stop;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Measures the part `projects`.
pub fn projects(bench: &Bench, tables: &mut Tables) -> Result<(), Stop> {
    tables.begin("Projects, whole commands")?;
    if program::find("mix").is_err() || program::find("rebar3").is_err() {
        return Err(Stop::Failed("part projects wants Elixir and rebar3: tools/setup projects".to_owned()));
    }
    let folder = make(bench)?;
    let (sample, stack) = (folder.join("sample"), folder.join("stack"));
    // Compiled before by either VM: the same bytes, so what is measured is the second run of each.
    let _ = bench.in_project(&bench.erl, &sample, &["mix", "test"]);
    let _ = bench.in_project(&bench.erl, &stack, &["rebar3", "eunit"]);
    let mut row = |title: &str, folder: &Path, words: &[&str]| {
        let pair: Pair = bench.turns(&words.join(" "), |vm| bench.in_project(vm, folder, words));
        tables.row(title, "ms", Better::Less, pair)
    };
    row("mix test, new project", &sample, &["mix", "test"])?;
    row("mix compile --force, new project", &sample, &["mix", "compile", "--force"])?;
    row("rebar3 eunit", &stack, &["rebar3", "eunit"])?;
    if bench.plt {
        let words = ["dialyzer", "--build_plt", "--output_plt", "plt", "--apps", "kernel", "stdlib"];
        row("dialyzer --build_plt, kernel and stdlib", &folder, &words)?;
    }
    Ok(())
}

/// New projects, as the tools make them, with the sources that `tests/projects` has for rebar3.
fn make(bench: &Bench) -> Result<PathBuf, Stop> {
    let folder = bench.work.join("projects");
    files::make_folder(&bench.work.join("home"))?;
    files::make_folder(&folder)?;
    let rebar3 = top().join("tests/projects/rebar3");
    let mut shell = program::command("sh");
    shell.args([
        "-ec",
        "mix new sample; rebar3 new app name=stack; mkdir -p stack/test; cp \"$1/src/stack.erl\" stack/src/; \
                        cp \"$1/test/stack_passing_tests.erl\" stack/test/",
        "sh",
    ]);
    match program::quiet(at_home(shell.arg(rebar3).current_dir(&folder), bench))? {
        0 => Ok(folder),
        _ => Err(Stop::Failed("no projects".to_owned())),
    }
}

fn at_home<'a>(command: &'a mut Command, bench: &Bench) -> &'a mut Command {
    command.env("HOME", bench.work.join("home")).env("LC_ALL", "C.UTF-8")
}

impl Bench {
    /// The milliseconds of a command in a project, with the VM's folder first in `PATH`.
    fn in_project(&self, vm: &Path, project: &Path, words: &[&str]) -> Option<f64> {
        let path = program::first_in_path(vm.parent()?).ok()?;
        let mut command = self.start(words[0].as_ref());
        command.args(&words[1..]).current_dir(project).env("PATH", path);
        self.wall(at_home(&mut command, self))
    }
}
