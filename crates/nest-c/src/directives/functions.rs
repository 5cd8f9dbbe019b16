//! The functions of `nest.h` that do what directives do without being what a directive becomes. Must
//! not know: how rows are looked up.

use super::build::{FILE_NAME, f};
use super::roles::Role;
use super::rows::{Does, Function, InLock, Others, States, Wait};
use super::table::PART;
use nest_feature::Feature;

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
    in_lock: InLock::No,
    needs: Some(Feature::Send),
    ..Does::NOTHING
};

/// Sends with a format as the second argument behind the session.
const SENDS_FORMATS: Does = Does {
    text: &[Role::Other, Role::Format, Role::Other],
    ..SENDS
};

/// It is about a second connection, and may wait for it.
const SAYS: Does = Does {
    waits: Some(Wait::Output),
    in_lock: InLock::No,
    needs: Some(Feature::Dial),
    ..Does::NOTHING
};

/// The same with a format as the second argument behind the session.
const SAYS_FORMATS: Does = Does {
    text: &[Role::Other, Role::Format, Role::Other],
    ..SAYS
};

/// A file goes to a second connection, or comes from one.
const TRANSFERS: Does = Does {
    needs: Some(Feature::Transfer),
    ..SAYS
};

/// The same, with its name as the second argument behind the session.
const TRANSFERS_NAMED: Does = Does {
    text: &[Role::Other, Role::Own, Role::Other],
    ..TRANSFERS
};

/// It is about a group.
const fn about(others: Others) -> Does {
    Does {
        others,
        in_lock: InLock::No,
        needs: Some(Feature::Groups),
        ..Does::NOTHING
    }
}

const BROADCASTS_FORMATS: Does = Does {
    text: &[Role::Other, Role::Format, Role::Other],
    ..about(Others::Group)
};

/// The same, where the sender may be asked for as well.
const BROADCASTS_FORMATS_ALSO: Does = Does {
    text: &[Role::Other, Role::Other, Role::Format, Role::Other],
    ..about(Others::Group)
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
    f("nest_reply_to", SAYS),
    f("nest_reply_to_list", SAYS),
    f("nest_replyf_to", SAYS_FORMATS),
    f("nest_vreplyf_to", SAYS_FORMATS),
    f("nest_read_any_list", SAYS),
    f("nest_send", SENDS),
    f("nest_send_list", SENDS),
    f("nest_sendf", SENDS_FORMATS),
    f("nest_vsendf", SENDS_FORMATS),
    f("nest_join_group", about(Others::Joins)),
    f("nest_leave_group", about(Others::Leaves)),
    f("nest_members_group", about(Others::Counts)),
    f("nest_broadcast", about(Others::Group)),
    f("nest_broadcast_list", about(Others::Group)),
    f("nest_broadcast_all", about(Others::Group)),
    f("nest_broadcast_all_list", about(Others::Group)),
    f("nest_broadcast_group", about(Others::Group)),
    f("nest_broadcast_list_group", about(Others::Group)),
    f("nest_broadcastf", BROADCASTS_FORMATS),
    f("nest_broadcast_allf", BROADCASTS_FORMATS),
    f("nest_broadcastf_group", BROADCASTS_FORMATS_ALSO),
    f("nest_vbroadcastf_group", BROADCASTS_FORMATS_ALSO),
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
    f("nest_file_reply_to_open", TRANSFERS),
    f("nest_file_reply_to_value", TRANSFERS),
    f("nest_file_reply_to_path", TRANSFERS_NAMED),
    f("nest_file_receive_from_upload", TRANSFERS),
    f("nest_file_receive_from_path", TRANSFERS_NAMED),
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
        "nest_lock_end",
        Does {
            needs: Some(Feature::Shared),
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
