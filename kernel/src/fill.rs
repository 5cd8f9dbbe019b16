//! Makes the answer for a file: it is the server's own, compared with the file.
//!
//! Must not know: where answers are kept, and how the kernel finds them.

use crate::date;
use crate::origin::{Answer, Origin};
use crate::shape::{Closing, HEAD};

/// A browser's fields, all those that the programs pass (`request_line` in `bpf/heads.h`): a server that answers
/// them in another way is not imitated. The browser reloads, and comes from a page of another site, because
/// servers that look at `Referer` or `Sec-Fetch-Site` refuse such requests.
pub const BROWSER: &str = "User-Agent: Mozilla/5.0 (nest-accelerate)\r\n\
    Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n\
    Accept-Language: en\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nReferer: http://nest-accelerate.invalid/\r\n\
    DNT: 1\r\nSec-GPC: 1\r\nSave-Data: on\r\nPriority: u=0, i\r\nUpgrade-Insecure-Requests: 1\r\n\
    Sec-Fetch-Dest: image\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-User: ?1\r\n\
    Sec-Fetch-Storage-Access: none\r\nSec-CH-UA: \"nest-accelerate\";v=\"1\"\r\nSec-CH-UA-Mobile: ?1\r\n\
    Sec-CH-UA-Platform: \"Linux\"\r\nCache-Control: max-age=0\r\nConnection: keep-alive\r\n";
/// Those of a plain client.
pub const PLAIN: &str = "User-Agent: nest-accelerate\r\n";

/// Fields that say that another client, or the same one later, may get another answer.
const VARYING: [&str; 8] = [
    "set-cookie",
    "vary",
    "content-encoding",
    "transfer-encoding",
    "upgrade",
    "trailer",
    "age",
    "www-authenticate",
];

/// A prepared answer.
#[derive(Debug, PartialEq, Eq)]
pub struct Prepared {
    pub bytes: Vec<u8>,
    /// The length of the head, with the empty line.
    pub head: usize,
    /// Where the date is; 0: nowhere.
    pub date: usize,
    /// It has a weak `ETag`.
    pub weak: bool,
    /// When the server says that its file was modified.
    modified: Option<String>,
}

impl Prepared {
    /// Whether the server answers with another file, as it says itself: one with the same contents, that changes
    /// by itself.
    pub fn of_another(&self, modified: u64) -> bool {
        let told = self.modified.as_ref();
        told.is_some_and(|told| *told != date::http(modified))
    }
}

/// Asks the server for a file of which the bytes are known. Returns the answer that may be repeated.
pub fn prepare(
    origin: &mut Origin,
    host: &str,
    path: &str,
    file: &[u8],
) -> Result<Prepared, String> {
    let get = |method: &str, fields: &str| origin.request(method, host, path, fields, file.len());
    let [first, second, third] = asked(get, file)?;
    let lasting = |answer| lasting(answer, "200 OK");
    let lines = agreed(&[lasting(&first)?, lasting(&second)?, lasting(&third)?]);
    compose(&lines.ok_or("the server's answers differ")?, file)
}

/// The answers to a plain client, to a browser, and to HEAD. The contents are those of the file.
fn asked(
    mut get: impl FnMut(&str, &str) -> Result<Answer, String>,
    file: &[u8],
) -> Result<[Answer; 3], String> {
    let answers = [
        get("GET", PLAIN)?,
        get("GET", BROWSER)?,
        get("HEAD", PLAIN)?,
    ];
    if answers[0].body != file || answers[1].body != file {
        return Err("the server's answer is not the file".to_owned());
    }
    Ok(answers)
}

/// Asks the server for the answer after which it ends the connection, each time on a connection of its own.
pub fn prepare_last(
    connect: impl Fn() -> Result<Origin, String>,
    host: &str,
    path: &str,
    file: &[u8],
    closing: Closing,
) -> Result<Prepared, String> {
    let get = |method: &str, fields: &str| -> Result<Answer, String> {
        let mut origin = connect()?;
        let mut fields = fields.replace("Connection: keep-alive\r\n", "");
        if closing == Closing::Asked {
            fields.push_str("Connection: close\r\n");
        } else {
            origin = origin.old();
        }
        let answer = origin.request(method, host, path, &fields, file.len())?;
        if !origin.ends_here() {
            return Err("the server does not end the connection".to_owned());
        }
        Ok(answer)
    };
    let [first, second, third] = asked(get, file)?;
    let lines = last_lines(&first, closing)?;
    if lines != last_lines(&second, closing)? || lines != last_lines(&third, closing)? {
        return Err("the server's answers differ".to_owned());
    }
    compose(&lines, file)
}

