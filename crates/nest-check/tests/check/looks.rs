//! Which looks at a text silence the findings about it, and which tell nothing of what does harm.

use crate::support::{WORD, action, draws, found, is_quiet};

/// Looks that tell nothing of what does harm.
#[test]
fn looks_at_something_else_do_not_count() {
    for code in [
        "if ($1[0] != 'x') system($1);",
        "if (strcmp($1, \"admin\") != 0) system($1);",
        "if (strcmp($1, \"help\") == 0) { $close(); return; } system($1);",
        "if (strstr($1, \"x\") == NULL) system($1);",
        "if (!*$1) return; system($1);",
    ] {
        draws(WORD, code, "W0403 $1: \";\\n\"");
    }
    draws(WORD, "if ($1[0] != 'x') unlink($1);", "W0404 $1: \"/\\n\"");
    draws(
        WORD,
        "if (strstr($1, \"x\") == NULL) unlink($1);",
        "W0404 $1: \"/\\n\"",
    );
    let skips = "char *p = $1; while (*p == ' ') p++; system(p);";
    draws(WORD, skips, "W0403 p: \";\\n\"");
    let behind = "char *t = strchr($1, '='); if (t == NULL) return; system(t + 1);";
    draws(WORD, behind, "W0403 t + 1: \";\\n\"");
    let format = "switch ($1[0]) { case 'a': printf($1); break; default: break; }";
    draws(WORD, format, "W0402 $1: \"%n\\n\"");
    for code in [
        "if (strcmp($1, \"date\") == 0) system($1);",
        "if (strcmp($1, \"date\") && strcmp($1, \"uptime\")) return; system($1);",
        "if (!strcmp($1, \"date\") || !strcmp($1, \"id\")) system($1);",
        "if (strcmp($1, \"date\") != 0) $close(); else system($1);",
        "for (char *p = $1; *p; p++) if (*p < 'a' || *p > 'z') return; system($1);",
        "for (char *p = $1; *p; p++) if (*p != 'a' && *p != 'b') return; system($1);",
        "for (char *p = $1; *p; p++) switch (*p) { case 'a': case 'b': break; default: return; } system($1);",
        "if (strpbrk($1, \";|&\") != NULL) return; system($1);",
        "if ($1[strspn($1, \"abc\")]) return; system($1);",
        "if (strspn($1, \"abc\") != $len(1)) return; system($1);",
    ] {
        is_quiet(WORD, code);
    }
    let decides = "static bool plain(const char *s) { while (*s) if (*s++ == '\\'') return false; return true; }";
    for code in [
        "if (plain($1)) system($1);",
        "if (!plain($1)) return; printf($1);",
    ] {
        assert_eq!(found(&action(decides, WORD, code)), Vec::<String>::new());
    }
}

/// Of lengths, what is known behind a look at them.
#[test]
fn looks_at_lengths() {
    let long = |n: usize| format!("W0405 $1: \"{}\\n\"", "a".repeat(n));
    let endless = r#"[a-z]+ "\n""#;
    for code in [
        "if ($len(1) > 0) strcpy(name, $1);",
        "if ($len(1)) strcpy(name, $1);",
        "if (!$len(1)) return; strcpy(name, $1);",
        "if ($len(1) == 0 || $1[0] == 'x') return; strcpy(name, $1);",
        "if ($len(1) > sizeof name) return; strcpy(name, $1);",
        "if ($1[0] == 'x') return; strcpy(name, $1);",
        "if (strcmp($1, \"x\")) strcpy(name, $1);",
        "for (size_t i = 0; i < $len(1); i++) $1[i] = 'y'; strcpy(name, $1);",
        "if ($len(1) > 40) $1[40] = 0; strcpy(name, $1);",
    ] {
        draws(endless, code, &long(33));
    }
    let hash = "static unsigned hash(const char *s) { unsigned h = 5; while (*s) h = h * 33 + *s++; return h; }\n\
                static char slot[256][33];";
    let stored = "unsigned h = hash($1) & 255; strcpy(slot[h], $1);";
    assert_eq!(found(&action(hash, endless, stored)), [long(33)]);
    for code in [
        "if ($len(1) > 32) $1[32] = 0; strcpy(name, $1);",
        "if (strlen($1) >= sizeof name) $1[sizeof name - 1] = 0; strcpy(name, $1);",
        "if (33 <= $len(1)) return; strcpy(name, $1);",
        "size_t n = $len(1); if (n + 1 > sizeof name) return; strcpy(name, $1);",
        "size_t most = 20; if (strlen($1) > most) return; strcpy(name, $1);",
        "size_t n = 0; while ($1[n]) n++; if (n > 32) return; strcpy(name, $1);",
        "while (strlen($1) > 32) $1[strlen($1) - 1] = 0; strcpy(name, $1);",
        "bool fits = $len(1) < 33; if (fits) strcpy(name, $1);",
        "char *end = strchr($1, 'x'); if (end) *end = 0; else return; strcpy(name, $1);",
    ] {
        is_quiet(endless, code);
    }
}
