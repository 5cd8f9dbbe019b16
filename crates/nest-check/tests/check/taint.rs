//! Findings about text from the client: specifications that draw them, with what a client sends, and
//! ones that are close to them and must not.

use crate::support::{WORD, action, draws, found, is_quiet};
use nest_check::{report, settle};
use nest_machine::{Overrides, compile};
use nest_syntax::Alone;

const LINE: &str = r#"[^\n]* "\n""#;
const NAME: &str = r#"[a-z]{1,8} "\n""#;

#[test]
fn parts_that_hold_a_nul_are_strings() {
    let nul = |place: &str| format!("W0401 {place}: \"\\x00\\n\"");
    for code in [
        "if (strcmp($1, \"open\") == 0) $close();",
        "if (strncasecmp($1, \"open\", 5) == 0) $close();",
        "$reply(\"%zu\\n\", strlen($1));",
        "nest_strlcpy(line, $1, sizeof line);",
        "snprintf(line, sizeof line, \"%s\", $1);",
        "char *own = strdup($1); free(own);",
        "char *p = $1; p++; if (strcmp(p, \"x\")) $close();",
        "char *end; long n = strtol($1, &end, 10); if (*end) $close();",
    ] {
        let place = if code.contains("strcmp(p") { "p" } else { "$1" };
        if code.contains("snprintf") {
            // What is formatted is shown, most times.
            is_quiet(LINE, code);
        } else {
            draws(LINE, code, &nul(place));
        }
        is_quiet(r#"[^\n\0]* "\n""#, code);
    }
    // Once for a part.
    draws(
        LINE,
        "if (strcmp($1, \"a\") && strcmp($1, \"b\")) $close();",
        &nul("$1"),
    );
    draws(LINE, "if (strcmp($0, \"a\\n\")) $close();", &nul("$0"));
    // Behind another part.
    draws(
        r#"[a-z]+ "=" [^\n]+ "\n""#,
        "if (strcmp($3, $1)) $close();",
        "W0401 $3: \"a=\\x00\\n\"",
    );
    // By a function of the specification.
    let text = action(
        "static bool same(const char *a, const char *b) { return strcmp(a, b) == 0; }",
        LINE,
        "if (same(\"x\", $1)) $close();",
    );
    assert_eq!(found(&text), [nul("$1")]);
    for code in [
        "$reply($1, \"\\n\");",
        "$reply(\"%s\\n\", $1);",
        "$log(info, \"%s\", $1);",
        "$replyBytes($ptr(1), $len(1));",
        "memcpy(line, $1, $len(1) < 128 ? $len(1) : 128);",
        "if (strlen($1) != $len(1)) { $close(); return; } if (strcmp($1, \"x\")) $close();",
        "if (memchr($1, 0, $len(1)) != NULL) $close(); else if (strcmp($1, \"x\")) $close();",
        "if ($1[0] == 'x') $close();",
        // A NUL in what is compared makes it another text.
        "if (strncasecmp($1, \"open\", 4) == 0) $close();",
        "if (strncmp($1, \"open\", strlen(\"open\")) == 0) $close();",
        "long n = strtol($1, NULL, 10); $reply(\"%ld\\n\", n);",
        "char *at = strchr($1, '@'); if (at) $close();",
        "if ($be(1) == 7) $close();",
    ] {
        is_quiet(LINE, code);
    }
}

/// What is allowed in one line is said in the next.
#[test]
fn a_part_that_is_allowed_in_one_line_is_not_in_another() {
    let text = "%%\na = \"b\" [^\\n]* \"\\n\" {\n if (strcmp($2, \"x\")) $close(); // nest: allow W0401 \"harmless\"\n\
                 if (strcmp($2, \"y\")) $close();\n if (strcmp($2, \"z\")) $close();\n}\n";
    let mut compiled = compile("t.nest", text, &mut Alone, &Overrides::default());
    let findings = report(compiled.machine.as_ref().expect("it compiles")).findings;
    let sources = &compiled.sources;
    let (found, allowed) = settle(findings, sources, &mut compiled.allows, |_| true);
    let example = found.iter().map(|f| {
        let span = f.diagnostic.span;
        (
            f.diagnostic.code.name(),
            sources.position(span.file, span.start).0,
        )
    });
    assert_eq!(example.collect::<Vec<_>>(), [("W0401", 4)]);
    assert_eq!(allowed, 1);
}

#[test]
fn names_that_a_nul_cuts_short() {
    let open = "nest_file f; if ($fileOpen($1, &f) < 0) $close();";
    draws(
        r#"([^ \n]+".txt") "\n""#,
        open,
        "W0401 $1: \"a\\x00.txt\\n\"",
    );
    // What is left the client could have sent as well.
    is_quiet(r#"[^ \n]+ "\n""#, open);
    is_quiet(r#"[^ \n]+ ".txt\n""#, open);
    is_quiet(r#"([!-~]+".txt") "\n""#, open);
}

#[test]
fn formats() {
    let line = |place: &str| format!("W0402 {place}: \"%n\\n\"");
    for (code, place) in [
        ("printf($1);", "$1"),
        ("fprintf(stderr, $1);", "$1"),
        ("snprintf(line, sizeof line, $1);", "$1"),
        ("syslog(3, $1);", "$1"),
        ("nest_replyf($self, $1);", "$1"),
        ("char *p = $1; printf(p);", "p"),
        ("nest_strlcpy(line, $1, sizeof line); printf(line);", "line"),
        (
            "snprintf(line, sizeof line, \"<%s>\", $1); printf(line);",
            "line",
        ),
        (
            "strcpy(line, \"<\"); strcat(line, $1); printf(line);",
            "line",
        ),
        (
            "const char *f = $len(1) > 3 ? $1 : \"%d\"; printf(f, 1);",
            "f",
        ),
        ("if (strcmp($1, \"x\") == 0) $close(); printf($1);", "$1"),
        (
            "for (int i = 0; i < 3; i++) { if (i) continue; printf($1); }",
            "$1",
        ),
    ] {
        draws(WORD, code, &line(place));
        is_quiet(NAME, code);
    }
    draws(r#"[a-z%]+ "\n""#, "printf($1);", "W0402 $1: \"%n\\n\"");
    draws(r#"[0-9%]+ "\n""#, "printf($1);", "W0402 $1: \"%\\n\"");
    draws(
        NAME,
        "char *l = $readLine(80); if (l != NULL) printf(l);",
        "W0402 l: \"a\\n\", \"%n\\n\"",
    );
    draws(
        NAME,
        "char l[9] = \"\"; $readInto(l, 8); l[8] = 0; printf(l);",
        "W0402 l: -",
    );
    let own = "void note(const char *, ...) __attribute__((format(printf, 1, 2)));\n\
               static void tell(const char *text) { note(text); }";
    for code in ["note($1);", "tell($1);"] {
        assert_eq!(found(&action(own, WORD, code)), [line("$1")]);
    }
    for code in [
        "printf(\"%s\", $1);",
        "snprintf(line, sizeof line, \"%s\", $1);",
        "if (strchr($1, '%') != NULL) return; printf($1);",
        "char *p = $1; p = \"x\"; printf(p);",
        "for (char *c = $1; *c; c++) { if (*c == '%') *c = '_'; } printf($1);",
        "snprintf(line, sizeof line, \"%zu\", $len(1)); printf(line);",
    ] {
        is_quiet(WORD, code);
    }
    let clean = "void clean(char *);\nbool good(const char *);";
    for code in [
        "clean($1); printf($1);",
        "if (!good($1)) { $close(); return; } printf($1);",
        "if (good($1)) { printf($1); }",
    ] {
        assert_eq!(
            found(&action(clean, WORD, code)),
            Vec::<String>::new(),
            "{code}"
        );
    }
}

#[test]
fn variables_that_outlive_actions() {
    let rules = |pattern: &str, store: &str, then: &str| {
        format!(
            "%{{\nstatic char last[64];\n%}}\n%state S\n%%\nchar name[33];\nstruct {{ char text[40]; }} note;\n\
             !S: a = \"I \" {pattern} \"\\n\" {{ {store} $seen(S); }}\nS: b = \"who\\n\" {{ {then} }}\n"
        )
    };
    for (store, then, place) in [
        (
            "nest_strlcpy(name, $2, sizeof name);",
            "printf(name);",
            "name",
        ),
        (
            "snprintf(last, sizeof last, \"%s!\", $2);",
            "printf(last);",
            "last",
        ),
        (
            "snprintf(note.text, 40, \"%s\", $2);",
            "printf(note.text);",
            "note.text",
        ),
    ] {
        let expected = format!("W0402 {place}: \"I %n\\n\", \"who\\n\"");
        assert_eq!(found(&rules("[!-~]{1,32}", store, then)), [expected]);
        assert_eq!(
            found(&rules("[a-z]{1,32}", store, then)),
            Vec::<String>::new()
        );
    }
    let checked = "if (strchr($2, '%') == NULL) nest_strlcpy(name, $2, sizeof name);";
    let found = found(&rules("[!-~]{1,32}", checked, "printf(name);"));
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn commands() {
    for (code, place) in [
        ("system($1);", "$1"),
        (
            "snprintf(line, sizeof line, \"ls %s\", $1); system(line);",
            "line",
        ),
        (
            "strcpy(line, \"ls \"); strcat(line, $1); FILE *f = popen(line, \"r\"); if (f) pclose(f);",
            "line",
        ),
        (
            "char *c; if (asprintf(&c, \"ls %s\", $1) > 0) system(c);",
            "c",
        ),
        ("execl(\"/bin/sh\", \"sh\", \"-c\", $1, NULL);", "$1"),
        (
            "char *list[] = {\"sh\", \"-c\", $1, NULL}; execv(\"/bin/sh\", list);",
            "list",
        ),
        (
            "char word[33]; if (sscanf($1, \"%32s\", word) == 1) system(word);",
            "word",
        ),
        (
            "snprintf(line, sizeof line, \"ls '%s'/%s\", \"x\", $1); system(line);",
            "line",
        ),
    ] {
        draws(WORD, code, &format!("W0403 {place}: \";\\n\""));
    }
    // Between quotes these alone matter.
    let quoted = "snprintf(line, sizeof line, \"ls '%s'\", $1); system(line);";
    draws(WORD, quoted, "W0403 line: \"'\\n\"");
    is_quiet(r#"[^'\n]+ "\n""#, quoted);
    // The beginning is the client's, whatever it may be.
    draws(NAME, "system($1);", "W0403 $1: \"a\\n\"");
    draws(NAME, "execlp($1, $1, NULL);", "W0403 $1: \"a\\n\"");
    for (pattern, code) in [
        (
            NAME,
            "snprintf(line, sizeof line, \"ls %s\", $1); system(line);",
        ),
        (WORD, "execl(\"/bin/ls\", \"ls\", $1, NULL);"),
        (
            WORD,
            "char *list[] = {\"ls\", $1, NULL}; execv(\"/bin/ls\", list);",
        ),
        (
            WORD,
            "snprintf(line, sizeof line, \"ls %zu\", $len(1)); system(line);",
        ),
        (WORD, "system(\"ls\"); $reply($1);"),
    ] {
        is_quiet(pattern, code);
    }
}

/// Words of the specification's are the specification's choice.
#[test]
fn commands_that_the_pattern_lists() {
    is_quiet(r#"("ls -l"|"uptime") "\n""#, "system($1);");
    is_quiet(r#"("../a"|"/b") "\n""#, "unlink($1);");
    draws(r#"("ls"[a-c]) "\n""#, "system($1);", "W0403 $1: \"lsa\\n\"");
    draws(r#"("ls"+) "\n""#, "system($1);", "W0403 $1: \"ls\\n\"");
}

#[test]
fn paths() {
    let out = |place: &str| format!("W0404 {place}: \"/\\n\"");
    for (code, place) in [
        ("FILE *f = fopen($1, \"r\"); if (f) fclose(f);", "$1"),
        ("if (unlink($1) == -1) $close();", "$1"),
        ("int fd = openat(3, $1, 0); close(fd);", "$1"),
        ("rename(\"a\", $1);", "$1"),
    ] {
        draws(WORD, code, &out(place));
        is_quiet(r#"[A-Za-z0-9_-]+ "\n""#, code);
        is_quiet(r#"[a-z][a-z.]* "\n""#, code);
        draws(
            r#"[a-z.]+ "\n""#,
            code,
            &format!("W0404 {place}: \"..\\n\""),
        );
    }
    // Behind a folder a slash alone leads nowhere.
    let beneath = "snprintf(line, sizeof line, \"/data/%s\", $1); if (unlink(line)) $close();";
    draws(WORD, beneath, "W0404 line: \"..\\n\"");
    is_quiet(r#"[a-z/]+ "\n""#, beneath);
    let ending = "snprintf(line, sizeof line, \"/data/%s.txt\", $1); if (unlink(line)) $close();";
    is_quiet(r#"[a-z.]+ "\n""#, ending);
    draws(r#"[a-z.\/]+ "\n""#, ending, "W0404 line: \"/../\\n\"");
    for code in [
        "nest_file f; if ($fileOpen($1, &f) < 0 || $fileReply(f) < 0) $close();",
        "if ($fileDelete($1) < 0) $close();",
        "if (strchr($1, '/') != NULL || $1[0] == '.') return; unlink($1);",
        "if (*$1 == '/') { $close(); return; } unlink($1);",
    ] {
        is_quiet(WORD, code);
    }
}

#[test]
fn copies() {
    let long = |place: &str, n: usize| format!("W0405 {place}: \"{}\\n\"", "a".repeat(n));
    let endless = r#"[a-z]+ "\n""#;
    for (code, place, capacity) in [
        ("strcpy(name, $1);", "$1", 32),
        ("strcpy(name, $1); strcat(name, \"x\");", "$1", 32),
        ("strcat(name, $1);", "$1", 32),
        (
            "memcpy(name, $1, $len(1));",
            "memcpy(name, $1, $len(1))",
            33,
        ),
        (
            "memcpy(name, $ptr(1), $len(1) + 1);",
            "memcpy(name, $ptr(1), $len(1) + 1)",
            32,
        ),
        (
            "strncpy(name, $1, $len(1));",
            "strncpy(name, $1, $len(1))",
            33,
        ),
        (
            "memcpy(name, $1, strlen($1));",
            "memcpy(name, $1, strlen($1))",
            33,
        ),
        ("char own[16]; strcpy(own, $1);", "$1", 15),
        (
            "enum { MOST = 15 }; char own[20]; strcpy(own, $1);",
            "$1",
            19,
        ),
        (
            "sprintf(line, \"%s\", $1);",
            "sprintf(line, \"%s\", $1)",
            127,
        ),
        (
            "sprintf(name, \"<%s>\", $1);",
            "sprintf(name, \"<%s>\", $1)",
            30,
        ),
        ("nest_strlcpy(name, $1, 64);", "$1", 32),
        ("nest_strlcpy(name, $1, $len(1) + 1);", "$1", 32),
        ("strncat(name, $1, 40);", "$1", 32),
    ] {
        draws(endless, code, &long(place, capacity + 1));
        let exact = format!("[a-z]{{1,{capacity}}} \"\\n\"");
        is_quiet(&exact, code);
    }
    // Constants, members, rows, and functions that are given the array.
    let before = "enum { MOST = 32 };\n#define SIZE (MOST + 1)\n\
                  struct user { char name[SIZE]; char rows[4][SIZE]; };\n\
                  typedef char text[33];\nstatic struct user all[3];\n\
                  static void set(struct user *u, const char *name) { strcpy(u->name, name); }";
    for (code, place) in [
        ("struct user u; strcpy(u.name, $1);", "$1"),
        ("struct user u, *p = &u; strcpy(p->name, $1);", "$1"),
        ("strcpy(all[1].name, $1);", "$1"),
        ("strcpy(all[0].rows[2], $1);", "$1"),
        ("struct user u; set(&u, $1);", "$1"),
        ("char own[SIZE]; strcpy(own, $1);", "$1"),
        ("text own; strcpy(own, $1);", "$1"),
        (
            "char own[] = \"0123456789abcdef0123456789abcdef\"; strcpy(own, $1);",
            "$1",
        ),
    ] {
        assert_eq!(
            found(&action(before, endless, code)),
            [long(place, 33)],
            "{code}"
        );
        let exact = action(before, r#"[a-z]{1,32} "\n""#, code);
        assert_eq!(found(&exact), Vec::<String>::new(), "{code}");
    }
    // Together they are too long.
    let two = |n: usize, code: &str| {
        action(
            "",
            &format!("[a-z]{{1,{n}}} \"@\" [a-z]{{1,{n}}} \"\\n\""),
            code,
        )
    };
    let both = "sprintf(line, \"%s@%s\", $1, $3);";
    let (first, last) = ("a".repeat(63), "a".repeat(64));
    let text = format!("W0405 sprintf(line, \"%s@%s\", $1, $3): \"{first}@{last}\\n\"");
    assert_eq!(found(&two(64, both)), [text]);
    assert_eq!(found(&two(63, both)), Vec::<String>::new());
    for code in [
        "nest_strlcpy(name, $1, sizeof name);",
        "snprintf(name, sizeof name, \"%s\", $1);",
        "strncpy(name, $1, sizeof name - 1);",
        "sprintf(name, \"%.10s\", $1);",
        "strncat(name, $1, 32);",
        "if ($len(1) >= sizeof name) { $close(); return; } strcpy(name, $1);",
        "if (strlen($1) < sizeof name) strcpy(name, $1);",
        "$1[32] = 0; strcpy(name, $1);",
        "char *own = malloc($len(1) + 1); if (own) strcpy(own, $1);",
        "strcpy(name + 3, $1);",
        "char all[8192]; strcpy(all, $1);",
        "nest_strlcpy(name, $1, sizeof name); strcpy(line, name);",
    ] {
        is_quiet(endless, code);
    }
}

/// Looks that are not where the use is.
#[test]
fn looks_elsewhere_count() {
    for code in [
        // Flags that were set where something was found.
        "bool found = false; for (int i = 0; i < 3; i++) { if (strcmp($1, \"abc\") == 0) found = true; }\n\
         if (!found) return; unlink($1);",
        "int bad = 0; for (char *c = $1; *c; c++) { switch (*c) { case '/': bad = 1; break; } }\n\
         if (!bad) unlink($1);",
        "char *base = strrchr($1, '/'); base = base ? base + 1 : $1; unlink(base);",
        "size_t n = strlen($1); if (n > 20) { $close(); } else { strcpy(name, $1); }",
        "int n = snprintf(line, 9, \"%s\", $1); if (n > 8) return; strcpy(name, $1);",
        "do { if ($1[0] == '/') { $close(); return; } } while (0); unlink($1);",
    ] {
        is_quiet(WORD, code);
    }
    // A `do` runs before its condition looks.
    draws(
        WORD,
        "do { unlink($1); } while (strchr($1, '/') == NULL);",
        "W0404 $1: \"/\\n\"",
    );
    // The slash is left out.
    is_quiet(r#"("/"[a-z]+) "\n""#, "unlink($1 + 1);");
    draws(
        r#"("/"[a-z.]+) "\n""#,
        "unlink($1 + 1);",
        "W0404 $1 + 1: \"/..\\n\"",
    );
    // Another action looks before a state lets the third one use it.
    let talk = "%state HAVE GOOD\n%%\nchar name[33];\n\
                !HAVE: a = \"I \" [!-~]{1,32} \"\\n\" { nest_strlcpy(name, $2, sizeof name); $seen(HAVE); }\n\
                HAVE: b = \"b\\n\" { CHECK $seen(GOOD); }\nGOOD: c = \"c\\n\" { nest_replyf($self, name); }\n";
    let checked = talk.replace("CHECK", "if (strchr(name, '%') == NULL)");
    assert_eq!(found(&checked), Vec::<String>::new());
    assert_eq!(found(&talk.replace("CHECK", "")), ["W0402 name: -"]);
}

#[test]
fn addresses_to_connect_to() {
    draws(WORD, "$dial($1);", "W0511 $1: \"a\\n\"");
    draws(
        WORD,
        "char to[100]; snprintf(to, sizeof to, \"%s:80\", $1); $dial(to, 5s);",
        "W0511 to: \"a\\n\"",
    );
    is_quiet(WORD, "if (strcmp($1, \"news:119\") == 0) $dial($1);");
    is_quiet(WORD, "$dial(\"news:119\"); $replyTo(3, $1);");
    is_quiet(r#"("news:119"|"mail:25") "\n""#, "$dial($1);");
}

/// Where no message has the form, nothing is said, though the element alone could have it.
#[test]
fn what_no_message_brings_is_not_said() {
    // All before `%` is the first part's, by preference.
    is_quiet(r#"[a-z%]* [a-z%]* "\n""#, "printf($2);");
    // Another rule takes such messages.
    let other =
        "%%\na = [^\\n]* \"%\" [^\\n]* \"\\n\" { $close(); }\nb = [!-~]+ \"\\n\" { printf($1); }\n";
    assert_eq!(found(other), Vec::<String>::new());
    // The rule is never active.
    let never =
        "%state S\n%%\nS: b = [!-~]+ \"\\n\" { printf($1); }\na = \"a\\n\" { $clear(S); }\n";
    assert_eq!(found(never), Vec::<String>::new());
}

/// Whatever the C is, the analysis ends.
#[test]
fn hostile_c_is_survived() {
    let deep = format!(
        "int x = {}1{}; printf($1);",
        "(".repeat(5000),
        ")".repeat(5000)
    );
    let _ = found(&action("", WORD, &deep));
    let nested = "if (x) {".repeat(300) + "printf($1);" + &"}".repeat(300);
    let _ = found(&action("int x;", WORD, &nested));
    let calls = "static int f(const char *s) { return g(s) + f(s); }\n\
                 static int g(const char *s) { f(s); g(s); return f(s) + g(s); }";
    let _ = found(&action(calls, WORD, "f($1); g($1);"));
    let many: String = (0..12)
        .map(|n| {
            format!(
                "static void f{n}(char *s) {{ f{0}(s); f{0}(s); f{0}(s); }}\n",
                n + 1
            )
        })
        .collect();
    let _ = found(&action(&many, WORD, "f0($1);"));
}
