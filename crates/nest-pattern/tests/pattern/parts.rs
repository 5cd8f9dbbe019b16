//! What parts can be: by example, and against libpcre2 on every short text.

use crate::behaviour::rule;
use crate::generate;
use crate::notation::{class, dot, group, one, pattern, set, text, times};
use crate::pcre2::{Found, Regex};
use crate::print::pcre;
use crate::random::Random;
use nest_pattern::{ByteSet, Form, Nfa, Shape, lower, sim};
use nest_syntax::ast::Element;

fn nfa(elements: Vec<Element>) -> Nfa {
    rule(elements).nfa
}

fn bounds(nfa: &Nfa, part: u32) -> (u32, Option<u32>) {
    let Shape { least, most, .. } = nfa.shape(part);
    (least, most)
}

#[test]
fn bounds_of_parts() {
    let word = times(class("abc"), "{1,63}");
    let all = nfa(vec![
        one(vec![text("GET ")]),
        one(vec![word]),
        one(vec![times(dot(), "*")]),
        one(vec![times(text("\r"), "?"), text("\n")]),
    ]);
    assert_eq!(bounds(&all, 1), (4, Some(4)));
    assert_eq!(bounds(&all, 2), (1, Some(63)));
    assert_eq!(bounds(&all, 3), (0, None));
    assert_eq!(bounds(&all, 4), (1, Some(2)));
    assert_eq!(bounds(&all, 0), (6, None));
    assert_eq!(all.shape(2).bytes, set("abc"));
    // Of the first and the last alike, and of branches.
    let two = nfa(vec![
        one(vec![group(vec![
            vec![text("a")],
            vec![times(text("bc"), "{2,3}")],
            vec![],
        ])]),
        one(vec![text("d")]),
    ]);
    assert_eq!(bounds(&two, 1), (0, Some(6)));
    assert_eq!(bounds(&two, 2), (1, Some(1)));
    assert_eq!(bounds(&two, 0), (1, Some(7)));
    // A part that is always empty, in front of others.
    let none = nfa(vec![
        one(vec![times(text("a"), "{0}")]),
        one(vec![text("d")]),
    ]);
    assert_eq!(bounds(&none, 1), (0, Some(0)));
    assert_eq!(none.shape(1).bytes, ByteSet::EMPTY);
}

#[test]
fn forms_of_parts() {
    let any = times(class("ab%n"), "*");
    let all = nfa(vec![
        one(vec![any.clone()]),
        one(vec![text("\n")]),
        one(vec![any]),
    ]);
    for part in [1, 3] {
        let form = Form::containing(b"%n");
        let only = all
            .with_form(part, &form)
            .expect("it is small")
            .expect("it can be");
        assert!(sim::parts(&only, b"%n\n%n").is_some());
        assert_eq!(sim::parts(&only, b"%n\nab").is_some(), part == 1);
        assert_eq!(sim::parts(&only, b"n%\na%%n").is_some(), part == 3);
    }
    let line_feed = Form::holding(&set("\n"));
    assert_eq!(all.with_form(1, &line_feed), Ok(None));
    assert!(all.with_form(2, &line_feed).is_ok_and(|n| n.is_some()));
    assert!(all.with_form(0, &line_feed).is_ok_and(|n| n.is_some()));
    assert_eq!(all.with_form(2, &Form::longer(1)), Ok(None));
}

/// All texts of at most three of the bytes that random patterns are made of.
fn inputs() -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new()];
    let mut from = 0;
    for _ in 0..3 {
        let to = all.len();
        for at in from..to {
            for byte in b"abcABd\n1\xe9" {
                let mut longer = all[at].clone();
                longer.push(*byte);
                all.push(longer);
            }
        }
        from = to;
    }
    all
}

