/* doc_tables.c -- fills the tables of a document: doc_tables <OLD >NEW
 *
 * For `make docs`. Knowledge is in the .def files of src/, which the program is built with; what is
 * written by hand stays as it is. */
#include <stdio.h>
#include <stdlib.h>

#include "document.h"

static bool read_input(struct buf *text)
{
    char piece[64 * 1024];
    size_t n;

    while ((n = fread(piece, 1, sizeof(piece), stdin)) > 0)
        buf_append(text, str_from(piece, n));
    return !ferror(stdin) && !buf_failed(text);
}

static bool write_output(const struct buf *text)
{
    return !buf_failed(text) && fwrite(text->p, 1, text->len, stdout) == text->len &&
           fflush(stdout) != EOF;
}

int main(void)
{
    struct buf old = {0}, new = {0};
    struct err e;
    int status = EXIT_FAILURE;

    if (!read_input(&old))
        err_set(&e, ERR_INTERNAL, "cannot read the document");
    else if (document_fill(buf_str(&old), &new, &e) == 0 && write_output(&new))
        status = EXIT_SUCCESS;
    else if (buf_failed(&new) || ferror(stdout))
        err_set(&e, ERR_INTERNAL, "cannot write the document");
    if (status == EXIT_FAILURE)
        (void)fprintf(stderr, "doc_tables: %s\n", e.msg);
    buf_fini(&old);
    buf_fini(&new);
    return status;
}
