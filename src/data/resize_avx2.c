#if defined(__x86_64__)
#define KERNELS bang_resize_avx2
#include "data/resize_template.h"
#else
typedef int bang_resize_no_avx2; /* a file must hold something */
#endif
