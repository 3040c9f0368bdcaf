#include <math.h>
#include <string.h>

#include "bang/model/network.h"
#include "train/loop.h"
#include "train/ranks.h"
#include "train/state.h"

#define REAL float
#define DTYPE BANG_F32
#define NAME(x) x##_f32
#define EXP expf
#define LOG logf
#include "train/loop_template.h"
