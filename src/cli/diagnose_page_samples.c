/* Samples of the groups that were asked for, and accuracy class by class. */
#include <math.h>
#include <stdio.h>

#include "diagnose_page.h"

enum { ROWS_MOST = 100 }; /* of a table that people can still look through */

static json_t *class_of(const diagnose_page *p, size_t set, size_t class)
{
    char *const *names = p->r->facts[set].class_name;
    return names ? page_string(names[class]) : json_integer((json_int_t) class);
}

static void add_sample(diagnose_page *p, json_t *table, size_t set, const bang_sample *sample)
{
    char *const *files = p->r->facts[set].file;
    json_t *row = page_row(p, table);
    page_put(p, row, json_integer((json_int_t)sample->index));
    if (files)
        page_put(p, row, page_string(files[sample->index]));
    page_put(p, row, json_string(bang_group_names[sample->group]));
    page_put(p, row, class_of(p, set, (size_t)sample->label));
    for (int m = 0; m < 3; m++)
        page_put(p, row, class_of(p, set, sample->prediction[m]));
    for (int m = 0; m < 3; m++)
        page_put(p, row, page_percent(sample->confidence[m], 0));
    for (int m = 0; m < 3; m++)
        page_put(p, row, bang_json_number(sample->margin[m]));
}

static void add_listed(diagnose_page *p, size_t set)
{
    const bang_tally *tally = p->r->found->sets[set].tally;
    const char *third = p->r->found->sets[set].has_average ? "AM" : "OSE";
    int has_files = p->r->facts[set].file != NULL;
    const char *all[] = {"row", "file", "group", "label", "PM", "FM", third,
                         "PM",  "FM",   third,   "PM",    "FM", third};
    const char *columns[13];
    size_t count = 0;
    for (size_t c = 0; c < 13; c++)
        if (c != 1 || has_files)
            columns[count++] = all[c];
    json_t *table = page_table(p, NULL, columns, count), *decimals = json_array();
    page_set(p, table, "title", page_format("Samples of %s.", p->r->found->sets[set].name));
    page_set(p, table, "groups",
             json_pack("[[si][si][si][si]]", "", has_files ? 4 : 3, "prediction", 3,
                       "confidence, %", 3, "margin", 3));
    for (size_t c = 0; c < count; c++)
        page_put(p, decimals,
                 c + 6 < count   ? json_null()
                 : c + 3 < count ? json_integer(1)
                                 : json_integer(3));
    page_set(p, table, "decimals", decimals);
    for (size_t i = 0; i < tally->listed_count && i < ROWS_MOST; i++)
        add_sample(p, table, set, &tally->listed[i]);
    if (tally->listed_count > ROWS_MOST)
        page_note(p, table,
                  "The first %d of %zu; bang diagnose --json lists all. Rows are counted from 0.",
                  ROWS_MOST, tally->listed_count);
    else
        page_note(p, table, "Rows of the files are counted from 0.");
}

void page_samples(diagnose_page *p)
{
    bang_text groups = {0};
    for (int g = 0; g < BANG_GROUPS; g++)
        if (p->r->listed >> g & 1)
            bang_text_add(&groups, "%s%s", groups.size ? ", " : "", bang_group_names[g]);
    page_paragraph(p,
                   "Samples of the groups %s. Letters say whether PM, FM and %s are right (T) or "
                   "wrong (F).",
                   groups.data ? groups.data : "", p->third);
    bang_text_release(&groups);
    for (size_t i = 0; i < p->r->found->set_count; i++)
        if (page_is_labelled(p, i) && p->r->found->sets[i].tally->listed_count)
            add_listed(p, i);
}

/* Where the third model gains and loses: every class of one set. */
static void add_class_table(diagnose_page *p, size_t set)
{
    const bang_set_diagnosis *found = &p->r->found->sets[set];
    bang_role third = found->has_average ? BANG_AVG : BANG_OSE;
    const char *columns[] = {"class",      "samples", "PM", "FM", bang_finding_role_title(third),
                             "improvement"};
    size_t classes = found->tally->classes;
    json_t *table = page_table(p, NULL, columns, sizeof columns / sizeof *columns);
    page_set(p, table, "title",
             page_format("Accuracy in the classes of %s, in per cent.", found->name));
    page_set(p, table, "decimals", json_pack("[nniiii]", 1, 1, 1, 1));
    for (size_t c = 0; c < classes && c < ROWS_MOST; c++) {
        double pre = bang_finding_class_accuracy(found, c, BANG_PRE);
        double fine = bang_finding_class_accuracy(found, c, BANG_FINE);
        double last = bang_finding_class_accuracy(found, c, third);
        json_t *row = page_row(p, table);
        page_put(p, row, class_of(p, set, c));
        page_put(p, row, json_integer((json_int_t)found->tally->class_rows[c]));
        page_put(p, row, page_percent(pre, 0));
        page_put(p, row, page_percent(fine, 0));
        page_put(p, row, page_percent(last, 0));
        page_put(p, row, page_percent(last - fmax(pre, fine), 0));
    }
    page_note(p, table,
              "%s%zu of %zu classes. Improvement: over the better of PM and FM in the class, in "
              "points; with few samples in a class it is mostly chance.",
              classes > ROWS_MOST ? "The first " : "",
              classes > ROWS_MOST ? (size_t)ROWS_MOST : classes, classes);
}

void page_classes(diagnose_page *p)
{
    for (size_t i = 0; i < p->r->found->set_count; i++)
        if (page_is_labelled(p, i) && p->r->found->sets[i].tally->class_rows)
            add_class_table(p, i);
}
