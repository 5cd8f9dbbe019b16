//! The one table of what functions do with texts: which argument is what.
//!
//! Functions that are not in it, and are not the specification's, may do anything: what they are
//! given is not followed any further. Must not know: expressions, patterns.

use crate::directives::{self, Does, roles::Role};

/// What a function gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// Nothing that tells of texts.
    Nothing,
    /// Its first argument.
    First,
    /// A copy of its first argument.
    Duplicate,
    /// A place in its first argument.
    Inside,
    /// What it has found out about its arguments.
    Verdict,
    /// How long its argument is.
    Length,
    /// It does not come back.
    Never,
}

/// A function of C's library.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// Its names: the row holds for all of them.
    names: &'static [&'static str],
    /// Its arguments; the last one stands for all behind it.
    roles: &'static [Role],
    /// Its value.
    gives: Gives,
}

const fn k(names: &'static [&'static str], roles: &'static [Role], gives: Gives) -> Row {
    Row {
        names,
        roles,
        gives,
    }
}

use Gives::{Duplicate, First, Inside, Length, Never, Nothing, Verdict};
use Role::{
    Arguments, Behind, Bytes, Command, Count, Format, From, New, Number, Other, Path, Program,
    Size, Text, To,
};

const TABLE: &[Row] = &[
    // Compared, measured, read as numbers.
    k(
        &["strcmp", "strcasecmp", "strcoll", "fnmatch"],
        &[Text, Text, Other],
        Verdict,
    ),
    k(&["strncmp", "strncasecmp"], &[Text, Text, Other], Verdict),
    k(&["regexec"], &[Other, Text, Other], Verdict),
    k(&["strlen"], &[Text], Length),
    k(&["strnlen"], &[Other], Length),
    k(
        &[
            "strtol",
            "strtoul",
            "strtoll",
            "strtoull",
            "strtoimax",
            "strtoumax",
        ],
        &[Number, Other],
        Verdict,
    ),
    k(&["strtod", "strtof", "strtold"], &[Number, Other], Verdict),
    k(&["atoi", "atol", "atoll", "atof"], &[Other], Verdict),
    // Looked at, shown.
    k(
        &[
            "strstr",
            "strcasestr",
            "strchr",
            "strrchr",
            "strpbrk",
            "index",
            "rindex",
            "memchr",
            "memrchr",
            "memmem",
            "strtok",
            "strtok_r",
        ],
        &[Other],
        Inside,
    ),
    k(&["strspn", "strcspn", "memcmp", "bcmp"], &[Other], Verdict),
    k(
        &[
            "puts", "fputs", "write", "fwrite", "send", "putc", "fputc", "putchar", "perror",
            "free",
        ],
        &[Other],
        Nothing,
    ),
    // Copied.
    k(&["strdup"], &[Text], Duplicate),
    k(&["strndup"], &[Text, Other], Duplicate),
    k(&["strcpy", "stpcpy"], &[To, From], First),
    k(&["strncpy", "stpncpy"], &[To, From, Count], First),
    k(&["strlcpy", "nest_strlcpy"], &[To, From, Size], Verdict),
    k(&["strcat"], &[Behind, From], First),
    k(&["strncat"], &[Behind, From, Count], First),
    k(&["strlcat", "nest_strlcat"], &[Behind, From, Size], Verdict),
    k(
        &["memcpy", "memmove", "mempcpy"],
        &[To, Bytes, Count],
        First,
    ),
    k(&["memset"], &[To, Other], First),
    // Formatted.
    k(&["sprintf", "vsprintf"], &[To, Format, Other], Length),
    k(
        &["snprintf", "vsnprintf"],
        &[To, Size, Format, Other],
        Length,
    ),
    k(&["asprintf", "vasprintf"], &[New, Format, Other], Length),
    k(
        &["printf", "vprintf", "warn", "warnx", "vwarn", "vwarnx"],
        &[Format, Other],
        Nothing,
    ),
    k(
        &[
            "fprintf", "dprintf", "vfprintf", "vdprintf", "syslog", "vsyslog", "sscanf",
        ],
        &[Other, Format, Other],
        Nothing,
    ),
    k(
        &["err", "errx", "verr", "verrx"],
        &[Other, Format, Other],
        Never,
    ),
    k(
        &["exit", "_exit", "_Exit", "abort", "longjmp"],
        &[Other],
        Never,
    ),
    // Run.
    k(&["system"], &[Command], Nothing),
    k(&["popen"], &[Command, Other], Nothing),
    k(
        &[
            "execl", "execlp", "execle", "execv", "execvp", "execve", "execvpe",
        ],
        &[Program, Arguments],
        Nothing,
    ),
    k(
        &["posix_spawn", "posix_spawnp"],
        &[Other, Program, Other, Other, Arguments, Other],
        Nothing,
    ),
    // Named.
    k(
        &[
            "open", "open64", "creat", "fopen", "fopen64", "freopen", "opendir", "unlink",
            "remove", "stat", "lstat", "stat64", "lstat64", "access", "mkdir", "rmdir", "chmod",
            "chown", "lchown", "truncate", "chdir", "chroot", "mkfifo", "mknod", "readlink",
            "scandir", "utime", "utimes", "ftw", "nftw",
        ],
        &[Path, Other],
        Nothing,
    ),
    k(&["rename", "link"], &[Path, Path], Nothing),
    k(&["symlink"], &[Other, Path], Nothing),
    k(
        &[
            "openat",
            "unlinkat",
            "fstatat",
            "faccessat",
            "mkdirat",
            "fchmodat",
            "fchownat",
            "readlinkat",
            "mkfifoat",
            "utimensat",
        ],
        &[Other, Path, Other],
        Nothing,
    ),
    k(
        &["renameat", "renameat2", "linkat"],
        &[Other, Path, Other, Path, Other],
        Nothing,
    ),
    k(&["symlinkat"], &[Other, Other, Path], Nothing),
];

/// What is known of a call.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Arguments in front of the first role: the session, or nothing.
    first: usize,
    roles: &'static [Role],
    /// Its value.
    pub gives: Gives,
}

/// Of a call of the function of that name: of C's library, or of `nest.h`.
pub fn known(name: &str) -> Option<Known> {
    let row = TABLE.iter().find(|k| k.names.contains(&name));
    let row = row.map(|row| Known {
        first: 0,
        roles: row.roles,
        gives: row.gives,
    });
    row.or_else(|| of_nest(directives::does(name), 1))
}

/// Of a call of a directive, or of a function of `nest.h` with `first` arguments before its own.
pub fn of_nest(does: &Does, first: usize) -> Option<Known> {
    (!does.text.is_empty()).then_some(Known {
        first,
        roles: does.text,
        gives: Nothing,
    })
}

impl Known {
    /// What argument `n` is.
    pub fn role(&self, n: usize) -> Role {
        let last = self.roles.last().copied().unwrap_or(Other);
        match n.checked_sub(self.first) {
            Some(n) => self.roles.get(n).copied().unwrap_or(last),
            None => Other,
        }
    }

    /// The argument of that role.
    pub fn find(&self, role: Role) -> Option<usize> {
        let at = self.roles.iter().position(|r| *r == role)?;
        Some(at + self.first)
    }
}