/// The lines of an answer that every client gets whose request ends the connection.
fn last_lines(answer: &Answer, closing: Closing) -> Result<Vec<String>, String> {
    let old = closing == Closing::Old
        && answer.lines.first().map(String::as_str) == Some("HTTP/1.0 200 OK");
    let said = answer.field("connection");
    if !said.map_or(old, |said| said.eq_ignore_ascii_case("close")) {
        return Err("the answer does not say that the connection ends".to_owned());
    }
    common(
        answer,
        if old {
            "HTTP/1.0 200 OK"
        } else {
            "HTTP/1.1 200 OK"
        },
    )
}

/// The lines in which all answers agree; nothing if they differ in more than what is said of the
/// connection, which HTTP/1.1 keeps open by itself.
pub fn agreed(answers: &[Vec<String>]) -> Option<Vec<String>> {
    let same = |answers: &[Vec<String>]| answers.windows(2).all(|pair| pair[0] == pair[1]);
    if same(answers) {
        return answers.first().cloned();
    }
    let lasting = |line: &&String| {
        let line = line.to_ascii_lowercase();
        !line.starts_with("connection:") && !line.starts_with("keep-alive:")
    };
    let rest = |lines: &Vec<String>| lines.iter().filter(lasting).cloned().collect();
    let rests: Vec<Vec<String>> = answers.iter().map(rest).collect();
    if same(&rests) {
        rests.into_iter().next()
    } else {
        None
    }
}

/// The lines of an answer that every client gets, without those of one connection. The value of `Date` is
/// left out. An answer with another status is an error.
pub fn lasting(answer: &Answer, wanted: &str) -> Result<Vec<String>, String> {
    let lines = common(answer, &format!("HTTP/1.1 {wanted}"))?;
    let mut said = answer.fields("connection");
    match said.find(|said| !said.eq_ignore_ascii_case("keep-alive")) {
        Some(other) => Err(format!("the answer has connection: {other}")),
        None => Ok(lines),
    }
}

/// The lines of an answer that begins with this line, if it is the same for every client.
fn common(answer: &Answer, wanted: &str) -> Result<Vec<String>, String> {
    let status = answer.lines.first().map_or("", String::as_str);
    if status != wanted {
        return Err(format!("the server answers {status}"));
    }
    for name in VARYING {
        if answer.field(name).is_some() {
            return Err(format!("the answer has {name}"));
        }
    }
    let kept: Vec<&str> = answer.fields("cache-control").collect();
    let kept = kept.join(", ").to_ascii_lowercase();
    if ["no-store", "private", "no-cache"]
        .iter()
        .any(|w| kept.contains(w))
    {
        return Err(format!("the answer has cache-control: {kept}"));
    }
    let timed = kept.contains("max-age");
    let mut lines = Vec::new();
    for line in &answer.lines {
        let name = line.split(':').next().unwrap_or("").to_ascii_lowercase();
        match name.as_str() {
            // Says how many requests this connection may still send.
            "keep-alive" if line.contains("max=") => {}
            // Says the same as max-age, which HTTP/1.1 prefers, but ages.
            "expires" if timed => {}
            "expires" => return Err("the answer has expires without max-age".to_owned()),
            "date" => lines.push("Date".to_owned()),
            _ => lines.push(line.clone()),
        }
    }
    Ok(lines)
}

