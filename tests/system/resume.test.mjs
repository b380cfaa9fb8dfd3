/* resume.test.mjs -- the events of a response read again: from any event on, while it is made and when
 * it is over, by several clients at their own pace (CONTRACT 4.8). */
import assert from 'node:assert/strict';
import http from 'node:http';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkError, checkStream } from '../lib/check.mjs';
import { checkTail, headOf, tailOf, writtenFrames } from '../lib/check_resume.mjs';
import { ask, get, open } from '../lib/client.mjs';
import { shared, startDaemon } from '../lib/daemon.mjs';
import { declared, sharedGateway, shown } from '../lib/mcp.mjs';
import { TOOLS, startMcp } from '../lib/mcp_server.mjs';
import { fn } from '../lib/state.mjs';
import { CLOSE, callStream, chunk, frames, startUpstream, stream, textStream, usageChunk } from '../lib/upstream.mjs';

const captures = new Captures();
const REQUEST = { model: 'm', input: 'Hi', stream: true };
const JUDGED = [0, 2, 7]; /* the validator takes a start for each number */
const OBFUSCATION = /,"obfuscation":"[^"]*"/g;

const idOf = (text) => text.match(/"id":"(resp_\w+)"/)[1];
const pathOf = (id, query = '') => `/v1/responses/${id}?stream=true${query}`;
const reread = (daemon, id, query) => get(daemon, pathOf(id, query));

/* A client that reads along. */
const join = (t, daemon, id, query = '') => {
    const reader = open(daemon, undefined, { method: 'GET', path: pathOf(id, query) });
    t.after(() => reader.destroy());
    return reader;
};

/* A promise that the test keeps when it wants to. */
function gate() {
    let unlock;
    const until = new Promise((done) => (unlock = done));
    return { until, unlock };
}

/* All that a client needs to know of a stream of which it has had everything up to event n. */
function checkRest(got, n, whole) {
    assert.equal(got.status, 200, got.text);
    assert.equal(got.headers['content-type'], 'text/event-stream; charset=utf-8');
    assert.deepEqual([got.headers['cache-control'], got.headers['x-accel-buffering']], ['no-cache', 'no']);
    assert.deepEqual(writtenFrames(got.text), tailOf(whole, n), `the rest behind event ${n}`);
}

async function checkEveryRest(daemon, whole) {
    const id = idOf(whole);
    const last = writtenFrames(whole).length - 2; /* [DONE] has no number */
    for (let n = -1; n <= last; n++) {
        const got = await reread(daemon, id, n === -1 ? '' : `&starting_after=${n}`);
        checkRest(got, n, whole);
        if (n === last)
            continue;
        checkTail(got.text, n, whole);
        checkStream(headOf(whole, n) + got.text);
        if (JUDGED.includes(n))
            captures.keep(`tail_after_${n}.sse`, got.bytes, '--resume', String(n));
    }
    for (const query of ['-1', String(last + 1), '99999999999999999999'])
        checkRest(await reread(daemon, id, `&starting_after=${query}`), query === '-1' ? -1 : last, whole);
}

/* ---- over */

const TWO_CALLS = stream(frames(chunk({ reasoning_content: 'Hm' }), chunk({ content: 'I look.' }),
    ...['a', 'b'].map((id, index) => chunk({ tool_calls: [{ index, id, type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } }] })),
    chunk({}, 'tool_calls'), usageChunk(7, 7), '[DONE]'));

/* [what, upstream's answer, request, arguments of the gateway] */
const ANSWERS = [
    ['with text', textStream(' Hello "world"\n\u2028 é 漢 \u{1f600} and a bit more'), {}],
    ['with reasoning', textStream('Yes, it is.', { reasoning: 'Let me see what it may be' }), {}],
    ['with a summary', textStream('Yes.', { reasoning: 'Let me see' }), { reasoning: { summary: 'auto' } }],
    ['with encrypted reasoning', textStream('Yes.', { reasoning: 'Let me see' }), { include: ['reasoning.encrypted_content'] }],
    ['with calls', TWO_CALLS, { tools: [fn('weather')] }],
    ['with a custom call', callStream(['patch', { input: 'x' }, 'a']), { tools: [{ type: 'custom', name: 'patch' }] }],
    ['without output', textStream(''), {}],
    ['cut', textStream('Cut here', { finish: 'length' }), {}],
    ['broken', stream([...frames(chunk({ reasoning_content: 'Hm' }), chunk({ content: 'half' })), CLOSE]), {}],
    ['failed before any output', stream(frames({ error: { message: 'KV cache is full', code: 500 } })), {}],
];

