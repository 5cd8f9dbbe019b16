//! Stamps: what a step read when it last passed, so that it is not repeated while that is the same.
//!
//! A stamp is a digest of the step's command, the contents of its inputs, the installed tools and the
//! variables that configure them. Must not know: what a step does, how it is run.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use super::digest::{Digest, add, add_tree, read};
use super::generated::{self, Generated};
use crate::tool;

/// An input that is the built compiler itself, without what only a debugger reads: a comment of its
/// sources changes that.
pub const NEST: &str = "@nest";

/// An input that is what the compiler makes of all specifications of the project: the generated files,
/// and the commands that compile them. A step that tests servers depends on the compiler through this
/// alone.
pub const GENERATED: &str = "@generated";

/// Tools that steps use. Where there is a list of installed packages, it tells of libraries as well.
const TOOLS: &[(&str, &str)] = &[
    ("rustc", "-vV"),
    ("cargo", "-V"),
    ("cargo", "clippy -V"),
    ("cargo", "fmt --version"),
    ("gcc", "--version"),
    ("clang", "--version"),
    ("clang-format", "--version"),
    ("musl-gcc", "--version"),
    ("aarch64-linux-gnu-gcc", "--version"),
    ("ld", "--version"),
    ("make", "--version"),
    ("python3", "--version"),
    ("bash", "--version"),
    ("valgrind", "--version"),
    ("gdb", "--version"),
    ("qemu-aarch64", "--version"),
    ("strace", "--version"),
    ("uname", "-a"),
];
const PACKAGES: &str = "/var/lib/dpkg/status";

/// Found once: some tools take long to start.
static INSTALLED: OnceLock<Digest> = OnceLock::new();

/// A step as it was when it passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Of its command, inputs and tools.
    pub inputs: Digest,
    /// The seed and the share, as its variables.
    pub sample: String,
    /// When, in seconds after 1970.
    pub passed: u64,
}

impl Stamp {
    /// One of a step that passes now.
    pub fn now(inputs: Digest, sample: String) -> Self {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        Stamp {
            inputs,
            sample,
            passed: now.as_secs(),
        }
    }

    /// Reads one; none if there is none, or if another version of this program wrote it.
    pub fn read(path: &Path) -> Option<Self> {
        let text = fs::read_to_string(path).ok()?;
        let mut lines = text.lines();
        let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
        Some(Stamp {
            inputs: Digest::from_str_radix(field("inputs")?, 16).ok()?,
            sample: field("sample")?.to_owned(),
            passed: field("passed")?.parse().ok()?,
        })
    }

    /// Writes it. The step may have been the first thing that ran here.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let text = format!(
            "inputs {:016x}\nsample {}\npassed {}\n",
            self.inputs, self.sample, self.passed
        );
        let folder = path.parent().unwrap_or(path);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(path, text))
            .map_err(|e| format!("cannot write {}: {e}", path.display()))
    }

    /// How long ago it passed.
    pub fn age(&self) -> String {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        match now.as_secs().saturating_sub(self.passed) {
            s @ 0..120 => format!("{s} s ago"),
            s @ 120..7_200 => format!("{} min ago", s / 60),
            s @ 7_200..172_800 => format!("{} h ago", s / 3_600),
            s => format!("{} days ago", s / 86_400),
        }
    }
}

/// Finds digests of inputs. What is costly is found once.
pub struct Inputs {
    root: PathBuf,
    /// The compiler, if one was built.
    nest: Option<PathBuf>,
    /// Where compilers are kept, and what they make is written.
    scratch: PathBuf,
    tools: Digest,
    stripped: Mutex<Option<Result<Digest, String>>>,
    generated: Mutex<Option<Result<Digest, String>>>,
}

impl Inputs {
    pub fn new(root: PathBuf, nest: Option<PathBuf>, scratch: PathBuf) -> Self {
        Inputs {
            root,
            nest,
            scratch,
            tools: *INSTALLED.get_or_init(tools),
            stripped: Mutex::default(),
            generated: Mutex::default(),
        }
    }

    /// Of a command and what it reads: paths of files and folders from the root, `NEST`,
    /// `GENERATED`.
    pub fn digest(&self, command: &str, inputs: &[&str]) -> Result<Digest, String> {
        let mut hash = DefaultHasher::new();
        hash.write_u64(self.tools);
        add(&mut hash, command.as_bytes());
        for input in inputs {
            add(&mut hash, input.as_bytes());
            match *input {
                NEST => hash.write_u64(self.stripped()?),
                GENERATED => hash.write_u64(self.generated()?),
                path => add_tree(&mut hash, &self.root, path)?,
            }
        }
        Ok(hash.finish())
    }

    /// Of the installed tools.
    pub fn tools(&self) -> Digest {
        self.tools
    }

