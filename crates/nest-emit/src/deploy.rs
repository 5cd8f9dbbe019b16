//! Generates files for deployment: systemd unit files, a Dockerfile.
//!
//! Every value in them comes from the machine. Must not know: files, the command line. The same
//! machine gives the same bytes.

use nest_conditioning::inside::CHAINS;
use nest_machine::options::{ENCRYPTED, PROXY, is_mark};
use nest_machine::{Feature, Machine, ModelKind};

use crate::OutFile;

/// Why a machine cannot be deployed in this way; printed after "--with NAME: ".
pub type Unfit = &'static str;

/// Descriptors in addition to those of the clients: listeners, helpers, libraries.
const DESCRIPTORS: u64 = 512;
/// The kernel's default limit of descriptors per process (fs.nr_open).
const MOST_DESCRIPTORS: u64 = 1 << 20;
/// Processes and threads in addition to those of the clients: the supervisor, helpers, libraries.
const TASKS: u64 = 128;
/// Loops of `dispatchers auto`, at most.
const AUTO: u64 = 64;
/// The default port.
const USUAL: u16 = 8080;
/// The time in seconds that a stop needs in addition to `drainTimeout`.
const STOP: u64 = 5;

/// The initial value of an option; empty if it is not set.
fn initial<'m>(m: &'m Machine, name: &str) -> &'m str {
    let option = m
        .settings
        .run
        .iter()
        .find(|option| option.info.name == name);
    option.map_or("", |option| option.initial.as_str())
}

/// The addresses on which the server listens: those of `listen`, or all interfaces. A server for
/// inetd has no port of its own.
fn addresses(m: &Machine) -> Result<Vec<String>, Unfit> {
    if m.features.contains(Feature::Inetd) {
        return Ok(vec![format!("*:{USUAL}")]);
    }
    let listen: Vec<String> = initial(m, "listen")
        .split_whitespace()
        .filter(|address| *address != "systemd" && !is_mark(address))
        .map(str::to_owned)
        .collect();
    if !listen.is_empty() {
        return Ok(listen);
    }
    match initial(m, "serverPort") {
        "0" => Err("the system chooses the port (serverPort 0), so nobody could name it here"),
        "" => Err("the specification names no address beside systemd; add serverPort"),
        port => Ok(vec![format!("*:{port}")]),
    }
}

/// What follows each address: nothing, ` proxy`, ` tls` or ` proxy tls`.
fn marks(m: &Machine) -> Result<&'static str, Unfit> {
    let words: Vec<&str> = initial(m, "listen").split_whitespace().collect();
    let addresses = words.iter().filter(|word| !is_mark(word)).count();
    let on = |mark: &str| match words.iter().filter(|word| **word == mark).count() {
        0 => Some(false),
        n if n == addresses => Some(true),
        _ => None,
    };
    match (on(PROXY), on(ENCRYPTED)) {
        (Some(false), Some(false)) => Ok(""),
        (Some(true), Some(false)) => Ok(" proxy"),
        (Some(false), Some(true)) => Ok(" tls"),
        (Some(true), Some(true)) => Ok(" proxy tls"),
        (Some(_), None) => Err(
            "some of its addresses say `tls` and others do not, which the sockets of one unit cannot; \
                  write the files by hand",
        ),
        (None, _) => Err(
            "a proxy is in front of some of its addresses only; say `proxy` behind all of them, \
                  or write the files by hand",
        ),
    }
}

/// The port of an address; `None` for a path.
fn port(address: &str) -> Option<&str> {
    let tcp = (!address.starts_with("unix:")).then_some(address)?;
    tcp.rsplit_once(':').map(|(_, port)| port)
}

