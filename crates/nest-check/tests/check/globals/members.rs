//! C globals that actions write by their members, in macros, and by functions of the C library.

use super::reports;

#[test]
fn writes_to_elements_of_members_are_found() {
    let types = "struct in { int c[3], d; }; struct s { int c[2], e[2][3]; char *p; struct in in, all[2]; };";
    for (declarations, action) in [
        ("struct s n;", "n.c[1] = 1;"),
        ("struct s n;", "n.e[1][2]++;"),
        ("struct s n;", "*n.c = 1;"),
        ("struct s n;", "n.in.c[1] = 1;"),
        ("struct s n;", "n.all[1].c[1] = 1;"),
        ("struct s n[4];", "n[1].c[1]++;"),
        ("struct s n[4];", "n[1].all[0].d++;"),
        ("struct s n;", "struct s *q = &n; q->c[1] = 1;"),
        ("struct s n;", "int *q = n.c; *q = 1;"),
        ("struct s n;", "int *q = n.e[1]; *q = 1;"),
        ("struct s n;", "n.p = 0;"),
        ("struct s n;", "strcpy((char *)n.c, \"a\");"),
        ("struct s n;", "((struct s *)&n)->c[1] = 1;"),
        ("struct s n; void f(struct s *q) { q->c[1] = 1; }", "f(&n);"),
        ("static struct s n, *q = &n;", "q->c[0] = 1;"),
        ("static struct s n[2], *q = n;", "q[1].in.c[0] = 1;"),
        (
            "static struct s *n; void f(void) { n = calloc(1, sizeof *n); }",
            "n->c[0] = 1;",
        ),
        (
            "typedef struct { char c[4]; } t; static t n;",
            "n.c[1] = 'x';",
        ),
        (
            "typedef struct t t; struct t { char c[4]; }; static t n;",
            "n.c[1] = 'x';",
        ),
        ("typedef char line[9]; static line n;", "n[1] = 'x';"),
        (
            "typedef char line[9]; struct t { line c; }; static struct t n;",
            "n.c[1] = 'x';",
        ),
        (
            "struct { union { int a; char c[4]; }; } n;",
            "n.c[1] = 'x';",
        ),
        (
            "struct { struct { char c[4]; } in[2]; } n;",
            "n.in[1].c[1] = 'x';",
        ),
        ("union { int a; char c[4]; } n;", "n.c[1] = 'x';"),
        ("", "static struct s n; n.c[1] = 1;"),
    ] {
        reports(
            "process",
            &format!("{types}\n{declarations}"),
            action,
            &["n"],
        );
    }
    for (declarations, action) in [
        ("struct s n;", "n.p[1] = 'x';"),
        ("struct s n;", "*n.p = 'x';"),
        ("struct s n;", "strcpy(n.p, \"a\");"),
        ("struct s *n[2];", "n[1]->c[1] = 1;"),
        ("struct s *n;", "n->c[1] = 1;"),
        ("char *n[2];", "strcpy(n[1], \"a\");"),
        ("typedef char *t; static t n[2];", "n[1][2] = 'x';"),
        ("struct other n;", "n.c[1] = 1;"),
        ("#include \"other.h\"\nstatic other_t n;", "n.c[1] = 1;"),
        ("const struct s n;", "mine = n.c[1];"),
        ("struct s n;", "mine = n.c[1] + n.in.c[0];"),
        ("_Thread_local struct s n;", "n.c[1] = 1;"),
        ("struct s n;", "struct s n = {0}; n.c[1] = 1;"),
        ("struct s n;", "struct s q = n; q.c[1] = 1;"),
        ("struct s n; void f(struct s n) { n.c[1] = 1; }", "f(n);"),
        (
            "#ifdef A\nstruct t { int c[2]; };\n#else\nstruct t { int *c; };\n#endif\nstruct t n;",
            "n.c[1] = 1;",
        ),
        (
            "struct t {\n#ifdef A\nint c[2];\n#else\nint *c;\n#endif\n}; struct t n;",
            "n.c[1] = 1;",
        ),
    ] {
        reports("process", &format!("{types}\n{declarations}"), action, &[]);
    }
}

