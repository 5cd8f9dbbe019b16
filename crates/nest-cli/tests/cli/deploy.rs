//! `nest gen --with`: values come from the specification, what cannot be is refused.

use crate::common::{GOOD, Place, there};

const WEB: &str = "%option processServer 300\n%option listen 127.0.0.1:81 [::1]:81 *:82 unix:/run/a%b.sock\n\
                   %option drainTimeout 90s\n%option fileRoot \"/srv/a b%\"\n";

/// The lines of the one file that begin with the word.
fn lines(text: &str, start: &str) -> Vec<String> {
    text.lines()
        .filter(|line| line.starts_with(start))
        .map(str::to_owned)
        .collect()
}

fn rules() -> &'static str {
    GOOD.split_once('\n').unwrap_or_default().1
}

#[test]
fn units_and_images_change_the_user_in_place_of_the_server() {
    let place = Place::new();
    let generate = ["gen", "a.nest", "-o", "out", "--with", "systemd,docker"];
    for (options, unit, image) in [
        (
            "",
            [
                "DynamicUser=yes",
                "ExecStart=/usr/local/bin/a --set listen=systemd",
            ]
            .as_slice(),
            "",
        ),
        (
            "%option user www:web\n%option chroot /srv\n",
            &[
                "User=www",
                "Group=web",
                "ExecStart=/usr/local/bin/a --set listen=systemd --set chroot=",
            ],
            "ENV NEST_USER=\"\" NEST_CHROOT=\"\"",
        ),
        ("%option user www\n", &["User=www"], "ENV NEST_USER=\"\""),
    ] {
        place.write("a.nest", options.to_owned() + rules());
        place.nest(&generate).with_status(0);
        let service = place.read("out/a.service");
        for line in unit {
            assert!(service.lines().any(|l| l == *line), "{line} in:\n{service}");
        }
        assert_eq!(service.contains("DynamicUser"), options.is_empty());
        let found = lines(&place.read("out/Dockerfile"), "ENV");
        assert_eq!(found.concat(), image);
    }
    // A user of the option is no reason for `nest check --bounds` to need root.
    let ended = place.nest(&["check", "--bounds", "a.nest"]).with_status(0);
    ended.out_has("a connection");
}

#[test]
fn units_have_the_specification_s_values() {
    let place = Place::new();
    place.write("a.nest", WEB.to_owned() + rules());
    let generate = ["gen", "a.nest", "-o", "out", "--with", "systemd"];
    place.nest(&generate).with_status(0);
    let (socket, service) = (place.read("out/a.socket"), place.read("out/a.service"));
    assert_eq!(
        lines(&socket, "ListenStream="),
        [
            "ListenStream=127.0.0.1:81",
            "ListenStream=[::1]:81",
            "ListenStream=82",
            "ListenStream=/run/a%%b.sock"
        ]
    );
    assert_eq!(lines(&socket, "SocketMode="), ["SocketMode=0660"]);
    for line in [
        "Type=notify",
        "WatchdogSec=30",
        "ExecStart=/usr/local/bin/a --set listen=systemd",
        "TimeoutStopSec=95",
        "LimitNOFILE=1112",
        "TasksMax=428",
        "ReadWritePaths=\"/srv/a b%%\"",
    ] {
        assert!(service.lines().any(|l| l == line), "{line} in:\n{service}");
    }
    assert!(!there(&place.path("out/Dockerfile")));
    place
        .nest(&generate)
        .with_status(0)
        .err_has("nothing has changed");

    place.write(
        "a.nest",
        "%option eventServer 1000000\n%option drainTimeout none\n".to_owned() + rules(),
    );
    place.nest(&generate).with_status(0);
    let (socket, service) = (place.read("out/a.socket"), place.read("out/a.service"));
    assert_eq!(lines(&socket, "ListenStream="), ["ListenStream=8080"]);
    assert!(!socket.contains("SocketMode"), "no path is among them");
    assert_eq!(
        lines(&service, "TimeoutStopSec="),
        ["TimeoutStopSec=infinity"]
    );
    assert_eq!(lines(&service, "TasksMax="), ["TasksMax=128"]);
    assert_eq!(lines(&service, "LimitNOFILE="), ["LimitNOFILE=1048576"]);
    assert!(!service.contains("ReadWritePaths"));

    place.write(
        "a.nest",
        "%option eventServer 1000\n%%\n\"PUT\\n\" { (void)$fileReceive(\"a\"); }\n",
    );
    place.nest(&generate).with_status(0);
    let service = place.read("out/a.service");
    assert_eq!(lines(&service, "LimitNOFILE="), ["LimitNOFILE=3512"]);
}

