//! Generates records of variables: a type for each variable, the structure, and the initial values. Must
//! not know: who has a record.

use crate::names;
use crate::replace::{Context, Text, replace, replace_and_name};
use crate::writer::Writer;
use nest_machine::{Code, Group, Locals, Machine, Variable};

/// The names of what is generated for variables.
pub struct Named {
    pub record: fn(&Machine) -> String,
    pub variable_type: fn(&Machine, &str) -> String,
    pub unsized_type: fn(&Machine, &str) -> String,
}

/// Those of per-connection variables.
pub const CONNECTION: Named = Named {
    record: names::record,
    variable_type: names::variable_type,
    unsized_type: names::unsized_type,
};

/// The structure of the variables.
pub fn record(m: &Machine, named: &Named, locals: &Locals, w: &mut Writer) {
    w.line(&format!("{} {{", (named.record)(m)));
    for v in &locals.variables {
        // If a type is incomplete, the C compiler reports it here, at the location of the name.
        w.line(&format!("    {}", (named.variable_type)(m, &v.name)));
        w.user(&name_of(v), &Text::same(&v.name));
        w.line("    ;");
    }
    w.line("};");
}

/// `char *cur, buf[3]` as types, each named after its variable, so that inline structs, function
/// pointers and arrays work as in any declaration.
pub fn types(m: &Machine, named: &Named, locals: &Locals, group: &Group, w: &mut Writer) {
    let specifiers = replace(m, &group.specifiers.text, &group.uses, Context::Unevaluated);
    if group.variables.is_empty() {
        w.user(&group.specifiers, &specifiers);
        return;
    }
    w.line("typedef");
    w.user(&group.specifiers, &specifiers);
    for (n, i) in group.variables.iter().enumerate() {
        let v = &locals.variables[*i];
        let name = if v.unsized_array {
            (named.unsized_type)(m, &v.name)
        } else {
            (named.variable_type)(m, &v.name)
        };
        let declarator = replace_and_name(
            m,
            &v.declarator.text,
            &v.uses,
            Context::Unevaluated,
            (&v.hole, name),
        );
        w.user(&v.declarator, &declarator);
        let last = n + 1 == group.variables.len();
        w.line(if last { "    ;" } else { "    ," });
    }
    for v in group
        .variables
        .iter()
        .map(|i| &locals.variables[*i])
        .filter(|v| v.unsized_array)
    {
        let Some(init) = &v.initialiser else { continue };
        let code = &init.code;
        let value = replace(m, &code.text, &init.uses, Context::Unevaluated);
        let value = braced(value, code).between(
            &format!("(({})", (named.unsized_type)(m, &v.name)),
            ")",
            code.text.len(),
        );
        let again = value.text.clone();
        let text = value.between(
            "typedef __typeof__(",
            &format!(
                "[0]) {}[sizeof {again} / sizeof {again}[0]];",
                (named.variable_type)(m, &v.name)
            ),
            code.text.len(),
        );
        w.user(code, &text);
    }
}

/// The position of the variable's name in its declaration.
fn name_of(v: &Variable) -> Code {
    v.declarator.part(v.hole.clone())
}

fn braced(initialiser: Text, code: &Code) -> Text {
    if initialiser.text.starts_with('{') {
        initialiser
    } else {
        initialiser.between("{", "}", code.text.len())
    }
}

/// The initialisers of variables, in order. `pointer`: the C expression that leads to their record.
pub fn initialisers(m: &Machine, named: &Named, locals: &Locals, pointer: &str, w: &mut Writer) {
    for v in &locals.variables {
        let Some(init) = &v.initialiser else { continue };
        let value = replace(m, &init.code.text, &init.uses, Context::Evaluated(None));
        let name = &v.name;
        if v.aggregate {
            let ty = (named.variable_type)(m, name);
            w.line(&format!("    memcpy((void *)&{pointer}->{name}, &({ty})"));
            w.user(&init.code, &braced(value, &init.code));
            w.line(&format!("        , sizeof {pointer}->{name});"));
        } else {
            w.line(&format!("    {pointer}->{name}"));
            w.user(&name_of(v), &Text::whole("=".to_string(), name));
            w.user(&init.code, &value);
            w.line("        ;");
        }
    }
}
