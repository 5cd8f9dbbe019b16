//! The one table of what functions do with texts: which argument is what.
//!
//! Functions that are not in it, and are not the specification's, may do anything: what they are
//! given is not followed any further. Must not know: expressions, patterns.

/// What an argument is to a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Nothing that matters here.
    Other,
    /// A string by which something is decided.
    Text,
    /// The same, where the next argument says where it was left, if it is not NULL.
    Number,
    /// The name of a file.
    Path,
    /// The name of a file beneath fileRoot.
    Own,
    /// What a shell reads.
    Command,
    /// A program that is run.
    Program,
    /// Its arguments, one by one or as a list: a shell's command may be among them.
    Arguments,
    /// A format; what it formats stands behind it.
    Format,
    /// Where text is put: what was there before is gone.
    To,
    /// The same, behind what is there.
    Behind,
    /// A string that is put there.
    From,
    /// Bytes that are put there.
    Bytes,
    /// The room that is there.
    Size,
    /// How many bytes are put there at most.
    Count,
    /// The address of a pointer to the new text.
    New,
}

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

/// A function of C's library, or a directive.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Its names: what is said of one holds for all.
    pub names: &'static [&'static str],
    /// Its arguments; the last one stands for all behind it.
    pub roles: &'static [Role],
    /// Its value.
    pub gives: Gives,
}

const fn k(names: &'static [&'static str], roles: &'static [Role], gives: Gives) -> Known {
    Known {
        names,
        roles,
        gives,
    }
}

use Gives::{Duplicate, First, Inside, Length, Never, Nothing, Verdict};
use Role::{
    Arguments, Behind, Bytes, Command, Count, Format, From, New, Number, Other, Own, Path, Program,
    Size, Text, To,
};

const TABLE: &[Known] = &[
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
            "fprintf",
            "dprintf",
            "vfprintf",
            "vdprintf",
            "syslog",
            "vsyslog",
            "sscanf",
            "nest_replyf",
            "nest_vreplyf",
        ],
        &[Other, Format, Other],
        Nothing,
    ),
    k(&["nest_log"], &[Other, Other, Format, Other], Nothing),
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
    // Directives.
    k(
        &[
            "$fileOpen",
            "$fileReply",
            "$fileReceive",
            "$fileCreate",
            "$fileDelete",
            "$fileList",
        ],
        &[Own, Other],
        Nothing,
    ),
    k(
        &[
            "nest_file_open",
            "nest_file_reply",
            "nest_file_reply_path",
            "nest_file_receive",
            "nest_file_create",
            "nest_file_delete",
            "nest_file_list",
        ],
        &[Other, Own, Other],
        Nothing,
    ),
];

/// The function of that name.
pub fn known(name: &str) -> Option<&'static Known> {
    TABLE.iter().find(|k| k.names.contains(&name))
}

impl Known {
    /// What argument `n` is.
    pub fn role(&self, n: usize) -> Role {
        let last = self.roles.last().copied().unwrap_or(Other);
        self.roles.get(n).copied().unwrap_or(last)
    }

    /// The argument of that role.
    pub fn find(&self, role: Role) -> Option<usize> {
        self.roles.iter().position(|r| *r == role)
    }
}
