/* doctor_table.c -- doctor_check.def and doctor_finding.def, as tables of docs/doctor.md. */
#include "cli/doctor_judge.h"
#include "table.h"

static const struct {
    const char *id, *what;
    bool is_quick;
} checks[] = {
#define CHECK(symbol, id, is_quick, what) {id, what, is_quick},
#include "cli/doctor_check.def"
};

void table_doctor_checks(struct buf *out)
{
    buf_c(out, "| Check | Question | `--quick` |\n|---|---|---|\n");
    for (size_t i = 0; i < COUNT_OF(checks); i++) {
        buf_c(out, "| `");
        buf_c(out, checks[i].id);
        buf_c(out, "` | ");
        buf_c(out, checks[i].what);
        buf_c(out, checks[i].is_quick ? " | yes |\n" : " | |\n");
    }
}

static void write_finding(const struct doctor_finding_row *row, struct buf *out)
{
    buf_c(out, "| `");
    buf_c(out, checks[row->check].id);
    buf_c(out, row->status == DOCTOR_SET ? "` | set | " : "` | bad | ");
    buf_c(out, row->says);
    buf_c(out, row->says[strlen(row->says) - 1] == ':' ? " ... | " : " | ");
    buf_c(out, row->why);
    buf_c(out, row->setting[0] == '\0' ? " | |\n" : " | `");
    buf_c(out, row->setting);
    buf_c(out, row->setting[0] == '\0' ? "" : "` |\n");
}

/* What is well needs no advice. */
void table_doctor_findings(struct buf *out)
{
    buf_c(out, "| Check | | What is found | What happens without help | Setting |\n"
               "|---|---|---|---|---|\n");
    for (int i = 0; i < DOCTOR_FINDINGS; i++) {
        const struct doctor_finding_row *row = doctor_finding_row((enum doctor_finding_id)i);

        if (row->status == DOCTOR_SET || row->status == DOCTOR_BAD)
            write_finding(row, out);
    }
}