#[test]
fn an_atomic_member_is_right_in_threads() {
    let types = "struct s { _Atomic int a, c[2]; _Atomic int *p; int d; };";
    for (declarations, action) in [
        ("struct s n;", "n.a++;"),
        ("struct s n;", "n.c[1] = 2;"),
        ("struct s n[2];", "n[1].c[1] += 2;"),
        ("struct s n; void f(struct s *q) { q->a++; }", "f(&n);"),
        ("typedef _Atomic int t; static t n;", "n++;"),
    ] {
        let declarations = format!("{types}\n{declarations}");
        reports("process", &declarations, action, &["n"]);
        reports("thread", &declarations, action, &[]);
    }
    for action in ["n.d++;", "n.p = 0;", "n.a++; n.d++;"] {
        reports("thread", &format!("{types} struct s n;"), action, &["n"]);
    }
}

#[test]
fn writes_in_macros_are_found() {
    for (declarations, action) in [
        ("int n;\n#define COUNT n++", "COUNT;"),
        ("int n;\n#define COUNT (n++)", "mine = COUNT;"),
        ("int n;\n#define COUNT() n++", "COUNT();"),
        ("int n;\n#define ADD(k) n += (k)", "ADD(2);"),
        (
            "int n;\n#define ADD(k) \\\n  do { n += (k); } while (0) // all",
            "ADD(2);",
        ),
        ("int n;\n#define SET(to, k) to = (k)", "SET(n, 1);"),
        ("int n;\n#define SET(to) *(to) = 1", "SET(&n);"),
        ("int n[4];\n#define SET(at) n[at] = 1", "SET(2);"),
        ("int n[4];\n#define OF(at) n[at]", "OF(2)++;"),
        ("struct { int a; } n;\n#define A n.a", "A++;"),
        ("struct { int c[2]; } n;\n#define C (n.c)", "C[1]++;"),
        ("struct { int c[2]; } n;\n#define C(k) (k).c", "C(n)[1]++;"),
        ("int n;\n#define ONE n++\n#define TWO ONE; ONE", "TWO;"),
        (
            "int n;\n#define IN(k) (k)++\n#define OUT(k) IN(k)",
            "OUT(n);",
        ),
        ("int n; void f(void) { n++; }\n#define COUNT f()", "COUNT;"),
        (
            "int n; void f(int *p) { ++*p; }\n#define COUNT(k) f(&(k))",
            "COUNT(n);",
        ),
        (
            "int n; void f(void) { n++; }\n#define CALL(it) it()",
            "CALL(f);",
        ),
        ("int n;\n#define COUNT n++\nvoid f(void) { COUNT; }", "f();"),
        (
            "#define COUNT(p) ++*(p)\nint n; void f(int *q) { COUNT(q); }",
            "f(&n);",
        ),
        (
            "char n[9];\n#define SAY(text) strcpy(n, text)",
            "SAY(\"a\");",
        ),
        ("int n;\n#define n n", "n++;"),
        ("#define COUNT n++", "static int n; COUNT;"),
        (
            "struct s { int a; }; static struct s n, *p = &n;\n#define COUNT p->a++",
            "COUNT;",
        ),
    ] {
        reports("process", declarations, action, &["n"]);
    }
    for (declarations, action) in [
        ("int n;\n#define COUNT n++", "mine = n;"),
        ("int n;\n#define COUNT n++", "int n = 0; COUNT;"),
        ("int n;\n#define COUNT(k) (k)++", "COUNT(mine); mine = n;"),
        ("int n;\n#define COUNT(n) (n)++", "COUNT(mine);"),
        (
            "int n;\n#define COUNT do { int n = 0; n++; } while (0)",
            "COUNT;",
        ),
        ("int n;\n#define READ(to) to = n", "READ(mine);"),
        ("int n;\n#define COUNT() n++", "(void)COUNT;"),
        ("int n;\n#define SHOW(k) #k", "mine = *SHOW(n);"),
        ("static int n, *p = &n;\n#define P p", "*p = 1;"),
        (
            "int n;\n#define SET(p) p = &mine",
            "int *q = &n; SET(q); *q = 1;",
        ),
        (
            "int n;\n#ifdef A\n#define COUNT n++\n#else\n#define COUNT (void)0\n#endif",
            "COUNT;",
        ),
        (
            "int n;\n#define COUNT n++\n#undef COUNT\n#define COUNT 0",
            "mine = COUNT + n;",
        ),
        ("int n;\n#define PART do { n++;", "mine = n;"),
        ("_Thread_local int n;\n#define COUNT n++", "COUNT;"),
        ("struct { int *c; } n;\n#define C (n.c)", "C[1]++;"),
        ("int n;\n#define A B\n#define B A", "A++; mine = n;"),
    ] {
        reports("process", declarations, action, &[]);
    }
}

