/* The experiment "lab" from its options to its records: a record per seed, then chapters. */
#include <stdlib.h>
#include <string.h>

#include "bang/base/json.h"
#include "bang/base/record.h"
#include "lab/color.h"
#include "lab/shift_unit.h"

/* Chapters that an earlier run wrote with other options would contradict this run's: that is
 * an error, before any work. */
static int check_chapters(const shift_plan *plan, const bang_mnist *mnist,
                          const bang_lab_options *options, bang_error *err)
{
    json_t *records = NULL, *record, *settings = shift_plan_options(plan, mnist->digest);
    size_t i;
    int first = bang_ranks_rank(options->ranks) == 0;
    int rc = !settings ? bang_fail_memory(err)
             : first   ? bang_record_read(&records, options->folder, err)
                       : 0;
    json_array_foreach(records, i, record)
    {
        const char *experiment = json_string_value(json_object_get(record, "experiment"));
        const char *key = json_string_value(json_object_get(record, "key"));
        if (rc < 0 || !experiment || !key || strcmp(experiment, "lab") != 0 ||
            strncmp(key, shift_unit_prefix, strlen(shift_unit_prefix)) == 0)
            continue;
        json_t *earlier = NULL;
        rc = lab_recall(&earlier, key, settings, options, err);
        json_decref(earlier);
    }
    json_decref(settings);
    json_decref(records);
    return rc;
}

/* Appends a chapter's record, unless an earlier run has. */
static int store_chapter(const json_t *chapter, json_t *result, const shift_plan *plan,
                         const bang_mnist *mnist, const bang_lab_options *options, bang_error *err)
{
    const char *key = json_string_value(json_object_get(chapter, "key"));
    const char *section = json_string_value(json_object_get(chapter, "section"));
    json_t *settings = shift_plan_options(plan, mnist->digest), *earlier = NULL;
    int rc = settings ? lab_recall(&earlier, key, settings, options, err) : bang_fail_memory(err);
    if (rc == 0 && !earlier)
        rc = lab_store((lab_measurement){.experiment = "lab",
                                         .section = section,
                                         .key = key,
                                         .options = json_incref(settings)},
                       result, json_object_get(chapter, "show"), options, err);
    json_decref(settings);
    json_decref(earlier);
    return rc;
}

/* The last chapter, where units have maps. */
static int add_maps(json_t *chapters, const json_t *units, bang_error *err)
{
    json_t *show = json_array();
    if (!show)
        return bang_fail_memory(err);
    shift_maps_show(show, units);
    if (json_array_size(show))
        json_array_append_new(chapters,
                              json_pack("{ss ss sO}", "key", "lab/maps", "section",
                                        "The lab: where models look (section 2)", "show", show));
    json_decref(show);
    return 0;
}

static int sum_up(json_t *result, const json_t *units, const shift_plan *plan,
                  const bang_mnist *mnist, const bang_lab_options *options, bang_error *err)
{
    json_t *chapters = json_array(), *empty = json_object(), *chapter;
    size_t i;
    int rc = chapters && empty ? shift_summary(result, chapters, units, options, err)
                               : bang_fail_memory(err);
    if (rc == 0)
        color_show_foreign_digits(json_object_get(json_array_get(chapters, 0), "show"), mnist);
    if (rc == 0)
        rc = add_maps(chapters, units, err);
    json_array_foreach(chapters, i, chapter)
    {
        if (rc == 0)
            rc = store_chapter(chapter, i == 0 ? result : empty, plan, mnist, options, err);
    }
    json_decref(chapters);
    json_decref(empty);
    return rc;
}

int shift_run_lab(json_t *result, const shift_plan *plan, const bang_mnist *mnist,
                  const bang_lab_options *options, bang_error *err)
{
    json_t *units = NULL;
    shift_plan sealed = *plan;
    plan = &sealed;
    int rc = shift_plan_seal(&sealed, mnist, options, err);
    if (rc == 0)
        rc = check_chapters(plan, mnist, options, err);
    if (rc == 0)
        rc = shift_run_units(&units, plan, mnist, options, err);
    if (rc == 0 && bang_ranks_rank(options->ranks) == 0)
        rc = sum_up(result, units, plan, mnist, options, err);
    json_decref(units);
    return rc;
}

int lab_run_shift(json_t *result, const bang_lab_options *options, bang_error *err)
{
    bang_mnist mnist;
    int rc = color_open_mnist(&mnist, options, err);
    if (rc < 0)
        return rc;
    shift_plan plan = shift_plan_make(options, &mnist);
    rc = shift_run_lab(result, &plan, &mnist, options, err);
    bang_mnist_release(&mnist);
    return rc;
}
