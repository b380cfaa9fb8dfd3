/* announce.c -- the line `listening`, and for the demo a command to try. */
#include "daemon/announce.h"

#include <string.h>

#include "access/api_key.h"
#include "base/listen_spec.h"
#include "daemon/addresses.h"
#include "daemon/server_internal.h"
#include "daemon/upstreams.h"
#include "ev/log.h"
#include "net/listen_address.h"
#include "upstream/upstream_table.h"

static str shown_upstream(const struct server *s)
{
    if (upstreams_are_in_file(s))
        return str_from_c(s->config->upstreams_file);
    return s->demo != NULL ? STR("demo") : s->upstreams->entries[0].base;
}

static void log_listening(const struct server *s)
{
    struct buf addresses = {.limit = 0};

    addresses_show(s, &addresses);
    log_line(LOG_INFO, "listening",
             (struct log_field[]){
                 LOG_STR("address", buf_str(&addresses)), LOG_STR("upstream", shown_upstream(s)),
                 LOG_STR("store", s->store_shown), LOG_INT("workers", s->n_workers), LOG_END});
    buf_fini(&addresses);
    if (s->demo != NULL)
        log_msg(LOG_INFO, "no upstream is configured: the built-in demo model answers");
}

/* Writes how curl is told to go to an address. */
static void write_target(const char *address, bool is_tls, struct buf *out)
{
    const char *scheme = is_tls ? "https://" : "http://";

    if (str_starts_with(str_from_c(address), STR("unix:"))) {
        buf_c(out, "--unix-socket ");
        buf_c(out, address + strlen("unix:"));
        buf_char(out, ' ');
        buf_c(out, scheme);
        buf_c(out, "localhost");
    } else {
        buf_c(out, scheme);
        buf_c(out, address[0] == ':' ? "localhost" : "");
        buf_c(out, address);
    }
}

/* Prints a command to paste: the demo is for people who try things out. Collectors, who want every
 * line to be JSON, are none. */
static void print_curl(const struct server *s)
{
    struct buf text = {.limit = 0};

    buf_c(&text, "\nTry it:\n\n");
    for (size_t i = 0; i < s->n_addresses; i++) {
        if ((s->listeners[i].marks & (LISTEN_METRICS | LISTEN_ADMIN)) != 0)
            continue;
        buf_c(&text, "  curl -N ");
        write_target(listen_address_text(s->addresses[i]),
                     (s->listeners[i].marks & LISTEN_TLS) != 0, &text);
        buf_c(&text, "/v1/responses -H 'Content-Type: application/json' \\\n");
        buf_c(&text, s->keys->n > 0 ? "    -H 'Authorization: Bearer KEY' \\\n" : "");
        buf_c(&text, "    -d '{\"model\":\"demo\",\"input\":\"Hello!\",\"stream\":true}'\n\n");
    }
    log_print(buf_str(&text));
    buf_fini(&text);
}

void announce_listening(const struct server *s)
{
    log_listening(s);
    if (s->demo != NULL && s->config->log_format == CONFIG_LOG_FORMAT_TEXT)
        print_curl(s);
}
