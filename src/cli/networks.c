#include "networks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
    if (n->activation && bang_activation_find(&activation, n->activation) < 0)
        cli_problem(c, "--activation %.40s: unknown: choose relu, gelu or tanh", n->activation);
}

int networks_load(const cli *c, networks *n)
{
    bang_error err = {0};
    n->mlps = calloc(n->count ? n->count : 1, sizeof *n->mlps);
    if (!n->mlps) {
        bang_fail_memory(&err);
        return cli_fail(c, &err);
    }
    int status = CLI_DONE;
    for (size_t i = 0; i < n->count; i++)
        if (bang_mlp_load(&n->mlps[i], n->paths[i], &err) < 0)
            status = cli_fail(c, &err);
        else if (n->activation)
            bang_activation_find(&n->mlps[i].activation, n->activation);
    return status;
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

static int same_place(const struct stat *one, const struct stat *two)
{
    return one->st_dev == two->st_dev && one->st_ino == two->st_ino;
}

/* The folder of a path, "." if it names none; the caller frees it. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
}

int same_file(const char *a, const char *b)
{
    struct stat one, two;
    int has_one = stat(a, &one) == 0, has_two = stat(b, &two) == 0;
    if (has_one || has_two)
        return has_one && has_two && same_place(&one, &two);
    const char *name_a = strrchr(a, '/'), *name_b = strrchr(b, '/');
    if (strcmp(name_a ? name_a + 1 : a, name_b ? name_b + 1 : b) != 0)
        return 0;
    char *of_a = folder_of(a), *of_b = folder_of(b);
    int same =
        of_a && of_b && stat(of_a, &one) == 0 && stat(of_b, &two) == 0 && same_place(&one, &two);
    free(of_a);
    free(of_b);
    return same;
}

void check_output(cli *c, const char *option, const char *path)
{
    bang_error err = {0};
    bang_file *file;
    if (bang_ranks_rank(c->ranks) > 0) /* it is rank 0 that writes */
        return;
    cli_cancel(); /* from now on there may be something to clear up */
    if (bang_file_begin(&file, path, &err) == 0) {
        bang_file_discard(file);
        return;
    }
    struct stat there;
    char *folder = bang_path_beside(path, ".");
    cli_problem(c, "--%s %s", option, err.message);
    /* the folder is there, but may not be written, or another run writes that file */
    if (err.code == BANG_EIO && folder && stat(strchr(path, '/') ? folder : ".", &there) == 0 &&
        !(stat(path, &there) == 0 && S_ISDIR(there.st_mode)))
        cli_refuse();
    free(folder);
}
