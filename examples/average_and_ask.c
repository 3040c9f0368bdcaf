/* Averages two checkpoints and asks the theory what such an average gains. Built against the
 * installed library only:
 *
 *     cc average_and_ask.c $(pkg-config --cflags --libs bang) -o average_and_ask
 *     ./average_and_ask pre.safetensors fine.safetensors robust.safetensors
 */
#include <bang/bang.h>
#include <stdio.h>

static int average(const char *pre_path, const char *fine_path, const char *out, bang_error *err)
{
    bang_checkpoint *pre = NULL, *fine = NULL;
    bang_average *plan = NULL;
    bang_stream stream = BANG_STREAM_INIT;
    bang_average_options options = BANG_AVERAGE_OPTIONS_INIT;
    int rc = bang_checkpoint_open(&pre, pre_path, err);
    if (rc == 0)
        rc = bang_checkpoint_open(&fine, fine_path, err);
    options.inputs = (const bang_checkpoint *[]){pre, fine};
    options.input_count = 2;
    options.weights = (double[]){0.5, 0.5};
    options.paths = &out;
    options.output_count = 1;
    if (rc == 0)
        rc = bang_average_plan(&plan, &options, &stream, err); /* writes nothing yet */
    if (rc == 0)
        rc = bang_average_run(plan, &stream, err);
    if (rc == 0)
        printf("%s: %zu tensors\n", out, bang_average_get(plan).tensors);
    bang_average_free(plan);
    bang_checkpoint_close(pre);
    bang_checkpoint_close(fine);
    return rc;
}

/* Two models with 2 invariant and 3 spurious features each, one of either in common. */
static int ask(bang_error *err)
{
    char *told;
    int rc = bang_bridge_theory(
        &told, "{\"shift\": 0.9, \"models\": [\"2,3\", \"2,3\"], \"overlap\": [1, 1]}", err);
    if (rc == 0)
        puts(told);
    bang_bridge_free(told);
    return rc;
}

int main(int argc, char **argv)
{
    bang_error err = {0};
    if (argc != 4) {
        fprintf(stderr, "usage: %s PRE FINE OUT\n", argv[0]);
        return 2;
    }
    if (average(argv[1], argv[2], argv[3], &err) == 0 && ask(&err) == 0)
        return 0;
    fprintf(stderr, "%s: %s\n", argv[0], err.message);
    return 1;
}