    /// Of the compiler, stripped.
    fn stripped(&self) -> Result<Digest, String> {
        let mut found = self.stripped.lock().unwrap_or_else(PoisonError::into_inner);
        found.get_or_insert_with(|| self.strip()).clone()
    }

    fn strip(&self) -> Result<Digest, String> {
        let (nest, copy) = (self.compiler()?, self.stripped_path());
        fs::create_dir_all(&self.scratch)
            .map_err(|e| format!("cannot make {}: {e}", self.scratch.display()))?;
        // An earlier one may be the compiler that is kept for `GENERATED`.
        generated::remove(&copy)?;
        let status = Command::new("strip")
            .args(["--remove-section=.note.gnu.build-id", "-o"])
            .args([&copy, nest])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .status();
        // What cannot be stripped counts as it is.
        if !status.is_ok_and(|status| status.success()) {
            generated::remove(&copy)?;
            fs::hard_link(nest, &copy)
                .map_err(|e| format!("cannot link {}: {e}", copy.display()))?;
        }
        let mut hash = DefaultHasher::new();
        add(&mut hash, &read(&copy)?);
        Ok(hash.finish())
    }

    /// Where the stripped compiler is.
    fn stripped_path(&self) -> PathBuf {
        self.scratch.join("stripped")
    }

    fn compiler(&self) -> Result<&Path, String> {
        let none = "nest was not built".to_owned();
        self.nest.as_deref().ok_or(none)
    }

    fn generated(&self) -> Result<Digest, String> {
        let mut found = self
            .generated
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        found
            .get_or_insert_with(|| {
                self.stripped()?;
                let (root, folder) = (&self.root, &self.scratch);
                Generated { root, folder }.digest(&self.stripped_path())
            })
            .clone()
    }
}

/// The folders of a crate and of all crates of the project that it depends on, and what cargo reads.
pub fn of_crate(root: &Path, name: &str) -> Result<Vec<String>, String> {
    let folders: BTreeMap<String, String> = tool::files(".")?
        .into_iter()
        .filter(|path| path.ends_with("Cargo.toml"))
        .filter_map(|path| {
            let text = fs::read_to_string(root.join(&path)).ok()?;
            let name = text.lines().find_map(|l| l.strip_prefix("name = \""))?;
            let folder = path.parent()?.to_str()?.to_owned();
            Some((name.trim_end_matches('"').to_owned(), folder))
        })
        .collect();
    let (mut found, mut left) = (BTreeSet::new(), vec![name.to_owned()]);
    while let Some(name) = left.pop() {
        let folder = folders
            .get(&name)
            .ok_or_else(|| format!("there is no crate {name}"))?;
        if found.insert(folder.clone()) {
            let text = fs::read_to_string(root.join(folder).join("Cargo.toml"));
            let text = text.map_err(|e| format!("{folder}/Cargo.toml: {e}"))?;
            // A dependency stands at the start of a line by its name, as in `nest-diag.workspace`.
            left.extend(
                folders
                    .keys()
                    .filter(|other| {
                        text.lines().any(|line| {
                            line.strip_prefix(other.as_str())
                                .is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
                        })
                    })
                    .cloned(),
            );
        }
    }
    let mut all: Vec<String> = found.into_iter().collect();
    all.extend(["Cargo.toml", "Cargo.lock", "tests/support"].map(str::to_owned));
    Ok(all)
}

/// Of everything installed that a step may use, and of the variables that configure compilers.
fn tools() -> Digest {
    let mut hash = DefaultHasher::new();
    for (program, arguments) in TOOLS {
        let output = Command::new(program)
            .args(arguments.split(' '))
            .stdin(Stdio::null())
            .output();
        add(&mut hash, program.as_bytes());
        add(&mut hash, &output.map(|o| o.stdout).unwrap_or_default());
    }
    add(&mut hash, &fs::read(PACKAGES).unwrap_or_default());
    for (name, value) in configuration(std::env::vars_os()) {
        add(&mut hash, name.as_encoded_bytes());
        add(&mut hash, value.as_encoded_bytes());
    }
    hash.finish()
}

