/* Reading what other languages ask for, and answering. */
#ifndef BANG_BRIDGE_REQUEST_H
#define BANG_BRIDGE_REQUEST_H

#include "bang/base/json.h"

/* A JSON object; keys whose value is null are gone. *out is a new reference, NULL on failure. */
int bang_request_parse(json_t **out, const char *text, bang_error *err);
/* json_unpack of all that is left in the request, which must not hold other keys. */
int bang_request_unpack(json_t *request, bang_error *err, const char *format, ...);
/* Numbers of an array, at most `most`, at least one; returns how many. NULL: 0. */
int bang_request_numbers(double *out, int most, const char *key, const json_t *array,
                         bang_error *err);
/* 0, all cores, to as many as the command takes. */
int bang_request_threads(int threads, bang_error *err);
/* Takes the reference. */
int bang_request_answer(char **out, json_t *told, bang_error *err);

#endif
