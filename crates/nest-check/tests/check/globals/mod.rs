//! C globals that actions write: which writes are found, and in which models they are reported.

mod members;
mod pointers;

use nest_check::check;
use nest_diag::Code;
use nest_machine::{Overrides, compile};
use nest_syntax::Alone;

/// The messages of W0501 for a specification in a model.
fn found(model: &str, text: &str) -> Vec<String> {
    let overrides = Overrides {
        model: Some(model.to_string()),
        ..Overrides::default()
    };
    let compiled = compile("t.nest", text, &mut Alone, &overrides);
    let machine = compiled.machine;
    let machine = machine.unwrap_or_else(|| panic!("{text}\n{:#?}", compiled.diagnostics));
    let findings = check(&machine).into_iter().map(|f| f.diagnostic);
    let findings = findings.filter(|d| d.code == Code::W0501);
    findings
        .map(|d| format!("{} {}", d.message, d.help.unwrap_or_default()))
        .collect()
}

/// The names of the variables that are reported.
fn names(model: &str, declarations: &str, action: &str) -> Vec<String> {
    let text = format!("%{{\n{declarations}\n%}}\n%%\nint mine;\nr = \"a\\n\" {{ {action} }}\n");
    let all = found(model, &text).into_iter();
    all.map(|message| {
        message
            .split('`')
            .nth(3)
            .expect("the message names the variable")
            .to_string()
    })
    .collect()
}

#[track_caller]
fn reports(model: &str, declarations: &str, action: &str, expected: &[&str]) {
    assert_eq!(
        names(model, declarations, action),
        expected,
        "{declarations} {action}"
    );
}

#[test]
fn each_model_has_its_own_answer() {
    let (plain, locked) = (
        "static int n;",
        "pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m);",
    );
    for (model, action, expected) in [
        ("process", "n++;", Some("each process has a copy")),
        ("thread", "n++;", Some("several threads")),
        ("event", "n++;", None),
        ("script", "n++;", None),
        ("process", locked, Some("each process has a copy")),
        ("thread", locked, None),
        ("event", locked, None),
        (
            "process",
            "$block { n++; }",
            Some("each process has a copy"),
        ),
        ("thread", "$block { n++; }", Some("several threads")),
        ("event", "$block { n++; }", Some("several threads")),
    ] {
        let text = format!(
            "%{{\n#include <pthread.h>\nstatic pthread_mutex_t m;\n{plain}\n%}}\n%%\nr = \"a\\n\" {{ {action} }}\n"
        );
        let found = found(model, &text);
        match expected {
            None => assert!(found.is_empty(), "{model} {action}\n{found:?}"),
            Some(part) => {
                assert_eq!(found.len(), 1, "{model} {action}");
                assert!(
                    found[0].contains(part) && found[0].contains("`r`"),
                    "{found:?}"
                );
            }
        }
    }
}

#[test]
fn the_models_in_which_it_is_right_are_named() {
    let text = "%{\nint n;\n%}\n%%\nr = \"a\\n\" { n = 1; }\n";
    let plain = &found("thread", text)[0];
    assert!(plain.contains("right in the event and uring models"));
    let locked = "%{\nint n;\n%}\n%%\nr = \"a\\n\" { lock(); n = 1; unlock(); }\n";
    assert!(found("process", locked)[0].contains("right in the thread, event and uring models"));
    let several = text.replacen(
        "%%",
        "%option eventServer 9\n%option dispatchers auto\n%%",
        1,
    );
    let several = &found("event", &several)[0];
    assert!(several.contains("each process has a copy"), "{several}");
    assert!(several.contains("right in the event and uring models with one dispatcher"));
    let block = "%{\nint n;\n%}\n%%\nr = \"a\\n\" { $block { n = 1; } }\n";
    assert!(found("event", block)[0].contains("right in no model"));
}

