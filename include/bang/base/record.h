/* Result records: FOLDER/results.jsonl, one JSON object per line and
 * measurement. What a record must hold:
 *
 *     {"key": "simulation/1-1",          names the measurement within the run
 *      "experiment": "simulation",
 *      "version": "0.1.0",
 *      "options": {...},                 all that the result depends on, seed included
 *      "result": {...}}
 *
 * Records are appended whole and synced. A run that was killed may leave a
 * last line without its end; reading ignores it and the next append removes
 * it, so a resumed run ends with the same bytes as one that was not killed.
 */
#ifndef BANG_BASE_RECORD_H
#define BANG_BASE_RECORD_H

#include "bang/base/json.h"

/* Appends one record; creates the folder and the file when missing. */
int bang_record_append(const char *folder, const json_t *record, bang_error *err);

/* All complete records as a JSON array (a new reference); an empty array when
 * there is no file. A broken line in the middle is an error that names it. */
int bang_record_read(json_t **out, const char *folder, bang_error *err);

/* The record with this key whose options are equal, borrowed from records, or
 * NULL. Numbers compare by value; options that are NULL fit every record. */
json_t *bang_record_find(const json_t *records, const char *key, const json_t *options);

#endif
