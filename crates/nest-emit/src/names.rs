//! The names of all identifiers in generated code that are not in the runtime.

use nest_machine::Machine;

/// `login_STATE_NAMED`.
pub fn state(m: &Machine, state: u32) -> String {
    let name = m.states.get(state as usize).map_or("?", String::as_str);
    format!("{}_STATE_{name}", m.name)
}

/// The structure of per-connection variables.
pub fn record(m: &Machine) -> String {
    format!("struct {}_vars", m.name)
}

/// The type of a per-connection variable.
pub fn variable_type(m: &Machine, variable: &str) -> String {
    format!("{}_t_{variable}", m.name)
}

/// The type of a per-connection array before its size is known.
pub fn unsized_type(m: &Machine, variable: &str) -> String {
    format!("{}_u_{variable}", m.name)
}

/// The structure of shared variables.
pub fn shared_record(m: &Machine) -> String {
    format!("struct {}_shared", m.name)
}

/// The type of a shared variable.
pub fn shared_type(m: &Machine, variable: &str) -> String {
    format!("{}_s_{variable}", m.name)
}

/// The type of a shared array before its size is known.
pub fn shared_unsized_type(m: &Machine, variable: &str) -> String {
    format!("{}_su_{variable}", m.name)
}

/// The function of a pattern rule.
pub fn rule(m: &Machine, rule: usize) -> String {
    format!("{}_rule_{rule}", m.name)
}

/// The function of a TIMEOUT rule.
pub fn timer(m: &Machine, timer: usize) -> String {
    format!("{}_timeout_{timer}", m.name)
}

/// The function of START or END.
pub fn special(m: &Machine, name: &str) -> String {
    format!("{}_{name}", m.name)
}

/// The specification's header.
pub fn header(m: &Machine) -> String {
    format!("{}.h", m.name)
}
