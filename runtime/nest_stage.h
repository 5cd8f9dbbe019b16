/* nest_stage.h: what the functions of %decode and %encode are called with.
 *
 * Included by the header of a specification that has such functions. Must not include other parts
 * of the runtime, so that C files of a user can include it. */
#ifndef NEST_STAGE_H
#define NEST_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The function takes bytes from `in` and writes bytes to `out`, as many as it can, and sets `took`
 * and `gave`, which are 0 before. It must not wait, and it has no session. It returns 0, or a
 * negative number if the input is invalid. Of %decode: when the bytes that it gave have been
 * handled, the connection ends with the reason NEST_DECODE. Of %encode: the connection is reset,
 * and END runs with the reason NEST_ENCODE. If it gets input, it must take or give at least one
 * byte. What it does not take it gets again. If it fills `out`, it is called again, also without
 * input. The memory belongs to the caller, and is valid until the function returns. */
typedef struct nest_stage {
    const uint8_t *in; /* the next in_n bytes of the stream */
    size_t in_n;
    uint8_t *out; /* room for out_n bytes; at least 1 */
    size_t out_n;
    size_t took, gave; /* results */
    bool end;          /* no input follows these bytes */
    bool flush;        /* of %encode: the client waits for these bytes; keep none of them back */
    bool over;         /* the last call: release what the state refers to; there is no in nor out */
} nest_stage;

#endif
