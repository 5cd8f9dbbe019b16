//! The driver alone: asks a web server for one page, and compares each answer with standard input.
//! Usage: constant PORT CLIENTS SECONDS keep|close. benches/agreement.py measures it beside wrk and httperf.
//!
//! Must not know: what it is compared with.

use std::io::Read as _;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::process::ExitCode;
use std::time::Duration;

use nest_bench::{Crowd, Expect, Load, Pace, Request, Talk, drive};

fn load() -> Result<String, String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [port, clients, seconds, how] = &words[..] else {
        return Err("usage: constant PORT CLIENTS SECONDS keep|close".to_owned());
    };
    let keep = how == "keep";
    let port: u16 = port.parse().map_err(|_| format!("{port} is no port"))?;
    let clients = clients.parse();
    let clients: usize = clients.map_err(|_| "give a number of clients".to_owned())?;
    let seconds = seconds.parse();
    let seconds: f64 = seconds.map_err(|_| "give seconds".to_owned())?;
    let mut answer = Vec::new();
    let read = std::io::stdin().read_to_end(&mut answer);
    read.map_err(|e| format!("standard input: {e}"))?;
    let request = Request {
        send: format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n").into(),
        expect: Expect::exact(&answer),
        ..Request::default()
    };
    let mut talk = Talk::of(vec![request], !keep);
    talk.again = keep.then_some(0);
    let load = Load {
        to: SocketAddrV4::new(Ipv4Addr::LOCALHOST, port),
        tls: None,
        talks: &[talk],
        clients,
        idle: 0,
        crowd: Crowd::default(),
        // As the other drivers.
        sources: 1,
        keep,
        pipeline: 1,
        cut: false,
        trial: false,
        lenient: false,
        pace: Pace::Closed,
        warm: Duration::ZERO,
        measured: Duration::from_secs_f64(seconds),
        timeout: Duration::from_secs(5),
        seed: 1,
    };
    let measured = drive(&load, &mut |_| Ok(())).map_err(|e| e.to_string())?;
    Ok(format!(
        "{} {} {} {}",
        measured.requests,
        measured.seconds,
        measured.connections,
        measured.latency.value_at_quantile(0.5) as f64 / 1e3
    ))
}

fn main() -> ExitCode {
    match load() {
        Ok(figures) => {
            println!("{figures}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("constant: {why}");
            ExitCode::FAILURE
        }
    }
}
