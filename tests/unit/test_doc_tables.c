/* test_doc_tables.c -- the tables of the documents, and how they get into a page. */
#include "../../tools/doc_tables/document.h"
#include "../../tools/doc_tables/roff.h"
#include "../../tools/doc_tables/table.h"
#include "base/version.h"
#include "lib/test.h"

static const char *const keys[] = {
#define KEY(name, kind, initial, valid, help) #name,
#include "config/config.def"
};

static const char *const paths[] = {
#define ENDPOINT(methods, path, relay, answer, help) path,
#include "front/endpoints.def"
};

static void assert_has(struct buf *text, const char *piece)
{
    if (strstr(buf_cstr(text), piece) == NULL)
        fail_msg("%s\nis not in\n%s", piece, buf_cstr(text));
}

static void every_key_is_in_the_man_page(void **state)
{
    struct buf man = {0};

    (void)state;
    man_options(&man);
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        struct buf flag = {0};

        buf_c(&flag, "\n\\fB\\-\\-");
        for (const char *p = keys[i]; *p != '\0'; p++) {
            if (*p == '_')
                buf_c(&flag, "\\-");
            else
                buf_char(&flag, *p);
        }
        buf_c(&flag, "\\fR");
        assert_has(&man, buf_cstr(&flag));
        buf_fini(&flag);
    }
    buf_fini(&man);
}

static void every_endpoint_is_in_both_tables(void **state)
{
    struct buf table = {0}, man = {0};

    (void)state;
    table_endpoints(&table);
    man_endpoints(&man);
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        struct buf roff = {0};

        roff_c(paths[i], &roff);
        assert_has(&table, paths[i]);
        assert_has(&man, buf_cstr(&roff));
        buf_fini(&roff);
    }
    buf_fini(&table);
    buf_fini(&man);
}

static void the_synopsis_has_every_command(void **state)
{
    static const char *const lines[] = {
        "\\fBantiphon serve\\fR [\\fIflags\\fR]\n.br\n",
        "\n\\fBantiphon sandbox\\fR \\fBrun\\fR \\fIFILE\\fR|\\fB\\-\\fR [\\fIflags\\fR]\n",
        "\n.br\n\\fBantiphon version\\fR\n",
    };
    struct buf synopsis = {0};

    (void)state;
    man_synopsis(&synopsis);
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        assert_has(&synopsis, lines[i]);
    buf_fini(&synopsis);
}

static void what_roff_would_obey_is_escaped(void **state)
{
    static const struct {
        const char *text, *roff;
    } cases[] = {
        {"a-b", "a\\-b"},  {".TH", "\\&.TH"},        {"a.b", "a.b"},       {"'x'", "\\(aqx\\(aq"},
        {"a\\n", "a\\en"}, {"`a` b", "\\fBa\\fR b"}, {"^~", "\\(ha\\(ti"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf out = {0};

        roff_c(cases[i].text, &out);
        assert_str_c(buf_str(&out), cases[i].roff);
        buf_fini(&out);
    }
}

#define TITLE ".TH ANTIPHON 1 \"\" \"antiphon " ANTIPHON_VERSION "\" \"User Commands\"\n"

static void a_table_takes_the_place_of_what_was_there(void **state)
{
    static const struct {
        const char *before, *after;
    } cases[] = {
        {"", ""},
        {"no table\n<!-- a remark -->\nno line end", "no table\n<!-- a remark -->\nno line end"},
        {"a\n.\\\" table title\nold\nolder\n.\\\" end of table title\nb\n",
         "a\n.\\\" table title\n" TITLE ".\\\" end of table title\nb\n"},
        {".\\\" table title\n.\\\" end of table title",
         ".\\\" table title\n" TITLE ".\\\" end of table title"},
        {"<!-- table title -->\n<!-- end of table errors -->\n<!-- end of table title -->\n",
         "<!-- table title -->\n\n" TITLE "\n<!-- end of table title -->\n"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf once = {0}, twice = {0};
        struct err e;

        assert_int_equal(document_fill(str_from_c(cases[i].before), &once, &e), 0);
        assert_str_c(buf_str(&once), cases[i].after);
        assert_int_equal(document_fill(buf_str(&once), &twice, &e), 0);
        assert_str_c(buf_str(&twice), cases[i].after);
        buf_fini(&once);
        buf_fini(&twice);
    }
}

static void mistakes_in_a_page_are_told(void **state)
{
    static const struct {
        const char *page, *message;
    } cases[] = {
        {"<!-- table nothing -->\n<!-- end of table nothing -->\n", "nobody makes a table"},
        {"<!-- table errors -->\n| a |\n", "the table \"errors\" has no end"},
        {".\\\" table title\n.\\\" end of table titles\n", "the table \"title\" has no end"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf out = {0};
        struct err e;

        assert_int_equal(document_fill(str_from_c(cases[i].page), &out, &e), -1);
        assert_non_null(strstr(e.msg, cases[i].message));
        buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_is_in_the_man_page),
        cmocka_unit_test(every_endpoint_is_in_both_tables),
        cmocka_unit_test(the_synopsis_has_every_command),
        cmocka_unit_test(what_roff_would_obey_is_escaped),
        cmocka_unit_test(a_table_takes_the_place_of_what_was_there),
        cmocka_unit_test(mistakes_in_a_page_are_told),
    };

    return cmocka_run_group_tests_name("doc tables", tests, NULL, NULL);
}
