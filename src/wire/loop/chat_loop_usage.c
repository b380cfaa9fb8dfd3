/* chat_loop_usage.c -- add up whatever numbers an upstream counts. */
#include "wire/loop/chat_loop_usage.h"

#include <math.h>
#include <stdio.h>

#include "json/json_copy.h"
#include "json/json_read.h"
#include "wire/loop/chat_loop_member.h"

/* No usage object is larger; looking members up by name would take too long in one. */
enum { MAX_USAGE_BYTES = 16 * 1024 };

/* Prices and seconds are no whole numbers. */
static void write_fraction(double sum, str now, struct jw *w)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%.15g", sum);
    jw_raw(w, isfinite(sum) ? str_from_c(text) : now);
}

static void write_number(str before, str now, struct jw *w)
{
    struct jr a, b;
    int64_t whole_a, whole_b;

    jr_init(&a, before);
    jr_init(&b, now);
    whole_a = jr_int(&a, INT64_MIN);
    whole_b = jr_int(&b, INT64_MIN);
    if (whole_a != INT64_MIN && whole_b != INT64_MIN)
        jw_int(w, whole_a + whole_b); /* each is below 2^53 */
    else
        write_fraction(jr_number_value(before) + jr_number_value(now), now, w);
}

static void write_object(str before, str now, struct jw *w);

static void write_value(str before, str now, struct jw *w)
{
    enum jr_type type = jr_type_of(now);

    if (type == JR_NUMBER && jr_type_of(before) == JR_NUMBER)
        write_number(before, now, w);
    else if (type == JR_OBJECT && jr_type_of(before) == JR_OBJECT)
        write_object(before, now, w);
    else if (type == JR_NULL && !str_is_none(before))
        jw_raw(w, before);
    else
        jw_raw(w, now);
}

/* Depth is bounded by the reader's, which has seen both whole. */
static void write_object(str before, str now, struct jw *w)
{
    struct chat_loop_member member;
    struct jr j;

    jw_object(w);
    jr_init(&j, now);
    (void)jr_enter(&j, JR_OBJECT);
    while (chat_loop_next_member(&j, &member)) {
        json_copy_key(w, member.key);
        write_value(jr_member(before, member.name), member.value, w);
    }
    jr_init(&j, before);
    (void)jr_enter(&j, JR_OBJECT);
    while (chat_loop_next_member(&j, &member)) {
        if (!str_is_none(jr_member(now, member.name)))
            continue;
        json_copy_key(w, member.key);
        jw_raw(w, member.value);
    }
    jw_object_end(w);
}

void chat_loop_usage_write(str before, str now, struct buf *out)
{
    struct jw w = jw_to(out);

    if (before.len == 0 || before.len > MAX_USAGE_BYTES || now.len > MAX_USAGE_BYTES)
        buf_append(out, now);
    else
        write_object(before, now, &w);
}
