//! `nest gen`: what is written, what is left alone, what is refused.

use crate::common::{GOOD, Place, there};

#[test]
fn only_what_changes_is_written() {
    let place = Place::new();
    place.write("a.nest", GOOD);
    place.nest(&["gen", "a.nest", "-o", "out"]).with_status(0);
    for file in ["server.c", "actions.c", "Makefile", "nest.h"] {
        assert!(there(&place.path(&format!("out/{file}"))), "{file}");
    }
    place
        .nest(&["gen", "a.nest", "-o", "out"])
        .with_status(0)
        .err_has("nothing has changed");
    let stamp = |name: &str| {
        std::fs::metadata(place.path(name))
            .unwrap()
            .modified()
            .unwrap()
    };
    let before = stamp("out/nest.h");
    place.write("a.nest", GOOD.replace("hello", "howdy"));
    place
        .nest(&["gen", "a.nest", "-o", "out"])
        .with_status(0)
        .err_has("written");
    assert!(place.read("out/actions.c").contains("howdy"));
    assert_eq!(stamp("out/nest.h"), before);
}

#[test]
fn what_another_model_left_goes() {
    let place = Place::new();
    place.write("a.nest", GOOD);
    place
        .nest(&["gen", "a.nest", "-o", "out", "--model", "process"])
        .with_status(0);
    assert!(there(&place.path("out/runtime/workers/process.c")));
    place.write("out/runtime/mine.c", "/* mine */");
    place
        .nest(&["gen", "a.nest", "-o", "out", "--model", "thread"])
        .with_status(0);
    assert!(there(&place.path("out/runtime/workers/thread.c")));
    assert!(
        !there(&place.path("out/runtime/workers/process.c")),
        "a file of the old model is left"
    );
    assert!(
        there(&place.path("out/runtime/mine.c")),
        "a file of the user's is gone"
    );
}

#[test]
fn other_peoples_directories_are_left_alone() {
    let place = Place::new();
    place.write("a.nest", GOOD);
    place.write("out/letter.txt", "dear all");
    place
        .nest(&["gen", "a.nest", "-o", "out"])
        .with_status(1)
        .err_has("out contains files that nest did not generate");
    assert!(!there(&place.path("out/server.c")));
    place.write("out/server.c", "int main(void) { return 0; }\n");
    place.nest(&["gen", "a.nest", "-o", "out"]).with_status(1);
    assert_eq!(place.read("out/server.c"), "int main(void) { return 0; }\n");
    place
        .nest(&["gen", "a.nest", "-o", "out", "--force"])
        .with_status(0);
    assert_eq!(place.read("out/letter.txt"), "dear all");
    place
        .nest(&["gen", "a.nest", "-o", "a.nest"])
        .with_status(1)
        .err_has("a.nest");
}

#[test]
fn the_same_specification_gives_the_same_bytes() {
    let place = Place::new();
    place.write("a.nest", GOOD);
    place.nest(&["gen", "a.nest", "-o", "one"]).with_status(0);
    place.nest(&["gen", "a.nest", "-o", "two"]).with_status(0);
    for file in ["server.c", "actions.c", "Makefile"] {
        assert_eq!(
            place.read(&format!("one/{file}")),
            place.read(&format!("two/{file}"))
        );
    }
}

#[test]
fn errors_write_nothing() {
    let place = Place::new();
    place.write("bad.nest", "%%\nHI { ; }\n");
    place
        .nest(&["gen", "bad.nest", "-o", "out"])
        .with_status(1)
        .err_has("E0301");
    assert!(!there(&place.path("out")));
}
