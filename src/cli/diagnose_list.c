/* bang diagnose --list and --by-class: which samples, which classes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bang/base/file.h"
#include "bang/data/images.h"
#include "diagnose.h"

/* A folder of pictures, or a CSV that names them: as bang predict reads it. */
static void read_pictures(diagnose_files *out, const char *path, cli *c)
{
    bang_error err = {0};
    bang_images set = {0};
    if (bang_images_open(&set, path, &err) < 0) {
        cli_problem(c, "--files %s", err.message);
        return;
    }
    if (!set.paths)
        cli_problem(c, "--files %.200s: holds arrays, which have no names: leave it out", path);
    out->names = set.paths;
    out->count = set.paths ? set.count : 0;
    set.paths = NULL;
    bang_images_release(&set);
}

static void read_lines(diagnose_files *out, const char *path, cli *c)
{
    bang_error err = {0};
    size_t size, lines = 1;
    if (bang_file_read(&out->text, &size, path, &err) < 0) {
        cli_problem(c, "--files %s", err.message);
        return;
    }
    if (strlen(out->text) != size) {
        cli_problem(c, "--files %.200s: holds a byte 0: must be text, a line for each row", path);
        return;
    }
    if (size > 0 && out->text[size - 1] == '\n')
        out->text[--size] = '\0';
    for (size_t i = 0; i < size; i++)
        lines += out->text[i] == '\n';
    out->names = calloc(lines, sizeof *out->names);
    if (!out->names) {
        cli_problem(c, "--files %.200s: out of memory", path);
        return;
    }
    for (char *at = out->text, *next; at; at = next) {
        next = strchr(at, '\n');
        size_t length = next ? (size_t)(next - at) : strlen(at);
        if (length > 0 && at[length - 1] == '\r')
            length--;
        if (next)
            next++;
        at[length] = '\0';
        out->names[out->count++] = at;
    }
}

void diagnose_files_read(diagnose_files *out, const char *path, size_t rows, cli *c)
{
    struct stat info;
    size_t before = c->problems.size;
    *out = (diagnose_files){0};
    if ((stat(path, &info) == 0 && S_ISDIR(info.st_mode)) || bang_text_ends_with(path, ".csv"))
        read_pictures(out, path, c);
    else
        read_lines(out, path, c);
    if (c->problems.size == before && out->count != rows)
        cli_problem(
            c,
            "--files %.200s: names %zu files for %zu rows of logits: give the ones that were "
            "predicted, in their order",
            path, out->count, rows);
}

void diagnose_files_release(diagnose_files *files)
{
    for (size_t i = 0; !files->text && i < files->count; i++)
        free(files->names[i]);
    free((void *)files->names);
    free(files->text);
    *files = (diagnose_files){0};
}

enum { CLASS = 24, SAMPLES = 20 }; /* columns of a class; samples of a group that are shown */

/* "3 tiger", or the number alone. */
static void class_text(char out[160], const bang_finding_facts *facts, size_t class)
{
    if (facts->class_name)
        snprintf(out, 160, "%zu %.120s", class, facts->class_name[class]);
    else
        snprintf(out, 160, "%zu", class);
}

/* As wide as the longest that is shown. */
static size_t class_width(const bang_finding_facts *facts, const bang_tally *t)
{
    size_t width = 5;
    for (size_t i = 0; i < t->listed_count; i++) {
        const bang_sample *s = &t->listed[i];
        const size_t shown[] = {(size_t)s->label, s->prediction[0], s->prediction[1],
                                s->prediction[2]};
        for (int k = 0; k < 4; k++) {
            char text[160];
            class_text(text, facts, shown[k]);
            size_t size = cli_characters(text);
            width = size > width ? size : width;
        }
    }
    return facts->file && width > CLASS - 8 ? CLASS - 8 : width > CLASS - 5 ? CLASS - 5 : width;
}

