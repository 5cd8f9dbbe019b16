//! Any bytes through the whole compiler: it must come back, with findings or a machine that
//! can be checked and emitted, and the findings must be printable.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nest_machine::{Feature, Overrides};
use nest_syntax::Loader;

/// Includes are other inputs' business, but one file includes itself.
struct Nothing;

impl Loader for Nothing {
    fn load(&mut self, _from: &str, path: &str) -> Result<(String, String), String> {
        match path {
            "self.nest" => Ok((path.into(), "%include \"self.nest\"\nA a\n%%\nA { ; }\n".into())),
            _ => Err(format!("cannot read {path}: no such file or directory")),
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let compiled =
        nest_machine::compile("fuzz.nest", &text, &mut Nothing, &Overrides::default());
    let _ = nest_diag::render_text(&compiled.sources, &compiled.diagnostics, false);
    let _ = nest_diag::render_json(&compiled.sources, &compiled.diagnostics);
    let failed = compiled.diagnostics.iter().any(nest_diag::Diagnostic::is_error);
    assert_eq!(failed, compiled.machine.is_none(), "an error and a machine, or neither");
    if let Some(mut machine) = compiled.machine {
        let _ = nest_check::check(&machine);
        machine.features.insert(Feature::Branches);
        assert!(!nest_emit::emit(&machine).is_empty());
    }
});
