/* worker_settings.h -- the settings of a worker, and those that it had before. */
#ifndef ANTIPHON_FLIGHT_WORKER_SETTINGS_H
#define ANTIPHON_FLIGHT_WORKER_SETTINGS_H

struct settings;
struct worker;

/* Has the worker be able to take settings; they go with it, when nothing of it is left that has read any.
 * Returns 0, or -1 when out of memory. */
int worker_settings_open(struct worker *w);

/* Has the worker take these in place of its own, between two turns of its loop. From the main thread, while
 * the worker runs. */
void worker_give_settings(struct worker *w, struct settings *settings);

#endif
