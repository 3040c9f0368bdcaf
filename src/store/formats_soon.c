#include "store/output.h"
int bang_output_plan_zip(bang_output *o, json_t *m, bang_error *e)
{
    (void)o, (void)m;
    return bang_fail(e, BANG_EUSAGE, "soon");
}
int bang_output_plan_npy(bang_output *o, bang_error *e)
{
    (void)o;
    return bang_fail(e, BANG_EUSAGE, "soon");
}
