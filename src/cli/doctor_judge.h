/* doctor_judge.h -- what follows from what a server has said: findings (doctor_finding.def). Pure. */
#ifndef ANTIPHON_CLI_DOCTOR_JUDGE_H
#define ANTIPHON_CLI_DOCTOR_JUDGE_H

#include "cli/doctor_read.h"
#include "text/text_calls.h"

enum doctor_check {
#define CHECK(symbol, id, is_quick, what) DOCTOR_CHECK_##symbol,
#include "cli/doctor_check.def"
    DOCTOR_CHECKS
};

enum doctor_finding_id {
#define FINDING(symbol, check, status, setting, says, why) DOCTOR_FOUND_##symbol,
#include "cli/doctor_finding.def"
    DOCTOR_FINDINGS
};

/* From good to bad; SKIP is neither. */
enum doctor_status { DOCTOR_SKIP, DOCTOR_OK, DOCTOR_SET, DOCTOR_BAD };

struct doctor_finding_row {
    enum doctor_check check;
    enum doctor_status status;
    const char *setting, *says, *why;
};

const struct doctor_finding_row *doctor_finding_row(enum doctor_finding_id id);

enum { DOCTOR_DETAIL_BYTES = 160, DOCTOR_MAX_FINDINGS = 48 };

struct doctor_finding {
    enum doctor_finding_id id;
    char detail[DOCTOR_DETAIL_BYTES]; /* one line, perhaps "" */
};

struct doctor_findings {
    struct doctor_finding v[DOCTOR_MAX_FINDINGS];
    size_t n;
};

/* Adds one; a detail is cut, and what is no visible character becomes a space. STR_NONE: none. */
void doctor_find(struct doctor_findings *f, enum doctor_finding_id id, str detail);

/* Each adds what follows from the answers. An answer that is NULL was not asked for. */
void doctor_judge_stream(const struct doctor_answer *a, struct doctor_findings *f);

/* with: include_usage was asked for; without: the same without, asked when that was refused. */
void doctor_judge_usage(const struct doctor_answer *with, const struct doctor_answer *without,
                        struct doctor_findings *f);
void doctor_judge_tokens(const struct doctor_answer *max_tokens,
                         const struct doctor_answer *max_completion, struct doctor_findings *f);
void doctor_judge_roles(const struct doctor_answer *system, const struct doctor_answer *developer,
                        const struct doctor_answer *late, const struct doctor_answer *two_users,
                        struct doctor_findings *f);

/* preferred: the form that is tried first. */
void doctor_judge_tool(const struct doctor_answer *a, enum text_call_format preferred,
                       struct doctor_findings *f);
void doctor_judge_result(const struct doctor_answer *a, const struct doctor_answer *short_id,
                         const struct doctor_answer *empty, struct doctor_findings *f);
void doctor_judge_parallel(const struct doctor_answer *merged, const struct doctor_answer *single,
                           struct doctor_findings *f);
void doctor_judge_choice(const struct doctor_answer *required, const struct doctor_answer *named,
                         struct doctor_findings *f);
void doctor_judge_arguments(const struct doctor_answer *a, struct doctor_findings *f);
void doctor_judge_schema(const struct doctor_answer *a, struct doctor_findings *f);
void doctor_judge_reasoning(const struct doctor_answer *riddle, const struct doctor_answer *back,
                            struct doctor_findings *f);
void doctor_judge_effort(const struct doctor_answer *riddle, const struct doctor_answer *off,
                         struct doctor_findings *f);
void doctor_judge_vision(const struct doctor_answer *a, struct doctor_findings *f);
void doctor_judge_files(const struct doctor_answer *a, struct doctor_findings *f);
void doctor_judge_cache(const struct doctor_answer *first, const struct doctor_answer *second,
                        struct doctor_findings *f);

/* props: the body of llama.cpp's /props, or STR_NONE. */
void doctor_judge_slots(str props, struct doctor_findings *f);

/* Is thinking in the answer, in whatever form? */
bool doctor_thinks(const struct doctor_answer *a);

#endif