/// Each of these once, in their order.
fn distinct(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut found = Vec::new();
    for one in all {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

/// Text of the specification for a comment or a one-line value.
fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// What a container needs so that the server gets a ring.
fn rings(m: &Machine) -> &'static str {
    match m.settings.model {
        ModelKind::Uring => {
            "# Docker forbids io_uring, unless --security-opt seccomp=PROFILE names a profile that allows\n\
             # io_uring_setup, io_uring_enter and io_uring_register. With `fallback`, epoll serves there.\n"
        }
        _ => "",
    }
}

/// `NAME.socket`, which owns the port, and `NAME.service`, which systemd starts with it.
///
/// # Errors
/// If the specification does not determine where the server listens.
pub fn systemd(m: &Machine) -> Result<Vec<OutFile>, Unfit> {
    let name = &m.name;
    let banner = format!(
        "# {} ({}) from {} for the {} model.\n",
        crate::MARK,
        crate::version::VERSION,
        plain(&m.file),
        m.settings.model.row().name
    );
    Ok(vec![
        OutFile {
            path: format!("{name}.socket"),
            text: banner.clone() + &socket(m, &addresses(m)?),
        },
        OutFile {
            path: format!("{name}.service"),
            text: banner + &service(m, marks(m)?),
        },
    ])
}

fn socket(m: &Machine, addresses: &[String]) -> String {
    let name = &m.name;
    let mut text = format!(
        "# systemd listens, so the server needs no privilege for a port below 1024, and a restart refuses no client.\n\
         [Unit]\n\
         Description=Where {name} listens\n\
         \n\
         [Socket]\n"
    );
    if m.features.contains(Feature::Inetd) {
        text += "# The specification names no port, because inetd's configuration does.\n";
    }
    for address in addresses {
        let stream = address
            .strip_prefix("unix:")
            .or_else(|| address.strip_prefix("*:"))
            .unwrap_or(address);
        // % begins a systemd specifier.
        text += &format!("ListenStream={}\n", stream.replace('%', "%%"));
    }
    if addresses.iter().any(|address| port(address).is_none()) {
        text += "# The group of the socket may connect. SocketGroup= names it; the default is root.\n\
                 SocketMode=0660\n";
    }
    text + "Backlog=4096\n\
            \n\
            [Install]\n\
            WantedBy=sockets.target\n"
}

fn service(m: &Machine, marks: &str) -> String {
    let name = &m.name;
    let clients = u64::from(m.settings.max_clients);
    let (start, kind, input) = if m.features.contains(Feature::Inetd) {
        // The socket is descriptor 0, as inetd passes it with `wait`.
        (
            format!("/usr/local/bin/{name}"),
            "exec",
            "StandardInput=socket\nStandardOutput=journal\nStandardError=journal\n",
        )
    } else {
        (
            match marks {
                "" => format!("/usr/local/bin/{name} --set listen=systemd"),
                _ => format!("/usr/local/bin/{name} --set 'listen=systemd{marks}'"),
            },
            "notify",
            "WatchdogSec=30\n",
        )
    };
    let start = start + without_chroot(m);
    let again = if m.features.contains(Feature::Inetd) {
        ""
    } else {
        "# Status 2 means a configuration error, which another start would not fix.\n\
         Restart=on-failure\n\
         RestartPreventExitStatus=2\n"
    };
    let drain = match nest_machine::options::duration(initial(m, "drainTimeout")) {
        Some(ms) if ms > 0 => (u64::from(ms).div_ceil(1000) + STOP).to_string(),
        _ => "infinity".to_owned(), // unlimited
    };
    // What the server needs when it starts, with a reserve for files that actions open.
    let each = if m.features.contains(Feature::Files) {
        3
    } else {
        2
    };
    let tasks = match m.settings.model {
        ModelKind::Process | ModelKind::Prefork | ModelKind::Thread => clients + TASKS,
        ModelKind::Event | ModelKind::Uring if m.settings.several() => {
            let number = |name| initial(m, name).parse::<u64>();
            let each = 1 + number("helpers").unwrap_or_default();
            TASKS + number("dispatchers").unwrap_or(AUTO) * each
        }
        ModelKind::Event | ModelKind::Uring | ModelKind::Script => TASKS,
    };
    // A process for each filter, also of those that HUP has replaced and that have clients; one that
    // starts them; and while HUP checks their options, two that do so.
    let filters = m.filters.len() * CHAINS + 3 * usize::from(!m.filters.is_empty());
    let tasks = tasks + u64::try_from(filters).unwrap_or_default();
    format!(
        "# Install: {name} to /usr/local/bin, both units to /etc/systemd/system, then\n\
         #     systemctl daemon-reload && systemctl enable --now {name}.socket\n\
         # To change settings: systemctl edit {name}.service\n\
         [Unit]\n\
         Description={name}, a server made by nest\n\
         Requires={name}.socket\n\
         After=network.target\n\
         \n\
         [Service]\n\
         Type={kind}\n\
         ExecStart={start}\n\
         ExecReload=/bin/kill -HUP $MAINPID\n\
         {input}\
         {again}\
         # SIGTERM goes only to the main process, which stops its workers. drainTimeout is {drain_said}; then the\n\
         # server itself cuts off the remaining clients.\n\
         KillMode=mixed\n\
         TimeoutStopSec={drain}\n\
         # The server itself restarts processes that die, also those that the kernel kills for lack of memory.\n\
         OOMPolicy=continue\n\
         # maxClients is {clients}; {times}, for the files that each client may have open.\n\
         LimitNOFILE={files}\n\
         TasksMax={tasks}\n\
         {place}\
         \n\
         # {account}, and access only to what is listed here.\n\
         {user}\
         UMask=0077\n\
         CapabilityBoundingSet=\n\
         NoNewPrivileges=yes\n\
         LockPersonality=yes\n\
         MemoryDenyWriteExecute=yes\n\
         DeviceAllow=\n\
         PrivateDevices=yes\n\
         PrivateMounts=yes\n\
         PrivateTmp=yes\n\
         PrivateUsers=yes\n\
         ProcSubset=pid\n\
         ProtectClock=yes\n\
         ProtectControlGroups=yes\n\
         ProtectHome=yes\n\
         ProtectHostname=yes\n\
         ProtectKernelLogs=yes\n\
         ProtectKernelModules=yes\n\
         ProtectKernelTunables=yes\n\
         ProtectProc=invisible\n\
         ProtectSystem=strict\n\
         RemoveIPC=yes\n\
         RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6\n\
         RestrictNamespaces=yes\n\
         RestrictRealtime=yes\n\
         RestrictSUIDSGID=yes\n\
         SystemCallArchitectures=native\n\
         SystemCallErrorNumber=EPERM\n\
         SystemCallFilter=@system-service\n\
         SystemCallFilter=~@privileged @resources\n",
        drain_said = plain(initial(m, "drainTimeout")),
        times = if m.features.contains(Feature::Files) {
            "three times"
        } else {
            "twice"
        },
        files = (each * clients + DESCRIPTORS).min(MOST_DESCRIPTORS),
        place = place(m),
        account = if initial(m, "user").is_empty() {
            "No user account"
        } else {
            "The account of option user"
        },
        user = user(m),
    )
}

/// Who the server is. systemd changes the user; the server sees that it is this one already.
fn user(m: &Machine) -> String {
    let option = plain(initial(m, "user")).replace('%', "%%");
    match option.split_once(':') {
        _ if option.is_empty() => "DynamicUser=yes\n".to_owned(),
        Some((user, group)) => format!("User={user}\nGroup={group}\n"),
        None => format!("User={option}\n"),
    }
}

/// Only root can change the root directory, and systemd's restrictions take its place.
fn without_chroot(m: &Machine) -> &'static str {
    if initial(m, "chroot").is_empty() {
        ""
    } else {
        " --set chroot="
    }
}

