//! Findings about text from the client are no claims: the server is built, and what they say happens.

use crate::common::Place;

/// A format may crash it, so its rule is the last.
const SPECIFICATION: &str = r#"%{
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void show(const char *path, char *to) {
    FILE *file = fopen(path, "r");
    strcpy(to, file != NULL ? "opened\n" : "none\n");
    if (file != NULL) fclose(file);
}
%}
%state SAID
%%
char name[8], role[8] = "guest";
char format[16];

nul = "nul " [^\n]* "\n" { $reply("%zu of %zu\n", strlen($2), $len(2)); }
command = "command " [!-~]{1,8} "\n" {
    char command[32], said[32] = "";
    snprintf(command, sizeof command, "echo ran %s", $2);
    FILE *run = popen(command, "r");
    if (run != NULL && fgets(said, sizeof said, run) != NULL) $reply(said);
    if (run != NULL) pclose(run);
}
path = "path " [!-~]{1,32} "\n" { char to[16]; show($2, to); $reply(to); }
long = "long " [!-~]+ "\n" { strcpy(name, $2); $reply("role ", role, ".\n"); }
say = "say " [a-z%.]{1,15} "\n" { nest_strlcpy(format, $2, sizeof format); $seen(SAID); }
SAID: said = "said\n" { nest_replyf($self, format, 1); $reply("\n"); }
"#;

#[test]
fn what_is_said_of_texts_happens() {
    let place = Place::new();
    place.write("a.nest", SPECIFICATION);
    let list = place.nest(&["check", "a.nest"]).with_status(0);
    let lines = list.out.lines();
    let codes: Vec<&str> = lines
        .filter_map(|line| line.split(['[', ']']).nth(1))
        .collect();
    let expected = ["W0401", "W0403", "W0404", "W0405", "W0402"];
    let codes: Vec<&str> = codes.into_iter().filter(|c| c.starts_with("W04")).collect();
    assert_eq!(codes, expected, "{}", list.out);
    let played = |n: &str| place.nest(&["check", "--replay", n, "a.nest"]);
    // The part has a byte, the string none.
    played("1").with_status(0).out_has("0 of 1");
    // `;` ends the command.
    played("2").with_status(0).out_has("\"ran\\n\"");
    // The root of all files.
    played("3").with_status(0).out_has("opened");
    // The NUL has come into what stands behind the array.
    let long = played("4").with_status(0).out_has("role ");
    assert!(!long.out.contains("guest"), "{}", long.out);
    // `%n` writes to where the number is taken for an address to be.
    let crashed = played("5").with_status(1);
    let crashed = crashed.out_has("<- \"said\\n\"").out_has("say %n\\n");
    crashed.err_has("crashed").err_has("the server ended with");
}
