/* stream.test.mjs -- how a stream looks on the wire and in time (CONTRACT 4.1). */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkError, checkStream, readingOf } from '../lib/check.mjs';
import { ask, dechunk, open, raw } from '../lib/client.mjs';
import { pair, shared } from '../lib/daemon.mjs';
import { ABOUT_TIME } from '../lib/patience.mjs';
import { HANG, SILENCE, callStream, chunk, failure, frames, stream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const REQUEST = { model: 'm', input: 'Hi', stream: true };
const tool = (name) => ({ type: 'function', name, parameters: { type: 'object' } });

/* The same but for what must differ between two responses. */
function withoutIdentity(response) {
    const { id, created_at, completed_at, ...rest } = response;
    return { ...rest, output: rest.output.map(({ id: itemId, ...item }) => item) };
}

const TALK = stream(frames(
    chunk({ reasoning_content: 'Let me ' }), chunk({ reasoning_content: 'see' }), chunk({ content: 'Looking.' }),
    chunk({ tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'a', arguments: '{"x":1}' } }] }),
    chunk({}, 'tool_calls'), '[DONE]'));

describe('a stream', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });

    test('has the headers of an event stream that nobody buffers', async () => {
        const { headers } = await ask(both.daemon, REQUEST);
        assert.equal(headers['content-type'], 'text/event-stream; charset=utf-8');
        assert.equal(headers['cache-control'], 'no-cache');
        assert.equal(headers['x-accel-buffering'], 'no');
        assert.equal(headers['transfer-encoding'], 'chunked');
        assert.ok(headers['x-request-id']);
    });

    test('has HTTP chunks that end where frames end', async () => {
        const body = JSON.stringify(REQUEST);
        const bytes = await raw(both.daemon, `POST /v1/responses HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
        const { chunks, complete } = dechunk(bytes);
        assert.ok(complete, 'the last chunk is there');
        for (const piece of chunks)
            assert.ok(piece.endsWith('\n\n'), JSON.stringify(piece.slice(-60)));
        checkStream(chunks.join(''));
    });

    test('ends with the response that a request without stream gets', async () => {
        both.up.always(TALK);
        const request = { ...REQUEST, tools: [tool('a')], metadata: { k: 'v' }, temperature: 0.5, user: 'u' };
        const streamed = checkStream((await ask(both.daemon, request)).text).response;
        const whole = (await ask(both.daemon, { ...request, stream: false })).json;
        assert.deepEqual(withoutIdentity(whole), withoutIdentity(streamed));
        assert.equal(JSON.stringify(Object.keys(whole)), JSON.stringify(Object.keys(streamed)), 'members come in one order');
        assert.deepEqual(streamed.output.map((i) => i.type), ['reasoning', 'message', 'function_call']);
    });

    test('delivers each delta when it arrives', async () => {
        let release;
        const later = new Promise((done) => (release = done));
        both.up.next(stream([...frames(chunk({ content: 'first' })), later, ...frames(chunk({ content: 'second' }, 'stop'), '[DONE]')]));
        const call = open(both.daemon, REQUEST);
        await call.until('"delta":"first"');
        assert.ok(!call.text.includes('second'));
        release();
        checkStream((await call.done).text);
    });

    test('escapes what line splitters trip over', async () => {
        both.up.next(textStream('a\u2028b\u2029c\u0085d 😀 "q" \\ \n'));
        const got = await ask(both.daemon, REQUEST);
        captures.keep('separators.sse', got.bytes);
        assert.ok(!/[\u2028\u2029\u0085]/.test(got.text));
        assert.equal(readingOf(checkStream(got.text).response).text, 'a\u2028b\u2029c\u0085d 😀 "q" \\ \n');
    });

    test('pads deltas to 16 bytes when obfuscation is asked for', async () => {
        const got = await ask(both.daemon, { ...REQUEST, stream_options: { include_obfuscation: true } });
        captures.keep('obfuscated.sse', got.bytes);
        const deltas = checkStream(got.text).events.filter((e) => e.delta !== undefined);
        assert.ok(deltas.length > 0 && deltas.every((e) => typeof e.obfuscation === 'string'));
    });

    test('shows reasoning as a summary when the request wants one', async () => {
        both.up.always(TALK);
        const got = await ask(both.daemon, { ...REQUEST, tools: [tool('a')], reasoning: { summary: 'auto' } });
        captures.keep('summary.sse', got.bytes);
        const { types, response } = checkStream(got.text);
        assert.ok(types.includes('response.reasoning_summary_text.delta') && !types.includes('response.reasoning_text.delta'));
        assert.deepEqual(response.output[0].summary, [{ type: 'summary_text', text: 'Let me see' }]);
    });

    test('gives custom and namespaced tools their own item types', async () => {
        const tools = [
            { type: 'custom', name: 'exec', description: 'runs', format: { type: 'text' } },
            { type: 'namespace', name: 'files', description: 'f', tools: [tool('read'), { type: 'custom', name: 'patch' }] },
        ];
        both.up.next((request) => callStream(...request.body.tools.map(({ function: { name } }, i) =>
            [name, name.endsWith('read') ? { path: 'a' } : { input: 'line 1\n"two" 😀' }, `c${i}`])));
        const got = await ask(both.daemon, { ...REQUEST, tools });
        captures.keep('custom.sse', got.bytes);
        const { response } = checkStream(got.text);
        assert.deepEqual(response.output.map(({ type, name, namespace, input, arguments: args }) => [type, namespace, name, input ?? args]), [
            ['custom_tool_call', undefined, 'exec', 'line 1\n"two" 😀'],
            ['function_call', 'files', 'read', '{"path":"a"}'],
            ['custom_tool_call', 'files', 'patch', 'line 1\n"two" 😀'],
        ]);
    });

    test('ends incomplete when the upstream hit the token limit', async () => {
        both.up.next(textStream('cut', { finish: 'length' }));
        const { response } = checkStream((await ask(both.daemon, { ...REQUEST, max_output_tokens: 1 })).text);
        assert.deepEqual(response.incomplete_details, { reason: 'max_output_tokens' });
        assert.equal(response.completed_at, null);
    });

    test('carries one large delta and many small ones', async () => {
        const big = 'x'.repeat(2 << 20);
        both.up.next(stream(frames(chunk({ content: big }), ...Array(2000).fill(chunk({ content: 'y' })), chunk({}, 'stop'), '[DONE]')));
        const { response } = checkStream((await ask(both.daemon, REQUEST)).text);
        assert.equal(response.output[0].content[0].text, big + 'y'.repeat(2000));
    });

    test('reaches a client that reads late', async () => {
        const many = 3000;
        both.up.next(stream(frames(...Array(many).fill(chunk({ content: 'z'.repeat(500) })), chunk({}, 'stop'), '[DONE]')));
        const call = open(both.daemon, REQUEST);
        const res = await new Promise((done) => call.request.once('response', done));
        res.pause();
        while (res.readableLength < res.readableHighWaterMark) /* then nothing more is read */
            await new Promise((done) => setTimeout(done, 2));
        res.resume();
        assert.equal(checkStream((await call.done).text).response.output[0].content[0].text.length, many * 500);
    });

    test('50 at once do not mix', async () => {
        both.up.always((request) => {
            const name = request.body.messages.at(-1).content;
            return stream(frames(...Array.from({ length: 20 }, (_, i) => chunk({ content: `${name}.${i} ` })), chunk({}, 'stop'), '[DONE]').flatMap((f) => [f, 3]));
        });
        const names = Array.from({ length: 50 }, (_, i) => `stream${i}`);
        const answers = await Promise.all(names.map((name) => ask(both.daemon, { ...REQUEST, input: name })));
        const ids = new Set();
        answers.forEach((got, i) => {
            const { response } = checkStream(got.text);
            const want = Array.from({ length: 20 }, (_, k) => `${names[i]}.${k} `).join('');
            assert.equal(readingOf(response).text, want);
            ids.add(response.id);
        });
        assert.equal(ids.size, 50);
    });
});

describe('options of a stream', { concurrency: false }, () => {
    for (const [mode, types, text] of [['none', ['message', 'function_call'], ''], ['summary', ['reasoning', 'message', 'function_call'], 'Let me see']]) {
        test(`--reasoning ${mode}`, async (t) => {
            const { up, daemon } = await pair(t, '--reasoning', mode);
            up.always(TALK);
            const got = await ask(daemon, { ...REQUEST, tools: [tool('a')] });
            captures.keep(`reasoning-${mode}.sse`, got.bytes);
            const { response, types: events } = checkStream(got.text);
            assert.deepEqual(response.output.map((i) => i.type), types);
            assert.equal(readingOf(response).reasoning, text);
            assert.ok(!events.some((type) => type.startsWith('response.reasoning_text')));
        });
    }

    test('more clients than max_connections are told to come back', async (t) => {
        const { up, daemon } = await pair(t, '--workers', '1', '--max-connections', '2');
        up.always(stream([...frames(chunk({ content: 'a' })), HANG]));
        const held = [1, 2].map(() => open(daemon, REQUEST));
        await Promise.all(held.map((call) => call.until('"delta":"a"')));
        checkError(await ask(daemon, REQUEST), 503, 'server_is_overloaded');
        held.forEach((call) => call.destroy());
    });
});

describe('silence', { concurrency: false }, () => {
    test('the head comes after early_error_window without an answer, and heartbeats follow', { skip: ABOUT_TIME }, async (t) => {
        const { up, daemon } = await pair(t, '--early-error-window', '200ms', '--heartbeat-interval', '100ms');
        up.always({ before: [3000], ...textStream('late') });
        const call = open(daemon, REQUEST);
        await call.head;
        const waited = call.headAt - call.startedAt;
        t.diagnostic(`head after ${waited.toFixed(0)} ms`);
        assert.ok(waited > 150 && waited < 2500, `${waited} ms`);
        await call.until(': heartbeat\n\n');
        const got = await call.done;
        captures.keep('heartbeats.sse', got.bytes);
        assert.ok(got.text.match(/: heartbeat\n\n/g).length >= 3);
        assert.equal(checkStream(got.text).response.status, 'completed');
    });

    test('early_error_window 0 sends the head at once', { skip: ABOUT_TIME }, async (t) => {
        const { up, daemon } = await pair(t, '--early-error-window', '0');
        up.always({ before: [400], ...failure(429, 'slow down') });
        const got = await ask(daemon, REQUEST);
        assert.ok(got.headAt - got.startedAt < 300);
        assert.equal(checkStream(got.text).response.error.code, 'rate_limit_exceeded');
    });

    test('an error within the window is an HTTP error', async (t) => {
        const { up, daemon } = await pair(t);
        up.always({ ...failure(429, 'slow down'), before: [200] });
        checkError(await ask(daemon, REQUEST), 429, 'rate_limit_exceeded');
    });

    test('heartbeat_interval 0 sends none', async (t) => {
        const { up, daemon } = await pair(t, '--heartbeat-interval', '0', '--early-error-window', '0');
        up.always({ before: [500], ...textStream('late') });
        assert.ok(!(await ask(daemon, REQUEST)).text.includes(': heartbeat'));
    });

    test('heartbeats come between pieces of an answer, too', async (t) => {
        const { up, daemon } = await pair(t, '--heartbeat-interval', '100ms');
        up.always(stream([...frames(chunk({ content: 'a' })), 350, ...frames(chunk({ content: 'b' }, 'stop'), '[DONE]')]));
        const got = await ask(daemon, REQUEST);
        assert.match(got.text, /"delta":"a".*: heartbeat\n\n.*"delta":"b"/s);
        checkStream(got.text);
    });

    test('keepalive events count, for readers that do not count comments', async (t) => {
        const { up, daemon } = await pair(t, '--keepalive-interval', '100ms', '--early-error-window', '0');
        up.always({ before: [350], ...textStream('late') });
        const got = await ask(daemon, REQUEST);
        captures.keep('keepalive.sse', got.bytes);
        assert.ok(checkStream(got.text).types.filter((type) => type === 'keepalive').length >= 2);
    });

    test('comments of the upstream keep it alive', async (t) => {
        const { up, daemon } = await pair(t, '--idle-timeout', '300ms');
        up.always(stream([...Array(8).fill([': ping\n\n', 100]).flat(), ...frames(chunk({ content: 'a' }, 'stop'), '[DONE]')]));
        assert.equal(checkStream((await ask(daemon, REQUEST)).text).response.status, 'completed');
    });

    test('a silent upstream does not hold up others', async (t) => {
        const { up, daemon } = await pair(t, '--workers', '1');
        up.next(SILENCE, SILENCE, stream([HANG]));
        const stuck = [1, 2, 3].map(() => open(daemon, REQUEST));
        await up.request(2);
        assert.equal((await ask(daemon, { ...REQUEST, stream: false })).status, 200);
        stuck.forEach((call) => call.destroy());
    });
});

captures.judge(test);
