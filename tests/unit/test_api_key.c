/* test_api_key.c -- which keys a file holds, and whose request it is. */
#include "unit/config_fixture.h"

#include <unistd.h>

#include "access/api_key.h"
#include "lib/failing_malloc.h"
#include "lib/fixture.h"

/* SHA-256 of "one", "two" and "three". */
#define ONE_IN_CAPITALS "7692C3AD3540BB803C020B3AEE66CD8887123234EA0C6E7143C0ADD73FF431ED"
#define ONE             "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
#define TWO             "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3"
#define THREE           "8b5b9db0c13db24256c829aa364aa90c6d2eba318b9232a4ab9313b954d3555f"

/* What is parsed, and the problems with it. */
struct parsed {
    struct api_keys keys;
    struct config_problems problems;
};

static void parse(struct parsed *p, str text)
{
    char *exact = exact_copy(text);

    *p = (struct parsed){.keys = {.list = NULL}};
    api_keys_parse(&p->keys, "keys", str_from(exact, text.len), &p->problems);
    free(exact); /* nothing of it is kept */
}

static void parsed_fini(struct parsed *p)
{
    api_keys_fini(&p->keys);
    config_problems_fini(&p->problems);
}

/* The owner that a header leads to; "401" when it is refused. */
static str owner_of(const struct api_keys *keys, const char *header)
{
    char *exact = header == NULL ? NULL : exact_copy(str_from_c(header));
    str value = header == NULL ? STR_NONE : str_from(exact, strlen(header));
    struct caller caller;
    struct err e;
    int rc = api_keys_identify(keys, value, &caller, &e);

    free(exact);
    if (rc == 0)
        return caller.owner;
    assert_int_equal(e.code, ERR_INVALID_API_KEY);
    return STR("401");
}

/* ---- the file */

static void lines_are_names_and_hashes(void **state)
{
    static const char *const texts[] = {
        "a " ONE "\nb " TWO "\n",
        "a " ONE "\nb " TWO, /* no line end */
        "# a comment\n\n  \t\n   # another\na " ONE "\n\nb " TWO "\n",
        "a " ONE "\r\nb " TWO "\r\n",
        "  a\t \t" ONE "  \n\tb " TWO "\t\n",
        "a " ONE_IN_CAPITALS "\nb " TWO,
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct parsed p;

        parse(&p, str_from_c(texts[i]));
        assert_int_equal(p.problems.n_errors, 0);
        assert_int_equal(p.keys.n, 2);
        assert_str_c(owner_of(&p.keys, "Bearer one"), "a");
        assert_str_c(owner_of(&p.keys, "Bearer two"), "b");
        assert_str_c(owner_of(&p.keys, "Bearer three"), "401");
        parsed_fini(&p);
    }
}

static void keys_of_one_name_have_one_owner(void **state)
{
    struct parsed p;

    (void)state;
    parse(&p, STR("a " ONE "\na " TWO "\nb " THREE));
    assert_int_equal(p.problems.n_errors, 0);
    assert_str_c(owner_of(&p.keys, "Bearer one"), "a");
    assert_str_c(owner_of(&p.keys, "Bearer two"), "a");
    assert_str_c(owner_of(&p.keys, "Bearer three"), "b");
    parsed_fini(&p);
}

/* A wrong line is one error, which names the line and shows nothing of it; the other line counts. */
static void line_is_refused(const char *line, const char *message)
{
    struct buf text = {.limit = 0}, shown = {.limit = 0};
    struct parsed p;

    buf_c(&text, "# first\na " ONE "\n");
    buf_c(&text, line);
    parse(&p, buf_str(&text));
    config_problems_print(&p.problems, &shown);
    assert_int_equal(p.problems.n_errors, 1);
    if (strstr(buf_cstr(&shown), "keys: line 3: ") == NULL ||
        strstr(buf_cstr(&shown), message) == NULL || strstr(buf_cstr(&shown), "hush") != NULL)
        fail_msg("%s\nis not what to say about %s", buf_cstr(&shown), line);
    assert_int_equal(p.keys.n, 1);
    assert_str_c(owner_of(&p.keys, "Bearer one"), "a");
    buf_fini(&text);
    buf_fini(&shown);
    parsed_fini(&p);
}

