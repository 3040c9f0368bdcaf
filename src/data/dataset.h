/* Data sets that have a name. */
#ifndef BANG_SRC_DATA_DATASET_H
#define BANG_SRC_DATA_DATASET_H

#include "bang/data/dataset.h"

/* "NAME" or "NAME:key=value,..."; fetches MNIST if need be. What out holds on failure is the
 * caller's to release. */
int bang_dataset_named(bang_dataset *out, const char *source, bang_error *err);

#endif
