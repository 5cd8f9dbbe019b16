//! Any bytes as a profile for `nest bench`: it is read, and then messages are drawn from it, or refused with
//! one line that names the place. Time and memory are in proportion to the number of bytes.
#![no_main]

mod measured;
#[path = "../../crates/nest-cli/src/quoted.rs"]
mod quoted;
#[path = "../../crates/nest-cli/src/bench"]
mod bench {
    #[allow(dead_code)]
    pub mod profile;
    mod words;
}

use std::sync::LazyLock;
use std::time::Duration;

use bench::profile::Profile;
use libfuzzer_sys::fuzz_target;
use nest_bench::Random;
use nest_machine::{Machine, Overrides};
use nest_syntax::Loader;

/// Rules with parts of several kinds, with and without names.
const SPECIFICATION: &str = "NL \"\\r\"?\"\\n\"\n%%\n\
    get = \"get \" [a-z]{1,20} (\" \" [0-9]{1,4})? NL { $reply(\"a\\n\"); }\n\
    set = \"set \" [^ \\n]{1,30} \" \" [0-9]{1,10} \" \" [^\\n]* NL { $reply(\"b\\n\"); }\n\
    (\"x\"|\"yy\")* NL { $reply(\"c\\n\"); }\n";
/// What any input may need, and what each byte may add.
const TIME: Duration = Duration::from_millis(500);
const TIME_PER_BYTE: Duration = Duration::from_millis(5);
const MEMORY: usize = 16 << 20;
const MEMORY_PER_BYTE: usize = 4 << 10;
/// The longest message: a word of the file is part of it.
const MESSAGE: usize = 4096;
/// How often messages are drawn.
const DRAWS: usize = 8;

struct Nothing;

impl Loader for Nothing {
    fn load(&mut self, _from: &str, path: &str) -> Result<(String, String), String> {
        Err(format!("cannot read {path}"))
    }
}

static MACHINE: LazyLock<Machine> = LazyLock::new(|| {
    let compiled =
        nest_machine::compile("a.nest", SPECIFICATION, &mut Nothing, &Overrides::default());
    compiled.machine.expect("it is right")
});

fn play(bytes: &[u8]) -> Option<String> {
    let m = &*MACHINE;
    let profile = match Profile::read(m, "p", bytes) {
        Ok(profile) => profile,
        Err(why) => return Some(why),
    };
    let mut random = Random(1);
    for rule in 0..m.rules.len() {
        assert!(profile.weight(rule) <= 1000 && profile.think(rule, &mut random) <= 5000);
        for _ in 0..if profile.has_parts(rule) { DRAWS } else { 0 } {
            let _ = profile.message(m, rule, &mut random);
        }
    }
    let (slow, hostile) = profile.crowd(10_000);
    assert!(slow.max(hostile) <= 10_000 && (1..=65_536).contains(&profile.sources()));
    None
}

fuzz_target!(|bytes: &[u8]| {
    let _ = MACHINE.rules.len();
    let mut refused = None;
    let (time, memory) = measured::of(bytes.len(), || refused = play(bytes));
    let may = TIME + TIME_PER_BYTE * bytes.len() as u32;
    assert!(time <= may, "{} bytes took {time:?} of the processor, not {may:?}", bytes.len());
    let may = MEMORY + MEMORY_PER_BYTE * bytes.len();
    assert!(memory <= may, "{} bytes took {memory} bytes of memory, not {may}", bytes.len());
    if let Some(why) = refused {
        assert!(why.starts_with('p') && why.len() < MESSAGE, "{why}");
        assert!(!why.contains(char::is_control), "{why:?}");
    }
});
