/* What bang diff found, for a terminal. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "diff.h"

enum { VALUE = 10 }; /* columns of a number */

static void format_number(char out[32], double value)
{
    snprintf(out, 32, isnan(value) ? "-" : "%.4g", value);
}

/* Models that were fine-tuned are close: the digits that differ come late. */
static void format_cosine(char out[32], double value)
{
    snprintf(out, 32, isnan(value) ? "-" : "%.6f", value);
}

/* What to say where a number would stand. */
static void format_change(char out[32], const bang_change *change)
{
    if (change->not_finite && isnan(change->relative_change))
        snprintf(out, 32, "NaN");
    else if (isnan(change->relative_change) && change->norm_a == 0)
        snprintf(out, 32, "from 0");
    else
        format_number(out, change->relative_change);
}

static void print_bar(double part, size_t width)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int fine = cli_is_utf8();
    double length = part * (double)width;
    size_t whole = (size_t)length, rest = fine ? (size_t)((length - (double)whole) * 8) : 0;
    if (whole >= width) {
        whole = width;
        rest = 0;
    }
    if (part > 0 && whole + rest == 0) { /* something is not nothing */
        whole = !fine;
        rest = (size_t)fine;
    }
    for (size_t i = 0; i < whole; i++)
        fputs(fine ? "█" : "#", stdout);
    fputs(eighths[rest], stdout);
    printf("%*s", (int)(width - whole - (rest > 0)), "");
}

static void print_chart(const diff_result *r)
{
    size_t columns = (size_t)cli_columns(), names = 5;
    double most = 0;
    for (size_t i = 0; i < r->found.layer_count; i++) {
        const bang_layer_change *layer = r->layers[i];
        size_t size = cli_characters(layer->name);
        names = size > names ? size : names;
        most = fmax(most, layer->change.relative_change); /* a NaN loses */
    }
    names = names > columns * 2 / 5 ? columns * 2 / 5 : names;
    size_t width = columns - names - VALUE - 4;
    puts("\nRelative change by layer");
    for (size_t i = 0; i < r->found.layer_count; i++) {
        const bang_change *change = &r->layers[i]->change;
        char value[32];
        cli_print_name(r->layers[i]->name, names);
        fputs("  ", stdout);
        print_bar(most > 0 && change->relative_change > 0 ? change->relative_change / most : 0,
                  width);
        format_change(value, change);
        printf("  %*s\n", VALUE, value);
    }
}

static void print_tensor(const bang_tensor_change *tensor)
{
    const bang_change *change = &tensor->change;
    char numbers[4][32];
    format_change(numbers[0], change);
    format_cosine(numbers[1], change->cosine);
    format_number(numbers[2], change->norm_ratio);
    format_number(numbers[3], change->max_abs);
    for (int i = 0; i < 4; i++)
        printf("%*s  ", VALUE, numbers[i]);
    cli_print_clean(tensor->a->name);
    if (change->not_finite)
        printf("  (NaN or infinite: %llu of %llu)", (unsigned long long)change->not_finite,
               (unsigned long long)change->count);
    puts("");
}

static void print_tensors(const char *title, const bang_tensor_change *const *tensors, size_t count)
{
    printf("\n%s\n%*s  %*s  %*s  %*s  tensor\n", title, VALUE, "change", VALUE, "cosine", VALUE,
           "norm ratio", VALUE, "max |b-a|");
    for (size_t i = 0; i < count; i++)
        print_tensor(tensors[i]);
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static void print_summary(const diff_result *r)
{
    const bang_difference *d = &r->found;
    char change[32], cosine[32], ratio[32], most[32];
    printf("%zu tensor%s compared, %zu equal", d->count, plural(d->count), d->equal);
    if (d->only_a_count)
        printf(", %zu only in A", d->only_a_count);
    if (d->only_b_count)
        printf(", %zu only in B", d->only_b_count);
    if (d->different_count)
        printf(", %zu that cannot be compared", d->different_count);
    puts("");
    if (d->count) {
        format_change(change, &d->total);
        format_cosine(cosine, d->total.cosine);
        format_number(ratio, d->total.norm_ratio);
        format_number(most, d->total.max_abs);
        printf("relative change %s, cosine %s, norm ratio %s, max |b-a| %s\n", change, cosine,
               ratio, most);
    }
    if (d->total.not_finite)
        printf("NaN present: %llu of %llu pairs of numbers are not finite; layers and the total "
               "go without them\n",
               (unsigned long long)d->total.not_finite, (unsigned long long)d->total.count);
}

/* Two models whose names hardly meet. */
static void print_hint(const bang_difference *d)
{
    size_t alone = d->only_a_count + d->only_b_count, met = d->count + d->different_count;
    if (alone && (d->count == 0 || (d->only_a_count && d->only_b_count && alone > met)))
        puts("note: few names are in both: one may be in another layout, which bang convert can "
             "change");
}

/* As many as were asked for, and a word about the rest. */
static size_t shown_of(const diff_request *request, size_t count)
{
    return request->tensors || count <= (size_t)request->top ? count : (size_t)request->top;
}

static void print_rest(size_t shown, size_t count)
{
    if (shown < count)
        printf("... and %zu more: --tensors lists all\n", count - shown);
}

static void print_only(const diff_request *request, const char *title,
                       const bang_entry *const *entries, size_t count)
{
    size_t shown = shown_of(request, count);
    if (count)
        printf("\n%s\n", title);
    for (size_t i = 0; i < shown; i++) {
        cli_print_clean(entries[i]->name);
        puts("");
    }
    print_rest(shown, count);
}

void diff_print(const diff_request *request, const diff_result *r)
{
    const bang_difference *d = &r->found;
    size_t top = r->moved_count < (size_t)request->top ? r->moved_count : (size_t)request->top;
    print_summary(r);
    print_hint(d);
    if (r->moved_count)
        print_chart(r);
    if (top)
        print_tensors("Moved most", r->moved, top);
    if (request->tensors && d->count)
        print_tensors("Tensors", r->tensors, d->count);
    size_t shown = shown_of(request, d->different_count);
    if (d->different_count)
        puts("\nNot compared");
    for (size_t i = 0; i < shown; i++) {
        cli_print_clean(d->different[i].a->name);
        printf(": %s\n", d->different[i].why);
    }
    print_rest(shown, d->different_count);
    print_only(request, "Only in A", d->only_a, d->only_a_count);
    print_only(request, "Only in B", d->only_b, d->only_b_count);
    if (request->html)
        printf("\n%s: charts and tables\n", request->html);
}
