/* value.c: the policy `custom` of option fileCache: the value of a file is what %cache says. No
 * state. */
#include "store.h"

nest__policy_value nest__spec_cache; /* the code of %cache */

nest__policy_value *const nest__contents_value = nest__spec_cache;
