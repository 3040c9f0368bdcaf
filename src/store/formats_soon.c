#include "store/checkpoint.h"
int bang_is_zip(const bang_source *s)
{
    (void)s;
    return 0;
}
int bang_open_zip(bang_checkpoint *c, size_t f, bang_error *e)
{
    (void)c, (void)f;
    return bang_fail(e, BANG_EDATA, "soon");
}
int bang_is_legacy_pytorch(const bang_source *s)
{
    (void)s;
    return 0;
}
int bang_open_legacy_pytorch(bang_checkpoint *c, size_t f, bang_error *e)
{
    (void)c, (void)f;
    return bang_fail(e, BANG_EDATA, "soon");
}
int bang_is_npy(const bang_source *s)
{
    (void)s;
    return 0;
}
int bang_open_npy(bang_checkpoint *c, size_t f, bang_error *e)
{
    (void)c, (void)f;
    return bang_fail(e, BANG_EDATA, "soon");
}
int bang_inflate(bang_source *o, const bang_source *z, const bang_packed *p, uint64_t s,
                 bang_error *e)
{
    (void)o, (void)z, (void)p, (void)s;
    return bang_fail(e, BANG_EDATA, "soon");
}
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
