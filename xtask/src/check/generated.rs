//! Whether the compiler makes of all specifications what an earlier compiler made of them.
//!
//! Compiling all of them takes minutes of a processor. The compiler that the stamps are about is therefore
//! kept, and it is compared with another one only when there is another one. Must not know: steps, stamps.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::digest::{Digest, add, add_tree, read};
use crate::tool;

/// Where the specifications are, and in which models they are compiled.
const SPECIFICATIONS: &[&str] = &["examples", "tests", "benches"];
const MODELS: &[&str] = &["process", "prefork", "thread", "event", "uring", "script"];

/// What the compiler makes of the specifications of a project.
pub struct Generated<'a> {
    pub root: &'a Path,
    /// Where the compiler of the stamps is kept, and what is made for a moment.
    pub folder: &'a Path,
}

impl Generated<'_> {
    /// A digest that stays the same as long as the specifications do, and the compiler makes the same of
    /// them. The file of the compiler is linked, so nobody may write to it later.
    pub fn digest(&self, nest: &Path) -> Result<Digest, String> {
        let specifications = self.specifications();
        let mut of_texts = DefaultHasher::new();
        for path in &specifications {
            add(&mut of_texts, path.as_os_str().as_encoded_bytes());
            add(&mut of_texts, &read(&self.root.join(path))?);
        }
        let of_texts = of_texts.finish();
        let kept = self.folder.join("nest");
        match fs::read(&kept) {
            Ok(program) if program == read(nest)? => (),
            Ok(_) => {
                let before = match self.remembered(of_texts) {
                    Some(made) => Some(made),
                    None => self.made(&kept, &specifications).ok(),
                };
                let now = self.made(nest, &specifications)?;
                if before != Some(now) {
                    keep(nest, &kept)?;
                }
                self.remember(of_texts, now)?;
            }
            Err(e) if e.kind() == ErrorKind::NotFound => {
                remove(&self.memory())?;
                keep(nest, &kept)?;
            }
            Err(e) => return Err(format!("cannot read {}: {e}", kept.display())),
        }
        let mut hash = DefaultHasher::new();
        hash.write_u64(of_texts);
        add(&mut hash, &read(&kept)?);
        Ok(hash.finish())
    }

    /// Their paths from the root.
    fn specifications(&self) -> Vec<PathBuf> {
        SPECIFICATIONS
            .iter()
            .flat_map(|place| tool::files_below(self.root, place).unwrap_or_default())
            .filter(|path| tool::has_extension(path, &["nest"]))
            .collect()
    }

    /// Of what a compiler makes of every specification in every model. One that it refuses counts with
    /// its messages.
    fn made(&self, nest: &Path, specifications: &[PathBuf]) -> Result<Digest, String> {
        let mut hash = DefaultHasher::new();
        let place = self.folder.join("made");
        for spec in specifications {
            let mut all: Vec<Vec<&str>> = MODELS
                .iter()
                .map(|model| vec!["gen", "--model", model])
                .collect();
            all.push(vec!["gen", "--model", MODELS[0], "--trace"]);
            // A C compiler that prints how it is called.
            all.push(vec!["build", "--model", MODELS[0], "--cc", "echo"]);
            for words in all {
                let _ = fs::remove_dir_all(&place);
                let temporary = place.join("tmp");
                fs::create_dir_all(&temporary)
                    .map_err(|e| format!("cannot make {}: {e}", temporary.display()))?;
                let output = Command::new(nest)
                    .args(words)
                    .arg(spec)
                    .arg("-o")
                    .arg(place.join("out"))
                    .env("TMPDIR", &temporary)
                    .current_dir(self.root)
                    .stdin(Stdio::null())
                    .output()
                    .map_err(|e| format!("cannot run {}: {e}", nest.display()))?;
                for said in [output.stdout, output.stderr] {
                    let said = String::from_utf8_lossy(&said);
                    add(&mut hash, without_random_names(&said).as_bytes());
                }
                add_tree(&mut hash, &place, ".")?;
            }
        }
        let _ = fs::remove_dir_all(&place);
        Ok(hash.finish())
    }

    /// A file with two digests: of specifications, and of what the kept compiler makes of them.
    fn memory(&self) -> PathBuf {
        self.folder.join("made.txt")
    }

    fn remembered(&self, of_texts: Digest) -> Option<Digest> {
        let text = fs::read_to_string(self.memory()).ok()?;
        let (texts, made) = text.trim_end().split_once(' ')?;
        let number = |word| Digest::from_str_radix(word, 16).ok();
        (number(texts)? == of_texts).then(|| number(made)).flatten()
    }

    fn remember(&self, of_texts: Digest, made: Digest) -> Result<(), String> {
        let path = self.memory();
        fs::write(&path, format!("{of_texts:016x} {made:016x}\n"))
            .map_err(|e| format!("cannot write {}: {e}", path.display()))
    }
}

