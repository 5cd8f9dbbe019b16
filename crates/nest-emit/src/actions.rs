//! Generates actions.c: the user's C code with the line numbers it came from, and the functions
//! that call it.

use crate::names;
use crate::places::Places;
use crate::records::{CONNECTION, initialisers, record, types};
use crate::replace::{Context, Text, replace, replace_and_count};
use crate::writer::Writer;
use crate::{server_code, shared, stages};
use nest_c::Owner;
use nest_c::branches::{Branches, Point};
use nest_machine::matching::Matching;
use nest_machine::{Action, Code, Feature, Machine};
use nest_pattern::Cuts;

/// actions.c, and the origin of the user's C code in it.
pub fn emit(m: &Machine, matching: &Matching, banner: &str) -> (String, Places) {
    let mut w = Writer::new("actions.c");
    w.put(banner);
    w.line("/* The specification's C; the runtime is in server.c, and its macros stay there. */");
    w.line("#ifndef _GNU_SOURCE");
    w.line("#define _GNU_SOURCE 1");
    w.line("#endif");
    w.line(&format!("#include \"{}\"", names::header(m)));
    w.line("#include <errno.h>");
    w.line("#include <limits.h>");
    w.line("#include <string.h>");
    w.line("#undef strlcpy");
    w.line("#undef strlcat");
    w.line("#define strlcpy nest_strlcpy /* not every C library has them */");
    w.line("#define strlcat nest_strlcat");
    if m.features.contains(Feature::Blocks) && m.settings.model.row().workers == "loops" {
        w.line("#undef errno");
        w.line("#define errno (*nest_errno()) /* nest.h says why */");
    }
    user_part(m, &mut w);
    let rules: Vec<String> = functions(m, matching, &mut w);
    dispatch(m, &rules, &mut w);
    initialise(m, &mut w);
    server_code::emit(m, &mut w);
    stages::emit(m, &mut w);
    startup(m, &mut w);
    w.finish_with_places()
}

fn verbatim(w: &mut Writer, code: &Code) {
    w.user(code, &Text::same(&code.text));
}

/// Everything at file scope that actions may need.
fn user_part(m: &Machine, w: &mut Writer) {
    w.begin("declarations");
    for code in &m.prologue {
        verbatim(w, code);
    }
    w.end("declarations");
    w.begin("per-connection variables");
    for group in &m.locals.groups {
        types(m, &CONNECTION, &m.locals, group, w);
    }
    if !m.locals.variables.is_empty() {
        record(m, &CONNECTION, &m.locals, w);
        w.line(&format!(
            "_Static_assert(_Alignof({}) <= _Alignof(max_align_t), \"a record of per-connection \"",
            names::record(m)
        ));
        w.line("               \"variables has no stricter alignment than malloc gives\");");
    }
    for fix in &m.locals.macros {
        w.line(&format!("#ifdef {0}\n#undef {0}", fix.name));
        let rest = replace(
            m,
            &fix.rest.code.text,
            &fix.rest.uses,
            Context::Evaluated(None),
        );
        w.line(&format!("#define {}{}\n#endif", fix.name, rest.text));
    }
    w.end("per-connection variables");
    shared::variables(m, w);
    w.begin("start-up declarations");
    for code in &m.startup.file_scope {
        verbatim(w, code);
    }
    w.end("start-up declarations");
}

/// The parameters of an action's function.
fn parameters(m: &Machine) -> String {
    let record = if m.locals.variables.is_empty() {
        String::new()
    } else {
        format!("{} *nest_v, ", names::record(m))
    };
    format!("nest_session *nest_self, {record}const struct nest_message *nest_m")
}

/// The function of an action. `cuts`: the boundaries of the rule's elements. `points`: where branches
/// are counted.
fn function(
    m: &Machine,
    w: &mut Writer,
    name: &str,
    action: &Action,
    cuts: Option<&Cuts>,
    points: &[Point],
) {
    w.line(&format!("\nstatic void {name}({}) {{", parameters(m)));
    w.line("    (void)nest_self;");
    w.line("    (void)nest_m;");
    if !m.locals.variables.is_empty() {
        w.line("    (void)nest_v;");
    }
    let (text, context) = (&action.code.text, Context::Evaluated(cuts));
    let text = replace_and_count(m, text, &action.uses, context, points);
    w.user(&action.code, &text);
    w.line("}");
}

