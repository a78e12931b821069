//! The programs of the experiment, with the counts that the paper has of them.

/// A program with its arguments.
pub struct Program {
    /// As the tables call it.
    pub name: &'static str,
    /// Its module in `examples/` or `bench/heaps/`.
    module: &'static str,
    numbers: &'static str,
    quick: &'static str,
    /// How often it runs for one figure, so that this is no moment.
    pub times: u32,
    /// The figure of the paper that it stands in.
    pub figure: Figure,
    /// Is it measured without `--all`?
    usual: bool,
    /// The processes and messages of the paper's table 1.
    pub paper: Option<(u32, u32)>,
}

/// A figure of the paper: its number and what stands in it.
pub type Figure = (u32, &'static str);

/// The figures with bars.
pub const FIGURES: [Figure; 5] = [PROCS, REAL, KEEPLIVE, GARBAGE, SENDSAME];
const PROCS: Figure = (7, "procs");
const REAL: Figure = (8, "other programs");
const KEEPLIVE: Figure = (10, "keeplive");
const GARBAGE: Figure = (11, "garbage");
const SENDSAME: Figure = (12, "sendsame");

impl Program {
    /// Its module and arguments; small ones if it need only be seen to run.
    pub fn words(&self, quick: bool) -> Vec<&'static str> {
        std::iter::once(self.module).chain(if quick { self.quick } else { self.numbers }.split(' ')).collect()
    }
}

/// All programs of tables 1 and 2 and of figures 7 to 12, or a part of them that is through in some minutes.
pub fn all(all: bool) -> impl Iterator<Item = &'static Program> {
    PROGRAMS.iter().filter(move |program| all || program.usual)
}

/// Those of which initial sizes are measured.
pub fn initial() -> impl Iterator<Item = &'static Program> {
    let names = ["procs 100x1000", "compiler", "keeplive 250x1000x20", "sendsame 250x1000x20"];
    PROGRAMS.iter().filter(move |program| names.contains(&program.name))
}

macro_rules! programs {
    ($($name:literal $module:literal $numbers:literal $quick:literal $times:literal $figure:ident $usual:literal $paper:expr;)*) => {
        const PROGRAMS: &[Program] = &[$(Program {
            name: $name, module: $module, numbers: $numbers, quick: $quick, times: $times, figure: $figure, usual: $usual, paper: $paper,
        },)*];
    };
}

// Name, module, arguments, small ones, times, figure, measured without --all, processes and messages in the paper.
programs! {
    "procs 100x100" "heaps_procs" "100 100" "10 10" 20 PROCS true Some((100, 6_262));
    "procs 1000x100" "heaps_procs" "1000 100" "20 10" 1 PROCS true Some((1_000, 512_512));
    "procs 100x1000" "heaps_procs" "100 1000" "10 100" 10 PROCS true Some((100, 6_262));
    "procs 1000x1000" "heaps_procs" "1000 1000" "20 100" 1 PROCS true Some((1_000, 512_512));
    "ring" "ring" "100 99999" "10 999" 5 REAL true Some((100, 100_000));
    "life" "life" "10 1000" "4 20" 1 REAL true Some((100, 800_396));
    "eddie" "heaps_eddie" "1060" "20" 5 REAL true Some((2, 2_121));
    "compiler" "heaps_compiler" "98 9" "2 1" 1 REAL true Some((6, 2_481));
    "NETSim TMOS" "heaps_netsim" "4066 58853 20 100" "60 900 4 5" 1 REAL true Some((4_066, 58_853));
    "NETSim coordinator" "heaps_netsim" "591 202730 20 100" "15 701 4 5" 1 REAL true Some((591, 202_730));
    "NETSim alarm server" "heaps_netsim" "12353 288675 20 100" "80 900 4 5" 1 REAL true Some((12_353, 288_675));
    "keeplive 100x100x10" "keeplive" "100 100 10" "5 10 3" 20 KEEPLIVE false None;
    "keeplive 100x100x20" "keeplive" "100 100 20" "5 10 3" 10 KEEPLIVE false None;
    "keeplive 100x1000x10" "keeplive" "100 1000 10" "5 10 3" 5 KEEPLIVE true None;
    "keeplive 100x1000x20" "keeplive" "100 1000 20" "5 10 3" 2 KEEPLIVE false None;
    "keeplive 250x100x10" "keeplive" "250 100 10" "5 10 3" 10 KEEPLIVE false None;
    "keeplive 250x100x20" "keeplive" "250 100 20" "5 10 3" 5 KEEPLIVE false None;
    "keeplive 250x1000x10" "keeplive" "250 1000 10" "5 10 3" 2 KEEPLIVE false None;
    "keeplive 250x1000x20" "keeplive" "250 1000 20" "5 10 3" 1 KEEPLIVE true None;
    "garbage 100x100x10" "garbage" "100 100 10" "5 10 3" 20 GARBAGE false None;
    "garbage 100x100x20" "garbage" "100 100 20" "5 10 3" 10 GARBAGE false None;
    "garbage 100x1000x10" "garbage" "100 1000 10" "5 10 3" 10 GARBAGE true None;
    "garbage 100x1000x20" "garbage" "100 1000 20" "5 10 3" 5 GARBAGE false None;
    "garbage 250x100x10" "garbage" "250 100 10" "5 10 3" 10 GARBAGE false None;
    "garbage 250x100x20" "garbage" "250 100 20" "5 10 3" 5 GARBAGE false None;
    "garbage 250x1000x10" "garbage" "250 1000 10" "5 10 3" 5 GARBAGE false None;
    "garbage 250x1000x20" "garbage" "250 1000 20" "5 10 3" 2 GARBAGE true None;
    "sendsame 100x100x10" "sendsame" "100 100 10" "5 10 3" 20 SENDSAME false None;
    "sendsame 100x100x20" "sendsame" "100 100 20" "5 10 3" 20 SENDSAME false None;
    "sendsame 100x1000x10" "sendsame" "100 1000 10" "5 10 3" 10 SENDSAME true None;
    "sendsame 100x1000x20" "sendsame" "100 1000 20" "5 10 3" 10 SENDSAME false None;
    "sendsame 250x100x10" "sendsame" "250 100 10" "5 10 3" 20 SENDSAME false None;
    "sendsame 250x100x20" "sendsame" "250 100 20" "5 10 3" 10 SENDSAME false None;
    "sendsame 250x1000x10" "sendsame" "250 1000 10" "5 10 3" 5 SENDSAME false None;
    "sendsame 250x1000x20" "sendsame" "250 1000 20" "5 10 3" 5 SENDSAME true None;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_stands_in_a_figure_and_has_arguments() {
        for program in PROGRAMS {
            assert!(FIGURES.contains(&program.figure));
            assert!(program.times > 0);
            for quick in [false, true] {
                assert!(
                    program.words(quick)[1..].iter().all(|number| number.parse::<u32>().is_ok()),
                    "{}",
                    program.name
                );
            }
            assert_eq!(PROGRAMS.iter().filter(|other| other.name == program.name).count(), 1);
        }
        for figure in [KEEPLIVE, GARBAGE, SENDSAME] {
            assert_eq!(PROGRAMS.iter().filter(|program| program.figure == figure).count(), 8);
        }
        assert_eq!((initial().count(), all(true).count() > all(false).count()), (4, true));
    }
}