/// Makes `nest` the kept compiler.
fn keep(nest: &Path, kept: &Path) -> Result<(), String> {
    remove(kept)?;
    fs::hard_link(nest, kept).map_err(|e| format!("cannot link {}: {e}", kept.display()))
}

/// Removes a file if it is there.
pub fn remove(path: &Path) -> Result<(), String> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => {
            Err(format!("cannot remove {}: {e}", path.display()))
        }
        _ => Ok(()),
    }
}

/// A text without the random ends of temporary names, as in `nest-a1B2c3`.
fn without_random_names(text: &str) -> String {
    let mut parts = text.split("/nest-");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let random = part.bytes().take_while(u8::is_ascii_alphanumeric).count();
        out += "/nest-";
        out += &part[if random == 6 { 6 } else { 0 }..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A project with one specification, and compilers.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("nest-{name}-{}", std::process::id()));
            fs::create_dir_all(path.join("kept")).unwrap();
            fs::create_dir_all(path.join("examples")).unwrap();
            let place = Place(path);
            place.specify("a specification");
            place
        }

        fn specify(&self, text: &str) {
            fs::write(self.0.join("examples/a.nest"), text).unwrap();
        }

        /// A compiler that makes a text of every specification, and notes that it was run. A process of its
        /// own writes it: what this one writes could not be run while another test starts a process.
        fn compiler(&self, name: &str, text: &str) -> PathBuf {
            let path = self.0.join(name);
            let made = Command::new("sh")
                .args(["-c", "echo \"$1\" > \"$0\" && chmod +x \"$0\""])
                .arg(&path)
                .arg(format!(
                    "#!/bin/sh\n# {name}\necho >> '{}'\nwhile [ \"$1\" != -o ]; do shift; done\necho {text} > \"$2\"",
                    self.0.join("runs").display()
                ))
                .status();
            assert!(made.unwrap().success());
            path
        }

        fn digest(&self, nest: &Path) -> Digest {
            let folder = self.0.join("kept");
            let generated = Generated {
                root: &self.0,
                folder: &folder,
            };
            generated.digest(nest).unwrap()
        }

        /// How many specifications were compiled since this was asked last, each in all ways.
        fn runs(&self) -> usize {
            let path = self.0.join("runs");
            let lines = fs::read_to_string(&path)
                .unwrap_or_default()
                .lines()
                .count();
            remove(&path).unwrap();
            assert_eq!(lines % (MODELS.len() + 2), 0);
            lines / (MODELS.len() + 2)
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn nothing_is_compiled_while_the_compiler_is_the_same() {
        let place = Place::new("one-compiler");
        let one = place.compiler("one", "x");
        let first = place.digest(&one);
        assert_eq!(place.digest(&one), first);
        place.specify("another");
        assert_ne!(place.digest(&one), first);
        assert_eq!(place.runs(), 0);
    }

    #[test]
    fn another_compiler_counts_if_it_makes_something_else() {
        let place = Place::new("two-compilers");
        let first = place.digest(&place.compiler("one", "x"));
        assert_eq!(place.digest(&place.compiler("two", "x")), first);
        assert_eq!(place.runs(), 2);
        // What the first one makes is known by now.
        assert_eq!(place.digest(&place.compiler("three", "x")), first);
        assert_eq!(place.runs(), 1);
        let other = place.digest(&place.compiler("four", "y"));
        assert_ne!(other, first);
        assert_eq!(place.runs(), 1);
        assert_eq!(place.digest(&place.compiler("five", "y")), other);
        assert_eq!(place.runs(), 1);
        place.specify("another");
        assert_ne!(place.digest(&place.compiler("six", "y")), other);
        assert_eq!(place.runs(), 2);
    }

    #[test]
    fn a_kept_compiler_that_does_not_run_is_replaced() {
        let place = Place::new("no-compiler");
        fs::write(place.0.join("kept/nest"), "no program").unwrap();
        let one = place.compiler("one", "x");
        let first = place.digest(&one);
        place.runs();
        assert_eq!(place.digest(&one), first);
        assert_eq!(place.runs(), 0);
    }

    #[test]
    fn random_names_do_not_count() {
        let said = "-o /t/nest-QMsn47/0.o -I /t/nest-QMsn47 crates/nest-cli";
        let plain = "-o /t/nest-/0.o -I /t/nest- crates/nest-cli";
        assert_eq!(without_random_names(said), plain);
    }
}
