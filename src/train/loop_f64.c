#include <math.h>
#include <string.h>

#include "bang/model/network.h"
#include "train/loop.h"
#include "train/ranks.h"
#include "train/state.h"

#define REAL double
#define DTYPE BANG_F64
#define NAME(x) x##_f64
#define EXP exp
#define LOG log
#include "train/loop_template.h"
