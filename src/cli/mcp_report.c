/* mcp_report.c -- servers and tools as tables.
 *
 * What servers say goes to a terminal, which would obey control characters; a table has
 * none, and other texts have the ends of their lines. */
#include "cli/mcp_report.h"

#include <stdio.h>

#include "base/utf8.h"
#include "cli/mcp_visit.h"

enum { COLUMNS = 6, GAP = 2 };

static void append_visible(str s, bool keeps_lines, struct buf *out)
{
    while (s.len > 0) {
        size_t n = utf8_char(s);
        bool is_shown = n > 0 && !utf8_is_control(s);

        if (is_shown || (keeps_lines && s.p[0] == '\n'))
            buf_append(out, str_from(s.p, n));
        else
            buf_char(out, ' ');
        s = str_skip(s, n > 0 ? n : 1);
    }
}

void mcp_report_words(str text, struct buf *out)
{
    append_visible(text, true, out);
}

/* The last cell is as long as it is, the others are padded. */
static void append_row(const str *cells, const size_t *widths, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++) {
        append_visible(cells[i], false, out);
        for (size_t k = utf8_count(cells[i]); i + 1 < n && k < widths[i] + GAP; k++)
            buf_char(out, ' ');
    }
    while (out->len > 0 && out->p[out->len - 1] == ' ')
        out->len--;
    buf_char(out, '\n');
}

/* ---- servers */

str mcp_report_error(const struct mcp_visited *s)
{
    if (s->conf->problem != NULL)
        return str_from_c(s->conf->problem);
    return s->session == NULL ? STR("") : mcp_session_error(s->session);
}

static const char *state_word(const struct mcp_visited *s)
{
    if (s->session != NULL)
        return mcp_state_name(mcp_session_state(s->session));
    return s->conf->problem != NULL ? "off" : "disabled";
}

struct row {
    str cells[COLUMNS];
    char number[24];
};

static void fill_row(const struct mcp_visited *s, struct row *row)
{
    enum mcp_transport transport =
        s->session == NULL ? s->conf->transport : mcp_session_transport(s->session);

    row->number[0] = '\0';
    if (s->tools != NULL)
        (void)snprintf(row->number, sizeof(row->number), "%zu", s->tools->n);
    row->cells[0] = s->conf->label;
    row->cells[1] = str_from_c(mcp_transport_name(transport));
    row->cells[2] =
        s->session == NULL ? STR("") : mcp_version_name(mcp_session_version(s->session));
    row->cells[3] = str_from_c(state_word(s));
    row->cells[4] = str_from_c(row->number);
    row->cells[5] = mcp_report_error(s);
}

static void widen_columns(size_t *widths, const struct row *row)
{
    for (size_t i = 0; i < COLUMNS; i++) {
        size_t n = utf8_count(row->cells[i]);

        if (n > widths[i])
            widths[i] = n;
    }
}

void mcp_report_servers(const struct mcp_visit *v, struct buf *out)
{
    struct row row = {.cells = {STR_INIT("LABEL"), STR_INIT("TRANSPORT"), STR_INIT("VERSION"),
                                STR_INIT("STATE"), STR_INIT("TOOLS"), STR_INIT("ERROR")}};
    const struct row head = row;
    size_t widths[COLUMNS] = {0};

    widen_columns(widths, &head);
    for (size_t i = 0; i < mcp_visit_count(v); i++) {
        fill_row(mcp_visit_server(v, i), &row);
        widen_columns(widths, &row);
    }
    append_row(head.cells, widths, COLUMNS, out);
    for (size_t i = 0; i < mcp_visit_count(v); i++) {
        fill_row(mcp_visit_server(v, i), &row);
        append_row(row.cells, widths, COLUMNS, out);
    }
}

/* ---- tools */

static str first_line(str text)
{
    text = str_trim_start(text);
    return str_trim(str_from(text.p, str_find_char(text, '\n')));
}

void mcp_report_tools(const struct mcp_catalogue *tools, struct buf *out)
{
    size_t widest = 0;

    for (size_t i = 0; i < tools->n; i++) {
        size_t n = utf8_count(tools->tools[i].name);

        if (n > widest)
            widest = n;
    }
    for (size_t i = 0; i < tools->n; i++) {
        const str cells[] = {tools->tools[i].name, first_line(tools->tools[i].description)};

        append_row(cells, &widest, 2, out);
    }
}
