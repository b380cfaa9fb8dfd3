/* spy.mjs -- a fetch for SDKs that keeps what they read.
 *
 * What an SDK accepts is not yet what the contract promises, so the bytes of
 * every answer are copied and judged when they have been read to their end.
 * An answer that the SDK abandons is of no interest.
 *
 *     const spy = new Spy();
 *     new Client({ fetch: spy.fetch });
 *     spy.judge(test);                      // the last test of the file
 */
import assert from 'node:assert/strict';
import { Captures, checkStream } from './check.mjs';

/* What there is a kind of for the validator: all but one item alone. */
const JUDGED = /\/(responses(\/[^/]+(\/input_items)?)?|conversations(\/[^/]+(\/items)?)?)$/;

export class Spy {
    #captures = new Captures();
    #faults = [];
    #judged = 0;

    fetch = async (...args) => {
        const response = await fetch(...args);
        if (!JUDGED.test(new URL(args[0].url ?? args[0]).pathname) || response.body === null)
            return response;
        const streamed = response.headers.get('content-type').startsWith('text/event-stream');
        const parts = [];
        const copy = new TransformStream({
            transform(part, out) {
                parts.push(part);
                out.enqueue(part);
            },
            flush: () => this.#look(Buffer.concat(parts), streamed),
        });
        return new Response(response.body.pipeThrough(copy), response);
    };

    #look(bytes, streamed) {
        if (!bytes.includes('"type":"tool_search_')) /* items that the validator has not been told of */
            this.#captures.keep(streamed ? 'sdk.sse' : 'sdk.json', bytes);
        this.#judged++;
        try {
            if (streamed)
                checkStream(bytes.toString());
        } catch (fault) {
            this.#faults.push(fault);
        }
    }

    judge(test) {
        test('every answer that was read keeps the promises', () => {
            assert.deepEqual(this.#faults, []);
            assert.ok(this.#judged > 0, 'some were read');
        });
        this.#captures.judge(test);
    }
}