describe('a stream that is over', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, '--early-error-window', '0');
    const first = async (answer, more) => {
        both.up.next(answer);
        const got = await ask(both.daemon, { ...REQUEST, ...more });
        checkStream(got.text);
        return got.text;
    };

    for (const [what, answer, more] of ANSWERS) {
        test(`${what} is the same from every event on`, async () => {
            await checkEveryRest(both.daemon, await first(answer, more));
        });
    }

    test('with padding is the same without', async () => {
        const whole = await first(textStream('Hello there'), { stream_options: { include_obfuscation: true } });
        const got = await reread(both.daemon, idOf(whole));
        assert.ok(OBFUSCATION.test(whole) && !OBFUSCATION.test(got.text));
        assert.equal(got.text, whole.replace(OBFUSCATION, ''));
    });

    test('is padded when that is asked for', async () => {
        const whole = await first(textStream('Hello there'));
        const got = await reread(both.daemon, idOf(whole), '&include_obfuscation=true&starting_after=3');
        assert.equal(got.text.match(OBFUSCATION).length, 2);
        assert.equal(got.text.replace(OBFUSCATION, ''), tailOf(whole, 3).map((frame) => `${frame}\n\n`).join(''));
        captures.keep('padded.sse', got.bytes, '--resume', '3');
    });

    test('is shown with include[], which changes nothing of it', async () => {
        const whole = await first(textStream('Hello'));
        checkRest(await reread(both.daemon, idOf(whole), '&include[]=reasoning.encrypted_content'), -1, whole);
    });

    test('has a head', async () => {
        const whole = await first(textStream('Hello'));
        const got = await get(both.daemon, pathOf(idOf(whole)), { method: 'HEAD' });
        assert.deepEqual([got.status, got.headers['content-type'], got.text], [200, 'text/event-stream; charset=utf-8', '']);
    });

    test('is gone with its response', async () => {
        const id = idOf(await first(textStream('Hello')));
        await ask(both.daemon, undefined, { method: 'DELETE', path: `/v1/responses/${id}` });
        checkError(await reread(both.daemon, id), 404, 'not_found');
    });

    test('of two mebibytes is the same, and the gateway answers others meanwhile', async () => {
        const long = Array.from({ length: 64 }, (_, i) => chunk({ content: `${i} `.repeat(16 << 10) }));
        const whole = await first(stream(frames(...long, chunk({}, 'stop'), '[DONE]')));
        const [got, ...others] = await Promise.all([reread(both.daemon, idOf(whole)), ...Array.from({ length: 8 }, () => get(both.daemon, '/health'))]);
        checkRest(got, -1, whole);
        assert.ok(others.every(({ status }) => status === 200));
    });

    for (const [what, query, code, param] of [
        ['a number that is none', '&starting_after=abc', 'invalid_value', 'starting_after'],
        ['half a number', '&starting_after=1.5', 'invalid_value', 'starting_after'],
        ['a number below -1', '&starting_after=-2', 'invalid_value', 'starting_after'],
        ['no number', '&starting_after=', 'invalid_value', 'starting_after'],
        ['a number behind spaces', '&starting_after=%201', 'invalid_value', 'starting_after'],
        ['padding that is no flag', '&include_obfuscation=yes', 'invalid_value', 'include_obfuscation'],
        ['an unknown member', '&include[]=all', 'invalid_value', 'include'],
    ]) {
        test(`asked for with ${what} is refused, also for a response that nobody knows`, async () => {
            const whole = await first(textStream('Hello'));
            for (const id of [idOf(whole), 'resp_x']) {
                const got = await reread(both.daemon, id, query);
                checkError(got, 400, code, param);
                captures.keep('refused.json', got.bytes, '--kind', 'error');
            }
        });
    }

    test('in the legacy dialect is refused', async () => {
        const whole = await first(textStream('Hello'));
        await new Promise((done) => setTimeout(done, 1100)); /* ten are told in a second, which others may have used up */
        const got = await get(both.daemon, pathOf(idOf(whole)), { headers: { 'x-gateway-dialect': 'ors', 'x-request-id': 'req_of_old' } });
        checkError(got, 400, 'invalid_value', 'stream');
        const [line] = await both.daemon.logged(/.* rejected .*request_id=req_of_old.*/);
        assert.match(line, / rejected reason=bad_request .* error=invalid_value param=stream( left_out=\d+)?$/);
    });

    test('the options of a stream are ignored where none is wanted', async () => {
        const whole = await first(textStream('Hello'));
        const got = await get(both.daemon, `/v1/responses/${idOf(whole)}?starting_after=abc&include_obfuscation=yes`);
        assert.deepEqual([got.status, got.json.status], [200, 'completed']);
    });

    test('that was sent in the legacy dialect is not kept', async () => {
        both.up.next(textStream('Hello'));
        const { text } = await ask(both.daemon, REQUEST, { headers: { 'x-gateway-dialect': 'ors' } });
        const got = await reread(both.daemon, idOf(text));
        checkError(got, 400, 'invalid_value', 'stream');
        captures.keep('legacy.json', got.bytes, '--kind', 'error');
    });

    test('of nobody is unknown', async () => {
        checkError(await reread(both.daemon, 'resp_x'), 404, 'not_found');
    });
});

