/* sandbox_message.c -- lines of JSON to a sandbox and from it.
 *
 * A line is passed over once, which checks all of it (UTF-8 as well) and notes where its members
 * are. Only those that the question asked for are looked at then. */
#include "sandbox/sandbox_message.h"

#include "base/base64.h"
#include "base/utf8.h"
#include "ev/sha256.h"
#include "json/json_text.h"
#include "json/json_write.h"

size_t sandbox_answer_bytes(enum sandbox_op op, const struct sandbox_limits *limits)
{
    enum { FILES_BYTES = 4 << 20, BESIDES_BYTES = 1 << 10 };

    if (op == SANDBOX_RUN)
        return 12 * limits->output_bytes + 6 * limits->image_bytes + FILES_BYTES;
    return op == SANDBOX_LIST_FILES ? FILES_BYTES : limits->file_bytes / 3 * 4 + BESIDES_BYTES;
}

/* ---- what is said */

void sandbox_write_arguments(const struct sandbox_arguments *arguments, struct buf *out)
{
    struct jw w = jw_to(out);

    jw_object(&w);
    jw_key_int(&w, "memory_bytes", (int64_t)arguments->memory_bytes);
    jw_key_int(&w, "processes", arguments->processes);
    jw_key_int(&w, "file_bytes", (int64_t)arguments->file_bytes);
    jw_key_int(&w, "output_bytes", (int64_t)arguments->output_bytes);
    jw_key_int(&w, "image_bytes", (int64_t)arguments->image_bytes);
    jw_key_string(&w, "egress", str_from_c(arguments->egress_socket));
    jw_object_end(&w);
}

static struct jw open_question(uint64_t id, str op, struct buf *out)
{
    struct jw w = jw_to(out);

    jw_object(&w);
    if (id != 0)
        jw_key_int(&w, "id", (int64_t)id);
    jw_key_string(&w, "op", op);
    return w;
}

void sandbox_write_run(uint64_t id, str code, struct buf *out)
{
    struct jw w = open_question(id, STR("run"), out);

    jw_key_string(&w, "code", code);
    jw_object_end(&w);
}

void sandbox_write_files(uint64_t id, struct buf *out)
{
    struct jw w = open_question(id, STR("files"), out);

    jw_object_end(&w);
}

void sandbox_write_read(uint64_t id, str path, size_t max_bytes, struct buf *out)
{
    struct jw w = open_question(id, STR("read"), out);

    jw_key_string(&w, "path", path);
    jw_key_int(&w, "max_bytes", (int64_t)max_bytes);
    jw_object_end(&w);
}

void sandbox_write_interrupt(struct buf *out)
{
    struct jw w = open_question(0, STR("interrupt"), out);

    jw_object_end(&w);
}

/* ---- what is heard */

static void read_member(struct jr *j, str key, struct sandbox_message *m)
{
    const struct {
        str key;
        str *to;
        bool is_raw;
    } texts[] = {
        {STR_INIT("logs"), &m->logs, false},    {STR_INIT("value"), &m->value, false},
        {STR_INIT("error"), &m->error, false},  {STR_INIT("base64"), &m->base64, false},
        {STR_INIT("images"), &m->images, true}, {STR_INIT("files"), &m->files, true},
    };

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        if (str_eq(key, texts[i].key)) {
            *texts[i].to = texts[i].is_raw ? jr_raw(j) : jr_string(j);
            return;
        }
    }
    if (str_eq(key, STR("ready"))) {
        m->python = jr_member_string(jr_raw(j), STR("python"));
        return;
    }
    if (str_eq(key, STR("raised")))
        m->raised = jr_peek(j);
    jr_skip(j);
}

int sandbox_message_read(str line, struct sandbox_message *ret)
{
    struct jr j;
    int64_t id = 0;
    str key;

    *ret = (struct sandbox_message){.id = 0};
    jr_init(&j, line);
    if (jr_enter(&j, JR_OBJECT)) {
        while (jr_next_member(&j, &key)) {
            if (str_eq(key, STR("id")))
                id = jr_int(&j, -1);
            else
                read_member(&j, key, ret);
        }
    }
    if (!jr_end(&j) || id < 0 || (id == 0) == str_is_none(ret->python))
        return -1;
    ret->id = (uint64_t)id;
    return 0;
}

