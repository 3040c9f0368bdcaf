/* For every processor: what the compiler may assume of all of them. */
#define VECTOR_BYTES 16
#define LABEL "portable"
#define TABLE bang_measure_portable
#include "measure/kernels_template.h"