/// The variables that change what compilers, cargo and tests do, sorted.
fn configuration(
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> BTreeMap<OsString, OsString> {
    const COMPILERS: &[&str] = &["CC", "CFLAGS", "CPPFLAGS", "LDFLAGS", "LDLIBS", "RUSTFLAGS"];
    const FAMILIES: &[&str] = &[
        "NEST",
        "CHECK_",
        "CARGO_PROFILE_",
        "CARGO_BUILD_",
        "ASAN_",
        "UBSAN_",
    ];
    variables
        .filter(|(name, _)| {
            let name = name.to_string_lossy();
            COMPILERS.contains(&&*name) || FAMILIES.iter().any(|family| name.starts_with(family))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of this test's own, removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("nest-{name}-{}", std::process::id()));
            fs::create_dir_all(path.join("place")).unwrap();
            Folder(path)
        }

        fn inputs(&self) -> Inputs {
            let nest = self.0.join("nest");
            Inputs::new(self.0.clone(), Some(nest), self.0.join("scratch"))
        }

        fn write(&self, name: &str, text: &str) {
            fs::write(self.0.join(name), text).unwrap();
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_digest_changes_with_what_a_step_reads_and_does() {
        let folder = Folder::new("inputs");
        folder.write("place/a", "1");
        folder.write("other", "1");
        let mut inputs = folder.inputs();
        let first = inputs.digest("run", &["place"]).unwrap();
        assert_eq!(inputs.digest("run", &["place"]).unwrap(), first);
        folder.write("other", "2");
        assert_eq!(inputs.digest("run", &["place"]).unwrap(), first);
        let mut seen = BTreeSet::from([first]);
        assert!(seen.insert(inputs.digest("run --more", &["place"]).unwrap()));
        folder.write("place/a", "2");
        assert!(seen.insert(inputs.digest("run", &["place"]).unwrap()));
        folder.write("place/b", "");
        assert!(seen.insert(inputs.digest("run", &["place"]).unwrap()));
        fs::rename(folder.0.join("place/b"), folder.0.join("place/c")).unwrap();
        assert!(seen.insert(inputs.digest("run", &["place"]).unwrap()));
        inputs.tools += 1;
        assert!(seen.insert(inputs.digest("run", &["place"]).unwrap()));
    }

    #[test]
    fn the_compiler_may_be_an_input() {
        let folder = Folder::new("compiler");
        assert!(folder.inputs().digest("run", &[NEST]).is_err());
        folder.write("nest", "one");
        let first = folder.inputs().digest("run", &[NEST]).unwrap();
        folder.write("nest", "two");
        assert_ne!(folder.inputs().digest("run", &[NEST]).unwrap(), first);
        assert!(folder.inputs().digest("run", &["absent"]).is_err());
    }

    #[test]
    fn what_only_a_debugger_reads_of_the_compiler_does_not_count() {
        let folder = Folder::new("stripped");
        let mut digests = BTreeSet::new();
        for (text, flag, new) in [("1", "-g", true), ("1", "-g0", false), ("2", "-g", true)] {
            folder.write("main.c", &format!("int main(void) {{ return {text}; }}\n"));
            let made = Command::new("cc")
                .args([flag, "-o", "nest", "main.c"])
                .current_dir(&folder.0)
                .status();
            assert!(made.unwrap().success());
            let found = folder.inputs().digest("run", &[NEST]).unwrap();
            assert_eq!(digests.insert(found), new, "{text} {flag}");
        }
    }

    #[test]
    fn a_crate_brings_what_it_depends_on() {
        let root = tool::root();
        let found = of_crate(&root, "nest-pattern").unwrap();
        assert!(found.contains(&"crates/nest-pattern".to_owned()));
        assert!(!found.contains(&"crates/nest-cli".to_owned()));
        assert!(found.contains(&"Cargo.lock".to_owned()));
        let all = of_crate(&root, "nest-cli").unwrap();
        for part in [
            "runtime",
            "conformance",
            "crates/nest-emit",
            "crates/nest-syntax",
        ] {
            assert!(all.contains(&part.to_owned()), "{part}");
        }
        assert!(of_crate(&root, "nobody").is_err());
    }

    #[test]
    fn what_the_compiler_makes_may_be_an_input() {
        let folder = Folder::new("generated");
        folder.write("nest", "one");
        let first = folder.inputs().digest("run", &[GENERATED]).unwrap();
        assert_eq!(folder.inputs().digest("run", &[GENERATED]).unwrap(), first);
        assert!(folder.0.join("scratch/nest").exists());
        folder.write("place/a.nest", "no specification of the project");
        assert_eq!(folder.inputs().digest("run", &[GENERATED]).unwrap(), first);
        fs::create_dir(folder.0.join("tests")).unwrap();
        folder.write("tests/a.nest", "one");
        assert_ne!(folder.inputs().digest("run", &[GENERATED]).unwrap(), first);
    }

    #[test]
    fn a_stamp_is_what_was_written() {
        let folder = Folder::new("stamp");
        let path = folder.0.join("x.stamp");
        assert_eq!(Stamp::read(&path), None);
        let stamp = Stamp::now(17, "CHECK_SEED=7".into());
        stamp.write(&path).unwrap();
        assert_eq!(Stamp::read(&path), Some(stamp));
        folder.write("x.stamp", "inputs 11\n");
        assert_eq!(Stamp::read(&path), None);
    }

    #[test]
    fn variables_of_compilers_count() {
        let given = ["PATH", "CFLAGS", "NEST", "TERM"].map(|n| (n.into(), "x".into()));
        let found: Vec<_> = configuration(given.into_iter()).into_keys().collect();
        assert_eq!(found, ["CFLAGS", "NEST"]);
    }
}
