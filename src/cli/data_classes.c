/* bang data classes, bang data map */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/file.h"
#include "bang/data/class_map.h"
#include "checkpoints.h"
#include "data.h"

/* n and eight digits: a synset of WordNet, as ImageNet names its folders. */
static int is_wnid(const char *name)
{
    return name[0] == 'n' && strspn(name + 1, "0123456789") == 8 && strlen(name) == 9;
}

/* "golden_retriever" as "golden retriever", into out, which is as long as folder. */
static void name_class(char *out, const char *folder)
{
    for (; *folder; folder++)
        *out++ = *folder == '_' ? ' ' : *folder;
    *out = '\0';
}

/* The lines, and the same as a list for --json. */
static int list_classes(bang_text *lines, json_t *list, const bang_images *set, bang_error *err)
{
    size_t *counts = calloc(set->classes + 1, sizeof *counts);
    int rc = counts ? 0 : bang_fail_memory(err);
    for (size_t i = 0; rc == 0 && i < set->count; i++)
        counts[set->labels[i]]++;
    for (size_t i = 0; rc == 0 && i < set->classes; i++) {
        const char *folder = set->class_names[i];
        char *name = malloc(strlen(folder) + 1);
        if (!name) {
            rc = bang_fail_memory(err);
            break;
        }
        name_class(name, folder);
        if (strpbrk(folder, "\t\r\n"))
            rc = bang_fail(err, BANG_EDATA,
                           "class %zu: its name holds a tab or a line break: rename it", i);
        bang_text_add(lines, "%s\t%s\n", folder, name);
        json_array_append_new(list, json_pack("{ss ss sI}", "folder", folder, "name", name, "count",
                                              (json_int_t)counts[i]));
        free(name);
    }
    if (rc == 0 && lines->failed)
        rc = bang_fail_memory(err);
    free(counts);
    return rc;
}

static int classes(const cli *c, const char *output)
{
    bang_error err = {0};
    bang_images set = {0};
    bang_text lines = {0};
    json_t *list = json_array();
    int rc = bang_images_open(&set, c->operands[0], &err), wnids = 1, status;
    if (rc == 0 && !set.class_names)
        rc = bang_fail(&err, BANG_EDATA, "%.600s: its classes have no names", c->operands[0]);
    if (rc == 0)
        rc = list_classes(&lines, list, &set, &err);
    if (rc == 0 && output)
        rc = bang_file_put(output, lines.data, lines.size, &err);
    for (size_t i = 0; rc == 0 && i < set.classes; i++)
        wnids = wnids && is_wnid(set.class_names[i]);
    if (rc < 0) {
        status = cli_fail(c, &err);
        json_decref(list);
    } else if (c->json) {
        json_t *out = json_pack("{ss sI so}", "source", c->operands[0], "count",
                                (json_int_t)set.count, "classes", list);
        if (output)
            json_object_set_new(out, "output", json_string(output));
        status = cli_print_json(c, out);
    } else {
        status = CLI_DONE;
        if (!output)
            fwrite(lines.data, 1, lines.size, stdout);
        else if (!c->quiet)
            printf("%zu classes, %zu pictures: %s\n", set.classes, set.count, output);
        fflush(stdout);
        if (wnids && !c->quiet)
            fprintf(stderr,
                    "bang %s: these are WordNet's numbers: write words behind the tabs before a "
                    "head is made of them\n",
                    c->command);
        json_decref(list);
    }
    bang_text_release(&lines);
    bang_images_release(&set);
    return status;
}

int data_classes(int argc, char **argv)
{
    static const char summary[] =
        "Writes the classes of a set of pictures, one a line in the order of the labels:\n"
        "FOLDER<TAB>NAME, where the name is the folder's with spaces for underscores. Put\n"
        "better names behind the tabs by hand, then give the file to bang zeroshot --classes.\n"
        "DATA is a folder of class folders, or a CSV with the columns path and label.";
    const char *output = NULL;
    cli_option options[] = {
        {"output", 'o', "FILE", "where to write them (standard output)", cli_read_text, &output},
        {0},
    };
    cli c;
    if (cli_init(&c, "data classes", argc) < 0)
        return CLI_FAILED;
    cli_parse(&c, options, argc, argv, 3);
    int status = CLI_DONE;
    if (c.help) {
        cli_print_help("data classes", "DATA [-o FILE]", summary, options,
                       "  bang data classes food101/images -o classes.txt\n"
                       "  bang data classes list.csv --json\n");
    } else {
        if (c.operand_count != 1)
            cli_problem(&c, "%zu sources named: name one folder or CSV", c.operand_count);
        status = cli_usage_failed(&c) ? CLI_USAGE : classes(&c, output);
    }
    cli_release(&c);
    return status;
}

typedef struct request {
    bang_family family;
    const char *classes, *data, *mappings, *output;
} request;

