/* ws_message.c -- messages are read by a table, and written with the words of json_err.h. */
#include "front/ws_message.h"

#include <stdio.h>

#include "conv/fields.h"
#include "json/json_err.h"
#include "json/json_text.h"
#include "json/json_write.h"

/* ---- of clients */

/* Raw values. */
struct message_fields {
    str type, stream_id, previous_response_id, previous_responses_id, input;
};

/* What is wrong in a body is the turn's to say: of it only the names of things are looked at. */
static const struct field message_table[] = {
    FIELD(struct message_fields, type, FIELD_TEXT),
    FIELD(struct message_fields, stream_id, FIELD_ANY),
    FIELD(struct message_fields, previous_response_id, FIELD_ANY),
    FIELD(struct message_fields, previous_responses_id, FIELD_ANY), /* as clients misspell it */
    FIELD(struct message_fields, input, FIELD_ANY),
};

static const str supported_types[] = {STR_INIT("response.create"), STR_INIT("response.steer")};

enum { MAX_STREAM_ID = 256 };

static bool is_stream_id_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
}

/* A name that is written with escapes is none of these characters, as it stands. */
static bool is_stream_id(str raw)
{
    const str name = jr_string_of(raw);

    if (name.len == 0 || name.len > MAX_STREAM_ID)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        if (!is_stream_id_char(name.p[i]))
            return false;
    }
    return true;
}

static int read_stream_id(str raw, struct ws_message *ret, struct err *reterr)
{
    ret->stream_id = STR_NONE;
    if (str_is_none(raw))
        return 0;
    if (is_stream_id(raw)) {
        ret->stream_id = jr_string_of(raw);
        return 0;
    }
    err_set_param(reterr, ERR_INVALID_STREAM_ID, "stream_id",
                  "'stream_id' must have 1 to 256 letters, digits, '_', '-' or '.'.");
    return -1;
}

static int read_type(str type, struct ws_message *ret, struct err *reterr)
{
    const struct path at = path_member(NULL, STR("type"));

    if (str_is_none(type)) {
        ret->is_malformed = true;
        return reject_missing(&at, reterr);
    }
    if (json_text_eq(type, STR("response.create")))
        ret->type = WS_MESSAGE_CREATE;
    else if (json_text_eq(type, STR("response.steer")))
        ret->type = WS_MESSAGE_STEER;
    else if (json_text_eq(type, STR("response.processed")))
        ret->type = WS_MESSAGE_PROCESSED;
    else
        return reject_value(&at, type, LIST_OF(supported_types), reterr);
    return 0;
}

int ws_message_read(str text, struct ws_message *ret, struct err *reterr)
{
    struct message_fields in = {STR_NONE, STR_NONE, STR_NONE, STR_NONE, STR_NONE};

    *ret = (struct ws_message){.text = text, .stream_id = STR_NONE, .is_malformed = true};
    if (fields_read_body(text, FIELDS(message_table), &in, NULL, reterr) == -1)
        return -1;
    ret->is_malformed = false;
    ret->previous_response_id = jr_string_of(in.previous_response_id);
    if (str_is_none(ret->previous_response_id))
        ret->previous_response_id = jr_string_of(in.previous_responses_id);
    ret->input = in.input;
    if (read_stream_id(in.stream_id, ret, reterr) == -1)
        return -1;
    return read_type(in.type, ret, reterr);
}

/* ---- ours */

void ws_message_end(str stream_id, struct buf *out)
{
    if (!str_is_none(stream_id)) {
        buf_c(out, ",\"stream_id\":\"");
        buf_append(out, stream_id);
        buf_char(out, '"');
    }
    buf_char(out, '}');
}

/* Takes the next line off, without its end. */
static str next_line(str *text)
{
    const size_t n = str_find_char(*text, '\n');
    const str line = str_from(text->p, n);

    *text = str_skip(*text, n < text->len ? n + 1 : n);
    return line;
}

