/* Sets of pictures: from class folders, lists and single files. Files are empty: only
 * names are looked at. */
#include "image_cases.h"

#include <sys/stat.h>
#include <unistd.h>

#include "bang/base/file.h"
#include "bang/data/images.h"

static void touch(const char *folder, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(bang_folder_create(path, NULL), 0);
    *slash = '/';
    assert_int_equal(bang_file_put(path, "", 0, NULL), 0);
}

static bang_images open_set(const char *source)
{
    bang_images set;
    bang_error err = {0};
    if (bang_images_open(&set, source, &err) < 0)
        fail_msg("%s", err.message);
    return set;
}

/* Opening fails with code, and the message says all of what is given. */
static void check_refused(const char *source, int code, const char *const *says, size_t count)
{
    bang_images set;
    bang_error err = {0};
    assert_int_equal(bang_images_open(&set, source, &err), code);
    assert_true(set.count == 0 && !set.paths && !set.labels && !set.class_names);
    for (size_t i = 0; i < count; i++)
        if (!strstr(err.message, says[i]))
            fail_msg("\"%s\" does not say \"%s\"", err.message, says[i]);
}
#define REFUSED(source, code, ...)                                                                 \
    check_refused(source, code, (const char *const[]){__VA_ARGS__},                                \
                  sizeof(const char *const[]){__VA_ARGS__} / sizeof(char *))

