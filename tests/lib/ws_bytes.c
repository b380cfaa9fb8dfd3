/* ws_bytes.c -- the notation of ws_cases.def. */
#include "lib/ws_bytes.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/num.h"

enum { SHOWN_BYTES = 40 };

struct frame {
    unsigned char first; /* byte: final bit, reserved bits, opcode */
    bool is_masked, is_raw_close, has_length;
    char length_form; /* 'w' or 'q'; 0: what is usual */
    unsigned char mask;
    uint64_t length;
    struct buf payload;
};

static void refuse_notation(const char *at)
{
    (void)fprintf(stderr, "ws_cases.def: not understood: %s\n", at);
    abort();
}

static void write_text(const char **at, struct buf *out)
{
    const char *p = *at;

    while (*p != '\0' && *p != ' ') {
        if (*p == '*') {
            for (unsigned long n = strtoul(p + 1, (char **)(uintptr_t)&p, 10); n > 0; n--)
                buf_char(out, 'a');
        } else if (*p == '%') {
            buf_char(out, (char)(num_hex_digit(p[1]) * 16 + num_hex_digit(p[2])));
            p += 3;
        } else {
            buf_char(out, *p++);
        }
    }
    *at = p;
}

static void read_opcode(const char **at, struct frame *f)
{
    static const char letters[] = "CTB.....XPO";
    const char *p = *at, *letter;
    char upper = *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p;

    if (*p == '#') {
        f->first = (unsigned char)(0x80 | num_hex_digit(p[1]));
        *at = p + 2;
        return;
    }
    letter = strchr(letters, upper);
    if (letter == NULL || *p == '\0' || *p == '.')
        refuse_notation(p);
    else
        f->first = (unsigned char)((*p == upper ? 0x80 : 0) | (unsigned)(letter - letters));
    *at = p + 1;
}

static void read_marks(const char **at, struct frame *f)
{
    const char *p = *at;
    char *end;

    while (*p != '\0' && *p != ' ' && *p != ':') {
        char mark = *p++;

        if (mark == '-') {
            f->is_masked = false;
        } else if (mark >= '1' && mark <= '7') {
            f->first = (unsigned char)(f->first | (mark - '0') << 4);
        } else if (mark == 'w' || mark == 'q') {
            f->length_form = mark;
        } else if (mark == '=') {
            f->is_raw_close = true;
        } else if (mark == '<' || mark == '@') {
            uint64_t n = strtoull(p, &end, 10);

            p = end;
            f->has_length = f->has_length || mark == '<';
            if (mark == '<')
                f->length = n;
            else
                f->mask = (unsigned char)n;
        } else {
            refuse_notation(p - 1);
        }
    }
    *at = p;
}

/* "1000,words" */
static void read_close_code(const char **at, struct frame *f)
{
    char *end;
    unsigned long code = strtoul(*at, &end, 10);

    if (*end != ',')
        refuse_notation(*at);
    buf_char(&f->payload, (char)(code >> 8));
    buf_char(&f->payload, (char)(code & 0xFF));
    *at = end + 1;
}

static void write_length(const struct frame *f, struct buf *out)
{
    uint64_t n = f->has_length ? f->length : f->payload.len;
    unsigned bytes = f->length_form == 'w'   ? 2
                     : f->length_form == 'q' ? 8
                     : n < 126               ? 0
                     : n < 65536             ? 2
                                             : 8;
    unsigned small = bytes == 0 ? (unsigned)n : bytes == 2 ? 126 : 127;

    buf_char(out, (char)((f->is_masked ? 0x80 : 0) | small));
    for (unsigned i = 0; i < bytes; i++)
        buf_char(out, (char)(unsigned char)(n >> (8 * (bytes - 1 - i))));
}

static void write_frame(const struct frame *f, struct buf *out)
{
    /* A mask of zeros or ones is all of them, others vary. */
    char mask[4] = {(char)f->mask, (char)(f->mask == 0xFF ? 0xFF : f->mask * 3),
                    (char)(f->mask == 0xFF ? 0xFF : f->mask * 5),
                    (char)(f->mask == 0xFF ? 0xFF : f->mask * 7)};

    buf_char(out, (char)f->first);
    write_length(f, out);
    if (f->is_masked)
        buf_append(out, str_from(mask, sizeof(mask)));
    for (size_t i = 0; i < f->payload.len; i++)
        buf_char(out, (char)(f->payload.p[i] ^ (f->is_masked ? mask[i % 4] : 0)));
}

static void read_frame(const char **at, struct buf *out)
{
    struct frame f = {.is_masked = true, .mask = 0x37};

    read_opcode(at, &f);
    read_marks(at, &f);
    if (**at == ':') {
        ++*at;
        if ((f.first & 0xF) == 8 && !f.is_raw_close && !f.has_length)
            read_close_code(at, &f);
        write_text(at, &f.payload);
    }
    write_frame(&f, out);
    buf_fini(&f.payload);
}

void ws_bytes(const char *frames, struct buf *out)
{
    const str raw = STR("raw:");

    while (*frames != '\0') {
        if (*frames == ' ') {
            frames++;
        } else if (strncmp(frames, raw.p, raw.len) == 0) {
            frames += raw.len;
            write_text(&frames, out);
        } else {
            read_frame(&frames, out);
        }
    }
}

void ws_show(str bytes, struct buf *out)
{
    if (bytes.len > SHOWN_BYTES) {
        buf_uint(out, bytes.len);
        return;
    }
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char c = (unsigned char)bytes.p[i];

        if (c > ' ' && c < 0x7F) {
            buf_char(out, (char)c);
        } else {
            buf_char(out, '%');
            buf_hex(out, &c, 1);
        }
    }
}
