//! The functions of `nest.h` that do what directives do without being what a directive becomes. Must
//! not know: how rows are looked up.

use super::roles::Role;
use super::rows::{Does, Function, Others, States, Wait};
use super::table::{FILE_NAME, PART};
use nest_feature::Feature;

const fn f(c: &'static str, does: Does) -> Function {
    Function { c, does }
}

const LOGS_FIELD: Does = Does {
    needs: Some(Feature::Fields),
    ..Does::NOTHING
};

const REPLIES: Does = Does {
    replies: true,
    waits: Some(Wait::Output),
    ..Does::NOTHING
};

/// Replies with a format as the first argument behind the session.
const FORMATS: Does = Does {
    text: &[Role::Format, Role::Other],
    ..REPLIES
};

const SENDS: Does = Does {
    others: Others::One,
    needs: Some(Feature::Send),
    ..Does::NOTHING
};

/// Sends with a format as the second argument behind the session.
const SENDS_FORMATS: Does = Does {
    text: &[Role::Other, Role::Format, Role::Other],
    ..SENDS
};

const REPLIES_FILE: Does = Does {
    needs: Some(Feature::Files),
    ..REPLIES
};

/// Functions of `nest.h` that no row above describes: they belong to a directive whose C depends on
/// its arguments, or to none. They come first when a function is looked up.
pub const FUNCTIONS: &[Function] = &[
    f(PART.c, Does::NOTHING),
    f("nest_log_text", LOGS_FIELD),
    f("nest_log_number", LOGS_FIELD),
    f("nest_log_unsigned", LOGS_FIELD),
    f("nest_log_bytes", LOGS_FIELD),
    f("nest_reply", REPLIES),
    f("nest_reply_list", REPLIES),
    f("nest_replyf", FORMATS),
    f("nest_vreplyf", FORMATS),
    f("nest_send", SENDS),
    f("nest_send_list", SENDS),
    f("nest_sendf", SENDS_FORMATS),
    f("nest_vsendf", SENDS_FORMATS),
    f(
        "nest_clear_all",
        Does {
            states: States::ClearsAll,
            ..Does::NOTHING
        },
    ),
    f(
        "nest_close",
        Does {
            closes: true,
            ..Does::NOTHING
        },
    ),
    f("nest_file_reply_open", REPLIES_FILE),
    f("nest_file_reply_value", REPLIES_FILE),
    f(
        "nest_file_reply_path",
        Does {
            text: FILE_NAME,
            ..REPLIES_FILE
        },
    ),
    f(
        "nest_file_root",
        Does {
            needs: Some(Feature::Files),
            ..Does::NOTHING
        },
    ),
    f(
        "nest_block_end",
        Does {
            needs: Some(Feature::Blocks),
            ..Does::NOTHING
        },
    ),
];