#[test]
fn every_kind_of_write_is_found() {
    for (declarations, action) in [
        ("int n;", "n = 1;"),
        ("int n;", "n += 1;"),
        ("int n;", "--n;"),
        ("int n;", "(n) = 1;"),
        ("static int n = 3;", "if ($len(1)) n++;"),
        ("char n[9];", "n[1] = 'a';"),
        ("char n[9];", "strcpy(n, $1);"),
        ("char n[9];", "snprintf(&n[2], 3, \"%d\", 1);"),
        ("struct { int a; } n;", "n.a = 2;"),
        ("struct { int a; } n[4];", "n[2].a++;"),
        ("const char *n;", "n = \"x\";"),
        ("static const char *n[2];", "n[1] = \"x\";"),
        ("char *n[2][3];", "n[1][2] = 0;"),
        ("int n[2][3];", "n[1][2] = 4;"),
        ("static struct s *n[4];", "n[1] = 0;"),
        ("static int (*n)(void);", "n = getchar;"),
        ("int (*n[3])(void);", "n[1] = getchar;"),
        ("int (*n)[3];", "n = 0;"),
        ("#ifdef A\nint n;\n#endif", "n = 1;"),
        ("", "static int n; n++;"),
        ("int n; void f(void) { n++; }", "f();"),
        ("int n; void g(void) { n++; } void f(void) { g(); }", "f();"),
        ("void f(void) { static int n; n++; }", "f();"),
    ] {
        reports("process", declarations, action, &["n"]);
    }
    reports("thread", "int n, k;", "n++; n++; k++;", &["n", "k"]);
}

#[test]
fn writes_through_a_local_pointer_are_found() {
    for (declarations, action) in [
        ("int n;", "int *p = &n; *p = 1;"),
        ("int n;", "int *p = &n; p[0]++;"),
        ("int n;", "int *p; p = 0; if ($len(1)) p = &n; *p += 1;"),
        ("int n[4];", "int *p = n; *p++ = 1;"),
        ("char n[4];", "char *p = n; strcpy(p, $1);"),
        ("int n[4];", "int *p = &n[1], *q = p + 1; *q = 1;"),
        (
            "struct { int a; } n;",
            "void *v = &n; struct s *p = v; p->a = 1;",
        ),
        ("int n; void f(void) { int *p = &n; (*p)++; }", "f();"),
    ] {
        reports("process", declarations, action, &["n"]);
    }
    for (declarations, action) in [
        ("int n, k;", "int *p = &n; if ($len(1)) p = &k; *p = 1;"),
        ("int n;", "int *p = &n; mine = *p; p = &mine; *p = 1;"),
        ("int n;", "int *p = &n; f(&p); *p = 1;"),
        ("int n;", "int *p = &n; SET(p); *p = 1;"),
        ("int n;", "int n = 1, *p = &n; *p = 1;"),
        ("int n;", "int *p[1] = {&n}; *p[0] = 1;"),
        ("int n;", "int *p = &n; p = 0; mine = *p;"),
        ("struct s { char *a; } n;", "struct s *p = &n; p->a[0] = 1;"),
        (
            "struct s { struct s *a; } n;",
            "struct s *p = &n; p = p->a; p->a = p;",
        ),
        ("int n; void f(int *p) { *p = 1; p = &n; }", "f(&mine);"),
    ] {
        reports("process", declarations, action, &[]);
    }
}

#[test]
fn writes_through_a_parameter_are_found() {
    for (declarations, action) in [
        ("int n; void f(int *p) { ++*p; }", "f(&n);"),
        ("int n[4]; void f(int *p) { p[1] = 1; }", "f(n);"),
        ("int n; void f(int k, int *p) { *p = k; }", "f(1, &n);"),
        (
            "int n; void g(int *p) { *p = 1; } void f(int *q) { g(q); }",
            "f(&n);",
        ),
        (
            "int n; void g(int *p) { *p = 1; } void f(void) { g(&n); }",
            "f();",
        ),
        (
            "int n; void f(int *p) { int *q = p; *q = 1; }",
            "int *p = &n; f(p);",
        ),
        (
            "struct s { int a; } n; void f(struct s *p) { p->a = 1; }",
            "f(&n);",
        ),
        ("char n[9]; void f(char *p) { strcpy(p, \"a\"); }", "f(n);"),
        ("int n; void f(int *p) { *p = 1; if (p) f(p); }", "f(&n);"),
    ] {
        reports("thread", declarations, action, &["n"]);
    }
    let both =
        "int n, k; void g(int *p, int *q) { *p = *q = 1; } void f(void) { g(&n, &k); g(&k, &n); }";
    reports("thread", both, "f();", &["k", "n"]);
    for (declarations, action) in [
        ("int n; void f(int *p) { ++*p; }", "f(&mine); mine = n;"),
        ("int n; void f(int *p) { mine = *p; }", "f(&n);"),
        ("int n; void f(int *p) { static int k; p = &k; }", "f(&n);"),
        (
            "int n, k; void f(int *p) { if (k) p = &k; *p = 1; }",
            "f(&n);",
        ),
        ("int n; void f(int p) { p = 1; }", "f(n);"),
        ("int *n; void f(int *p) { *p = 1; }", "f(n);"),
        ("_Atomic int n; void f(_Atomic int *p) { ++*p; }", "f(&n);"),
        (
            "int n; void f(int *p) { lock(); ++*p; unlock(); }",
            "f(&n);",
        ),
        (
            "int n;\n#ifdef A\nvoid f(int *p) { ++*p; }\n#else\nvoid f(int *p) { mine = *p; }\n#endif",
            "f(&n);",
        ),
        (
            "int n; void f(int *p) { ++*p; }\n#define f(p) g(*(p))",
            "f(&n);",
        ),
    ] {
        reports("thread", declarations, action, &[]);
    }
}