/* Decodes a text, without NUL, which some stores and terminals do not take, and cuts it. */
static str read_text(str escaped, size_t limit_bytes, struct arena *a)
{
    str plain = json_text_copy(a, escaped);
    char *p;
    size_t n = 0;

    if (str_is_none(plain))
        return plain;
    plain.len = utf8_cut(plain, limit_bytes);
    if (memchr(plain.p, '\0', plain.len) == NULL)
        return plain;
    p = arena_alloc(a, plain.len);
    for (size_t i = 0; p != NULL && i < plain.len; i++) {
        if (plain.p[i] != '\0')
            p[n++] = plain.p[i];
    }
    return p == NULL ? STR_NONE : str_from(p, n);
}

/* ---- files */

static bool part_is_fine(str part)
{
    return part.len > 0 && !str_eq(part, STR(".")) && !str_eq(part, STR(".."));
}

bool sandbox_path_is_fine(str path)
{
    if (path.len == 0 || path.len > SANDBOX_PATH_BYTES || path.p[path.len - 1] == '/')
        return false;
    for (str rest = path; rest.len > 0;) {
        size_t n = utf8_char(rest);

        if (n == 0 || utf8_is_control(rest))
            return false;
        rest = str_skip(rest, n);
    }
    for (str rest = path; rest.len > 0;) {
        str part = str_from(rest.p, str_find_char(rest, '/'));

        if (!part_is_fine(part))
            return false;
        rest = str_skip(rest, part.len + 1);
    }
    return true;
}

#define ROOT JAIL_WORK_DIRECTORY "/"

str sandbox_path_relative(str absolute)
{
    return str_skip(absolute, sizeof(ROOT) - 1);
}

/* The path below the work directory in the arena; STR_NONE when out of memory. */
static str path_absolute(str path, struct arena *a)
{
    struct buf whole = {.limit = 0};
    str copy;

    buf_c(&whole, ROOT);
    buf_append(&whole, path);
    copy = buf_failed(&whole) ? STR_NONE : arena_dup(a, buf_str(&whole));
    buf_fini(&whole);
    return copy;
}

str sandbox_file_id(str container_id, str path, struct arena *a)
{
    enum { USED_BYTES = 16 }; /* of the hash: who finds two that are the same has made both files */
    unsigned char hash[SHA256_BYTES];
    struct buf text = {.limit = 0};
    str id = STR_NONE;

    buf_append(&text, container_id);
    buf_char(&text, '\0');
    buf_append(&text, path);
    if (!buf_failed(&text) && sha256(buf_str(&text), hash)) {
        buf_reset(&text);
        buf_c(&text, "cfile_");
        buf_hex(&text, hash, USED_BYTES);
        id = buf_failed(&text) ? STR_NONE : arena_dup(a, buf_str(&text));
    }
    buf_fini(&text);
    return id;
}

/* The path in the arena; "" when there is none that may be one; STR_NONE when out of memory. */
static str read_path(str escaped, struct arena *a)
{
    str path;

    if (str_is_none(escaped))
        return STR("");
    path = json_text_copy(a, escaped);
    return str_is_none(path) || sandbox_path_is_fine(path) ? path : STR("");
}

/* Reads a file. Returns 1, 0 when it is to be left out, or -1 when out of memory. */
static int read_file(str raw, str container_id, struct arena *a, struct sandbox_file *ret)
{
    str path = read_path(jr_member_string(raw, STR("path")), a);
    int64_t bytes = jr_member_int(raw, STR("bytes"), -1);
    int64_t modified_at = jr_member_int(raw, STR("modified_at"), -1);

    if (str_is_none(path))
        return -1;
    if (path.len == 0 || bytes < 0)
        return 0;
    *ret = (struct sandbox_file){.id = sandbox_file_id(container_id, path, a),
                                 .path = path_absolute(path, a),
                                 .bytes = (uint64_t)bytes,
                                 .modified_at = modified_at < 0 ? 0 : modified_at};
    return str_is_none(ret->id) || str_is_none(ret->path) ? -1 : 1;
}

static size_t at_most(size_t n, size_t limit)
{
    return n < limit ? n : limit;
}

int sandbox_read_files(const struct sandbox_message *m, str container_id, struct arena *a,
                       struct sandbox_outcome *ret)
{
    size_t n = at_most(jr_count(m->files), SANDBOX_MAX_FILES);
    struct sandbox_file *files = arena_array(a, n, sizeof(*files));
    struct jr j;

    if (files == NULL || jr_type_of(m->files) != JR_ARRAY)
        return -1;
    ret->files = files;
    ret->n_files = 0;
    jr_init(&j, m->files);
    for (bool more = jr_enter(&j, JR_ARRAY); more && n > 0 && jr_next_element(&j); n--) {
        int rc = read_file(jr_raw(&j), container_id, a, &files[ret->n_files]);

        if (rc == -1)
            return -1;
        ret->n_files += (size_t)rc;
    }
    return 0;
}

