/* Maps from the outputs of a model to the classes of a data set: the rules of the
 * ImageNet family on small trees, the file, and what is done with it. */
#include "testing.h"

#include "bang/base/file.h"
#include "data/class_map.h"

static void put(const char *folder, const char *name, const char *text)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(bang_folder_create(path, NULL), 0);
    *slash = '/';
    assert_int_equal(bang_file_put(path, text, strlen(text), NULL), 0);
}

/* Five wnids: a folder of folders, and a list in another order. */
static void make_imagenet(const char *folder)
{
    static const char *const wnids[] = {"n01", "n02", "n03", "n04", "n05"};
    char name[64];
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "val/%s/a.jpg", wnids[i]);
        put(folder, name, "");
    }
    put(folder, "list.txt", "n05\tfive\nn04 four\n\n  n03,three\r\nn02\nn01");
}

static bang_class_map make(const char *folder, bang_family family, const char *classes,
                           const char *data, const char *mappings)
{
    bang_class_map map;
    bang_error err = {0};
    if (bang_class_map_make(&map, family, in_folder(folder, classes), in_folder(folder, data),
                            mappings ? in_folder(folder, mappings) : NULL, &err) < 0)
        fail_msg("%s", err.message);
    return map;
}

/* The classes as "folder:output,output folder:output ...". */
static void check_map(bang_class_map *map, const char *expected)
{
    bang_text text = {0};
    for (size_t i = 0; i < map->classes; i++) {
        bang_text_add(&text, "%s%s:", i ? " " : "", map->folders[i]);
        for (uint32_t k = map->first[i]; k < map->first[i + 1]; k++)
            bang_text_add(&text, "%s%u", k > map->first[i] ? "," : "", map->output[k]);
    }
    assert_string_equal(text.data, expected);
    bang_text_release(&text);
    bang_class_map_release(map);
}

static void check_refused(const char *folder, bang_family family, const char *classes,
                          const char *data, const char *mappings, int code, const char *says)
{
    bang_class_map map;
    bang_error err = {0};
    assert_int_equal(bang_class_map_make(&map, family, in_folder(folder, classes),
                                         in_folder(folder, data),
                                         mappings ? in_folder(folder, mappings) : NULL, &err),
                     code);
    assert_true(!map.folders && !map.name);
    if (!strstr(err.message, says))
        fail_msg("\"%s\" does not say \"%s\"", err.message, says);
}

static void test_families(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bang_family family;
        size_t images, classes;
    } all[] = {{"imagenet", BANG_IMAGENET, 50000, 1000},
               {"imagenet-v2", BANG_IMAGENET_V2, 10000, 1000},
               {"imagenet-a", BANG_IMAGENET_A, 7500, 200},
               {"imagenet-r", BANG_IMAGENET_R, 30000, 200},
               {"imagenet-sketch", BANG_IMAGENET_SKETCH, 50889, 1000},
               {"objectnet", BANG_OBJECTNET, 18574, 113}};
    bang_family family;
    for (size_t i = 0; i < 6; i++) {
        size_t images, classes;
        assert_int_equal(bang_family_find(&family, all[i].name), 0);
        assert_int_equal(family, all[i].family);
        bang_family_sizes(family, &images, &classes);
        assert_int_equal(images, all[i].images);
        assert_int_equal(classes, all[i].classes);
    }
    assert_int_equal(bang_family_find(&family, "imagenet-c"), -1);
}

static void test_rules(void **state)
{
    const char *folder = *state;
    make_imagenet(folder);
    put(folder, "a/n04/x.jpg", "");
    put(folder, "a/n02/x.jpg", "");
    put(folder, "v2/10/x.jpg", "");
    bang_class_map map = make(folder, BANG_IMAGENET_A, "val", "a", NULL);
    assert_string_equal(map.name, "imagenet-a");
    assert_int_equal(map.outputs, 5);
    assert_int_equal(map.images, 7500);
    assert_int_equal(map.border, 0);
    check_map(&map, "n02:1 n04:3");
    /* A list says the order of the outputs; labels are the order of the folders. */
    map = make(folder, BANG_IMAGENET_R, "list.txt", "a", NULL);
    check_map(&map, "n02:3 n04:1");
    map = make(folder, BANG_IMAGENET, "val", "val", NULL);
    check_map(&map, "n01:0 n02:1 n03:2 n04:3 n05:4");
    map = make(folder, BANG_IMAGENET_SKETCH, "list.txt", "a", NULL);
    check_map(&map, "n01:4 n02:3 n03:2 n04:1 n05:0");
    check_refused(folder, BANG_IMAGENET_V2, "val", "v2", NULL, BANG_EDATA,
                  "v2: 1 folder is not among the 5 classes: 10");
    put(folder, "v2b/4/x.jpg", "");
    map = make(folder, BANG_IMAGENET_V2, "val", "v2b", NULL);
    check_map(&map, "0:0 1:1 2:2 3:3 4:4");
    map = make(folder, BANG_IMAGENET_V2, "list.txt", "v2b", NULL);
    check_map(&map, "0:4 1:3 2:2 3:1 4:0");
}

