//! The text of server.c that says which services and files of the runtime a server has: its join
//! points, then its files.
//!
//! The compiler writes it into server.c; the tests of the runtime include it. Must not know the
//! specification.

use crate::For::Sockets;
use crate::points::{Joined, Row};
use crate::services::Service;
use crate::{POINTS, Part, Point, SERVICES, Server, parts};
use std::fmt::Write as _;

/// Functions of a test that are called at join points behind those of the services.
#[derive(Clone, Debug)]
pub struct Listener {
    /// The functions are `nest__NAME_POINT`.
    pub name: String,
    /// The header that declares them.
    pub header: String,
    /// Where they are called.
    pub points: Vec<Point>,
}

/// The text for a server.
#[derive(Clone, Debug)]
pub struct Unit<'a> {
    server: Server<'a>,
    root: &'a str,
    listeners: Vec<Listener>,
    without: Vec<String>,
    renamed: Vec<(String, String, String)>,
}

impl<'a> Unit<'a> {
    /// Of that server; `root`: what stands before the paths of files.
    #[must_use]
    pub fn new(server: Server<'a>, root: &'a str) -> Unit<'a> {
        let mut unit = Unit {
            server,
            root,
            listeners: Vec::new(),
            without: Vec::new(),
            renamed: Vec::new(),
        };
        if server.falls_back() {
            unit.rename_pollers();
        }
        unit
    }

    /// `nest__poller_step` becomes `nest__epoll_step` in epoll.c, and so on; fallback.c calls them.
    fn rename_pollers(&mut self) {
        for poller in ["epoll", "uring"] {
            let path = format!("poller/{poller}.c");
            for name in POLLER {
                let of = name.replacen("nest__poller_", "nest__", 1);
                let to = of.replacen("nest__", &format!("nest__{poller}_"), 1);
                self.rename(&path, name, &to);
            }
        }
    }

    /// Calls functions of a test as well.
    pub fn listen(&mut self, listener: Listener) {
        self.listeners.push(listener);
    }

    /// Leaves a file out: a test stands for it. False: there is no such file in the server.
    pub fn leave_out(&mut self, path: &str) -> bool {
        self.without.push(path.to_string());
        self.sources(|_| true).contains(&path)
    }

    /// Renames an identifier within one file, so that a test sees the calls or stands for a
    /// function. False: there is no such file in the server.
    pub fn rename(&mut self, path: &str, from: &str, to: &str) -> bool {
        let row = (path.to_string(), from.to_string(), to.to_string());
        self.renamed.push(row);
        self.sources(|_| true).contains(&path)
    }

    fn services(&self) -> impl Iterator<Item = &'static Service> {
        SERVICES.iter().filter(|s| s.selected(&self.server))
    }

    /// What each join point calls: function, in order.
    fn called(&self, row: &Row) -> Vec<String> {
        let services = self.services().map(|s| (s.name, s.points));
        let listeners = self.listeners.iter();
        let listeners = listeners.map(|l| (l.name.as_str(), l.points.as_slice()));
        services
            .chain(listeners)
            .filter(|(_, points)| points.contains(&row.point))
            .map(|(name, _)| format!("nest__{name}_{}", row.name))
            .collect()
    }

    /// The functions that join points call.
    #[must_use]
    pub fn joined(&self) -> Vec<String> {
        POINTS.iter().flat_map(|row| self.called(row)).collect()
    }

    /// The services' headers and state, and the join points.
    #[must_use]
    pub fn join_points(&self) -> String {
        let mut text = String::new();
        for header in self.services().filter_map(Service::header) {
            let _ = writeln!(text, "#include \"{}{header}\"", self.root);
        }
        text += "struct nest__service_state { /* in a busy session's work block */\n";
        let states: Vec<_> = self.services().filter(|s| s.state).collect();
        for service in &states {
            let _ = writeln!(text, "    struct nest__{0}_state {0};", service.name);
        }
        if states.is_empty() {
            text += "    char none;\n";
        }
        text += "};\n";
        for listener in &self.listeners {
            let _ = writeln!(text, "#include \"{}\"", listener.header);
        }
        for row in POINTS.iter().filter(|row| row.called.holds(&self.server)) {
            join(row, &self.called(row), &mut text);
        }
        text
    }

    /// The paths of the .c files of the parts that are wanted, in order.
    fn sources(&self, wanted: impl Fn(&Part) -> bool) -> Vec<&'static str> {
        parts()
            .filter(wanted)
            .flat_map(|part| part.files)
            .filter(|file| is_source(file.path) && file.needed.holds(&self.server))
            .map(|file| file.path)
            .collect()
    }

    /// The parts of the server that have .c files, and these.
    #[must_use]
    pub fn parts(&self) -> Vec<(&'static str, Vec<&'static str>)> {
        parts()
            .map(|part| (part.name, self.sources(|p| p.name == part.name)))
            .filter(|(_, files)| !files.is_empty())
            .collect()
    }

    /// The work of services in the service process.
    fn put_tasks(&self, text: &mut String) {
        let tasks: Vec<String> = self
            .services()
            .filter(|s| s.task)
            .map(|s| format!("&nest__{}_task", s.name))
            .collect();
        if !tasks.is_empty() {
            let (all, n) = (tasks.join(", "), tasks.len());
            let _ = writeln!(
                text,
                "const struct nest__task *const nest__tasks[] = {{{all}}};"
            );
            let _ = writeln!(text, "const unsigned nest__task_count = {n};");
        }
    }

    /// Includes of the server's .c files; `part`: of this one alone.
    #[must_use]
    pub fn includes(&self, part: Option<&str>) -> String {
        let mut text = String::new();
        let files = self.sources(|p| part.is_none_or(|name| p.name == name));
        for path in files {
            if self.without.iter().any(|file| *file == path) {
                continue;
            }
            let renamed = || self.renamed.iter().filter(|(file, _, _)| file == path);
            for (_, from, to) in renamed() {
                let _ = writeln!(text, "#define {from} {to}");
            }
            let _ = writeln!(text, "#include \"{}{path}\"", self.root);
            for (_, from, _) in renamed() {
                let _ = writeln!(text, "#undef {from}");
            }
        }
        // In a script there is no service process.
        if Sockets.holds(&self.server) && part.is_none_or(|name| name == "service process") {
            self.put_tasks(&mut text);
        }
        text
    }
}

