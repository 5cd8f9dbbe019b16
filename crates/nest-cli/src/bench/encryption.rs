//! Whether connections are encrypted, and with which certificate.
//!
//! Must not know: how servers are measured, how TLS works.

use std::path::Path;

use nest_bench::{Talk, Tls as Trust};
use nest_machine::options::ENCRYPTED;
use nest_machine::{Feature, Machine};

use crate::args::{Bench, BenchTls};
use crate::certificate;
use crate::term::{self, Failure};
use crate::test::script::Secrecy;

use super::servers::real;

/// The encryption of a run.
pub struct Encryption {
    /// The PEM file with the certificate and its key.
    pub file: String,
    /// What clients trust.
    pub trust: Trust,
    /// Whether connections begin in clear, and become encrypted where an action says so.
    pub later: bool,
}

/// Whether servers get the option `tls`, whatever the specification says.
pub fn is_added(args: &Bench) -> bool {
    matches!(args.tls, Some(BenchTls::Own | BenchTls::File(_)))
}

/// The encryption that the arguments choose, or else the specification and the recordings; `None`: all is
/// in clear. `recorded`: recorded connections become encrypted.
pub fn chosen(
    args: &Bench,
    machine: &Machine,
    recorded: bool,
) -> Result<Option<Encryption>, Failure> {
    if recorded {
        recorded_so(args)?;
    }
    let later = args.tls == Some(BenchTls::Start)
        || recorded
        || (args.tls.is_none() && begins_later(machine));
    if later && !machine.features.contains(Feature::StartTls) {
        let why = if recorded {
            "the recorded connections become encrypted, but no action of this specification calls \
             $startTLS(); remove the lines \"tls\", or give another specification"
        } else {
            "--tls start: no action of this specification calls $startTLS(); write --tls self"
        };
        return Err(Failure::Usage(why.to_owned()));
    }
    let file = match &args.tls {
        Some(BenchTls::File(path)) => named(path)?,
        Some(BenchTls::Own | BenchTls::Start) => certificate::file()?,
        None if later || encrypts(machine) => certificate::file()?,
        None | Some(BenchTls::Clear) => return in_clear(args).map(|()| None),
    };
    let text = std::fs::read(&file);
    let text = text.map_err(|e| Failure::io(format!("--tls: cannot read {file}"), &e))?;
    let trust = Trust::trusting(&text, args.tls_resume);
    let trust = trust.map_err(|why| Failure::new(format!("--tls {file}: {why}")))?;
    let trust = if later { trust.later() } else { trust };
    let what = if later {
        "connections begin in clear, and become encrypted where an action calls $startTLS()"
    } else {
        "connections are encrypted"
    };
    term::note(format!(
        "{what}; clients trust the certificate {file} and no other"
    ));
    Ok(Some(Encryption { file, trust, later }))
}

/// Fails if the arguments choose another encryption than that of recorded connections, which begin in
/// clear.
fn recorded_so(args: &Bench) -> Result<(), Failure> {
    match args.tls {
        None | Some(BenchTls::Start) => Ok(()),
        Some(BenchTls::Own | BenchTls::File(_) | BenchTls::Clear) => Err(Failure::Usage(
            "the recorded connections become encrypted behind their beginning; write --tls start, or remove \
             their lines \"tls\""
                .to_owned(),
        )),
    }
}

/// What the server without sockets is told.
pub fn secrecy(encryption: Option<&Encryption>) -> Secrecy {
    match encryption {
        None => Secrecy::Never,
        Some(encryption) if encryption.later => Secrecy::Later,
        Some(_) => Secrecy::Always,
    }
}

/// Says how many conversations become encrypted. Fails if other servers could not take part in them.
pub fn suits(args: &Bench, talks: &[Talk], secrecy: Secrecy) -> Result<(), Failure> {
    if secrecy != Secrecy::Later {
        return Ok(());
    }
    let count = talks.iter().filter(|talk| talk.encrypts()).count();
    term::note(format!(
        "{count} of {} conversations become encrypted",
        talks.len()
    ));
    match args.vs.first() {
        Some((name, _)) if count > 0 => Err(Failure::Usage(format!(
            "--vs {name}: the conversations become encrypted; write --vs-tls, and {{cert}} for the \
             certificate"
        ))),
        _ => Ok(()),
    }
}

