/* What other languages call: requests are read strictly, answers are those of the rooms below. */
#include <math.h>
#include <unistd.h>

#include "testing.h"

#include "bang/base/file.h"
#include "bang/base/json.h"
#include "bang/bridge/bridge.h"
#include "bang/theory/theory.h"

typedef int call(char **out, const char *request, bang_error *err);

/* The answer as JSON; the caller drops it. */
static json_t *asked(call *of, const char *request)
{
    char *told;
    bang_error err = {0};
    json_t *out;
    int rc = of(&told, request, &err);
    if (rc < 0)
        fail_msg("%s: %s", request, err.message);
    assert_int_equal(bang_json_parse(&out, told, strlen(told), &err), 0);
    bang_bridge_free(told);
    return out;
}

/* It fails, says why, and leaves nothing to free. */
static void refused(call *of, const char *request, const char *why)
{
    char *told = (char *)"not touched";
    bang_error err = {0};
    assert_true(of(&told, request, &err) < 0);
    assert_null(told);
    if (!strstr(err.message, why))
        fail_msg("%s: \"%s\" does not hold \"%s\"", request, err.message, why);
}

static int diagnose(char **out, const char *request, bang_error *err)
{
    static const int64_t labels[] = {0, 1, 2, 0};
    static const float pre[] = {3, 1, 0, 0, 2, 1, 1, 0, 0, 2, 0, 0};
    static const float fine[] = {2, 1, 0, 1, 0, 0, 0, 1, 2, 1, 0, 3};
    return bang_bridge_diagnose(out, request, labels, pre, fine, NULL, 4, 3, 0, err);
}

static int diagnose_nothing(char **out, const char *request, bang_error *err)
{
    return bang_bridge_diagnose(out, request, NULL, NULL, NULL, NULL, 4, 3, 0, err);
}

static int diagnose_wrong_label(char **out, const char *request, bang_error *err)
{
    static const int64_t labels[] = {0, 3};
    static const double logits[] = {3, 1, 0, 0, 2, 1};
    return bang_bridge_diagnose(out, request, labels, logits, logits, NULL, 2, 3, 1, err);
}

static void test_requests(void **state)
{
    (void)state;
    static call *const calls[] = {bang_bridge_theory, bang_bridge_average, diagnose};
    for (size_t i = 0; i < 3; i++) {
        refused(calls[i], NULL, "missing");
        refused(calls[i], "", "");
        refused(calls[i], "{", "");
        refused(calls[i], "[1]", "no JSON object");
        refused(calls[i], "{\"seed\": 1, \"seed\": 2}", "");
        refused(calls[i], "{\"shift\": 0.5, \"no_such_key\": 1}", "left unpacked");
        refused(calls[i], "{\"shift\": 0.5, \"threads\": \"two\"}", "");
    }
    assert_string_equal(bang_bridge_version(), BANG_VERSION);
    bang_bridge_free(NULL);
}

static void test_theory(void **state)
{
    (void)state;
    json_t *told = asked(bang_bridge_theory, "{\"shift\": 0.9, \"models\": [\"2,3\", \"2,3\"], "
                                             "\"overlap\": null, \"best\": true}");
    bang_theory_problem problem;
    bang_theory_score score;
    bang_theory_value value;
    bang_error err = {0};
    bang_theory_problem_init(&problem, 3, 0.9);
    assert_int_equal(bang_theory_add_model(&problem, "2,3", &err), 0);
    assert_int_equal(bang_theory_add_model(&problem, "2,3", &err), 0);
    assert_int_equal(bang_theory_score_wse(&score, &problem, &err), 0);
    assert_int_equal(bang_theory_exact(&value, &score, 3, 0.9, NULL, &err), 0);
    double wse = json_real_value(json_object_get(json_object_get(told, "exact"), "wse"));
    assert_true(wse == value.accuracy);
    assert_non_null(json_object_get(told, "best"));
    assert_null(json_object_get(told, "polynomial"));
    bang_theory_score_release(&score);
    bang_theory_problem_release(&problem);
    json_decref(told);
    refused(bang_bridge_theory, "{\"models\": [\"2,3\"]}", "shift: missing");
    refused(bang_bridge_theory, "{\"shift\": 0.9, \"threads\": 4097}", "threads 4097: must be 0");
    refused(bang_bridge_theory, "{\"shift\": 0.9}", "models: missing");
    refused(bang_bridge_theory, "{\"shift\": 0.9, \"models\": [1]}", "entry 1 is no text");
    refused(bang_bridge_theory,
            "{\"shift\": 0.9, \"models\": [\"2,3\", \"2,3\"], \"overlap\": [1]}",
            "two whole numbers");
    refused(bang_bridge_theory,
            "{\"shift\": 0.9, \"models\": [\"2,3\", \"2,3\"], \"overlap\": [0.5, 1]}",
            "two whole numbers");
    refused(bang_bridge_theory,
            "{\"shift\": 0.9, \"models\": [\"2,3\", \"2,3\"], \"weights\": [\"x\", 1]}",
            "entry 1 is no number");
    refused(bang_bridge_theory, "{\"shift\": 0.9, \"models\": [\"2,3\"], \"samples\": -1}",
            "samples");
}

