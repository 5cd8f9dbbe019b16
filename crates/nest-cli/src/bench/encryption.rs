//! Whether connections are encrypted, and with which certificate.
//!
//! Must not know: how servers are measured, how TLS works.

use std::path::Path;

use nest_bench::Tls as Trust;
use nest_machine::options::ENCRYPTED;
use nest_machine::{Feature, Machine};

use crate::args::{Bench, BenchTls};
use crate::certificate;
use crate::term::{self, Failure};

use super::servers::real;

/// The encryption of a run.
pub struct Encryption {
    /// The PEM file with the certificate and its key.
    pub file: String,
    /// What clients trust.
    pub trust: Trust,
}

/// Whether servers get the option `tls`, whatever the specification says.
pub fn is_added(args: &Bench) -> bool {
    matches!(args.tls, Some(BenchTls::Own | BenchTls::File(_)))
}

/// The encryption that the arguments choose, or else the specification; `None`: all is in clear.
pub fn chosen(args: &Bench, machine: &Machine) -> Result<Option<Encryption>, Failure> {
    let file = match &args.tls {
        Some(BenchTls::File(path)) => named(path)?,
        Some(BenchTls::Own) => certificate::file()?,
        None if encrypts(machine) => certificate::file()?,
        None | Some(BenchTls::Clear) => return in_clear(args).map(|()| None),
    };
    let text = std::fs::read(&file);
    let text = text.map_err(|e| Failure::io(format!("--tls: cannot read {file}"), &e))?;
    let trust = Trust::trusting(&text, args.tls_resume);
    let trust = trust.map_err(|why| Failure::new(format!("--tls {file}: {why}")))?;
    term::note(format!(
        "connections are encrypted; clients trust the certificate {file} and no other"
    ));
    Ok(Some(Encryption { file, trust }))
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

/// Whether the specification encrypts connections from their beginning.
fn encrypts(machine: &Machine) -> bool {
    let run = &machine.settings.run;
    let value = |name: &str| {
        let mut all = run.iter().filter(|option| option.info.name == name);
        all.next().map_or("", |option| option.initial.as_str())
    };
    let named = value("listen").split(' ').any(|word| word == ENCRYPTED);
    let later = machine.features.contains(Feature::StartTls);
    machine.features.contains(Feature::Tls) && (named || (value("tls") != "none" && !later))
}

/// What the configuration of a server that nest builds says: any free port, and the certificate.
pub fn settings(encryption: Option<&Encryption>, machine: &Machine) -> Vec<String> {
    let mut all = Vec::new();
    let later = machine.features.contains(Feature::StartTls);
    let mark = if encryption.is_some() && later {
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
    use super::{encrypts, settings};
    use crate::bench::specification::machine;

    #[test]
    fn a_specification_says_whether_it_encrypts() {
        let rule = "%%\n\"A\\n\" { $reply(\"a\\n\"); }\n";
        let later = "%%\n\"A\\n\" { $reply(\"a\\n\"); $startTLS(); }\n";
        let both = "%option listen 127.0.0.1:9000 127.0.0.1:9443 tls\n";
        for (options, rules, wanted) in [
            ("", rule, false),
            ("%option tls none\n", rule, false),
            ("%option tls c.pem k.pem\n", rule, true),
            ("%option tls c.pem k.pem\n", later, false),
            (&format!("%option tls none\n{both}"), later, true),
        ] {
            let machine = machine(&format!("{options}{rules}"));
            assert_eq!(encrypts(&machine), wanted, "{options}{rules}");
        }
        let clear = machine(&format!("%option tls c.pem k.pem\n{rule}"));
        assert_eq!(settings(None, &clear), ["listen=127.0.0.1:0", "tls=none"]);
        assert_eq!(settings(None, &machine(rule)), ["listen=127.0.0.1:0"]);
    }
}
