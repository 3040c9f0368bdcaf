/* For clang-tidy only: its analyzer looks at one file at a time and cannot see
 * that these return the code they are given, which is never 0. */
#include "bang/base/error.h"

#define bang_fail(err, code, ...) (bang_fail(err, code, __VA_ARGS__), (code))
#define bang_fail_memory(err) (bang_fail_memory(err), BANG_EMEMORY)
