/* The classes of a data set and the outputs of a network: which is which. */
#ifndef BANG_CLI_CLASSES_H
#define BANG_CLI_CLASSES_H

#include "bang/data/images.h"
#include "bang/model/vit_file.h"

/* Which output has the name of each class of the data, into place, (classes); -1 where none
 * has. How many were found (0 when one of the two has no names), or -1 when memory is out. */
long classes_find(int64_t *place, const bang_images *set, const bang_vit_model *model);
/* Numbers the labels as place says; how many classes got another number. */
size_t classes_renumber(bang_images *set, const int64_t *place);

#endif
