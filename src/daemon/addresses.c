/* addresses.c -- the elements of `listen`, each with its sockets.
 *
 * Sockets of a service manager stand in place of `listen` when no element of it names one; their names
 * then say by their ends what they are for. */
#include "daemon/addresses.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/listen_spec.h"
#include "base/num.h"
#include "config/config.h"
#include "daemon/server_internal.h"
#include "daemon/tls_listener.h"
#include "net/listen_address.h"

/* ---- what was passed */

static bool is_for_us(const char *pid)
{
    uint64_t n;

    return pid != NULL && num_uint(str_from_c(pid), &n) && n == (uint64_t)getpid();
}

static bool names_descriptor(const struct config_list *listen)
{
    for (size_t i = 0; i < listen->n; i++) {
        const struct listen_spec spec = listen_spec_of(listen->items[i]);

        if (listen_spec_is_descriptor(&spec))
            return true;
    }
    return false;
}

/* Each name once. */
static int listen_to_names(struct server *s, struct err *reterr)
{
    const struct listen_passed_list *passed = &s->passed;

    s->listen = (struct config_list){.items = arena_array(&s->memory, passed->n, sizeof(char *))};
    if (s->listen.items == NULL)
        return err_set_no_memory(reterr);
    for (size_t i = 0; i < passed->n; i++) {
        size_t k = 0;

        while (k < i && strcmp(passed->v[k].address, passed->v[i].address) != 0)
            k++;
        if (k == i)
            s->listen.items[s->listen.n++] = passed->v[i].address;
    }
    if (s->listen.n <= CONFIG_MAX_LISTEN)
        return 0;
    err_set(reterr, ERR_INTERNAL, "LISTEN_FDNAMES: more than %d names", CONFIG_MAX_LISTEN);
    return -1;
}

int addresses_receive(struct server *s, struct err *reterr)
{
    const char *upgrade = getenv(LISTEN_PASSED_VARIABLE), *count = getenv("LISTEN_FDS");

    s->listen = s->config->listen;
    s->passed = (struct listen_passed_list){.report_fd = -1};
    if (upgrade != NULL) {
        if (listen_passed_read_upgrade(upgrade, &s->memory, &s->passed, reterr) == -1)
            return -1;
    } else if (count != NULL && is_for_us(getenv("LISTEN_PID"))) {
        if (listen_passed_read_manager(count, getenv("LISTEN_FDNAMES"), &s->memory, &s->passed,
                                       reterr) == -1)
            return -1;
    }
    if (listen_passed_check(&s->passed, reterr) == -1)
        return -1;
    if (s->passed.n > 0 && str_starts_with(str_from_c(s->passed.v[0].address), STR("fd:")) &&
        !names_descriptor(&s->listen))
        return listen_to_names(s, reterr);
    return 0;
}

static bool is_passed(const struct server *s, const char *address)
{
    for (size_t i = 0; i < s->passed.n; i++) {
        if (strcmp(s->passed.v[i].address, address) == 0)
            return true;
    }
    return false;
}

/* ---- marks */

/* Marks that the name of a descriptor ends in: "api-proxy-tls". */
static unsigned marks_of_name(str name)
{
    unsigned marks = 0;

    for (unsigned i = 0; i < LISTEN_MARKS; i++) {
        str word = str_from_c(listen_spec_word(i));

        if (name.len <= word.len || !str_ends_with(name, word) ||
            name.p[name.len - word.len - 1] != '-')
            continue;
        marks |= 1U << i | marks_of_name(str_from(name.p, name.len - word.len - 1));
    }
    return marks;
}

/* ---- opening */

static int open_address(struct server *s, size_t i, struct err *reterr)
{
    const char *text = s->listen.items[i];
    const struct listen_spec spec = listen_spec_of(text);
    str address = arena_dup(&s->memory, spec.address);

    if (str_is_none(address))
        return err_set_no_memory(reterr);
    s->listeners[i] =
        (struct http_listener){.text = text, .number = (unsigned)i, .marks = spec.marks};
    if (listen_spec_is_descriptor(&spec))
        s->listeners[i].marks |= marks_of_name(address);
    if ((s->listeners[i].marks & LISTEN_TLS) != 0) {
        s->listeners[i].tls = tls_listener_files(s->tls);
        if (s->listeners[i].tls == NULL) {
            err_set(reterr, ERR_INTERNAL, "%s is for TLS; give --tls-cert and --tls-key", text);
            return -1;
        }
    }
    s->addresses[i] = is_passed(s, address.p) ? listen_address_take(address.p, &s->passed, reterr)
                                              : listen_address_open(address.p, reterr);
    return s->addresses[i] == NULL ? -1 : 0;
}

int addresses_open(struct server *s, struct err *reterr)
{
    const size_t n = s->listen.n;

    s->addresses = arena_array(&s->memory, n, sizeof(struct listen_address *));
    s->listeners = arena_array(&s->memory, n, sizeof(*s->listeners));
    if (s->addresses == NULL || s->listeners == NULL)
        return err_set_no_memory(reterr);
    for (; s->n_addresses < n; s->n_addresses++) {
        if (open_address(s, s->n_addresses, reterr) == -1)
            return -1;
    }
    return 0;
}

int addresses_check(struct server *s, struct err *reterr)
{
    for (size_t i = 0; i < s->listen.n; i++) {
        str address = arena_dup(&s->memory, listen_spec_of(s->listen.items[i]).address);
        struct listen_address *opened;

        if (str_is_none(address))
            return err_set_no_memory(reterr);
        if (is_passed(s, address.p))
            continue;
        opened = listen_address_open(address.p, reterr);
        if (opened == NULL)
            return -1;
        listen_address_close(opened);
    }
    return 0;
}

void addresses_close(struct server *s)
{
    while (s->n_addresses > 0)
        listen_address_close(s->addresses[--s->n_addresses]);
}

void addresses_leave(struct server *s)
{
    for (size_t i = 0; i < s->n_addresses; i++)
        listen_address_leave(s->addresses[i]);
}

void addresses_show(const struct server *s, struct buf *out)
{
    for (size_t i = 0; i < s->n_addresses; i++) {
        buf_c(out, i == 0 ? "" : ",");
        buf_c(out, listen_address_text(s->addresses[i]));
        listen_spec_write_marks(s->listeners[i].marks, out);
    }
}