/// The answer of these lines and this body.
pub fn compose(lines: &[String], file: &[u8]) -> Result<Prepared, String> {
    let (mut head, mut date) = (String::new(), 0);
    for line in lines {
        if line == "Date" {
            date = head.len() + "Date: ".len();
            head.push_str("Date: ");
            head.push_str(&date::http(0));
        } else {
            head.push_str(line);
        }
        head.push_str("\r\n");
    }
    head.push_str("\r\n");
    if head.len() > HEAD {
        return Err("the head of the answer is too long".to_owned());
    }
    let mut bytes = head.into_bytes();
    let length = bytes.len();
    bytes.extend_from_slice(file);
    Ok(Prepared {
        bytes,
        head: length,
        date,
        weak: lines.iter().any(|line| line.starts_with("ETag: W/")),
        modified: lines.iter().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let wanted = name.eq_ignore_ascii_case("last-modified");
            wanted.then(|| value.trim().to_owned())
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::{BROWSER, agreed, compose, last_lines, lasting};
    use crate::origin::Answer;
    use crate::shape::Closing;

    fn answer(fields: &str) -> Answer {
        let head = format!("HTTP/1.1 200 OK\r\n{fields}");
        Answer {
            lines: head.split("\r\n").map(str::to_owned).collect(),
            body: Vec::new(),
        }
    }

    #[test]
    fn the_answer_keeps_the_servers_fields_in_order() {
        let given = "Server: x\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nKeep-Alive: max=3\r\n\
            Cache-Control: max-age=60\r\nExpires: Sun, 06 Nov 1994 08:50:37 GMT\r\nETag: \"a\"";
        let lines = lasting(&answer(given), "200 OK").unwrap();
        let made = compose(&lines, b"body").unwrap();
        let text = String::from_utf8(made.bytes.clone()).unwrap();
        assert_eq!(
            text,
            "HTTP/1.1 200 OK\r\nServer: x\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n\
             Cache-Control: max-age=60\r\nETag: \"a\"\r\n\r\nbody"
        );
        assert!(text[made.date..].starts_with("Thu, 01 Jan"));
        assert_eq!(&text[made.head..], "body");
    }

    #[test]
    fn the_browser_sends_every_field_that_the_programs_pass() {
        let source = include_str!("../bpf/heads.h");
        let from = source.find("int request_line(").unwrap();
        let to = source[from..].find("\n}").unwrap() + from;
        let names = source[from..to].split("BEGINS(\"").skip(1);
        let names: Vec<&str> = names.map(|rest| rest.split('"').next().unwrap()).collect();
        // Names with a blank have a value that is looked at, or one of their own.
        let passed =
            |name: &&&str| name.ends_with(':') || name.contains(": ") && !name.ends_with(' ');
        let sent = BROWSER.to_ascii_lowercase();
        let sent: Vec<&str> = sent.split("\r\n").collect();
        let mut count = 0;
        for name in names.iter().filter(passed) {
            count += 1;
            assert!(sent.iter().any(|line| line.starts_with(name)), "{name}");
        }
        assert_eq!(count, sent.len() - 1);
    }

    #[test]
    fn answers_may_differ_in_what_they_say_of_the_connection() {
        let of = |fields| lasting(&answer(fields), "200 OK").unwrap();
        let plain = of("Server: x");
        let told = of("Server: x\r\nKeep-Alive: timeout=5\r\nConnection: Keep-Alive");
        assert_eq!(agreed(&[plain.clone(), told.clone()]), Some(plain.clone()));
        assert_eq!(agreed(&[told.clone(), told.clone()]), Some(told));
        assert_eq!(agreed(&[plain, of("Server: y")]), None);
    }

    #[test]
    fn the_date_of_the_file_is_compared() {
        let made = |line: &str| compose(&["HTTP/1.1 200 OK".to_owned(), line.to_owned()], b"");
        let dated = made("last-modified: Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        assert!(!dated.of_another(784_111_777));
        assert!(dated.of_another(784_111_778));
        assert!(!made("Server: x").unwrap().of_another(1));
    }

    #[test]
    fn the_last_answer_of_a_connection_says_so() {
        let made = |head: &str, closing| {
            let lines = head.split("\r\n").map(str::to_owned).collect();
            let body = Vec::new();
            last_lines(&Answer { lines, body }, closing)
        };
        for closing in [Closing::Asked, Closing::Old] {
            assert!(made("HTTP/1.1 200 OK\r\nConnection: close", closing).is_ok());
            assert!(made("HTTP/1.1 200 OK\r\nConnection: keep-alive", closing).is_err());
            assert!(made("HTTP/1.1 200 OK", closing).is_err());
            let vary = "HTTP/1.1 200 OK\r\nConnection: close\r\nVary: *";
            assert!(made(vary, closing).is_err());
        }
        assert!(made("HTTP/1.0 200 OK", Closing::Old).is_ok());
        assert!(made("HTTP/1.0 200 OK", Closing::Asked).is_err());
    }

    #[test]
    fn what_depends_on_the_client_or_the_time_is_not_repeated() {
        for field in [
            "Vary: Accept-Encoding",
            "Set-Cookie: a=b",
            "Cache-Control: private",
            "Cache-Control: max-age=60, No-Store",
            "Cache-Control: max-age=60\r\nCache-Control: private",
            "Connection: close",
            "Connection: keep-alive\r\nConnection: close",
            "Expires: Sun, 06 Nov 1994 08:50:37 GMT",
        ] {
            assert!(lasting(&answer(field), "200 OK").is_err(), "{field}");
        }
        assert!(lasting(&answer("Content-Length: 1"), "200 OK").is_ok());
        assert!(lasting(&answer("Content-Length: 1"), "304 Not Modified").is_err());
    }
}
