/* background.test.mjs -- responses that run without their client: accepted, asked for, ended early, in a queue,
 * in conversations and with tools (CONTRACT 4.8). */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { accepted, become, cancel, checkShown, ended, idOf, resume, tail } from '../lib/background.mjs';
import { Captures, checkError, checkStream, readingOf } from '../lib/check.mjs';
import { checkTail, isRunning } from '../lib/check_resume.mjs';
import { ask, get, open } from '../lib/client.mjs';
import { pair, shared, startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { declared, gateway, shown } from '../lib/mcp.mjs';
import { startMcp } from '../lib/mcp_server.mjs';
import { patience } from '../lib/patience.mjs';
import { HANG, SILENCE, callStream, chunk, failure, frames, stream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

const STARTED = stream([...frames(chunk({ content: 'one' }), chunk({ content: ' two' })), HANG]);

function gated(...pieces) {
    let release;
    const gate = new Promise((done) => (release = done));
    return [stream([...frames(chunk({ content: 'one' })), gate, ...pieces, ...frames(chunk({}, 'stop'), '[DONE]')]), release];
}

describe('a background response', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });

    test('is queued, in progress, completed, and never changes again', async () => {
        const [answer, release] = gated();
        both.up.next(answer);
        const first = await accepted(both.daemon, { metadata: { k: 'v' } }, captures);
        await become(both.daemon, first.id, 'in_progress');
        release();
        const last = await ended(both.daemon, first.id, captures);
        assert.deepEqual([last.status, readingOf(last).text, last.created_at], ['completed', 'one', first.created_at]);
        assert.deepEqual((await get(both.daemon, `/v1/responses/${first.id}`)).json, last);
    });

    test('streamed begins with created, queued and in_progress; what is stored is what was streamed', async () => {
        both.up.next(textStream('Hello world', { reasoning: 'Hm' }));
        const { text, headers } = await ask(both.daemon, { model: 'm', input: 'Hi', background: true, stream: true });
        captures.keep('streamed.sse', text);
        assert.match(headers['content-type'], /^text\/event-stream/);
        const { response, types } = checkStream(text);
        assert.deepEqual(types.slice(0, 3), ['response.created', 'response.queued', 'response.in_progress']);
        assert.deepEqual(await ended(both.daemon, response.id, captures), response);
        checkTail(await tail(both.daemon, response.id), -1, text);
    });

    for (const streamed of [true, false]) {
        test(`goes on when its client is gone${streamed ? ', streamed' : ''}`, async () => {
            const [answer, release] = gated(...frames(chunk({ content: ' two' })));
            both.up.next(answer);
            const call = open(both.daemon, { model: 'm', input: 'Hi', background: true, stream: streamed });
            await call.until('"status":"queued"');
            call.destroy();
            const id = call.text.match(/"id":"(resp_\w+)"/)[1];
            await both.up.request(0);
            release();
            assert.equal(readingOf(await ended(both.daemon, id, captures)).text, 'one two');
        });
    }

    test('that fails says why, in its object and in its stream', async () => {
        both.up.next(failure(400, 'maximum context length exceeded', { code: 'context_length_exceeded' }));
        const { id } = await accepted(both.daemon, {}, captures);
        const { status, error } = await ended(both.daemon, id, captures);
        assert.deepEqual([status, error.code], ['failed', 'context_length_exceeded']);
        const text = await tail(both.daemon, id);
        captures.keep('failed.sse', text);
        assert.equal(checkStream(text).response.error.code, 'context_length_exceeded');
    });

    test('that is incomplete says so', async () => {
        both.up.next(textStream('cut', { finish: 'length' }));
        const { id } = await accepted(both.daemon, {}, captures);
        assert.equal((await ended(both.daemon, id, captures)).status, 'incomplete');
    });

    test('is continued when it has ended, and not before', async () => {
        const [answer, release] = gated();
        both.up.next(answer, textStream('Second'));
        const { id } = await accepted(both.daemon, { input: 'One' }, captures);
        await become(both.daemon, id, 'in_progress');
        const early = await ask(both.daemon, { model: 'm', input: 'Two', previous_response_id: id });
        captures.keep('early.json', early.bytes, '--kind', 'error');
        checkError(early, 400, 'previous_response_not_found', 'previous_response_id');
        release();
        await ended(both.daemon, id, captures);
        const next = await accepted(both.daemon, { input: 'Two', previous_response_id: id }, captures);
        assert.equal(readingOf(await ended(both.daemon, next.id, captures)).text, 'Second');
        assert.deepEqual(both.up.requests.at(-1).body.messages.map(({ content }) => content), ['One', 'one', 'Two']);
    });

    test('has its input items as soon as it is accepted', async () => {
        both.up.next(STARTED);
        const { id } = await accepted(both.daemon, { input: 'One' }, captures);
        const { json: { data } } = await get(both.daemon, `/v1/responses/${id}/input_items`);
        assert.deepEqual(data.map(({ content }) => content[0].text), ['One']);
        checkShown(await cancel(both.daemon, id));
    });

    test('with a call of the client\'s is completed, and goes on with another one', async () => {
        const tools = [{ type: 'function', name: 'f', parameters: { type: 'object' } }];
        both.up.next(callStream(['f', {}, 'a']), textStream('Done.'));
        const { id } = await accepted(both.daemon, { tools }, captures);
        const { status, output } = await ended(both.daemon, id, captures);
        assert.deepEqual([status, output[0].type], ['completed', 'function_call']);
        const next = await accepted(both.daemon, { tools, previous_response_id: id, input: [{ type: 'function_call_output', call_id: 'a', output: 'fine' }] }, captures);
        assert.equal(readingOf(await ended(both.daemon, next.id, captures)).text, 'Done.');
    });

    test('locks its conversation from when it is accepted until it ends', async () => {
        const { json: { id: conversation } } = await ask(both.daemon, {}, { path: '/v1/conversations' });
        const [answer, release] = gated();
        both.up.next(answer, textStream('Second'));
        const { id } = await accepted(both.daemon, { input: 'One', conversation }, captures);
        for (const background of [true, false]) {
            const got = await ask(both.daemon, { model: 'm', input: 'Two', conversation, background });
            captures.keep('locked.json', got.bytes, '--kind', 'error');
            checkError(got, 409, 'conversation_locked');
        }
        release();
        await ended(both.daemon, id, captures);
        const next = await accepted(both.daemon, { input: 'Two', conversation }, captures);
        await ended(both.daemon, next.id, captures);
        const { json: { data } } = await get(both.daemon, `/v1/conversations/${conversation}/items?order=asc`);
        assert.deepEqual(data.map(({ content }) => content[0].text), ['One', 'one', 'Two', 'Second']);
    });

    test('that is cancelled leaves its conversation free, and nothing in it', async () => {
        const { json: { id: conversation } } = await ask(both.daemon, {}, { path: '/v1/conversations' });
        both.up.next(STARTED, textStream('Second'));
        const { id } = await accepted(both.daemon, { input: 'One', conversation }, captures);
        await both.up.request(0);
        checkShown(await cancel(both.daemon, id));
        const next = await accepted(both.daemon, { input: 'Two', conversation }, captures);
        await ended(both.daemon, next.id, captures);
        assert.deepEqual(both.up.requests.at(-1).body.messages.map(({ content }) => content), ['Two']);
    });
});

