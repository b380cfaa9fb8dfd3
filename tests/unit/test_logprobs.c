/* test_logprobs.c -- token probabilities in the form of the Responses API. */
#include "lib/test.h"

#include "lib/fixture.h"
#include "wire/chunk/chat_logprobs.h"

static const struct {
    const char *raw, *out;
} cases[] = {
    {"{\"content\":[{\"token\":\"a\",\"logprob\":-0.5,\"bytes\":[97],\"top_logprobs\":[]}]}",
     "{\"token\":\"a\",\"logprob\":-0.5,\"bytes\":[97],\"top_logprobs\":[]}"},
    /* bytes are those of the token when the upstream has none */
    {"{\"content\":[{\"token\":\"\\u00e9\",\"logprob\":-1,\"bytes\":null}]}",
     "{\"token\":\"\\u00e9\",\"logprob\":-1,\"bytes\":[195,169],\"top_logprobs\":[]}"},
    /* members of servers are left out, those of the alternatives too */
    {"{\"content\":[{\"id\":7,\"token\":\"a\",\"logprob\":-1,\"bytes\":[ 97 ],"
     "\"top_logprobs\":[{\"id\":8,\"token\":\"b\",\"logprob\":-2}]}]}",
     "{\"token\":\"a\",\"logprob\":-1,\"bytes\":[97],\"top_logprobs\":"
     "[{\"token\":\"b\",\"logprob\":-2,\"bytes\":[98]}]}"},
    /* minus infinity, which JSON does not have */
    {"{\"content\":[{\"token\":\"a\",\"logprob\":null}]}",
     "{\"token\":\"a\",\"logprob\":-9999.0,\"bytes\":[97],\"top_logprobs\":[]}"},
    {"{\"content\":[{\"token\":\"\xE2\x80\xA8\",\"logprob\":0}]}",
     "{\"token\":\"\\u2028\",\"logprob\":0,\"bytes\":[226,128,168],\"top_logprobs\":[]}"},
    {"{\"refusal\":null,\"content\":null}", ""},
    {"{\"content\":[]}", ""},
    {"null", ""},
    {"[1]", ""},
};

static void elements_are_rebuilt_member_by_member(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        str raw = str_from_c(cases[i].raw);
        char *exact = exact_copy(raw);
        struct buf out = {.limit = 0};

        chat_logprobs(str_from(exact, raw.len), &out);
        assert_str_c(buf_str(&out), cases[i].out);
        buf_fini(&out);
        free(exact);
    }
}

static void elements_of_several_chunks_form_one_list(void **state)
{
    struct buf out = {.limit = 0};

    (void)state;
    chat_logprobs(STR("{\"content\":[{\"token\":\"a\",\"logprob\":-1},"
                      "{\"token\":\"b\",\"logprob\":-2}]}"),
                  &out);
    chat_logprobs(STR_NONE, &out);
    chat_logprobs(STR("{\"content\":[{\"token\":\"c\",\"logprob\":-3}]}"), &out);
    assert_str_c(buf_str(&out),
                 "{\"token\":\"a\",\"logprob\":-1,\"bytes\":[97],\"top_logprobs\":[]},"
                 "{\"token\":\"b\",\"logprob\":-2,\"bytes\":[98],\"top_logprobs\":[]},"
                 "{\"token\":\"c\",\"logprob\":-3,\"bytes\":[99],\"top_logprobs\":[]}");
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_are_rebuilt_member_by_member),
        cmocka_unit_test(elements_of_several_chunks_form_one_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