#[test]
fn what_libpcre2_gives_a_part_is_within_its_bounds() {
    let inputs = inputs();
    let forms = [
        Form::holding(&set("aB\n")),
        Form::containing(b"ab"),
        Form::longer(1),
        Form::longer(2),
        Form::exactly(b"ab"),
        Form::exactly(b""),
    ];
    let (mut matched, mut exact) = (0, 0);
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let case = generate::rules(&mut random);
        let rule = &case.rules[0];
        let hirs = lower(rule, &case.macros, case.caseless).expect("it was tried");
        let nfa = Nfa::build(&hirs).expect("it is small");
        let flags = rule.flags;
        for (part, element) in (1..).zip(&rule.elements) {
            let mut alone = pattern(vec![element.clone()]);
            alone.flags = flags;
            let alone = pcre(&alone, &case.macros, case.caseless);
            // Settings stand at the beginning.
            let alone = alone
                .strip_prefix("(*LF)")
                .expect("it stands at the beginning");
            let whole = format!("(*LF)z(?:{alone})\\z");
            let regex = Regex::new(whole.as_bytes(), 1, 20_000).expect("it is a pattern");
            let shape = nfa.shape(part);
            let with: Vec<Option<Nfa>> = forms
                .iter()
                .map(|form| nfa.with_form(part, form).expect("it is small"))
                .collect();
            assert_eq!(
                with[2].is_some(),
                shape.most.is_none_or(|m| m > 1),
                "seed {seed}: {alone}"
            );
            assert_eq!(
                with[3].is_some(),
                shape.most.is_none_or(|m| m > 2),
                "seed {seed}: {alone}"
            );
            let mut least = None;
            for text in &inputs {
                let subject = [b"z", text.as_slice()].concat();
                if !matches!(regex.find(&subject), Found::Match(_)) {
                    continue;
                }
                matched += 1;
                let n = u32::try_from(text.len()).expect("it is short");
                least = least.or(Some(n));
                let report = format!("seed {seed}, part {part}: {alone} and {text:?}: {shape:?}");
                assert!(
                    shape.least <= n && shape.most.is_none_or(|most| n <= most),
                    "{report}"
                );
                assert!(text.iter().all(|b| shape.bytes.contains(*b)), "{report}");
                for (form, with) in forms.iter().zip(&with) {
                    assert!(!form.fits(text) || with.is_some(), "{report}");
                }
            }
            exact += usize::from(least == Some(shape.least));
        }
        // Matches of all: as the whole is cut into parts.
        for text in &inputs {
            let Some(ranges) = sim::parts(&nfa, text) else {
                continue;
            };
            for (part, range) in (1..).zip(ranges) {
                for form in &forms {
                    let only = nfa.with_form(part, form).expect("it is small");
                    let cut = only.as_ref().and_then(|only| sim::parts(only, text));
                    assert!(
                        !form.fits(&text[range.clone()]) || cut.is_some(),
                        "seed {seed}"
                    );
                    let at = part as usize - 1;
                    assert!(
                        cut.is_none_or(|cut| form.fits(&text[cut[at].clone()])),
                        "seed {seed}"
                    );
                }
            }
        }
    }
    assert!(
        matched > 15_000 && exact > 300,
        "{matched} texts, {exact} exact bounds"
    );
    println!("{matched} texts, {exact} exact bounds");
}

#[test]
fn what_is_left_before_a_byte() {
    let name = vec![times(class("ab."), "+"), text(".t")];
    let all = nfa(vec![one(name), one(vec![text("\n")])]);
    let form = Form::cut_short(&all, 1, b'b', 100).expect("it is small");
    // `a.t` is a name, `a` is none; behind nothing there is nothing to be left.
    assert!(form.fits(b"ab.t") && form.fits(b"ab") && form.fits(b"a.tabb.t"));
    assert!(!form.fits(b"a.tb.t") && !form.fits(b"b.t") && !form.fits(b"a.t"));
    // Every beginning of it is one, too, however it is preferred.
    for quant in ["*", "+", "*?"] {
        let all = nfa(vec![
            one(vec![times(class("ab."), quant)]),
            one(vec![text("\n")]),
        ]);
        let form = Form::cut_short(&all, 1, b'b', 100).expect("it is small");
        assert_eq!(all.with_form(1, &form), Ok(None), "{quant}");
    }
    assert!(Form::cut_short(&all, 1, b'b', 2).is_none());
}
