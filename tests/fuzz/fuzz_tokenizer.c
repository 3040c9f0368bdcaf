/* A vocabulary and a text: up to an empty line the one, behind it the other. What is
 * accepted gives ids of that vocabulary between start and end, the same ones twice. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bang/data/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CONTEXT = 77 };

static void check(const int32_t *ids, const bang_tokenizer *tokenizer)
{
    int32_t vocabulary = (int32_t)bang_tokenizer_vocabulary(tokenizer);
    size_t end = CONTEXT - 1;
    while (end > 0 && ids[end] == 0)
        end--;
    if (ids[0] != vocabulary - 2 || end == 0 || ids[end] != vocabulary - 1)
        abort();
    for (size_t i = 0; i < CONTEXT; i++)
        if (ids[i] < 0 || ids[i] >= vocabulary)
            abort();
}

static void try_text(const bang_tokenizer *tokenizer, const char *text)
{
    int32_t ids[CONTEXT], again[CONTEXT];
    bang_error err = {0};
    int rc = bang_tokenizer_encode(ids, CONTEXT, tokenizer, text, &err);
    if (rc < 0 && (!err.message[0] || strchr(err.message, '\n')))
        abort();
    if (rc < 0)
        return;
    check(ids, tokenizer);
    if (bang_tokenizer_encode(again, CONTEXT, tokenizer, text, &err) != rc ||
        memcmp(ids, again, sizeof ids) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bang_tokenizer *tokenizer;
    bang_error err = {0};
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    char *second = strstr(text, "\n\n");
    size_t first = second ? (size_t)(second - text) + 1 : size;
    if (bang_tokenizer_parse(&tokenizer, text, first, "fuzz", &err) < 0) {
        if (err.code >= 0 || !err.message[0] || tokenizer)
            abort();
    } else {
        try_text(tokenizer, second ? second + 2 : text);
        bang_tokenizer_close(tokenizer);
    }
    free(text);
    return 0;
}
