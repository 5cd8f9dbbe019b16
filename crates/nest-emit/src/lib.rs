//! Generates a complete, readable C project from a checked machine.
//!
//! Must not know: the syntax tree, files, the command line. The same machine gives the same bytes.

mod actions;
mod automata;
mod condition;
pub mod deploy;
mod explain;
pub mod filter;
pub mod inside;
mod mark;
mod names;
mod places;
mod project;
mod records;
mod replace;
mod server;
mod server_code;
mod shared;
mod stages;
mod tables;
mod version;
mod writer;

pub use mark::{MARK, NOTE, Note};
use nest_machine::matching::Matching;
use nest_machine::{Feature, Machine, ModelKind};
pub use places::{Origin, Places};
use writer::string;

pub use server_code::cache_alone;

pub use project::{CFLAGS, LDFLAGS, OutFile, UNITS};
pub use version::VERSION;

/// A library that some servers need besides libc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Library {
    /// For the linker: `-lNAME`.
    pub name: &'static str,
    /// Its header.
    pub header: &'static str,
    /// How C code includes the header.
    pub include: &'static str,
    /// What selects it.
    pub option: &'static str,
    /// The package of Debian that contains both.
    pub package: &'static str,
    /// The packages of Alpine that contain the header and a static library.
    alpine: &'static str,
}

/// What `%option backtracking yes` needs.
const PCRE2: Library = Library {
    name: "pcre2-8",
    header: "pcre2.h",
    include: "#define PCRE2_CODE_UNIT_WIDTH 8\n#include <pcre2.h>\n",
    option: "%option backtracking yes",
    package: "libpcre2-dev",
    alpine: "pcre2-dev pcre2-static",
};

/// What `%option tls` needs.
const SSL: Library = Library {
    name: "ssl",
    header: "openssl/ssl.h",
    include: "#include <openssl/ssl.h>\n",
    option: "%option tls",
    package: "libssl-dev",
    alpine: "openssl-dev openssl-libs-static",
};

/// The other half of the same packages.
const CRYPTO: Library = Library {
    name: "crypto",
    header: "openssl/crypto.h",
    include: "#include <openssl/crypto.h>\n",
    alpine: "",
    ..SSL
};

/// The libraries that the server needs.
#[must_use]
pub fn libraries(machine: &Machine) -> &'static [Library] {
    let script = machine.settings.model == ModelKind::Script;
    let tls = machine.features.contains(Feature::Tls) && !script;
    match (machine.features.contains(Feature::Backtracking), tls) {
        (true, true) => &[PCRE2, SSL, CRYPTO],
        (true, false) => &[PCRE2],
        (false, true) => &[SSL, CRYPTO],
        (false, false) => &[],
    }
}

/// The C project for `machine`: Makefile, server.c, actions.c, NAME.h, nest.h, runtime/….
/// Its Makefile builds `NAME` with `$(CC)`; `EXTRA` adds C files, `CPPFLAGS`, `CFLAGS`, `LDLIBS`
/// as usual.
#[must_use]
pub fn emit(machine: &Machine) -> Vec<OutFile> {
    emit_with_places(machine).0
}

/// The same, and the origin of the user's text in its C code.
#[must_use]
pub fn emit_with_places(machine: &Machine) -> (Vec<OutFile>, Places) {
    let m = machine;
    let file = |path: &str, text: String| OutFile {
        path: path.to_string(),
        text,
    };
    let banner = format!(
        "/* {MARK} ({VERSION}) from {} for the {} model.\n * Do not edit: change the specification. \
         The runtime in it: 0BSD, no conditions. */\n",
        m.file.replace("*/", "* /"),
        m.settings.model.row().name
    );
    let matching = Matching::of(m);
    let (actions, places) = actions::emit(m, &matching, &banner);
    let mut files = vec![
        file("Makefile", makefile(m)),
        file("server.c", server::emit(m, &matching, &banner)),
        file("actions.c", actions),
        file(&names::header(m), header(m, &banner)),
    ];
    for part in nest_runtime::needed(&server::server(m)) {
        let path = if matches!(part.path, "nest.h" | "nest_stage.h") {
            part.path.to_string()
        } else {
            format!("runtime/{}", part.path)
        };
        files.push(OutFile {
            path,
            text: part.text.to_string(),
        });
    }
    files.extend(inside::emit(m));
    (files, places)
}

/// NAME.h: what C functions need to know about the specification.
fn header(m: &Machine, banner: &str) -> String {
    let guard = format!("NEST_SPEC_{}_H", m.name);
    let mut w = writer::Writer::new("header");
    w.put(banner);
    w.line(&format!("#ifndef {guard}\n#define {guard}\n"));
    w.line("#include \"nest.h\"");
    if !m.decodes.is_empty() || !m.encodes.is_empty() {
        w.line("#include \"nest_stage.h\"");
    }
    w.line("");
    w.line("/* The states' numbers, for nest_seen() and its kin. */");
    w.line("enum {");
    for n in 0..m.states.len() {
        let n = u32::try_from(n).unwrap_or(0);
        w.line(&format!("    {} = {n},", names::state(m, n)));
    }
    w.line("};\n");
    w.line("#endif");
    w.finish()
}

fn makefile(m: &Machine) -> String {
    let name = &m.name;
    let (optimise, fixed): (Vec<&str>, Vec<&str>) = CFLAGS
        .iter()
        .copied()
        .partition(|f| matches!(*f, "-O2" | "-g"));
    let spec = string(&m.file);
    let (filters, rule) = inside::makefile(m);
    let more = if filters.is_empty() {
        ""
    } else {
        " $(FILTERS)"
    };
    format!(
        "# {MARK} ({VERSION}) from {spec}. Do not edit: change the specification.\n\
         #\n\
         #   make                 builds {name}\n\
         #   make EXTRA=more.c    with C files of your own\n\
         CFLAGS ?= {}\n\
         NEST_FLAGS = {}\n\
         NEST_LDFLAGS = {}\n\
         NEST_LDLIBS ={}\n\
         EXTRA ?=\n\
         {filters}\
         OBJECTS = server.o actions.o{more} $(patsubst %.c,%.o,$(EXTRA))\n\
         \n\
         {name}: $(OBJECTS)\n\
         \t$(CC) $(NEST_FLAGS) $(CFLAGS) $(NEST_LDFLAGS) $(LDFLAGS) -o $@ $(OBJECTS) $(NEST_LDLIBS) $(LDLIBS)\n\
         \n\
         {rule}\
         %.o: %.c\n\
         \t$(CC) $(NEST_FLAGS) -iquote. $(CPPFLAGS) $(CFLAGS) -c -o $@ $<\n\
         \n\
         server.o actions.o: {name}.h nest.h $(wildcard nest_stage.h runtime/*.h runtime/*/*.[ch])\n\
         \n\
         .PHONY: clean\n\
         clean:\n\
         \trm -f {name} $(OBJECTS)\n",
        optimise.join(" "),
        fixed.join(" "),
        LDFLAGS.join(" "),
        libraries(m)
            .iter()
            .map(|library| format!(" -l{}", library.name))
            .collect::<String>()
    )
}
