/* Conditional requests: whether If-None-Match and If-Modified-Since name the version that an answer
 * has, in a form that the server itself answers with 304. Only the plainest forms are judged: one
 * blank before a value, tags without commas, one comma and at most one blank between tags, and the
 * very bytes of Last-Modified.
 *
 * Must not know: sockets, how a head is read, and how an answer is sent. */
#ifndef NEST_KERNEL_CONDITIONS_H
#define NEST_KERNEL_CONDITIONS_H

#include "types.h"

#define DATE_BYTES 29

/* Where the values are in the scratch buffer; 0: the request has no such field. */
struct condition {
    __u32 tag;   /* If-None-Match */
    __u32 since; /* If-Modified-Since */
};

/* Where the walk over a list of tags is. */
enum place {
    PLACE_COMMA, /* behind a comma and a blank, or at the start */
    PLACE_BLANK, /* behind a comma */
    PLACE_SLASH, /* behind the W */
    PLACE_QUOTE, /* behind W/ */
    PLACE_INSIDE,
    PLACE_BEHIND, /* behind a tag */
    PLACE_END
};

/* Kept apart from the walk, as in heads.h. */
struct tag_walker {
    struct tags *tags;
    struct scratch *scratch;
    struct block *block;
};

/* Compares the next byte of a tag. */
INLINE void compare_byte(struct tags *tags, struct block *block, unsigned char c) {
    if (tags->matched >= tags->size ||
        block->bytes[(tags->tag + tags->matched) & (BLOCK_BYTES - 1)] != c)
        tags->differs = 1;
    tags->matched++;
}

/* Looks at one byte; 1 ends the walk. */
static long walk_tags(__u32 index, struct tag_walker *walker) {
    struct tags *tags = walker->tags;
    struct block *block = walker->block;
    unsigned char c = walker->scratch->bytes[(tags->at + index) & (HEAD_BYTES - 1)];
    switch (tags->place) {
    case PLACE_BLANK:
        tags->place = PLACE_COMMA;
        if (c == ' ')
            return 0;
        /* fall through */
    case PLACE_COMMA:
        tags->count++;
        tags->weak = c == 'W';
        if (c == 'W') {
            tags->place = PLACE_SLASH;
            return 0;
        }
        /* fall through */
    case PLACE_QUOTE:
        tags->place = PLACE_INSIDE;
        tags->matched = 0;
        tags->differs = 0;
        compare_byte(tags, block, c);
        return c != '"';
    case PLACE_SLASH:
        tags->place = PLACE_QUOTE;
        return c != '/';
    case PLACE_INSIDE:
        compare_byte(tags, block, c);
        if (c == '"') {
            tags->place = PLACE_BEHIND;
            if (!tags->differs && tags->matched == tags->size)
                tags->found |= tags->weak ? FORM_WEAK : FORM_STRONG;
        }
        return c == ',' || c <= ' ';
    case PLACE_BEHIND:
        if (c == ',')
            tags->place = PLACE_BLANK;
        else if (c == '\r')
            tags->place = PLACE_END;
        return c != ',';
    default:
        return 1;
    }
}

/* Whether the value at `at` has the entry's tag, in forms that the server answers with 304. */
INLINE int has_tag(struct scratch *scratch, struct entry *entry, struct block *block, __u32 at) {
    struct tags *tags = &scratch->tags;
    struct tag_walker walker = {tags, scratch, block};
    const unsigned char *text = scratch->bytes + (at & (HEAD_BYTES - 1));
    if (text[0] == '*' && text[1] == '\r')
        return entry->forms & FORM_ANY;
    __builtin_memset(tags, 0, sizeof *tags);
    tags->at = at;
    tags->tag = entry->tag;
    tags->size = entry->tag_size;
    repeat(HEAD_BYTES, walk_tags, &walker, 0);
    if (tags->place != PLACE_END || !tags->found)
        return 0;
    if (tags->count > 1 && !(entry->forms & FORM_LIST))
        return 0;
    return entry->forms & tags->found;
}

/* Whether the value at `at` is the entry's date. */
INLINE int has_date(struct scratch *scratch, struct entry *entry, struct block *block, __u32 at) {
    const unsigned char *text = scratch->bytes + (at & (HEAD_BYTES - 1));
    __u32 i;
    for (i = 0; i < DATE_BYTES; i++)
        if (text[i] != block->bytes[(entry->since + i) & (BLOCK_BYTES - 1)])
            return 0;
    return text[DATE_BYTES] == '\r';
}

/* Whether the server would answer the condition with 304. If it has both fields, both must hold:
 * some servers look at both, others at the tags only. */
INLINE int names_version(struct scratch *scratch, struct entry *entry,
                         struct condition *condition) {
    __u32 which = entry->blocks[0];
    struct block *block = map_lookup(&blocks, &which);
    if (!block)
        return 0;
    if (condition->tag && !has_tag(scratch, entry, block, condition->tag))
        return 0;
    if (!condition->since)
        return 1;
    if (!(entry->forms & (condition->tag ? FORM_BESIDE : FORM_SINCE)))
        return 0;
    return has_date(scratch, entry, block, condition->since);
}

#endif
