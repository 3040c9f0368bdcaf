/* A vocabulary of byte-pair encoding: what each byte is called, and which two tokens
 * become one, in which order. Private to this room. */
#ifndef BANG_DATA_VOCABULARY_H
#define BANG_DATA_VOCABULARY_H

#include <stddef.h>
#include <stdint.h>

#include "bang/base/error.h"

/* Two neighbours that become one. */
typedef struct merge_pair {
    int32_t left, right, result; /* ids; left is -1 in a place that is empty */
    uint32_t rank;               /* the line: what comes first is merged first */
} merge_pair;

typedef struct bang_vocabulary {
    size_t count;       /* of tokens: 512, the merges, start, end */
    int32_t inner[256]; /* id of each byte inside a word */
    int32_t last[256];  /* and at its end */
    merge_pair *pairs;  /* (mask + 1) a hash table */
    size_t mask;
} bang_vocabulary;

/* See tokenizer.h for the format; name is for messages. The caller releases it. */
int bang_vocabulary_parse(bang_vocabulary *out, const char *text, size_t size, const char *name,
                          bang_error *err);
void bang_vocabulary_release(bang_vocabulary *vocabulary);

/* The tokens of a word of size bytes into symbols; returns how many. symbols and ranks
 * have room for size of them. */
size_t bang_vocabulary_merge(const bang_vocabulary *vocabulary, int32_t *symbols, uint32_t *ranks,
                             const char *word, size_t size);

#endif
