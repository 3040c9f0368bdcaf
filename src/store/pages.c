#include "store/pages.h"

#include <stdlib.h>
#include <string.h>

/* Enough for weights of convolutions whose channels lie last, and for views with
 * gaps; matrices that lie transposed are read another way (checkpoint_read.c). */
enum { PAGE = 4096, PAGES = 256 };

struct bang_pages {
    struct {
        size_t file;
        uint64_t number; /* of the page in the file, plus 1; 0: nothing yet */
    } holds[PAGES];
    unsigned char bytes[PAGES][PAGE];
};

bang_pages *bang_pages_new(void)
{
    bang_pages *pages = malloc(sizeof *pages);
    if (pages) /* the pages themselves are not touched before they are needed */
        memset(pages->holds, 0, sizeof pages->holds);
    return pages;
}

void bang_pages_free(bang_pages *pages)
{
    free(pages);
}

size_t bang_pages_memory(void)
{
    return sizeof(struct bang_pages);
}

/* Where a page is kept. Rows that are a power of two apart must not all meet in
 * one place, so the bits are mixed first. */
static size_t place_of(uint64_t number)
{
    return (size_t)(number * 0x9e3779b97f4a7c15U >> 32) % PAGES;
}

int bang_pages_read(bang_pages *pages, const bang_source *source, size_t file, uint64_t offset,
                    void *out, size_t size, bang_error *err)
{
    unsigned char *to = out;
    while (size > 0) {
        uint64_t number = offset / PAGE, start = number * PAGE;
        size_t place = place_of(number), within = (size_t)(offset - start);
        if (pages->holds[place].number != number + 1 || pages->holds[place].file != file) {
            uint64_t left = source->size > start ? source->size - start : 0;
            pages->holds[place].number = 0;
            int code = bang_source_read(source, pages->bytes[place], (size_t)start,
                                        left < PAGE ? (size_t)left : PAGE, err);
            if (code < 0)
                return code;
            pages->holds[place].file = file;
            pages->holds[place].number = number + 1;
        }
        size_t part = PAGE - within < size ? PAGE - within : size;
        memcpy(to, pages->bytes[place] + within, part);
        to += part;
        offset += part;
        size -= part;
    }
    return 0;
}
