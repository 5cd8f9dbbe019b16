//! The filters of `%filter` in the project of a server: cc-chain and the filters as functions of the
//! server's program. Must not know: how filters are found or checked.

use crate::filter;
use crate::mark::MARK;
use crate::project::{OutFile, UNITS};
use crate::version::VERSION;
use crate::writer::{Writer, string};
use nest_conditioning::inside::{COMMON, FilterOption, INCLUDES, Kind, PROGRAMS, Program, Source};
use nest_machine::{Machine, ModelKind};

/// The folder of these files in the project.
pub const FOLDER: &str = "conditioning";

/// The folder below it that has what depends on the specification.
const OWN: &str = "server";

/// The folders below the project in which units of [`FOLDER`] look for headers.
#[must_use]
pub fn includes() -> Vec<String> {
    let folders = INCLUDES.iter().map(|name| format!("{FOLDER}/{name}"));
    folders.collect()
}

/// Whether the server has filters. Scripts have no clients that a filter could accept.
pub fn has(m: &Machine) -> bool {
    !m.filters.is_empty() && m.settings.model != ModelKind::Script
}

/// The units of the server's project.
#[must_use]
pub fn units(m: &Machine) -> Vec<String> {
    let own = UNITS.iter().map(ToString::to_string);
    // What a unit of OWN includes is no unit.
    let programs = |path: &str| PROGRAMS.iter().any(|program| path == at(program.main.path));
    let filters = emit(m).into_iter().map(|file| file.path);
    let included = |path: &str| path == at("chain/main.c") || programs(path);
    own.chain(filters.filter(|path| path.ends_with(".c") && !included(path)))
        .collect()
}

fn at(path: &str) -> String {
    format!("{FOLDER}/{path}")
}

/// The filters that the server has, each once.
fn programs(m: &Machine) -> Vec<&'static Program> {
    let used = |program: &&Program| m.filters.iter().any(|f| f.program.name == program.name);
    PROGRAMS.iter().filter(used).collect()
}

/// The files.
#[must_use]
pub fn emit(m: &Machine) -> Vec<OutFile> {
    if !has(m) {
        return Vec::new();
    }
    let programs = programs(m);
    let mut sources: Vec<Source> = COMMON.to_vec();
    for program in &programs {
        sources.push(program.main);
        sources.extend(program.needs);
    }
    sources.sort_by_key(|source| source.path);
    sources.dedup_by_key(|source| source.path);
    let mut files: Vec<OutFile> = sources
        .iter()
        .map(|source| OutFile {
            path: at(source.path),
            text: source.text.to_string(),
        })
        .collect();
    let mut own = |name: &str, text: String| {
        files.push(OutFile {
            path: at(&format!("{OWN}/{name}")),
            text: format!("{}{text}", banner(m)),
        });
    };
    if let Some(automaton) = &m.first {
        own("protocol.c", filter::protocol(m, automaton, "protocol.h"));
    }
    own("chain.c", renamed("chain/main.c", "ccc__main"));
    for program in &programs {
        let text = renamed(program.main.path, &function(program));
        own(&format!("{}.c", program.name), text);
    }
    own("programs.c", table(&programs));
    files
}

/// Every path that some server has.
#[must_use]
pub fn paths() -> Vec<String> {
    let mains = PROGRAMS.iter().map(|program| program.main);
    let needs = PROGRAMS.iter().flat_map(|program| program.needs);
    let sources = COMMON.iter().copied().chain(mains).chain(needs.copied());
    let own = PROGRAMS.iter().map(|program| program.name);
    let own = own.chain(["protocol", "chain", "programs"]);
    let own = own.map(|name| at(&format!("{OWN}/{name}.c")));
    sources.map(|source| at(source.path)).chain(own).collect()
}

fn banner(m: &Machine) -> String {
    format!(
        "/* {MARK} ({VERSION}) from {}. Do not edit: change the specification. */\n",
        m.file.replace("*/", "* /")
    )
}

/// The main function of a filter.
fn function(program: &Program) -> String {
    format!("ccf__main_{}", program.name)
}

/// A unit that is another file with another name for its main function.
fn renamed(path: &str, name: &str) -> String {
    format!("#define main {name}\n#include \"../{path}\"\n")
}

/// The table of the filters' main functions.
fn table(programs: &[&Program]) -> String {
    let mut w = Writer::new("programs.c");
    w.line("#include <stddef.h>\n\n#include \"inside.h\"\n");
    for program in programs {
        w.line(&format!(
            "int {}(int argc, char **argv);",
            function(program)
        ));
    }
    w.line("\nconst struct ccc__program ccc__programs[] = {");
    for program in programs {
        let name = string(program.name);
        w.line(&format!("    {{{name}, {}}},", function(program)));
    }
    w.line("    {NULL, NULL},");
    w.line("};");
    w.finish()
}

