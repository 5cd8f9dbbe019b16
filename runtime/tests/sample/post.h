/* post.h: mail that clients of the sample send each other, and what it says; see post.c. */
#ifndef SAMPLE_POST_H
#define SAMPLE_POST_H

#include "../../seam.h"

struct nest__rule;
void nest__post_take(nest_session *, const struct nest__rule *, const uint8_t *bytes, uint32_t n);
void nest__post_mail(nest_session *, uint32_t kind, const uint8_t *bytes, uint32_t n);

#endif
