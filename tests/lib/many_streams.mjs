/* many_streams.mjs -- hundreds of streams that go on for as long as a test needs them.
 *
 *     const many = new ManyStreams(up, 500);
 *     const streams = many.open(daemon);        each says a number five times a second
 *     await many.begun(streams);                all have said one
 *     many.finish();                            from now on they end
 *     await many.completed(streams);
 */
import assert from 'node:assert/strict';
import { checkStream } from './check.mjs';
import { open } from './client.mjs';
import { chunk, frames, stream } from './upstream.mjs';

export const STREAMED = { input: 'Hi', stream: true };
export const FIRST_WORD = '"delta":"0 "';

const BETWEEN_WORDS_MS = 200;

export class ManyStreams {
    isOver = false;

    /* The next n answers of the upstream are such streams. */
    constructor(up, n) {
        this.n = n;
        up.next(...Array.from({ length: n }, () => ({ ...stream([]), pieces: this.#words() })));
    }

    * #words() {
        for (let i = 0; !this.isOver; i++) {
            yield frames(chunk({ content: `${i} ` })).join('');
            yield new Promise((done) => setTimeout(done, BETWEEN_WORDS_MS));
        }
        yield frames(chunk({}, 'stop'), '[DONE]').join('');
    }

    open(daemon, { n = this.n, ...options } = {}) {
        return Array.from({ length: n }, () => open(daemon, STREAMED, options));
    }

    begun(streams) {
        return Promise.all(streams.map((s) => s.until(FIRST_WORD, 60_000)));
    }

    finish() {
        this.isOver = true;
    }

    /* They have gone on for long by now: their `done` has less patience than this. */
    async completed(streams) {
        for (const s of streams) {
            await s.until(() => s.ended, 120_000);
            assert.equal(checkStream(s.text).response.status, 'completed');
        }
    }
}