/* ---- ended early ---- */

/* Milliseconds until the upstream saw its connection close. */
async function closing(request, since) {
    await request.closed;
    return request.closedAt - since;
}

describe('cancel', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });

    /* [phase, upstream's answer, text of the response when it has got so far] */
    for (const [phase, answer, text] of [
        ['before the model says a word', SILENCE, undefined],
        ['while the model speaks', STARTED, 'one two'],
    ]) {
        test(`${phase}: the upstream's connection closes, the answer is what there is`, async (t) => {
            both.up.next(answer);
            const { id } = await accepted(both.daemon, {}, captures);
            const request = await both.up.request(0);
            const reader = resume(both.daemon, id);
            await reader.until(text ? '"delta":" two"' : 'response.in_progress');
            const since = performance.now();
            const got = await cancel(both.daemon, id);
            t.diagnostic(`the upstream sees it after ${(await closing(request, since)).toFixed(1)} ms`);
            captures.keep('cancelled.json', got.bytes);
            const response = checkShown(got);
            assert.deepEqual([response.status, response.error], ['cancelled', null]);
            assert.deepEqual(response.output.map(({ status }) => status), text ? ['incomplete'] : []);
            assert.equal(readingOf(response).text, text ?? '');
            assert.equal((await cancel(both.daemon, id)).text, got.text, 'the second time as well');
            assert.deepEqual(await ended(both.daemon, id, captures), response);

            const stream = (await reader.done).text;
            captures.keep('cancelled.sse', stream);
            const { response: last } = checkStream(stream);
            assert.deepEqual([last.status, last.error.code, last.output], ['failed', 'response_cancelled', response.output]);
            checkTail(await tail(both.daemon, id), -1, stream);
        });
    }

    test('of one that has ended changes nothing', async () => {
        both.up.next(textStream('Hello'));
        const { id } = await accepted(both.daemon, {}, captures);
        const response = await ended(both.daemon, id, captures);
        for (let i = 0; i < 2; i++)
            assert.deepEqual(checkShown(await cancel(both.daemon, id)), response);
    });

    test('of one in the foreground is refused, running or not; of an unknown one, too', async () => {
        const { json: { id } } = await ask(both.daemon, { model: 'm', input: 'Hi' });
        const [answer, release] = gated();
        both.up.next(answer);
        const running = open(both.daemon, { model: 'm', input: 'Hi', stream: true });
        await running.until('"delta":"one"');
        for (const one of [id, idOf(running.text)]) {
            const got = await cancel(both.daemon, one);
            captures.keep('foreground.json', got.bytes, '--kind', 'error');
            checkError(got, 400, 'invalid_value');
        }
        checkError(await cancel(both.daemon, 'resp_00000000000000000000000000000000'), 404, 'not_found');
        release();
        assert.equal(checkStream((await running.done).text).response.status, 'completed');
    });

    test('while a tool runs: the call is cancelled, its item incomplete, nothing is asked again', async (t) => {
        const fake = await startMcp();
        const g = await gateway(t, { servers: { fake }, captures });
        g.up.next(callStream([shown('fake', 'hang'), {}, 'c1']));
        const { id } = await accepted(g.daemon, { tools: [declared('fake')] }, captures);
        const call = await fake.called();
        const since = performance.now();
        const response = checkShown(await cancel(g.daemon, id));
        await fake.until(() => call.cancelled);
        t.diagnostic(`the server has heard of it after ${(fake.of('notifications/cancelled')[0].at - since).toFixed(1)} ms`);
        assert.equal(response.status, 'cancelled');
        assert.deepEqual(response.output.map(({ type, status }) => [type, status]), [['mcp_call', 'incomplete']]);
        assert.equal(g.up.requests.length, 1);
    });

    test('crossing the end: what is stored first wins, and every answer shows it', async () => {
        both.up.always(() => stream(frames(chunk({ content: 'one' }), chunk({}, 'stop'), '[DONE]').flatMap((frame) => [2, frame])));
        const seen = {};
        for (let i = 0; i < 30; i++) {
            const { id } = await accepted(both.daemon, {}, captures);
            await pause(i % 10);
            const [one, other] = await Promise.all([cancel(both.daemon, id), cancel(both.daemon, id)]);
            const last = await ended(both.daemon, id, captures);
            assert.deepEqual([checkShown(one), checkShown(other)], [last, last]);
            seen[last.status] = (seen[last.status] ?? 0) + 1;
            const { response } = checkStream(await tail(both.daemon, id));
            assert.equal(response.status, last.status === 'cancelled' ? 'failed' : last.status);
        }
        assert.deepEqual(Object.keys(seen).filter((status) => !['cancelled', 'completed'].includes(status)), []);
    });

    for (const phase of ['in the queue', 'running', 'ended']) {
        test(`DELETE ${phase}: it is gone at once, and its work as well`, async (t) => {
            const { up, daemon } = await pair(t, '--background-running', '1');
            up.always(STARTED);
            const others = [];
            if (phase === 'in the queue') {
                others.push((await accepted(daemon, {}, captures)).id);
                await up.request(0);
            }
            if (phase === 'ended')
                up.next(textStream('Hello'));
            const { id } = await accepted(daemon, {}, captures);
            if (phase === 'running')
                await up.request(0);
            if (phase === 'ended')
                await ended(daemon, id, captures);
            const reader = phase === 'running' ? resume(daemon, id) : undefined;
            await reader?.until('"delta":" two"');
            const got = await ask(daemon, undefined, { method: 'DELETE', path: `/v1/responses/${id}` });
            captures.keep('deleted.json', got.bytes);
            assert.deepEqual([got.status, got.json.deleted], [200, true]);
            checkError(await get(daemon, `/v1/responses/${id}`), 404, 'not_found');
            checkError(await resume(daemon, id).done, 404, 'not_found');
            checkError(await cancel(daemon, id), 404, 'not_found');
            if (phase === 'running') {
                await up.requests[0].closed;
                await reader.done.catch(() => {}); /* it ends, whatever it is told */
            }
            for (const other of others)
                checkShown(await cancel(daemon, other));
            assert.equal(up.requests.length, 1);
            checkError(await get(daemon, `/v1/responses/${id}`), 404, 'not_found'); /* nothing brings it back */
        });
    }
});

