/* compact_question.c -- a template of four slots, filled in one walk. */
#include "compact/compact_question.h"

#include "base/utf8.h"

static const str own_prompt = STR_INIT(
    "Everything above is about to be replaced by a summary that you write now. Whoever goes on from "
    "here, most\n"
    "likely you, will see only the system message, the tools, {kept} and this summary; everything "
    "else is lost.\n"
    "\n"
    "Write it in the user's language. Be exact and complete rather than short; at most about {words} "
    "words. Call\n"
    "no tools, do not address anybody, invent nothing. Use these headings and leave out those with "
    "nothing to say:\n"
    "\n"
    "Goal: what the user wants in the end, with every constraint, preference and correction that "
    "still holds.\n"
    "Done: what is finished, in order, with results: decisions and why, files made or changed with "
    "full paths,\n"
    "commands run and what they showed, facts found and where.\n"
    "State: what is true now: identifiers, values, versions, test results, running things. Quote "
    "literally what a\n"
    "paraphrase would spoil: error messages, signatures, short code, numbers, addresses.\n"
    "Failed: what was tried without success and why, so that nobody tries it again.\n"
    "Open: questions, doubts, things owed to the user.\n"
    "Next: the very next step, then the ones after it.\n"
    "{earlier}{extra}");

/* ---- slots */

static void write_kept(const struct compact_question *q, struct buf *out)
{
    const char *whose = q->keeps_tail ? "the last " : "the user's last ";

    if (!q->keeps_tail && q->keeps_all) {
        buf_c(out, "the user's messages");
    } else if (q->n_kept <= 1) {
        buf_c(out, q->n_kept == 0 ? "no message" : whose);
        buf_c(out, q->n_kept == 0 ? "" : "message");
    } else {
        buf_c(out, whose);
        buf_uint(out, q->n_kept);
        buf_c(out, " messages");
    }
}

static void write_words(const struct compact_question *q, struct buf *out)
{
    buf_int(out, q->max_tokens / 2);
}

static void write_earlier(const struct compact_question *q, struct buf *out)
{
    if (q->has_earlier)
        buf_c(out, "An earlier summary is part of the above: carry over from it whatever still "
                   "holds.\n");
}

static void write_extra(const struct compact_question *q, struct buf *out)
{
    if (!str_is_none(q->note))
        buf_append(out, q->note);
}

static const struct slot {
    str name;
    void (*write)(const struct compact_question *q, struct buf *out);
} slots[] = {
    {STR_INIT("{kept}"), write_kept},
    {STR_INIT("{words}"), write_words},
    {STR_INIT("{earlier}"), write_earlier},
    {STR_INIT("{extra}"), write_extra},
};

/* The slot that the text begins with, or NULL. */
static const struct slot *find_slot(str text)
{
    for (size_t i = 0; i < COUNT_OF(slots); i++) {
        if (str_starts_with(text, slots[i].name))
            return &slots[i];
    }
    return NULL;
}

/* ---- the text */

static void trim_end(struct buf *out, size_t start)
{
    while (!buf_failed(out) && out->len > start && str_is_space(out->p[out->len - 1]))
        out->len--;
}

void compact_question_write(const struct compact_question *q, struct buf *out)
{
    const size_t start = out->len;
    str rest = str_is_none(q->prompt) ? own_prompt : q->prompt;

    while (rest.len > 0) {
        const size_t text = str_find_char(rest, '{');
        const struct slot *slot;

        buf_append(out, str_from(rest.p, text));
        rest = str_skip(rest, text);
        slot = find_slot(rest);
        if (slot != NULL)
            slot->write(q, out);
        else
            buf_append(out, str_from(rest.p, rest.len > 0));
        rest = str_skip(rest, slot != NULL ? slot->name.len : 1);
    }
    trim_end(out, start);
}

int compact_prompt_check(str prompt, struct err *reterr)
{
    size_t n = prompt.len;

    while (n > 0 && str_is_space(prompt.p[n - 1]))
        n--;
    if (n == 0)
        err_set(reterr, ERR_INVALID_VALUE, "is empty: write into it how to ask for a summary");
    else if (prompt.len > COMPACT_MAX_PROMPT_BYTES)
        err_set(reterr, ERR_INVALID_VALUE, "has more than %d bytes: make it shorter",
                COMPACT_MAX_PROMPT_BYTES);
    else if (!utf8_is_valid(prompt))
        err_set(reterr, ERR_INVALID_VALUE, "is not UTF-8: save it in that encoding");
    else
        return 0;
    return -1;
}

/* ---- how long */

enum {
    LEAST_SUMMARY = 1024,
    MOST_SUMMARY = 8192,
    USUAL_SUMMARY = 4096,
    MOST_KEPT = 64000,
    USUAL_KEPT = 8192,
};

static int64_t within(int64_t n, int64_t least, int64_t most)
{
    if (n < least)
        return least;
    return n > most ? most : n;
}

int64_t compact_summary_tokens(int64_t configured, int64_t window, int64_t max_output_tokens)
{
    int64_t n = configured;

    if (n == 0)
        n = window > 0 ? within(window / 8, LEAST_SUMMARY, MOST_SUMMARY) : USUAL_SUMMARY;
    return max_output_tokens > 0 && max_output_tokens < n ? max_output_tokens : n;
}

int64_t compact_keep_tokens(int64_t configured, int64_t window)
{
    if (configured > 0)
        return configured;
    return window > 0 ? within(window / 4, 0, MOST_KEPT) : USUAL_KEPT;
}
