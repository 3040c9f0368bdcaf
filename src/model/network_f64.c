#include <math.h>
#include <string.h>

#include "bang/model/network.h"

#define REAL double
#define NAME(x) x##_f64
#define ERF erf
#define EXP exp
#define TANH tanh
#include "model/network_template.h"
