//! What the tests over TLS share: a certificate for localhost that is valid for a hundred years, with its
//! key, and servers that have it.

use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, SupportedProtocolVersion};

pub const TRUSTED: &[u8] = include_bytes!("../certificates/trusted.pem");

/// A server with this certificate and these versions.
pub fn config(
    pem: &'static [u8],
    versions: &'static [&'static SupportedProtocolVersion],
) -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(versions)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(pem).unwrap()],
            PrivateKeyDer::from_pem_slice(pem).unwrap(),
        )
        .unwrap();
    config.ticketer = rustls::crypto::ring::Ticketer::new().unwrap();
    Arc::new(config)
}
