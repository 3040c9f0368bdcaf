#include "lab/ledger.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/agree.h"
#include "bang/base/json.h"
#include "bang/base/rank.h"

struct ledger {
    const ledger_units *units;
    const bang_lab_options *options;
    json_t **result;      /* (count) */
    uint8_t *there;       /* (count) left by an earlier run */
    size_t stored;        /* units before it have their record */
    size_t open;          /* units without a result; means something on rank 0 */
    pthread_mutex_t lock; /* of result, stored and open */
};

static int is_first(const ledger *l)
{
    return bang_ranks_rank(l->options->ranks) == 0;
}

static int recall(ledger *l, bang_error *err)
{
    const ledger_units *units = l->units;
    int rc = 0;
    for (size_t i = 0; i < units->count && rc == 0; i++) {
        char key[96];
        units->key(key, sizeof key, units->context, i);
        json_t *settings = units->settings(units->context, i);
        rc = settings ? lab_recall(&l->result[i], key, settings, l->options, err)
                      : bang_fail_memory(err);
        json_decref(settings);
        l->there[i] = l->result[i] != NULL;
        l->open += !l->there[i];
    }
    return rc;
}

/* The options of a record name the plan and the digests of the data: ranks that have others would
 * mix their records. */
static int agree(const ledger *l, bang_error *err)
{
    const ledger_units *units = l->units;
    if (bang_ranks_count(l->options->ranks) == 1)
        return 0;
    json_t *about = units->count ? units->settings(units->context, 0) : json_object();
    int rc =
        about && json_object_set_new(about, "units", json_integer((json_int_t)units->count)) == 0
            ? bang_ranks_agree(l->options->ranks, about, err)
            : bang_fail_memory(err);
    json_decref(about);
    return rc;
}

int ledger_open(ledger **out, const ledger_units *units, const bang_lab_options *options,
                bang_error *err)
{
    ledger *l = *out = calloc(1, sizeof *l);
    if (!l)
        return bang_fail_memory(err);
    pthread_mutex_init(&l->lock, NULL);
    l->units = units;
    l->options = options;
    l->result = calloc(units->count + 1, sizeof(json_t *));
    l->there = calloc(units->count + 1, 1);
    int rc = l->result && l->there ? agree(l, err) : bang_fail_memory(err);
    if (rc == 0 && is_first(l))
        rc = recall(l, err);
    if (rc == 0)
        rc = bang_ranks_broadcast(options->ranks, l->there, units->count, err);
    if (rc < 0) {
        ledger_close(l);
        *out = NULL;
    }
    return rc;
}

size_t ledger_missing(size_t *out, const ledger *l)
{
    size_t ranks = (size_t)bang_ranks_count(l->options->ranks);
    size_t rank = (size_t)bang_ranks_rank(l->options->ranks), missing = 0, mine = 0;
    for (size_t i = 0; i < l->units->count; i++)
        if (!l->there[i] && missing++ % ranks == rank)
            out[mine++] = i;
    return mine;
}

int ledger_has(const ledger *l, size_t unit)
{
    return l->there[unit];
}

static int store(const ledger *l, size_t unit, bang_error *err)
{
    const ledger_units *units = l->units;
    char key[96];
    units->key(key, sizeof key, units->context, unit);
    json_t *settings = units->settings(units->context, unit);
    if (!settings)
        return bang_fail_memory(err);
    return lab_store((lab_measurement){.experiment = units->experiment,
                                       .section = units->section,
                                       .key = key,
                                       .options = settings},
                     l->result[unit], NULL, l->options, err);
}

/* Records of units as far as all before them have theirs. Locked. */
static int store_ready(ledger *l, bang_error *err)
{
    int rc = 0;
    while (rc == 0 && l->stored < l->units->count && l->result[l->stored]) {
        if (!l->there[l->stored])
            rc = store(l, l->stored, err);
        l->stored += rc == 0;
    }
    return rc;
}

/* 1 if another rank's unit came. Locked. */
static int take(ledger *l, int wait, bang_error *err)
{
    uint64_t unit = 0;
    void *text = NULL;
    size_t size = 0;
    json_t *result = NULL;
    int rc = bang_ranks_receive(l->options->ranks, &unit, &text, &size, wait, err);
    if (rc <= 0)
        return rc;
    rc = bang_json_parse(&result, text, size, err);
    free(text);
    if (rc == 0 && (unit >= l->units->count || l->result[unit]))
        rc = bang_fail(err, BANG_EDATA, "unit %llu came from a rank that was not asked for it",
                       (unsigned long long)unit);
    if (rc < 0) {
        json_decref(result);
        return rc;
    }
    l->result[unit] = result;
    l->open--;
    if (l->units->arrived)
        l->units->arrived(l->units->context, (size_t)unit);
    rc = store_ready(l, err);
    return rc < 0 ? rc : 1;
}

static int take_all(ledger *l, bang_error *err)
{
    int rc = 0;
    while (l->options->ranks && l->open > 0 && (rc = take(l, 0, err)) > 0)
        ;
    return rc;
}

static int post(const ledger *l, size_t unit, const json_t *result, bang_error *err)
{
    char *line = bang_json_line(result);
    int rc = line ? bang_ranks_post(l->options->ranks, unit, line, strlen(line), err)
                  : bang_fail_memory(err);
    free(line);
    return rc;
}

int ledger_put(ledger *l, size_t unit, json_t *result, bang_error *err)
{
    if (!is_first(l)) {
        int rc = post(l, unit, result, err);
        json_decref(result);
        return rc;
    }
    pthread_mutex_lock(&l->lock);
    l->result[unit] = result;
    l->open--;
    int rc = store_ready(l, err);
    if (rc == 0)
        rc = take_all(l, err);
    pthread_mutex_unlock(&l->lock);
    return rc;
}

int ledger_look(ledger *l, bang_error *err)
{
    /* Whoever holds the lock is looking already. */
    if (!l->options->ranks || !is_first(l) || pthread_mutex_trylock(&l->lock) != 0)
        return 0;
    int rc = take_all(l, err);
    pthread_mutex_unlock(&l->lock);
    return rc;
}

int ledger_finish(json_t **out, ledger *l, bang_error *err)
{
    int rc = 0;
    *out = NULL;
    pthread_mutex_lock(&l->lock);
    while (rc >= 0 && is_first(l) && l->open > 0)
        rc = take(l, 1, err);
    pthread_mutex_unlock(&l->lock);
    if (rc < 0)
        return rc;
    if (!(*out = json_array()))
        return bang_fail_memory(err);
    for (size_t i = 0; i < l->units->count && is_first(l); i++)
        json_array_append(*out, l->result[i]);
    return 0;
}

void ledger_close(ledger *l)
{
    bang_error ignored = {0};
    if (!l)
        return;
    if (is_first(l))
        take_all(l, &ignored);
    for (size_t i = 0; l->result && i < l->units->count; i++)
        json_decref(l->result[i]);
    free(l->result);
    free(l->there);
    pthread_mutex_destroy(&l->lock);
    free(l);
}
