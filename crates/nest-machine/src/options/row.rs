//! What a row of the table of options says. Must not know: any row.

use crate::models::ModelKind;
use nest_feature::Feature;

/// The longest duration there is: 24h, in ms.
pub const LONGEST: u32 = 24 * 60 * 60 * 1000;

/// Where log lines go, if not to a file.
pub const LOGS: [&str; 3] = ["stderr", "syslog", "journal"];

/// What an option's value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A model and its most simultaneous clients.
    Model(ModelKind),
    /// No value.
    Flag,
    /// A plain number.
    Number {
        /// Least.
        least: u32,
        /// Most.
        most: u32,
    },
    /// A plain number, or `auto`.
    Count {
        /// Most; the least is 1.
        most: u32,
    },
    /// Bytes: a number with K, M or G.
    Size {
        /// Least.
        least: u32,
        /// Most.
        most: u32,
    },
    /// One word or quoted text.
    Text,
    /// Where log lines go: [`LOGS`], or a path with a slash.
    Log,
    /// Milliseconds: a number with ms, s, m or h, or `none`; at most [`LONGEST`].
    Duration,
    /// An address, or none: "".
    Address,
    /// One or more addresses.
    Addresses,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A number of clients and the lengths of networks, as in `20 /24 /64`, or `none`.
    PerAddress,
    /// Files of certificates and their keys, as in `cert.pem key.pem`, or `none`.
    Pairs,
    /// Names of protocols, each of 1 to 255 bytes.
    Protocols,
    /// Watermarks of queues, a duration, or `none`.
    Overload,
    /// A number for each class of clients, as in `8/1`.
    Quota,
    /// The class of each address of `listen`, as in `1/2`, or `none`.
    ListenPriority,
    /// A policy and the size of a cache, or `none`.
    FileCache,
    /// How many threads run actions, N or N..M, or `none`.
    Processors,
    /// Bytes of `%shared`: a number with K, M or G.
    SharedSize,
    /// Not in this version.
    Later,
}

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct OptionInfo {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub value: Value,
    /// The value when nobody says one, as text.
    pub default: &'static str,
    /// Whether a running server takes it (config.nest, environment, command line).
    pub run: bool,
    /// Whether HUP changes it in a running server; else it needs a restart.
    pub reload: bool,
    /// Whether `%option` takes it (`maxClients` is given behind the model).
    pub spec: bool,
    /// The models whose running servers take it; none: all do.
    pub models: &'static [ModelKind],
    /// The features that its words select; the empty word: it does so whatever its value.
    pub selects: &'static [(&'static str, Feature)],
    /// One line.
    pub doc: &'static str,
}

impl OptionInfo {
    /// The feature without which a running server does not have the option.
    pub(crate) fn needs(&self) -> Option<Feature> {
        let always = self.selects.iter().find(|(word, _)| word.is_empty());
        always.map(|(_, feature)| *feature)
    }
}