static void test_refused(void **state)
{
    const char *folder = *state;
    make_imagenet(folder);
    put(folder, "a/n04/x.jpg", "");
    put(folder, "a/n07/x.jpg", "");
    put(folder, "a/n08/x.jpg", "");
    check_refused(folder, BANG_IMAGENET_A, "val", "a", NULL, BANG_EDATA,
                  "a: 2 folders are not among the 5 classes: n07, n08");
    check_refused(folder, BANG_IMAGENET_A, "val", "val/n01", NULL, BANG_EDATA, "no class folders");
    check_refused(folder, BANG_IMAGENET_A, "val", "none", NULL, BANG_EIO, "none: No such file");
    check_refused(folder, BANG_IMAGENET_A, "none.txt", "a", NULL, BANG_EIO, "none.txt: No such");
    check_refused(folder, BANG_IMAGENET_A, "val/n01", "a", NULL, BANG_EDATA, "no classes");
    put(folder, "twice.txt", "n01\nn02\nn01\n");
    check_refused(folder, BANG_IMAGENET_A, "twice.txt", "a", NULL, BANG_EDATA,
                  "twice.txt: there more than once: n01");
    check_refused(folder, BANG_IMAGENET_A, "val", "a", "a", BANG_EUSAGE, "has no mappings");
    check_refused(folder, BANG_OBJECTNET, "val", "a", NULL, BANG_EUSAGE, "needs the folder");
}

static void make_mappings(const char *folder)
{
    make_imagenet(folder);
    put(folder, "on/alarm_clock/x.png", "");
    put(folder, "m/folder_to_objectnet_label.json",
        "{\"tie\": \"Tie\", \"box\": \"Box\", \"alarm_clock\": \"Alarm clock\"}");
    put(folder, "m/objectnet_to_imagenet_1k.json",
        "{\"Alarm clock\": \"analog clock; digital clock, x\", \"Tie\": \"tie\"}");
    /* In the order of 2012: lines 0 .. 4; "crane" twice. */
    put(folder, "m/imagenet_to_label_2012_v2",
        "digital clock, x \ncrane\r\ntie\ncrane\nanalog clock\n");
    put(folder, "m/pytorch_to_imagenet_2012_id.json",
        "{\"0\": 2, \"1\": 4, \"2\": 1, \"3\": 0, \"4\": 3}");
}

static void test_objectnet(void **state)
{
    const char *folder = *state;
    make_mappings(folder);
    bang_class_map map = make(folder, BANG_OBJECTNET, "val", "on", "m");
    assert_int_equal(map.border, 2);
    assert_int_equal(map.images, 18574);
    check_map(&map, "alarm_clock:1,3 tie:0");
    map = make(folder, BANG_OBJECTNET, "list.txt", "on", "m");
    check_map(&map, "alarm_clock:3,1 tie:4");

    put(folder, "m/objectnet_to_imagenet_1k.json",
        "{\"Alarm clock\": \"crane; sundial\", \"Tie\": 3}");
    check_refused(folder, BANG_OBJECTNET, "val", "on", "m", BANG_EDATA,
                  "no output, or more than one, for: crane, sundial, tie");
    put(folder, "m/objectnet_to_imagenet_1k.json", "{\"Alarm clock\": \"tie\", \"Fan\": \"tie\"}");
    check_refused(folder, BANG_OBJECTNET, "val", "on", "m", BANG_EDATA,
                  "has 2 names, of which 1 have a folder");
    put(folder, "m/pytorch_to_imagenet_2012_id.json", "{\"0\": 2, \"1\": 2}");
    check_refused(folder, BANG_OBJECTNET, "val", "on", "m", BANG_EDATA,
                  "pytorch_to_imagenet_2012_id.json: \"1\": must lead");
    put(folder, "m/pytorch_to_imagenet_2012_id.json", "[1]");
    check_refused(folder, BANG_OBJECTNET, "val", "on", "m", BANG_EDATA, "must be an object");
    assert_int_equal(remove(in_folder(folder, "m/imagenet_to_label_2012_v2")), 0);
    put(folder, "m/pytorch_to_imagenet_2012_id.json", "{}");
    check_refused(folder, BANG_OBJECTNET, "val", "on", "m", BANG_EIO, "imagenet_to_label_2012_v2");
}

