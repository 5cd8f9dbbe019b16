//! Generates the functions through which the runtime calls those of `%decode` and `%encode`, and their tables.

use crate::replace::Text;
use crate::writer::{Writer, string};
use nest_c::Code;
use nest_machine::{Machine, Stage};

/// The functions and the tables.
pub fn emit(m: &Machine, w: &mut Writer) {
    if m.decodes.is_empty() && m.encodes.is_empty() {
        return;
    }
    w.begin("stages");
    w.line("struct nest__stage {");
    w.line("    const char *name;");
    w.line("    size_t size;");
    w.line("    int (*run)(nest_stage *, void *);");
    w.line("};");
    table(m, &m.decodes, "decode", w);
    table(m, &m.encodes, "encode", w);
    w.end("stages");
}

/// The functions of one direction.
fn table(m: &Machine, stages: &[Stage], way: &str, w: &mut Writer) {
    if stages.is_empty() {
        return;
    }
    let names: Vec<String> = (0..stages.len())
        .map(|i| format!("{}_{way}_{i}", m.name))
        .collect();
    for (stage, name) in stages.iter().zip(&names) {
        function(stage, name, w);
    }
    w.line(&format!(
        "extern const struct nest__stage nest__spec_{way}s[];"
    ));
    w.line(&format!(
        "const struct nest__stage nest__spec_{way}s[] = {{"
    ));
    for (stage, name) in stages.iter().zip(&names) {
        let size = match &stage.state {
            Some(_) => format!("sizeof({name}_state)"),
            None => "0".to_string(),
        };
        w.line(&format!("    {{{}, {size}, {name}}},", string(&stage.name)));
    }
    w.line("};");
}

fn function(stage: &Stage, name: &str, w: &mut Writer) {
    let written = |code: &Code, w: &mut Writer| w.user(code, &Text::same(&code.text));
    if let Some(state) = &stage.state {
        w.line("typedef");
        written(state, w);
        w.line(&format!("{name}_state;"));
    }
    w.line(&format!(
        "static int {name}(nest_stage *nest_stage, void *nest_state) {{"
    ));
    if stage.state.is_some() {
        w.line(&format!("    {name}_state *nest_typed = nest_state;"));
    } else {
        w.line("    (void)nest_state;");
    }
    w.line("    return");
    written(&stage.function, w);
    w.line(if stage.state.is_some() {
        "    (nest_stage, nest_typed);"
    } else {
        "    (nest_stage);"
    });
    w.line("}");
}
