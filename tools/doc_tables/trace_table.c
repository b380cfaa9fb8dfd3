/* trace_table.c -- trace_variable.def: variables of OpenTelemetry. */
#include "base/str.h"
#include "table.h"

static const struct {
    const char *name, *initial, *help;
} variables[] = {
#define VARIABLE(symbol, name, initial, help) {name, initial, help},
#include "trace/export/trace_variable.def"
};

void table_trace_variables(struct buf *out)
{
    buf_c(out, "| Variable | Default | |\n|---|---|---|\n");
    for (size_t i = 0; i < COUNT_OF(variables); i++) {
        buf_c(out, "| `");
        buf_c(out, variables[i].name);
        buf_c(out, variables[i].initial[0] == '\0' ? "` | " : "` | `");
        buf_c(out, variables[i].initial);
        buf_c(out, variables[i].initial[0] == '\0' ? "| " : "` | ");
        buf_c(out, variables[i].help);
        buf_c(out, " |\n");
    }
}
