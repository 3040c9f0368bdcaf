#include "hold.h"

#include <stdlib.h>

#include "bang/base/file.h"
#include "cli.h"

int cli_hold(bang_lock **out, const char *path, bang_error *err)
{
    *out = NULL;
    cli_cancel();
    char *lock = bang_path_hidden(path, ".bang-lock");
    int rc = lock ? bang_lock_take(out, lock, err) : bang_fail_memory(err);
    free(lock);
    return rc <= 0
               ? rc
               : bang_fail(err, BANG_EIO,
                           "%s: another run is writing it: wait for its end or name another", path);
}
