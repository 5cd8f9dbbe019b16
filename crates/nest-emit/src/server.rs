//! server.c: sizes, join points, the runtime files that this server needs, tables, options.

use crate::condition::condition;
use crate::mark::note;
use crate::writer::{Writer, string};
use crate::{automata, explain, inside, tables};
use nest_machine::matching::Matching;
use nest_machine::options::{LOGS, LONGEST, OptionInfo, Value};
use nest_machine::{Cond, Feature, Framing, Machine, ModelKind, RunOption};
use nest_runtime::{Server, Unit};

/// The server that the runtime is asked for.
pub fn server(m: &Machine) -> Server<'static> {
    let model = m.settings.model.row();
    Server {
        poller: model.io,
        workers: model.workers,
        features: m.features,
    }
}

/// server.c.
pub fn emit(m: &Machine, matching: &Matching, banner: &str) -> String {
    let mut w = Writer::new("server.c");
    w.put(banner);
    w.line("/* The runtime and the matchers; the specification's C is in actions.c. */");
    let sizes = tables::sizes(m, matching);
    w.begin("sizes");
    w.line(&format!("#define NEST__RULES {}", sizes.rules));
    w.line(&format!("#define NEST__CONDITIONS {}", sizes.conditions));
    w.line(&format!("#define NEST__STANDALONE {}", sizes.standalone));
    w.line(&format!("#define NEST__EARLY {}", sizes.early));
    w.line(&format!("#define NEST__TAGS {}", sizes.tags));
    w.line(&format!("#define NEST__REGISTERS {}", sizes.registers));
    w.line(&format!("#define NEST__PARTS {}", sizes.parts));
    w.line(&format!("#define NEST__THREAD_WORDS {}", sizes.thread_room));
    w.line(&format!("#define NEST__NFA_STATES {}", sizes.nfa_states));
    let messages = u8::from(m.settings.framing == Framing::Message);
    w.line(&format!("#define NEST__MESSAGES {messages}"));
    w.line(&format!("#define NEST__TIMERS {}", m.timers.len()));
    let sockets = m.settings.model != ModelKind::Script;
    let pipes = u8::from(sockets && m.features.contains(Feature::Inetd));
    w.line(&format!("#define NEST__PIPES {pipes}"));
    let tls = u8::from(sockets && m.features.contains(Feature::Tls));
    w.line(&format!("#define NEST__TLS {tls}"));
    w.line(&format!("#define NEST__DECODES {}", m.decodes.len()));
    w.line(&format!("#define NEST__ENCODES {}", m.encodes.len()));
    let returns = u8::from(sockets && inside::returns(m).is_some());
    let answered = m.features.contains(Feature::KernelCache);
    let polled = returns.max(u8::from(answered && m.settings.model == ModelKind::Uring));
    let splices = sockets
        && m.features.contains(Feature::Relay)
        && !m.features.contains(Feature::Trace)
        && polled == 0;
    w.line(&format!("#define NEST__SPLICES {}", u8::from(splices)));
    let fallback = u8::from(server(m).falls_back());
    w.line(&format!("#define NEST__FALLBACK {fallback}"));
    let requests = u8::from(m.features.contains(Feature::Requests));
    w.line(&format!("#define NEST__LOG_REQUESTS {requests}"));
    let marks = u8::from(m.features.contains(Feature::Marks));
    w.line(&format!("#define NEST__LOG_MARKS {marks}"));
    let lossy = u8::from(m.features.contains(Feature::Lossy));
    w.line(&format!("#define NEST__LOSSY {lossy}"));
    let proxied = u8::from(sockets && m.features.contains(Feature::Proxied));
    w.line(&format!("#define NEST__PROXIED {proxied}"));
    w.line(&format!("#define NEST__RETURNS {returns}"));
    w.line(&format!("#define NEST__POLLED {polled}"));
    let processors = u8::from(sockets && m.features.contains(Feature::Processors));
    w.line(&format!("#define NEST__PROCESSORS {processors}"));
    w.line(&format!(
        "#define NEST__HAS_END {}",
        u8::from(m.end.is_some())
    ));
    if m.settings.classes > 0 {
        w.line(&format!("#define NEST__CLASSES {}", m.settings.classes));
    }
    let backtracking = m.rules.iter().filter(|r| r.backtracking.is_some()).count();
    w.line(&format!("#define NEST__BACKTRACKING {backtracking}"));
    w.end("sizes");
    w.line("\n#include \"runtime/seam.h\"");
    let unit = Unit::new(server(m), "runtime/");
    w.begin("join points");
    w.put(&unit.join_points());
    w.end("join points");
    w.begin("runtime");
    w.put(&unit.includes(None));
    w.end("runtime");
    w.begin("matchers");
    explain::emit(m, matching, &mut w);
    w.line("#include \"runtime/platform/platform.h\"");
    w.line("#include \"runtime/platform/scan.h\"");
    if backtracking > 0 {
        w.line("#include \"runtime/service/backtracking/backtracking.h\"");
    }
    tables::emit(m, matching, &mut w);
    if m.features.contains(Feature::Items) {
        tables::emit_repeated(m, &mut w);
    }
    automata::emit(m, matching, &mut w);
    active(matching, &mut w);
    standalone(matching, &mut w);
    timers(m, &mut w);
    w.end("matchers");
    identity(m, &mut w);
    if inside::has(m) {
        inside::lines(m, &mut w);
    }
    options(m, &mut w);
    w.finish()
}