#[test]
fn a_macro_that_takes_a_lock_protects_what_stands_in_it() {
    let lock = "static pthread_mutex_t m; static int n; static void f(void) { n++; }";
    for (of_macro, action) in [
        (
            "SAFE pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m)",
            "SAFE;",
        ),
        (
            "SAFE pthread_mutex_lock(&m); f(); pthread_mutex_unlock(&m)",
            "SAFE;",
        ),
        (
            "SAFE(k) do { pthread_mutex_lock(&m); (k)++; pthread_mutex_unlock(&m); } while (0)",
            "SAFE(n);",
        ),
    ] {
        let declarations = format!("{lock}\n#define {of_macro}");
        reports("process", &declarations, action, &["n"]);
        reports("thread", &declarations, action, &[]);
        reports("thread", &declarations, &format!("{action} n++;"), &["n"]);
    }
}

#[test]
fn writes_by_functions_of_the_c_library_are_found() {
    for (declarations, action) in [
        ("int n;", "sscanf($1, \"%d\", &n);"),
        ("int n;", "sscanf($1, \"%d %d\", &mine, &n);"),
        ("char n[9];", "sscanf($1, \"%8s\", n);"),
        ("int n[2];", "fscanf(stdin, \"%d\", &n[1]);"),
        ("struct { int a; } n;", "scanf(\"%d\", &n.a);"),
        ("char n[9];", "gets(n);"),
        ("char n[9];", "read(0, n, 9);"),
        ("char n[9];", "recv(0, &n[1], 8, 0);"),
        ("struct timespec n;", "clock_gettime(0, &n);"),
        ("struct tm n;", "localtime_r(&when, &n);"),
        ("time_t n;", "time(&n);"),
        ("char *n;", "strtol($1, &n, 10);"),
        ("char *n;", "getline(&n, &size, stdin);"),
        ("int n[3];", "qsort(n, 3, sizeof *n, order);"),
        ("char n[9];", "nest_strlcpy(n, $1, sizeof n);"),
        ("char n[9];", "$readInto(n, 9);"),
        ("char n[9];", "nest_read_into(self, n, 9);"),
        (
            "int n; void f(int *p) { sscanf(\"1\", \"%d\", p); }",
            "f(&n);",
        ),
    ] {
        reports("process", declarations, action, &["n"]);
    }
    for (declarations, action) in [
        ("char n[9];", "sscanf(n, \"%d\", &mine);"),
        ("char n[9];", "sscanf($1, n, &mine);"),
        ("char n[9];", "memcpy(&mine, n, 4);"),
        ("char n[9];", "write(1, n, 9);"),
        ("char n[9];", "mine = strcmp(n, $1);"),
        ("char *n;", "strcpy(n, $1);"),
        ("time_t n;", "localtime_r(&n, &tm);"),
        ("int n; int time(int *p) { return *p; }", "time(&n);"),
        ("int n;\n#define time(p) 0", "time(&n);"),
        ("const char *const n[1];", "sscanf(n[0], \"%d\", &mine);"),
        ("char n[9];", "char n[9]; sscanf($1, \"%8s\", n);"),
    ] {
        reports("process", declarations, action, &[]);
    }
}