/// What a poller of real descriptors supplies (poller.h).
const POLLER: [&str; 17] = [
    "nest__poller_prepare",
    "nest__poller_needs",
    "nest__poller_start",
    "nest__poller_step",
    "nest__poller_next",
    "nest__poller_sleep",
    "nest__poller_completed",
    "nest__poller_clients",
    "nest__poller_arm",
    "nest__poller_retire",
    "nest__poller_await",
    "nest__poller_receive",
    "nest__poller_pending",
    "nest__poller_close",
    "nest__received_ahead",
    "nest__push",
    "nest__send_file",
];

fn is_source(path: &str) -> bool {
    path.ends_with(".c")
}

/// `nest__on_POINT`.
fn join(row: &Row, called: &[String], text: &mut String) {
    let result = match row.joined {
        Joined::Nothing => "void",
        Joined::Error => "int",
        Joined::Any => "bool",
        Joined::Sum | Joined::Elements | Joined::Least => "unsigned",
    };
    let mut put = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    put(&format!(
        "static inline {result} nest__on_{}({}) {{",
        row.name, row.parameters
    ));
    if called.is_empty() {
        let last = row.parameters.rsplit(' ').next().unwrap_or_default();
        let unused = match row.arguments {
            "" if row.parameters != "void" => last.trim_start_matches('*'),
            arguments => arguments,
        };
        for argument in unused.split(", ").filter(|a| !a.is_empty()) {
            put(&format!("    (void){argument};"));
        }
    }
    let calls = called.iter().map(|f| format!("{f}({})", row.arguments));
    match row.joined {
        Joined::Nothing => calls.for_each(|call| put(&format!("    {call};"))),
        Joined::Error => {
            put("    int error = 0;");
            calls.for_each(|call| put(&format!("    error = error != 0 ? error : {call};")));
            put("    return error;");
        }
        Joined::Any | Joined::Sum => {
            let (none, sign) = if row.joined == Joined::Any {
                ("false", " || ")
            } else {
                ("0", " + ")
            };
            let calls: Vec<String> = calls.collect();
            let all = calls.join(sign);
            put(&format!(
                "    return {};",
                if called.is_empty() { none } else { &all }
            ));
        }
        Joined::Least => {
            put("    unsigned least = 0;");
            for call in calls {
                put("    {");
                put(&format!("        unsigned n = {call};"));
                put("        least = n != 0 && (least == 0 || n < least) ? n : least;");
                put("    }");
            }
            put("    return least;");
        }
        Joined::Elements => {
            put("    unsigned n = 0;");
            calls.for_each(|call| put(&format!("    needs[n++] = {call};")));
            put("    return n;");
        }
    }
    put("}");
}