/// `nest__spec_active`: a bit for each condition.
fn active(matching: &Matching, w: &mut Writer) {
    w.line(
        "\nbool nest__spec_active(uint64_t states, unsigned last, struct nest__active *active) {",
    );
    w.line("    (void)states;");
    w.line("    (void)last;");
    let words = matching.conditions.len().div_ceil(64).max(1);
    for word in 0..words {
        let bits = matching.conditions.iter().enumerate();
        let bits = bits.skip(word * 64).take(64).map(|(i, cond)| match cond {
            Cond::True => format!("{:#x}u", 1u64 << (i % 64)),
            cond => format!("(uint64_t)({}) << {}", condition(cond), i % 64),
        });
        let bits: Vec<String> = bits.collect();
        let all = if bits.is_empty() {
            "0".to_string()
        } else {
            bits.join(" |\n                      ")
        };
        w.line(&format!("    active->bits[{word}] = {all};"));
    }
    let any: Vec<String> = (0..words)
        .map(|n| format!("active->bits[{n}] != 0"))
        .collect();
    w.line(&format!("    return {};", any.join(" || ")));
    w.line("}");
}

/// `nest__spec_standalone`: the active ones of the rules that are matched apart.
fn standalone(matching: &Matching, w: &mut Writer) {
    w.line(
        "\nunsigned nest__spec_standalone(const struct nest__active *active, uint16_t *rules) {",
    );
    w.line("    unsigned n = 0;");
    w.line("    (void)active, (void)rules;");
    for rule in matching.standalone.keys() {
        let condition = matching.condition_of[*rule];
        w.line(&format!(
            "    if ((active->bits[{}] >> {} & 1) != 0) {{",
            condition / 64,
            condition % 64
        ));
        w.line(&format!("        rules[n++] = {rule};"));
        w.line("    }");
    }
    w.line("    return n;");
    w.line("}");
}

/// `nest__timers` and `nest__spec_timer`: tried from the shortest on, so the first that holds is
/// the one.
fn timers(m: &Machine, w: &mut Writer) {
    w.line("\nconst struct nest__timer nest__timers[] = {");
    for timer in &m.timers {
        w.line(&format!(
            "    {{{}, {}, {}, {}}},",
            string(&timer.label),
            string(&timer.file),
            timer.line,
            timer.after
        ));
    }
    if m.timers.is_empty() {
        w.line("    {\"none\", \"\", 0, 1}, /* never active */");
    }
    w.line("};");
    w.line("int nest__spec_timer(uint64_t states, unsigned last) {");
    w.line("    (void)states;");
    w.line("    (void)last;");
    let mut order: Vec<usize> = (0..m.timers.len()).collect();
    order.sort_by_key(|i| m.timers[*i].after);
    for i in order {
        let cond = &m.timers[i].cond;
        if *cond == Cond::True {
            w.line(&format!("    return {i};"));
            w.line("}");
            return;
        }
        w.line(&format!("    if ({}) {{", condition(cond)));
        w.line(&format!("        return {i};"));
        w.line("    }");
    }
    w.line("    return -1;");
    w.line("}");
}

