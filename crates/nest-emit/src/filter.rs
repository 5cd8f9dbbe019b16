//! The C project of a conditioning filter: an automaton and limits, beside the files that every
//! filter consists of. Must not know: how the automaton is found, the server's C.

use crate::mark::{MARK, note};
use crate::project::{CFLAGS, LDFLAGS, OutFile};
use crate::version::VERSION;
use crate::writer::{Writer, string};
use nest_machine::options::{LONGEST, duration, size};
use nest_machine::{Framing, Machine};
use nest_pattern::Dfa;

/// A filter that is generated from a specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// Holds a connection until the client's first message is complete.
    Request,
    /// Refuses packaged requests that are no first message.
    Check,
    /// Presents each message of a connection as a connection of its own.
    Persist,
}

impl Filter {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Filter::Request => "request",
            Filter::Check => "check",
            Filter::Persist => "persist",
        }
    }

    fn program(self) -> nest_conditioning::File {
        match self {
            Filter::Request => nest_conditioning::REQUEST,
            Filter::Check => nest_conditioning::CHECK,
            Filter::Persist => nest_conditioning::PERSIST,
        }
    }
}

/// The file with the automaton; a folder whose file begins with [`MARK`] may be written again.
pub const FIRST: &str = "filter.c";

/// The folder of the other files.
const FRAME: &str = "frame";

/// The project of a filter: Makefile, filter.c, frame/….
#[must_use]
pub fn emit(m: &Machine, automaton: &Dfa, filter: Filter) -> Vec<OutFile> {
    let program = filter.program();
    let frame = nest_conditioning::FILES
        .iter()
        .chain([&program])
        .map(|file| OutFile {
            path: format!("{FRAME}/{}", file.name),
            text: file.text.to_string(),
        });
    let mut files = vec![OutFile {
        path: FIRST.to_string(),
        text: first(m, automaton, filter),
    }];
    files.extend(frame);
    files.push(OutFile {
        path: "Makefile".to_string(),
        text: makefile(m, filter, &units(&files)),
    });
    files
}

/// The units to compile.
#[must_use]
pub fn units(files: &[OutFile]) -> Vec<String> {
    let paths = files.iter().map(|file| file.path.clone());
    paths.filter(|path| path.ends_with(".c")).collect()
}

/// The paths that the project of some filter has besides [`FIRST`].
#[must_use]
pub fn paths() -> Vec<String> {
    let programs = [Filter::Request, Filter::Check, Filter::Persist].map(Filter::program);
    let all = nest_conditioning::FILES.iter().chain(&programs);
    all.map(|file| format!("{FRAME}/{}", file.name)).collect()
}

/// The name of the executable.
#[must_use]
pub fn executable(name: &str, filter: Filter) -> String {
    format!("{name}-{}", filter.name())
}

/// What a filter knows of the protocol. `header`: where protocol.h is.
pub(crate) fn protocol(m: &Machine, automaton: &Dfa, header: &str) -> String {
    let mut w = Writer::new(FIRST);
    w.line(&format!("#include \"{header}\""));
    tables(m, automaton, &mut w);
    w.finish()
}

/// filter.c.
fn first(m: &Machine, automaton: &Dfa, filter: Filter) -> String {
    let mut w = Writer::new(FIRST);
    w.put(&format!(
        "/* {MARK} ({VERSION}) from {}: the filter {}.\n * Do not edit: change the specification. \
         The files of the filter: 0BSD, no conditions. */\n",
        m.file.replace("*/", "* /"),
        filter.name()
    ));
    w.line(&format!("#include \"{FRAME}/protocol.h\"\n"));
    note(&mut w);
    tables(m, automaton, &mut w);
    w.finish()
}

fn tables(m: &Machine, automaton: &Dfa, w: &mut Writer) {
    w.line("\n/* Bytes that the automaton does not distinguish are one class. */");
    w.line("static const uint8_t class_of[256] = {");
    w.numbers(automaton.classes.iter().copied());
    w.line("};");
    w.line("/* A row for each state. */");
    w.line("static const uint16_t next[] = {");
    w.numbers(automaton.next.iter().copied());
    w.line("};\n");
    let limit = |name: &str| text(m, name).and_then(duration).filter(|ms| *ms > 0);
    let most = text(m, "inputBuffer").and_then(size).unwrap_or(8192);
    w.line("struct ccf_protocol ccf_protocol = {");
    w.line(&format!("    .name = {},", string(&m.name)));
    w.line("    .automaton =");
    w.line("        {");
    w.line("            .class_of = class_of,");
    w.line("            .next = next,");
    w.line(&format!(
        "            .classes = {},",
        automaton.class_count
    ));
    w.line(&format!("            .start = {},", automaton.start));
    w.line(&format!(
        "            .silent = {},",
        automaton.first_silent
    ));
    let at_once = m.settings.framing == Framing::Message;
    w.line(&format!("            .at_once = {at_once},"));
    w.line(&format!("            .most = {most},"));
    w.line("        },");
    // Where the server has no limit, a filter has the longest.
    let timeout = limit("readTimeout").unwrap_or(LONGEST);
    let idle = limit("idleTimeout").unwrap_or(LONGEST);
    w.line(&format!("    .timeout = {timeout},"));
    w.line(&format!("    .idle = {idle},"));
    w.line("};");
}

/// The value of an option of the running server.
fn text<'m>(m: &'m Machine, name: &str) -> Option<&'m str> {
    let mut run = m.settings.run.iter();
    let option = run.find(|option| option.info.name == name)?;
    Some(&option.initial)
}

fn makefile(m: &Machine, filter: Filter, units: &[String]) -> String {
    let name = executable(&m.name, filter);
    let (optimise, fixed): (Vec<&str>, Vec<&str>) = CFLAGS
        .iter()
        .copied()
        .partition(|f| matches!(*f, "-O2" | "-g"));
    format!(
        "# {MARK} ({VERSION}) from {}. Do not edit: change the specification.\n\
         #\n\
         #   make    builds {name}\n\
         CFLAGS ?= {}\n\
         NEST_FLAGS = {}\n\
         NEST_LDFLAGS = {}\n\
         OBJECTS = {}\n\
         \n\
         {name}: $(OBJECTS)\n\
         \t$(CC) $(NEST_FLAGS) $(CFLAGS) $(NEST_LDFLAGS) $(LDFLAGS) -o $@ $(OBJECTS) $(LDLIBS)\n\
         \n\
         %.o: %.c $(wildcard {FRAME}/*.h)\n\
         \t$(CC) $(NEST_FLAGS) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<\n\
         \n\
         .PHONY: clean\n\
         clean:\n\
         \trm -f {name} $(OBJECTS)\n",
        string(&m.file),
        optimise.join(" "),
        fixed.join(" "),
        LDFLAGS.join(" "),
        units
            .iter()
            .map(|unit| unit.replace(".c", ".o"))
            .collect::<Vec<_>>()
            .join(" "),
    )
}
