/* fuzz_egress.c -- any bytes from a sandbox to its proxy: what is taken says one host, and
 * what is sent on says the same one again. */
#include "fuzz/fuzz.h"

#include "lib/fixture.h"
#include "sandbox/egress_head.h"
#include "sandbox/egress_policy.h"

static const struct egress_policy policy = {.mode = EGRESS_PUBLIC};

static unsigned count_lines(str text)
{
    unsigned n = 0;

    for (size_t i = 0; i < text.len; i++)
        n += text.p[i] == '\n' ||
             (text.p[i] == '\r' && (i + 1 == text.len || text.p[i + 1] != '\n'));
    return n;
}

/* The request for the server as one to a proxy again. */
static void check_written(const struct egress_head *head)
{
    struct buf out = {0}, again = {0};
    struct egress_head second;
    size_t origin;

    egress_head_write(head, &out);
    fuzz_promise(egress_head_length(buf_str(&out)) == out.len, "one head is written, and no more");
    fuzz_promise(count_lines(buf_str(&out)) <= count_lines(head->fields) + 4,
                 "no field has become two");
    buf_append(&again, head->method);
    buf_c(&again, " http://");
    buf_append(&again, head->authority);
    origin = head->method.len + 1;
    buf_append(&again, str_skip(buf_str(&out), origin));
    fuzz_promise(egress_head_read(buf_str(&again), &second) == NULL,
                 "what was written can be read");
    fuzz_promise(str_eq(second.host, head->host) && second.port == head->port &&
                     second.body_bytes == head->body_bytes,
                 "and says the same");
    buf_fini(&again);
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    str text = fuzz_input(bytes, n);
    size_t length = egress_head_length(text);
    struct egress_head head;
    char *copy;

    if (length == 0)
        return 0;
    copy = exact_copy(str_from(text.p, length));
    if (egress_head_read(str_from(copy, length), &head) == NULL) {
        bool is_host = egress_check_host(&policy, head.host) == NULL;

        fuzz_promise(head.host.len > 0 && head.port > 0, "a request has a goal");
        fuzz_promise(!is_host || str_is_one_line(head.host), "a host is one line");
        if (!head.is_connect)
            check_written(&head);
    }
    free(copy);
    return 0;
}
