#include <stdio.h>
#include <string.h>

#include "data.h"

static const struct {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
} parts[] = {
    {"classes", "the classes of a set of pictures, a line each, for you to name", data_classes},
    {"get", "fetch a data set into the cache, or take over your own files", data_get},
    {"list", "the data sets that have names, and what the cache holds", data_list},
    {"make", "write digits with colours or under shifts to a folder", data_make},
    {"map", "which outputs of an ImageNet model stand for which folders", data_map},
    {"preview", "a picture of what data sets look like", data_preview},
};
static const size_t part_count = sizeof parts / sizeof *parts;

static void print_help(void)
{
    puts("Usage: bang data COMMAND [options]\n\n"
         "Gets, makes and shows the data that models are trained and measured on.\n\n"
         "Commands:");
    for (size_t i = 0; i < part_count; i++)
        printf("  %-12s %s\n", parts[i].name, parts[i].summary);
    puts("\nDownloads are kept in $BANG_CACHE, else $XDG_CACHE_HOME/bang, else ~/.cache/bang;\n"
         "packages of data sets are looked for in $BANG_DATASETS, else /usr/share/datasets.\n"
         "bang data COMMAND --help tells more.\n\n"
         "Example:\n"
         "  bang data get mnist\n"
         "  bang data make multicolor -p 0.8 --split test --count 1000 -o shifted\n"
         "  bang data preview shifted -o shifted.png");
}

int cmd_data(int argc, char **argv)
{
    if (argc < 3) {
        print_help();
        return CLI_USAGE;
    }
    if (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0 ||
        strcmp(argv[2], "help") == 0) {
        print_help();
        return CLI_DONE;
    }
    for (size_t i = 0; i < part_count; i++)
        if (strcmp(argv[2], parts[i].name) == 0)
            return parts[i].run(argc, argv);
    fprintf(stderr,
            "bang data: %.80s: unknown: choose classes, get, list, make, map or "
            "preview\n",
            argv[2]);
    return CLI_USAGE;
}
