/* state_stream.test.mjs -- what is stored of a streamed response: all of it, with
 * the ids and bytes the client has seen, before its terminal event -- or nothing. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkStream } from '../lib/check.mjs';
import { open } from '../lib/client.mjs';
import { shared } from '../lib/daemon.mjs';
import {
    Api, NOT_FOUND, NO_PARENT, assistant, calling, fn, idIn, messagesOf, output, reference, toolResult, user, writtenIn,
} from '../lib/state.mjs';
import { CLOSE, HANG, callStream, chunk, frames, stream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const TOOLS = [fn('weather')];
const STARTED = stream([...frames(chunk({ content: 'one' }), chunk({ content: 'two' })), HANG]);
const BROKEN = stream([...frames(chunk({ reasoning_content: 'Hm' }), chunk({ content: 'half' })), CLOSE]);

/* Thinks, speaks, and calls two tools. */
const RICH = stream(frames(chunk({ reasoning_content: 'Hm' }), chunk({ content: 'I look.' }),
    ...['a', 'b'].map((id, index) => chunk({ tool_calls: [{ index, id, type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } }] })),
    chunk({}, 'tool_calls'), '[DONE]'));

describe('streamed responses', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, '--early-error-window', '0');
    const api = new Api(both, captures);
    const start = (t, more) => {
        const call = open(both.daemon, { model: 'm', input: 'Hi', stream: true, ...more });
        t.after(() => call.destroy());
        return call;
    };

    /* [what, upstream's answer, request, status] */
    const ENDINGS = [
        ['with text', textStream(' Hello "world"\n\u2028 é 漢 \u{1f600}'), {}, 'completed'],
        ['with reasoning', textStream('Yes.', { reasoning: 'Let me see' }), {}, 'completed'],
        ['with a summary', textStream('Yes.', { reasoning: 'Let me see' }), { reasoning: { summary: 'auto' } }, 'completed'],
        ['with encrypted reasoning', textStream('Yes.', { reasoning: 'Let me see' }), { include: ['reasoning.encrypted_content'] }, 'completed'],
        ['with calls', RICH, { tools: TOOLS }, 'completed'],
        ['with a custom call', callStream(['patch', { input: 'x' }, 'a']), { tools: [{ type: 'custom', name: 'patch' }] }, 'completed'],
        ['without output', textStream(''), {}, 'completed'],
        ['cut', textStream('Cut', { finish: 'length' }), { metadata: { k: 'v' }, instructions: 'i' }, 'incomplete'],
        ['filtered', textStream('Cut', { finish: 'content_filter' }), {}, 'incomplete'],
        ['broken', BROKEN, {}, 'failed'],
        ['failed before any output', stream(frames({ error: { message: 'KV cache is full', code: 500 } })), { tools: TOOLS }, 'failed'],
    ];

    for (const [what, answer, more, status] of ENDINGS) {
        test(`${what}: GET shows the response of the terminal event, byte by byte`, async () => {
            both.up.next(answer);
            const { response, written } = await api.stream(more);
            assert.equal(response.status, status);
            assert.equal((await api.get(`responses/${response.id}`)).text, written);
        });
    }

    test('a response can be fetched and continued as soon as its end is seen', async (t) => {
        both.up.always(({ body }) => textStream(`re ${body.messages.at(-1).content}`));
        await Promise.all(Array.from({ length: 20 }, async (_, i) => {
            const call = start(t, { input: `q${i}` });
            await call.until('"type":"response.completed"');
            await call.until(() => /"type":"response\.completed".*\n/.test(call.text));
            const id = idIn(call.text);
            assert.equal((await api.get(`responses/${id}`)).text, writtenIn(call.text));
            await api.respond({ input: `next${i}`, previous_response_id: id });
            const { body } = both.up.requests.find((request) => request.body.messages.at(-1).content === `next${i}`);
            assert.deepEqual(body.messages, [user(`q${i}`), assistant(`re q${i}`), user(`next${i}`)]);
            call.destroy();
        }));
    });

    test('a response whose client left right behind its end is stored', async (t) => {
        const call = start(t);
        await call.until('[DONE]');
        call.destroy();
        assert.equal((await api.read(`responses/${idIn(call.text)}`)).status, 'completed');
    });

    test('ids are the same in all events, the final response, GET, and as references', async () => {
        both.up.next(RICH);
        const { response, items, events } = await api.stream({ tools: TOOLS });
        assert.deepEqual(items.map((item) => item.type), ['reasoning', 'message', 'function_call', 'function_call']);
        const ids = items.map((item) => item.id);
        assert.equal(new Set(ids).size, 4);
        for (const event of events.filter((one) => one.output_index !== undefined))
            assert.equal(event.item_id ?? event.item.id, ids[event.output_index], event.type);
        const stored = await api.read(`responses/${response.id}`);
        assert.deepEqual(stored.output, items);
        assert.ok(events.every((event) => event.response === undefined || event.response.id === stored.id));

        const second = await api.respond({ input: [...ids.map(reference), output('a', '1'), output('b', '2')], tools: TOOLS });
        const listed = await api.list(`responses/${second.id}/input_items?order=asc`);
        assert.deepEqual(listed.slice(0, 4), items);
        assert.deepEqual(messagesOf(both.up).slice(0, 1)[0].tool_calls.map((call) => call.id), ['a', 'b']);
    });

    test('a streamed turn continues one that was not, and the other way round', async () => {
        both.up.next(callStream(['weather', {}, 'a']));
        const first = await api.respond({ input: 'One', tools: TOOLS });
        const { response: second, events } = await api.stream({ input: [output('a', 'cold')], previous_response_id: first.id });
        const asked = [user('One'), calling(['a', 'weather', {}]), toolResult('a', 'cold')];
        assert.deepEqual(messagesOf(both.up), asked);
        for (const { response } of [events[0], events[1]])
            assert.deepEqual([response.previous_response_id, response.tools], [first.id, first.tools], 'from the first event on');
        await api.respond({ input: 'Three', previous_response_id: second.id });
        assert.deepEqual(messagesOf(both.up), [...asked, assistant('Hello'), user('Three')]);
    });

    test('store: false shows no trace', async () => {
        const { response } = await api.stream({ store: false });
        await api.refused('GET', `responses/${response.id}`, undefined, NOT_FOUND);
    });

    test('a failed response keeps its input and is told apart from unknown ones by GET alone', async () => {
        both.up.next(BROKEN);
        const { response } = await api.stream({ input: 'One', metadata: { k: 'v' } });
        assert.deepEqual([response.status, response.metadata], ['failed', { k: 'v' }]);
        assert.equal((await api.list(`responses/${response.id}/input_items`)).length, 1);
        await api.turnedAway({ previous_response_id: response.id }, NO_PARENT);
        await api.remove(`responses/${response.id}`);
        await api.refused('GET', `responses/${response.id}`, undefined, NOT_FOUND);
    });

    test('a response that is still running cannot be continued', async (t) => {
        both.up.next(STARTED);
        const call = start(t);
        await call.until('"delta":"two"');
        await api.turnedAway({ previous_response_id: idIn(call.text) }, NO_PARENT);
        call.destroy();
    });

    test('deleting the parent of a running response ends in a whole chain or in a failure', async (t) => {
        const parent = await api.respond({ input: 'One' });
        let release;
        both.up.next(stream([...frames(chunk({ content: 'Slow' })), new Promise((done) => (release = done)), ...frames(chunk({}, 'stop'), '[DONE]')]));
        const call = start(t, { input: 'Two', previous_response_id: parent.id });
        await call.until('Slow');
        await api.remove(`responses/${parent.id}`);
        release();
        const { response } = checkStream((await call.done).text);
        if (response.status === 'failed') {
            await api.turnedAway({ previous_response_id: response.id }, NO_PARENT);
        } else {
            await api.respond({ input: 'Three', previous_response_id: response.id });
            assert.deepEqual(messagesOf(both.up).map((m) => m.content), ['One', 'Hello', 'Two', 'Slow', 'Three']);
        }
    });

    test('nothing is stored for a client that left in the middle', async (t) => {
        const parent = await api.respond({ input: 'One' });
        both.up.next(STARTED);
        const call = start(t, { input: 'Two', previous_response_id: parent.id });
        await call.until('"delta":"two"');
        call.destroy();
        await both.up.requests.at(-1).closed;
        await api.respond({ input: 'Three', previous_response_id: parent.id }); /* what would have been stored is stored by now */
        assert.deepEqual(messagesOf(both.up), [user('One'), assistant('Hello'), user('Three')]);
        const [id, item] = [idIn(call.text), call.text.match(/"item_id":"(\w+)"/)[1]];
        await api.refused('GET', `responses/${id}`, undefined, NOT_FOUND);
        await api.turnedAway({ previous_response_id: id }, NO_PARENT);
        await api.turnedAway({ input: [reference(item)] }, [404, 'not_found', 'input']);
    });

    test('many that leave at any moment leave whole responses or none', async (t) => {
        both.up.always(stream(frames(...Array(10).fill(chunk({ content: 'x' })), chunk({}, 'stop'), '[DONE]').flatMap((frame) => [frame, 2])));
        const calls = await Promise.all(Array.from({ length: 40 }, async (_, i) => {
            const call = start(t);
            await call.until(() => (call.text.match(/\n\n/g) ?? []).length >= i % 18);
            call.destroy();
            return call;
        }));
        for (const { text } of calls.filter((call) => call.text.includes('"id":"resp_'))) {
            const got = await api.get(`responses/${idIn(text)}`);
            assert.ok([200, 404].includes(got.status), got.text);
            assert.ok(got.status === 404 || got.json.status === 'completed');
            if (text.includes('[DONE]'))
                assert.equal(checkStream(text).response.id, got.json.id);
        }
    });
});

captures.judge(test);
