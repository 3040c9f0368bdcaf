/* For every processor: what the compiler may assume of all of them. */
#define LABEL "portable"
#define NAME(x) x##_portable
#include "tensor/convert_template.h"
