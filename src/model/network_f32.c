#include <math.h>
#include <string.h>

#include "bang/model/network.h"

#define REAL float
#define NAME(x) x##_f32
#define ERF erff
#define EXP expf
#define TANH tanhf
#include "model/network_template.h"
