//! For unit tests: a machine from the text of a specification that includes nothing.
//!
//! Must not know: what is tested.

use nest_machine::{Machine, Overrides};
use nest_syntax::Loader;

struct Nothing;

impl Loader for Nothing {
    fn load(&mut self, _from: &str, path: &str) -> Result<(String, String), String> {
        Err(format!("cannot read {path}"))
    }
}

pub fn machine(text: &str) -> Machine {
    let compiled = nest_machine::compile("a.nest", text, &mut Nothing, &Overrides::default());
    compiled.machine.expect("it is right")
}
