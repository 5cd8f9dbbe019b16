//! Builds a server from a specification: `nest build`, and the first step of `nest run`.
//!
//! Generates into a private directory, compiles, links to a temporary name beside the output file,
//! and renames it, so that there is never an incomplete server.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use nest_emit::filter::{self, Filter};
use nest_emit::{Library, OutFile, Places};
use nest_machine::{Features, MODELS, Machine};

use crate::args::{ALL_MODELS, Build, Cc, Spec};
use crate::built;
use crate::cc::{Compiler, Units};
use crate::compile::{compile, compile_filter, selected};
use crate::generate;
use crate::signals::Hold;
use crate::source;
use crate::term::{self, Failure};

/// All inputs of a server.
pub struct Recipe<'a> {
    pub spec: &'a Spec,
    pub more: &'a [PathBuf],
    /// Those that the command selects.
    pub features: Features,
    pub cc: &'a Cc,
}

/// A recipe whose specification has been compiled; the C code has not.
pub struct Prepared {
    /// The server's name.
    pub name: String,
    pub files: Vec<OutFile>,
    /// Those of the files to compile.
    pub units: Vec<String>,
    /// The positions of the specification's C code in the generated files.
    pub places: Places,
    /// Linked besides libc.
    pub libraries: &'static [Library],
    pub compiler: Compiler,
}

/// `nest build`.
pub fn build(args: &Build) -> Result<ExitCode, Failure> {
    let hold = Hold::new()?;
    let result = build_in_place(args);
    hold.release();
    result
}

