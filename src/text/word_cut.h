/* word_cut.h -- names and prose as words that can be compared: "getInvoices", "get_invoice" and
 * "Getting an invoice" have the same two in them. Pure; any thread.
 *
 * A word ends where letters and digits end, and where a small letter is followed by a capital one; what
 * was cut there comes as a whole as well, so that "GitHub" is found as "github". Capitals become small;
 * English endings (plural, -ing, -ed) go, as far as that can be told without a dictionary. Scripts
 * without spaces between words are cut into characters. Words that say nothing by themselves, as "the"
 * and "of", are left out. */
#ifndef ANTIPHON_TEXT_WORD_CUT_H
#define ANTIPHON_TEXT_WORD_CUT_H

#include "base/str.h"

enum { WORD_CUT_MAX_BYTES = 48 }; /* what is longer is cut off */

/* word lives until on_word returns. */
void word_cut(str plain, void (*on_word)(void *arg, str word), void *arg);

#endif