/// The working directory and what the server may write: a directory of its own, and `fileRoot`.
fn place(m: &Machine) -> String {
    let name = &m.name;
    let root = plain(initial(m, "fileRoot"));
    let mut text = format!(
        "# /var/lib/{name}: the working directory, where config.nest is looked for{}.\n\
         StateDirectory={name}\n\
         WorkingDirectory=%S/{name}\n",
        if root.is_empty() {
            ", and files are"
        } else {
            ""
        }
    );
    if root.starts_with('/') {
        // A blank separates paths there, and % begins a specifier.
        let quoted = root
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('%', "%%");
        text += &format!(
            "# fileRoot must exist. For uploads, it must belong to a User= that you set instead of DynamicUser=.\n\
             ReadWritePaths=\"{quoted}\"\n"
        );
    }
    text
}

/// An option that makes the server listen on all addresses of the container, if the specification
/// names one: that address belongs to the host, or cannot be reached from outside of the container.
fn everywhere(addresses: &[String], marks: &str) -> String {
    let all = |address: &str| match port(address) {
        Some(port) => format!("*:{port}"),
        None => address.to_owned(),
    };
    let wider = distinct(addresses.iter().map(|address| all(address)));
    if wider == addresses {
        return String::new();
    }
    let wider: Vec<String> = wider.iter().map(|a| format!("{a}{marks}")).collect();
    format!(" --set 'listen={}'", wider.join(" "))
}

