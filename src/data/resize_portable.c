#define KERNELS bang_resize_portable
#include "data/resize_template.h"
