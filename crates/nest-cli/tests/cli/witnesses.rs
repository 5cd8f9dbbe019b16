//! No witness is a claim: of every warning that a page or a diagnostics case draws, the conversation
//! that is told is held with the built server, and shows what is said.
//!
//! New codes come in by themselves: what is not looked at more closely must at least be taken.

use crate::common::Place;
use nest_diag::{Code, Severity};
use serde_json::Value;
use std::path::Path;

/// The inside of the fences that begin with exactly this line.
fn fences(markdown: &str) -> Vec<String> {
    let mut parts = markdown.split("\n```");
    parts.next();
    let opened = parts.filter_map(|part| part.strip_prefix("nest\n"));
    opened.map(|inside| format!("{inside}\n")).collect()
}

/// Specifications that draw warnings, by name.
fn specifications() -> Vec<(String, String)> {
    let warnings = Code::ALL
        .iter()
        .filter(|c| c.severity() == Severity::Warning);
    let mut all: Vec<(String, String)> = warnings
        .flat_map(|c| {
            fences(c.page())
                .into_iter()
                .map(|s| (c.name().to_string(), s))
        })
        .collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for case in std::fs::read_dir(root.join("conformance/cases/diagnostics")).unwrap() {
        let path = case.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with('W') {
            let text = std::fs::read_to_string(&path).unwrap();
            all.extend(fences(&text).into_iter().map(|s| (name.clone(), s)));
        }
    }
    all.sort();
    all
}

/// The name of the rule at a place, as a trace has it.
fn rule_at(text: &str, place: &Value) -> String {
    let number = |field: &str| usize::try_from(place[field].as_u64().unwrap()).unwrap();
    let line = text.lines().nth(number("line") - 1).unwrap();
    let before: String = line.chars().take(number("column") - 1).collect();
    match before.trim_end().strip_suffix('=') {
        Some(named) => named.split_whitespace().last().unwrap().to_string(),
        None => format!("line {}", number("line")),
    }
}

/// Who took each message, in order.
fn takers(shown: &str) -> Vec<&str> {
    let consumed = shown.lines().filter(|line| line.contains(" <- "));
    consumed
        .map(|line| line.rsplit("  ").next().unwrap())
        .collect()
}

/// Whether what was shown is what a finding says.
fn shows(text: &str, finding: &Value, shown: &str) -> bool {
    let (waiting, closed) = shown.split_once("Then it closes:").unwrap_or((shown, ""));
    let rule = rule_at(text, finding);
    let acts = finding["witness"].as_array().unwrap();
    let sent = acts.iter().filter(|act| act["send"].is_string()).count();
    match finding["code"].as_str().unwrap() {
        // The other takes it.
        "W0203" | "W0205" | "W0206" => {
            let other = rule_at(text, &finding["labels"][0]);
            let last = takers(shown).last().copied();
            other != rule && last == Some(&*other)
        }
        "W0204" => waiting.contains("end  stuck"),
        // Not taken before the client closes, and then by this rule.
        "W0302" => takers(waiting).len() == sent - 1 && takers(closed).first() == Some(&&*rule),
        "W0303" => waiting.contains("end  input"),
        "W0304" => takers(waiting).len() == sent - 1 && !waiting.contains("end  "),
        // Which rule takes it has been compared. An action may read what comes behind.
        _ => !takers(shown).is_empty(),
    }
}

#[test]
fn every_witness_shows_what_is_said() {
    let place = Place::new();
    let (mut played, mut wrong) = (0, Vec::new());
    for (name, text) in specifications() {
        if text.contains("%include") {
            continue; // its library stands elsewhere
        }
        place.write("w.nest", &text);
        let found = place
            .nest(&["check", "--format=json", "w.nest"])
            .with_status(0);
        for line in found.out.lines() {
            let finding: Value = serde_json::from_str(line).unwrap();
            if !finding["witness"].is_array() {
                continue;
            }
            played += 1;
            let number = finding["number"].to_string();
            let shown = place.nest(&["check", "--replay", &number, "w.nest"]);
            // What a format of the client's makes of memory may well end the server.
            let crashed = finding["code"] == "W0402" && shown.err.contains(" crashed: ");
            let shown = shown.with_status(i32::from(crashed));
            if !shows(&text, &finding, &shown.out) {
                wrong.push(format!("{name}: {line}\n{}{}", shown.out, shown.err));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(played >= 10, "only {played} were played");
}

/// Where C code decides, the server may take another way than the finding says, and that is told.
#[test]
fn another_way_is_said() {
    let place = Place::new();
    let text = "%{\n#include <string.h>\n#include <unistd.h>\n%}\n%state IN\n%%\n\
                pass = \"PASS \" [a-z]{1,9} \"\\n\" { if (strcmp($2, \"x\") == 0) $seen(IN); }\n\
                IN: rm = \"RM \" [^\\n\\0]+ \"\\n\" { unlink($2); }\n\
                other = [^\\n]* \"\\n\" { $reply(\"what?\\n\"); }\n";
    place.write("a.nest", text);
    let list = place.nest(&["check", "a.nest"]).with_status(0);
    list.out_has("W0404").out_has("--replay 1 ");
    place
        .nest(&["check", "--replay", "1", "a.nest"])
        .with_status(1)
        .err_has("other matches \"RM /\\n\", not rm; C code in the action of pass decides");
    place
        .nest(&["check", "--replay", "0", "a.nest"])
        .with_status(2)
        .err_has("there is no finding 0: there is one, number 1");
    // Nothing but the action's C code knows that the answer is not waited for.
    let text = "%{\n#include <string.h>\n%}\n%state IN\n%%\n\
                !IN: in = \"in \" [a-z] \"\\n\" { if (strcmp($2, \"x\")) $close(); else $seen(IN); }\n\
                IN: word = [a-z]+ { $reply(\"word\\n\"); }\n";
    place.write("b.nest", text);
    place
        .nest(&["check", "--replay", "1", "b.nest"])
        .with_status(1)
        .err_has("it does not wait; C code in the action of in decides");
}
