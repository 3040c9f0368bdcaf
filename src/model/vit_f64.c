#include <string.h>

#include "model/vit_block.h"

#define REAL double
#define NAME(x) x##_f64
#include "model/vit_block_template.h"
#include "model/vit_template.h"