#[cfg(test)]
mod tests {
    use super::{Listener, Unit};
    use crate::{Feature, Features, Point, Server};

    fn event(features: Features) -> Server<'static> {
        Server {
            poller: "epoll",
            workers: "loops",
            features,
        }
    }

    #[test]
    fn services_that_are_not_selected_are_not_called() {
        let unit = Unit::new(event(Features::default()), "");
        assert_eq!(
            unit.joined(),
            [
                "nest__user_check",
                "nest__systemd_prepare",
                "nest__user_prepare",
                "nest__user_serve"
            ]
        );
        let text = unit.join_points();
        assert!(text.contains("static inline bool nest__on_holds(const struct nest__work *work) {\n    (void)work;\n    return false;\n}\n"), "{text}");
        assert!(!unit.includes(None).contains("service/keep/"));
    }

    #[test]
    fn those_that_are_selected_are_called_in_order() {
        let features = [Feature::Keep, Feature::Uploads].into_iter().collect();
        let unit = Unit::new(event(features), "");
        let text = unit.join_points();
        assert!(text.contains("    return nest__keep_holds(work) || nest__uploads_holds(work);\n"));
        assert!(text.contains("    struct nest__keep_state keep;\n"));
        assert!(
            unit.includes(None)
                .contains("#include \"service/keep/keep.c\"\n")
        );
    }

    #[test]
    fn a_test_listens_renames_and_stands_for_files() {
        let mut unit = Unit::new(event(Features::default()), "");
        unit.listen(Listener {
            name: "sim".to_string(),
            header: "sim.h".to_string(),
            points: vec![Point::Open],
        });
        assert!(unit.leave_out("main.c"));
        assert!(!unit.leave_out("poller/script.c"));
        assert!(unit.rename("loop/accept.c", "nest__take", "taken"));
        assert!(unit.join_points().contains("    nest__sim_open(s);\n"));
        let text = unit.includes(None);
        assert!(!text.contains("main.c"));
        assert!(
            text.contains(
                "#define nest__take taken\n#include \"loop/accept.c\"\n#undef nest__take\n"
            )
        );
        assert_eq!(unit.includes(Some("main")), "");
    }

    #[test]
    fn every_join_point_and_every_alternative_is_some_server_s() {
        // A row whose condition never holds would be a file that no server has.
        let models = [
            ("blocking", "process"),
            ("blocking", "prefork"),
            ("blocking", "thread"),
            ("epoll", "loops"),
            ("uring", "loops"),
            ("script", "loops"),
        ];
        let all: Features = Feature::ALL.iter().copied().collect();
        let each = Feature::ALL.iter().map(|f| [*f].into_iter().collect());
        let sets: Vec<Features> = [Features::default(), all].into_iter().chain(each).collect();
        for file in crate::parts().flat_map(|part| part.files) {
            let needed = models.iter().any(|(poller, workers)| {
                sets.iter().any(|features| {
                    file.needed.holds(&Server {
                        poller,
                        workers,
                        features: *features,
                    })
                })
            });
            assert!(needed, "no server has {}", file.path);
        }
    }
}
