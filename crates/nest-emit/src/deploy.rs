//! What runs a server where it is to stay: units of systemd, a Dockerfile.
//!
//! Every value in them comes from the machine. Must not know: files, the command line. Same machine,
//! same bytes.

use nest_machine::{Feature, Machine, ModelKind};

use crate::OutFile;

/// Why a machine cannot be deployed so; said after "--with NAME: ".
pub type Unfit = &'static str;

/// Descriptors beside the clients': listeners, helpers, libraries.
const DESCRIPTORS: u64 = 512;
/// What the kernel allows a process unless its administrator says more (fs.nr_open).
const MOST_DESCRIPTORS: u64 = 1 << 20;
/// Processes and threads beside the clients': the supervisor, helpers, libraries.
const TASKS: u64 = 128;
/// The port where nobody names one.
const USUAL: u16 = 8080;
/// What a stop takes beyond `drainTimeout`: seconds.
const STOP: u64 = 5;

/// What an option starts with; empty if it is not set.
fn initial<'m>(m: &'m Machine, name: &str) -> &'m str {
    let option = m
        .settings
        .run
        .iter()
        .find(|option| option.info.name == name);
    option.map_or("", |option| option.initial.as_str())
}

/// Where the server listens, a word each: the addresses of `listen`, or all interfaces. A server of
/// inetd's knows of no port.
fn addresses(m: &Machine) -> Result<Vec<String>, Unfit> {
    if m.features.contains(Feature::Inetd) {
        return Ok(vec![format!("*:{USUAL}")]);
    }
    let listen: Vec<String> = initial(m, "listen")
        .split_whitespace()
        .filter(|address| *address != "systemd")
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

/// The port of an address; none if it is a path.
fn port(address: &str) -> Option<&str> {
    let tcp = (!address.starts_with("unix:")).then_some(address)?;
    tcp.rsplit_once(':').map(|(_, port)| port)
}

/// Text of the specification in a comment or a value of one line.
fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// `NAME.socket`, which owns the port, and `NAME.service`, which systemd starts with it.
///
/// # Errors
/// If the specification leaves open where the server listens.
pub fn systemd(m: &Machine) -> Result<Vec<OutFile>, Unfit> {
    let name = &m.name;
    let banner = format!(
        "# {} ({}) from {} for the {} model.\n",
        crate::MARK,
        crate::VERSION,
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
            text: banner + &service(m),
        },
    ])
}

fn socket(m: &Machine, addresses: &[String]) -> String {
    let name = &m.name;
    let mut text = format!(
        "# systemd listens: a port below 1024 needs no privilege of the server, and a restart refuses nobody.\n\
         [Unit]\n\
         Description=Where {name} listens\n\
         \n\
         [Socket]\n"
    );
    if m.features.contains(Feature::Inetd) {
        text += "# The specification names no port, since inetd's configuration does.\n";
    }
    for address in addresses {
        let stream = address
            .strip_prefix("unix:")
            .or_else(|| address.strip_prefix("*:"))
            .unwrap_or(address);
        // % begins a specifier.
        text += &format!("ListenStream={}\n", stream.replace('%', "%%"));
    }
    if addresses.iter().any(|address| port(address).is_none()) {
        text += "# Who may connect to a path: its group, which SocketGroup= names; root's unless it does.\n\
                 SocketMode=0660\n";
    }
    text + "Backlog=4096\n\
            \n\
            [Install]\n\
            WantedBy=sockets.target\n"
}

fn service(m: &Machine) -> String {
    let name = &m.name;
    let clients = u64::from(m.settings.max_clients);
    let (start, kind, input) = if m.features.contains(Feature::Inetd) {
        // The socket is descriptor 0, as inetd hands it over with `wait`.
        (
            format!("/usr/local/bin/{name}"),
            "exec",
            "StandardInput=socket\nStandardOutput=journal\nStandardError=journal\n",
        )
    } else {
        (
            format!("/usr/local/bin/{name} --set listen=systemd"),
            "notify",
            "WatchdogSec=30\n",
        )
    };
    let again = if m.features.contains(Feature::Inetd) {
        ""
    } else {
        "# Status 2 is a mistake in the configuration, which another start does not mend.\n\
         Restart=on-failure\n\
         RestartPreventExitStatus=2\n"
    };
    let drain = match nest_machine::options::duration(initial(m, "drainTimeout")) {
        Some(ms) if ms > 0 => (u64::from(ms).div_ceil(1000) + STOP).to_string(),
        _ => "infinity".to_owned(), // none
    };
    // What the server asks for when it starts, or room for a file of the user's own.
    let each = if m.features.contains(Feature::Files) {
        3
    } else {
        2
    };
    let tasks = match m.settings.model {
        ModelKind::Process | ModelKind::Thread => clients + TASKS,
        ModelKind::Event | ModelKind::Script => TASKS,
    };
    format!(
        "# Install: {name} to /usr/local/bin, both units to /etc/systemd/system, then\n\
         #     systemctl daemon-reload && systemctl enable --now {name}.socket\n\
         # Changes of your own: systemctl edit {name}.service\n\
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
         # TERM goes to the main process alone, which tells its workers. drainTimeout is {drain_said}; what is\n\
         # left then is cut by the server itself.\n\
         KillMode=mixed\n\
         TimeoutStopSec={drain}\n\
         # What the system ends for want of memory the server starts again, as all that dies.\n\
         OOMPolicy=continue\n\
         # maxClients is {clients}; {times}, for the files that each may have open.\n\
         LimitNOFILE={files}\n\
         TasksMax={tasks}\n\
         {place}\
         \n\
         # Nobody's account, and nothing of the system but what it was given.\n\
         DynamicUser=yes\n\
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
    )
}

