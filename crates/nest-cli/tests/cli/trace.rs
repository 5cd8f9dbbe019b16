//! `nest trace`: where it writes.

use crate::common::Place;

/// A trace in which nothing has happened yet.
fn trace() -> Vec<u8> {
    let names = "server s\nfile s.nest\nmodel event\ntool nest\n";
    let length = u32::try_from(names.len()).unwrap();
    let mut bytes = b"nestring".to_vec();
    // The version of the format; the sizes of the header, of two rings and of their records.
    for number in [1u32, 4096, 2, 5, 4096, 32] {
        bytes.extend(number.to_le_bytes());
    }
    for time in [0u64, 0] {
        bytes.extend(time.to_le_bytes());
    }
    for number in [1, 1, 64, length] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(names.bytes());
    bytes.resize(3 * 4096, 0);
    bytes
}

#[test]
fn the_output_is_written_as_a_whole() {
    let place = Place::new();
    place.write("s.trace", trace());
    place.write("out", "before");
    std::fs::hard_link(place.path("out"), place.path("before")).unwrap();
    place
        .nest(&["trace", "s.trace", "-o", "out"])
        .with_status(0);
    assert_eq!(
        place.read("out"),
        place.nest(&["trace", "s.trace"]).with_status(0).out
    );
    assert_eq!(place.read("before"), "before");
    place
        .nest(&["trace", "s.trace", "-o", "nowhere/out"])
        .with_status(1)
        .err_has("error: cannot write nowhere/out: no such file or directory");
    place
        .nest(&["trace", "s.trace", "-o", "/dev/full"])
        .with_status(1)
        .err_has("error: cannot write /dev/full: no space left on device");
}
