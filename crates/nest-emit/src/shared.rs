//! Generates the C of `%shared`: the record of its variables, and the function that initialises them.

use crate::names;
use crate::records::{Named, initialisers, record, types};
use crate::replace::{Context, Text, replace};
use crate::writer::Writer;
use nest_machine::Machine;

const SERVER: Named = Named {
    record: names::shared_record,
    variable_type: names::shared_type,
    unsized_type: names::shared_unsized_type,
};

/// The types and the record.
pub fn variables(m: &Machine, w: &mut Writer) {
    let Some(shared) = &m.shared else { return };
    w.begin("shared variables");
    for group in &shared.variables.groups {
        types(m, &SERVER, &shared.variables, group, w);
    }
    let structure = names::shared_record(m);
    if shared.variables.variables.is_empty() {
        w.line(&format!("{structure} {{ char nest_none; }};"));
    } else {
        record(m, &SERVER, &shared.variables, w);
    }
    w.line(&format!(
        "_Static_assert(_Alignof({structure}) <= _Alignof(max_align_t), \"shared variables have no \""
    ));
    w.line("               \"stricter alignment than malloc gives\");");
    w.line(&format!("_Static_assert(sizeof({structure}) <="));
    let size = Text::whole(format!("{}ull", shared.size), &shared.written.text);
    w.user(&shared.written, &size);
    w.line("    , \"the size of %shared is that of its variables at least\");");
    w.line(&format!(
        "static {structure} *nest_shared; /* at the same address in all processes */"
    ));
    w.end("shared variables");
}

/// `nest__spec_shared_begin`.
pub fn initialise(m: &Machine, w: &mut Writer) {
    let Some(shared) = &m.shared else { return };
    let structure = names::shared_record(m);
    w.begin("initial values of shared variables");
    w.line("extern const size_t nest__spec_shared_size;");
    w.line("extern const bool nest__spec_shared_recovers;");
    w.line("void nest__spec_shared_begin(void *memory);");
    w.line(&format!(
        "const size_t nest__spec_shared_size = sizeof({structure});"
    ));
    w.line(&format!(
        "const bool nest__spec_shared_recovers = {};",
        shared.recovers
    ));
    let begin = format!("{}_shared_begin", m.name);
    w.line(&format!("static void {begin}(void) {{"));
    if let Some(code) = &shared.code {
        let text = replace(m, &code.code.text, &code.uses, Context::Evaluated(None));
        w.user(&code.code, &text);
    }
    w.line("}");
    w.line("void nest__spec_shared_begin(void *memory) {");
    w.line("    nest_shared = memory;");
    initialisers(m, &SERVER, &shared.variables, "nest_shared", w);
    w.line(&format!("    {begin}();"));
    w.line("}");
    w.end("initial values of shared variables");
}