static void print_sample(const bang_finding_facts *facts, const bang_sample *s, size_t width)
{
    char text[160];
    printf("%8zu  ", s->index);
    class_text(text, facts, (size_t)s->label);
    cli_print_name(text, width);
    for (int m = 0; m < 3; m++) {
        fputs("  ", stdout);
        class_text(text, facts, s->prediction[m]);
        cli_print_name(text, width);
        printf(" %5.1f", 100 * s->confidence[m]);
    }
    if (facts->file) {
        fputs("  ", stdout);
        cli_print_clean(facts->file[s->index]);
    }
    putchar('\n');
}

void diagnose_print_list(const bang_finding *r, size_t set)
{
    const bang_set_diagnosis *found = &r->found->sets[set];
    const bang_tally *t = found->tally;
    const bang_finding_facts *facts = &r->facts[set];
    size_t width = class_width(facts, t);
    const char *avg = found->has_average ? "AM" : "OSE";
    for (int g = 0; g < BANG_GROUPS; g++) {
        if (!(r->listed & 1U << g))
            continue;
        printf("\n%s: %zu sample%s\n", bang_group_names[g], found->groups[g],
               found->groups[g] == 1 ? "" : "s");
        if (found->groups[g] == 0)
            continue;
        printf("%8s  %-*s  %-*s %5s  %-*s %5s  %-*s %5s%s\n", "row", (int)width, "label",
               (int)width, "PM", "%", (int)width, "FM", "%", (int)width, avg, "%",
               facts->file ? "  file" : "");
        size_t shown = 0;
        for (size_t i = 0; i < t->listed_count && shown < SAMPLES; i++)
            if (t->listed[i].group == g) {
                print_sample(facts, &t->listed[i], width);
                shown++;
            }
        if (shown < found->groups[g])
            printf("... and %zu more: --json has all\n", found->groups[g] - shown);
    }
}

enum { SHOWN = 10 }; /* classes whose accuracy changed most */

typedef struct change {
    size_t class;
    double value; /* accuracy of AM less that of the better model */
} change;

static int by_size(const void *left, const void *right)
{
    const change *a = left, *b = right;
    double x = fabs(a->value), y = fabs(b->value);
    return x != y ? (x < y) - (x > y) : (a->class > b->class) - (a->class < b->class);
}

void diagnose_print_classes(const bang_finding *r, size_t set)
{
    const bang_set_diagnosis *found = &r->found->sets[set];
    const bang_tally *t = found->tally;
    const char *avg = found->has_average ? "AM" : "OSE";
    size_t count = 0;
    change *changes = calloc(t->classes + 1, sizeof *changes);
    for (size_t k = 0; changes && t->class_rows && k < t->classes; k++)
        if (t->class_rows[k])
            changes[count++] =
                (change){k, bang_finding_class_accuracy(found, k, BANG_AVG) -
                                fmax(bang_finding_class_accuracy(found, k, BANG_PRE),
                                     bang_finding_class_accuracy(found, k, BANG_FINE))};
    if (count)
        qsort(changes, count, sizeof *changes, by_size);
    size_t shown = count < SHOWN ? count : SHOWN;
    printf("\nClasses where %s differs most from the better model, accuracy in per cent\n"
           "%8s %8s %8s %8s %9s  class\n",
           avg, "n", "PM", "FM", avg, "points");
    for (size_t i = 0; i < shown; i++) {
        size_t k = changes[i].class;
        char points[32], text[160];
        class_text(text, &r->facts[set], k);
        printf("%8zu %8.1f %8.1f %8.1f %9s  ", t->class_rows[k],
               100 * bang_finding_class_accuracy(found, k, BANG_PRE),
               100 * bang_finding_class_accuracy(found, k, BANG_FINE),
               100 * bang_finding_class_accuracy(found, k, BANG_AVG),
               bang_finding_in_points(points, changes[i].value));
        cli_print_clean(text);
        putchar('\n');
    }
    if (shown < count)
        printf("... and %zu more: --json has all\n", count - shown);
    free(changes);
}
