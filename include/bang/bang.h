/* Everything that libbang offers. A program that needs one room only includes
 * that room's header and compiles faster.
 *
 *     #include <bang/bang.h>
 *     cc program.c $(pkg-config --cflags --libs bang)
 */
#ifndef BANG_BANG_H
#define BANG_BANG_H

#include "bang/base/arena.h"
#include "bang/base/digest.h"
#include "bang/base/error.h"
#include "bang/base/file.h"
#include "bang/base/json.h"
#include "bang/base/machine.h"
#include "bang/base/process.h"
#include "bang/base/progress.h"
#include "bang/base/random.h"
#include "bang/base/record.h"
#include "bang/base/text.h"
#include "bang/base/thread.h"
#include "bang/combine/average.h"
#include "bang/combine/blocks.h"
#include "bang/combine/difference.h"
#include "bang/combine/greedy.h"
#include "bang/combine/layer.h"
#include "bang/combine/statistics.h"
#include "bang/data/color.h"
#include "bang/data/dataset.h"
#include "bang/data/mnist.h"
#include "bang/data/sheet.h"
#include "bang/explain/heat.h"
#include "bang/explain/occlusion.h"
#include "bang/lab/lab.h"
#include "bang/model/conversion.h"
#include "bang/model/layout.h"
#include "bang/model/mlp.h"
#include "bang/model/network.h"
#include "bang/model/rows.h"
#include "bang/report/chart.h"
#include "bang/report/figure.h"
#include "bang/report/report.h"
#include "bang/store/checkpoint.h"
#include "bang/store/idx.h"
#include "bang/store/npy.h"
#include "bang/store/output.h"
#include "bang/store/png.h"
#include "bang/store/safetensors.h"
#include "bang/store/stream.h"
#include "bang/tensor/array.h"
#include "bang/tensor/convert.h"
#include "bang/tensor/kernels.h"
#include "bang/theory/simulate.h"
#include "bang/theory/theory.h"
#include "bang/train/train.h"

#endif
