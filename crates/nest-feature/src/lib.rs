//! The one list of features: what only some servers have.
//!
//! Directives, options and command lines select features; the list of the runtime's files says which
//! files a feature brings. Must not know what selects a feature, nor which files implement it.

macro_rules! features {
    ($($(#[doc = $doc:literal])* $feature:ident $name:literal [$($implied:ident)*];)*) => {
        /// A feature of a server.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Feature {
            $($(#[doc = $doc])* $feature,)*
        }

        impl Feature {
            /// All of them.
            pub const ALL: &[Feature] = &[$(Feature::$feature),*];

            /// Its name, as command lines and messages show it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Feature::$feature => $name,)*
                }
            }

            /// The features that it cannot do without.
            #[must_use]
            pub fn implied(self) -> &'static [Feature] {
                match self {
                    $(Feature::$feature => &[$(Feature::$implied),*],)*
                }
            }
        }
    };
}

features! {
    /// Every step of a conversation is written to the trace (`--trace`).
    Trace "trace" [];
    /// What clients send is written to a descriptor. Only `nest run --record` selects it.
    Record "record" [];
    /// The branches of actions that run are marked in a file. Only `nest test` selects it.
    Branches "branches" [];
    /// Addresses of clients are kept (`$peer()`).
    Peer "peer" [];
    /// Connections have idle limits of their own (`$timeout`).
    Timeout "timeout" [];
    /// Lines about clients may be logged, and go where the configuration says.
    Log "log" [Tasks];
    /// Each message may be logged, too.
    Requests "requests" [Log];
    /// Lines of messages have fields of the specification's choice (`$logField`).
    Fields "fields" [Requests];
    /// The specification says which messages have a line (`$logRequest`).
    Marks "marks" [Fields];
    /// Threads or later steps do what would make a loop wait.
    Helpers "helpers" [];
    /// Files beneath fileRoot.
    Files "files" [Helpers];
    /// Contents of files are in memory that all workers share (`fileCache`).
    FileCache "fileCache" [Files Tasks];
    /// The specification says which of them leave (`%cache`).
    CacheValue "cacheValue" [FileCache];
    /// The kernel answers requests for files (`kernelCache`).
    KernelCache "kernelCache" [];
    /// Connections keep a file that they write (`$fileCreate`).
    Uploads "uploads" [Files];
    /// Folders are listed (`$fileList`).
    Lists "lists" [Files];
    /// Connections keep memory (`$keep`).
    Keep "keep" [];
    /// Repetitions of parts are found (`$item`).
    Items "items" [];
    /// Actions move to helper threads (`$block`).
    Blocks "blocks" [Helpers];
    /// Workers send each other messages, which their sessions get.
    Mailbox "mailbox" [];
    /// Connections send each other messages (`$send`).
    Send "send" [Mailbox Alive];
    /// Connections join groups and send to their members (`$join`, `$broadcast`).
    Groups "groups" [Send];
    /// A connection that does not keep up with messages loses the oldest (`messageOverflow`).
    Lossy "lossy" [];
    /// A process of its own does a server's own work.
    Tasks "tasks" [];
    /// Sessions have further channels: `$dial`, and tests of the runtime.
    Channels "channels" [];
    /// Actions open connections of their own (`$dial`).
    Dial "dial" [Channels];
    /// Two connections are handed on to each other (`$relay`).
    Relay "relay" [Dial];
    /// Files go to second connections and come from them (`$fileReplyTo`).
    Transfer "transfer" [Dial Uploads];
    /// What the server does is counted, and told at an address (`profiling`, `metrics`).
    Metrics "metrics" [Tasks];
    /// Every event is recorded in a file of rings (`mode debug`).
    Debug "debug" [];
    /// Actions that run for too long are ended (`actionTimeout`).
    Overrun "overrun" [];
    /// Loops that have too much to do take no clients (`overload`).
    Overload "overload" [];
    /// Actions run on threads beside the loop (`processors`).
    Processors "processors" [Helpers];
    /// Clients have classes, which get shares of a loop's turns (`priorities`).
    Priorities "priorities" [];
    /// At most so many clients of one network are served (`perAddress`).
    PerAddress "perAddress" [];
    /// Connections are encrypted (`tls`).
    Tls "tls" [];
    /// They become encrypted when an action says so (`$startTLS`).
    StartTls "startTLS" [Tls];
    /// Received bytes pass functions of the specification (`%decode`).
    Stages "stages" [];
    /// Sent bytes pass functions of the specification (`%encode`).
    Encodes "encodes" [];
    /// Second connections are encrypted (`$startTLSOn`).
    Secured "secured" [Tls Dial];
    /// Listeners may be behind a proxy that says who its clients are (`listen ADDRESS proxy`).
    Proxied "proxied" [];
    /// inetd hands over connections or its socket.
    Inetd "inetd" [];
    /// Filters accept clients in front of the server (`%filter`).
    Filters "filters" [];
    /// All connections share variables (`%shared`).
    Shared "shared" [];
    /// The server runs code periodically (`%timer`).
    Periodic "periodic" [Tasks];
    /// The server runs code when it gets a signal (`%signal`).
    Signals "signals" [Tasks];
    /// Workers run code when they begin (`%worker`).
    Beginning "beginning" [];
    /// They allocate memory there (`$alloc`).
    Alloc "alloc" [Shared];
    /// Actions ask whether a connection still exists (`$alive`).
    Alive "alive" [];
    /// libpcre2 matches rules that automata cannot (`backtracking`).
    Backtracking "backtracking" [];
    /// epoll serves where the kernel gives no ring.
    Fallback "fallback" [];
}

impl Feature {
    /// The feature of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Feature> {
        Feature::ALL.iter().copied().find(|f| f.name() == name)
    }
}

/// A set of features. It contains all that its members imply.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Features(u64);

const _: () = assert!(Feature::ALL.len() <= u64::BITS as usize);

impl Features {
    /// Adds a feature and what it implies.
    pub fn insert(&mut self, feature: Feature) {
        self.0 |= 1 << feature as u64;
        for implied in feature.implied() {
            self.insert(*implied);
        }
    }

    /// Whether the feature is selected.
    #[must_use]
    pub fn contains(self, feature: Feature) -> bool {
        self.0 & (1 << feature as u64) != 0
    }

    /// The selected ones, in the order of the list.
    pub fn iter(self) -> impl Iterator<Item = Feature> {
        let all = Feature::ALL.iter().copied();
        all.filter(move |feature| self.contains(*feature))
    }
}

impl Extend<Feature> for Features {
    fn extend<I: IntoIterator<Item = Feature>>(&mut self, features: I) {
        for feature in features {
            self.insert(feature);
        }
    }
}

impl FromIterator<Feature> for Features {
    fn from_iter<I: IntoIterator<Item = Feature>>(features: I) -> Features {
        let mut set = Features::default();
        set.extend(features);
        set
    }
}

impl std::fmt::Debug for Features {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::{Feature, Features};

    #[test]
    fn a_set_contains_what_its_members_imply() {
        let set: Features = [Feature::Uploads].into_iter().collect();
        let found: Vec<Feature> = set.iter().collect();
        assert_eq!(found, [Feature::Helpers, Feature::Files, Feature::Uploads]);
        assert!(!set.contains(Feature::Lists));
    }

    #[test]
    fn names_are_found_again() {
        for feature in Feature::ALL {
            assert_eq!(Feature::from_name(feature.name()), Some(*feature));
        }
        assert_eq!(Feature::from_name("none"), None);
    }
}
