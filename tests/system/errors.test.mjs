/* errors.test.mjs -- what becomes of an upstream's failure (CONTRACT 7.3).
 *
 * Every row is tried three ways: not streamed, streamed and failing before the
 * stream has begun (both are HTTP errors), and streamed but failing after
 * early_error_window (events, because the status has gone out).
 */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkError, checkStream } from '../lib/check.mjs';
import { ask } from '../lib/client.mjs';
import { pair, shared, startDaemon } from '../lib/daemon.mjs';
import { CLOSE, HANG, RESET, SILENCE, chunk, failure, frames, json, stream, textStream } from '../lib/upstream.mjs';

const REQUEST = { model: 'm', input: 'Hi' };
const LATE_MS = 300;

const captures = new Captures();

/* What a failure begins with that is no fault of the request. pi and opencode look for such words before they
 * try again (/connection.?error/i, /server error/i, /upstream.*error/i). */
const markOf = (httpCode) => ({ upstream_unavailable: 'Connection error: ', upstream_timeout: 'Connection error: ', upstream_error: 'Upstream server error: ',
    server_is_overloaded: 'Upstream server error: ' })[httpCode] ?? '';
const checkMark = (message, mark) => assert.equal(/^(Connection error: |Upstream server error: )?/.exec(message)[0], mark, message);

/* [what, upstream's answer, HTTP status, HTTP code, code in the stream] */
const ROWS = [
    ['400', failure(400, 'temperature is too hot'), 400, 'upstream_rejected', 'invalid_prompt'],
    ['400 with a code', failure(400, 'no', { code: 'bad_grammar' }), 400, 'bad_grammar', 'invalid_prompt'],
    ['400 context length by code', failure(400, 'too much', { code: 'context_length_exceeded' }), 400, 'context_length_exceeded', 'context_length_exceeded'],
    ['400 context length by text', failure(400, "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens."), 400, 'context_length_exceeded', 'context_length_exceeded'],
    ['400 context size by text', failure(400, 'the request exceeds the available context size', { type: 'exceed_context_size_error' }), 400, 'context_length_exceeded', 'context_length_exceeded'],
    ['404 missing model', failure(404, 'The model `x` does not exist.', { type: 'NotFoundError', code: 404 }), 404, 'model_not_found', 'invalid_prompt'],
    ['404 other', failure(404, 'File Not Found', { code: 404 }), 400, 'upstream_rejected', 'invalid_prompt'],
    ['413', failure(413, 'too large'), 400, 'upstream_rejected', 'invalid_prompt'],
    ['422', json(422, { detail: [{ msg: 'Input should be a valid string' }] }), 400, 'upstream_rejected', 'invalid_prompt'],
    ['401', failure(401, 'bad key'), 502, 'upstream_auth', 'server_error'],
    ['403', failure(403, 'not yours'), 502, 'upstream_auth', 'server_error'],
    ['402', failure(402, 'Insufficient credits'), 429, 'insufficient_quota', 'insufficient_quota'],
    ['429 quota', failure(429, 'You exceeded your current quota, please check your plan and billing details.', { code: 'insufficient_quota' }), 429, 'insufficient_quota', 'insufficient_quota'],
    ['429', failure(429, 'slow down', {}, { 'retry-after': '7' }), 429, 'rate_limit_exceeded', 'rate_limit_exceeded'],
    ['503', failure(503, 'Too many requests in the queue'), 503, 'server_is_overloaded', 'server_error'],
    ['500', failure(500, 'out of luck'), 502, 'upstream_error', 'server_error'],
    ['500 with HTML', { status: 500, headers: { 'content-type': 'text/html' }, pieces: ['<html>oops</html>'] }, 502, 'upstream_error', 'server_error'],
    ['500 without an end', { status: 500, headers: { 'content-type': 'text/html' }, pieces: ['x'.repeat(100 * 1024), HANG] }, 502, 'upstream_error', 'server_error'],
    ['500 with a text', json(500, { error: 'model runner has unexpectedly stopped' }), 502, 'upstream_error', 'server_error'],
    /* llama.cpp calls these a failure of its own; no retry cures them */
    ['500 image without projector', failure(500, 'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj', { code: 500, type: 'server_error' }), 400, 'upstream_rejected', 'invalid_prompt'],
    ['500 arguments of a call', failure(500, 'Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error', { code: 500, type: 'server_error' }), 400, 'upstream_rejected', 'invalid_prompt'],
    ['500 template', failure(500, 'After the optional system message, conversation roles must alternate user/assistant/user/assistant/...', { code: 500, type: 'server_error' }), 400, 'upstream_rejected', 'invalid_prompt'],
    ['529', failure(529, 'overloaded'), 502, 'upstream_error', 'server_error'],
    ['reset before the head', { before: [RESET] }, 502, 'upstream_unavailable', 'server_error'],
    ['closed before the head', { before: [CLOSE] }, 502, 'upstream_unavailable', 'server_error'],
];

