//! TLS of a client: a session over a socket that does not wait. It trusts one certificate.
//!
//! Must not know: when connections are made, what is sent over them.

use std::io::{self, BufRead as _, ErrorKind, IoSlice, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, sendmsg};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ClientConfig, ClientConnection, Resumption};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, HandshakeKind, SignatureScheme};
use serde::{Deserialize, Serialize};

use crate::failed::Failed;

/// How clients encrypt: which certificate they trust, and whether they resume sessions.
#[derive(Clone, Debug)]
pub struct Tls {
    trusted: CertificateDer<'static>,
    resumes: bool,
    lax: bool,
    later: bool,
    config: Arc<ClientConfig>,
}

/// The name of the server that clients ask for.
const NAME: &str = "localhost";
/// The maximum number of sessions that are kept to be resumed.
const SESSIONS: usize = 256;

impl Tls {
    /// Clients that trust the first certificate of a file, whose text this is, and no other one.
    ///
    /// # Errors
    /// The file has no certificate.
    pub fn trusting(pem: &[u8], resumes: bool) -> Result<Tls, String> {
        let trusted = CertificateDer::from_pem_slice(pem);
        let trusted = trusted.map_err(|_| "it has no certificate in PEM".to_owned())?;
        Ok(Tls {
            config: config(&trusted, resumes)?,
            trusted,
            resumes,
            lax: false,
            later: false,
        })
    }

    /// The same clients before they have any session to resume.
    pub(crate) fn fresh(&self) -> Result<Tls, String> {
        let config = config(&self.trusted, self.resumes)?;
        Ok(Tls {
            config,
            ..self.clone()
        })
    }

    /// The same clients, whose connections begin in clear: they make a handshake where the conversation
    /// says so.
    #[must_use]
    pub fn later(&self) -> Tls {
        Tls {
            later: true,
            ..self.clone()
        }
    }

    /// What handshakes have come to before there is any.
    #[must_use]
    pub fn unused(&self) -> Encrypted {
        Encrypted {
            resumes: self.resumes,
            later: self.later,
            ..Encrypted::default()
        }
    }

    /// What encrypts connections from their beginning; `None`: they begin in clear.
    pub(crate) fn at_once(&self) -> Option<&Tls> {
        (!self.later).then_some(self)
    }

    /// The same clients, which accept a connection that ends without a `close_notify`.
    #[must_use]
    pub fn lax(&self) -> Tls {
        Tls {
            lax: true,
            ..self.clone()
        }
    }
}

fn config(trusted: &CertificateDer<'static>, resumes: bool) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let only = Only {
        trusted: trusted.clone(),
        provider: provider.clone(),
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?;
    let config = config.dangerous();
    let mut config = config
        .with_custom_certificate_verifier(Arc::new(only))
        .with_no_client_auth();
    config.resumption = if resumes {
        Resumption::in_memory_sessions(SESSIONS)
    } else {
        Resumption::disabled()
    };
    Ok(Arc::new(config))
}

/// Accepts one certificate, regardless of who has signed it. The server must have its key.
#[derive(Debug)]
struct Only {
    trusted: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Only {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        _issuers: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if *own == self.trusted {
            return Ok(ServerCertVerified::assertion());
        }
        Err(CertificateError::ApplicationVerificationFailure.into())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, own, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, own, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let known = &self.provider.signature_verification_algorithms;
        known.supported_schemes()
    }
}

/// What the handshakes of a load came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Encrypted {
    /// The version of TLS and the cipher suite of the last handshake.
    pub suite: String,
    /// Handshakes that were completed.
    pub handshakes: u64,
    /// Those of them that resumed a session.
    pub resumed: u64,
    /// Whether clients tried to.
    pub resumes: bool,
    /// Whether connections begin in clear.
    #[serde(default)]
    pub later: bool,
}

impl Encrypted {
    /// Adds what another load came to.
    pub fn add(&mut self, other: &Encrypted) {
        self.handshakes += other.handshakes;
        self.resumed += other.resumed;
        self.resumes |= other.resumes;
        self.later |= other.later;
        if !other.suite.is_empty() {
            self.suite.clone_from(&other.suite);
        }
    }
}

/// The encryption of one connection.
pub struct Session {
    connection: ClientConnection,
    resumes: bool,
    lax: bool,
    later: bool,
}

/// A socket for the library: it reads at most so many bytes at a time.
struct Socket<'a>(&'a OwnedFd, usize);

