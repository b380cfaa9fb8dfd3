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
import { checkTail } from './check_resume.mjs';

/* What there is a kind of for the validator: all but one item alone. */
const JUDGED = /\/(responses(\/[^/]+(\/input_items)?)?|conversations(\/[^/]+(\/items)?)?)$/;

export class Spy {
    #captures = new Captures();
    #faults = [];
    #judged = 0;

    fetch = async (...args) => {
        const response = await fetch(...args);
        const url = new URL(args[0].url ?? args[0]);
        if (!JUDGED.test(url.pathname) || response.body === null)
            return response;
        const after = Number(url.searchParams.get('starting_after') ?? -1);
        const streamed = response.headers.get('content-type').startsWith('text/event-stream');
        const parts = [];
        const copy = new TransformStream({
            transform(part, out) {
                parts.push(part);
                out.enqueue(part);
            },
            flush: () => this.#look(Buffer.concat(parts), streamed, after),
        });
        return new Response(response.body.pipeThrough(copy), response);
    };

    /* after: the event behind which a stream was read on; -1 for all others. */
    #look(bytes, streamed, after) {
        if (!bytes.includes('"type":"tool_search_')) /* items that the validator has not been told of */
            this.#captures.keep(streamed ? 'sdk.sse' : 'sdk.json', bytes, ...streamed && after >= 0 ? ['--resume', String(after)] : []);
        this.#judged++;
        try {
            if (streamed && after >= 0)
                checkTail(bytes.toString(), after);
            else if (streamed)
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
