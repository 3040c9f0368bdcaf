/* What other languages call: text and plain arrays in, JSON text out, no structs that a caller
 * would have to lay out. python/bang.py is made of it.
 *
 *     char *told;
 *     bang_error err;
 *     if (bang_bridge_theory(&told, "{\"shift\": 0.9, \"models\": [\"2,3\", \"2,3\"]}", &err) == 0)
 *         puts(told);
 *     bang_bridge_free(told);
 *
 * A request is one JSON object. What it leaves out, or sets to null, has the default of the
 * command's option of that name; a key that is not listed is an error.
 */
#ifndef BANG_BRIDGE_BRIDGE_H
#define BANG_BRIDGE_BRIDGE_H

#include <stddef.h>
#include <stdint.h>

#include "bang/base/error.h"
#include "bang/base/thread.h"

/* "0.1.0" */
const char *bang_bridge_version(void);

/* Each fills *out, which the caller frees with bang_bridge_free, or sets it to NULL and fails. */

/* What bang theory --json prints, of
 *     {"models": [TEXT, ..], "shift": P, "classes": K, "overlap": [NV, NS], "sigma": S,
 *      "alpha": A, "weights": [W, ..], "scale": L, "best": BOOL, "polynomial": BOOL,
 *      "failure": BOOL, "method": NAME, "samples": N, "seed": N, "threads": N} */
int bang_bridge_theory(char **out, const char *request, bang_error *err);

/* What bang average --json prints, without seconds, of
 *     {"inputs": [PATH, ..], "output": PATH, "alpha": TEXT, "weights": [W, ..], "method": NAME,
 *      "base": PATH, "scale": S, "density": D, "drop": P, "dtype": NAME, "allow_nan": BOOL,
 *      "max_memory": BYTES, "seed": N, "threads": N}
 * alpha is a number as text, which the recipe in the output quotes. */
int bang_bridge_average(char **out, const char *request, bang_error *err);
/* The same, until cancel is raised: then it fails, and the output is as it was. NULL is allowed.
 * For a caller without the type it is an int that is 0, and bang_cancel_raise sets it. */
int bang_bridge_average_until(char **out, const char *request, bang_cancel *cancel,
                              bang_error *err);

/* What bang diagnose --json prints of one set. labels (rows), or NULL; pre, fine, avg
 * (rows, outputs) of double if `wide`, else of float; avg may be NULL. Of
 *     {"name": TEXT, "bins": N, "bootstrap": N, "level": P, "weights": [W, W],
 *      "temperature": [TP, TF], "fit": BOOL, "probabilities": BOOL, "logits": BOOL,
 *      "list": [GROUP, ..], "by_class": BOOL, "seed": N, "threads": N} */
int bang_bridge_diagnose(char **out, const char *request, const int64_t *labels, const void *pre,
                         const void *fine, const void *avg, size_t rows, size_t outputs, int wide,
                         bang_error *err);

/* NULL is allowed. */
void bang_bridge_free(char *told);

#endif