static void check_paths(const bang_images *set, const char *folder, const char *const *names,
                        size_t count)
{
    assert_int_equal(set->count, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(set->paths[i], in_folder(folder, names[i]));
}

/* In the order of torchvision's ImageFolder: classes by name, in each the folders by their
 * path, in each of those the pictures by name. */
static void test_class_folders(void **state)
{
    const char *folder = *state;
    static const char *const files[] = {
        "zebra/2.jpg",     "zebra/10.JPEG", "zebra/1.png",      "Ant/x.webp",
        "Ant/z.jpg",       "Ant/sub/a.jpg", "Ant/sub/in/b.jpg", "Ant/sub-b/c.jpg",
        "Ant/.hidden.jpg", "Ant/notes.txt", "cat dog/a b.jpg",  ".git/config.jpg",
        "readme.md",       "stray.jpg",     "Ant/jpg",          "Ant/.jpg",
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        touch(folder, files[i]);
    bang_images set = open_set(folder);
    static const char *const expected[] = {"Ant/x.webp",      "Ant/z.jpg",        "Ant/sub/a.jpg",
                                           "Ant/sub-b/c.jpg", "Ant/sub/in/b.jpg", "cat dog/a b.jpg",
                                           "zebra/1.png",     "zebra/10.JPEG",    "zebra/2.jpg"};
    static const int64_t labels[] = {0, 0, 0, 0, 0, 1, 2, 2, 2};
    check_paths(&set, folder, expected, 9);
    assert_memory_equal(set.labels, labels, sizeof labels);
    assert_int_equal(set.classes, 3);
    assert_string_equal(set.class_names[0], "Ant");
    assert_string_equal(set.class_names[1], "cat dog");
    assert_string_equal(set.class_names[2], "zebra");
    assert_int_equal(set.passed_over, 4); /* readme.md, stray.jpg, notes.txt, jpg */
    bang_images_release(&set);
    assert_null(set.paths);
}

static void test_links(void **state)
{
    const char *folder = *state;
    touch(folder, "elsewhere/a/1.jpg");
    touch(folder, "elsewhere/b/2.jpg");
    touch(folder, "set/c/3.jpg");
    assert_int_equal(symlink("../elsewhere/b", in_folder(folder, "set/linked")), 0);
    assert_int_equal(symlink("../../elsewhere/a/1.jpg", in_folder(folder, "set/c/4.jpg")), 0);
    bang_images set = open_set(in_folder(folder, "set"));
    static const char *const expected[] = {"set/c/3.jpg", "set/c/4.jpg", "set/linked/2.jpg"};
    check_paths(&set, folder, expected, 3);
    assert_string_equal(set.class_names[1], "linked");
    bang_images_release(&set);
    assert_int_equal(symlink("..", in_folder(folder, "set/c/back")), 0);
    REFUSED(in_folder(folder, "set"), BANG_EDATA, "link to a folder above it", "set/c/back");
}

static void test_empty(void **state)
{
    const char *folder = *state;
    REFUSED(folder, BANG_EDATA, "holds neither class folders nor pictures nor images.npy");
    touch(folder, "set/full/1.jpg");
    touch(folder, "set/text/1.txt");
    assert_int_equal(bang_folder_create(in_folder(folder, "set/empty"), NULL), 0);
    REFUSED(in_folder(folder, "set"), BANG_EDATA, "set: class folders without pictures",
            ": empty, text: fill or remove them");
    for (int i = 0; i < 9; i++) {
        char name[32];
        snprintf(name, sizeof name, "set/none%d/x.gif", i);
        touch(folder, name);
    }
    REFUSED(in_folder(folder, "set"), BANG_EDATA, "empty, none0, none1, none2, none3 and 6 more");
    REFUSED(in_folder(folder, "nowhere/x"), BANG_EIO, "nowhere/x: No such file");
    REFUSED("nowhere.jpg", BANG_EIO, "nowhere.jpg: No such file");
    REFUSED("nowhere", BANG_EIO, "nowhere: is no folder and no data set");
}

/* Pictures without classes: a folder of them, one, or several. */
static void test_no_labels(void **state)
{
    const char *folder = *state;
    touch(folder, "b.jpg");
    touch(folder, "a.png");
    touch(folder, "c.txt");
    bang_images set = open_set(folder);
    static const char *const expected[] = {"a.png", "b.jpg"};
    check_paths(&set, folder, expected, 2);
    assert_true(set.labels[0] == -1 && set.labels[1] == -1 && set.classes == 0 && !set.class_names);
    assert_int_equal(set.passed_over, 1);
    bang_images_release(&set);
    set = open_set(in_folder(folder, "c.txt")); /* told by its content, later */
    assert_int_equal(set.count, 1);
    assert_int_equal(set.labels[0], -1);
    bang_images_release(&set);

    const char *sources[] = {in_folder(folder, "b.jpg"), in_folder(folder, "a.png"),
                             in_folder(folder, "b.jpg")};
    bang_error err = {0};
    assert_int_equal(bang_images_open_all(&set, sources, 3, &err), 0);
    assert_int_equal(set.count, 3);
    assert_string_equal(set.paths[1], sources[1]);
    bang_images_release(&set);
    assert_int_equal(bang_images_open_all(&set, sources, 1, &err), 0);
    bang_images_release(&set);
    assert_int_equal(bang_images_open_all(&set, sources, 0, &err), BANG_EUSAGE);
    sources[0] = folder;
    sources[2] = in_folder(folder, "none.jpg");
    assert_int_equal(bang_images_open_all(&set, sources, 3, &err), BANG_EUSAGE);
    assert_true(strstr(err.message, "is a data set: only single") &&
                strstr(err.message, "none.jpg: No such file"));
    assert_int_equal(bang_images_open_all(&set, sources + 1, 2, &err), BANG_EIO);
    assert_int_equal(err.code, BANG_EIO);
}

static const char *put_csv(const char *folder, const char *text)
{
    const char *path = in_folder(folder, "list.csv");
    assert_int_equal(bang_file_put(path, text, strlen(text), NULL), 0);
    return path;
}

static void test_csv(void **state)
{
    const char *folder = *state;
    touch(folder, "a.jpg");
    touch(folder, "in/b \"x\", y.png");
    touch(folder, "in/two\nlines.png");
    /* names, a byte order mark, quotes, columns in any order, line ends of all systems */
    bang_images set = open_set(put_csv(folder, "\xef\xbb\xbf"
                                               "FILE,Class,\"note\"\r\n"
                                               "a.jpg,wolf,\"x,\r\ny\"\r\n"
                                               "\n"
                                               "\"in/b \"\"x\"\", y.png\",cat,\n"
                                               "\"in/two\nlines.png\",\"1\",1\r"
                                               "a.jpg,wolf,2"));
    assert_int_equal(set.count, 4);
    assert_string_equal(set.paths[0], in_folder(folder, "a.jpg"));
    assert_string_equal(set.paths[1], in_folder(folder, "in/b \"x\", y.png"));
    assert_string_equal(set.paths[2], in_folder(folder, "in/two\nlines.png"));
    assert_int_equal(set.classes, 3);
    assert_string_equal(set.class_names[0], "1");
    assert_string_equal(set.class_names[1], "cat");
    assert_string_equal(set.class_names[2], "wolf");
    static const int64_t labels[] = {2, 1, 0, 2};
    assert_memory_equal(set.labels, labels, sizeof labels);
    bang_images_release(&set);

    /* numbers, an absolute path */
    char text[600];
    snprintf(text, sizeof text, "path,label\n%s,7\na.jpg,0\n", in_folder(folder, "a.jpg"));
    set = open_set(put_csv(folder, text));
    assert_int_equal(set.count, 2);
    assert_string_equal(set.paths[0], set.paths[1]);
    assert_int_equal(set.classes, 8);
    assert_null(set.class_names);
    assert_int_equal(set.labels[0], 7);
    bang_images_release(&set);

    set = open_set(put_csv(folder, "image,kind\na.jpg,x\n")); /* without labels */
    assert_true(set.count == 1 && set.labels[0] == -1 && set.classes == 0 && !set.class_names);
    bang_images_release(&set);

    /* from the folder that we are in */
    put_csv(folder, "path,label\na.jpg,7\na.jpg,0\n");
    char *before = getcwd(NULL, 0);
    assert_int_equal(chdir(folder), 0);
    set = open_set("list.csv");
    assert_string_equal(set.paths[1], "a.jpg");
    bang_images_release(&set);
    assert_int_equal(chdir(before), 0);
    free(before);
}

static void test_csv_refused(void **state)
{
    const char *folder = *state;
    touch(folder, "a.jpg");
    REFUSED(put_csv(folder, ""), BANG_EDATA, "list.csv: line 1: no header");
    REFUSED(put_csv(folder, "name,label\na,b\n"), BANG_EDATA, "line 1: no column path (or image");
    REFUSED(put_csv(folder, "path,label\n"), BANG_EDATA, "no pictures");
    REFUSED(
        put_csv(folder, "path,label\na.jpg,x\n\na.jpg\n\"a.jpg\",\"y\"z\n,x\na.jpg,\nb.jpg,x\n"),
        BANG_EDATA, "line 4: fewer fields than the header has",
        "line 5: text behind a closing quote", "line 6: the path is empty",
        "line 7: the label is empty", "b.jpg: No such file");
    REFUSED(put_csv(folder, "path,label\na.jpg,\"a\nb\n\"\na.jpg,x,y\n"), BANG_EDATA,
            "list.csv: line 5: more fields");
    REFUSED(put_csv(folder, "path,label\na.jpg,x,y\n\"a\nb.jpg,x\n"), BANG_EDATA,
            "line 2: more fields", "line 3: a quote is opened and not closed");
    REFUSED(put_csv(folder, "path,label\na.jpg,1\na.jpg,-1\na.jpg,4000000000\n"), BANG_EDATA,
            "line 3: label -1: must be 0 or more", "line 4: label 4000000000");
    REFUSED(put_csv(folder, "path,label\n.,1\n"), BANG_EDATA, "is a folder");
    bang_text many = {0};
    for (int i = 0; i < 257; i++)
        bang_text_add(&many, "%s%s", i ? "," : "", i == 1 ? "path" : i == 2 ? "label" : "x");
    REFUSED(put_csv(folder, many.data), BANG_EDATA, "line 1: more than 256 fields");
    bang_text_release(&many);
    bang_text_add(&many, "path,label\n");
    for (int i = 0; i < 30; i++)
        bang_text_add(&many, "missing%d.jpg,%d\n", i, i);
    REFUSED(put_csv(folder, many.data), BANG_EDATA, "line 2: ", "missing0.jpg: No such file",
            "line 6: ", "; and 25 more");
    /* By line, whatever was noticed first. */
    REFUSED(put_csv(folder, "path,label\nb.jpg,1\na.jpg\nb.jpg,2\na.jpg\nb.jpg,1\n"), BANG_EDATA,
            "b.jpg: No such file or directory; line 3: fewer fields than the header has; line 4: ",
            "; line 5: fewer");
    bang_text_release(&many);
    assert_int_equal(bang_file_put(in_folder(folder, "list.csv"), "path\0,label\n", 12, NULL), 0);
    REFUSED(in_folder(folder, "list.csv"), BANG_EDATA, "a zero byte");
}

/* images.npy and labels.npy, as bang_dataset reads them. */
static void test_arrays(void **state)
{
    const char *folder = *state;
    static const char head[] = "\x93NUMPY\1\0F\0{'descr': '|u1', 'fortran_order': False, 'shape': ";
    char images[256], labels[256];
    memset(images, ' ', sizeof images);
    memset(labels, ' ', sizeof labels);
    memcpy(images, head, sizeof head - 1);
    memcpy(labels, head, sizeof head - 1);
    memcpy(images + sizeof head - 1, "(2, 3, 3)}", 10);
    memcpy(labels + sizeof head - 1, "(2,)}", 5);
    images[79] = labels[79] = '\n';
    for (int i = 0; i < 18; i++)
        images[80 + i] = (char)i;
    labels[80] = 4;
    labels[81] = 1;
    assert_int_equal(bang_file_put(in_folder(folder, "images.npy"), images, 98, NULL), 0);
    /* labels may be missing, unless something that cannot be read has their name */
    bang_images set = open_set(folder);
    assert_int_equal(set.count, 2);
    assert_int_equal(set.classes, 0);
    assert_int_equal(set.labels[0], -1);
    assert_int_equal(set.labels[1], -1);
    bang_images_release(&set);
    assert_int_equal(symlink("nowhere", in_folder(folder, "labels.npy")), 0);
    REFUSED(folder, BANG_EDATA, "labels.npy: missing");
    assert_int_equal(unlink(in_folder(folder, "labels.npy")), 0);
    assert_int_equal(bang_file_put(in_folder(folder, "labels.npy"), labels, 82, NULL), 0);
    set = open_set(folder);
    assert_int_equal(set.count, 2);
    assert_int_equal(set.classes, 5);
    assert_null(set.paths);
    assert_int_equal(set.labels[0], 4);
    assert_int_equal(set.memory.inputs.rank, 3);
    bang_images_release(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_class_folders, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_links, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_empty, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_no_labels, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_csv, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_csv_refused, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_arrays, make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
