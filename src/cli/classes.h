/* The classes of a data set and the outputs of a network: which is which. */
#ifndef BANG_CLI_CLASSES_H
#define BANG_CLI_CLASSES_H

#include "bang/data/images.h"

/* Which of (count) names each class of the data has, into place, (classes); -1 where none or
 * more than one fits. A name that is not there as it is written is looked for without
 * regard to case and with '_', '-' and ' ' for the same: apple_pie is "Apple pie". No two
 * classes get one name that way. How many were found (0 when one of the two has no names),
 * or -1 when memory is out. */
long classes_find(int64_t *place, const bang_images *set, char *const *names, size_t count);
/* 1 if there are as many classes as outputs, and those that were found are where their order
 * puts them: then all may be taken in order. */
int classes_in_order(const bang_images *set, const int64_t *place, size_t outputs);
/* Numbers the labels as place says; how many classes got another number. */
size_t classes_renumber(bang_images *set, const int64_t *place);

#endif