static void test_diagnose(void **state)
{
    (void)state;
    json_t *told = asked(diagnose, "{\"bootstrap\": 0, \"list\": [\"FFF\"], \"by_class\": true}");
    json_t *accuracy = json_object_get(told, "accuracy");
    assert_true(json_real_value(json_object_get(accuracy, "pre")) == 0.75);
    assert_true(json_real_value(json_object_get(accuracy, "fine")) == 0.5);
    assert_int_equal(json_integer_value(json_object_get(told, "n")), 4);
    assert_int_equal(json_array_size(json_object_get(told, "notes")), 1); /* no average */
    assert_int_equal(json_array_size(json_object_get(told, "classes_detail")), 3);
    assert_non_null(json_object_get(told, "samples"));
    json_decref(told);
    refused(diagnose, "{\"bootstrap\": 5}", "");
    refused(diagnose, "{\"bootstrap\": -5}", "bootstrap");
    refused(diagnose, "{\"weights\": [1]}", "weights: needs two");
    refused(diagnose, "{\"list\": \"FFF\"}", "list");
    refused(diagnose, "{\"threads\": -1}", "threads -1: must be 0");
    refused(diagnose_nothing, "{}", "pre, fine: missing");
    refused(diagnose_wrong_label, "{}", "labels: ");
}

static void write_tensor(const char *path, float first, float second)
{
    static const char header[] = "{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}";
    char bytes[8 + sizeof header - 1 + 8] = {(char)(sizeof header - 1)};
    bang_error err = {0};
    memcpy(bytes + 8, header, sizeof header - 1);
    memcpy(bytes + 8 + sizeof header - 1, &first, 4);
    memcpy(bytes + 8 + sizeof header - 1 + 4, &second, 4);
    assert_int_equal(bang_file_put(path, bytes, sizeof bytes, &err), 0);
}

static int average_cancelled(char **out, const char *request, bang_error *err)
{
    bang_cancel cancel = {0};
    bang_cancel_raise(&cancel);
    assert_int_equal(bang_bridge_average_until(out, request, &cancel, err), BANG_ECANCELLED);
    return err->code;
}

static void test_average(void **state)
{
    const char *folder = *state, *out = in_folder(folder, "out.safetensors");
    const char *a = in_folder(folder, "a.safetensors"), *b = in_folder(folder, "b.safetensors");
    char request[4096];
    float got[2];
    bang_error err = {0};
    write_tensor(a, 1, 2);
    write_tensor(b, 3, 6);
    snprintf(request, sizeof request,
             "{\"inputs\": [\"%s\", \"%s\"], \"output\": \"%s\", \"alpha\": \"0.25\"}", a, b, out);
    refused(average_cancelled, request, "");
    assert_int_equal(access(out, F_OK), -1);
    json_t *told = asked(bang_bridge_average, request);
    assert_int_equal(json_integer_value(json_object_get(told, "tensors")), 1);
    assert_string_equal(json_string_value(json_array_get(json_object_get(told, "outputs"), 0)),
                        out);
    json_decref(told);
    char *bytes;
    size_t size;
    assert_int_equal(bang_file_read(&bytes, &size, out, &err), 0);
    memcpy(got, bytes + size - 8, 8);
    assert_true(got[0] == 1.5f && got[1] == 3.0f);
    free(bytes);
    snprintf(request, sizeof request, "{\"inputs\": [\"%s\"], \"output\": \"%s\"}", a, out);
    refused(bang_bridge_average, request, "inputs: 1");
    snprintf(request, sizeof request, "{\"inputs\": [\"%s\", \"%s/none\"], \"output\": \"%s\"}", a,
             folder, out);
    refused(bang_bridge_average, request, "none");
    snprintf(request, sizeof request, "{\"inputs\": [\"%s\", 1], \"output\": \"%s\"}", a, out);
    refused(bang_bridge_average, request, "entry 2 is no text");
    refused(bang_bridge_average, "{\"inputs\": [\"x\", \"y\"]}", "inputs, output");
    refused(bang_bridge_average,
            "{\"inputs\": [\"x\", \"y\"], \"output\": \"z\", \"threads\": 4097}",
            "threads 4097: must be 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_theory),
        cmocka_unit_test(test_diagnose),
        cmocka_unit_test_setup_teardown(test_average, make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
