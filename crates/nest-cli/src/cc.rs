//! Runs the C compiler on all translation units in parallel.
//!
//! Its messages are printed as they are, except for locations that `cc_messages` corrects. Must not know:
//! what the units are for.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use nest_emit::{Library, Places};

use crate::args::{Cc, Sanitize};
use crate::cc_messages;
use crate::children::{self, finish};
use crate::term::{self, Failure, Progress};

/// A C compiler with its flags for one server.
pub struct Compiler {
    /// The program and leading arguments, such as `ccache gcc`.
    words: Vec<String>,
    /// For compiling and linking.
    flags: Vec<OsString>,
    /// For linking, after the objects.
    libraries: Vec<OsString>,
}

/// The directory of the units.
pub struct Units<'a> {
    /// The generated project; objects are written here too.
    pub project: &'a Path,
    /// The units of the project, relative to it.
    pub own: &'a [String],
    /// Searched for `#include "…"` in the specification.
    pub beside: &'a Path,
    /// The user's own C files.
    pub more: &'a [PathBuf],
    /// The positions of the specification's C code.
    pub places: &'a Places,
    /// Linked besides libc.
    pub libraries: &'static [Library],
}

impl Compiler {
    /// Reads the arguments and the environment, like make.
    pub fn new(args: &Cc) -> Result<Self, Failure> {
        let named = args.link.cc.clone().or_else(|| std::env::var("CC").ok());
        let words: Vec<String> = named
            .as_deref()
            .unwrap_or("cc")
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        if words.is_empty() {
            return Err(Failure::Usage(
                "the C compiler's name is empty; check --cc and CC".into(),
            ));
        }
        let mut flags: Vec<OsString> = nest_emit::CFLAGS.iter().map(OsString::from).collect();
        for dir in &args.link.include {
            flags.extend(["-I".into(), dir.into()]);
        }
        if args.debug {
            flags.extend(["-O0", "-g3"].map(OsString::from));
        }
        if let Some(kind) = args.sanitize {
            let kind = match kind {
                Sanitize::Address => "-fsanitize=address,undefined",
                Sanitize::Undefined => "-fsanitize=undefined",
                Sanitize::Thread => "-fsanitize=thread",
            };
            flags.extend(
                [kind, "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"].map(OsString::from),
            );
            if !args.debug {
                flags.push("-O1".into());
            }
        }
        flags.extend(from_environment("CPPFLAGS"));
        flags.extend(from_environment("CFLAGS"));
        let mut libraries = from_environment("LDFLAGS");
        for dir in &args.link.library_path {
            libraries.extend(["-L".into(), dir.into()]);
        }
        libraries.extend(
            args.link
                .library
                .iter()
                .map(|name| format!("-l{name}").into()),
        );
        libraries.extend(from_environment("LDLIBS"));
        Ok(Compiler {
            words,
            flags,
            libraries,
        })
    }

    /// Allows undefined functions of other C files, for a program that only prints what it knows
    /// before any code of the specification runs.
    pub fn without_others(mut self) -> Self {
        let open = ["-no-pie", "-Wl,--unresolved-symbols=ignore-all"];
        self.libraries.extend(open.map(OsString::from));
        self
    }

    /// Whether a program can be linked with these flags, because sanitizers are not installed
    /// everywhere.
    pub fn can_link(&self) -> bool {
        let Ok(folder) = tempfile::tempdir() else {
            return false;
        };
        let source = folder.path().join("main.c");
        if std::fs::write(&source, "int main(void) { return 0; }\n").is_err() {
            return false;
        }
        let mut command = self.command();
        command.args(&self.flags).args(nest_emit::LDFLAGS);
        command
            .arg("-o")
            .arg(folder.path().join("main"))
            .arg(source);
        let linked = self
            .start(&mut command)
            .and_then(|child| finish(vec![child]));
        linked.is_ok_and(|results| results.iter().all(|r| r.status.success()))
    }