impl Read for Socket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(self.1);
        let (n, _) = recv(self.0, &mut buffer[..most], RecvFlags::empty())?;
        Ok(n)
    }
}

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, all: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut nothing = SendAncillaryBuffer::default();
        Ok(sendmsg(self.0, all, &mut nothing, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The error of a socket.
fn system(error: &io::Error) -> Failed {
    let number = error.raw_os_error().map(Errno::from_raw_os_error);
    number.map_or_else(|| Failed::Tls(error.to_string()), Failed::System)
}

/// What a server did that is not TLS, or is not accepted.
fn broken(error: &Error) -> Failed {
    Failed::Tls(match error {
        Error::InvalidMessage(_) => "what it sent is not TLS".to_owned(),
        Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure) => {
            "its certificate is not the one that clients trust".to_owned()
        }
        Error::AlertReceived(alert) => format!("it sent the alert {alert:?}"),
        other => other.to_string(),
    })
}

impl Session {
    /// A session that begins.
    pub fn new(tls: &Tls) -> Result<Session, Failed> {
        let name = ServerName::try_from(NAME).map_err(|e| Failed::Tls(e.to_string()))?;
        let connection = ClientConnection::new(tls.config.clone(), name);
        Ok(Session {
            connection: connection.map_err(|e| broken(&e))?,
            resumes: tls.resumes,
            lax: tls.lax,
            later: tls.later,
        })
    }

    /// Goes on with the handshake, and says whether it is complete. Its last message is not sent then:
    /// it goes out with the first bytes that follow.
    pub fn shake(&mut self, fd: &OwnedFd) -> Result<bool, Failed> {
        let ended = |error| match error {
            Failed::System(Errno::CONNRESET | Errno::PIPE) => {
                Failed::Tls("it reset the connection".to_owned())
            }
            other => other,
        };
        while self.connection.is_handshaking() {
            self.push(fd).map_err(ended)?;
            match self.pull(fd, usize::MAX) {
                Ok(0) => return Err(Failed::Tls("it closed the connection".to_owned())),
                Ok(_) => {}
                Err(Failed::System(Errno::AGAIN | Errno::INTR)) => return Ok(false),
                Err(error) => return Err(ended(error)),
            }
        }
        Ok(true)
    }

    /// What was agreed in the handshake.
    pub fn agreed(&self) -> Encrypted {
        let version = self.connection.protocol_version().and_then(|v| v.as_str());
        let version = version.unwrap_or_default().replace("TLSv1_", "TLS 1.");
        let suite = self.connection.negotiated_cipher_suite();
        let suite = suite.and_then(|s| s.suite().as_str()).unwrap_or_default();
        let suite = suite
            .trim_start_matches("TLS13_")
            .trim_start_matches("TLS_");
        let resumed = self.connection.handshake_kind() == Some(HandshakeKind::Resumed);
        Encrypted {
            suite: format!("{version}, {suite}"),
            handshakes: 1,
            resumed: u64::from(resumed),
            resumes: self.resumes,
            later: self.later,
        }
    }

    /// Encrypts some of these bytes, and says how many; [`Self::push`] sends them.
    pub fn encrypt(&mut self, bytes: &[u8]) -> Result<usize, Failed> {
        match self.connection.writer().write(bytes) {
            Ok(0) if !bytes.is_empty() => Err(Failed::System(Errno::AGAIN)),
            Ok(n) => Ok(n),
            Err(e) => Err(system(&e)),
        }
    }

    /// Sends what is encrypted, as far as the socket takes it.
    pub fn push(&mut self, fd: &OwnedFd) -> Result<(), Failed> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut Socket(fd, 0)) {
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(e) => return Err(system(&e)),
            }
        }
        Ok(())
    }

    /// Whether something encrypted waits for the socket.
    pub fn is_blocked(&self) -> bool {
        self.connection.wants_write()
    }

    /// Receives some bytes; none: the end. At most as many encrypted bytes are read from the socket.
    pub fn receive(&mut self, fd: &OwnedFd, buffer: &mut [u8]) -> Result<usize, Failed> {
        let most = buffer.len();
        match self.read(buffer) {
            Err(Failed::System(Errno::AGAIN)) => {}
            known => return known,
        }
        self.push(fd)?;
        self.pull(fd, most)?;
        self.push(fd)?;
        self.read(buffer)
    }

    /// Takes bytes that are decrypted.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Failed> {
        match self.connection.reader().read(buffer) {
            Ok(n) => Ok(n),
            Err(e) if e.kind() == ErrorKind::WouldBlock => Err(Failed::System(Errno::AGAIN)),
            Err(e) if e.kind() == ErrorKind::UnexpectedEof && self.lax => Ok(0),
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => {
                let text = "it closed a connection without a close_notify";
                Err(Failed::Tls(text.to_owned()))
            }
            Err(e) => Err(system(&e)),
        }
    }

    /// Whether [`Self::receive`] has something without reading from the socket, or the end.
    pub fn is_ready(&mut self) -> bool {
        self.connection.reader().fill_buf().is_ok()
    }

    /// Says that nothing more is sent.
    pub fn close(&mut self, fd: &OwnedFd) {
        if !self.connection.is_handshaking() {
            self.connection.send_close_notify();
            // The server may have closed the connection.
            let _ = self.push(fd);
        }
    }

    /// Receives at most so many encrypted bytes; none: the end.
    fn pull(&mut self, fd: &OwnedFd, most: usize) -> Result<usize, Failed> {
        let read = self.connection.read_tls(&mut Socket(fd, most));
        let n = read.map_err(|e| system(&e))?;
        if let Err(error) = self.connection.process_new_packets() {
            // The alert that tells the server what was wrong.
            let _ = self.push(fd);
            return Err(broken(&error));
        }
        Ok(n)
    }
}