static void other_lines_are_refused_and_not_shown(void **state)
{
    static const char *const lines[] = {
        "hush",
        "hush hush",
        "hush sk-hush",
        "hush:" TWO,
        "hush " TWO "0",
        TWO,
        "hush 3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2g3",
        "hush 3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f",
        "-hush " TWO,
        "h\xC3\xBCsh " TWO,
        "\xEF\xBB\xBFhush " TWO, /* a byte order mark */
        "hushhushhushhushhushhushhushhushhushhushhushhushhushhushhushhush! " TWO,
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        line_is_refused(lines[i], "must be a name and the SHA-256 of a key");
    line_is_refused("hush " TWO " hush", "only these settings are known: models=, rpm=");
    line_is_refused("hush " TWO " admin hush", "only these settings are known");
    line_is_refused("hush " TWO " admin=hush", "only these settings are known");
}

/* The status of one who wants to administer; 0: may. */
static int admin_status(const struct api_keys *keys, const char *header)
{
    struct caller caller;
    struct err e;

    if (api_keys_identify_admin(keys, STR_NONE, header == NULL ? STR_NONE : str_from_c(header),
                                &caller, &e) == 0)
        return 0;
    return err_http_status(&e);
}

static int certificate_status(const struct api_keys *keys, const char *certificate)
{
    struct caller caller;
    struct err e;

    if (api_keys_identify_admin(keys, str_from_c(certificate), STR("Bearer one"), &caller, &e) ==
        -1)
        return err_http_status(&e);
    assert_str_c(caller.owner, certificate);
    return 0;
}

/* The certificate is the key: another that is sent with it is not looked at. */
static void a_certificate_stands_in_place_of_a_key(void **state)
{
    struct caller caller;
    struct parsed p;
    struct err e;

    (void)state;
    parse(&p, STR("a " ONE " admin\ncert:alice -\ncert:bob - admin\ncert:bob -\n"));
    assert_int_equal(p.problems.n_errors, 0);
    assert_int_equal(
        api_keys_identify_client(&p.keys, STR("cert:carol"), STR("Bearer wrong"), &caller, &e), 0);
    assert_str_c(caller.owner, "cert:carol");
    assert_str_c(caller.name, "cert:carol");
    assert_int_equal(api_keys_identify_client(&p.keys, STR_NONE, STR("Bearer one"), &caller, &e),
                     0);
    assert_str_c(caller.owner, "a");
    assert_int_equal(api_keys_identify_client(&p.keys, STR_NONE, STR_NONE, &caller, &e), -1);
    assert_int_equal(certificate_status(&p.keys, "cert:alice"), 403);
    assert_int_equal(certificate_status(&p.keys, "cert:bob"), 0);
    assert_int_equal(certificate_status(&p.keys, "cert:carol"), 403);
    parsed_fini(&p);
}

static void lines_of_certificates_have_no_hash(void **state)
{
    static const char *const lines[] = {"cert:hush", ("cert:hush " ONE), "cert: -",
                                        "cert:h\303\274sh -"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        line_is_refused(lines[i], "a name that begins with cert: is of certificates");
    line_is_refused("cert:hush - hush", "only these settings are known");
    assert_false(api_key_is_name(STR("cert:alice")));
}

static void only_keys_with_admin_may_administer(void **state)
{
    const struct api_keys none = {.list = NULL};
    struct parsed p;

    (void)state;
    parse(&p, STR("a " ONE "\nb " TWO " \tadmin \n"));
    assert_int_equal(p.problems.n_errors, 0);
    assert_true(api_keys_have_admin(&p.keys));
    assert_int_equal(admin_status(&p.keys, NULL), 401);
    assert_int_equal(admin_status(&p.keys, "Bearer three"), 401);
    assert_int_equal(admin_status(&p.keys, "Bearer one"), 403);
    assert_int_equal(admin_status(&p.keys, "Bearer two"), 0);
    assert_str_c(owner_of(&p.keys, "Bearer two"), "b");
    parsed_fini(&p);
    assert_int_equal(admin_status(&none, NULL), 401);
    assert_int_equal(admin_status(&none, "Bearer one"), 401);
    assert_false(api_keys_have_admin(&none));
}

static void a_listener_for_administration_needs_a_key_that_may(void **state)
{
    static const struct {
        const char *listen;
        bool is_refused;
    } cases[] = {
        {"127.0.0.1:1+admin", false}, {"unix:/run/a+admin", false}, {":1", false},
        {":1+metrics", false},        {":1+admin", true},           {":1,0.0.0.0:2+admin", true},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct load l = {.args = {"--listen", cases[i].listen, "--api-key", "k"}};
        struct api_keys keys = {.list = NULL};

        load_fine(&l);
        assert_int_equal(api_keys_load(&keys, &l.config, &l.problems),
                         cases[i].is_refused ? -1 : 0);
        if (cases[i].is_refused)
            problems_say(&l, (const char *const[]){"other machines may connect, and no key may "
                                                   "administer",
                                                   NULL});
        api_keys_fini(&keys);
        load_end(&l);
    }
}

static void an_open_gateway_is_refused_where_that_is_asked_for(void **state)
{
    static const struct {
        const char *args[5], *variable;
        bool is_refused;
    } cases[] = {
        {{"--listen", ":1"}, NULL, false},
        {{"--listen", ":1"}, "ANTIPHON_ALLOW_OPEN=1", false},
        {{"--listen", ":1"}, "ANTIPHON_ALLOW_OPEN=0", true},
        {{"--listen", "127.0.0.1:1,192.0.2.1:2"}, "ANTIPHON_ALLOW_OPEN=0", true},
        {{"--listen", ":1+tls"}, "ANTIPHON_ALLOW_OPEN=0", true},
        {{"--preset", "ors"}, "ANTIPHON_ALLOW_OPEN=0", true},
        {{"--preset", "vllm-responses"}, "ANTIPHON_ALLOW_OPEN=0", true},
        {{"--listen", ":1", "--api-key", "k"}, "ANTIPHON_ALLOW_OPEN=0", false},
        {{"--listen", "[::1]:1,unix:/run/a,:2+metrics"}, "ANTIPHON_ALLOW_OPEN=0", false},
        {{"--listen", ":1+tls", "--tls-client-auth", "require"}, "ANTIPHON_ALLOW_OPEN=0", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct load l = {.env = {cases[i].variable}};
        struct api_keys keys = {.list = NULL};
        size_t n_errors;

        memcpy(l.args, cases[i].args, sizeof(cases[i].args));
        (void)load(&l);
        n_errors = l.problems.n_errors; /* certificates are not given here */
        assert_int_equal(api_keys_load(&keys, &l.config, &l.problems),
                         cases[i].is_refused ? -1 : 0);
        assert_int_equal(l.problems.n_errors - n_errors, cases[i].is_refused);
        if (cases[i].is_refused)
            problems_say(&l,
                         (const char *const[]){"no key is asked for, and allow_open is off", NULL});
        api_keys_fini(&keys);
        load_end(&l);
    }
}

static void a_key_twice_is_refused(void **state)
{
    (void)state;
    line_is_refused("a " ONE, "the same key is in line 2; remove one");
    line_is_refused("hush " ONE, "the same key is in line 2; remove one");
}

/* Every beginning of a file is lines of which at most the last is wrong. */
static void file_may_be_cut_anywhere(void **state)
{
    const str whole = STR("# c\na " ONE "\n\nb " TWO "\n");

    (void)state;
    for (size_t n = 0; n <= whole.len; n++) {
        struct parsed p;

        parse(&p, str_from(whole.p, n));
        assert_in_range(p.problems.n_errors, 0, 1);
        assert_int_equal(p.keys.n, (n >= 4 + 2 + 64) + (n >= 4 + 2 + 64 + 2 + 2 + 64));
        parsed_fini(&p);
    }
}

static void garbage_is_no_key(void **state)
{
    struct chance chance = {.state = 7};

    (void)state;
    for (int round = 0; round < 2000; round++) {
        char text[200];
        size_t n = chance_below(&chance, sizeof(text));
        struct parsed p;

        for (size_t i = 0; i < n; i++)
            text[i] = (char)chance_below(&chance, 256);
        parse(&p, str_from(text, n));
        assert_int_equal(p.keys.n, 0);
        parsed_fini(&p);
    }
}

static void more_keys_than_can_be_compared_are_refused(void **state)
{
    struct buf text = {.limit = 0};
    struct parsed p;

    (void)state;
    for (unsigned i = 0; i < 4097; i++) {
        char line[2 + 64 + 2];

        (void)snprintf(line, sizeof(line), "a %064x\n", i);
        buf_c(&text, i == 4096 ? "# one more\n" : "");
        buf_c(&text, line);
    }
    parse(&p, buf_str(&text));
    assert_int_equal(p.keys.n, 4096);
    assert_int_equal(p.problems.n_errors, 1);
    assert_non_null(strstr(p.problems.kept[0].text, "keys: line 4098: more than 4096 keys"));
    buf_fini(&text);
    parsed_fini(&p);
}

/* ---- settings */

/* What the key of a header stands for; fails when it is refused. */
static struct caller caller_of(const struct api_keys *keys, const char *header)
{
    struct caller caller;
    struct err e;

    if (api_keys_identify(keys, str_from_c(header), &caller, &e) == -1)
        fail_msg("%s: %s", header, e.msg);
    return caller;
}

static void settings_are_of_the_name_whichever_line_has_them(void **state)
{
    struct parsed p;
    const struct allowance *a;

    (void)state;
    parse(&p, STR("a " ONE " rpm=5\nb " THREE "\na " TWO " tpm=7 models=x*,y rpm=5\n"));
    assert_int_equal(p.problems.n_errors, 0);
    a = caller_of(&p.keys, "Bearer one").allowance;
    assert_ptr_equal(a, caller_of(&p.keys, "Bearer two").allowance);
    assert_int_equal(a->limits.rpm, 5);
    assert_int_equal(a->limits.tpm, 7);
    assert_str_c(a->models, "x*,y");
    assert_null(caller_of(&p.keys, "Bearer three").allowance);
    assert_ptr_equal(api_keys_allowance(&p.keys, STR("a")), a);
    assert_null(api_keys_allowance(&p.keys, STR("b")));
    assert_null(api_keys_allowance(&p.keys, STR("c")));
    parsed_fini(&p);
}

static void certificates_have_settings_too(void **state)
{
    struct caller caller;
    struct parsed p;
    struct err e;

    (void)state;
    parse(&p, STR("cert:alice - rpm=5\ncert:alice - admin\ncert:old - expires=2020-01-01\n"));
    assert_int_equal(p.problems.n_errors, 0);
    assert_int_equal(api_keys_identify_client(&p.keys, STR("cert:alice"), STR_NONE, &caller, &e),
                     0);
    assert_int_equal(caller.allowance->limits.rpm, 5);
    assert_int_equal(api_keys_identify_client(&p.keys, STR("cert:nobody"), STR_NONE, &caller, &e),
                     0);
    assert_null(caller.allowance);
    assert_int_equal(api_keys_identify_client(&p.keys, STR("cert:old"), STR_NONE, &caller, &e), -1);
    assert_int_equal(e.code, ERR_API_KEY_EXPIRED);
    parsed_fini(&p);
}

static void what_is_wrong_with_settings_names_the_line_and_shows_nothing(void **state)
{
    struct buf shown = {.limit = 0};
    struct parsed p;

    (void)state;
    line_is_refused("hush " TWO " rpm=hush", "rpm= must be a whole number");
    line_is_refused("hush " TWO " rpm=1 rpm=1", "rpm is given twice");
    line_is_refused("hush " TWO " store=1GiB", "store= is not supported yet");
    line_is_refused("cert:hush - weight=0", "weight= must be");
    parse(&p, STR("hush " ONE " models=hush\n\nb " THREE "\nhush " TWO " rpm=1 models=hush*\n"));
    config_problems_print(&p.problems, &shown);
    assert_int_equal(p.problems.n_errors, 1);
    assert_non_null(strstr(buf_cstr(&shown), "keys: line 4: models= is another than in line 1"));
    assert_null(strstr(buf_cstr(&shown), "hush"));
    buf_fini(&shown);
    parsed_fini(&p);
}

static void a_key_is_good_until_it_expires(void **state)
{
    struct parsed p;
    struct caller caller;
    struct err e;

    (void)state;
    parse(&p, STR("a " ONE " expires=2020-02-29 admin\na " TWO " expires=2999-12-31T00:00:00Z\n"
                  "a " THREE "\n"));
    assert_int_equal(p.problems.n_errors, 0);
    assert_int_equal(api_keys_identify(&p.keys, STR("Bearer one"), &caller, &e), -1);
    assert_int_equal(e.code, ERR_API_KEY_EXPIRED);
    assert_int_equal(err_http_status(&e), 401);
    assert_string_equal(err_wire_code(&e), "invalid_api_key");
    assert_string_equal(e.msg, "The API key has expired.");
    assert_int_equal(admin_status(&p.keys, "Bearer one"), 401);
    assert_str_c(caller_of(&p.keys, "Bearer two").owner, "a");
    assert_str_c(caller_of(&p.keys, "Bearer three").owner, "a");
    parsed_fini(&p);
}

/* What runs has the allowance of a table that is gone, and reading the same again takes no memory. */
static void allowances_outlive_their_table(void **state)
{
    struct arena owners = {.last = NULL};
    struct api_keys first = {.owners = &owners}, second = {.owners = &owners};
    const struct allowance *same, *other;
    size_t used;

    (void)state;
    api_keys_parse(&first, "keys", STR("a " ONE " rpm=5 models=x\nb " TWO " rpm=6\n"), NULL);
    same = api_keys_allowance(&first, STR("a"));
    other = api_keys_allowance(&first, STR("b"));
    used = owners.used;
    second.former = &first;
    api_keys_parse(&second, "keys", STR("a " ONE " models=x rpm=5\nb " TWO " rpm=6\n"), NULL);
    assert_int_equal(owners.used, used);
    api_keys_fini(&second);
    second = (struct api_keys){.owners = &owners, .former = &first};
    api_keys_parse(&second, "keys", STR("a " ONE " models=x rpm=5\nb " TWO " rpm=7\n"), NULL);
    api_keys_fini(&first);
    assert_ptr_equal(api_keys_allowance(&second, STR("a")), same);
    assert_int_equal(other->limits.rpm, 6);
    assert_int_equal(api_keys_allowance(&second, STR("b"))->limits.rpm, 7);
    api_keys_fini(&second);
    arena_fini(&owners);
}

/* A file is read whole or has problems. */
static void without_memory_a_file_is_refused(void **state)
{
    bool has_failed = true;

    (void)state;
    for (long n = 0; has_failed; n++) {
        struct api_keys keys = {.list = NULL};
        struct config_problems problems = {.n_kept = 0};

        failing_malloc_begin(n, FAILS_ONCE);
        api_keys_parse(&keys, "keys",
                       STR("a " ONE " rpm=5 models=x\nb " TWO " tpm=1\na " THREE " weight=2\n"),
                       &problems);
        has_failed = failing_malloc_end();
        if (problems.n_errors == 0) {
            assert_int_equal(keys.n, 3);
            assert_int_equal(caller_of(&keys, "Bearer three").allowance->limits.rpm, 5);
            assert_int_equal(caller_of(&keys, "Bearer one").allowance->weight, 2);
        }
        assert_true(has_failed || problems.n_errors == 0);
        api_keys_fini(&keys);
        config_problems_fini(&problems);
    }
}

/* What runs knows its owner by the text of a table that is gone. */
static void owners_outlive_their_table(void **state)
{
    struct arena owners = {.last = NULL};
    struct api_keys first = {.owners = &owners}, second = {.owners = &owners};
    struct caller old, now;
    struct err e;

    (void)state;
    api_keys_parse(&first, "keys", STR("a " ONE "\nb " TWO "\n"), NULL);
    assert_int_equal(api_keys_add(&first, "nameless"), 0);
    assert_int_equal(api_keys_identify(&first, STR("Bearer one"), &old, &e), 0);
    second.former = &first;
    api_keys_parse(&second, "keys", STR("c " ONE "\na " THREE "\n"), NULL);
    assert_int_equal(api_keys_add(&second, "nameless"), 0);
    second.former = NULL;
    assert_str_c(owner_of(&first, "Bearer nameless"), owner_of(&second, "Bearer nameless").p);
    api_keys_fini(&first);
    assert_str_c(old.owner, "a");
    assert_int_equal(api_keys_identify(&second, STR("Bearer three"), &now, &e), 0);
    assert_ptr_equal(now.owner.p, old.owner.p);
    assert_str_c(owner_of(&second, "Bearer one"), "c");
    assert_str_c(owner_of(&second, "Bearer two"), "401");
    api_keys_fini(&second);
    assert_str_c(now.owner, "a");
    arena_fini(&owners);
}

/* ---- from the configuration */

/* Loads these keys; each may be NULL. buf_fini() the problems' lines. */
static struct buf problems_of(const char *key, const char *path)
{
    struct load l = {.args = {NULL}};
    struct api_keys keys = {.list = NULL};
    struct buf lines;
    int rc;

    load_fine(&l);
    l.config.api_key = (struct config_list){&key, key == NULL ? 0 : 1};
    l.config.api_keys_file = path;
    rc = api_keys_load(&keys, &l.config, &l.problems);
    assert_int_equal(rc, l.problems.n_errors > 0 ? -1 : 0);
    lines = problem_lines(&l);
    api_keys_fini(&keys);
    load_end(&l);
    return lines;
}

/* Makes a file of the text; path is a template and becomes its name. */
static void write_file(char *path, const char *text)
{
    int fd = mkstemp(path);

    assert_int_not_equal(fd, -1);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(close(fd), 0);
}

static void files_that_are_of_no_use_are_refused(void **state)
{
    static const struct {
        const char *key, *text, *message;
    } cases[] = {
        {NULL, "a " ONE "\n", ""},
        {"two", "a " ONE "\n", ""},
        {NULL, "# nothing yet\n", ": holds no key; `antiphon key NAME` makes one"},
        {"two", "", ": holds no key"}, /* else the file could be lost without a word */
        {NULL, "a one\n", ": line 1: must be a name"},
        {"one", "a " ONE "\n", ": line 1: this key is also given as api_key; remove one"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char path[] = "/tmp/antiphon-keys-XXXXXX";
        struct buf lines;

        write_file(path, cases[i].text);
        lines = problems_of(cases[i].key, path);
        (void)unlink(path);
        assert_int_equal(lines.len == 0, cases[i].message[0] == '\0');
        if (strstr(buf_cstr(&lines), cases[i].message) == NULL)
            fail_msg("%s\ndoes not say %s", buf_cstr(&lines), cases[i].message);
        buf_fini(&lines);
    }
}

static void a_file_that_cannot_be_read_is_refused(void **state)
{
    struct buf lines = problems_of(NULL, "/nonexistent/keys");

    (void)state;
    assert_non_null(strstr(buf_cstr(&lines), "/nonexistent/keys: cannot be opened: "));
    buf_fini(&lines);
    lines = problems_of(NULL, "/");
    assert_non_null(strstr(buf_cstr(&lines), "/: cannot be read: "));
    buf_fini(&lines);
}

/* ---- requests */

static void only_bearer_keys_are_recognised(void **state)
{
    static const struct {
        const char *header, *owner;
    } cases[] = {
        {"Bearer one", "a"},    {"bearer one", "a"},        {"BEARER one", "a"},
        {"Bearer   one ", "a"}, {"Bearer two", "401"},      {"Bearer One", "401"},
        {"Bearer on", "401"},   {"Bearer onee", "401"},     {"Bearer one one", "401"},
        {"Bearer", "401"},      {"Bearer ", "401"},         {"", "401"},
        {"one", "401"},         {"Basic one", "401"},       {"Bearerone", "401"},
        {"Bearer " ONE, "401"}, {"Bearer \xff\x01", "401"}, {NULL, "401"},
    };
    struct parsed p;

    (void)state;
    parse(&p, STR("a " ONE));
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_str_c(owner_of(&p.keys, cases[i].header), cases[i].owner);
    parsed_fini(&p);
}

static void a_missing_key_and_a_wrong_one_are_told_apart(void **state)
{
    struct caller caller;
    struct parsed p;
    struct err e;

    (void)state;
    parse(&p, STR("a " ONE));
    assert_int_equal(api_keys_identify(&p.keys, STR_NONE, &caller, &e), -1);
    assert_non_null(strstr(e.msg, "Authorization: Bearer"));
    assert_int_equal(api_keys_identify(&p.keys, STR("Bearer hush"), &caller, &e), -1);
    assert_string_equal(e.msg, "Incorrect API key provided.");
    parsed_fini(&p);
}

/* The place of a key in the list does not matter: none ends the comparison. */
static void each_of_many_keys_is_recognised(void **state)
{
    struct api_keys keys = {.list = NULL};
    char text[32];

    (void)state;
    for (int i = 0; i < 100; i++) {
        (void)snprintf(text, sizeof(text), "key%d", i);
        assert_int_equal(api_keys_add(&keys, text), 0);
    }
    for (int i = 0; i < 100; i++) {
        str owner;

        (void)snprintf(text, sizeof(text), "Bearer key%d", i);
        owner = owner_of(&keys, text);
        assert_str_eq(str_from(owner.p, 4), STR("key-"));
        for (int other = 0; other < i; other++) {
            (void)snprintf(text, sizeof(text), "Bearer key%d", other);
            assert_false(str_eq(owner_of(&keys, text), owner));
        }
    }
    api_keys_fini(&keys);
}

/* What is in the store must be found by the next version, too. */
static void owner_of_a_nameless_key_stays_the_same(void **state)
{
    struct api_keys keys = {.list = NULL};
    struct caller caller;
    struct err e;

    (void)state;
    assert_int_equal(api_keys_add(&keys, "one"), 0);
    assert_int_equal(api_keys_identify(&keys, STR("Bearer one"), &caller, &e), 0);
    assert_str_c(caller.owner, "key-45e7e90ec14704fe5021c2a2fe601dc2");
    assert_true(str_is_none(caller.name));
    api_keys_fini(&keys);
}

static void without_keys_everybody_is_the_same_caller(void **state)
{
    const struct api_keys keys = {.list = NULL};

    (void)state;
    assert_str_c(owner_of(&keys, NULL), "");
    assert_str_c(owner_of(&keys, "Bearer one"), "");
    assert_str_c(owner_of(&keys, "Basic one"), "");
}

/* ---- lines */

static void a_line_that_was_made_is_understood(void **state)
{
    struct buf line = {.limit = 0};
    struct caller caller;
    struct parsed p;
    struct err e;

    (void)state;
    assert_true(api_key_line(STR("me@here"), STR("one"), STR(""), &line));
    assert_str_c(buf_str(&line), "me@here " ONE "\n");
    parse(&p, buf_str(&line));
    assert_int_equal(api_keys_identify(&p.keys, STR("Bearer one"), &caller, &e), 0);
    assert_str_c(caller.owner, "me@here");
    assert_str_c(caller.name, "me@here");
    parsed_fini(&p);
    buf_reset(&line);
    assert_true(api_key_line(STR("me@here"), STR("one"), STR("rpm=5 admin"), &line));
    assert_str_c(buf_str(&line), "me@here " ONE " rpm=5 admin\n");
    buf_fini(&line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owners_outlive_their_table),
        cmocka_unit_test(settings_are_of_the_name_whichever_line_has_them),
        cmocka_unit_test(certificates_have_settings_too),
        cmocka_unit_test(what_is_wrong_with_settings_names_the_line_and_shows_nothing),
        cmocka_unit_test(a_key_is_good_until_it_expires),
        cmocka_unit_test(allowances_outlive_their_table),
        cmocka_unit_test(without_memory_a_file_is_refused),
        cmocka_unit_test(lines_are_names_and_hashes),
        cmocka_unit_test(keys_of_one_name_have_one_owner),
        cmocka_unit_test(other_lines_are_refused_and_not_shown),
        cmocka_unit_test(only_keys_with_admin_may_administer),
        cmocka_unit_test(a_certificate_stands_in_place_of_a_key),
        cmocka_unit_test(lines_of_certificates_have_no_hash),
        cmocka_unit_test(a_listener_for_administration_needs_a_key_that_may),
        cmocka_unit_test(an_open_gateway_is_refused_where_that_is_asked_for),
        cmocka_unit_test(a_key_twice_is_refused),
        cmocka_unit_test(file_may_be_cut_anywhere),
        cmocka_unit_test(garbage_is_no_key),
        cmocka_unit_test(more_keys_than_can_be_compared_are_refused),
        cmocka_unit_test(files_that_are_of_no_use_are_refused),
        cmocka_unit_test(a_file_that_cannot_be_read_is_refused),
        cmocka_unit_test(only_bearer_keys_are_recognised),
        cmocka_unit_test(a_missing_key_and_a_wrong_one_are_told_apart),
        cmocka_unit_test(each_of_many_keys_is_recognised),
        cmocka_unit_test(owner_of_a_nameless_key_stays_the_same),
        cmocka_unit_test(without_keys_everybody_is_the_same_caller),
        cmocka_unit_test(a_line_that_was_made_is_understood),
    };

    return cmocka_run_group_tests_name("api key", tests, NULL, NULL);
}