/* ---- the queue ---- */

describe('the queue', { concurrency: false }, () => {
    test('so many run at once, the rest waits, first come first served', async (t) => {
        const { up, daemon } = await pair(t, '--background-running', '2');
        const gates = {};
        up.always(({ body }) => {
            const [answer, release] = gated();
            gates[body.messages.at(-1).content] = release;
            return answer;
        });
        const ids = [];
        for (let i = 0; i < 6; i++)
            ids.push((await accepted(daemon, { input: `job ${i}` }, captures)).id);
        const asked = () => up.requests.map(({ body }) => body.messages.at(-1).content);
        for (let i = 0; i < 6; i++) {
            await up.request(Math.min(i + 1, 5));
            assert.ok(asked().length <= i + 2, 'no more than may run');
            gates[`job ${i}`]();
            await ended(daemon, ids[i], captures);
        }
        assert.deepEqual(asked().slice(2), ['job 2', 'job 3', 'job 4', 'job 5']);
        assert.deepEqual(asked().slice(0, 2).sort(), ['job 0', 'job 1']);
    });

    test('owners take turns', async (t) => {
        const { up, daemon } = await pair(t, '--background-running', '1', '--api-key', 'key-of-anna', '--api-key', 'key-of-ben');
        up.always(() => textStream('Hello'));
        const [answer, release] = gated();
        up.next(answer);
        const as = (key, input) => ask(daemon, { model: 'm', input, background: true }, { headers: { authorization: `Bearer ${key}` } });
        const first = await as('key-of-anna', 'anna 0');
        await up.request(0);
        const rest = [];
        for (const i of [1, 2, 3])
            rest.push(await as('key-of-anna', `anna ${i}`));
        rest.push(await as('key-of-ben', 'ben 1'), await as('key-of-ben', 'ben 2'));
        release();
        await up.request(5);
        assert.deepEqual([first, ...rest].map(({ status }) => status), Array(6).fill(200));
        const order = up.requests.map(({ body }) => body.messages.at(-1).content);
        assert.ok(order.indexOf('ben 1') <= 2, `nobody waits for all of another one: ${order}`);
        assert.ok(order.indexOf('ben 2') <= 4, `nobody waits for all of another one: ${order}`);
        for (const [key, got] of [['key-of-anna', rest[2]], ['key-of-ben', rest[4]]]) {
            const mine = (path) => get(daemon, path, { headers: { authorization: `Bearer ${key}` } });
            for (const deadline = performance.now() + patience(10_000); isRunning((await mine(`/v1/responses/${got.json.id}`)).json);)
                assert.ok(performance.now() < deadline);
        }
        checkError(await get(daemon, `/v1/responses/${rest[0].json.id}?stream=true`, { headers: { authorization: 'Bearer key-of-ben' } }), 404, 'not_found');
    });

    test('full: 429 that says when to come again, and nothing of it is kept', async (t) => {
        const { up, daemon } = await pair(t, '--background-running', '1', '--background-queue', '3');
        up.next(STARTED);
        const running = await accepted(daemon, {}, captures);
        await become(daemon, running.id, 'in_progress');
        const waiting = [await accepted(daemon, {}, captures), await accepted(daemon, {}, captures)];
        const third = await ask(daemon, { model: 'm', input: 'Hi', background: true }); /* whether what runs is counted is not said */
        if (third.status === 200)
            waiting.push(third.json);
        for (const streamed of [false, true]) {
            const full = await ask(daemon, { model: 'm', input: 'Hi', background: true, stream: streamed });
            captures.keep('full.json', full.bytes, '--kind', 'error');
            checkError(full, 429, 'rate_limit_exceeded');
            assert.equal(full.headers['retry-after'], '10');
        }
        up.next(textStream('In the foreground'));
        assert.equal((await ask(daemon, { model: 'm', input: 'Hi' })).status, 200, 'others are served');
        for (const { id } of [...waiting, running])
            assert.equal(checkShown(await cancel(daemon, id)).status, 'cancelled');
        up.next(textStream('Hello'));
        const { id } = await accepted(daemon, {}, captures);
        assert.equal((await ended(daemon, id, captures)).status, 'completed');
        assert.equal(up.requests.length, 3, 'those that were cancelled while they waited were never asked');
    });

    test('cancelled in it: 200 at once, no output, a stream that says so, and the upstream was never asked', async (t) => {
        const { up, daemon } = await pair(t, '--background-running', '1');
        up.always(STARTED);
        const first = await accepted(daemon, {}, captures);
        await up.request(0);
        const { id } = await accepted(daemon, {}, captures);
        const waiting = resume(daemon, id);
        await waiting.until('response.queued');
        const response = checkShown(await cancel(daemon, id));
        assert.deepEqual([response.status, response.output, response.error], ['cancelled', [], null]);
        const text = (await waiting.done).text;
        captures.keep('cancelled in the queue.sse', text);
        const { types, response: last } = checkStream(text);
        assert.deepEqual(types, ['response.created', 'response.queued', 'response.in_progress', 'error', 'response.failed']);
        assert.equal(last.error.code, 'response_cancelled');
        checkTail(await tail(daemon, id), -1, text);
        await ended(daemon, id, captures);
        checkShown(await cancel(daemon, first.id));
        assert.equal(up.requests.length, 1);
    });

    test('background_timeout ends work with an error of the server', async (t) => {
        const { up, daemon } = await pair(t, '--background-timeout', '300ms');
        up.next(STARTED);
        const { id } = await accepted(daemon, {}, captures);
        const { status, error, output } = await ended(daemon, id, captures);
        assert.deepEqual([status, error.code, output[0].status], ['failed', 'server_error', 'incomplete']);
        await up.requests[0].closed;
        const text = await tail(daemon, id);
        captures.keep('timeout.sse', text);
        checkStream(text);
    });
});

