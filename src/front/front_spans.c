/* front_spans.c -- attributes of what is passed on, by the names of the conventions for generative AI. */
#include "front/front_spans.h"

#include <stdio.h>

void front_spans_heard(struct flight *f, const struct err *failure)
{
    char text[16];

    (void)snprintf(text, sizeof(text), "%d", f->answer.status);
    flight_spans_round_end(f, f->answer.status >= 400 ? str_from_c(text)
                              : failure == NULL       ? STR_NONE
                                                      : str_from_c(err_wire_code(failure)));
}

void front_spans_end(struct flight *f, int status, const char *outcome, const struct err *e)
{
    const bool is_gone = str_eq(str_from_c(outcome), STR("client_gone"));
    const bool has_failed = e != NULL && !is_gone;

    if (!is_gone)
        front_spans_heard(f, e);
    span_text(flight_span(f), "antiphon.outcome",
              has_failed ? STR("failed")
              : is_gone  ? STR("client_gone")
                         : STR("completed"));
    flight_spans_outcome(f, status,
                         is_gone     ? STR("client_gone")
                         : e != NULL ? str_from_c(err_wire_code(e))
                                     : STR_NONE);
}
