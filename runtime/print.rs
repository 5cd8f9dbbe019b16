//! Prints what the tests of the runtime need to know of the list of files.
//!
//!     nest-runtime unit POLLER WORKERS [--with FEATURE]... [--part PART] [--without PATH]...
//!                  [--rename PATH:NAME=OTHER]... [--listen NAME:HEADER:POINT,...]
//!         the join points and the includes of a server, as server.c has them
//!     nest-runtime parts POLLER WORKERS [--with FEATURE]...
//!         its parts, a line each: the name, a tab, the paths of the .c files
//!     nest-runtime joined POLLER WORKERS [--with FEATURE]...
//!         the functions that its join points call
//!
//! `--with all` selects every feature.

use nest_runtime::{Feature, Features, Listener, POINTS, Server, Unit};
use std::process::ExitCode;

const USAGE: &str = "usage: nest-runtime unit|parts|joined POLLER WORKERS [OPTION VALUE]...";

fn listener(value: &str) -> Option<Listener> {
    let mut words = value.splitn(3, ':');
    let (name, header, points) = (words.next()?, words.next()?, words.next()?);
    let point = |name: &str| POINTS.iter().find(|row| row.name == name);
    let points: Option<Vec<_>> = points
        .split(',')
        .map(|name| point(name).map(|row| row.point))
        .collect();
    Some(Listener {
        name: name.to_string(),
        header: header.to_string(),
        points: points?,
    })
}

fn rename(unit: &mut Unit<'_>, value: &str) -> bool {
    let names = value.split_once(':');
    let names = names.and_then(|(path, names)| Some((path, names.split_once('=')?)));
    names.is_some_and(|(path, (from, to))| unit.rename(path, from, to))
}

fn print(words: &[String]) -> Result<String, String> {
    let [what, poller, workers, options @ ..] = words else {
        return Err(USAGE.to_string());
    };
    let options: Vec<(&str, &str)> = options
        .chunks(2)
        .map(|pair| (pair[0].as_str(), pair.get(1).map_or("", String::as_str)))
        .collect();
    let mut features = Features::default();
    for (_, name) in options.iter().filter(|(option, _)| *option == "--with") {
        match Feature::from_name(name) {
            _ if *name == "all" => features.extend(Feature::ALL.iter().copied()),
            Some(feature) => features.insert(feature),
            None => return Err(format!("there is no feature '{name}'")),
        }
    }
    let server = Server {
        poller,
        workers,
        features,
    };
    let mut unit = Unit::new(server, "");
    let mut part = None;
    for (option, value) in options {
        let known = match option {
            "--with" => true,
            "--part" => {
                part = Some(value);
                unit.parts().iter().any(|(name, _)| *name == value)
            }
            "--without" => unit.leave_out(value),
            "--rename" => rename(&mut unit, value),
            "--listen" => listener(value).map(|l| unit.listen(l)).is_some(),
            _ => false,
        };
        if !known {
            return Err(format!("{option} {value}: no such thing in this server"));
        }
    }
    let lines = |lines: Vec<String>| lines.iter().map(|line| format!("{line}\n")).collect();
    match what.as_str() {
        "unit" => Ok(unit.join_points() + &unit.includes(part)),
        "parts" => {
            let parts = unit.parts().into_iter();
            let parts = parts.map(|(name, files)| format!("{name}\t{}", files.join(" ")));
            Ok(lines(parts.collect()))
        }
        "joined" => Ok(lines(unit.joined())),
        _ => Err(USAGE.to_string()),
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match print(&words) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(what) => {
            eprintln!("nest-runtime: {what}");
            ExitCode::from(2)
        }
    }
}
