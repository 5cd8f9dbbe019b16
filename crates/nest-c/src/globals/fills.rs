//! Functions of the C library, and of `nest.h`, that write to what their arguments point to.
//!
//! Functions that keep what they are given, or that only read it, are not listed. Must not know: what
//! the arguments are.

use crate::directives::{Does, Reads, does, find};

/// Functions, and the arguments to which they write.
const FILLS: &[(&[usize], &[&str])] = &[
    (
        &[0],
        &[
            "arc4random_buf",
            "asctime_r",
            "asprintf",
            "bzero",
            "explicit_bzero",
            "fgets",
            "fgetws",
            "fread",
            "getcwd",
            "getdomainname",
            "getentropy",
            "gethostname",
            "getrandom",
            "gets",
            "gettimeofday",
            "mbstowcs",
            "memccpy",
            "memcpy",
            "memmove",
            "mempcpy",
            "memset",
            "memset_explicit",
            "pipe",
            "pipe2",
            "poll",
            "qsort",
            "rand_r",
            "regcomp",
            "sigaddset",
            "sigdelset",
            "sigemptyset",
            "sigfillset",
            "snprintf",
            "sprintf",
            "stpcpy",
            "stpncpy",
            "strcat",
            "strcpy",
            "strftime",
            "strlcat",
            "strlcpy",
            "strncat",
            "strncpy",
            "strsep",
            "strtok",
            "strxfrm",
            "swprintf",
            "time",
            "times",
            "timespec_get",
            "uname",
            "vasprintf",
            "vsnprintf",
            "vsprintf",
            "wait",
            "wcscat",
            "wcscpy",
            "wcsncat",
            "wcsncpy",
            "wcstombs",
            "wmemcpy",
            "wmemmove",
            "wmemset",
        ],
    ),
    (&[0, 1], &["getdelim", "getline"]),
    (&[0, 2], &["strtok_r"]),
    (
        &[1],
        &[
            "bcopy",
            "clock_getres",
            "clock_gettime",
            "ctime_r",
            "fgetpos",
            "frexp",
            "frexpf",
            "fstat",
            "fstatvfs",
            "getrlimit",
            "getrusage",
            "gmtime_r",
            "inet_aton",
            "localtime_r",
            "lstat",
            "modf",
            "modff",
            "pread",
            "read",
            "readlink",
            "realpath",
            "recv",
            "stat",
            "statvfs",
            "strtod",
            "strtof",
            "strtoimax",
            "strtol",
            "strtold",
            "strtoll",
            "strtoul",
            "strtoull",
            "strtoumax",
            "swab",
            "waitpid",
        ],
    ),
    (
        &[1, 2],
        &["accept", "accept4", "getpeername", "getsockname"],
    ),
    (&[1, 4, 5], &["recvfrom"]),
    (&[1, 2, 3], &["select"]),
    (
        &[2],
        &["fstatat", "inet_ntop", "inet_pton", "readlinkat", "remquo"],
    ),
    (&[2, 4], &["getnameinfo"]),
    (&[3], &["getaddrinfo", "regexec", "socketpair"]),
    (&[3, 4], &["getsockopt"]),
];

/// Functions that write to all their arguments from this one on.
const SCANS: &[(usize, &str)] = &[
    (1, "scanf"),
    (1, "wscanf"),
    (2, "fscanf"),
    (2, "fwscanf"),
    (2, "sscanf"),
    (2, "swscanf"),
];

/// Whether a function writes to what its argument of this number points to.
pub(super) fn written(name: &str, number: usize) -> bool {
    let fills = FILLS.iter().find(|row| row.1.contains(&name));
    let scans = SCANS.iter().find(|row| row.1 == name);
    fills.is_some_and(|row| row.0.contains(&number))
        || scans.is_some_and(|row| row.0 <= number)
        || session(name, number)
}

/// Whether it is one of the C library that writes so.
pub(super) fn fills(name: &str) -> bool {
    FILLS.iter().any(|row| row.1.contains(&name)) || SCANS.iter().any(|row| row.1 == name)
}

/// The same of directives, whose `$` is an underscore here, and of functions with a session.
fn session(name: &str, number: usize) -> bool {
    let into = |does: &Does| match does.reads {
        Reads::Into(to) => Some(to),
        _ => None,
    };
    let directive = name.strip_prefix('_').and_then(find);
    let directive = directive.and_then(|directive| into(&directive.does));
    let copies = matches!(name, "nest_strlcpy" | "nest_strlcat") && number == 0;
    copies || directive.or(into(does(name)).map(|to| to + 1)) == Some(number)
}