/* ---- the gateway's end ---- */

describe('SIGTERM', { concurrency: false }, () => {
    test('what waits is run by the next gateway, what runs has its time and then fails', async (t) => {
        const store = `sqlite:${folder(t, 'antiphon.db')}`;
        const args = ['--store', store, '--background-running', '1', '--background-lease', '1s'];
        const { up, daemon } = await pair(t, ...args, '--drain-timeout', '300ms');
        up.next(STARTED);
        const running = await accepted(daemon, { input: 'running' }, captures);
        await up.request(0);
        const waiting = await accepted(daemon, { input: 'waiting' }, captures);
        await daemon.stop();
        assert.equal(up.requests.length, 1, 'nothing new is begun');
        up.always(textStream('Hello'));
        const next = await startDaemon({ upstream: up.url, args });
        t.after(() => next.stop());
        const { status, error } = await ended(next, running.id, captures);
        assert.deepEqual([status, error.code], ['failed', 'server_error']);
        checkStream(await tail(next, running.id));
        assert.equal((await ended(next, waiting.id, captures)).status, 'completed');
    });

    test('what runs may end within drain_timeout', async (t) => {
        const store = `sqlite:${folder(t, 'antiphon.db')}`;
        const { up, daemon } = await pair(t, '--store', store, '--drain-timeout', '20s');
        const [answer, release] = gated();
        up.next(answer);
        const { id } = await accepted(daemon, {}, captures);
        const reader = resume(daemon, id);
        await reader.until('"delta":"one"');
        const stopped = daemon.stop({ ms: 30_000 });
        await pause(200);
        release();
        await stopped;
        assert.equal(checkStream((await reader.done).text).response.status, 'completed');
        const next = await startDaemon({ upstream: up.url, args: ['--store', store] });
        t.after(() => next.stop());
        assert.equal((await ended(next, id, captures)).status, 'completed');
    });
});

captures.judge(test);