static void test_file(void **state)
{
    const char *folder = *state, *path = in_folder(folder, "map.json");
    make_mappings(folder);
    bang_class_map map = make(folder, BANG_OBJECTNET, "val", "on", "m"), again;
    bang_error err = {0};
    assert_int_equal(bang_class_map_save(&map, path, &err), 0);
    bang_class_map_release(&map);
    char *text;
    size_t size;
    assert_int_equal(bang_file_read(&text, &size, path, NULL), 0);
    assert_string_equal(text, "{\"name\": \"objectnet\", \"outputs\": 5, \"images\": 18574, "
                              "\"border\": 2,\n"
                              " \"classes\": [\n"
                              "  {\"folder\": \"alarm_clock\", \"outputs\": [1, 3]},\n"
                              "  {\"folder\": \"tie\", \"outputs\": [0]}\n"
                              " ]}\n");
    free(text);
    if (bang_class_map_load(&again, path, &err) < 0)
        fail_msg("%s", err.message);
    assert_string_equal(again.name, "objectnet");
    assert_int_equal(again.outputs, 5);
    assert_int_equal(again.images, 18574);
    assert_int_equal(again.border, 2);
    check_map(&again, "alarm_clock:1,3 tie:0");
}

static void check_broken(const char *folder, const char *text, const char *const says[])
{
    bang_class_map map;
    bang_error err = {0};
    put(folder, "map.json", text);
    assert_int_equal(bang_class_map_load(&map, in_folder(folder, "map.json"), &err), BANG_EDATA);
    assert_true(!map.folders && !map.name);
    assert_non_null(strstr(err.message, "map.json: "));
    for (size_t i = 0; says[i]; i++)
        if (!strstr(err.message, says[i]))
            fail_msg("\"%s\" does not say \"%s\"", err.message, says[i]);
}

static void test_broken_file(void **state)
{
    const char *folder = *state;
    check_broken(folder, "{", (const char *const[]){"map.json", NULL});
    check_broken(folder, "[]", (const char *const[]){"must be an object", NULL});
    check_broken(folder, "{\"boarder\": 1, \"outputs\": -1, \"images\": \"x\"}",
                 (const char *const[]){"\"boarder\": unknown", "\"name\": must be a text",
                                       "\"outputs\": must be a whole number from 1",
                                       "\"images\": must be", "\"border\": must be",
                                       "\"classes\": must be a list", NULL});
    check_broken(folder,
                 "{\"name\": \"x\", \"outputs\": 3, \"images\": 0, \"border\": 0, \"classes\": ["
                 "{\"folder\": \"a\", \"outputs\": [3]}, {\"folder\": \"b\", \"outputs\": []},"
                 "{\"folder\": \"b\", \"outputs\": [1]}, {\"outputs\": [1]}, 5,"
                 "{\"folder\": \"c\", \"outputs\": [1, 1]}, {\"folder\": \"d\", \"outputs\": "
                 "[1.5]}]}",
                 (const char *const[]){"class 0, a: \"outputs\": must be different numbers below 3",
                                       "class 1, b: ", "class 2: b is there twice",
                                       "class 3: \"folder\"", "class 4: \"folder\"",
                                       "class 5, c: ", "class 6, d: ", NULL});
    bang_class_map map;
    bang_error err = {0};
    assert_int_equal(bang_class_map_load(&map, in_folder(folder, "none.json"), &err), BANG_EIO);
}

