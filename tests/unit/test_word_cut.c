/* test_word_cut.c -- what names and prose come to. */
#include "lib/test.h"

#include "lib/fixture.h"
#include "text/word_cut.h"

static void add_word(void *arg, str word)
{
    struct buf *out = arg;

    if (out->len > 0)
        buf_char(out, ' ');
    buf_append(out, word);
}

static void expect_words(str text, const char *words)
{
    struct buf got = {0};

    word_cut(text, add_word, &got);
    if (strcmp(buf_cstr(&got), words) != 0)
        fail_msg("%.*s: \"%s\" and not \"%s\"", STR_ARG(text), buf_cstr(&got), words);
    buf_fini(&got);
}

static void names_and_prose_have_the_same_words(void **state)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", ""},
        {" ,;- ", ""},
        {"get_invoice", "get invoic"},
        {"getInvoices", "get invoic getinvoic"},
        {"Getting the invoices", "get invoic"},
        {"HTTPServerList", "http server list httpserverlist"},
        {"GitHub", "git hub github"},
        {"oauth2-token.refresh", "oauth2 token refresh"},
        {"create creates creating created", "creat creat creat creat"},
        {"stop stops stopping stopped", "stop stop stop stop"},
        {"query queries", "query query"},
        {"status class analysis bus", "status class analysis bus"},
        {"sing bed red king", "sing bed red king"},
        {"a tool to use for the user", "user"},
        {"ÖFFNEN Überweisung", "öffnen überweisung"},
        {"СОЗДАТЬ Счёт", "создать счёт"},
        {"ΤΙΜΟΛΟΓΙΟ", "τιμολογιο"},
        {"天気 weather", "天 気 weather"},
        {"wetter天気", "wetter 天 気"},
        {"x\xff\xfey", "x y"},
        {"mail\xe2\x80\x93send \xf0\x9f\x93\xa7", "mail send"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        expect_words(str_from_c(cases[i].text), cases[i].words);
}

static void long_words_are_cut_off(void **state)
{
    char text[200], word[WORD_CUT_MAX_BYTES + 1] = "";

    (void)state;
    memset(text, 'X', sizeof(text));
    memset(word, 'x', WORD_CUT_MAX_BYTES);
    expect_words(str_from(text, sizeof(text)), word);
    expect_words(str_from(text, WORD_CUT_MAX_BYTES), word);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_prose_have_the_same_words),
        cmocka_unit_test(long_words_are_cut_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
