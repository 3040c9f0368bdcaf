/* Runs a libFuzzer target without libFuzzer, so that every build tries it:
 * on each file of the folder that is named, on thousands of mutations of those
 * files, and on random bytes. The inputs are the same every time. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/file.h"
#include "bang/base/random.h"

enum { MUTATIONS = 4000, RANDOM_INPUTS = 2000, LARGEST = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct corpus {
    size_t count;
    char **data;
    size_t *size;
};

/* A copy of just these bytes, so that a sanitizer sees a read behind the end. */
static void run(const char *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        abort();
    if (size)
        memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Every file, in the order of names. */
static void load(struct corpus *corpus, const char *folder)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, is_input, alphasort);
    if (count <= 0)
        return;
    corpus->data = calloc((size_t)count, sizeof *corpus->data);
    corpus->size = calloc((size_t)count, sizeof *corpus->size);
    for (int i = 0; i < count; i++) {
        char *path = bang_path_join(folder, entries[i]->d_name);
        bang_error err = {0};
        if (!path || bang_file_read(&corpus->data[i], &corpus->size[i], path, &err) < 0) {
            fprintf(stderr, "%s\n", err.message);
            exit(1);
        }
        corpus->count++;
        free(path);
        free(entries[i]);
    }
    free(entries);
}

/* A few of: flip a bit, set a byte, drop or double a stretch, cut the end, take
 * over a stretch of another input. */
static size_t mutate(char *buffer, size_t size, const struct corpus *corpus, bang_random *random)
{
    static const char interesting[] = "0123456789-+.,eEvsn\"{}[]:\\/ \n\t\xff\x7f";
    for (uint64_t steps = 1 + bang_random_below(random, 6); steps > 0; steps--) {
        size_t at = bang_random_below(random, size + 1);
        size_t length = bang_random_below(random, size - at + 1);
        switch (bang_random_below(random, 6)) {
        case 0:
            if (at < size)
                buffer[at] = (char)(buffer[at] ^ 1 << bang_random_below(random, 8));
            break;
        case 1:
            if (at < size)
                buffer[at] = interesting[bang_random_below(random, sizeof interesting)];
            break;
        case 2:
            memmove(buffer + at, buffer + at + length, size - at - length);
            size -= length;
            break;
        case 3:
            if (size + length <= LARGEST) {
                memmove(buffer + at + length, buffer + at, size - at);
                size += length;
            }
            break;
        case 4:
            size = at;
            break;
        default: {
            size_t other = bang_random_below(random, corpus->count);
            size_t from = bang_random_below(random, corpus->size[other] + 1);
            length = bang_random_below(random, corpus->size[other] - from + 1);
            length = length < LARGEST - at ? length : LARGEST - at;
            memcpy(buffer + at, corpus->data[other] + from, length);
            size = at + length > size ? at + length : size;
        }
        }
    }
    return size;
}

int main(int argc, char **argv)
{
    struct corpus corpus = {0};
    char buffer[LARGEST];
    bang_random random;
    bang_random_init(&random, 1, BANG_PURPOSE('f', 'u', 'z', 'z'), 0);
    if (argc > 1)
        load(&corpus, argv[1]);
    for (size_t i = 0; i < corpus.count; i++)
        run(corpus.data[i], corpus.size[i]);
    for (int i = 0; i < MUTATIONS && corpus.count > 0; i++) {
        size_t from = bang_random_below(&random, corpus.count);
        size_t size = corpus.size[from] < LARGEST ? corpus.size[from] : LARGEST;
        memcpy(buffer, corpus.data[from], size);
        run(buffer, mutate(buffer, size, &corpus, &random));
    }
    for (int i = 0; i < RANDOM_INPUTS; i++) {
        size_t size = bang_random_below(&random, i % 16 ? 64 : LARGEST);
        for (size_t k = 0; k < size; k++)
            buffer[k] = (char)(i % 2 ? bang_random_below(&random, 256)
                                     : ' ' + bang_random_below(&random, 95));
        run(buffer, size);
    }
    printf("%zu inputs, %d mutations, %d random inputs\n", corpus.count,
           corpus.count ? MUTATIONS : 0, RANDOM_INPUTS);
    for (size_t i = 0; i < corpus.count; i++)
        free(corpus.data[i]);
    free(corpus.data);
    free(corpus.size);
    return 0;
}
