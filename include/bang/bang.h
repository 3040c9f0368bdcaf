/* Everything that libbang offers. A program that needs one room only includes
 * that room's header and compiles faster.
 *
 *     #include <bang/bang.h>
 *     cc program.c $(pkg-config --cflags --libs bang)
 */
#ifndef BANG_BANG_H
#define BANG_BANG_H

#include "bang/base/arena.h"
#include "bang/base/error.h"
#include "bang/base/file.h"
#include "bang/base/json.h"
#include "bang/base/progress.h"
#include "bang/base/random.h"
#include "bang/base/record.h"
#include "bang/base/text.h"
#include "bang/base/thread.h"
#include "bang/lab/lab.h"
#include "bang/report/chart.h"
#include "bang/report/figure.h"
#include "bang/report/report.h"
#include "bang/theory/simulate.h"
#include "bang/theory/theory.h"

#endif
