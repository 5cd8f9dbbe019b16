//! The values of `nest run --tls`. Must not know: what they do.

use clap::ValueEnum;

/// `nest run --tls`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Tls {
    /// With a new certificate for localhost, which no client trusts; for trying
    #[value(name = "self")]
    Own,
    /// As option tls of the server's configuration says
    Option,
}
