/* doctor_write.c -- finds the place in the text, and writes a new file before it takes the old one's
 * name. */
#include "cli/doctor_write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"
#include "json/json_read.h"
#include "json/json_relax.h"
#include "json/json_text.h"

/* ---- the text */

/* Where something goes in, and what is around it there. */
struct place {
    size_t offset;
    const char *before, *behind;
};

/* In a text that is strict JSON. False when there is no such place. */
static bool find_place(str text, struct place *ret)
{
    const size_t object = str_find_char(text, '{');
    const str list = jr_member(str_trim(text), STR("model_settings"));

    if (!jr_is_valid(text) || jr_type_of(str_trim(text)) != JR_OBJECT)
        return false;
    if (str_is_none(list)) {
        *ret = (struct place){object + 1, "\n  \"model_settings\": [",
                              jr_count(str_trim(text)) == 0 ? "]\n" : "],"};
        return true;
    }
    *ret = (struct place){(size_t)(list.p - text.p) + 1, "", jr_count(list) == 0 ? "" : ", "};
    return jr_type_of(list) == JR_ARRAY;
}

static void write_at(str text, const struct place *p, str line, struct buf *out)
{
    buf_append(out, str_from(text.p, p->offset));
    buf_c(out, p->before);
    buf_char(out, '"');
    json_text_escape(line, out);
    buf_char(out, '"');
    buf_c(out, p->behind);
    buf_append(out, str_skip(text, p->offset));
}

bool doctor_write_line(str text, str line, struct buf *out)
{
    const str old = str_trim(text).len == 0 ? STR("{}\n") : text;
    struct buf strict = {.limit = 0};
    struct place place;
    bool is_found;

    buf_append(&strict, old);
    if (buf_failed(&strict))
        return false;
    json_relax(strict.p, strict.len);
    is_found = find_place(buf_str(&strict), &place);
    buf_fini(&strict);
    if (is_found)
        write_at(old, &place, line, out);
    return is_found && !buf_failed(out);
}

/* ---- the file */

static int fail_with(const char *path, struct err *reterr)
{
    err_set(reterr, ERR_INTERNAL, "%s: %s", path, strerror(errno));
    return -1;
}

/* path with another ending. */
static const char *name_beside(const char *path, const char *ending, struct buf *out)
{
    buf_c(out, path);
    buf_c(out, ending);
    return buf_cstr(out);
}

static int write_text(const char *path, mode_t mode, str text, struct err *reterr)
{
    FILE *f = fopen(path, "we");
    bool is_written;

    if (f == NULL)
        return fail_with(path, reterr);
    is_written = fchmod(fileno(f), mode) == 0 && fwrite(text.p, 1, text.len, f) == text.len &&
                 fflush(f) == 0 && fsync(fileno(f)) == 0;
    if (fclose(f) == 0 && is_written)
        return 0;
    (void)fail_with(path, reterr);
    (void)unlink(path);
    return -1;
}

/* The old text stays beside it; the new one takes its place at once. */
static int replace_file(const char *path, mode_t mode, str old, str text, struct err *reterr)
{
    struct buf backup = {.limit = 0}, fresh = {.limit = 0};
    int rc = 0;

    if (old.len > 0)
        rc = write_text(name_beside(path, ".bak", &backup), mode, old, reterr);
    if (rc == 0)
        rc = write_text(name_beside(path, ".new", &fresh), mode, text, reterr);
    if (rc == 0 && rename(buf_cstr(&fresh), path) == -1)
        rc = fail_with(path, reterr);
    buf_fini(&backup);
    buf_fini(&fresh);
    return rc;
}

int doctor_write_file(const char *path, str line, struct err *reterr)
{
    struct config_problems problems = {.n_kept = 0};
    struct buf old = {.limit = 0}, text = {.limit = 0};
    struct stat st = {.st_mode = 0600};
    int rc = -1;

    if (stat(path, &st) == -1 && errno != ENOENT) {
        (void)fail_with(path, reterr);
    } else if (access(path, F_OK) == 0 && !config_read_file(path, &old, &problems)) {
        err_set(reterr, ERR_INTERNAL, "%s", problems.kept[0].text);
    } else if (!doctor_write_line(buf_str(&old), line, &text)) {
        err_set(reterr, ERR_INTERNAL,
                "%s: it is no object with a list model_settings; add to it %s", path,
                config_quote(line).text);
    } else {
        rc = replace_file(path, st.st_mode & 0777, buf_str(&old), buf_str(&text), reterr);
    }
    config_problems_fini(&problems);
    buf_fini(&old);
    buf_fini(&text);
    return rc;
}
