/* background_turn.test.mjs -- what is made later is what would have been made at once: with the same
 * credentials, the same tools, the same history; and what cannot be made any more ends, and says why. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test, { describe } from 'node:test';
import { Captures, checkError, checkStream } from '../lib/check.mjs';
import { checkPolls, isRunning } from '../lib/check_resume.mjs';
import { ask, get } from '../lib/client.mjs';
import { pair, startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { declared, gateway, shown } from '../lib/mcp.mjs';
import { startMcp } from '../lib/mcp_server.mjs';
import { patience } from '../lib/patience.mjs';
import { callStream, chunk, frames, startUpstream, stream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const REQUEST = { model: 'm', input: 'Hi', background: true };
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/* A background response that was accepted; `name` is for the capture. */
async function accepted(daemon, more = {}, options = {}) {
    const got = await ask(daemon, { ...REQUEST, ...more }, options);
    assert.equal(got.status, 200, got.text);
    assert.equal(got.json.status, 'queued');
    assert.equal(got.headers['openai-poll-after-ms'], '500');
    return got.json.id;
}

/* Asks until it has ended. */
async function ended(daemon, id, options = {}) {
    const bodies = [];
    for (const deadline = performance.now() + patience(20_000); ; await pause(20)) {
        const got = await get(daemon, `/v1/responses/${id}`, options);
        assert.equal(got.status, 200, got.text);
        bodies.push(got.json);
        if (!isRunning(got.json))
            break;
        assert.ok(performance.now() < deadline, got.text);
    }
    checkPolls(bodies);
    return bodies.at(-1);
}

async function streamed(daemon, id, name) {
    const { status, text } = await get(daemon, `/v1/responses/${id}?stream=true`);
    assert.equal(status, 200, text);
    captures.keep(`${name}.sse`, text);
    return checkStream(text);
}

/* An answer that waits until it is let go. */
function held(...texts) {
    let release;
    const gate = new Promise((done) => (release = done));
    return { answer: stream([...frames(chunk({ content: 'one' })), gate, ...frames(...texts.map((content) => chunk({ content })), chunk({}, 'stop'), '[DONE]')]), release };
}

test('its request is what a request at once would be', async (t) => {
    const { up, daemon } = await pair(t);
    const more = { instructions: 'Be brief.', temperature: 0.5, metadata: { a: 'b' }, tools: [{ type: 'function', name: 'f', parameters: { type: 'object' } }], input: `${'x'.repeat(400_000)} é\n` };
    const options = { headers: { authorization: 'Bearer a-key-for-the-upstream' } };
    up.always(textStream('Hello'));
    const atOnce = await ask(daemon, { ...REQUEST, ...more, background: false }, options);
    const later = await ended(daemon, await accepted(daemon, more, options), options);
    const [first, second] = up.requests;
    assert.deepEqual(second.body, first.body);
    assert.equal(second.headers.authorization, first.headers.authorization);
    const rid = ({ id, created_at, completed_at, output, background, ...rest }) => ({ ...rest, output: output.map(({ id: _, ...item }) => item) });
    assert.deepEqual(rid(later), rid(atOnce.json));
    assert.equal(later.background, true);
    await streamed(daemon, later.id, 'large');
});

test('a warm-up is complete at once, and can be continued', async (t) => {
    const { up, daemon } = await pair(t);
    for (const stream of [false, true]) {
        const got = await ask(daemon, { ...REQUEST, prompt_cache_options: { prewarm: true }, stream });
        assert.equal(got.status, 200, got.text);
        const response = stream ? checkStream(got.text).response : got.json;
        assert.deepEqual([response.status, response.output, response.background], ['completed', [], true]);
        assert.match(response.id, /^resp_/);
        assert.deepEqual((await get(daemon, `/v1/responses/${response.id}`)).json, response);
        const next = await ask(daemon, { model: 'm', input: 'More', previous_response_id: response.id });
        assert.equal(next.status, 200, next.text);
    }
    assert.equal(up.requests.length, 2);
});

test('it goes on from what came before, and can be continued', async (t) => {
    const { up, daemon } = await pair(t);
    up.next(textStream('One'), textStream('Two'), textStream('Three'));
    const first = await ended(daemon, await accepted(daemon));
    const second = await ended(daemon, await accepted(daemon, { input: 'More', previous_response_id: first.id }));
    const third = await ask(daemon, { model: 'm', input: 'And more', previous_response_id: second.id });
    assert.equal(third.status, 200);
    assert.deepEqual(up.requests.at(-1).body.messages.map(({ content }) => content), ['Hi', 'One', 'More', 'Two', 'And more']);
});

