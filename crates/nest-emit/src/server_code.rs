//! Generates the functions of `%timer`, `%signal`, `%worker` and `%cache`.

use crate::replace::{Context, replace};
use crate::writer::{Writer, string};
use nest_c::directives::Others;
use nest_machine::{Action, Machine, Use, What};

/// The functions, and what the runtime needs to know of them.
pub fn emit(m: &Machine, w: &mut Writer) {
    if !m.periodic.is_empty() {
        let actions = m.periodic.iter().map(|timer| &timer.action);
        let names = functions(m, "timer", actions, w);
        w.line("struct nest__periodic {");
        w.line("    uint32_t every;");
        w.line("    void (*run)(void);");
        w.line("    const char *file;");
        w.line("    uint32_t line;");
        w.line("};");
        w.line("extern const struct nest__periodic nest__spec_periodic[];");
        w.line("extern const unsigned nest__spec_periodic_count;");
        w.line("const struct nest__periodic nest__spec_periodic[] = {");
        for (timer, name) in m.periodic.iter().zip(&names) {
            let code = &timer.action.code;
            w.line(&format!(
                "    {{{}, {name}, {}, {}}},",
                timer.every,
                string(&code.file),
                code.line
            ));
        }
        w.line("};");
        let count = names.len();
        w.line(&format!(
            "const unsigned nest__spec_periodic_count = {count};"
        ));
        w.end("timer");
    }
    if !m.signals.is_empty() {
        let actions = m.signals.iter().map(|signal| &signal.action);
        let names = functions(m, "signal", actions, w);
        w.line("#include <signal.h>");
        w.line("struct nest__signal {");
        w.line("    int number;");
        w.line("    void (*run)(void);");
        w.line("    const char *file;");
        w.line("    uint32_t line;");
        w.line("};");
        w.line("extern const struct nest__signal nest__spec_signals[];");
        w.line("extern const unsigned nest__spec_signals_count;");
        w.line("const struct nest__signal nest__spec_signals[] = {");
        for (signal, name) in m.signals.iter().zip(&names) {
            let code = &signal.action.code;
            let file = string(&code.file);
            w.line(&format!(
                "    {{{}, {name}, {file}, {}}},",
                signal.number, code.line
            ));
        }
        w.line("};");
        let count = names.len();
        w.line(&format!(
            "const unsigned nest__spec_signals_count = {count};"
        ));
        w.end("signal");
    }
    if !m.beginning.is_empty() {
        let names = functions(m, "worker", m.beginning.iter(), w);
        w.line("void nest__spec_beginning(void);");
        w.line("void nest__spec_beginning(void) {");
        for name in &names {
            w.line(&format!("    {name}();"));
        }
        w.line("}");
        w.end("worker");
    }
    cache(m, w);
}

/// The function of `%cache`. Its parameters are those of nest__policy_value in the runtime.
fn cache(m: &Machine, w: &mut Writer) {
    const HEAD: &str =
        "double nest__spec_cache(uint64_t size, uint64_t uses, uint64_t now, double least)";
    let Some(action) = &m.cache else { return };
    w.begin("cache");
    w.line(&format!("{HEAD};"));
    w.line(&format!("{HEAD} {{"));
    w.line("    (void)size, (void)uses, (void)now, (void)least;");
    user(m, action, w);
    w.line("}");
    w.end("cache");
}

/// A C file with the function of `%cache` and nothing else of the specification. None: it has none.
#[must_use]
pub fn cache_alone(m: &Machine) -> Option<String> {
    m.cache.as_ref()?;
    let mut w = Writer::new("cache.c");
    w.line("#include <math.h>");
    w.line("#include <stdint.h>");
    w.line("#include <stdlib.h>");
    cache(m, &mut w);
    Some(w.finish())
}

/// The code of the server in a function's body.
fn user(m: &Machine, action: &Action, w: &mut Writer) {
    let text = replace(m, &action.code.text, &action.uses, Context::Evaluated(None));
    w.user(&action.code, &text);
}

/// Whether what stands in its place names the connection that sends: here there is none.
fn names_sender(u: &Use) -> bool {
    matches!(&u.what, What::Directive { directive, .. } if directive.does.others != Others::Untouched)
}

/// A function for each piece of code; their names.
fn functions<'m>(
    m: &Machine,
    kind: &str,
    actions: impl Iterator<Item = &'m Action>,
    w: &mut Writer,
) -> Vec<String> {
    w.begin(kind);
    let mut names = Vec::new();
    for (i, action) in actions.enumerate() {
        let name = format!("{}_{kind}_{i}", m.name);
        w.line(&format!("static void {name}(void) {{"));
        if action.uses.iter().any(names_sender) {
            w.line("    nest_session *const nest_self = NULL; /* the server */");
        }
        user(m, action, w);
        w.line("}");
        names.push(name);
    }
    names
}