/// An option of a filter, which is an option of the server as well.
struct Setting<'m> {
    /// Of which filter.
    filter: usize,
    /// `request.timeout`; of the second filter of this name `request2.timeout`.
    name: String,
    option: FilterOption,
    /// What the `%filter` line says.
    initial: Option<&'m str>,
}

/// The options of all filters.
fn settings(m: &Machine) -> Vec<Setting<'_>> {
    let mut all = Vec::new();
    for (filter, row) in m.filters.iter().enumerate() {
        let same = |other: &&nest_machine::Filter| other.program.name == row.program.name;
        let mut name = row.program.name.to_string();
        match m.filters[..filter].iter().filter(same).count() {
            0 => {}
            before => name.push_str(&(before + 1).to_string()),
        }
        for option in row.program.options() {
            // The server knows its clients from the filter itself.
            if (row.program.name, option.name) == ("proxy", "mode") {
                continue;
            }
            all.push(Setting {
                filter,
                name: format!("{name}.{}", option.name),
                initial: row.value(option.name),
                option,
            });
        }
    }
    all
}

/// For server.c: the options of filters, and their values.
fn settings_lines(m: &Machine, w: &mut Writer) {
    let all = settings(m);
    let count = all.len();
    w.line("const struct nest__filter_setting nest__spec_filter_settings[] = {");
    for Setting { filter, option, .. } in &all {
        let kind = match option.kind {
            Kind::Number => "CCF_NUMBER",
            Kind::Time => "CCF_TIME",
            Kind::Size => "CCF_SIZE",
            Kind::Choice => "CCF_CHOICE",
            Kind::Text => "CCF_TEXT",
        };
        w.line(&format!(
            "    {{{filter}, {{{}, {kind}, NULL, {}, {}, {}, {}}}}},",
            string(option.name),
            option.range.0,
            option.range.1,
            string(option.words.join("|")),
            string(option.form()),
        ));
    }
    if count == 0 {
        w.line("    {0, {\"\", CCF_TEXT, NULL, 0, 0, NULL, \"\"}},");
    }
    w.line("};");
    w.line(&format!(
        "const unsigned nest__spec_filter_setting_count = {count};"
    ));
    w.line(&format!(
        "const char *_Atomic nest__filter_values[{}];",
        count.max(1)
    ));
    for number in 0..count {
        w.line(&format!("NEST__FILTER_VALID({number})"));
    }
}

/// For the table of options in server.c: those of filters.
pub fn rows(m: &Machine, w: &mut Writer) {
    for (number, setting) in settings(m).iter().enumerate() {
        let initial = setting.initial.map_or("NULL".to_string(), string);
        let help = format!(
            "of %filter {}: {}",
            m.filters[setting.filter].program.name,
            setting.option.form()
        );
        w.line(&format!(
            "    {{{}, NEST__TEXT, &nest__filter_values[{number}], 0, 0, {initial},\n     \
             {}, true, NULL, nest__filter_valid_{number}}},",
            string(&setting.name),
            string(help),
        ));
    }
}

/// For server.c: the filters with their options.
pub fn lines(m: &Machine, w: &mut Writer) {
    w.line("\n#include \"runtime/service/filters/settings.h\"");
    w.line("const struct nest__filter nest__spec_filters[] = {");
    for filter in &m.filters {
        let clients = filter.clients.map_or("NULL".to_string(), string);
        w.line(&format!(
            "    {{{}, {clients}}},",
            string(filter.program.name)
        ));
    }
    w.line("};");
    settings_lines(m, w);
    let leases = m.filters.iter().filter(|filter| filter.program.leases());
    w.line(&format!(
        "const unsigned nest__spec_filter_count = {};",
        m.filters.len()
    ));
    w.line(&format!(
        "const unsigned nest__spec_filter_leases = {};",
        leases.count()
    ));
    w.line(&format!(
        "const unsigned nest__spec_filter_returns = {};",
        returns(m).unwrap_or_default()
    ));
}

/// Which of the leases of a connection is that of the filter that gets it back, if there is one.
pub fn returns(m: &Machine) -> Option<usize> {
    let mut leases = m.filters.iter().filter(|filter| filter.program.leases());
    leases.position(|filter| filter.program.splits())
}

/// For the Makefile: objects, and how they are made.
pub fn makefile(m: &Machine) -> (String, String) {
    let units = units(m);
    let objects: Vec<String> = units[UNITS.len()..]
        .iter()
        .map(|unit| unit.replace(".c", ".o"))
        .collect();
    if objects.is_empty() {
        return (String::new(), String::new());
    }
    let folders: Vec<String> = includes().iter().map(|f| format!("-iquote {f}")).collect();
    let rule = format!(
        "{FOLDER}/%.o: {FOLDER}/%.c $(wildcard {FOLDER}/*/*.[ch])\n\
         \t$(CC) $(NEST_FLAGS) {} $(CPPFLAGS) $(CFLAGS) -c -o $@ $<\n\
         \n",
        folders.join(" ")
    );
    (format!("FILTERS = {}\n", objects.join(" ")), rule)
}