describe('a stream with calls of MCP servers', { concurrency: false }, () => {
    const g = sharedGateway({ before, beforeEach, after }, captures, async () => ({ servers: { fake: await startMcp({ tools: TOOLS }) }, lists: 'declared' }));

    test('is the same from every event on', async () => {
        g.up.next(callStream([shown('fake', 'echo'), { message: 'hi' }, 'c1'], [shown('fake', 'echo'), { message: 'there' }, 'c2']),
            textStream('It said so.', { reasoning: 'Two of them' }));
        const got = await ask(g.daemon, { ...REQUEST, tools: [declared('fake')] });
        assert.ok(got.text.includes('response.mcp_call.completed'), got.text);
        await checkEveryRest(g.daemon, got.text);
    });
});

/* ---- under way */

describe('a stream under way', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, '--workers', '2');

    /* The client's own stream, which has had the first word; the rest comes when the gates are unlocked. */
    async function begin(t, more = {}) {
        const gates = [gate(), gate()];
        both.up.next(stream([...frames(chunk({ content: 'one' })), gates[0].until, ...frames(chunk({ content: ' two' })),
            gates[1].until, ...frames(chunk({ content: ' three' }), chunk({}, 'stop'), usageChunk(1, 3), '[DONE]')]));
        const client = open(both.daemon, { ...REQUEST, ...more });
        t.after(() => client.destroy());
        await client.until('"delta":"one"');
        return { client, gates, id: idOf(client.text) };
    }

    test('is joined by several readers, from any event on', async (t) => {
        const { client, gates, id } = await begin(t);
        const readers = [-1, 0, 3, 4, 5, 6].map((n) => ({ n, got: join(t, both.daemon, id, `&starting_after=${n}`) }));
        await Promise.all(readers.filter(({ n }) => n < 4).map(({ got }) => got.until('"delta":"one"')));
        gates[0].unlock();
        await Promise.all(readers.filter(({ n }) => n < 5).map(({ got }) => got.until('"delta":" two"')));
        gates[1].unlock();
        const { text: whole } = await client.done;
        for (const { n, got } of readers) {
            checkRest(await got.done, n, whole);
            if (n >= 0)
                captures.keep(`live_after_${n}.sse`, got.bytes, '--resume', String(n));
        }
        await checkEveryRest(both.daemon, whole);
    });

    test('goes on for everybody when a reader leaves', async (t) => {
        const { client, gates, id } = await begin(t);
        const [left, stays] = [join(t, both.daemon, id), join(t, both.daemon, id)];
        await Promise.all([left, stays].map((reader) => reader.until('"delta":"one"')));
        left.destroy();
        await both.daemon.logged(/reader .*outcome=client_gone/);
        gates.forEach(({ unlock }) => unlock());
        const { text: whole } = await client.done;
        checkStream(whole);
        checkRest(await stays.done, -1, whole);
    });

    test('breaks off for readers when its own client leaves', async (t) => {
        const { client, id } = await begin(t);
        const reader = join(t, both.daemon, id);
        await reader.until('"delta":"one"');
        client.destroy();
        await assert.rejects(reader.done);
        checkStream(reader.text, { partial: true });
        checkError(await reread(both.daemon, id), 404, 'not_found');
    });

    test('has no more readers than it may', async (t) => {
        const { client, gates, id } = await begin(t);
        const readers = Array.from({ length: 16 }, () => join(t, both.daemon, id));
        await Promise.all(readers.map((reader) => reader.until('"delta":"one"')));
        const refused = await reread(both.daemon, id);
        checkError(refused, 429, 'rate_limit_exceeded');
        captures.keep('too_many.json', refused.bytes, '--kind', 'error');
        gates.forEach(({ unlock }) => unlock());
        const { text: whole } = await client.done;
        for (const reader of readers)
            checkRest(await reader.done, -1, whole);
        checkRest(await reread(both.daemon, id), -1, whole);
    });

    test('is padded for who wants that', async (t) => {
        const { client, gates, id } = await begin(t);
        const reader = join(t, both.daemon, id, '&include_obfuscation=true');
        await reader.until('"delta":"one"');
        gates.forEach(({ unlock }) => unlock());
        const { text: whole } = await client.done;
        await reader.done;
        assert.equal(reader.text.match(OBFUSCATION).length, 3);
        assert.equal(reader.text.replace(OBFUSCATION, ''), whole);
    });

    test('that nobody stores cannot be joined', async (t) => {
        const { client, gates, id } = await begin(t, { store: false });
        checkError(await reread(both.daemon, id), 404, 'not_found');
        gates.forEach(({ unlock }) => unlock());
        checkStream((await client.done).text);
    });

    test('is not held up by a reader that does not read', async (t) => {
        const [begun, go] = [gate(), gate()];
        const long = Array.from({ length: 256 }, (_, i) => chunk({ content: `${i} `.repeat(8 << 10) }));
        both.up.next(stream([...frames(chunk({ content: 'one' })), go.until, ...frames(...long, chunk({}, 'stop'), '[DONE]')]));
        const client = open(both.daemon, REQUEST);
        t.after(() => client.destroy());
        await client.until('"delta":"one"');
        const request = http.get(both.daemon.origin + pathOf(idOf(client.text)), (answer) => begun.unlock(answer));
        t.after(() => request.destroy());
        const slow = await begun.until;
        const quick = join(t, both.daemon, idOf(client.text));
        go.unlock();
        const { text: whole } = await client.done;
        checkRest(await quick.done, -1, whole);
        const parts = [];
        for await (const part of slow)
            parts.push(part);
        assert.ok(Buffer.concat(parts).toString() === whole, 'the slow one has the same in the end');
    });
});

