/* fuzz_listen_passed.c -- any text is refused, or read as what is written as the same again; names are taken
 * in any form, and give as many descriptors as were told. */
#include "fuzz/fuzz.h"

#include <string.h>

#include "net/listen_passed.h"

static void check_upgrade(const char *text)
{
    struct arena a = {.limit = 0};
    struct listen_passed_list list, again;
    struct buf out = {.limit = 0}, second = {.limit = 0};
    struct err e;

    if (listen_passed_read_upgrade(text, &a, &list, &e) == 0) {
        for (size_t i = 0; i < list.n; i++)
            fuzz_promise(list.v[i].fd >= 3 && list.v[i].address[0] != '\0', "all have a meaning");
        listen_passed_write(&list, &out);
        fuzz_promise(listen_passed_read_upgrade(buf_cstr(&out), &a, &again, &e) == 0 &&
                         again.n == list.n && again.report_fd == list.report_fd,
                     "what is written is read");
        listen_passed_write(&again, &second);
        fuzz_promise(str_eq(buf_str(&out), buf_str(&second)), "and means the same");
    }
    buf_fini(&out);
    buf_fini(&second);
    arena_fini(&a);
}

static void check_manager(const char *names)
{
    struct arena a = {.limit = 0};
    struct listen_passed_list list;
    struct err e;

    fuzz_promise(listen_passed_read_manager("7", names, &a, &list, &e) == 0 && list.n == 7,
                 "seven are seven");
    for (size_t i = 0; i < list.n; i++)
        fuzz_promise(list.v[i].fd == 3 + (int)i && strchr(list.v[i].address + 3, ':') == NULL &&
                         strlen(list.v[i].address) > 3,
                     "each has a name");
    (void)listen_passed_read_manager(names, names, &a, &list, &e);
    arena_fini(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *text = strndup(n == 0 ? "" : (const char *)bytes, n);

    if (text == NULL)
        return 0;
    check_upgrade(text);
    check_manager(text);
    free(text);
    return 0;
}
