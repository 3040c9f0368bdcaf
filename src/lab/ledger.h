/* The records of an experiment's units (seeds, mostly): appended in the order of the units,
 * whichever thread or rank is done with one first, so that the file is the same for any number of
 * either, also after a run that was cut short.
 *
 *     ledger_open(&ledger, &units, options, &err);
 *     count = ledger_missing(mine, ledger);       // what this rank is to do
 *     ... ledger_put(ledger, mine[i], result, &err) from any thread ...
 *     ledger_finish(&results, ledger, &err);      // rank 0 waits for all others' units
 *     ledger_close(ledger);
 *
 * Rank 0 alone reads and writes records. It tells the others what is missing; of that, the k-th
 * unit is the work of rank k modulo their number. They post to it what they find.
 */
#ifndef BANG_LAB_LEDGER_H
#define BANG_LAB_LEDGER_H

#include "lab/lab.h"

typedef struct ledger ledger;

typedef struct ledger_units {
    size_t count;
    const char *experiment, *section;
    /* Name and options (a new reference) of a unit's record. */
    void (*key)(char *out, size_t size, const void *context, size_t unit);
    json_t *(*settings)(const void *context, size_t unit);
    /* A unit that another rank has done is there, for a bar of progress. May be NULL. */
    void (*arrived)(void *context, size_t unit);
    void *context;
} ledger_units;

/* Finds the units whose records are there. One made with other options is an error. units and
 * what it points to outlives the ledger. All ranks open and finish it together. */
int ledger_open(ledger **out, const ledger_units *units, const bang_lab_options *options,
                bang_error *err);

/* The units that are missing and are this rank's, into out (count), in order; how many. */
size_t ledger_missing(size_t *out, const ledger *l);
/* 1 if an earlier run left the record of unit. */
int ledger_has(const ledger *l, size_t unit);

/* Takes what was found of unit; result is stolen. Appends all records that can be. */
int ledger_put(ledger *l, size_t unit, json_t *result, bang_error *err);
/* On rank 0: takes what others have sent since, without waiting. To be called now and then. */
int ledger_look(ledger *l, bang_error *err);

/* When this rank has put all its units. On rank 0, *out is the results of all units in order, a
 * new array; on others an empty one. */
int ledger_finish(json_t **out, ledger *l, bang_error *err);

/* On rank 0 what has come by now is kept, also after a failure. NULL is allowed. */
void ledger_close(ledger *l);

#endif