/// Arguments that need encryption do not apply.
fn in_clear(args: &Bench) -> Result<(), Failure> {
    let vs = args.vs_tls.first();
    let needless = vs.map(|(name, _)| format!("--vs-tls {name}"));
    let needless = needless.or(args.tls_resume.then(|| "--tls-resume".to_owned()));
    needless.map_or(Ok(()), |needless| {
        Err(Failure::Usage(format!(
            "{needless}: the servers of this run do not encrypt; add --tls self"
        )))
    })
}

/// The absolute name of a file that a server can be given.
fn named(path: &Path) -> Result<String, Failure> {
    let name = real(path).display().to_string();
    certificate::without_blanks(&name, "move it")?;
    Ok(name)
}

/// The value of an option; nothing: it has none.
fn value<'m>(machine: &'m Machine, name: &str) -> &'m str {
    let mut all = machine.settings.run.iter();
    let found = all.find(|option| option.info.name == name);
    found.map_or("", |option| option.initial.as_str())
}

/// Whether an address of the specification is one with encryption from the beginning.
fn is_named(machine: &Machine) -> bool {
    let mut words = value(machine, "listen").split(' ');
    words.any(|word| word == ENCRYPTED)
}

/// Whether the specification encrypts connections from their beginning.
fn encrypts(machine: &Machine) -> bool {
    let later = machine.features.contains(Feature::StartTls);
    let offered = value(machine, "tls") != "none";
    machine.features.contains(Feature::Tls) && (is_named(machine) || (offered && !later))
}

/// Whether it has a certificate, and encrypts connections only where an action says so.
fn begins_later(machine: &Machine) -> bool {
    let offered = !matches!(value(machine, "tls"), "none" | "");
    machine.features.contains(Feature::StartTls) && offered && !is_named(machine)
}

/// What the configuration of a server that nest builds says: any free port, and the certificate.
pub fn settings(encryption: Option<&Encryption>, machine: &Machine) -> Vec<String> {
    let mut all = Vec::new();
    let later = machine.features.contains(Feature::StartTls);
    let mark = if encryption.is_some_and(|encryption| !encryption.later) && later {
        " tls"
    } else {
        ""
    };
    all.push(format!("listen=127.0.0.1:0{mark}"));
    match encryption {
        Some(Encryption { file, .. }) => all.push(format!("tls={file} {file}")),
        None if machine.features.contains(Feature::Tls) => all.push("tls=none".to_owned()),
        None => {}
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{begins_later, encrypts, settings};
    use crate::bench::specification::machine;

    #[test]
    fn a_specification_says_whether_it_encrypts() {
        let rule = "%%\n\"A\\n\" { $reply(\"a\\n\"); }\n";
        let later = "%%\n\"A\\n\" { $reply(\"a\\n\"); $startTLS(); }\n";
        let both = "%option listen 127.0.0.1:9000 127.0.0.1:9443 tls\n";
        for (options, rules, wanted) in [
            ("", rule, (false, false)),
            ("%option tls none\n", rule, (false, false)),
            ("%option tls c.pem k.pem\n", rule, (true, false)),
            ("%option tls c.pem k.pem\n", later, (false, true)),
            ("%option tls none\n", later, (false, false)),
            (&format!("%option tls none\n{both}"), later, (true, false)),
        ] {
            let machine = machine(&format!("{options}{rules}"));
            let found = (encrypts(&machine), begins_later(&machine));
            assert_eq!(found, wanted, "{options}{rules}");
        }
        let clear = machine(&format!("%option tls c.pem k.pem\n{rule}"));
        assert_eq!(settings(None, &clear), ["listen=127.0.0.1:0", "tls=none"]);
        assert_eq!(settings(None, &machine(rule)), ["listen=127.0.0.1:0"]);
    }
}
