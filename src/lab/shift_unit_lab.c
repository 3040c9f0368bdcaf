/* The experiment "lab" from its options to its records. */
#include "lab/color.h"
#include "lab/shift_unit.h"

int shift_units(json_t **out, const bang_lab_options *options, bang_error *err)
{
    bang_mnist mnist;
    shift_plan plan = shift_plan_make(options);
    *out = NULL;
    int rc = color_open_mnist(&mnist, options, err);
    if (rc < 0)
        return rc;
    rc = shift_run_units(out, &plan, &mnist, options, err);
    bang_mnist_release(&mnist);
    return rc;
}

int lab_run_shift(json_t *result, const bang_lab_options *options, bang_error *err)
{
    json_t *units = NULL;
    int rc = shift_units(&units, options, err);
    if (rc == 0 &&
        json_object_set_new(result, "seeds", json_integer((json_int_t)json_array_size(units))) < 0)
        rc = bang_fail_memory(err);
    json_decref(units);
    return rc;
}
