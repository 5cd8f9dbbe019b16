//! What a report says about encryption: a line for each server.
//!
//! Must not know: how connections are encrypted.

use crate::compare::Entry;

/// The lines; none if nothing is encrypted.
#[must_use]
pub fn encryption_table(all: &[Entry]) -> String {
    let Some(first) = all.iter().find_map(|entry| entry.tls.as_ref()) else {
        return String::new();
    };
    let resumes = if first.resumes {
        "clients resume sessions"
    } else if first.later {
        "resumption is off, so each handshake is a full one"
    } else {
        "resumption is off, so each connection makes a full handshake"
    };
    let begins = if first.later {
        "over TLS from a handshake in the conversation on"
    } else {
        "over TLS"
    };
    let mut text = format!("  {begins}; {resumes}:\n");
    for entry in all {
        let what = entry.tls.as_ref().map_or_else(
            || "in clear".to_owned(),
            |tls| {
                if tls.suite.is_empty() {
                    return "no handshake".to_owned();
                }
                let resumed = match tls.resumed {
                    _ if !tls.resumes => String::new(),
                    n => format!(", {n} of them resumed a session"),
                };
                format!("{}, {} handshakes{resumed}", tls.suite, tls.handshakes)
            },
        );
        text.push_str(&format!("  {:<8} {what}\n", entry.name));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::encryption_table;
    use crate::compare::Entry;
    use crate::tls::Encrypted;

    #[test]
    fn resumption_is_stated() {
        let clear = Entry {
            name: "peer".to_owned(),
            ..Entry::default()
        };
        assert_eq!(encryption_table(std::slice::from_ref(&clear)), "");
        let mut tls = Encrypted {
            suite: "TLS 1.3, AES_256_GCM_SHA384".to_owned(),
            handshakes: 7,
            ..Encrypted::default()
        };
        let mut all = [
            Entry {
                name: "event".to_owned(),
                tls: Some(tls.clone()),
                ..Entry::default()
            },
            clear,
        ];
        assert_eq!(
            encryption_table(&all),
            "  over TLS; resumption is off, so each connection makes a full handshake:\n  event    \
             TLS 1.3, AES_256_GCM_SHA384, 7 handshakes\n  peer     in clear\n"
        );
        (tls.resumes, tls.resumed) = (true, 6);
        all[0].tls = Some(tls);
        let text = encryption_table(&all);
        assert!(text.contains("clients resume sessions:\n"), "{text}");
        assert!(
            text.contains("7 handshakes, 6 of them resumed a session\n"),
            "{text}"
        );
    }
}
