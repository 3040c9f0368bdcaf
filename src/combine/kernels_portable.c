/* For every processor: what the compiler may assume of all of them. */
#define VECTOR_BYTES 16
#define LABEL "portable"
#define TABLE bang_combine_portable
#include "combine/kernels_template.h"