/// A container has a user and a root directory of its own, so the options have none to change.
fn stays(m: &Machine) -> String {
    let variable = |option: &str| format!(" NEST_{}=\"\"", option.to_uppercase());
    let set = ["user", "chroot"]
        .into_iter()
        .filter(|option| !initial(m, option).is_empty());
    let empty: String = set.map(variable).collect();
    if empty.is_empty() {
        return String::new();
    }
    format!("# The container has a user and a root directory of its own.\nENV{empty}\n")
}

/// `Dockerfile` and `.dockerignore`: the project is built in one image, and the server is copied
/// into another.
///
/// # Errors
/// If inetd starts the server, or the specification does not determine where it listens.
pub fn docker(m: &Machine) -> Result<Vec<OutFile>, Unfit> {
    if m.features.contains(Feature::Inetd) {
        return Err("inetd starts this server; without %option inetd it listens itself");
    }
    let name = &m.name;
    let addresses = addresses(m)?;
    let ports = addresses.iter().filter_map(|address| port(address));
    let ports = distinct(ports.map(str::to_owned));
    let expose = if ports.is_empty() {
        String::new()
    } else {
        format!("EXPOSE {}\n", ports.join(" "))
    };
    let publish: String = ports
        .iter()
        .map(|port| format!(" -p {port}:{port}"))
        .collect();
    let everywhere = everywhere(&addresses, marks(m)?);
    let dockerfile = format!(
        "# {mark} ({version}) from {file} for the {model} model.\n\
         #\n\
         #   docker build -t {name} .\n\
         #   docker run --rm --read-only --cap-drop ALL --security-opt no-new-privileges{publish} {name}{everywhere}\n\
         #\n\
         # To keep files, use a volume at /data: -v {name}:/data.\n\
         {rings}\
         #\n\
         # With your own C files and libraries, which must be static musl libraries:\n\
         #   docker build --build-arg EXTRA=more.c --build-arg LDLIBS=-lm -t {name} .\n\
         FROM alpine:3 AS build\n\
         # No versions, because Alpine keeps only the newest version of each package.\n\
         # hadolint ignore=DL3018\n\
         RUN apk add --no-cache gcc make musl-dev{libraries}\n\
         WORKDIR /build\n\
         COPY . .\n\
         ARG EXTRA=\"\"\n\
         ARG LDLIBS=\"\"\n\
         RUN make clean && make LDFLAGS=-static EXTRA=\"$EXTRA\" LDLIBS=\"$LDLIBS\" && mkdir data\n\
         \n\
         # One file, which needs no libc, no shell and no /etc. There is no HEALTHCHECK, because it would run a\n\
         # program in the image; the server itself restarts processes that die.\n\
         FROM scratch\n\
         COPY --from=build /build/{name} /{name}\n\
         # The working directory, for config.nest, and for files unless fileRoot is set.\n\
         COPY --from=build --chown=65534:65534 /build/data /data\n\
         WORKDIR /data\n\
         USER 65534:65534\n\
         {stays}\
         {expose}\
         # Clients have drainTimeout, {drain}, to finish. docker stop waits 10s; -t changes that.\n\
         STOPSIGNAL SIGTERM\n\
         ENTRYPOINT [\"/{name}\"]\n",
        mark = crate::MARK,
        version = crate::version::VERSION,
        file = plain(&m.file),
        model = m.settings.model.row().name,
        drain = plain(initial(m, "drainTimeout")),
        rings = rings(m),
        stays = stays(m),
        libraries = crate::libraries(m)
            .iter()
            .filter(|library| !library.alpine.is_empty())
            .map(|library| format!(" {}", library.alpine))
            .collect::<String>(),
    );
    let ignore = format!(
        "# {} ({}): files that are not used to build the image.\n\
         .dockerignore\nDockerfile\n*.o\n*.service\n*.socket\n/{name}\n",
        crate::MARK,
        crate::version::VERSION
    );
    let file = |path: &str, text: String| OutFile {
        path: path.to_owned(),
        text,
    };
    Ok(vec![
        file("Dockerfile", dockerfile),
        file(".dockerignore", ignore),
    ])
}