test('servers of the request get its credentials, which nobody finds in the store', async (t) => {
    const file = folder(t, 'antiphon.db');
    const fake = await startMcp({});
    t.after(() => fake.close());
    const g = await gateway(t, { args: ['--mcp-remote', 'any', '--store', `sqlite:${file}`, '--background-running', '1'] });
    const gate = held('two');
    g.up.next(gate.answer, callStream([shown('mine', 'echo'), { message: 'hi' }, 'c1']), textStream('Done.'), textStream('Third'), textStream('Fourth'));
    const first = await accepted(g.daemon);
    await g.up.request(0);
    const tools = [declared('mine', { server_url: fake.url, require_approval: 'never', authorization: 'a-secret-token-of-mine' })];
    const second = await accepted(g.daemon, { tools });
    const third = await accepted(g.daemon, { tools: [declared('other', { server_url: `${fake.url}?key=a-secret-query`, require_approval: 'never' })] });
    const fourth = await accepted(g.daemon, {}, { headers: { authorization: 'Bearer ikey47' } });
    for (const name of [file, `${file}-wal`]) {
        for (const secret of ['a-secret-token-of-mine', 'a-secret-query', 'ikey47'])
            assert.ok(!readFileSync(name).includes(secret), `${secret} in ${name}`);
    }
    gate.release();
    assert.equal((await ended(g.daemon, first)).status, 'completed');
    const response = await ended(g.daemon, second);
    assert.equal(response.status, 'completed', JSON.stringify(response.error));
    assert.equal(response.output.find(({ type }) => type === 'mcp_call').output, 'Echo: hi');
    await streamed(g.daemon, second, 'credentials');
    assert.equal((await ended(g.daemon, third)).status, 'completed');
    assert.equal((await ended(g.daemon, fourth)).status, 'completed');
    assert.equal(g.up.requests.at(-1).headers.authorization, 'Bearer ikey47');
});

test('sealed with a key that is gone it fails, and says what to do', async (t) => {
    const up = await startUpstream();
    t.after(() => up.close());
    const args = ['--model', 'm', '--mcp-remote', 'any', '--store', `sqlite:${folder(t, 'antiphon.db')}`, '--background-running', '1', '--drain-timeout', '100ms'];
    const start = (key) => startDaemon({ upstream: up.url, args, env: { ANTIPHON_ENCRYPTION_KEYS: key } });
    const gate = held('two');
    up.next(gate.answer);
    const before = await start('a-key-that-is-forgotten-with-it');
    const running = await accepted(before);
    await up.request(0);
    const tools = [{ type: 'mcp', server_label: 'x', server_url: 'http://127.0.0.1:9/mcp', authorization: 'a-secret-token' }];
    const waiting = await accepted(before, { tools });
    await before.stop();
    const daemon = await start('another-key-that-is-as-long-as-it');
    t.after(() => daemon.stop());
    const lost = await ended(daemon, running);
    assert.equal(lost.status, 'failed');
    assert.equal(lost.error.code, 'server_error');
    const { status, error, output } = await ended(daemon, waiting);
    assert.equal(status, 'failed');
    assert.match(error.message, /encryption_keys/);
    assert.deepEqual(output, []);
    await streamed(daemon, waiting, 'sealed');
    gate.release();
});

test('a history that is deleted while it waits is told', async (t) => {
    const { up, daemon } = await pair(t, '--background-running', '1');
    const gate = held('two');
    up.next(textStream('One'), gate.answer);
    const { json: { id: parent } } = await ask(daemon, { model: 'm', input: 'Hi' });
    const first = await accepted(daemon);
    await up.request(1);
    const second = await accepted(daemon, { previous_response_id: parent });
    assert.equal((await ask(daemon, undefined, { method: 'DELETE', path: `/v1/responses/${parent}` })).status, 200);
    gate.release();
    assert.equal((await ended(daemon, first)).status, 'completed');
    const { status, error } = await ended(daemon, second);
    assert.equal(status, 'failed');
    assert.match(error.message, new RegExp(parent));
    await streamed(daemon, second, 'deleted history');
});

test('an approval ends it, and what was approved is run by the next', async (t) => {
    const fake = await startMcp({});
    const g = await gateway(t, { servers: { fake } });
    const tools = [declared('fake', { require_approval: 'always' })];
    g.up.next(callStream([shown('fake', 'echo'), { message: 'hi' }, 'c1']), textStream('Done.'));
    const first = await ended(g.daemon, await accepted(g.daemon, { tools }));
    assert.equal(first.status, 'completed');
    const asked = first.output.find(({ type }) => type === 'mcp_approval_request');
    const input = [{ type: 'mcp_approval_response', approval_request_id: asked.id, approve: true }];
    const second = await ended(g.daemon, await accepted(g.daemon, { tools, input, previous_response_id: first.id }));
    assert.equal(second.output.find(({ type }) => type === 'mcp_call').output, 'Echo: hi');
    await streamed(g.daemon, second.id, 'approved');
});

test('a stream of the legacy dialect is refused', async (t) => {
    const { up, daemon } = await pair(t, '--dialect', 'ors');
    checkError(await ask(daemon, { ...REQUEST, stream: true }), 400, 'unsupported_parameter', 'background');
    up.next(textStream('Hello'));
    assert.equal((await ended(daemon, await accepted(daemon))).status, 'completed');
    assert.equal(up.requests.length, 1);
});

test('each is in the log twice: when it was accepted, and when it has ended', async (t) => {
    const { daemon } = await pair(t);
    const id = await accepted(daemon);
    await daemon.logged(new RegExp(`info turn id=${id}.*status=queued`));
    await ended(daemon, id);
    await daemon.logged(new RegExp(`info turn id=${id}.*status=completed.*background=true`));
});

captures.judge(test);
