/* mcp_report.c -- servers and tools as tables. */
#include "cli/mcp_report.h"

#include "cli/mcp_visit.h"
#include "cli/text_table.h"

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

static void add_server(struct text_table *t, const struct mcp_visited *s)
{
    enum mcp_transport transport =
        s->session == NULL ? s->conf->transport : mcp_session_transport(s->session);
    struct buf n_tools = {.limit = 0};

    if (s->tools != NULL)
        buf_uint(&n_tools, s->tools->n);
    text_table_cell(t, s->conf->label);
    text_table_cell(t, str_from_c(mcp_transport_name(transport)));
    text_table_cell(t, s->session == NULL ? STR("")
                                          : mcp_version_name(mcp_session_version(s->session)));
    text_table_cell(t, str_from_c(state_word(s)));
    text_table_cell(t, buf_str(&n_tools));
    text_table_cell(t, mcp_report_error(s));
    text_table_end_row(t);
    buf_fini(&n_tools);
}

void mcp_report_servers(const struct mcp_visit *v, struct buf *out)
{
    static const str heads[] = {STR_INIT("LABEL"), STR_INIT("TRANSPORT"), STR_INIT("VERSION"),
                                STR_INIT("STATE"), STR_INIT("TOOLS"),     STR_INIT("ERROR")};
    struct text_table t = {.n_cells = 0};

    for (size_t i = 0; i < COUNT_OF(heads); i++)
        text_table_cell(&t, heads[i]);
    text_table_end_row(&t);
    for (size_t i = 0; i < mcp_visit_count(v); i++)
        add_server(&t, mcp_visit_server(v, i));
    text_table_write(&t, out);
    text_table_fini(&t);
}

/* ---- tools */

static str first_line(str text)
{
    text = str_trim_start(text);
    return str_trim(str_from(text.p, str_find_char(text, '\n')));
}

void mcp_report_tools(const struct mcp_catalogue *tools, struct buf *out)
{
    struct text_table t = {.n_cells = 0};

    for (size_t i = 0; i < tools->n; i++) {
        text_table_cell(&t, tools->tools[i].name);
        text_table_cell(&t, first_line(tools->tools[i].description));
        text_table_end_row(&t);
    }
    text_table_write(&t, out);
    text_table_fini(&t);
}
