/* reader_internal.h -- what the files of a reader share.
 *
 * reader.c        the flight: its client, the asks of a turn, time, and the end
 * reader_store.c  what the store has of the response, and its events */
#ifndef ANTIPHON_RESUME_READER_INTERNAL_H
#define ANTIPHON_RESUME_READER_INTERNAL_H

#include "flight/flight.h"
#include "response/response_restore.h"
#include "resume/reader.h"
#include "resume/running.h"
#include "store/store_events.h"

/* What has been loaded of the response. */
enum reader_loaded {
    LOADED_NOTHING, /* it is not there, or is made here */
    LOADED_JOURNAL, /* it is under way: what its rows have said until now */
    LOADED_END,     /* it is over */
};

struct reader {
    struct flight flight;    /* first */
    struct reader_want want; /* its texts in the arena */
    struct running_reader place;
    struct running_ask
        ask;       /* its replay is the reader's place in the stream, wherever events come from */
    bool is_head;  /* the client wants no more than the head of an answer */
    bool is_begun; /* the head of the stream has been sent */
    bool is_asked; /* the ask is out */
    uint64_t poll_at_ms; /* when the store is asked again; 0: it is not waited for */
    uint64_t n_bytes;    /* of events, for the log */

    /* reader_store.c's own */
    struct store_task task;
    bool is_loading;      /* it is out, or what it brought is being read */
    struct arena fetched; /* what it brought */
    struct store_events events;
    enum reader_loaded loaded;
    struct response_restore restore; /* its response, unless nothing is loaded */
};

/* Asks the store for what it has of the response behind what is loaded; reader_loaded() follows. Returns 0,
 * or -1 with *reterr filled when that is not even tried. */
int reader_load(struct reader *r, struct err *reterr);

/* Something has been loaded, or could not be: *failure says why, ERR_NOT_FOUND when the response is
 * gone. */
void reader_on_loaded(struct reader *r, const struct err *failure);

/* Writes events of what is loaded into the buffer of the ask, up to RUNNING_FILL_BYTES. */
enum running_outcome reader_fill(struct reader *r);

/* True when the store had more rows than came at once. */
bool reader_has_more(const struct reader *r);

/* Frees what is loaded. */
void reader_forget(struct reader *r);

#endif