bool ws_message_next_event(str *frames, str *ret)
{
    const str data = STR("data: {");

    while (frames->len > 0) {
        const str line = next_line(frames);

        if (!str_starts_with(line, data))
            continue;
        *ret = str_from(line.p + data.len - 1, line.len - data.len);
        return true;
    }
    return false;
}

str ws_message_response_id(str event)
{
    const str name = STR("\"id\":\"");
    const str id = str_skip(event, str_find(event, name));
    const str rest = str_skip(id, id.len < name.len ? id.len : name.len);

    return str_from(rest.p, str_find_char(rest, '"'));
}

static struct err as_told(const struct err *e)
{
    struct err told = *e;

    if (told.code == ERR_OVERLOADED || told.code == ERR_STORE_AWAY) {
        told.code = ERR_RATE_LIMIT;
        told.own_code[0] = '\0';
        if (told.retry_after_s == 0)
            told.retry_after_s = 1;
    }
    return told;
}

void ws_message_error(const struct err *e, str stream_id, struct buf *out)
{
    const struct err told = as_told(e);
    struct buf error = {.limit = 0};
    struct jw w = jw_to(out);
    char seconds[16];

    json_err_write(&told, &error);
    jw_object(&w);
    jw_key_string(&w, "type", STR("error"));
    jw_key_int(&w, "status", err_http_status(&told));
    jw_key_raw(&w, "error", jr_member(buf_str(&error), STR("error")));
    if (told.retry_after_s > 0) {
        (void)snprintf(seconds, sizeof(seconds), "%d", told.retry_after_s);
        jw_key(&w, "headers");
        jw_object(&w);
        jw_key_string(&w, "retry-after", str_from_c(seconds));
        jw_object_end(&w);
    }
    ws_message_end(stream_id, out);
    buf_fini(&error);
}

/* ---- steering */

static bool is_user_message(str raw)
{
    const str type = jr_member_string(raw, STR("type"));

    return (str_is_none(type) || json_text_eq(type, STR("message"))) &&
           json_text_eq(jr_member_string(raw, STR("role")), STR("user"));
}

static bool is_steering_input(str raw)
{
    struct jr j;

    if (str_is_none(raw) || jr_type_of(raw) == JR_STRING)
        return !str_is_none(raw);
    if (jr_type_of(raw) != JR_ARRAY)
        return false;
    jr_init(&j, raw);
    (void)jr_enter(&j, JR_ARRAY);
    while (jr_next_element(&j)) {
        if (!is_user_message(jr_raw(&j)))
            return false;
    }
    return true;
}

static void write_steer_error(struct jw *w, const struct ws_message *steer, bool is_known)
{
    const struct shown id = shown(steer->previous_response_id);
    struct buf message = {.limit = 0};
    const char *code = "steering_not_supported";

    if (!is_known) {
        code = "response_not_found";
        buf_c(&message, "No response '");
        buf_c(&message, id.text);
        buf_c(&message, "' on this connection.");
    } else if (!is_steering_input(steer->input)) {
        code = "invalid_input";
        buf_c(&message, "'input' must be a string or an array of user messages.");
    } else {
        buf_c(&message, "A response cannot be steered by this gateway. Send a response.create with "
                        "'previous_response_id' when it has ended.");
    }
    jw_key(w, "error");
    jw_object(w);
    jw_key_string(w, "type", STR("invalid_request_error"));
    jw_key_string(w, "code", str_from_c(code));
    jw_key_string(w, "message", buf_str(&message));
    jw_object_end(w);
    buf_fini(&message);
}

void ws_message_steer_failed(const struct ws_message *steer, bool is_known, struct buf *out)
{
    struct jw w = jw_to(out);

    jw_object(&w);
    jw_key_string(&w, "type", STR("response.steer.failed"));
    jw_key_int(&w, "sequence_number", 0);
    jw_key(&w, "steer");
    jw_object(&w);
    jw_key_escaped(&w, "previous_response_id", steer->previous_response_id);
    jw_key_raw(&w, "input", steer->input);
    jw_object_end(&w);
    write_steer_error(&w, steer, is_known);
    ws_message_end(steer->stream_id, out);
}