fn functions(m: &Machine, matching: &Matching, w: &mut Writer) -> Vec<String> {
    w.begin("actions");
    let mut branches = Branches::default();
    if m.features.contains(Feature::Branches) {
        branches = Branches::of(&m.source());
        w.line("int nest__branch(unsigned number); /* runtime/service/branches; returns 1 */");
        w.line("#pragma GCC diagnostic push");
        w.line("#pragma GCC diagnostic ignored \"-Wimplicit-fallthrough\" /* of these calls */");
    }
    let points = |owner| branches.points(owner);
    if let Some(action) = &m.start {
        let name = names::special(m, "START");
        function(m, w, &name, action, None, points(Owner::Start));
    }
    let mut all = Vec::new();
    for (i, rule) in m.rules.iter().enumerate() {
        let name = names::rule(m, i);
        let cuts = matching.cuts[i].as_ref();
        function(m, w, &name, &rule.action, cuts, points(Owner::Rule(i)));
        all.push(name);
    }
    for (i, timer) in m.timers.iter().enumerate() {
        let name = names::timer(m, i);
        function(m, w, &name, &timer.action, None, points(Owner::Timer(i)));
    }
    if let Some(action) = &m.end {
        let name = names::special(m, "END");
        function(m, w, &name, action, None, points(Owner::End));
    }
    if let Some(action) = &m.overload {
        let name = names::special(m, "OVERLOAD");
        function(m, w, &name, action, None, points(Owner::Overload));
    }
    if m.features.contains(Feature::Branches) {
        w.line("#pragma GCC diagnostic pop");
    }
    w.end("actions");
    all
}

fn dispatch(m: &Machine, rules: &[String], w: &mut Writer) {
    let arguments = if m.locals.variables.is_empty() {
        "nest_self, nest_m"
    } else {
        "nest_self, nest_vars, nest_m"
    };
    w.begin("dispatch");
    w.line("void nest__spec_act(nest_session *nest_self, void *nest_vars, int rule,");
    w.line("                    const struct nest_message *nest_m);");
    w.line("void nest__spec_act(nest_session *nest_self, void *nest_vars, int rule,");
    w.line("                    const struct nest_message *nest_m) {");
    w.line("    (void)nest_self;");
    w.line("    (void)nest_vars;");
    w.line("    switch (rule) {");
    let mut case = |label: &str, name: &str| {
        w.line(&format!("    case {label}:"));
        w.line(&format!("        {name}({arguments});"));
        w.line("        break;");
    };
    if m.start.is_some() {
        case("-1", &names::special(m, "START"));
    }
    for (i, name) in rules.iter().enumerate() {
        case(&i.to_string(), name);
    }
    for i in 0..m.timers.len() {
        // NEST__ACT_TIMER of runtime/seam.h.
        case(&format!("-4 - {i}"), &names::timer(m, i));
    }
    if m.end.is_some() {
        case("-2", &names::special(m, "END"));
    }
    if m.overload.is_some() {
        case("-3", &names::special(m, "OVERLOAD"));
    }
    w.line("    default:");
    w.line("        break;");
    w.line("    }");
    w.line("}");
    w.end("dispatch");
}

fn initialise(m: &Machine, w: &mut Writer) {
    w.begin("initial values");
    w.line("extern const size_t nest__spec_vars_size;");
    w.line("void nest__spec_vars_init(nest_session *nest_self, void *nest_vars);");
    if m.locals.variables.is_empty() {
        w.line("const size_t nest__spec_vars_size = 0;");
    } else {
        w.line(&format!(
            "const size_t nest__spec_vars_size = sizeof({});",
            names::record(m)
        ));
    }
    w.line("void nest__spec_vars_init(nest_session *nest_self, void *nest_vars) {");
    w.line("    (void)nest_self;");
    if m.locals.variables.is_empty() {
        w.line("    (void)nest_vars;");
    } else {
        w.line(&format!("    {} *nest_v = nest_vars;", names::record(m)));
        w.line("    (void)nest_v;");
    }
    initialisers(m, &CONNECTION, &m.locals, "nest_v", w);
    w.line("}");
    w.end("initial values");
    shared::initialise(m, w);
}

fn startup(m: &Machine, w: &mut Writer) {
    w.begin("start-up");
    for code in &m.startup.functions {
        verbatim(w, code);
    }
    let spec = &m.name;
    w.line(&format!(
        "static int {spec}_startup(int argc, char **argv) {{"
    ));
    w.line("    (void)argc;");
    w.line("    (void)argv;");
    for code in &m.startup.main {
        verbatim(w, code);
    }
    w.line("    return INT_MIN; /* go on */");
    w.line("}");
    w.line("int nest__spec_startup(int argc, char **argv);");
    w.line("int nest__spec_startup(int argc, char **argv) {");
    w.line(&format!("    int status = {spec}_startup(argc, argv);"));
    w.line("    return status == INT_MIN ? -1 : status & 0xff;");
    w.line("}");
    w.end("start-up");
}
