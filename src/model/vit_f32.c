#include <string.h>

#include "model/vit_block.h"

#define REAL float
#define NAME(x) x##_f32
#include "model/vit_block_template.h"
#include "model/vit_template.h"
