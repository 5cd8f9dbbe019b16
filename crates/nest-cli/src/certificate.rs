//! The certificate of `nest run --tls self`: for trying, in the cache, made by the program openssl.
//! Must not know: how a server uses it.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::cache::Cache;
use crate::term::{self, Failure};

/// How long a certificate is valid, in days, and for how many seconds one must still be to be used
/// again.
const DAYS: &str = "30";
const LEFT: &str = "86400";

/// The file that contains the certificate and its key, which is made if there is none.
pub fn file() -> Result<String, Failure> {
    let path = Cache::open()?.other("self.pem");
    let name = path.to_string_lossy().into_owned();
    without_blanks(&name, "set XDG_CACHE_HOME")?;
    if !path.is_file() || !still(&path)? {
        make(&path)?;
    }
    Ok(name)
}

/// Fails if a file cannot be a value of the option tls. `help`: what to do.
pub fn without_blanks(name: &str, help: &str) -> Result<(), Failure> {
    if name.contains([' ', '\t']) {
        return Err(Failure::new(format!(
            "option tls takes no name with a blank, such as {name}; {help}"
        )));
    }
    Ok(())
}

/// The same file, and how clients trust it.
pub fn own() -> Result<String, Failure> {
    let name = file()?;
    term::note(format!(
        "the certificate is {name}, for localhost, 127.0.0.1 and ::1; a client that is to trust it \
         must be told so, as by curl --cacert {name}"
    ));
    Ok(name)
}

fn openssl() -> Command {
    let mut command = Command::new("openssl");
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

fn missing(error: &std::io::Error) -> Failure {
    Failure::io(
        "--tls self needs the program openssl, which cannot be run",
        error,
    )
}

/// Whether it is valid for some time.
fn still(path: &Path) -> Result<bool, Failure> {
    let mut command = openssl();
    command
        .args(["x509", "-noout", "-checkend", LEFT, "-in"])
        .arg(path);
    let status = command.stderr(Stdio::null()).status();
    Ok(status.map_err(|e| missing(&e))?.success())
}

/// Both in one file, which another run of nest sees whole or not at all.
fn make(path: &Path) -> Result<(), Failure> {
    let failed = |e: &std::io::Error| Failure::io(format!("cannot write {}", path.display()), e);
    let folder = tempfile::Builder::new()
        .prefix("self-")
        .tempdir_in(path.parent().unwrap_or(path))
        .map_err(|e| failed(&e))?;
    let [key, certificate] = ["key", "certificate"].map(|name| folder.path().join(name));
    let mut command = openssl();
    command
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt"])
        .args(["ec_paramgen_curve:prime256v1", "-nodes", "-days", DAYS])
        .args(["-subj", "/CN=localhost", "-addext"])
        .arg("subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1")
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate);
    let done = command.output().map_err(|e| missing(&e))?;
    if !done.status.success() {
        let why = String::from_utf8_lossy(&done.stderr);
        return Err(Failure::new(format!(
            "openssl cannot make a certificate: {}",
            why.trim()
        )));
    }
    let text = std::fs::read(&certificate).map_err(|e| failed(&e))?;
    let mut both = std::fs::OpenOptions::new();
    std::io::Write::write_all(
        &mut both.append(true).open(&key).map_err(|e| failed(&e))?,
        &text,
    )
    .and_then(|()| std::fs::rename(&key, path))
    .map_err(|e| failed(&e))
}
