#include "networks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bang/base/file.h"

int networks_read(void *target, const char *value, bang_error *err)
{
    networks *n = target;
    const char **paths = realloc(n->paths, (n->count + 1) * sizeof *paths);
    if (!paths)
        return bang_fail_memory(err);
    n->paths = paths;
    n->paths[n->count++] = value;
    return 0;
}

void networks_check(cli *c, const networks *n)
{
    bang_activation activation;
    if (n->count == 0)
        cli_problem(c, "--model: missing: name a network with --model FILE");
    for (size_t i = 0; i < n->count; i++)
        if (access(n->paths[i], R_OK) < 0)
            cli_problem(c, "--model %.300s: cannot be read: name a file that bang train wrote",
                        n->paths[i]);
    if (n->activation && bang_activation_find(&activation, n->activation) < 0)
        cli_problem(c, "--activation %.40s: unknown: choose relu, gelu or tanh", n->activation);
}

int networks_load(networks *n, bang_error *err)
{
    n->mlps = calloc(n->count ? n->count : 1, sizeof *n->mlps);
    int rc = n->mlps ? 0 : bang_fail_memory(err);
    for (size_t i = 0; rc == 0 && i < n->count; i++) {
        rc = bang_mlp_load(&n->mlps[i], n->paths[i], err);
        if (rc == 0 && n->activation)
            bang_activation_find(&n->mlps[i].activation, n->activation);
    }
    return rc;
}

void networks_fit(cli *c, const networks *n, const bang_dataset *set, const char *source)
{
    for (size_t i = 0; i < n->count; i++) {
        const bang_mlp *mlp = &n->mlps[i], *first = &n->mlps[0];
        size_t classes = mlp->width[mlp->layers], expected = first->width[first->layers];
        if (mlp->width[0] != set->width)
            cli_problem(c, "--model %.200s: reads %zu numbers: an input of %.200s has %zu",
                        n->paths[i], mlp->width[0], source, set->width);
        if (classes != expected)
            cli_problem(c, "--model %.200s: has %zu outputs, %.200s has %zu: they must agree",
                        n->paths[i], classes, n->paths[0], expected);
        else if (classes < set->classes)
            cli_problem(c, "--model %.200s: has %zu outputs: %.200s has %zu classes", n->paths[i],
                        classes, source, set->classes);
    }
}

void networks_release(networks *n)
{
    for (size_t i = 0; n->mlps && i < n->count; i++)
        bang_mlp_release(&n->mlps[i]);
    free(n->mlps);
    free(n->paths);
    *n = (networks){0};
}

int same_file(const char *a, const char *b)
{
    struct stat one, two;
    return stat(a, &one) == 0 && stat(b, &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
}

void check_output(cli *c, const char *option, const char *path)
{
    bang_error err = {0};
    bang_file *file;
    if (bang_file_begin(&file, path, &err) < 0)
        cli_problem(c, "--%s %s", option, err.message);
    else
        bang_file_discard(file);
}