/* ---- left */

describe('a stream whose client leaves', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, '--resume-window', '1h');

    async function leave(t) {
        const rest = gate();
        both.up.next(stream([...frames(chunk({ content: 'one' })), rest.until, ...frames(chunk({ content: ' two' }), chunk({}, 'stop'), usageChunk(1, 2), '[DONE]')]));
        const client = open(both.daemon, REQUEST);
        await client.until('"delta":"one"');
        const id = idOf(client.text);
        client.destroy();
        await both.daemon.logged(new RegExp(`turn_left id=${id}`));
        return { head: client.text, rest, id };
    }

    test('goes on, and what was not read of it is read by whoever comes back', async (t) => {
        const { head, rest, id } = await leave(t);
        const n = writtenFrames(head).length - 1;
        const reader = join(t, both.daemon, id, `&starting_after=${n}`);
        await reader.head;
        rest.unlock();
        await reader.done;
        checkTail(reader.text, n);
        const { response } = checkStream(head + reader.text);
        assert.equal(response.status, 'completed');
        await checkEveryRest(both.daemon, head + reader.text);
        captures.keep('left_and_joined.sse', Buffer.from(head + reader.text));
    });

    test('is stored when nobody comes back', async (t) => {
        const { rest, id } = await leave(t);
        rest.unlock();
        await both.daemon.logged(new RegExp(`turn id=${id}.* status=completed`));
        assert.equal((await get(both.daemon, `/v1/responses/${id}`)).json.status, 'completed');
    });

    test('ends with the gateway, as failed', async (t) => {
        const up = await startUpstream();
        t.after(() => up.close());
        const daemon = await startDaemon({ upstream: up.url, args: ['--resume-window', '1h', '--drain-timeout', '0'] });
        t.after(() => daemon.stop());
        const never = gate();
        t.after(() => never.unlock());
        up.next(stream([...frames(chunk({ content: 'one' })), never.until]));
        const client = open(daemon, REQUEST);
        await client.until('"delta":"one"');
        client.destroy();
        await daemon.logged(/turn_left/);
        await daemon.stop();
        assert.match(daemon.log, /turn id=resp_\w+ .*status=failed/);
    });

    test('ends when its time is over', async (t) => {
        const up = await startUpstream();
        t.after(() => up.close());
        const daemon = await startDaemon({ upstream: up.url, args: ['--resume-window', '50ms'] });
        t.after(() => daemon.stop());
        const never = gate();
        t.after(() => never.unlock());
        up.next(stream([...frames(chunk({ content: 'one' })), never.until]));
        const client = open(daemon, REQUEST);
        await client.until('"delta":"one"');
        const [reader, id] = [join(t, daemon, idOf(client.text)), idOf(client.text)];
        await reader.until('"delta":"one"');
        client.destroy();
        await daemon.logged(/turn_left/);
        reader.destroy();
        await up.requests[0].closed;
        await daemon.logged(/turn .*status=client_gone/);
        checkError(await reread(daemon, id), 404, 'not_found');
    });
});

