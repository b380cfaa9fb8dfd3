/* store_dump.c -- writes a line for whatever the store has. */
#include "cli/store_dump.h"

#include <errno.h>

#include "front/state_conversations.h"
#include "json/json_write.h"
#include "store/store.h"

struct dump {
    FILE *to;
    struct buf line;
    int error; /* errno of the first write that failed, or 0 */
};

static int write_line(struct dump *d)
{
    buf_char(&d->line, '\n');
    if (buf_failed(&d->line))
        d->error = ENOMEM;
    else if (fwrite(d->line.p, 1, d->line.len, d->to) != d->line.len)
        d->error = errno;
    return d->error == 0 ? 0 : -1;
}

static struct jw begin_line(struct dump *d, str owner)
{
    struct jw w = jw_to(&d->line);

    buf_reset(&d->line);
    jw_object(&w);
    jw_key_string(&w, "owner", owner);
    return w;
}

enum which { REQUEST, OUTPUT, ALL };

static bool item_belongs(const struct store_item *item, enum which which)
{
    return !item->is_hidden && (which == ALL || item->is_output == (which == OUTPUT));
}

static void write_items(struct jw *w, const struct store_items *items, enum which which)
{
    for (size_t i = 0; i < items->n; i++) {
        if (item_belongs(&items->v[i], which))
            jw_raw(w, items->v[i].body);
    }
}

/* The output of a response stands between the head and the tail that are stored of its object. */
static void write_response(struct jw *w, const struct store_response *r)
{
    struct jw items = jw_to(w->out);

    jw_key_raw(w, "response", r->head);
    write_items(&items, &r->items, OUTPUT);
    buf_append(w->out, r->tail);
}

static int on_response(void *arg, str owner, const struct store_response *r)
{
    struct dump *d = arg;
    struct jw w = begin_line(d, owner);

    write_response(&w, r);
    jw_key(&w, "input");
    jw_array(&w);
    write_items(&w, &r->items, REQUEST);
    jw_array_end(&w);
    jw_object_end(&w);
    return write_line(d);
}

static int on_conversation(void *arg, str owner, const struct store_conversation *c,
                           const struct store_items *items)
{
    struct dump *d = arg;
    struct jw w = begin_line(d, owner);

    jw_key(&w, "conversation");
    state_conversation_write(c, &w);
    jw_key(&w, "items");
    jw_array(&w);
    write_items(&w, items, ALL);
    jw_array_end(&w);
    jw_object_end(&w);
    return write_line(d);
}

int store_dump(struct store_session *s, FILE *to, struct err *reterr)
{
    struct dump d = {.to = to};
    const struct store_exporter exporter = {
        .on_response = on_response, .on_conversation = on_conversation, .arg = &d};
    int rc = store_export(s, &exporter, reterr);

    buf_fini(&d.line);
    if (rc == 0 && fflush(to) == EOF)
        d.error = errno;
    if (d.error == 0)
        return rc;
    err_set(reterr, ERR_INTERNAL, "cannot write what was found: %s", strerror(d.error));
    return -1;
}
