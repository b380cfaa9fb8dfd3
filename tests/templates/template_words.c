/* template_words.c -- what the gateway reads off a chat template, as the words of a line of
 * model_settings.
 *
 *     template_words FILE
 *
 * A gateway asks its upstream for the template. Sixty templates would be as many upstreams, so the
 * tests that render them give the words to one gateway as lines. */
#include <stdio.h>
#include <stdlib.h>

#include "wire/dialect/model_template.h"

static char text[MODEL_TEMPLATE_MAX_BYTES + 1];

int main(int argc, char **argv)
{
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    struct model_words words;
    size_t n;

    if (file == NULL) {
        (void)fputs("usage: template_words FILE\n", stderr);
        return EXIT_FAILURE;
    }
    n = fread(text, 1, sizeof(text), file);
    (void)fclose(file);
    (void)model_template_words(str_from(text, n), &words);
    for (int s = 0; s < MODEL_SETTINGS; s++) {
        if (!str_is_none(words.of[s]))
            (void)printf("%s=%.*s ", model_setting_name((enum model_setting)s),
                         STR_ARG(words.of[s]));
    }
    (void)putchar('\n');
    return EXIT_SUCCESS;
}