fn build_in_place(args: &Build) -> Result<ExitCode, Failure> {
    if let Some(filter) = args.filter {
        build_filter(args, filter.into())?;
    } else if args.model.as_deref() == Some(ALL_MODELS) {
        build_all(args)?;
    } else {
        build_one(args, args.model.as_deref(), |name| {
            let output = args.output.clone();
            output.unwrap_or_else(|| PathBuf::from(name))
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Builds a server. `output`: the executable, by the server's name.
fn build_one(
    args: &Build,
    model: Option<&str>,
    output: impl Fn(&str) -> PathBuf,
) -> Result<(), Failure> {
    let spec = Spec {
        file: args.file.clone(),
        model: model.map(str::to_owned),
    };
    let recipe = Recipe {
        spec: &spec,
        more: &args.more,
        features: selected(args.trace, args.tls),
        cc: &args.cc,
    };
    let prepared = recipe.prepare(&mut BTreeSet::new())?;
    let output = output(&prepared.name);
    recipe.protect(&output, args.force)?;
    recipe.make(&prepared, &output)?;
    term::note(format!("{} is built", output.display()));
    Ok(())
}

/// Builds a filter for the protocol.
fn build_filter(args: &Build, filter: Filter) -> Result<(), Failure> {
    let spec = Spec {
        file: args.file.clone(),
        model: None,
    };
    let recipe = Recipe {
        spec: &spec,
        more: &[],
        features: Features::default(),
        cc: &args.cc,
    };
    let compiler = Compiler::new(&args.cc)?;
    let (machine, automaton) = compile_filter(&args.file, filter)?;
    let name = filter::executable(&recipe.name(&machine), filter);
    let output = args.output.clone().unwrap_or_else(|| PathBuf::from(&name));
    recipe.protect(&output, args.force)?;
    let files = filter::emit(&machine, &automaton, filter);
    let prepared = Prepared {
        name,
        units: filter::units(&files),
        files,
        places: Places::default(),
        libraries: &[],
        compiler,
    };
    recipe.make(&prepared, &output)?;
    term::note(format!("{} is built", output.display()));
    Ok(())
}

/// Builds NAME-MODEL for each model that a specification can select.
fn build_all(args: &Build) -> Result<(), Failure> {
    if source::is_stdin(&args.file) {
        return Err(Failure::Usage(
            "standard input can be read once only; give --model all a file".to_owned(),
        ));
    }
    let directory = args.output.clone().unwrap_or_default();
    if !directory.as_os_str().is_empty() {
        fs::create_dir_all(&directory)
            .map_err(|e| Failure::io(format!("cannot create {}", directory.display()), &e))?;
    }
    for model in MODELS.iter().filter(|model| !model.option.is_empty()) {
        build_one(args, Some(model.name), |name| {
            directory.join(format!("{name}-{}", model.name))
        })?;
    }
    Ok(())
}

impl Recipe<'_> {
    /// Compiles the specification. `inputs` receives the files that it depends on, even after an
    /// error.
    pub fn prepare(&self, inputs: &mut BTreeSet<PathBuf>) -> Result<Prepared, Failure> {
        for file in self.more {
            inputs.insert(file.clone());
            if file.extension().is_none_or(|e| e != "c") {
                return Err(Failure::Usage(format!(
                    "{} is not a C file; its name must end in .c",
                    file.display()
                )));
            }
        }
        let compiler = Compiler::new(self.cc)?;
        let compiled = compile(self.spec, self.more, self.features, inputs)?;
        Ok(self.prepared(&compiled, compiler))
    }

    /// The server's name.
    fn name(&self, compiled: &Machine) -> String {
        if source::is_stdin(&self.spec.file) {
            "server".to_owned()
        } else {
            compiled.name.clone()
        }
    }

    /// The inputs that result from a machine.
    pub fn prepared(&self, compiled: &Machine, compiler: Compiler) -> Prepared {
        let name = self.name(compiled);
        let (files, places) = nest_emit::emit_with_places(compiled);
        Prepared {
            name,
            files,
            units: nest_emit::inside::units(compiled),
            places,
            libraries: nest_emit::libraries(compiled),
            compiler,
        }
    }

    /// Compiles and links. Returns the files outside the project that were used.
    pub fn make(&self, prepared: &Prepared, output: &Path) -> Result<Vec<PathBuf>, Failure> {
        let project = tempfile::Builder::new()
            .prefix("nest-")
            .tempdir()
            .map_err(|e| Failure::io("cannot make a temporary directory", &e))?;
        generate::write(project.path(), &prepared.files)?;
        let beside = source::directory(&self.spec.file);
        let units = Units {
            project: project.path(),
            own: &prepared.units,
            beside: &beside,
            more: self.more,
            places: &prepared.places,
            libraries: prepared.libraries,
        };
        let made = project.path().join("server");
        let used = prepared.compiler.build(&units, &made)?;
        install(&made, output)
            .map_err(|e| Failure::io(format!("cannot write {}", output.display()), &e))?;
        Ok(used)
    }

    /// Refuses an output file that is one of the inputs and, unless `force`, one that nest has not
    /// built.
    fn protect(&self, output: &Path, force: bool) -> Result<(), Failure> {
        if output.is_dir() {
            return Err(Failure::new(format!(
                "{} is a directory; name the server with -o",
                output.display()
            )));
        }
        let real = |path: &Path| fs::canonicalize(path).ok();
        let place = real(output);
        let source = std::iter::once(&self.spec.file).chain(self.more);
        for file in source {
            if place.is_some() && place == real(file) {
                return Err(Failure::new(format!(
                    "the server would overwrite {}; name it with -o",
                    file.display()
                )));
            }
        }
        let replaceable = force
            || built::is_replaceable(output)
                .map_err(|e| Failure::io(format!("cannot read {}", output.display()), &e))?;
        if !replaceable {
            return Err(Failure::new(format!(
                "{} is not a server that nest built; name the server with -o, or add --force",
                output.display()
            )));
        }
        Ok(())
    }
}

/// Copies to a temporary name beside the output file, then renames.
fn install(made: &Path, output: &Path) -> std::io::Result<()> {
    let beside = generate::beside(output);
    let result = fs::copy(made, &beside).and_then(|_| fs::rename(&beside, output));
    if result.is_err() {
        let _ = fs::remove_file(&beside);
    }
    result
}
