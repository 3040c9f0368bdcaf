/* For processors with AVX2 and F16C; CMakeLists.txt compiles this file for them. */
#if defined(__x86_64__)
#define LABEL "avx2"
#define NAME(x) x##_avx2
#include "tensor/convert_template.h"
#else
typedef int bang_no_avx2; /* a file may not be empty */
#endif