/* Makes the map and holds the data against it; what is strange goes to warnings. */
static int make_map(bang_class_map *map, size_t *images, const request *r, bang_text *warnings,
                    bang_error *err)
{
    bang_images set = {0};
    size_t expected, count;
    bang_family_sizes(r->family, &expected, &count);
    int rc = bang_class_map_make(map, r->family, r->classes, r->data, r->mappings, err);
    if (rc < 0)
        return rc;
    if (map->outputs != 1000)
        bang_text_add(warnings, "%s: %zu classes of the model, but ImageNet has 1000\n", map->name,
                      map->outputs);
    if (map->classes != count)
        bang_text_add(warnings, "%s: %zu classes, but %zu are expected\n", map->name, map->classes,
                      count);
    rc = bang_images_open(&set, r->data, err);
    if (rc == 0)
        rc = bang_class_map_apply(&set, map, warnings, err);
    *images = set.count;
    bang_images_release(&set);
    return rc;
}

static int print_map(const cli *c, const request *r, const bang_class_map *map, size_t images,
                     const bang_text *warnings)
{
    if (!c->json) {
        if (warnings->size && !c->quiet)
            print_lines(c, "warning: ", warnings->data);
        if (!c->quiet)
            printf("%s: %zu classes of %zu outputs, %zu pictures: %s\n", map->name, map->classes,
                   map->outputs, images, r->output);
        return CLI_DONE;
    }
    json_t *list = json_array();
    for (const char *line = warnings->data ? warnings->data : ""; *line;) {
        size_t length = strcspn(line, "\n");
        json_array_append_new(list, json_stringn(line, length));
        line += length + (line[length] == '\n');
    }
    return cli_print_json(c, json_pack("{ss sI sI sI sI ss so}", "name", map->name, "outputs",
                                       (json_int_t)map->outputs, "classes",
                                       (json_int_t)map->classes, "images", (json_int_t)images,
                                       "expected", (json_int_t)map->images, "output", r->output,
                                       "warnings", list));
}

static int run_map(const cli *c, const request *r)
{
    bang_error err = {0};
    bang_class_map map = {0};
    bang_text warnings = {0};
    size_t images = 0;
    int rc = make_map(&map, &images, r, &warnings, &err);
    if (rc == 0)
        rc = bang_class_map_save(&map, r->output, &err);
    int status = rc < 0 ? cli_fail(c, &err) : print_map(c, r, &map, images, &warnings);
    bang_text_release(&warnings);
    bang_class_map_release(&map);
    return status;
}

static void check_map(cli *c, request *r)
{
    if (c->operand_count != 1)
        cli_problem(c, "%zu data sets named: name one, such as imagenet-a", c->operand_count);
    else if (bang_family_find(&r->family, c->operands[0]) < 0)
        cli_problem(c,
                    "%.80s: unknown: choose imagenet, imagenet-v2, imagenet-a, imagenet-r, "
                    "imagenet-sketch or objectnet",
                    c->operands[0]);
    else if (r->family == BANG_OBJECTNET && !r->mappings)
        cli_problem(c, "--mappings: missing: name the folder of ObjectNet's mappings");
    else if (r->family != BANG_OBJECTNET && r->mappings)
        cli_problem(c, "--mappings: only ObjectNet has them");
    if (!r->classes)
        cli_problem(c, "--classes: missing: name ImageNet's folder, or a file with a class a line");
    if (!r->data)
        cli_problem(c, "--data: missing: name the folder of class folders");
    if (!r->output)
        cli_problem(c, "--output: missing: say where to write with -o FILE.json");
    else
        cli_check_output(c, r->output, ".json");
}

int data_map(int argc, char **argv)
{
    static const char summary[] =
        "Writes which outputs of a model with ImageNet's 1000 classes stand for which folders\n"
        "of a data set of its family, for bang predict --map. SET is imagenet, imagenet-v2,\n"
        "imagenet-a, imagenet-r, imagenet-sketch or objectnet. The outputs are ImageNet's\n"
        "folders (n01440764, ...) sorted by name, or the lines of a file in their order.\n"
        "ImageNet-A and -R are scored among their 200 classes, ObjectNet among 113, each with\n"
        "the largest of its outputs, by the four files of its folder mappings. Sizes that are\n"
        "not the published ones give warnings.";
    request r = {0};
    cli_option options[] = {
        {"classes", 0, "DIR|FILE", "ImageNet's class folders, or the model's classes, one a line",
         cli_read_text, &r.classes},
        {"data", 0, "DIR", "the data set's class folders", cli_read_text, &r.data},
        {"mappings", 0, "DIR", "ObjectNet's folder mappings", cli_read_text, &r.mappings},
        {"output", 'o', "FILE", "where to write the map (.json)", cli_read_text, &r.output},
        {0},
    };
    cli c;
    if (cli_init(&c, "data map", argc) < 0)
        return CLI_FAILED;
    cli_parse(&c, options, argc, argv, 3);
    int status = CLI_DONE;
    if (c.help) {
        cli_print_help("data map", "SET --classes DIR|FILE --data DIR -o FILE.json", summary,
                       options,
                       "  bang data map imagenet-a --classes imagenet/val --data imagenet-a -o "
                       "a.json\n"
                       "  bang data map objectnet --classes imagenet/val \\\n"
                       "      --data objectnet-1.0/images --mappings objectnet-1.0/mappings -o "
                       "objectnet.json\n");
    } else {
        check_map(&c, &r);
        status = cli_usage_failed(&c) ? CLI_USAGE : run_map(&c, &r);
    }
    cli_release(&c);
    return status;
}