    /// All inputs that can change the result, except files.
    pub fn key(&self) -> Vec<OsString> {
        let words = self.words.iter().map(OsString::from);
        let all = words
            .chain(self.flags.iter().cloned())
            .chain(nest_emit::LDFLAGS.iter().map(OsString::from))
            .chain(self.libraries.iter().cloned());
        let places = ["CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH", "PATH"];
        all.chain(places.into_iter().filter_map(std::env::var_os))
            .collect()
    }

    /// Whether libraries are linked whose changes the cache would not notice.
    pub fn has_libraries(&self) -> bool {
        !self.libraries.is_empty()
    }

    /// Compiles all units and links them into `output`. Returns the files outside the project that
    /// were used, including headers.
    pub fn build(&self, units: &Units, output: &Path) -> Result<Vec<PathBuf>, Failure> {
        let progress = Progress::start(format!("compiling with {}", self.words.join(" ")));
        let own = units.own.iter();
        let mut sources: Vec<PathBuf> = own.map(|unit| units.project.join(unit)).collect();
        sources.extend(units.more.iter().cloned());
        let objects: Vec<PathBuf> = (0..sources.len())
            .map(|i| units.project.join(format!("{i}.o")))
            .collect();
        let at_once = std::thread::available_parallelism()
            .map_or(1, usize::from)
            .max(2);
        let mut results = Vec::new();
        let pairs: Vec<_> = sources.iter().zip(&objects).collect();
        for some in pairs.chunks(at_once) {
            let started: Result<Vec<Child>, Failure> = some
                .iter()
                .map(|(source, object)| self.start(&mut self.compile(units, source, object)))
                .collect();
            results.extend(finish(started?)?);
        }
        drop(progress);
        self.require(units, &results)?;
        self.judge(&results, units.places)?;
        let mut link = self.command();
        link.args(&self.flags)
            .args(nest_emit::LDFLAGS)
            .arg("-o")
            .arg(output)
            .args(&objects)
            .args(units.libraries.iter().map(|l| format!("-l{}", l.name)))
            .args(&self.libraries);
        let linked = finish(vec![self.start(&mut link)?])?;
        self.require(units, &linked)?;
        self.judge(&linked, units.places)?;
        let mut used = Vec::new();
        for object in &objects {
            let list = std::fs::read_to_string(object.with_extension("d")).unwrap_or_default();
            used.extend(
                dependencies(&list)
                    .into_iter()
                    .filter(|f| !f.starts_with(units.project)),
            );
        }
        used.sort();
        used.dedup();
        Ok(used)
    }

    /// If a compiler failed because a library or its header is not installed, says so instead of
    /// the compiler.
    fn require(&self, units: &Units, results: &[Output]) -> Result<(), Failure> {
        if results.iter().all(|result| result.status.success()) {
            return Ok(());
        }
        for library in units.libraries {
            let main = "int main(void) { return 0; }\n";
            let missing = if !self.links(main, None)? {
                continue; // it is the compiler that does not work
            } else if !self.links(&format!("{}{main}", library.include), None)? {
                library.header.to_string()
            } else if !self.links(main, Some(library))? {
                format!("the library {}", library.name)
            } else {
                continue;
            };
            return Err(Failure::new(format!(
                "{} needs {missing}, which is missing; install {} (in Debian), or say where it is \
                 with -I and -L",
                library.option, library.package
            )));
        }
        Ok(())
    }

    /// Whether a program can be compiled and linked.
    fn links(&self, source: &str, library: Option<&Library>) -> Result<bool, Failure> {
        let failed = |e: std::io::Error| Failure::io("cannot write a temporary file", &e);
        let folder = tempfile::tempdir().map_err(failed)?;
        let file = folder.path().join("main.c");
        std::fs::write(&file, source).map_err(failed)?;
        let mut command = self.command();
        command.args(&self.flags).args(nest_emit::LDFLAGS);
        command.arg("-o").arg(folder.path().join("main")).arg(file);
        command.args(library.map(|library| format!("-l{}", library.name)));
        command.args(&self.libraries);
        let results = finish(vec![self.start(&mut command)?])?;
        Ok(results.iter().all(|result| result.status.success()))
    }

