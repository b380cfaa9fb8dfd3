/* model_text.c -- the state of a text that is taken apart. */
#include "wire/chunk/model_text.h"

void model_text_init(struct model_text *m, const struct model_text_conf *conf)
{
    bool is_plain = conf->harmony == MODEL_HARMONY_OFF && conf->think == MODEL_THINK_OFF &&
                    conf->calls == TEXT_CALLS_NONE;

    *m = (struct model_text){.conf = *conf,
                             .state = is_plain ? MODEL_TEXT_PLAIN : MODEL_TEXT_OPENING};
}

void model_text_fini(struct model_text *m)
{
    harmony_fini(&m->harmony);
    think_fini(&m->think);
    text_calls_fini(&m->calls);
    buf_fini(&m->opening);
    buf_fini(&m->plain);
    buf_fini(&m->reasoning);
    buf_fini(&m->text);
    buf_fini(&m->scratch);
}

bool model_text_is_markup(const struct model_text *m)
{
    return m->state == MODEL_TEXT_HARMONY ||
           (m->state == MODEL_TEXT_SPLIT && m->think.state != THINK_START &&
            m->think.state != THINK_NEVER && m->think.state != THINK_OFF);
}

bool model_text_is_cut_off(const struct model_text *m)
{
    return m->state == MODEL_TEXT_HARMONY && m->harmony.is_cut_off;
}

/* All ways to open Harmony begin with one of two bytes, and an escape may stand for them. */
bool model_text_opens_plain(struct model_text *m, str escaped)
{
    if (m->state != MODEL_TEXT_OPENING || m->opening.len > 0 ||
        m->conf.harmony == MODEL_HARMONY_ON || m->conf.think != MODEL_THINK_OFF ||
        m->conf.calls != TEXT_CALLS_NONE || strchr("< \\", escaped.p[0]) != NULL)
        return false;
    m->state = MODEL_TEXT_PLAIN;
    return true;
}
