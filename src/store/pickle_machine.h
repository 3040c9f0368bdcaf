/* The machine that a pickle is a program for: a stack, marks in it, a memo.
 * Private to this room. */
#ifndef BANG_STORE_PICKLE_MACHINE_H
#define BANG_STORE_PICKLE_MACHINE_H

#include "store/pickle.h"

typedef struct bang_machine_values {
    bang_value **items;
    size_t count, capacity;
} bang_machine_values;

typedef struct bang_machine {
    bang_pickle *pickle;
    const unsigned char *data;
    size_t size, at;
    const char *name;
    bang_machine_values stack, memo; /* memo.count: of puts */
    size_t *marks;
    size_t mark_count, mark_capacity;
    bang_value *none, *truth, *falsehood, *empty; /* what never changes is made once */
    bang_error *err;
} bang_machine;

int bang_machine_fail(const bang_machine *m, const char *why);
/* When the bytes have ended. */
int bang_machine_fail_cut(bang_machine *m);
/* When a value could not be made or kept. */
int bang_machine_fail_value(const bang_machine *m);

/* NULL says that memory was out when value was made. */
int bang_machine_push(bang_machine *m, bang_value *value);
/* NULL when there is nothing behind the last mark. */
bang_value *bang_machine_top(const bang_machine *m);
bang_value *bang_machine_pop(bang_machine *m);
/* The count last values, valid until the next push; NULL when there are fewer. */
bang_value **bang_machine_pop_many(bang_machine *m, size_t count);
int bang_machine_push_mark(bang_machine *m);
/* Everything behind the last mark, which goes with it; valid until the next push. */
int bang_machine_pop_mark(bang_machine *m, bang_machine_values *out);

/* The next size bytes; NULL when there are fewer. */
const unsigned char *bang_machine_take(bang_machine *m, uint64_t size);
int bang_machine_take_number(bang_machine *m, int size, uint64_t *out);
/* Up to the end of the line. */
int bang_machine_take_line(bang_machine *m, const char **line, size_t *size);

/* Puts the top into the memo, or pushes what is there. The index is a number of
 * size bytes; size -1: of decimal digits; size 0: the next one. */
int bang_machine_memo(bang_machine *m, int size, int is_put);

#endif