fn identity(m: &Machine, w: &mut Writer) {
    w.begin("identity");
    note(w);
    w.line("const char *const nest__state_names[] = {");
    for state in &m.states {
        w.line(&format!("    {},", string(state)));
    }
    w.line("};");
    w.line(&format!(
        "const unsigned nest__state_count = {};",
        m.states.len()
    ));
    w.line(&format!(
        "const char nest__spec_name[] = {};",
        string(&m.name)
    ));
    w.line(&format!(
        "const char nest__spec_file[] = {};",
        string(&m.file)
    ));
    w.line(&format!(
        "const char nest__model_name[] = {};",
        string(m.settings.model.row().name)
    ));
    w.line(&format!(
        "const char nest__tool_version[] = {};",
        string(crate::version::VERSION)
    ));
    w.line(&format!(
        "const bool nest__has_start = {};",
        m.start.is_some()
    ));
    w.line(&format!(
        "const bool nest__has_overload = {};",
        m.overload.is_some()
    ));
    if m.features.contains(Feature::Tls) {
        protocols(&m.settings.protocols, w);
    }
    w.end("identity");
}

/// `nest__spec_alpn`: names as in the extension of the handshake, the length before each.
fn protocols(names: &[String], w: &mut Writer) {
    let name = |n: &String| {
        let bytes = n.bytes().map(|b| format!(", {b}"));
        format!("{}{}", n.len(), bytes.collect::<String>())
    };
    let size: usize = names.iter().map(|n| 1 + n.len()).sum();
    let all: Vec<String> = match names {
        [] => vec!["0".to_string()], // C has no empty arrays
        _ => names.iter().map(name).collect(),
    };
    let all = all.join(", ");
    w.line(&format!("const uint8_t nest__spec_alpn[] = {{{all}}};"));
    w.line(&format!("const unsigned nest__spec_alpn_size = {size};"));
}

fn options(m: &Machine, w: &mut Writer) {
    w.begin("options");
    for option in &m.settings.run {
        if let Some(name) = valid(option.info.value) {
            w.line(&format!("int {name}(const char *text, char *reason);"));
        }
    }
    w.line("const struct nest__option nest__options[] = {");
    for option in &m.settings.run {
        w.put(&option_row(m, option));
    }
    if inside::has(m) {
        inside::rows(m, w);
    }
    w.line("};");
    w.line("const unsigned nest__option_count = sizeof nest__options / sizeof nest__options[0];");
    w.end("options");
}

fn option_row(m: &Machine, option: &RunOption) -> String {
    let info = option.info;
    let (kind, least, most) = match info.value {
        Value::Number { least, most } if info.name == "maxClients" => (
            "NEST__NUMBER",
            least,
            most.min(m.settings.model.most_clients()),
        ),
        Value::Number { least, most } => ("NEST__NUMBER", least, most),
        Value::Count { most } => ("NEST__COUNT", 1, most),
        Value::Size { least, most } => ("NEST__SIZE", least, most),
        Value::Address => ("NEST__ADDRESSES", 0, 1),
        Value::Addresses => ("NEST__ADDRESSES", 0, 16),
        Value::Duration => ("NEST__DURATION", 1, LONGEST),
        Value::Word(_) => ("NEST__WORD", 0, built(m, info)),
        Value::Log => ("NEST__LOG", 0, 0),
        _ => ("NEST__TEXT", 0, 0),
    };
    let addresses = matches!(info.value, Value::Address | Value::Addresses);
    let initial = if addresses && option.initial.is_empty() {
        "NULL".to_string()
    } else {
        string(&option.initial)
    };
    format!(
        "    {{{}, {kind}, &nest__config.{}, {least}, {most}, {initial},\n     {}, {}, {}, {}}},\n",
        string(info.name),
        field(info.name),
        string(info.doc),
        info.reload,
        match info.value {
            Value::Word(words) => string(words.join("|")),
            Value::Log => string(LOGS.join("|")),
            _ => "NULL".to_string(),
        },
        valid(info.value).unwrap_or("NULL")
    )
}

