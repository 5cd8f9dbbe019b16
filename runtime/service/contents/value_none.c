/* value_none.c: a server without %cache, and so without the policy `custom`. No state. */
#include "store.h"

nest__policy_value *const nest__contents_value = NULL;
