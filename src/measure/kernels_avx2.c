/* For processors with AVX2; CMakeLists.txt compiles this file for them. */
#if defined(__x86_64__)
#define VECTOR_BYTES 32
#define LABEL "avx2"
#define TABLE bang_measure_avx2
#include "measure/kernels_template.h"
#else
typedef int bang_no_avx2; /* a file may not be empty */
#endif
