/* log_table.c -- turn_line.def, audit_what.def, reject_reason.def and history_repair.def: what the log says. */
#include "table.h"

static const struct {
    const char *name, *kind, *help;
} turn_fields[] = {
#define TURN_FIELD(name, kind, help) {#name, #kind, help},
#include "turn/turn_line.def"
};

static const struct {
    const char *method, *route, *what;
} whats[] = {
#define AUDIT_WHAT(method, route, what) {method, route, what},
#include "front/audit_what.def"
};

static const struct {
    const char *name, *what;
} repairs[] = {
#define HISTORY_REPAIR(symbol, name, what) {name, what},
#include "conv/history_repair.def"
};

static const struct {
    const char *word, *meaning;
} reasons[] = {
#define REJECT_REASON(symbol, word, meaning) {word, meaning},
#include "ev/reject_reason.def"
};

enum {
    N_REASONS = sizeof(reasons) / sizeof(*reasons),
    N_TURN_FIELDS = sizeof(turn_fields) / sizeof(*turn_fields),
    N_WHATS = sizeof(whats) / sizeof(*whats),
    N_REPAIRS = sizeof(repairs) / sizeof(*repairs),
};

static const char *form_of(const char *kind)
{
    if (strcmp(kind, "FLAG") == 0)
        return "true";
    return strcmp(kind, "NUMBER") == 0 || strcmp(kind, "COUNT") == 0 ? "number" : "text";
}

void table_turn_line(struct buf *out)
{
    buf_c(out, "| Field | Form | Meaning |\n|---|---|---|\n");
    for (int i = 0; i < N_TURN_FIELDS; i++) {
        buf_c(out, "| `");
        buf_c(out, turn_fields[i].name);
        buf_c(out, "` | ");
        buf_c(out, form_of(turn_fields[i].kind));
        buf_c(out, " | ");
        buf_c(out, turn_fields[i].help);
        buf_c(out, " |\n");
    }
}

void table_audit(struct buf *out)
{
    buf_c(out, "| `what` | Request |\n|---|---|\n");
    for (int i = 0; i < N_WHATS; i++) {
        buf_c(out, "| `");
        buf_c(out, whats[i].what);
        buf_c(out, "` | ");
        buf_c(out, whats[i].method);
        buf_c(out, " `");
        buf_c(out, whats[i].route);
        buf_c(out, "` |\n");
    }
}

static void write_word(const char *word, const char *meaning, struct buf *out)
{
    buf_c(out, "| `");
    buf_c(out, word);
    buf_c(out, "` | ");
    buf_c(out, meaning);
    buf_c(out, " |\n");
}

void table_history_repairs(struct buf *out)
{
    buf_c(out, "| Field | Counts |\n|---|---|\n");
    for (int i = 0; i < N_REPAIRS; i++)
        write_word(repairs[i].name, repairs[i].what, out);
}

void table_reject_reasons(struct buf *out)
{
    buf_c(out, "| `reason` | |\n|---|---|\n");
    for (int i = 0; i < N_REASONS; i++)
        write_word(reasons[i].word, reasons[i].meaning, out);
}
