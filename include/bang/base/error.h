/* Errors travel as values: a fallible call returns 0 or a negative code and
 * says why in the caller's bang_error. Nothing is printed, nothing exits.
 *
 *     bang_error err = {0};
 *     if (bang_file_put("out.csv", text, size, &err) < 0)
 *         fprintf(stderr, "%s\n", err.message);
 *
 * A message reads "what: why: what to do" and is one line: control characters of what it
 * quotes become '?'.
 */
#ifndef BANG_BASE_ERROR_H
#define BANG_BASE_ERROR_H

enum {
    BANG_OK = 0,
    BANG_EUSAGE = -1,     /* the caller asked for something impossible */
    BANG_EMEMORY = -2,    /* an allocation failed */
    BANG_EIO = -3,        /* the operating system refused */
    BANG_EDATA = -4,      /* a file does not hold what it should */
    BANG_ECANCELLED = -5, /* the caller asked to stop */
};

typedef struct bang_error {
    int code;
    char message[1024];
} bang_error;

#if defined(__GNUC__)
#define BANG_PRINTF(template, first) __attribute__((format(printf, template, first)))
#else
#define BANG_PRINTF(template, first)
#endif

/* Fills err (which may be NULL) and returns code, so that a caller can write
 * `return bang_fail(err, BANG_EIO, "%s: %s", path, strerror(errno));` */
int bang_fail(bang_error *err, int code, const char *format, ...) BANG_PRINTF(3, 4);

/* The common case: out of memory. Returns BANG_EMEMORY. */
int bang_fail_memory(bang_error *err);

/* Texts and JSON values are built by many small calls, and one that finds no memory leaves a
 * value without a part. A program that ends when memory is out calls bang_memory_watch first:
 * jansson's memory then goes through this library, and once an allocation was refused
 * bang_memory_refused is 1, no JSON becomes text and no file is committed. So nothing that is
 * kept lacks a part. Where nobody watches, each caller sees to that itself. */
void bang_memory_watch(void);
int bang_memory_refused(void);
/* For who does without some memory although a result depends on it. */
void bang_memory_refuse(void);

#endif
