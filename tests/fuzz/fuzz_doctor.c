/* fuzz_doctor.c -- whatever a server answers: reading it ends, reads nothing past the end, and every
 * judgement of it is a line that can be shown; and whatever a configuration file holds, it is refused, or
 * what is written of it holds the line.
 *
 * The first byte is the status of HTTP, the rest the body, or the file. */
#include "fuzz/fuzz.h"

#include "cli/doctor_judge.h"
#include "cli/doctor_write.h"
#include "json/json_read.h"
#include "json/json_relax.h"
#include "lib/fixture.h"

static void check_answer(const struct doctor_answer *a)
{
    fuzz_promise(!doctor_is_good(a) || a->is_completion, "what is good has a choice");
    fuzz_promise(a->is_stream || (a->n_chunks == 0 && !a->is_done), "chunks are those of a stream");
    fuzz_promise((a->reasoning_fields != 0) == (a->reasoning.len > 0) || buf_failed(&a->reasoning),
                 "reasoning came in a field");
}

static void judge_all(const struct doctor_answer *a, struct doctor_findings *f)
{
    doctor_judge_stream(a, f);
    doctor_judge_usage(a, a, f);
    doctor_judge_tokens(a, a, f);
    doctor_judge_roles(a, a, a, a, f);
    doctor_judge_tool(a, TEXT_CALLS_DEEPSEEK, f);
    doctor_judge_result(a, a, a, f);
    doctor_judge_parallel(a, a, f);
    doctor_judge_choice(a, a, f);
    doctor_judge_arguments(a, f);
    doctor_judge_schema(a, f);
    doctor_judge_reasoning(a, a, f);
    doctor_judge_effort(a, a, f);
    doctor_judge_vision(a, f);
    doctor_judge_files(a, f);
    doctor_judge_cache(a, a, f);
}

static void check_findings(const struct doctor_findings *f)
{
    fuzz_promise(f->n > 0 && f->n <= DOCTOR_MAX_FINDINGS, "there are findings");
    for (size_t i = 0; i < f->n; i++) {
        const char *detail = f->v[i].detail;

        fuzz_promise((unsigned)f->v[i].id < DOCTOR_FINDINGS, "a finding is one of the table");
        fuzz_promise(strlen(detail) < DOCTOR_DETAIL_BYTES, "a detail is short");
        for (; *detail != '\0'; detail++)
            fuzz_promise(*detail >= ' ' && *detail < 0x7f, "a detail can be shown");
    }
}

static void check_file(str text)
{
    struct buf out = {.limit = 0};

    if (doctor_write_line(text, STR("m a=\"b"), &out)) {
        json_relax(out.p, out.len);
        fuzz_promise(jr_is_valid(buf_str(&out)), "what is written is JSON with comments");
        fuzz_promise(str_find(jr_member(str_trim(buf_str(&out)), STR("model_settings")),
                              STR("\"m a=\\\"b\"")) <
                         jr_member(str_trim(buf_str(&out)), STR("model_settings")).len,
                     "the line is there");
    }
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const int statuses[] = {200, 200, 400, 401, 404, 500, 503, 0};
    const str body = str_skip(fuzz_input(bytes, n), 1);
    char *copy = exact_copy(body);
    struct doctor_findings f = {.n = 0};
    struct doctor_answer a;

    doctor_read(n == 0 ? 0 : statuses[bytes[0] % 8], str_from(copy, body.len), &a);
    check_answer(&a);
    judge_all(&a, &f);
    doctor_judge_slots(str_from(copy, body.len), &f);
    check_findings(&f);
    doctor_answer_fini(&a);
    check_file(str_from(copy, body.len));
    free(copy);
    return 0;
}
