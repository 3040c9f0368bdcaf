/* CLIP's tokenizer: byte-pair encoding over lower-cased text.
 *
 *     bang_tokenizer *tokenizer;
 *     bang_tokenizer_open(&tokenizer, "bpe_simple_vocab_16e6.txt.gz", &err);
 *     int32_t ids[77];
 *     bang_tokenizer_encode(ids, 77, tokenizer, "a photo of a cat.", &err);
 *     bang_tokenizer_close(tokenizer);
 *
 * The vocabulary file, plain or .gz: a first line that is skipped, then one merge
 * "a b" a line, of which the first 48,894 count. Text, UTF-8 of at most 65,536 bytes:
 * html entities unescaped twice, white space collapsed and stripped, lower case (what
 * the Python package ftfy repairs before all that is left as it is); words by the pattern
 *     <|startoftext|>|<|endoftext|>|
 *     's|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+
 * bytes as characters, merges by rank, the last character of a word with </w>.
 * Vocabulary: 256 characters, 256 with </w>, the merges, start, end; of two that are
 * spelled alike the last one counts.
 */
#ifndef BANG_DATA_TOKENIZER_H
#define BANG_DATA_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

#include "bang/base/error.h"

typedef struct bang_tokenizer bang_tokenizer;

/* The caller closes it. */
int bang_tokenizer_open(bang_tokenizer **out, const char *path, bang_error *err);
/* The same from the text of the file, not compressed; name is for messages. */
int bang_tokenizer_parse(bang_tokenizer **out, const char *text, size_t size, const char *name,
                         bang_error *err);
/* 49,408 with CLIP's file. Start is vocabulary - 2, end vocabulary - 1. */
size_t bang_tokenizer_vocabulary(const bang_tokenizer *tokenizer);
/* start, tokens, end, zeros: (context) ids. A text that is too long is cut and ends with
 * end, as CLIP's truncate=True; returns 1 then, else 0, or a negative code. May be called from
 * several threads. */
int bang_tokenizer_encode(int32_t *ids, size_t context, const bang_tokenizer *tokenizer,
                          const char *text, bang_error *err);
void bang_tokenizer_close(bang_tokenizer *tokenizer);

#endif