/// Where the server runs and what it may write: a directory of its own, and `fileRoot`.
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
        // A blank divides paths there, and % begins a specifier.
        let quoted = root
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('%', "%%");
        text += &format!(
            "# fileRoot must be there; for uploads, a User= in place of DynamicUser= must own it.\n\
             ReadWritePaths=\"{quoted}\"\n"
        );
    }
    text
}

/// What has a container listen on all of its addresses, if the specification names one: that is the
/// host's, or reaches nobody outside of the container.
fn everywhere(addresses: &[String]) -> String {
    let all = |address: &str| match port(address) {
        Some(port) => format!("*:{port}"),
        None => address.to_owned(),
    };
    let mut wider: Vec<String> = addresses.iter().map(|address| all(address)).collect();
    wider.dedup();
    if wider == addresses {
        return String::new();
    }
    format!(" --set 'listen={}'", wider.join(" "))
}

/// `Dockerfile` and `.dockerignore`: the project built in one image, the server alone in another.
///
/// # Errors
/// If inetd is to start the server, or it leaves open where it listens.
pub fn docker(m: &Machine) -> Result<Vec<OutFile>, Unfit> {
    if m.features.contains(Feature::Inetd) {
        return Err("inetd starts this server; without %option inetd it listens itself");
    }
    let name = &m.name;
    let addresses = addresses(m)?;
    let mut ports: Vec<String> = addresses
        .iter()
        .filter_map(|address| port(address))
        .map(str::to_owned)
        .collect();
    ports.dedup();
    let expose = if ports.is_empty() {
        String::new()
    } else {
        format!("EXPOSE {}\n", ports.join(" "))
    };
    let publish: String = ports
        .iter()
        .map(|port| format!(" -p {port}:{port}"))
        .collect();
    let everywhere = everywhere(&addresses);
    let dockerfile = format!(
        "# {mark} ({version}) from {file} for the {model} model.\n\
         #\n\
         #   docker build -t {name} .\n\
         #   docker run --rm --read-only --cap-drop ALL --security-opt no-new-privileges{publish} {name}{everywhere}\n\
         #\n\
         # For what it is to keep, a volume at /data: -v {name}:/data.\n\
         #\n\
         # C files of your own, and libraries, which must be static ones of musl:\n\
         #   docker build --build-arg EXTRA=more.c --build-arg LDLIBS=-lm -t {name} .\n\
         FROM alpine:3 AS build\n\
         # No versions: Alpine keeps the newest of each package alone.\n\
         # hadolint ignore=DL3018\n\
         RUN apk add --no-cache gcc make musl-dev\n\
         WORKDIR /build\n\
         COPY . .\n\
         ARG EXTRA=\"\"\n\
         ARG LDLIBS=\"\"\n\
         RUN make clean && make LDFLAGS=-static EXTRA=\"$EXTRA\" LDLIBS=\"$LDLIBS\" && mkdir data\n\
         \n\
         # One file: it needs no libc, no shell and no /etc. Hence there is no HEALTHCHECK, which would run a\n\
         # program in here; the server watches over itself and starts again what died.\n\
         FROM scratch\n\
         COPY --from=build /build/{name} /{name}\n\
         # The working directory: config.nest, and files unless fileRoot says otherwise.\n\
         COPY --from=build --chown=65534:65534 /build/data /data\n\
         WORKDIR /data\n\
         USER 65534:65534\n\
         {expose}\
         # Clients may finish for drainTimeout, {drain}; docker stop waits 10s, -t changes that.\n\
         STOPSIGNAL SIGTERM\n\
         ENTRYPOINT [\"/{name}\"]\n",
        mark = crate::MARK,
        version = crate::VERSION,
        file = plain(&m.file),
        model = m.settings.model.row().name,
        drain = plain(initial(m, "drainTimeout")),
    );
    let ignore = format!(
        "# {} ({}): what the image is not built from.\n\
         .dockerignore\nDockerfile\n*.o\n*.service\n*.socket\n/{name}\n",
        crate::MARK,
        crate::VERSION
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
