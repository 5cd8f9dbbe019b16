//! `nest test`: which branches of actions ran, in every model, and what is reported of them.

use crate::common::Place;
use serde_json::{Value, json};

/// Rules with branches, one that cannot be measured, and one that no page runs.
const STORE: &str = "%{\n#include <errno.h>\n#include <stdlib.h>\n%}\nNL \"\\n\"\n%%\nint stored;\n\
    START { if (stored == 0) $reply(\"hi\\n\"); }\n\
    store = \"STORE \" [0-9]{1,4} NL {\n\
    \x20   int n = atoi($2);\n\
    \x20   if (n > 10) { $reply(\"failed\\n\"); return; }\n\
    \x20   for (int i = 0; i < n; i++) stored++;\n\
    \x20   switch (n) {\n\
    \x20   case 0: $reply(\"none\\n\"); break;\n\
    \x20   case ERANGE: default: $reply(\"stored\\n\");\n\
    \x20   }\n\
    }\n\
    odd = \"ODD\" NL {\n\
    #if 0\n\
    \x20   if (stored) $reply(\"never\\n\");\n\
    #endif\n\
    \x20   $reply(\"odd\\n\");\n\
    }\n\
    never = \"NEVER\" NL { if (stored) $reply(\"%d\\n\", stored); }\n";

fn page(steps: &[(&str, &str)]) -> String {
    let mut text = "# store\n\nspec: store.nest\n\n```client\nexpect \"hi\\n\"\n".to_owned();
    for (sent, received) in steps {
        text += &format!("send \"{sent}\\n\"\nexpect \"{received}\\n\"\n");
    }
    text + "```\n"
}

fn store(steps: &[(&str, &str)]) -> Place {
    let place = Place::new();
    place.write("store.nest", STORE);
    place.write("one.md", page(steps));
    place
}

/// The coverage as JSON. The page gets its trace first.
fn coverage(place: &Place, more: &[&str]) -> Value {
    let all = [&["test", "--write", "--format", "json", "store.nest"], more].concat();
    let ended = place.nest(&all).with_status(0);
    let lines = ended.out.lines();
    let lines = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let found = lines
        .into_iter()
        .find_map(|line| line.get("coverage").cloned());
    found.unwrap()
}

#[test]
fn a_rule_that_only_failed_is_partly_covered() {
    let place = store(&[("STORE 11", "failed"), ("ODD", "odd")]);
    let quick = [
        "test",
        "--write",
        "--quick",
        "--model",
        "script",
        "store.nest",
    ];
    place
        .nest(&quick)
        .with_status(0)
        .out_has("branches     2 of 11, 18%  ")
        .out_has("store     9  in 1 of 1 sets, partly: 1 of 7 branches\n")
        .out_has("odd      18  in 1 of 1 sets\n")
        .out_has("never    24  never ran\n")
        .out_has(
            "  branches that did not run:\n\
             \x20   START, line 8: the `if` was never false\n\
             \x20   store, line 11: the `if` was never false\n\
             \x20   store, line 12: the `for` was never true\n\
             \x20   store, line 12: the `for` was never false\n\
             \x20   store, line 14: the `case 0:` never ran\n\
             \x20   store, line 15: the `case ERANGE:` never ran\n\
             \x20   store, line 15: the `default:` never ran\n\
             \x20 the branches of odd are not counted: it contains #if\n",
        );
    // The other branches run in another page.
    place.write(
        "two.md",
        page(&[("STORE 2", "stored"), ("STORE 0", "none")]),
    );
    let ended = place.nest(&quick).with_status(0);
    let ended = ended.out_has("branches     7 of 11, 63%  ").out_has(
        "  branches that did not run:\n\
         \x20   START, line 8: the `if` was never false\n\
         \x20   store, line 15: the `case ERANGE:` never ran\n\
         \x20 the branches of odd",
    );
    assert!(!ended.err.contains("warning"), "{}", ended.err);
}

#[test]
fn branches_are_counted_in_every_model() {
    for model in nest_machine::MODELS {
        let place = store(&[("STORE 3", "stored"), ("STORE 0", "none")]);
        let found = coverage(&place, &["--quick", "--model", model.name]);
        assert_eq!(
            found["branches"],
            json!({"met": 6, "all": 11}),
            "{}",
            model.name
        );
        let each = &found["each"];
        assert_eq!(each[0]["branches"], json!({"met": 5, "all": 7}));
        assert_eq!(each[1]["branches"], Value::Null);
        assert_eq!(each[2]["branches"], json!({"met": 0, "all": 2}));
        let missing = found["missing_branches"].as_array().unwrap();
        assert_eq!(missing.len(), 5);
        let first = json!({"rule": "START", "file": "store.nest", "line": 8,
                           "what": "the `if` was never false"});
        assert_eq!(missing[0], first);
        let unmeasured = json!([{"rule": "odd", "why": "it contains #if"}]);
        assert_eq!(found["unmeasured"], unmeasured);
    }
}

#[test]
fn threads_mark_branches_without_a_race() {
    let place = store(&[("STORE 3", "stored")]);
    let found = coverage(&place, &["--model", "thread"]);
    assert_eq!(found["branches"], json!({"met": 5, "all": 11}));
}

#[test]
fn generated_conversations_count() {
    let place = store(&[("STORE 11", "failed")]);
    let generate = ["test", "--quick", "--model", "script", "store.nest"];
    place
        .nest(&[&generate[..], &["--write"]].concat())
        .with_status(0);
    let ended = place.nest(&[&generate[..], &["--generate"]].concat());
    let ended = ended.with_status(0).out_has("now covered: 3 of 3, 100%\n");
    let line = ended
        .out
        .lines()
        .find(|line| line.starts_with("branches of actions: "));
    let line = line.unwrap().to_owned();
    // The pages that were written run exactly these branches.
    let ended = place.nest(&generate).with_status(0);
    let share = line.trim_start_matches("branches of actions: ");
    ended.out_has(&format!("branches     {share}  "));
}
