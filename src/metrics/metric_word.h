/* metric_word.h -- the texts that labels with open values have had so far, by number.
 *
 * A text is found without a lock, and kept once under one. There are at most as many as the domain may
 * have: what comes later is `_other`. Before metric_words_open() nothing is kept. Any thread. */
#ifndef ANTIPHON_METRICS_METRIC_WORD_H
#define ANTIPHON_METRICS_METRIC_WORD_H

#include "metrics/metric_table.h"

/* Ids of every open domain. */
enum { METRIC_WORD_NONE, METRIC_WORD_OTHER };

/* Most texts of a domain that have no bound of their own, and most names of tools of MCP servers; those of
 * the gateway have their places besides. */
enum { METRIC_WORDS_MAX = 1000, METRIC_TOOLS_MAX = 200 };

/* Once, before there are other threads. The seed is that of the hashes, and random. False when out of
 * memory; metric_words_close() either way, when the other threads have ended. */
bool metric_words_open(unsigned max_models, uint64_t seed);
void metric_words_close(void);

/* The id of a text, which is kept if it is new; METRIC_WORD_NONE for an empty one. Not for models. */
uint16_t metric_word(enum metric_domain domain, str text);

/* The text of an id. It lives until the end. */
str metric_word_text(enum metric_domain domain, uint16_t id);

/* ---- models (OPERATIONS 1.2): clients invent names, so that a name has to be learnt before it is told. Time
 * is in seconds of a steady clock. */

/* The id of a name, METRIC_WORD_OTHER when it has not been learnt. */
uint16_t metric_model(str name, uint32_t now_s);

/* An upstream has answered for it with 2xx; or, when it is listed, the configuration or an upstream names
 * it. When there are as many as may be, it takes the place of one that is not listed and was not asked
 * for in a day; else it stays METRIC_WORD_OTHER. Returns its id. */
uint16_t metric_model_learn(str name, bool is_listed, uint32_t now_s);

/* Has the place of this name been given to another one? Its series are not shown any more. */
bool metric_model_is_gone(uint16_t id);

#endif