const turnLine = async (daemon, id) => (await daemon.logged(new RegExp(`.* turn .*request_id=${id}\\b.*`)))[0];

const late = (answer) => ({ ...answer, before: [LATE_MS, ...answer.before ?? []] });

describe('upstream failures', { concurrency: false }, () => {
    const soon = shared({ before, beforeEach, after }, '--upstream-key', 'upstream-secret');
    const after50ms = shared({ before, beforeEach, after }, '--upstream-key', 'upstream-secret', '--early-error-window', '50ms');

    for (const [name, answer, status, code, eventCode] of ROWS) {
        for (const streamed of [false, true]) {
            test(`${name}: ${status} ${code}${streamed ? ', streamed' : ''}`, async () => {
                soon.up.always(answer);
                const got = await ask(soon.daemon, { ...REQUEST, stream: streamed });
                captures.keep(`${name}.json`, got.bytes, '--kind', 'error');
                checkMark(checkError(got, status, code).message, markOf(code));
                if (answer.headers?.['retry-after'])
                    assert.equal(got.headers['retry-after'], answer.headers['retry-after']);
            });
        }
        test(`${name}: ${eventCode} after the stream has begun`, async () => {
            after50ms.up.always(late(answer));
            const got = await ask(after50ms.daemon, { ...REQUEST, stream: true });
            assert.equal(got.status, 200);
            captures.keep(`${name}.sse`, got.bytes);
            const { response } = checkStream(got.text);
            assert.equal(response.status, 'failed');
            assert.equal(response.error.code, eventCode);
            checkMark(response.error.message, markOf(code));
            assert.deepEqual(response.output, []);
        });
    }

    test('a known wait is in the message of a late 429', async () => {
        after50ms.up.always(late(failure(429, 'slow down', {}, { 'retry-after': '7' })));
        const { response } = checkStream((await ask(after50ms.daemon, { ...REQUEST, stream: true })).text);
        assert.match(response.error.message, /Please try again in 7s\.$/);
    });

    test('the param that the upstream blames is passed on', async () => {
        const answer = failure(400, 'temperature is too hot', { param: 'temperature' });
        for (const streamed of [false, true]) {
            soon.up.always(answer);
            checkError(await ask(soon.daemon, { ...REQUEST, stream: streamed }), 400, 'upstream_rejected', 'temperature');
        }
        after50ms.up.always(late(answer));
        const { events, response } = checkStream((await ask(after50ms.daemon, { ...REQUEST, stream: true })).text);
        const told = events.find(({ type }) => type === 'error');
        assert.deepEqual([told.param, told.error.param, response.error.param], Array(3).fill('temperature'));
    });

    /* @ai-sdk/open-responses wants a string, and shows "Bad Request" instead of the message without. */
    test('what an upstream refuses without a param has an empty one', async () => {
        soon.up.always(failure(400, 'temperature is too hot'));
        checkError(await ask(soon.daemon, REQUEST), 400, 'upstream_rejected', '');
    });

    test('the log says why and when the upstream failed, without quoting the request', async () => {
        const lineOf = async (answer) => {
            soon.up.always(answer);
            const { headers } = await ask(soon.daemon, REQUEST);
            return turnLine(soon.daemon, headers['x-request-id']);
        };
        assert.match(await lineOf(failure(500, 'CUDA error: out of memory at http://10.1.2.3:8000/v1')),
            / error=upstream_error phase=refused upstream_bytes=\d+ message="Upstream server error: CUDA error: out of memory at \[url\]" /);
        /* vLLM shows the value that it refuses, which may be the whole body. */
        const quoting = await lineOf(failure(400, "1 validation error: {'type': 'missing', 'loc': ('body', 'messages'), 'input': {'model': 'm', 'secret': 'words'}}"));
        assert.match(quoting, / phase=refused .*message="1 validation error: /);
        assert.ok(!quoting.includes('words'));
        const repeating = failure(400, 'not with the key upstream-secret');
        assert.match(await lineOf(repeating), / message="not with the key \[redacted\]"/);
        assert.equal(checkError(await ask(soon.daemon, REQUEST), 400).message, 'not with the key [redacted]');
        assert.match(await lineOf({ before: [RESET] }), / phase=first_byte upstream_bytes=0 message="Connection error: The upstream server at [^ ]+ is not reachable: /);
    });

    test('keys and URLs in a message are masked, long messages cut', async () => {
        soon.up.always(failure(400, `sk-abcdef0123456789abcdef0123456789 at http://10.1.2.3:8000/v1 ${'x'.repeat(9000)}`));
        const { message } = checkError(await ask(soon.daemon, REQUEST), 400);
        assert.ok(!message.includes('abcdef0123456789') && !message.includes('10.1.2.3'), message);
        assert.ok(Buffer.byteLength(message) <= 2048 + 64, `${message.length} characters`);
    });
});

describe('broken streams', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, '--idle-timeout', '300ms');
    const text = frames(chunk({ content: 'The answer' }), chunk({ content: ' is' }));
    const call = frames(chunk({ tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":' } }] }));

    for (const [name, pieces, type] of [
        ['closed in the middle of text', [...text, CLOSE], 'message'],
        ['reset in the middle of text', [...text, 20, RESET], 'message'],
        ['closed in the middle of a call', [...call, CLOSE], 'function_call'],
        ['ended in the middle of a frame', [...text, 'data: {"choices":[{"ind'], 'message'],
        ['silent for longer than idle_timeout', [...text, HANG], 'message'],
        ['three broken chunks in a row', [...text, 'data: {x\n\n', 'data: {y\n\n', 'data: {z\n\n', HANG], 'message'],
    ]) {
        test(`${name}: items closed, then the failure`, async () => {
            both.up.always(stream(pieces));
            const got = await ask(both.daemon, { ...REQUEST, stream: true });
            captures.keep(`${name}.sse`, got.bytes);
            const { response } = checkStream(got.text);
            assert.equal(response.status, 'failed');
            assert.equal(response.error.code, 'server_error');
            checkMark(response.error.message, name.startsWith('three') ? 'Upstream server error: ' : 'Connection error: ');
            assert.match(await turnLine(both.daemon, got.headers['x-request-id']), / phase=answer upstream_bytes=[1-9]\d* message="/);
            assert.deepEqual(response.output.map((i) => [i.type, i.status]), [[type, 'incomplete']]);
        });

        test(`${name}: an HTTP error when not streamed`, async () => {
            both.up.always(stream(pieces));
            const error = checkError(await ask(both.daemon, REQUEST), name.startsWith('silent') ? 504 : 502);
            assert.match(error.code, /^upstream_(error|timeout)$/);
            checkMark(error.message, name.startsWith('three') ? 'Upstream server error: ' : 'Connection error: ');
        });
    }

    test('a flood without line ends is refused, not gathered', async (t) => {
        const { up, daemon } = await pair(t, '--max-line', '64KiB');
        up.always(stream([...frames(chunk({ content: 'a' })), ...Array(40).fill(Buffer.alloc(8192, 'x')), HANG]));
        assert.equal(checkStream((await ask(daemon, { ...REQUEST, stream: true })).text).response.status, 'failed');
    });

    test('more output than max_response fails the response', async (t) => {
        const { up, daemon } = await pair(t, '--max-response', '16KiB');
        up.always(stream([...frames(...Array(50).fill(chunk({ content: 'x'.repeat(1000) }))), HANG]));
        assert.equal(checkStream((await ask(daemon, { ...REQUEST, stream: true })).text).response.status, 'failed');
    });
});

describe('upstreams that cannot be reached', { concurrency: false }, () => {
    test('connection refused is 502, streamed or not', async (t) => {
        const daemon = await startDaemon({ upstream: 'http://127.0.0.1:1/v1' });
        t.after(() => daemon.stop());
        for (const streamed of [false, true])
            checkError(await ask(daemon, { ...REQUEST, stream: streamed }), 502, 'upstream_unavailable');
        await daemon.logged(/ phase=connecting upstream_bytes=0 message="Connection error: /);
    });

    test('an unknown host is 502', async (t) => {
        const daemon = await startDaemon({ upstream: 'http://no-such-host.invalid/v1' });
        t.after(() => daemon.stop());
        checkError(await ask(daemon, REQUEST), 502, 'upstream_unavailable');
    });

    test('no first byte in time is 504', async (t) => {
        const { up, daemon } = await pair(t, '--first-byte-timeout', '200ms');
        up.always(SILENCE);
        for (const streamed of [false, true])
            checkError(await ask(daemon, { ...REQUEST, stream: streamed }), 504, 'upstream_timeout');
    });

    test('no first byte in time after the stream has begun is an event', async (t) => {
        const { up, daemon } = await pair(t, '--first-byte-timeout', '300ms', '--early-error-window', '30ms');
        up.always(SILENCE);
        const { response } = checkStream((await ask(daemon, { ...REQUEST, stream: true })).text);
        assert.equal(response.error.code, 'server_error');
    });

    test('a kept connection that turns out to be dead is replaced once', async (t) => {
        const { up, daemon } = await pair(t, '--workers', '1');
        up.next(textStream('first'), { before: [CLOSE] }, textStream('second'));
        for (const text of ['first', 'second'])
            assert.equal((await ask(daemon, REQUEST)).json.output?.[0].content[0].text, text);
        assert.equal(up.requests.length, 3);
    });

    test('an answer that is not HTTP is 502', async (t) => {
        const { up, daemon } = await pair(t);
        up.always({ raw: true, pieces: ['SMTP ready\r\n\r\n'] });
        checkError(await ask(daemon, REQUEST), 502);
    });

    test("the rejection of the client's own key is the client's", async (t) => {
        const { up, daemon } = await pair(t);
        for (const status of [401, 403]) {
            up.next(failure(status, 'who are you'));
            checkError(await ask(daemon, REQUEST, { headers: { authorization: 'Bearer mine' } }), status);
        }
    });
});

captures.judge(test);
