/* What every unit test needs: cmocka with the headers it wants first, and a
 * folder of its own.
 *
 *     static void test_it(void **state) { const char *folder = *state; ... }
 *     cmocka_unit_test_setup_teardown(test_it, make_folder, drop_folder)
 */
#ifndef BANG_TESTS_TESTING_H
#define BANG_TESTS_TESTING_H

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline int make_folder(void **state)
{
    const char *base = getenv("TMPDIR");
    char path[512];
    snprintf(path, sizeof path, "%s/bang-test-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(path))
        return -1;
    *state = strdup(path);
    return *state ? 0 : -1;
}

static inline int drop_entry(const char *path, const struct stat *status, int kind,
                             struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

static inline int drop_folder(void **state)
{
    int rc = nftw(*state, drop_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return rc;
}

/* FOLDER/NAME, good for the next seven calls; folder may come from one. */
static inline const char *in_folder(const char *folder, const char *name)
{
    static char paths[8][1024];
    static int next;
    char path[sizeof paths[0]];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return memcpy(paths[next++ % 8], path, sizeof path);
}

#endif