/* A class may stand for very many outputs: to compare each with each would take minutes. */
static void test_many_outputs(void **state)
{
    enum { MANY = 1000000 };
    bang_class_map map;
    bang_error err = {0};
    bang_text text = {0};
    (void)state;
    bang_text_add(&text, "{\"name\": \"x\", \"outputs\": %d, \"images\": 0, \"border\": 0, ", MANY);
    bang_text_add(&text, "\"classes\": [{\"folder\": \"a\", \"outputs\": [");
    for (int i = MANY - 1; i > 0; i--)
        bang_text_add(&text, "%d, ", i);
    size_t before = text.size;
    bang_text_add(&text, "0]}]}");
    assert_int_equal(bang_class_map_parse(&map, text.data, text.size, "many", &err), 0);
    assert_true(map.first[1] == MANY && map.output[0] == MANY - 1 && map.output[MANY - 1] == 0);
    bang_class_map_release(&map);
    text.data[before] = '7'; /* is there already */
    assert_int_equal(bang_class_map_parse(&map, text.data, text.size, "many", &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "must be different numbers below 1000000"));
    bang_text_release(&text);
}

static void test_apply(void **state)
{
    const char *folder = *state;
    make_imagenet(folder);
    static const char *const files[] = {"d/n01/1.jpg", "d/n02/2.jpg", "d/n02/3.jpg", "d/zz/4.jpg",
                                        "s/n02/x.jpg", "s/n03/x.jpg", "s/n05/x.jpg"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        put(folder, files[i], "");
    bang_class_map map = make(folder, BANG_IMAGENET_A, "val", "s", NULL);
    bang_images set;
    bang_error err = {0};
    bang_text warnings = {0};
    assert_int_equal(bang_images_open(&set, in_folder(folder, "d"), &err), 0);
    assert_int_equal(set.count, 4);
    assert_int_equal(bang_class_map_apply(&set, &map, &warnings, &err), 0);
    assert_int_equal(set.count, 2);
    assert_string_equal(set.paths[0], in_folder(folder, "d/n02/2.jpg"));
    assert_true(set.labels[0] == 0 && set.labels[1] == 0);
    assert_int_equal(set.classes, 3);
    assert_string_equal(set.class_names[2], "n05");
    assert_string_equal(warnings.data,
                        "imagenet-a: 2 of 3 classes have no pictures here: n03, n05\n"
                        "imagenet-a: 2 pictures, but 7500 are expected\n");
    bang_text_release(&warnings);
    bang_images_release(&set);

    map.images = 3; /* all as expected: no warnings */
    assert_int_equal(bang_images_open(&set, in_folder(folder, "s"), &err), 0);
    assert_int_equal(bang_class_map_apply(&set, &map, &warnings, &err), 0);
    assert_int_equal(warnings.size, 0);
    assert_int_equal(set.count, 3);
    assert_int_equal(set.labels[2], 2);
    bang_images_release(&set);

    put(folder, "other/x/1.jpg", "");
    assert_int_equal(bang_images_open(&set, in_folder(folder, "other"), &err), 0);
    assert_int_equal(bang_class_map_apply(&set, &map, &warnings, &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "it names n02, the data x"));
    bang_images_release(&set);
    assert_int_equal(bang_images_open(&set, in_folder(folder, "other/x/1.jpg"), &err), 0);
    assert_int_equal(bang_class_map_apply(&set, &map, &warnings, &err), BANG_EUSAGE);
    bang_images_release(&set);
    bang_class_map_release(&map);

    /* Numbers of a CSV are names as well. */
    put(folder, "v2/1/a.jpg", "");
    put(folder, "v2/list.csv", "path,label\n1/a.jpg,3\n1/a.jpg,1\n");
    map = make(folder, BANG_IMAGENET_V2, "val", "v2", NULL);
    assert_int_equal(bang_images_open(&set, in_folder(folder, "v2/list.csv"), &err), 0);
    assert_int_equal(bang_class_map_apply(&set, &map, &warnings, &err), 0);
    assert_true(set.count == 2 && set.labels[0] == 3 && set.labels[1] == 1 && set.classes == 5);
    bang_images_release(&set);
    bang_class_map_release(&map);
    bang_text_release(&warnings);
}

static void test_scores(void **state)
{
    const char *folder = *state;
    make_mappings(folder);
    bang_class_map map = make(folder, BANG_OBJECTNET, "val", "on", "m");
    const float logits[10] = {1, 2, 9, 3, 9, -1, -5, 0, -6, 0};
    float scores[4];
    bang_class_map_scores(scores, logits, 2, &map);
    assert_true(scores[0] == 3 && scores[1] == 1 && scores[2] == -5 && scores[3] == -1);
    bang_class_map_release(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_families),
        cmocka_unit_test_setup_teardown(test_rules, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_refused, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_objectnet, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_file, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_broken_file, make_folder, drop_folder),
        cmocka_unit_test(test_many_outputs),
        cmocka_unit_test_setup_teardown(test_apply, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_scores, make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
