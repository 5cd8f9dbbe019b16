/* features.h: what servers of tests without a specification do not have, of what the generated part
 * defines before seam.h. */
#ifndef NEST_TESTS_FEATURES_H
#define NEST_TESTS_FEATURES_H

#define NEST__EARLY 0
#define NEST__TAGS 1
#define NEST__REGISTERS 1
#define NEST__SPLICES 0
#define NEST__FALLBACK 0
#define NEST__TLS 0
#define NEST__DECODES 0
#define NEST__ENCODES 0
#define NEST__PROXIED 0
#define NEST__RETURNS 0
#define NEST__POLLED 0
#define NEST__PROCESSORS 0
#define NEST__PIPES 0

#endif