/* ---- images */

/* Returns the type if it is one that clients show and models see. */
static str known_mime(str escaped)
{
    static const str known[] = {
        STR_INIT("image/png"),
        STR_INIT("image/jpeg"),
        STR_INIT("image/gif"),
        STR_INIT("image/webp"),
    };

    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (str_eq(escaped, known[i]))
            return known[i];
    }
    return STR_NONE;
}

/* The bytes of base64 in the arena; STR_NONE when it is none, or when out of memory. */
static str decode_base64(str escaped, struct arena *a)
{
    str letters = base64_unpadded(json_text_dup(a, escaped));
    size_t n = base64url_bytes(letters.len);
    char *bytes = arena_alloc(a, n + 1);

    if (str_is_none(letters) || bytes == NULL || !base64_read(letters, bytes))
        return STR_NONE;
    return str_from(bytes, n);
}

static bool is_base64(str letters)
{
    struct arena a = {.limit = 0};
    bool is_it = !str_is_none(decode_base64(letters, &a));

    arena_fini(&a);
    return is_it;
}

/* Reads an image. Returns 1, 0 when it is to be left out, or -1 when out of memory. */
static int read_image(str raw, size_t limit_bytes, struct arena *a, struct sandbox_image *ret)
{
    str letters = jr_member_string(raw, STR("base64")), path;

    ret->mime = known_mime(jr_member_string(raw, STR("mime")));
    if (str_is_none(ret->mime) || letters.len == 0 ||
        base64url_bytes(letters.len) > limit_bytes + 2 || !is_base64(letters))
        return 0;
    path = read_path(jr_member_string(raw, STR("path")), a);
    ret->path = path.len == 0 ? path : path_absolute(path, a);
    ret->base64 = json_text_copy(a, letters);
    return str_is_none(ret->path) || str_is_none(ret->base64) ? -1 : 1;
}

static int read_images(str raw, size_t limit_bytes, struct arena *a, struct sandbox_outcome *ret)
{
    size_t n = limit_bytes == 0 ? 0 : at_most(jr_count(raw), SANDBOX_MAX_IMAGES);
    struct sandbox_image *images = arena_array(a, n, sizeof(*images));
    struct jr j;

    if (images == NULL || jr_type_of(raw) != JR_ARRAY)
        return -1;
    ret->images = images;
    ret->n_images = 0;
    jr_init(&j, raw);
    for (bool more = jr_enter(&j, JR_ARRAY); more && n > 0 && jr_next_element(&j); n--) {
        int rc = read_image(jr_raw(&j), limit_bytes, a, &images[ret->n_images]);

        if (rc == -1)
            return -1;
        ret->n_images += (size_t)rc;
    }
    return 0;
}

/* ---- answers */

int sandbox_read_run(const struct sandbox_message *m, const struct sandbox_limits *limits,
                     str container_id, struct arena *a, struct sandbox_outcome *ret)
{
    enum { NOTE_BYTES = 512, REPLACED_BYTES = 3 }; /* of what was left out, or is no UTF-8 */
    const size_t limit_bytes = REPLACED_BYTES * limits->output_bytes + NOTE_BYTES;

    if (str_is_none(m->logs) || (m->raised != JR_TRUE && m->raised != JR_FALSE))
        return -1;
    ret->is_raised = m->raised == JR_TRUE;
    ret->logs = read_text(m->logs, limit_bytes, a);
    ret->value = read_text(m->value, limit_bytes, a);
    if (str_is_none(ret->logs) || str_is_none(ret->value) != str_is_none(m->value))
        return -1;
    if (read_images(m->images, limits->image_bytes, a, ret) == -1)
        return -1;
    return sandbox_read_files(m, container_id, a, ret);
}

int sandbox_read_content(const struct sandbox_message *m, const struct sandbox_limits *limits,
                         struct arena *a, struct sandbox_outcome *ret)
{
    if (str_eq(m->error, STR("not_found")) || str_eq(m->error, STR("too_large"))) {
        ret->failure = str_eq(m->error, STR("too_large")) ? SANDBOX_TOO_LARGE : SANDBOX_NO_FILE;
        return 0;
    }
    if (str_is_none(m->base64))
        return -1;
    ret->content = decode_base64(m->base64, a);
    if (str_is_none(ret->content))
        return -1;
    ret->failure = ret->content.len > limits->file_bytes ? SANDBOX_TOO_LARGE : SANDBOX_OK;
    return 0;
}