#[test]
fn a_function_that_locks_is_right_in_threads_and_wrong_in_processes() {
    let lock = "static pthread_mutex_t m; static int n;";
    for (function, action) in [
        (
            "static void f(void) { pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m); }",
            "f();",
        ),
        (
            "static void f(int *p) { pthread_mutex_lock(&m); ++*p; pthread_mutex_unlock(&m); }",
            "f(&n);",
        ),
        (
            "static void g(int *p) { mtx_lock(&m); ++*p; mtx_unlock(&m); } static void f(void) { g(&n); }",
            "f();",
        ),
        (
            "static void f(void) { pthread_rwlock_wrlock(&m); n++; pthread_rwlock_unlock(&m); }",
            "f();",
        ),
    ] {
        let declarations = format!("{lock}\n{function}");
        reports("process", &declarations, action, &["n"]);
        reports("thread", &declarations, action, &[]);
        reports("event", &declarations, action, &[]);
    }
}

#[test]
fn a_name_that_only_contains_the_letters_is_no_lock() {
    for action in [
        "n = clock();",
        "clock_gettime(0, &now); n++;",
        "block_signals(); n++;",
        "pthread_mutex_unlock(&m); n++;",
    ] {
        reports("thread", "long n;", action, &["n"]);
    }
}

#[test]
fn what_a_macro_may_change_leads_nowhere() {
    for (declarations, action) in [
        (
            "int n;\n#define AWAY(x) p = &x",
            "int *p = &n; AWAY(mine); *p = 1;",
        ),
        (
            "int n;\n#define AWAY(x) \\\n  p = &x",
            "int *p = &n; AWAY(mine); *p = 1;",
        ),
        ("int n;\n#define q p", "int *p = &n; q = &mine; *p = 1;"),
    ] {
        reports("process", declarations, action, &[]);
    }
}

#[test]
fn what_is_no_write_is_not_reported() {
    for (declarations, action) in [
        ("const int n = 1;", "mine = n;"),
        ("static int n;", "mine = n;"),
        ("_Thread_local int n;", "n++;"),
        ("static __thread int n;", "n++;"),
        ("extern int n;", "n++;"),
        ("int *n;", "*n = 1; n[2] = 3;"),
        ("int *n[2];", "n[1][2] = 3; *n[1] = 4;"),
        ("int (*n)[3];", "n[1][2] = 3;"),
        ("char *const n[2] = {0};", "mine = n[1] == 0;"),
        ("struct s { int a; } *n;", "n->a = 1;"),
        ("int n;", "int n = 2; n++;"),
        ("int n; void f(int n) { n++; }", "f(1);"),
        ("int n; void f(void) { n++; }", "mine = 1;"),
        ("int mine;", "mine++;"),
        ("int f(void);", "mine = f();"),
        ("", "static const int n = 1; mine = n;"),
    ] {
        reports("process", declarations, action, &[]);
    }
    // Start-up code runs before any client.
    let text = "%%\nr = \"a\\n\" { }\n%%\nstatic int n;\nvoid f(void) { n++; }\nn = 1;\nf();\n";
    assert_eq!(found("process", text), Vec::<String>::new());
}

#[test]
fn actions_beside_the_loop_are_those_of_threads() {
    for (option, expected) in [("processors 2", true), ("helpers 2", false)] {
        let text =
            format!("%option {option}\n%{{\nstatic int n;\n%}}\n%%\nr = \"a\\n\" {{ n++; }}\n");
        let found = found("event", &text);
        assert_eq!(found.len(), usize::from(expected), "{option} {found:?}");
        for message in found {
            assert!(
                message.contains("several threads") && message.contains("without processors"),
                "{message}"
            );
        }
    }
}