/* ---- by configuration */

describe('what is kept', { concurrency: false }, () => {
    async function start(t, ...args) {
        const up = await startUpstream();
        t.after(() => up.close());
        const daemon = await startDaemon({ upstream: up.url, args });
        t.after(() => daemon.stop());
        return { up, daemon };
    }

    test('are no events of the foreground when only those of the background are to be', async (t) => {
        const { daemon } = await start(t, '--resumable', 'background');
        const { text } = await ask(daemon, REQUEST);
        const got = await reread(daemon, idOf(text));
        assert.equal(checkError(got, 400, 'invalid_value', 'stream').message, `The events of this response are not kept. Read it without them: GET /v1/responses/${idOf(text)}, and no 'stream'.`);
        captures.keep('not_kept.json', got.bytes, '--kind', 'error');
        assert.equal((await get(daemon, `/v1/responses/${idOf(text)}`)).status, 200, 'the object is there');
    });

    test('are fewer events of a long answer, with more in each, as they were sent', async (t) => {
        const { up, daemon } = await start(t, '--events-per-response', '10');
        up.next(textStream('Ten bytes '.repeat(400)));
        const { text: whole } = await ask(daemon, REQUEST);
        const deltas = [...whole.matchAll(/"delta":"([^"]*)"/g)].map(([, delta]) => delta);
        assert.equal(deltas.join(''), 'Ten bytes '.repeat(400));
        assert.ok(deltas.length < 20, `${deltas.length} deltas`);
        assert.ok(deltas.slice(10, -1).every((delta) => delta.length >= 1024));
        await checkEveryRest(daemon, whole);
    });

    test('is what has been asked for by a client with the same key', async (t) => {
        const { daemon } = await start(t, '--api-key', 'sk-one,sk-two');
        const as = (key) => ({ headers: { authorization: `Bearer ${key}` } });
        const { text: whole } = await ask(daemon, REQUEST, as('sk-one'));
        checkError(await get(daemon, pathOf(idOf(whole)), as('sk-two')), 404, 'not_found');
        checkRest(await get(daemon, pathOf(idOf(whole)), as('sk-one')), -1, whole);
        checkError(await reread(daemon, idOf(whole)), 401, 'invalid_api_key');
    });

    test('a worker that ends breaks a stream off that somebody reads along', async (t) => {
        const { up, daemon } = await start(t, '--drain-timeout', '0');
        const never = gate();
        up.next(stream([...frames(chunk({ content: 'one' })), never.until]));
        const client = open(daemon, REQUEST);
        t.after(() => (client.destroy(), never.unlock()));
        await client.until('"delta":"one"');
        const reader = join(t, daemon, idOf(client.text));
        await reader.until('"delta":"one"');
        const stopped = daemon.stop();
        await assert.rejects(reader.done);
        checkStream(reader.text, { partial: true });
        await client.done;
        await stopped;
    });
});

captures.judge(test);
