/* store_upgrade.c -- `antiphon store upgrade`. */
#include "cli/store_upgrade.h"

int store_upgrade(const struct store_conf *conf, struct err *reterr)
{
    struct store_conf migrating = *conf;
    struct store_session *s;

    migrating.tables = STORE_MIGRATES;
    s = store_session_open(&migrating, reterr);
    if (s == NULL)
        return -1;
    store_session_close(s);
    return 0;
}

static void write_usable(const struct store_schema *was, struct buf *out)
{
    buf_c(out, "the tables have version ");
    buf_int(out, was->version);
    if (was->version > was->writes) {
        buf_c(out, ", of a newer program; this one, which writes ");
        buf_int(out, was->writes);
        buf_c(out, ", can use them");
    } else {
        buf_c(out, ", as this program writes it");
    }
    buf_c(out, ": there is nothing to do\n");
}

/* The copy that sql_schema_prepare() makes. */
static void write_copy(const struct store_conf *conf, const struct store_schema *was,
                       struct buf *out)
{
    const str sqlite = STR("sqlite:");

    if (was->version == 0 || !conf->backup || !str_starts_with(str_from_c(conf->url), sqlite))
        return;
    buf_c(out, "; what was there before is ");
    buf_c(out, conf->url + sqlite.len);
    buf_c(out, ".v");
    buf_int(out, was->version);
}

void store_upgrade_report(const struct store_conf *conf, const struct store_schema *was,
                          bool only_checks, struct buf *out)
{
    if (was->is_usable) {
        write_usable(was, out);
        return;
    }
    if (was->version == 0) {
        buf_c(out, only_checks ? "tables of version " : "made tables of version ");
        buf_int(out, was->writes);
        buf_c(out, only_checks ? " would be made\n" : "\n");
        return;
    }
    buf_c(out, "the tables ");
    buf_c(out, only_checks ? "have" : "had");
    buf_c(out, " version ");
    buf_int(out, was->version);
    buf_c(out, only_checks ? " and would be brought to " : " and now have ");
    buf_int(out, was->writes);
    if (!only_checks)
        write_copy(conf, was, out);
    buf_char(out, '\n');
}
