/* idempotency.test.mjs -- the official SDK tries again when an answer gets lost, with the same key.
 *
 * The SDK names the header when its client is told to (idempotencyHeader), with a key of its own for each request; or
 * the caller gives it. Its retries repeat it either way.
 */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import OpenAI, { APIConnectionError, UnprocessableEntityError } from 'openai';
import { shared } from '../lib/daemon.mjs';
import { chunk, frames, stream, textStream } from '../lib/upstream.mjs';

const REQUEST = { model: 'm', input: 'Hi' };
const SLOWLY = stream(frames(chunk({ content: 'one' }), chunk({ content: ' two' }), chunk({}, 'stop'), '[DONE]').flatMap((frame) => [frame, 5]));

const headerOf = (init, name) => new Headers(init.headers).get(name);

describe('openai, whose answers get lost', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });
    let lost, keys;

    beforeEach(() => {
        lost = 0;
        keys = [];
    });

    /* The answer arrives, and the first `lost` ones never reach the SDK. */
    const fetchWithLosses = async (url, init) => {
        const got = await fetch(url, init);
        if (init.method.toLowerCase() === 'post')
            keys.push(headerOf(init, 'idempotency-key'));
        if (lost-- <= 0)
            return got;
        await got.arrayBuffer();
        throw new TypeError('fetch failed');
    };

    const open = (more = {}) => Object.assign(
        new OpenAI({ baseURL: `${both.daemon.origin}/v1`, apiKey: 'sk-test', maxRetries: 2, fetch: fetchWithLosses }), more);
    const withOwnKeys = () => open({ idempotencyHeader: 'Idempotency-Key' });
    const isReplay = (response) => response.headers.get('idempotent-replayed');

    for (const store of [true, false]) {
        test(`responses.create is answered once, with the SDK's own keys (store ${store})`, async () => {
            const client = withOwnKeys();
            lost = 2;
            const { data, response } = await client.responses.create({ ...REQUEST, store }).withResponse();
            assert.equal(data.output_text, 'Hello');
            assert.equal(isReplay(response), 'true');
            assert.equal(both.up.requests.length, 1);
            assert.deepEqual([keys.length, new Set(keys).size], [3, 1]);
            const next = await client.responses.create({ ...REQUEST, store });
            assert.notEqual(next.id, data.id, 'the next request has a key of its own');
        });

        test(`a stream is sent again from its first event on (store ${store})`, async () => {
            both.up.always(SLOWLY);
            lost = 1;
            const events = [];
            for await (const event of await withOwnKeys().responses.create({ ...REQUEST, store, stream: true }))
                events.push(event);
            assert.deepEqual(events.map(({ sequence_number }) => sequence_number), events.map((_, i) => i));
            assert.equal(events.at(-1).response.output[0].content[0].text, 'one two');
            assert.equal(both.up.requests.length, 1);
        });
    }

    test('responses.create with a key of the caller, also from another client', async () => {
        const options = { headers: { 'Idempotency-Key': 'order-17' } };
        lost = 1;
        const first = await open().responses.create(REQUEST, options);
        const again = await open().responses.create(REQUEST, options);
        assert.deepEqual(again, first);
        assert.equal(both.up.requests.length, 1);
    });

    test('a key that was used for another request is refused, and not tried again', async () => {
        const options = { headers: { 'Idempotency-Key': 'order-18' } };
        await open().responses.create(REQUEST, options);
        const tried = keys.length;
        await assert.rejects(open().responses.create({ ...REQUEST, input: 'Ho' }, options),
            (error) => error instanceof UnprocessableEntityError && error.code === 'idempotency_key_reused' && error.param === 'Idempotency-Key');
        assert.equal(keys.length, tried + 1);
    });

    test('conversations.create and items.create make one conversation with each item once', async () => {
        const client = withOwnKeys(), items = [{ type: 'message', role: 'user', content: 'One' }];
        lost = 2;
        const { id } = await client.conversations.create({ items });
        lost = 2;
        await client.conversations.items.create(id, { items: [{ type: 'message', role: 'user', content: 'Two' }] });
        const listed = await client.conversations.items.list(id, { order: 'asc' });
        assert.deepEqual(listed.data.map(({ content }) => content[0].text), ['One', 'Two']);
    });

    test('responses.compact', async () => {
        both.up.next(textStream('A summary.'));
        lost = 1;
        const compacted = await withOwnKeys().responses.compact({ model: 'm', input: [{ role: 'user', content: 'One' }] });
        assert.equal(compacted.object, 'response.compaction');
        assert.equal(both.up.requests.length, 1);
    });

    test('a response in the background is made once', async () => {
        const client = withOwnKeys();
        lost = 2;
        let response = await client.responses.create({ ...REQUEST, background: true });
        while (response.status === 'queued' || response.status === 'in_progress')
            response = await client.responses.retrieve(response.id);
        assert.equal(response.output_text, 'Hello');
        assert.equal(both.up.requests.length, 1);
    });

    test('without a key each try is a request', async () => {
        lost = 1;
        await open().responses.create(REQUEST);
        assert.equal(both.up.requests.length, 2);
        lost = 9;
        await assert.rejects(open().responses.create(REQUEST), APIConnectionError);
    });
});
