/* responses_api.test.mjs -- what can be done with a stored response (CONTRACT 6). */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkError, checkStream } from '../lib/check.mjs';
import { ask, get } from '../lib/client.mjs';
import { shared } from '../lib/daemon.mjs';
import { CLOSE, callStream, chunk, frames, stream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const INPUT = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'input_text', text: 'Hi' }, { type: 'input_image', image_url: 'data:image/png;base64,AA==' }] },
    { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: 'call_1', output: '3' },
];

describe('stored responses', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });
    const fetch = (path) => get(both.daemon, path);
    const remove = (path) => get(both.daemon, path, { method: 'DELETE' });
    const good = (got, kind) => {
        assert.equal(got.status, 200, got.text);
        assert.match(got.headers['content-type'], /^application\/json/);
        captures.keep(`${kind}.json`, got.bytes, '--kind', kind);
        return got.json;
    };
    const create = async (request = {}) => good(await ask(both.daemon, { model: 'm', input: 'Hi', ...request }), 'response');
    const checkUnknown = (got, id) => {
        const { message } = checkError(got, 404, 'not_found', null);
        assert.equal(message, `Response with id '${id}' not found.`);
    };

    test('GET gives the very bytes that the client got', async () => {
        both.up.next(textStream('Hello "world" é', { reasoning: 'hm' }), callStream(['f', { a: 1 }, 'c']), textStream('cut', { finish: 'length' }));
        for (const request of [{ metadata: { a: 'é' } }, { tools: [{ type: 'function', name: 'f', parameters: {} }] }, {}]) {
            const made = await ask(both.daemon, { model: 'm', input: 'Hi', ...request });
            const { id } = made.json;
            for (const path of [`/v1/responses/${id}`, `/responses/${id}`, `/v1/responses/${id.replace('resp', '%72esp')}`,
                `/v1/responses/${id}?stream=false&starting_after=3&include_obfuscation=true&include[]=reasoning.encrypted_content`]) {
                const got = await fetch(path);
                good(got, 'response');
                assert.equal(got.text, made.text);
            }
        }
    });

    test('GET gives what the end of a stream carried', async () => {
        const streamed = await ask(both.daemon, { model: 'm', input: 'Hi', stream: true });
        const { response } = checkStream(streamed.text);
        const got = await fetch(`/v1/responses/${response.id}`);
        assert.ok(streamed.text.includes(`"response":${got.text}}\n\n`), got.text);
    });

    test('HEAD gives the head alone', async () => {
        const { id } = await create();
        const got = await get(both.daemon, `/v1/responses/${id}`, { method: 'HEAD' });
        assert.deepEqual([got.status, got.text], [200, '']);
        assert.ok(Number(got.headers['content-length']) > 0);
    });

    test('a failed response is found as well', async () => {
        both.up.next(stream([...frames(chunk({ content: 'Hel' })), CLOSE]));
        const { response } = checkStream((await ask(both.daemon, { model: 'm', input: 'Hi', stream: true })).text);
        assert.equal(good(await fetch(`/v1/responses/${response.id}`), 'response').status, 'failed');
    });

    test('DELETE makes it unknown to everything', async () => {
        const { id } = await create();
        const path = `/v1/responses/${id}`;
        assert.deepEqual(good(await remove(path), 'deleted'), { id, object: 'response', deleted: true });
        for (const got of [await fetch(path), await remove(path), await fetch(`${path}/input_items`), await ask(both.daemon, undefined, { path: `${path}/cancel` })])
            checkUnknown(got, id);
    });

    test('only background responses can be cancelled', async () => {
        const { id } = await create();
        const cancelled = checkError(await ask(both.daemon, undefined, { path: `/v1/responses/${id}/cancel` }), 400, 'invalid_value', null);
        assert.match(cancelled.message, /background set to true can be cancelled/);
    });

    test('what was answered as an object can be read as the stream that it would have been', async () => {
        const created = await create();
        const { response } = checkStream((await fetch(`/v1/responses/${created.id}?stream=true`)).text);
        assert.deepEqual(response, created);
        checkUnknown(await fetch('/v1/responses/resp_x?stream=true'), 'resp_x');
    });

    test('paths of the API beside those of ids are no responses', async () => {
        for (const path of ['/v1/responses/compact', '/responses/compact', '/v1/responses/input_tokens'])
            checkError(await get(both.daemon, path), 405, 'method_not_allowed', null);
    });

    test('what was never stored is unknown', async () => {
        const { id } = await create({ store: false });
        for (const unknown of [id, 'resp_x'])
            for (const path of [`/v1/responses/${unknown}`, `/v1/responses/${unknown}/input_items`])
                checkUnknown(await fetch(path), unknown);
    });

    test('input items are those of the request, in full form and in pages', async () => {
        const { id } = await create({ input: INPUT });
        const path = `/v1/responses/${id}/input_items`;
        const all = good(await fetch(`${path}?order=asc`), 'item-list');
        assert.deepEqual(all.data.map(({ type }) => type), ['message', 'message', 'function_call', 'function_call_output']);
        assert.deepEqual(all.data[0].content, [{ type: 'input_text', text: 'Be brief.' }]);
        for (const item of all.data)
            assert.match(item.id, /^(msg|fc|fco)_/);
        assert.deepEqual((await fetch(path)).json.data, [...all.data].reverse(), 'the newest first, and the same ids again');

        const page = good(await fetch(`${path}?limit=3&order=asc`), 'item-list');
        assert.deepEqual([page.has_more, page.first_id, page.last_id], [true, all.data[0].id, all.data[2].id]);
        const rest = good(await fetch(`${path}?limit=3&order=asc&after=${page.last_id}`), 'item-list');
        assert.deepEqual([rest.has_more, rest.data], [false, all.data.slice(3)]);
    });

    test('input items of a continued response are its own only', async () => {
        const first = await create({ input: 'one' });
        const second = await create({ input: 'two', previous_response_id: first.id });
        const { data } = good(await fetch(`/responses/${second.id}/input_items`), 'item-list');
        assert.deepEqual(data.map((item) => item.content[0].text), ['two']);
    });

    for (const [path, code, param] of [
        ['?include=nothing', 'invalid_value', 'include'], ['?include[]=output', 'invalid_value', 'include'], ['?stream=1', 'invalid_value', 'stream'],
        ['/input_items?limit=0', 'integer_below_min_value', 'limit'], ['/input_items?limit=101', 'integer_above_max_value', 'limit'],
        ['/input_items?limit=x', 'invalid_type', 'limit'], ['/input_items?order=', 'invalid_value', 'order'],
        ['/input_items?include[]=x', 'invalid_value', 'include'],
    ])
        test(`GET /v1/responses/ID${path} is ${code}`, async () => void checkError(await fetch(`/v1/responses/resp_x${path}`), 400, code, param));

    for (const [method, path, allow] of [
        ['POST', '', ['DELETE', 'GET', 'HEAD']], ['GET', '/cancel', ['POST']], ['DELETE', '/input_items', ['GET', 'HEAD']],
    ]) {
        test(`${method} /v1/responses/ID${path} is 405 and says what is allowed`, async () => {
            const got = await get(both.daemon, `/v1/responses/resp_x${path}`, { method });
            checkError(got, 405, 'method_not_allowed');
            assert.deepEqual(got.headers.allow.split(', ').sort(), [...allow, 'OPTIONS'].sort());
        });
    }
});

captures.judge(test);
