//! `make demo`: serves the project's documentation with a web server compiled by nest.

use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::tool::{self, Outcome};

const USUAL: u16 = 8080;
const SPEC: &str = "examples/web/web.nest";

/// Builds nest and the server, renders the book, prints instructions, and becomes the server.
pub fn demo(model: &str) -> Outcome {
    let nest = tool::release_nest()?;
    let book = tool::target().join("book");
    let pages = crate::book::render(&book)?;
    // Built before the instructions are printed, so that they are true when they are read.
    let server = tool::target().join("demo");
    tool::run(
        Command::new(&nest)
            .args(["build", "--model", model, SPEC, "--output"])
            .arg(&server)
            .current_dir(tool::root()),
    )?;
    let port = port()?;
    let others: Vec<&str> = ["event", "uring", "thread", "prefork", "process"]
        .into_iter()
        .filter(|other| *other != model)
        .collect();
    if port != USUAL {
        println!("Port {USUAL} is taken; the demo serves on port {port}.");
    }
    println!();
    println!("nest's book, {pages} pages, served by a server that nest makes, model {model}:");
    println!();
    println!("  in a browser          http://localhost:{port}/    (Ctrl-C ends it)");
    println!("  by hand               printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc localhost {port}");
    for other in others {
        println!("  another model         make demo MODEL={other}");
    }
    println!("  what it is made from  {SPEC}");
    println!(
        "  a page about itself   {} run examples/demo/demo.nest -- --port 0",
        nest.display()
    );
    println!();
    let error = Command::new(&server)
        .arg("--port")
        .arg(port.to_string())
        .arg("--set")
        .arg(format!("fileRoot={}", book.display()))
        .current_dir(tool::root())
        .exec();
    Err(format!("cannot run {}: {error}", server.display()))
}

/// The usual port, or a free one if it is in use.
fn port() -> Result<u16, String> {
    if free(USUAL).is_some() {
        return Ok(USUAL);
    }
    free(0).ok_or_else(|| "no TCP port is free".to_owned())
}

/// Whether the port is free on all interfaces; returns its number.
fn free(port: u16) -> Option<u16> {
    let four = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).ok()?;
    let port = four.local_addr().ok()?.port();
    drop(four);
    match TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)) {
        Err(e) if e.kind() == std::io::ErrorKind::AddrInUse => None,
        _ => Some(port),
    }
}