/// The function of the service that says whether a text is a value of the option.
fn valid(value: Value) -> Option<&'static str> {
    match value {
        Value::PerAddress => Some("nest__per_address_valid"),
        Value::Pairs => Some("nest__tls_valid"),
        Value::Overload => Some("nest__overload_valid"),
        Value::Quota => Some("nest__priority_quota_valid"),
        Value::ListenPriority => Some("nest__priority_listen_valid"),
        Value::FileCache => Some("nest__contents_valid"),
        Value::SharedSize => Some("nest__region_valid"),
        Value::Processors => Some("nest__processors_valid"),
        _ => None,
    }
}

/// The number of the last of an option's words that this server is built for. Those before it cost
/// less.
fn built(m: &Machine, info: &OptionInfo) -> u32 {
    let Value::Word(words) = info.value else {
        return 0;
    };
    let has = |word: &str| {
        let mut selected = info.selects.iter().filter(|(name, _)| *name == word);
        selected.all(|(_, feature)| m.features.contains(*feature))
    };
    let last = words.iter().rposition(|word| has(word)).unwrap_or(0);
    u32::try_from(last).expect("an option has few words")
}

/// `maxClients` as `max_clients`.
fn field(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::field;
    use nest_machine::options::{OPTIONS, Value};
    use std::collections::BTreeMap;

    /// The members of `struct nest__config`, by name: their types.
    fn members() -> BTreeMap<String, String> {
        let mut files = nest_runtime::parts().flat_map(|part| part.files);
        let settings = files.find(|file| file.path == "settings.h").unwrap();
        let (_, rest) = settings.text.split_once("struct nest__config {").unwrap();
        let (body, _) = rest.split_once("\n};").unwrap();
        let mut code = String::new();
        for part in body.split("/*") {
            code += part.rsplit("*/").next().unwrap();
        }
        let mut found = BTreeMap::new();
        for declaration in code.split(';').map(str::trim).filter(|d| !d.is_empty()) {
            let mut names = declaration.split(',').map(str::trim);
            let (kind, first) = names.next().unwrap().rsplit_once(' ').unwrap();
            let stars = first.len() - first.trim_start_matches('*').len();
            let kind = format!("{kind}{}", &first[..stars]);
            for name in [&first[stars..]].into_iter().chain(names) {
                let kind = kind.split_whitespace().collect::<Vec<_>>().join(" ");
                found.insert(name.to_string(), kind);
            }
        }
        found
    }

    #[test]
    fn the_configuration_has_a_member_for_each_option_of_a_running_server() {
        let expected: BTreeMap<String, String> = OPTIONS
            .iter()
            .filter(|option| option.run && option.value != Value::Later)
            .map(|option| {
                let is_text = matches!(
                    option.value,
                    Value::Text
                        | Value::Log
                        | Value::Address
                        | Value::Addresses
                        | Value::PerAddress
                        | Value::Pairs
                        | Value::Overload
                        | Value::Quota
                        | Value::ListenPriority
                        | Value::FileCache
                        | Value::Processors
                        | Value::SharedSize
                );
                let kind = match (is_text, option.reload) {
                    (true, false) => "const char*",
                    (true, true) => "const char *_Atomic",
                    (false, false) => "uint32_t",
                    (false, true) => "_Atomic uint32_t",
                };
                (field(option.name), kind.to_string())
            })
            .collect();
        assert_eq!(members(), expected, "struct nest__config in settings.h");
    }
}
