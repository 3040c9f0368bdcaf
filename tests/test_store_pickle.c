/* Pickles as data: every opcode that is read, and what must not be taken. */
#include "testing.h"

#include "store/pickle.h"

/* Bytes with their length, zeros included. */
#define BYTES(text) text, sizeof(text) - 1

static bang_value *parse(bang_pickle *pickle, const char *bytes, size_t size)
{
    bang_error err = {0};
    if (bang_pickle_parse(pickle, bytes, size, "x", &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(pickle->used, size);
    return pickle->root;
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        bang_value_kind kind;
        int64_t integer;
        double number;
    } cases[] = {
        {BYTES("N."), BANG_VALUE_NONE, 0, 0},
        {BYTES("\x88."), BANG_VALUE_BOOL, 1, 0},
        {BYTES("\x89."), BANG_VALUE_BOOL, 0, 0},
        {BYTES("I01\n."), BANG_VALUE_BOOL, 1, 0},
        {BYTES("I00\n."), BANG_VALUE_BOOL, 0, 0},
        {BYTES("I-7\n."), BANG_VALUE_INT, -7, 0},
        {BYTES("K\xff."), BANG_VALUE_INT, 255, 0},
        {BYTES("M\xff\xfe."), BANG_VALUE_INT, 0xfeff, 0},
        {BYTES("J\xfe\xff\xff\xff."), BANG_VALUE_INT, -2, 0},
        {BYTES("L12L\n."), BANG_VALUE_INT, 12, 0},
        {BYTES("L1234567890123456789012L\n."), BANG_VALUE_BIG, 0, 0},
        {BYTES("\x8a\x00."), BANG_VALUE_INT, 0, 0},
        {BYTES("\x8a\x01\xff."), BANG_VALUE_INT, -1, 0},
        {BYTES("\x8a\x02\xff\x00."), BANG_VALUE_INT, 255, 0},
        {BYTES("\x8a\x08\0\0\0\0\0\0\0\x80."), BANG_VALUE_INT, INT64_MIN, 0},
        {BYTES("\x8a\x09\0\0\0\0\0\0\0\0\x01."), BANG_VALUE_BIG, 0, 0},
        {BYTES("\x8b\x01\0\0\0\x05."), BANG_VALUE_INT, 5, 0},
        {BYTES("G\xbf\xf8\0\0\0\0\0\0."), BANG_VALUE_FLOAT, 0, -1.5},
        {BYTES("F2.5\n."), BANG_VALUE_FLOAT, 0, 2.5},
        {BYTES("\x80\x04\x95\x02\0\0\0\0\0\0\0K\x01."), BANG_VALUE_INT, 1, 0},
        {BYTES("K\x01K\x02\x30."), BANG_VALUE_INT, 1, 0},  /* POP */
        {BYTES("K\x01(K\x02\x31."), BANG_VALUE_INT, 1, 0}, /* POP_MARK */
        {BYTES("K\x01(0."), BANG_VALUE_INT, 1, 0},         /* POP of a mark */
        {BYTES("K\x01q\x05K\x02h\x05."), BANG_VALUE_INT, 1, 0},
        {BYTES("K\x01p5\nK\x02g5\n."), BANG_VALUE_INT, 1, 0},
        {BYTES("K\x01r\x05\0\0\0K\x02j\x05\0\0\0."), BANG_VALUE_INT, 1, 0},
        {BYTES("K\x01\x94K\x02\x94h\x00."), BANG_VALUE_INT, 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bang_pickle pickle;
        const bang_value *value = parse(&pickle, cases[i].bytes, cases[i].size);
        if (value->kind != cases[i].kind)
            fail_msg("case %zu is of kind %d", i, value->kind);
        if (value->kind == BANG_VALUE_FLOAT)
            assert_true(value->number == cases[i].number);
        else if (value->kind == BANG_VALUE_INT || value->kind == BANG_VALUE_BOOL)
            assert_int_equal(value->integer, cases[i].integer);
        bang_pickle_release(&pickle);
    }
}

static void test_texts(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *text;
    } cases[] = {
        {BYTES("U\x02hi."), "hi"},
        {BYTES("T\x02\0\0\0hi."), "hi"},
        {BYTES("X\x02\0\0\0hi."), "hi"},
        {BYTES("\x8c\x02hi."), "hi"},
        {BYTES("\x8d\x02\0\0\0\0\0\0\0hi."), "hi"},
        {BYTES("S'h\\x69\\n\\''\n."), "hi\n'"},
        {BYTES("S\"a\\qb\"\n."), "a\\qb"},
        {BYTES("Va\\u00e9\\U0001F600\n."), "a\xc3\xa9\xf0\x9f\x98\x80"},
        {BYTES("V\xe9\\\n."), "\xc3\xa9\\"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bang_pickle pickle;
        const bang_value *value = parse(&pickle, cases[i].bytes, cases[i].size);
        if (!bang_value_is_text(value, cases[i].text))
            fail_msg("case %zu: %.*s", i, (int)value->text.size, value->text.bytes);
        bang_pickle_release(&pickle);
    }
    static const char *const bytes[] = {"C\x02hi.", "B\x02\0\0\0hi.", "\x8e\x02\0\0\0\0\0\0\0hi.",
                                        "\x96\x02\0\0\0\0\0\0\0hi."};
    static const size_t sizes[] = {5, 8, 12, 12};
    for (int i = 0; i < 4; i++) {
        bang_pickle pickle;
        const bang_value *value = parse(&pickle, bytes[i], sizes[i]);
        assert_int_equal(value->kind, BANG_VALUE_BYTES);
        assert_memory_equal(value->text.bytes, "hi", 2);
        bang_pickle_release(&pickle);
    }
}

/* Numbers 1, 2, ... in any container. */
static void test_containers(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        bang_value_kind kind;
        size_t count;
    } cases[] = {
        {BYTES(")."), BANG_VALUE_TUPLE, 0},
        {BYTES("K\1\x85."), BANG_VALUE_TUPLE, 1},
        {BYTES("K\1K\2\x86."), BANG_VALUE_TUPLE, 2},
        {BYTES("K\1K\2K\3\x87."), BANG_VALUE_TUPLE, 3},
        {BYTES("(K\1K\2K\3K\4t."), BANG_VALUE_TUPLE, 4},
        {BYTES("]."), BANG_VALUE_LIST, 0},
        {BYTES("(l."), BANG_VALUE_LIST, 0},
        {BYTES("(K\1K\2l."), BANG_VALUE_LIST, 2},
        {BYTES("]K\1aK\2a(K\3K\4e."), BANG_VALUE_LIST, 4},
        {BYTES("}K\1K\2s(K\3K\4K\5K\6u."), BANG_VALUE_DICT, 6},
        {BYTES("(K\1K\2d."), BANG_VALUE_DICT, 2},
        {BYTES("\x8f(K\1K\2\x90."), BANG_VALUE_SET, 2},
        {BYTES("(K\1K\2\x91."), BANG_VALUE_SET, 2},
        {BYTES("cbuiltins\nset\n](K\1K\2e\x85R."), BANG_VALUE_SET, 2},
        {BYTES("ccollections\nOrderedDict\n)RK\1K\2s}b."), BANG_VALUE_DICT, 2},
        {BYTES("ccollections\nOrderedDict\n](](K\1K\2e](K\3K\4ee\x85R."), BANG_VALUE_DICT, 4},
        {BYTES("ccollections\ndefaultdict\ncbuiltins\nlist\n\x85RK\1K\2s."), BANG_VALUE_DICT, 2},
        {BYTES("ctorch\nSize\n(K\1K\2t\x85R."), BANG_VALUE_TUPLE, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bang_pickle pickle;
        const bang_value *value = parse(&pickle, cases[i].bytes, cases[i].size);
        if (value->kind != cases[i].kind || value->list.count != cases[i].count)
            fail_msg("case %zu: kind %d", i, value->kind);
        for (size_t k = 0; k < value->list.count; k++)
            assert_int_equal(value->list.items[k]->integer, k + 1);
        assert_int_equal(pickle.call_count, 0);
        bang_pickle_release(&pickle);
    }
}

/* An instance of any class is its state, however it was made; a call is not made. */
static void test_objects(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        bang_value_kind kind;
        size_t calls;
    } cases[] = {
        {BYTES("ca.b\nC\n)\x81}U\1xK\5sb."), BANG_VALUE_OBJECT, 0},
        {BYTES("ca.b\nC\n)}\x92}U\1xK\5sb."), BANG_VALUE_OBJECT, 0},
        {BYTES("U\3a.bU\1C\x93)\x81}U\1xK\5sb."), BANG_VALUE_OBJECT, 0},
        {BYTES("ccopyreg\n_reconstructor\nca.b\nC\ncbuiltins\nobject\nN\x87R}U\1xK\5sb."),
         BANG_VALUE_OBJECT, 0},
        {BYTES("(ia.b\nC\n}U\1xK\5sb."), BANG_VALUE_OBJECT, 0},
        {BYTES("(ca.b\nC\no}U\1xK\5sb."), BANG_VALUE_OBJECT, 0},
        {BYTES("ca.b\nC\n)\x81}U\1xK\5sN\x86"
               "b."),
         BANG_VALUE_OBJECT, 0}, /* slots */
        {BYTES("ca.b\nC\n)R}U\1xK\5sb."), BANG_VALUE_CALL, 1},
        {BYTES("(K\1ia.b\nC\n}U\1xK\5sb."), BANG_VALUE_CALL, 1},
        {BYTES("(ca.b\nC\nK\1o}U\1xK\5sb."), BANG_VALUE_CALL, 1},
        {BYTES("ca.b\nC\n)R0ca.b\nC\n)R}U\1xK\5sb."), BANG_VALUE_CALL, 1},
        {BYTES("ca\nb.D\n)R0ca.b\nC\n)R}U\1xK\5sb."), BANG_VALUE_CALL, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bang_pickle pickle;
        const bang_value *value = parse(&pickle, cases[i].bytes, cases[i].size);
        if (value->kind != cases[i].kind || pickle.call_count != cases[i].calls)
            fail_msg("case %zu: kind %d", i, value->kind);
        assert_true(bang_value_is_global(value->object.class, "a.b.C"));
        assert_int_equal(bang_value_get(bang_value_state(value), "x")->integer, 5);
        bang_pickle_release(&pickle);
    }
}

static void test_system_is_not_called(void **state)
{
    (void)state;
    bang_pickle pickle;
    char shown[BANG_SHOWN];
    parse(&pickle, BYTES("cos\nsystem\n(S'touch bang-was-here'\ntR."));
    assert_int_equal(pickle.root->kind, BANG_VALUE_CALL);
    assert_int_equal(pickle.call_count, 1);
    assert_string_equal(bang_value_show(shown, pickle.calls[0]), "os.system");
    bang_pickle_release(&pickle);
    /* What is called may come out of a call; still nothing happens. */
    parse(&pickle, BYTES("cbuiltins\ngetattr\n(cos\nsystem\nU\1xtR(tR."));
    assert_int_equal(pickle.call_count, 2);
    assert_string_equal(bang_value_show(shown, pickle.calls[1]), "a value");
    bang_pickle_release(&pickle);
}

static const char storage[] = "(U\7storagectorch\nFloatStorage\nU\1\x30U\3cpuK\6tQ";

static void test_tensors(void **state)
{
    (void)state;
    char bytes[512];
    static const char *const functions[] = {"_rebuild_tensor", "_rebuild_tensor_v2"};
    for (int i = 0; i < 2; i++) {
        bang_pickle pickle;
        int size = snprintf(bytes, sizeof bytes, "ctorch._utils\n%s\n(%sK\1K\2K\3\x86K\3K\1\x86tR.",
                            functions[i], storage);
        const bang_value *tensor = parse(&pickle, bytes, (size_t)size);
        assert_int_equal(tensor->kind, BANG_VALUE_TENSOR);
        assert_int_equal(tensor->tensor.storage->storage.count, 6);
        assert_true(bang_value_is_text(tensor->tensor.storage->storage.key, "0"));
        assert_int_equal(pickle.storages.list.count, 1);
        bang_pickle_release(&pickle);
    }
}

/* The last argument says that numbers are meant otherwise than they are stored. */
static void test_flags(void **state)
{
    (void)state;
    static const struct {
        const char *function, *rest;
        int is_fine;
    } cases[] = {
        {"_rebuild_tensor_v2", "\x89}", 1},
        {"_rebuild_tensor_v2", "\x89}N", 1},
        {"_rebuild_tensor_v2", "\x89}}", 1},
        {"_rebuild_tensor_v2", "\x89}}U\3neg\x88s", 0},
        {"_rebuild_tensor_v2", "\x89}}U\4conj\x88s", 0},
        {"_rebuild_tensor_v2", "\x89}U\3neg", 0},
        {"_rebuild_tensor_v3", "\x89}ctorch\nuint16\n", 1},
        {"_rebuild_tensor_v3", "\x89}ctorch\nuint16\n}", 1},
        {"_rebuild_tensor_v3", "\x89}ctorch\nuint16\n}U\3neg\x88s", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char bytes[512];
        bang_pickle pickle;
        bang_error err = {0};
        int size =
            snprintf(bytes, sizeof bytes, "ctorch._utils\n%s\n(%sK\1K\2K\3\x86K\3K\1\x86%stR.",
                     cases[i].function, storage, cases[i].rest);
        int code = bang_pickle_parse(&pickle, bytes, (size_t)size, "x", &err);
        if (code != (cases[i].is_fine ? 0 : BANG_EDATA) ||
            (code < 0 && !strstr(err.message, "resolve_neg()")))
            fail_msg("case %zu: %s", i, err.message);
        bang_pickle_release(&pickle);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *why;
    } cases[] = {
        {BYTES(""), "ends too early"},
        {BYTES("K"), "ends too early"},
        {BYTES("."), "ends with nothing"},
        {BYTES("(."), "ends with nothing"},
        {BYTES("X\xff\xff\xff\xffhi."), "ends too early"},
        {BYTES("\x8d\xff\xff\xff\xff\xff\xff\xff\xffhi."), "ends too early"},
        {BYTES("\x8b\xff\xff\xff\x7f\1."), "ends too early"},
        {BYTES("Nr\xff\xff\xff\xff."), "memo out of bounds"},
        {BYTES("Np99999999999\n."), "memo out of bounds"},
        {BYTES("Np-1\n."), "memo without a number"},
        {BYTES("h\5."), "memo that was never put"},
        {BYTES("j\xff\xff\xff\xff."), "memo that was never put"},
        {BYTES("N(h\0."), "memo that was never put"},
        {BYTES("t."), "no mark"},
        {BYTES("K\1(\x85."), "too few values"}, /* not across a mark */
        {BYTES("](K\1K\2u."), "another kind"},
        {BYTES("}(K\1u."), "items for no container"},
        {BYTES("(K\1d."), "key without a value"},
        {BYTES("NNs."), "items for no container"},
        {BYTES("Ns."), "too few values"},
        {BYTES("2."), "nothing to double"},
        {BYTES("R."), "a call without"},
        {BYTES("NNR."), "a call without"},
        {BYTES("Nb."), "attributes of nothing"},
        {BYTES("NN\x93."), "global without a name"},
        {BYTES("NQ."), "persistent id"},
        {BYTES("(U\7storageK\1U\1kU\3cpuK\6tQ."), "persistent id"},
        {BYTES("(U\7storagectorch\nFloatStorage\nU\1kU\3cpuJ\xff\xff\xff\xfftQ."), "persistent id"},
        {BYTES("Pid\n."), "opcode 0x50 is not read"},
        {BYTES("\x82\1."), "opcode 0x82 is not read"}, /* EXT1 */
        {BYTES("\x80\6N."), "newer than 5"},
        {BYTES("ctorch._utils\n_rebuild_tensor_v2\n(NK\0))tR."), "a tensor is not made of"},
        {BYTES("ctorch._utils\n_rebuild_tensor_v2\n)R."), "a tensor is not made of"},
        {BYTES("ccollections\nOrderedDict\n]Na\x85R."), "not made of pairs"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bang_pickle pickle;
        bang_error err = {0};
        int code = bang_pickle_parse(&pickle, cases[i].bytes, cases[i].size, "x", &err);
        if (code != BANG_EDATA || !strstr(err.message, cases[i].why))
            fail_msg("case %zu (%s): %s", i, cases[i].why, err.message);
        bang_pickle_release(&pickle);
    }
}

/* A list in itself is fine; a dict made of a large list again and again is not. */
static void test_bounds(void **state)
{
    (void)state;
    bang_pickle pickle;
    const bang_value *list = parse(&pickle, BYTES("]q\0h\0a."));
    assert_ptr_equal(list->list.items[0], list);
    bang_pickle_release(&pickle);

    enum { PAIRS = 1000, CALLS = 1000 };
    char *bytes = malloc(16 * (PAIRS + CALLS)), *at = bytes;
    at = mempcpy(at, "](", 2);
    for (int i = 0; i < PAIRS; i++)
        at = mempcpy(at, "NN\x86", 3);
    at = mempcpy(at, "eq\0", 3);
    at = mempcpy(at, "ccollections\nOrderedDict\nq\1", 27);
    for (int i = 0; i < CALLS; i++)
        at = mempcpy(at, "h\1h\0\x85R", 6);
    *at++ = '.';
    bang_error err = {0};
    assert_int_equal(bang_pickle_parse(&pickle, bytes, (size_t)(at - bytes), "x", &err),
                     BANG_EDATA);
    assert_non_null(strstr(err.message, "again and again"));
    bang_pickle_release(&pickle);
    free(bytes);
}

/* Bytes again and again between a beginning and an end. */
static int parse_repeated(bang_pickle *pickle, const char *first, const char *again, size_t count,
                          const char *last, bang_error *err)
{
    size_t length = strlen(again), before = strlen(first), after = strlen(last);
    size_t size = before + count * length + after;
    char *bytes = malloc(size + 1);
    assert_non_null(bytes);
    memcpy(bytes, first, before);
    for (size_t i = 0; i < count; i++)
        memcpy(bytes + before + i * length, again, length);
    memcpy(bytes + before + count * length, last, after);
    int code = bang_pickle_parse(pickle, bytes, size, "x", err);
    free(bytes);
    return code;
}

/* A byte of a pickle can make forty of memory: there is an end to it. */
static void test_bombs(void **state)
{
    (void)state;
    enum { MANY = BANG_PICKLE_VALUES_MOST + 1 };
    static const struct {
        const char *first, *again, *last;
        size_t count;
    } cases[] = {
        {"\x80\2(", ")", "t.", MANY},       /* the stack */
        {"\x80\2(", "]", "t.", MANY},       /* values */
        {"\x80\2N", "]0", ".", MANY},       /* values that nobody keeps */
        {"\x80\2", "(", "N.", MANY},        /* marks */
        {"\x80\2N", "\x94", ".", MANY},     /* the memo */
        {"\x80\2]", "Na", ".", 2 * MANY},   /* items */
        {"\x80\2N", "2\x86", ".", 5000000}, /* a tuple of itself twice, again */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bang_pickle pickle;
        bang_error err = {0};
        int code = parse_repeated(&pickle, cases[i].first, cases[i].again, cases[i].count,
                                  cases[i].last, &err);
        if (code != BANG_EDATA || !strstr(err.message, "more than 4194304 values"))
            fail_msg("case %zu: %s", i, err.message);
        assert_null(strchr(err.message, '\n'));
        assert_true(pickle.values <= BANG_PICKLE_VALUES_MOST);
        assert_true(pickle.items <= BANG_PICKLE_ITEMS_MOST);
        bang_pickle_release(&pickle);
    }
    bang_pickle pickle;
    bang_error err = {0};
    /* Keys of storages are compared often, and short. */
    for (size_t length = 1024; length < 1026; length++) {
        int code = parse_repeated(&pickle, "(U\7storagectorch\nFloatStorage\nV", "k", length,
                                  "\nU\3cpuK\6tQ.", &err);
        assert_int_equal(code, length > 1024 ? BANG_EDATA : 0);
        bang_pickle_release(&pickle);
    }
    /* What never changes is one value however often it occurs. */
    assert_int_equal(parse_repeated(&pickle, "(", ")N\x88\x89(t", 1000, "t.", &err), 0);
    assert_int_equal(pickle.values, 5);
    assert_int_equal(pickle.root->list.count, 5000);
    bang_pickle_release(&pickle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),    cmocka_unit_test(test_texts),
        cmocka_unit_test(test_containers), cmocka_unit_test(test_objects),
        cmocka_unit_test(test_tensors),    cmocka_unit_test(test_system_is_not_called),
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_bombs),      cmocka_unit_test(test_flags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
