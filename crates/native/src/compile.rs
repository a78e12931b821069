//! The one way into the back ends.

use crate::code::{Code, Options, Refused, operations};
use crate::form::Form;

/// Most blocks of a form, and most points: with so many points compiling takes a second.
pub const MOST_BLOCKS: usize = 20_000;

/// Most blocks of a form that is optimised; a larger one is compiled plainly. Cranelift's optimiser takes a time that goes with the depth of the
/// tree of dominators: 0.1 s for 500 clauses tried in turn (1,000 blocks), 0.7 for 2,000, 5.6 for 8,000, where the plain way takes 0.02, 0.07 and 0.3.
pub const MOST_OPTIMISED_BLOCKS: usize = 1_500;

/// Most operations of a form: at 100,000 a second a thread is busy with it for half a second, with some 100 MB.
pub const MOST_OPERATIONS: usize = 60_000;

/// Most variables of a form: joins have a parameter for each.
pub const MOST_VARIABLES: usize = 512;

/// Refuses forms whose compiling could take too long, or too much memory.
fn check_size(form: &Form) -> Result<(), Refused> {
    let operations = operations(form);
    let sizes = [
        ("blocks", form.blocks.len(), MOST_BLOCKS),
        ("points", form.points.len(), MOST_BLOCKS),
        ("operations", operations, MOST_OPERATIONS),
        ("variables", form.variables.len(), MOST_VARIABLES),
    ];
    match sizes.into_iter().find(|(_, found, most)| found > most) {
        Some((what, found, most)) => Err(Refused::TooLarge { what, found, most }),
        None => Ok(()),
    }
}

/// Code for this machine's processor, of a form that keeps native/F1 to F3.
pub fn compile(form: &Form, options: &Options) -> Result<Code, Refused> {
    check_size(form)?;
    form.verify().map_err(Refused::Form)?;
    let optimise = options.optimise && form.blocks.len() <= MOST_OPTIMISED_BLOCKS;
    let options = Options { optimise, ..*options };
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    return crate::x64::compile(form, &options);
    #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
    {
        let _ = options;
        Err(Refused::Processor)
    }
}

/// The processor's abilities that code relies on: code for one number may not run on a machine with another.
pub fn features() -> u32 {
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    return crate::x64::features();
    #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
    0
}
