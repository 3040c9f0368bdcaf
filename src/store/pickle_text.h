/* The opcodes of a pickle whose argument is a line of text. Private to this room. */
#ifndef BANG_STORE_PICKLE_TEXT_H
#define BANG_STORE_PICKLE_TEXT_H

#include "store/pickle.h"

/* What I, L, F, S or V makes of its line; NULL when memory is out. */
bang_value *bang_pickle_line(bang_pickle *pickle, int opcode, const char *line, size_t size);

#endif
