/* Everything that libbang offers. A program that needs one room only includes
 * that room's header and compiles faster.
 *
 *     #include <bang/bang.h>
 *     cc program.c $(pkg-config --cflags --libs bang)
 *
 * C++ programs include this header, not those of the rooms.
 */
#ifndef BANG_BANG_H
#define BANG_BANG_H

#ifdef __cplusplus
/* What the rooms include, first: C++ may not meet it within extern "C". */
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#endif

#include "bang/base/agree.h"
#include "bang/base/arena.h"
#include "bang/base/csv.h"
#include "bang/base/digest.h"
#include "bang/base/error.h"
#include "bang/base/file.h"
#include "bang/base/json.h"
#include "bang/base/lock.h"
#include "bang/base/machine.h"
#include "bang/base/pool.h"
#include "bang/base/process.h"
#include "bang/base/progress.h"
#include "bang/base/random.h"
#include "bang/base/rank.h"
#include "bang/base/record.h"
#include "bang/base/text.h"
#include "bang/base/thread.h"
#include "bang/base/utf8.h"
#include "bang/bridge/bridge.h"
#include "bang/bridge/finding.h"
#include "bang/bridge/prediction.h"
#include "bang/combine/average.h"
#include "bang/combine/balance.h"
#include "bang/combine/blocks.h"
#include "bang/combine/difference.h"
#include "bang/combine/greedy.h"
#include "bang/combine/layer.h"
#include "bang/combine/statistics.h"
#include "bang/data/class_map.h"
#include "bang/data/color.h"
#include "bang/data/dataset.h"
#include "bang/data/feed.h"
#include "bang/data/images.h"
#include "bang/data/mnist.h"
#include "bang/data/resize.h"
#include "bang/data/sheet.h"
#include "bang/data/shift.h"
#include "bang/data/tokenizer.h"
#include "bang/data/transform.h"
#include "bang/explain/heat.h"
#include "bang/explain/occlusion.h"
#include "bang/explain/overlay.h"
#include "bang/explain/saliency.h"
#include "bang/lab/lab.h"
#include "bang/measure/calibration.h"
#include "bang/measure/curve.h"
#include "bang/measure/curve_rows.h"
#include "bang/measure/diagnosis.h"
#include "bang/measure/logits.h"
#include "bang/measure/statistics.h"
#include "bang/measure/subset.h"
#include "bang/measure/tally.h"
#include "bang/measure/temperature.h"
#include "bang/model/conversion.h"
#include "bang/model/layout.h"
#include "bang/model/mlp.h"
#include "bang/model/network.h"
#include "bang/model/rows.h"
#include "bang/model/text.h"
#include "bang/model/vit.h"
#include "bang/model/vit_file.h"
#include "bang/report/chart.h"
#include "bang/report/figure.h"
#include "bang/report/report.h"
#include "bang/store/checkpoint.h"
#include "bang/store/gzip.h"
#include "bang/store/idx.h"
#include "bang/store/image.h"
#include "bang/store/npy.h"
#include "bang/store/output.h"
#include "bang/store/png.h"
#include "bang/store/safetensors.h"
#include "bang/store/stream.h"
#include "bang/tensor/array.h"
#include "bang/tensor/convert.h"
#include "bang/tensor/kernels.h"
#include "bang/tensor/layers.h"
#include "bang/tensor/product.h"
#include "bang/tensor/table.h"
#include "bang/theory/simulate.h"
#include "bang/theory/theory.h"
#include "bang/train/predict.h"
#include "bang/train/train.h"
#include "bang/train/tune.h"

#ifdef __cplusplus
}
#endif

#endif