#[test]
fn inetd_s_server_gets_its_socket_as_inetd_gives_it() {
    let place = Place::new();
    place.write("a.nest", "%option inetd\n".to_owned() + rules());
    place
        .nest(&["gen", "a.nest", "-o", "out", "--with", "systemd"])
        .with_status(0);
    let service = place.read("out/a.service");
    assert!(service.contains("StandardInput=socket\n") && !service.contains("listen=systemd"));
    place
        .nest(&["gen", "a.nest", "-o", "out", "--with", "docker"])
        .with_status(1)
        .err_has("--with docker: inetd starts this server");
}

#[test]
fn an_image_has_the_specification_s_values() {
    let place = Place::new();
    place.write("a.nest", WEB.to_owned() + rules());
    place
        .nest(&["gen", "a.nest", "-o", "out", "--with", "systemd,docker"])
        .with_status(0);
    assert!(there(&place.path("out/a.service")) && there(&place.path("out/.dockerignore")));
    let dockerfile = place.read("out/Dockerfile");
    assert_eq!(lines(&dockerfile, "EXPOSE"), ["EXPOSE 81 82"]);
    assert!(
        dockerfile.contains(" -p 81:81 -p 82:82 a --set 'listen=*:81 *:82 unix:/run/a%b.sock'\n"),
        "127.0.0.1 would be the container's:\n{dockerfile}"
    );
    assert_eq!(lines(&dockerfile, "USER"), ["USER 65534:65534"]);
    assert_eq!(lines(&dockerfile, "ENTRYPOINT"), ["ENTRYPOINT [\"/a\"]"]);
}

#[test]
fn a_port_of_several_addresses_is_published_once() {
    let place = Place::new();
    let listen = "127.0.0.1:81 127.0.0.1:82 [::1]:81 [::1]:82";
    place.write("a.nest", format!("%option listen {listen}\n{}", rules()));
    place
        .nest(&["gen", "a.nest", "-o", "out", "--with", "docker"])
        .with_status(0);
    let dockerfile = place.read("out/Dockerfile");
    assert_eq!(lines(&dockerfile, "EXPOSE"), ["EXPOSE 81 82"]);
    assert!(
        dockerfile.contains(" -p 81:81 -p 82:82 a --set 'listen=*:81 *:82'\n"),
        "{dockerfile}"
    );
}

#[test]
fn the_word_proxy_goes_along() {
    let place = Place::new();
    let spec = |listen: &str| format!("%option listen {listen}\n{}", rules());
    let generate = ["gen", "a.nest", "-o", "out", "--with", "systemd,docker"];
    place.write("a.nest", spec("127.0.0.1:81 proxy *:82 proxy"));
    place.nest(&generate).with_status(0);
    let (socket, service) = (place.read("out/a.socket"), place.read("out/a.service"));
    let streams = ["ListenStream=127.0.0.1:81", "ListenStream=82"];
    assert_eq!(lines(&socket, "ListenStream="), streams);
    let start = ["ExecStart=/usr/local/bin/a --set 'listen=systemd proxy'"];
    assert_eq!(lines(&service, "ExecStart="), start);
    let dockerfile = place.read("out/Dockerfile");
    assert!(dockerfile.contains(" --set 'listen=*:81 proxy *:82 proxy'\n"));
    place.write("a.nest", spec("127.0.0.1:81 proxy *:82"));
    place
        .nest(&generate)
        .with_status(1)
        .err_has("a proxy is in front of some of its addresses only");
    let encrypted = "%option tls a.pem a.key\n".to_owned();
    let both = "127.0.0.1:81 proxy tls *:82 tls proxy";
    place.write("a.nest", encrypted.clone() + &spec(both));
    place.nest(&generate).with_status(0);
    let start = ["ExecStart=/usr/local/bin/a --set 'listen=systemd proxy tls'"];
    assert_eq!(lines(&place.read("out/a.service"), "ExecStart="), start);
    let dockerfile = place.read("out/Dockerfile");
    assert!(dockerfile.contains(" --set 'listen=*:81 proxy tls *:82 proxy tls'\n"));
    place.write("a.nest", encrypted + &spec("*:81 proxy tls *:82 proxy"));
    place
        .nest(&generate)
        .with_status(1)
        .err_has("some of its addresses say `tls` and others do not");
}

#[test]
fn what_cannot_be_is_refused() {
    let place = Place::new();
    place.write("a.nest", GOOD);
    place
        .nest(&["gen", "a.nest", "-o", "out", "--with", "upstart"])
        .with_status(2)
        .err_has("[possible values: systemd, docker]");
    place.write("a.nest", "%option serverPort 0\n".to_owned() + rules());
    for with in ["systemd", "docker"] {
        place
            .nest(&["gen", "a.nest", "-o", "out", "--with", with])
            .with_status(1)
            .err_has("the system chooses the port");
    }
    assert!(
        !there(&place.path("out/server.c")),
        "half of it was written"
    );
}
