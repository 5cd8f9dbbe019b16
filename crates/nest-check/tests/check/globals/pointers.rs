//! C globals that actions write through static pointers, atomically, and while a function of another name
//! holds a lock.

use super::{found, names, reports};

/// The messages for a specification with start-up code.
fn begun(model: &str, declarations: &str, action: &str, startup: &str) -> Vec<String> {
    let text = format!(
        "%{{\n{declarations}\n%}}\n%%\nint mine;\nr = \"a\\n\" {{ {action} }}\n%%\n{startup}\n"
    );
    found(model, &text)
}

#[test]
fn writes_through_a_static_pointer_are_found() {
    for (declarations, action) in [
        ("static int n, *p = &n;", "(*p)++;"),
        ("static int n, *p = &n;", "p[0] = 1;"),
        ("static int n; static int *const p = &n;", "*p = 1;"),
        (
            "struct s { int a; }; static struct s n, *p = &n;",
            "p->a++;",
        ),
        (
            "struct s { int a; }; static struct s n[4], *p = &n[1];",
            "p->a++;",
        ),
        ("static char n[9], *p = n;", "strcpy(p, $1);"),
        ("static int n, *p = &n;", "int *q = p; *q = 1;"),
        ("static int n, *p = &n; void f(int *q) { ++*q; }", "f(p);"),
        ("static int n, *p = &n; void f(void) { ++*p; }", "f();"),
        (
            "static int n, *p = &n, *q; void f(void) { q = p; }",
            "*q = 1;",
        ),
        (
            "static int n, *p = &n; void f(void) { free(p); }",
            "*p = 1;",
        ),
        (
            "static int n, *p;\n#ifdef A\nvoid f(void) { p = &n; }\n#endif",
            "*p = 1;",
        ),
    ] {
        reports("process", declarations, action, &["n"]);
        reports("thread", declarations, action, &["n"]);
        reports("event", declarations, action, &[]);
    }
    let found = begun("process", "static int n, *p;", "*p = 1;", "p = &n;");
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn a_static_pointer_that_may_lead_elsewhere_is_not_reported() {
    for (declarations, action) in [
        ("int n, *p = &n;", "*p = 1;"), // another file of C may name it
        (
            "static int n, k, *p = &n; void f(void) { p = &k; }",
            "*p = 1;",
        ),
        (
            "static int n, *p = &n; void f(int *q) { p = q; }",
            "*p = 1;",
        ),
        (
            "static int n, *p = &n; void f(void) { p = g(); }",
            "*p = 1;",
        ),
        ("static int n, *p = &n; void f(void) { g(&p); }", "*p = 1;"),
        ("static int n, *p = &n; void f(void) { g(p); }", "*p = 1;"),
        ("static int n, *p = &n; static int **q = &p;", "*p = 1;"),
        ("static int n, *p = &n; int **q[1] = {&p};", "*p = 1;"),
        ("static int n, *p = &n;\n#define AWAY p = 0", "*p = 1;"),
        (
            "static int n, *p = &n; void f(void) { asm(\"\"); p = 0; }",
            "*p = 1;",
        ),
        (
            "static int n, *p = &n; void f(void) { p = = 0; }",
            "*p = 1;",
        ),
        ("static int n, *p = &n;", "int *p = &mine; *p = 1;"),
        ("static int n; static _Thread_local int *p = &n;", "*p = 1;"),
        ("static char n[4], *p[2] = {n};", "p[0][1] = 'x';"),
        (
            "struct s { int a; struct s *b; }; static struct s n, *p = &n;",
            "p->b->a = 1;",
        ),
        ("static int n, *p = &n;", "mine = *p;"),
        ("static char *p;", "memset(p, 0, 3);"),
        ("", "int *q = malloc(4); *q = 1; free(q);"),
        ("void f(int *q) { *q = 1; }", "int *q = malloc(4); f(q);"),
    ] {
        reports("thread", declarations, action, &[]);
    }
    // The pointer itself is written, once.
    for action in [
        "p = &mine; *p = 1;",
        "p = malloc(4); *p = 1; free(p);",
        "int *q = malloc(4); p = q; *q = 1;",
    ] {
        reports("thread", "static int *p;", action, &["p"]);
    }
}

#[test]
fn memory_from_the_c_library_is_that_of_its_pointer() {
    let pointer = "struct s { int a; }; static struct s *p;";
    for (model, expected) in [
        ("process", Some("each process has a copy")),
        ("thread", Some("several threads")),
        ("event", None),
    ] {
        let found = begun(model, pointer, "p->a++;", "p = calloc(1, sizeof *p);");
        assert_eq!(found.len(), usize::from(expected.is_some()), "{found:?}");
        for message in found {
            assert!(
                message.contains("writes the memory behind the C global `p`")
                    && message.contains(expected.unwrap_or_default())
                    && !message.contains("_Atomic"),
                "{message}"
            );
        }
    }
    for startup in [
        "p = mmap(0, 4096, 3, MAP_SHARED | MAP_ANONYMOUS, -1, 0);",
        "p = calloc(1, sizeof *p);\nif (p == NULL) p = other();",
    ] {
        assert!(begun("process", pointer, "p->a++;", startup).is_empty());
    }
    let of_function = format!("{pointer}\nstatic void make(void) {{ p = malloc(sizeof *p); }}");
    assert_eq!(
        begun("process", &of_function, "p->a++;", "make();").len(),
        1
    );
    // Each worker has its own on purpose.
    for worker in ["make();", "p = malloc(sizeof *p);"] {
        let text = format!(
            "%{{\n{of_function}\n%}}\n%worker {{ {worker} }}\n%%\nr = \"a\\n\" {{ p->a++; }}\n"
        );
        assert!(found("process", &text).is_empty(), "{worker}");
    }
    // The code of the server has a copy of it, in every model.
    let text = format!(
        "%{{\n{pointer}\n%}}\n%timer 1s {{ p->a++; }}\n%%\nr = \"a\\n\" {{ $reply(\"%d\", p->a); }}\n%%\np = malloc(8);\n"
    );
    let found = found("event", &text);
    assert!(
        found.len() == 1 && found[0].contains("writes the memory behind the C global `p`"),
        "{found:?}"
    );
}

#[test]
fn an_atomic_variable_is_right_in_threads_and_a_copy_in_processes() {
    for (declarations, action) in [
        ("_Atomic int n;", "n++;"),
        ("static _Atomic(int) n;", "n++;"),
        ("#include <stdatomic.h>\nstatic atomic_int n;", "n = 1;"),
        ("static _Atomic int n;", "atomic_fetch_add(&n, 1);"),
        ("static _Atomic long n[4];", "atomic_store(&n[1], 1);"),
        ("static int n;", "__atomic_fetch_add(&n, 1, 0);"),
        ("_Atomic int n;", "_Atomic int *p = &n; *p = 1;"),
        ("static _Atomic int n, *p = &n;", "*p = 1;"),
        ("_Atomic int n; void f(_Atomic int *p) { ++*p; }", "f(&n);"),
        (
            "int n; void f(int *p) { __atomic_store_n(p, 1, 0); }",
            "f(&n);",
        ),
        ("", "static _Atomic int n; n++;"),
    ] {
        reports("process", declarations, action, &["n"]);
        reports("thread", declarations, action, &[]);
        reports("event", declarations, action, &[]);
        reports(
            "event",
            declarations,
            &format!("$block {{ {action} }}"),
            &[],
        );
    }
    for (declarations, action) in [
        ("static _Atomic int n;", "mine = n;"),
        ("static _Atomic int n;", "mine = atomic_load(&n);"),
        ("static const _Atomic int n;", "mine = n;"),
    ] {
        reports("process", declarations, action, &[]);
    }
    // A pointer to an atomic variable is not atomic.
    reports("thread", "static _Atomic int n, *p;", "p = &n;", &["p"]);
    reports(
        "thread",
        "static int n; static int *_Atomic p;",
        "p = &n;",
        &[],
    );
    let several = "%option eventServer 9\n%option dispatchers 2\n%{\nstatic _Atomic int n;\n%}\n%%\nr = \"a\\n\" { n++; }\n";
    let several = found("event", several);
    assert!(
        several.len() == 1 && several[0].contains("nest: allow W0501, W0104"),
        "{several:?}"
    );
}

#[test]
fn a_function_that_leaves_a_lock_taken_is_one() {
    let lock = "static pthread_mutex_t m; static int n; static bool late;";
    let leave = "static void leave(void) { pthread_mutex_unlock(&m); }";
    for (functions, action) in [
        (
            "static void enter(void) { pthread_mutex_lock(&m); }",
            "enter(); n++; leave();",
        ),
        (
            "static void own(void) { mtx_lock(&m); } static void enter(void) { own(); }",
            "enter(); n++; leave();",
        ),
        (
            "static void enter(void) { if (late) { pthread_mutex_lock(&m); } }",
            "enter(); n++; leave();",
        ),
        (
            "static int enter(void) { pthread_mutex_lock(&m); if (late) { leave(); return -1; } return 0; }",
            "if (enter() == 0) { n++; leave(); }",
        ),
        (
            "#define ENTER pthread_mutex_lock(&m)",
            "ENTER; n++; leave();",
        ),
        (
            "#define ENTER() pthread_mutex_lock(&m)",
            "ENTER(); n++; leave();",
        ),
        (
            "static void enter(void) { pthread_mutex_lock(&m); } static void f(void) { enter(); n++; leave(); }",
            "f();",
        ),
        (
            "static void enter(void) { nest_lock_begin(false); }",
            "enter(); n++; nest_lock_end();",
        ),
    ] {
        let declarations = format!("{lock}\n{leave}\n{functions}");
        reports("thread", &declarations, action, &[]);
        reports("process", &declarations, action, &["n"]);
    }
    for (functions, action) in [
        (
            "static void enter(void) { pthread_mutex_lock(&m); leave(); }",
            "enter(); n++;",
        ),
        (
            "static void enter(void) { pthread_mutex_lock(&m); late = 1; pthread_mutex_unlock(&m); }",
            "enter(); n++;",
        ),
        (
            "static void enter(void) { for (;;) { pthread_mutex_lock(&m); if (late) { leave(); return; } leave(); } }",
            "enter(); n++;",
        ),
        (
            "static void enter(void) { if (pthread_mutex_lock(&m) == 0) { leave(); } }",
            "enter(); n++;",
        ),
        (
            "#define ENTER do { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); } while (0)",
            "ENTER; n++;",
        ),
        ("", "leave(); n++;"),
        ("", "nest_lock_end(); n++;"),
        ("static void enter(void) { late = 1; }", "enter(); n++;"),
    ] {
        let declarations = format!("{lock}\n{leave}\n{functions}");
        let found = names("thread", &declarations, action);
        assert!(found.contains(&"n".to_string()), "{functions} {action}");
    }
    for (model, action, expected) in [
        ("thread", "$lock { n++; }", 0),
        ("thread", "$block { $lock { n++; } }", 0),
        ("process", "$lock { n++; }", 1),
        ("thread", "$lock { k++; } n++;", 1),
    ] {
        let text = format!(
            "%{{\nstatic int n;\n%}}\n%shared 1K {{ int k; }}\n%%\nr = \"a\\n\" {{ {action} }}\n"
        );
        assert_eq!(found(model, &text).len(), expected, "{model} {action}");
    }
}
