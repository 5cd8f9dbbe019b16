//! A small specification with a page beside it, for what `nest test` does with both.

use super::Place;

pub const GREET: &str = "%state KNOWN\n%%\nchar name[9];\n\
    name = \"I am \" [a-z]{1,8} \"\\n\" { nest_strlcpy(name, $2, sizeof name); $seen(KNOWN);\n\
    $reply(\"Hello.\\n\"); }\n\
    KNOWN: who = \"Who?\\n\" { $reply(\"You are %s.\\n\", name); }\n\
    other = [^\\n]* \"\\n\" { $reply(\"What?\\n\"); }\n";

pub const KNOWN: &str = "# greet: a name is remembered\n\nspec: greet.nest\n\n\
    ```client\nsend \"I am al\\n\"\nexpect \"Hello.\\n\"\nsend \"Who?\\n\"\nexpect \"You are al.\\n\"\n```\n\n\
    ```trace\nopen\nstates START DEFAULT last=DEFAULT\ntake name \"I am al\\n\"\nreply \"Hello.\\n\"\n\
    states START DEFAULT KNOWN last=KNOWN\ntake who \"Who?\\n\"\nreply \"You are al.\\n\"\nend eof\n```\n";

pub const QUICK: [&str; 4] = ["test", "--quick", "--model", "script"];

pub fn quick<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&QUICK, more].concat()
}

pub fn greet() -> Place {
    let place = Place::new();
    place.write("greet.nest", GREET);
    place.write("known.md", KNOWN);
    place
}
