//! Generates the functions through which the runtime calls those of `%decode`, and their table.

use crate::replace::Text;
use crate::writer::{Writer, string};
use nest_c::Code;
use nest_machine::{Machine, Stage};

/// The functions and the table.
pub fn emit(m: &Machine, w: &mut Writer) {
    if m.decodes.is_empty() {
        return;
    }
    w.begin("stages");
    let names: Vec<String> = (0..m.decodes.len())
        .map(|i| format!("{}_decode_{i}", m.name))
        .collect();
    for (stage, name) in m.decodes.iter().zip(&names) {
        function(stage, name, w);
    }
    w.line("struct nest__stage {");
    w.line("    const char *name;");
    w.line("    size_t size;");
    w.line("    int (*run)(nest_stage *, void *);");
    w.line("};");
    w.line("extern const struct nest__stage nest__spec_decodes[];");
    w.line("const struct nest__stage nest__spec_decodes[] = {");
    for (stage, name) in m.decodes.iter().zip(&names) {
        let size = match &stage.state {
            Some(_) => format!("sizeof({name}_state)"),
            None => "0".to_string(),
        };
        w.line(&format!("    {{{}, {size}, {name}}},", string(&stage.name)));
    }
    w.line("};");
    w.end("stages");
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
