#include "bang/base/agree.h"

#include <stdlib.h>
#include <string.h>

static void add_difference(bang_text *out, const char *key, const json_t *old, const json_t *new)
{
    enum { LONG = 40 };
    char *was =
        old ? bang_json_text(old, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(8)) : NULL;
    char *is =
        new ? bang_json_text(new, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(8)) : NULL;
    const char *there = old ? was : "not given", *here = new ? is : "not given";
    if (!there || !here)
        out->failed = 1;
    else if (strlen(there) > LONG || strlen(here) > LONG)
        bang_text_add(out, "; %s: not the same", key);
    else
        bang_text_add(out, "; %s: %s there, %s now", key, there, here);
    free(was);
    free(is);
}

void bang_agree_compare(bang_text *differences, const json_t *there, const json_t *now)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)now, key, value)
    {
        const json_t *other = json_object_get(there, key);
        if (!other || !json_equal(value, other))
            add_difference(differences, key, other, value);
    }
    json_object_foreach((json_t *)there, key, value)
    {
        if (!json_object_get(now, key))
            add_difference(differences, key, value, NULL);
    }
    if (differences->size)
        bang_text_flatten(differences->data);
}

/* What rank 0 says about itself. */
static int hear_first(json_t **out, const char *own, bang_ranks *ranks, bang_error *err)
{
    uint64_t size = strlen(own);
    int rc = bang_ranks_broadcast(ranks, &size, sizeof size, err);
    char *text = rc == 0 ? malloc((size_t)size + 1) : NULL;
    if (rc == 0 && !text)
        rc = bang_fail_memory(err);
    if (rc == 0 && bang_ranks_rank(ranks) == 0)
        memcpy(text, own, (size_t)size);
    if (rc == 0)
        rc = bang_ranks_broadcast(ranks, text, (size_t)size, err);
    if (rc == 0)
        rc = bang_json_parse(out, text, (size_t)size, err);
    free(text);
    return rc;
}

int bang_ranks_agree(bang_ranks *ranks, const json_t *about, bang_error *err)
{
    if (bang_ranks_count(ranks) == 1)
        return 0;
    char *own = bang_json_line(about);
    json_t *first = NULL, *now = NULL;
    int rc = own ? hear_first(&first, own, ranks, err) : bang_fail_memory(err);
    if (rc == 0) /* numbers as they are after a journey */
        rc = bang_json_parse(&now, own, strlen(own), err);
    bang_text differences = {0};
    if (rc == 0)
        bang_agree_compare(&differences, first, now);
    if (differences.failed)
        rc = bang_fail_memory(err);
    else if (differences.size)
        rc = bang_fail(err, BANG_EUSAGE,
                       "this rank is to do something else than rank 0: %.600s: give all ranks the "
                       "same options, data and network",
                       differences.data + 2);
    bang_text_release(&differences);
    uint8_t fine = 1;
    if (rc == 0) /* nobody begins before all have compared: who fails is heard here */
        rc = bang_ranks_max_u8(ranks, &fine, 1, err);
    json_decref(first);
    json_decref(now);
    free(own);
    return rc;
}