    fn compile(&self, units: &Units, source: &Path, object: &Path) -> Command {
        let mut command = self.command();
        command.args(&self.flags);
        // Applies only to quoted includes, so that the header of time.nest does not replace
        // <time.h>.
        for dir in [units.beside, units.project] {
            command.arg("-iquote").arg(dir);
        }
        if source.starts_with(units.project.join(nest_emit::inside::FOLDER)) {
            for folder in nest_emit::inside::includes() {
                command.arg("-iquote").arg(units.project.join(folder));
            }
        }
        let mut map = OsString::from("-ffile-prefix-map=");
        map.push(units.project);
        map.push("=/nest");
        command.arg(map);
        // Counts columns in characters, as nest does.
        command.arg("-ftabstop=1");
        command
            .arg("-MMD")
            .arg("-MF")
            .arg(object.with_extension("d"));
        if term::colour_err() {
            command.arg("-fdiagnostics-color=always");
        }
        command.arg("-c").arg(source).arg("-o").arg(object);
        command
    }

    /// Makes a program of the project's own C files, which have no messages to correct.
    pub fn program(&self, sources: &[PathBuf], output: &Path) -> Result<(), Failure> {
        let mut command = self.command();
        command
            .args(&self.flags)
            .args(sources)
            .arg("-o")
            .arg(output);
        let results = self
            .start(&mut command)
            .and_then(|child| finish(vec![child]))?;
        match results.iter().find(|r| !r.status.success()) {
            None => Ok(()),
            Some(result) => Err(Failure::new(format!(
                "{} failed: {}",
                self.words[0],
                String::from_utf8_lossy(&result.stderr).trim_end()
            ))),
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn start(&self, command: &mut Command) -> Result<Child, Failure> {
        children::start(command).map_err(|e| {
            let name = &self.words[0];
            if e.kind() == ErrorKind::NotFound {
                Failure::new(format!(
                    "there is no C compiler '{name}'; install gcc or clang, or name one with --cc"
                ))
            } else {
                Failure::io(format!("cannot run the C compiler '{name}'"), &e)
            }
        })
    }

    /// Prints the messages. Returns an error if a compiler failed.
    fn judge(&self, results: &[Output], places: &Places) -> Result<(), Failure> {
        for result in results {
            term::say(String::from_utf8_lossy(&result.stdout));
            let output = String::from_utf8_lossy(&result.stderr);
            term::say(cc_messages::corrected(&output, places, term::colour_err()));
        }
        let Some(failed) = results.iter().find(|r| !r.status.success()) else {
            return Ok(());
        };
        let silent = results
            .iter()
            .all(|r| r.stderr.is_empty() && r.stdout.is_empty());
        if silent {
            return Err(Failure::new(format!(
                "{} failed: {}",
                self.words[0], failed.status
            )));
        }
        term::note("nothing is built: the C compiler found errors");
        Err(Failure::Reported)
    }
}

fn from_environment(name: &str) -> Vec<OsString> {
    let value = std::env::var(name).unwrap_or_default();
    value.split_whitespace().map(OsString::from).collect()
}

/// Parses the prerequisites of a rule written by a compiler: `target: a b \` and so on, with
/// escaped blanks.
fn dependencies(rule: &str) -> Vec<PathBuf> {
    let rule = rule.split_once(": ").map_or("", |(_, files)| files);
    let mut files = Vec::new();
    let mut name = String::new();
    let mut chars = rule.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some('\n')) => {}
            ('\\', Some(' ' | '#' | '\\')) | ('$', Some('$')) => name.extend(chars.next()),
            (c, _) if c.is_whitespace() => {
                if !name.is_empty() {
                    files.push(PathBuf::from(OsStr::new(&std::mem::take(&mut name))));
                }
            }
            _ => name.push(c),
        }
    }
    if !name.is_empty() {
        files.push(PathBuf::from(name));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_read_as_make_would() {
        let rule = "/tmp/x/0.o: /tmp/x/actions.c my\\ file.h \\\n a$$b.h\n";
        let names: Vec<_> = dependencies(rule).into_iter().collect();
        assert_eq!(
            names,
            ["/tmp/x/actions.c", "my file.h", "a$b.h"].map(PathBuf::from)
        );
        assert!(dependencies("").is_empty());
    }
}
