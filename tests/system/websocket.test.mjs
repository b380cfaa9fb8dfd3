/* websocket.test.mjs -- responses over WebSocket: lanes, chains, limits, ends (CONTRACT 6.3). */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { ask, get } from '../lib/client.mjs';
import { pair, shared, startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { Gateway, declared, gateway } from '../lib/mcp.mjs';
import { user } from '../lib/state.mjs';
import { CLOSE, HANG, SILENCE, callStream, chunk, failure, frames, startUpstream, stream, textStream } from '../lib/upstream.mjs';
import { webSocket } from '../lib/websocket.mjs';

const captures = new Captures();
const open = (t, daemon, options = {}) => webSocket(t, daemon, { captures, ...options });

/* An answer that waits for its end to be let go. */
function held(text = 'late') {
    let release;
    const later = new Promise((done) => (release = done));
    return [stream([...frames(chunk({ content: 'on ' })), later, ...frames(chunk({ content: text }, 'stop'), '[DONE]')]), release];
}

const textOf = (response) => response.output.flatMap((i) => i.content ?? []).map((p) => p.text).join('');
const messages = (request) => request.body.messages.map(({ role, content }) => [role, content]);

describe('a connection', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });

    test('answers a create with the events of a stream', async (t) => {
        const ws = await open(t, both.daemon);
        assert.equal(ws.status, 101);
        both.up.next(textStream('Hello there'));
        const response = await ws.respond({ input: 'Hi', stream: false });
        assert.equal(textOf(response), 'Hello there');
        assert.deepEqual(ws.messages.map((m) => m.sequence_number), ws.messages.map((_, i) => i));
        assert.equal(ws.messages[0].type, 'response.created');
        assert.ok(ws.messages.every((m) => m.stream_id === undefined && m.type !== 'error'));
    });

    test('runs creates of a lane one after the other, in their order', async (t) => {
        const ws = await open(t, both.daemon);
        const [answer, release] = held();
        both.up.next(answer, textStream('two'), textStream('three'));
        for (const input of ['1', '2', '3'])
            ws.create({ input }, 'q');
        await ws.next((m) => m.type === 'response.output_text.delta');
        assert.equal(both.up.requests.length, 1);
        release();
        const said = [];
        for (let i = 0; i < 3; i++)
            said.push(textOf((await ws.ends('q')).response));
        assert.deepEqual(said, ['on late', 'two', 'three']);
        assert.deepEqual(both.up.requests.map((r) => r.body.messages.at(-1).content), ['1', '2', '3']);
    });

    test('runs lanes side by side, and names them', async (t) => {
        const ws = await open(t, both.daemon);
        const [first, releaseFirst] = held('a');
        const [second, releaseSecond] = held('b');
        both.up.next(({ body }) => (body.messages.at(-1).content === 'to a' ? first : second),
            ({ body }) => (body.messages.at(-1).content === 'to a' ? first : second), textStream('none'));
        ws.create({ input: 'to a' }, 'a');
        ws.create({ input: 'to b' }, 'b.2');
        await ws.next((m) => m.type === 'response.output_text.delta' && m.stream_id === 'a');
        await ws.until(() => ws.messages.some((m) => m.delta && m.stream_id === 'b.2'), 'a delta on b.2');
        assert.equal(textOf(await ws.respond({ input: 'to none' })), 'none');
        releaseSecond();
        assert.equal(textOf((await ws.ends('b.2')).response), 'on b');
        releaseFirst();
        assert.equal(textOf((await ws.ends('a')).response), 'on a');
    });

    test('continues what is stored nowhere, and forks it', async (t) => {
        const ws = await open(t, both.daemon);
        both.up.next(textStream('one'), textStream('two'), textStream('fork'), textStream('three'));
        const one = await ws.respond({ input: 'A', instructions: 'Be brief.' }, 'a');
        const two = await ws.respond({ input: 'B', previous_response_id: one.id }, 'a');
        assert.equal(two.previous_response_id, one.id);
        await ws.respond({ input: 'F', previous_response_id: two.id }, 'c');
        await ws.respond({ input: 'C', previous_response_id: two.id }, 'a');
        assert.deepEqual(messages(both.up.requests[1]), [['user', 'A'], ['assistant', 'one'], ['user', 'B']]);
        const way = [['user', 'A'], ['assistant', 'one'], ['user', 'B'], ['assistant', 'two']];
        assert.deepEqual(messages(both.up.requests[2]), [...way, ['user', 'F']]);
        assert.deepEqual(messages(both.up.requests[3]), [...way, ['user', 'C']]);
        const lost = await ws.refused({ input: 'D', previous_response_id: one.id }, 'a');
        assert.deepEqual([lost.status, lost.error.code, lost.error.param], [400, 'previous_response_not_found', 'previous_response_id']);
    });

    test('keeps what it keeps from HTTP and other connections', async (t) => {
        const ws = await open(t, both.daemon), other = await open(t, both.daemon);
        both.up.next(textStream('one'));
        const { id } = await ws.respond({ input: 'A' });
        assert.equal((await get(both.daemon, `/v1/responses/${id}`)).status, 404);
        assert.equal((await ask(both.daemon, { model: 'm', input: 'B', previous_response_id: id })).status, 400);
        assert.equal((await other.refused({ input: 'B', previous_response_id: id })).error.code, 'previous_response_not_found');
    });

    test('stores what is asked to be stored, with all that came before', async (t) => {
        const ws = await open(t, both.daemon);
        both.up.next(textStream('one'), textStream('two'), textStream('three'), textStream('four'));
        const one = await ws.respond({ input: 'A' });
        const two = await ws.respond({ input: 'B', previous_response_id: one.id, store: true });
        const list = (await get(both.daemon, `/v1/responses/${two.id}/input_items?order=asc`)).json;
        assert.deepEqual(list.data.map((i) => i.content[0].text), ['A', 'one', 'B']);
        await ask(both.daemon, { model: 'm', input: 'C', previous_response_id: two.id });
        assert.deepEqual(messages(both.up.requests[2]),
            [['user', 'A'], ['assistant', 'one'], ['user', 'B'], ['assistant', 'two'], ['user', 'C']]);
        const four = await ws.respond({ input: 'D', previous_response_id: two.id }, 'other');
        assert.equal(four.previous_response_id, two.id);
        assert.equal(messages(both.up.requests[3]).length, 5);
    });

    test('continues what is not stored from what is', async (t) => {
        const ws = await open(t, both.daemon);
        both.up.next(textStream('one'), textStream('two'), textStream('three'));
        const stored = (await ask(both.daemon, { model: 'm', input: 'A' })).json;
        const two = await ws.respond({ input: 'B', previous_response_id: stored.id });
        await ws.respond({ input: 'C', previous_response_id: two.id });
        assert.deepEqual(messages(both.up.requests[2]),
            [['user', 'A'], ['assistant', 'one'], ['user', 'B'], ['assistant', 'two'], ['user', 'C']]);
    });

    test('takes a response away that was continued in vain', async (t) => {
        const ws = await open(t, both.daemon);
        both.up.next(textStream('one'));
        const one = await ws.respond({ input: 'A' });
        const wrong = await ws.refused({ input: [{ type: 'function_call_output', call_id: 'nobody', output: 'x' }], previous_response_id: one.id });
        assert.deepEqual([wrong.status, wrong.error.code], [400, 'invalid_value']);
        assert.equal(wrong.sequence_number, undefined);
        assert.equal((await ws.refused({ input: 'B', previous_response_id: one.id })).error.code, 'previous_response_not_found');
    });

    test('takes it away when the response fails in its middle, without an error event', async (t) => {
        const ws = await open(t, both.daemon);
        both.up.next(textStream('one'), stream([...frames(chunk({ content: 'Half of' })), CLOSE]));
        const one = await ws.respond({ input: 'A' });
        const failed = await ws.respond({ input: 'B', previous_response_id: one.id });
        assert.equal(failed.status, 'failed');
        assert.ok(ws.messages.every((m) => m.type !== 'error'));
        assert.equal((await ws.refused({ input: 'C', previous_response_id: one.id })).error.code, 'previous_response_not_found');
    });

    test('leaves it where a fork fails, and where waiting helps', async (t) => {
        const ws = await open(t, both.daemon);
        both.up.next(textStream('one'), failure(429, 'Busy.', {}, { 'retry-after': '2' }), textStream('two'));
        const one = await ws.respond({ input: 'A' });
        await ws.refused({ input: [{ type: 'function_call_output', call_id: 'nobody', output: 'x' }], previous_response_id: one.id }, 'fork');
        const busy = await ws.refused({ input: 'B', previous_response_id: one.id });
        assert.deepEqual([busy.status, busy.error.code, busy.headers], [429, 'rate_limit_exceeded', { 'retry-after': '2' }]);
        await ws.respond({ input: 'B', previous_response_id: one.id });
    });

    test('warms up, and goes on from there', async (t) => {
        const ws = await open(t, both.daemon);
        both.up.next(textStream('one'));
        const warm = await ws.respond({ input: [], generate: false, model: 'a model that nobody has' });
        assert.deepEqual([warm.status, warm.output, warm.usage.total_tokens], ['completed', [], 0]);
        assert.equal(both.up.requests.length, 0);
        const second = await ws.respond({
            input: [{ role: 'developer', content: 'Be brief.' }], previous_response_id: warm.id,
            prompt_cache_options: { prewarm: true },
        });
        await ws.respond({ input: 'A', previous_response_id: second.id });
        assert.equal(both.up.requests.length, 1);
        assert.deepEqual(messages(both.up.requests[0]).map(([, content]) => content), ['Be brief.', 'A']);
        const none = await ws.refused({ generate: 'no', input: 'x' });
        assert.deepEqual([none.error.code, none.error.param], ['invalid_type', 'generate']);
    });

    test('warms up over HTTP as well', async () => {
        const body = { model: 'm', input: 'A', prompt_cache_options: { prewarm: true } };
        const { json } = await ask(both.daemon, body);
        assert.deepEqual([json.status, json.output, json.usage.output_tokens], ['completed', [], 0]);
        assert.equal(both.up.requests.length, 0);
        both.up.next(textStream('one'));
        await ask(both.daemon, { model: 'm', input: 'B', previous_response_id: json.id });
        assert.deepEqual(messages(both.up.requests[0]), [['user', 'A'], ['user', 'B']]);
    });

    test('says what is wrong with a message', async (t) => {
        const ws = await open(t, both.daemon);
        for (const [message, code, param] of [
            [{ type: 'session.update' }, 'invalid_value', 'type'],
            [{ type: 'response.create', model: 'm', input: 'x', stream_id: '' }, 'invalid_stream_id', 'stream_id'],
            [{ type: 'response.create', model: 'm', input: 'x', stream_id: 'a/b' }, 'invalid_stream_id', 'stream_id'],
            [{ type: 'response.create', model: 'm', input: 'x', background: true }, 'unsupported_parameter', 'background'],
            [{ type: 'response.create', model: 'm', input: 'x', background: true, store: false }, 'unsupported_parameter', 'background'],
            [{ type: 'response.create', model: 'm' }, 'missing_required_parameter', 'input'],
        ]) {
            ws.say(message);
            const { status, error } = await ws.next((m) => m.type === 'error');
            assert.deepEqual([status, error.code, error.param], [400, code, param]);
        }
        ws.say({ type: 'response.processed', response_id: 'resp_x' });
        ws.say({ type: 'response.steer', previous_response_id: 'resp_x', input: 'faster', stream_id: 'a' });
        const steer = await ws.next((m) => m.type === 'response.steer.failed');
        assert.deepEqual([steer.error.code, steer.stream_id, steer.sequence_number], ['response_not_found', 'a', 0]);
    });

    test('steers nothing', async (t) => {
        const ws = await open(t, both.daemon);
        const [answer, release] = held();
        both.up.next(answer);
        ws.create({ input: 'A' });
        const { response: { id } } = await ws.next((m) => m.type === 'response.created');
        ws.say({ type: 'response.steer', previous_response_id: id, input: [{ role: 'user', content: 'faster' }] });
        assert.equal((await ws.next((m) => m.type === 'response.steer.failed')).error.code, 'steering_not_supported');
        ws.say({ type: 'response.steer', previous_response_id: id, input: 7 });
        assert.equal((await ws.next((m) => m.type === 'response.steer.failed')).error.code, 'invalid_input');
        release();
        await ws.ends();
    });

    test('is closed after eight messages of nonsense in a row', async (t) => {
        const ws = await webSocket(t, both.daemon);
        for (let i = 0; i < 8; i++) {
            ws.say(i % 2 === 0 ? '{"type":' : '[1]');
            assert.equal((await ws.next()).status, 400);
        }
        assert.equal(await ws.closed(), 1008);
    });

    test('aborts what runs when the client leaves, and drops what waits', async (t) => {
        const ws = await webSocket(t, both.daemon);
        both.up.always(stream([...frames(chunk({ content: 'on ' })), HANG]));
        ws.create({ input: '1' }, 'a');
        ws.create({ input: '2' }, 'b');
        ws.create({ input: '3' }, 'b');
        await ws.until(() => ws.messages.filter((m) => m.delta).length === 2, 'two deltas');
        ws.socket.destroy();
        await Promise.all(both.up.requests.map((r) => r.closed));
        assert.equal(both.up.requests.length, 2);
    });

    test('answers calls of functions', async (t) => {
        const ws = await open(t, both.daemon);
        both.up.next(callStream(['get_weather', { city: 'Oslo' }]), textStream('3 degrees.'));
        const tools = [{ type: 'function', name: 'get_weather', parameters: { type: 'object' } }];
        const one = await ws.respond({ input: 'Weather in Oslo?', tools });
        const [call] = one.output;
        const two = await ws.respond({ input: [{ type: 'function_call_output', call_id: call.call_id, output: '3' }], previous_response_id: one.id });
        assert.equal(textOf(two), '3 degrees.');
        assert.equal(both.up.requests[1].body.tools.length, 1, 'tools are inherited');
        assert.deepEqual(both.up.requests[1].body.messages.map((m) => m.role), ['user', 'assistant', 'tool']);
    });

    test('works in conversations, which are stored', async (t) => {
        const ws = await open(t, both.daemon);
        const { json: conversation } = await ask(both.daemon, {}, { path: '/v1/conversations' });
        both.up.next(textStream('one'), textStream('two'));
        await ws.respond({ input: 'A', conversation: conversation.id, store: true });
        await ws.respond({ input: 'B', conversation: conversation.id, store: true }, 'b');
        assert.deepEqual(messages(both.up.requests[1]), [['user', 'A'], ['assistant', 'one'], ['user', 'B']]);
    });

    captures.judge(test);
});

describe('limits', { concurrency: false }, () => {
    test('of running and waiting, of names', async (t) => {
        const { up, daemon } = await pair(t, '--websocket-max-running', '1', '--websocket-max-waiting', '1', '--websocket-max-streams', '2');
        const ws = await webSocket(t, daemon);
        const [answer, release] = held();
        up.next(answer, textStream('two'));
        ws.create({ input: '1' }, 'a');
        await ws.next((m) => m.delta);
        ws.create({ input: '2' }, 'b');
        assert.equal((await ws.refused({ input: '3' }, 'b')).status, 429);
        const name = await ws.refused({ input: '4' }, 'c');
        assert.equal(name.error.code, 'websocket_stream_limit_reached');
        release();
        assert.equal(textOf((await ws.ends('a')).response), 'on late');
        assert.equal(textOf((await ws.ends('b')).response), 'two');
    });

    test('of what is kept', async (t) => {
        const { up, daemon } = await pair(t, '--websocket-context-items', '2');
        const ws = await webSocket(t, daemon);
        up.always(textStream('x'));
        const one = await ws.respond({ input: 'A' });
        const two = await ws.respond({ input: 'B', previous_response_id: one.id });
        assert.equal((await ws.refused({ input: 'C', previous_response_id: two.id })).error.code, 'previous_response_not_found');
    });

    test('of what is kept of a long chain: it costs what its turns cost', async (t) => {
        const { daemon } = await pair(t, '--websocket-context', '1MiB');
        const ws = await webSocket(t, daemon);
        const input = Array.from('abcdefgh', (content) => ({ role: 'user', content }));
        const tools = [{ type: 'function', name: 'f', description: 'x'.repeat(10_000), parameters: { type: 'object', properties: {} } }];
        let id;
        for (let i = 0; i < 150; i++) /* the tools of the last response alone may be inherited */
            ({ id } = await ws.respond({ input, tools, generate: false, previous_response_id: id }));
    });

    test('of age: no more creates, and 1001 when the last has ended', async (t) => {
        const { up, daemon } = await pair(t, '--websocket-max-age', '1s');
        const idle = await webSocket(t, daemon), ws = await webSocket(t, daemon);
        const [answer, release] = held();
        up.next(answer);
        ws.create({ input: '1' });
        await ws.next((m) => m.delta);
        ws.create({ input: '2' });
        assert.equal(await idle.closed(), 1001);
        assert.equal((await ws.next((m) => m.type === 'error')).error.code, 'websocket_connection_limit_reached');
        release();
        assert.equal(textOf((await ws.ends()).response), 'on late');
        assert.equal(await ws.closed(), 1001);
    });
});

describe('the end', { concurrency: false }, () => {
    test('of the gateway lets responses end', async (t) => {
        const up = await startUpstream();
        t.after(() => up.close());
        const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'm'] });
        const idle = await webSocket(t, daemon), ws = await webSocket(t, daemon);
        const [answer, release] = held();
        up.next(answer);
        ws.create({ input: '1' });
        await ws.next((m) => m.delta);
        ws.create({ input: '2' });
        const stopped = daemon.stop();
        assert.equal(await idle.closed(), 1001);
        assert.equal((await ws.next((m) => m.type === 'error')).error.code, 'websocket_connection_limit_reached');
        release();
        assert.equal(textOf((await ws.ends()).response), 'on late');
        assert.equal(await ws.closed(), 1001);
        await stopped;
    });

    test('of the gateway fails what takes too long', async (t) => {
        const up = await startUpstream();
        t.after(() => up.close());
        const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'm', '--drain-timeout', '200ms'] });
        const ws = await webSocket(t, daemon);
        up.next(stream([...frames(chunk({ content: 'on ' })), HANG]));
        ws.create({ input: '1' });
        await ws.next((m) => m.delta);
        const stopped = daemon.stop();
        assert.equal((await ws.ends()).response.status, 'failed');
        await stopped;
    });

    test('of a key', async (t) => {
        const file = folder(t, 'antiphon.json');
        const up = await startUpstream();
        t.after(() => up.close());
        writeFileSync(file, JSON.stringify({ api_key: ['key-of-one-client', 'key-of-another-client'] }));
        const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'm', '--config', file] });
        t.after(() => daemon.stop());
        const headers = { Authorization: 'Bearer key-of-one-client' };
        const stays = await webSocket(t, daemon, { headers: { Authorization: 'Bearer key-of-another-client' } });
        const idle = await webSocket(t, daemon, { headers }), ws = await webSocket(t, daemon, { headers });
        const [answer, release] = held();
        up.next(answer);
        ws.create({ input: '1' });
        await ws.next((m) => m.delta);
        writeFileSync(file, JSON.stringify({ api_key: ['key-of-another-client'] }));
        daemon.child.kill('SIGHUP');
        assert.equal(await idle.closed(), 1008);
        assert.equal((await ws.refused({ input: '2' }, 'b')).status, 401);
        release();
        assert.equal(textOf((await ws.ends()).response), 'on late');
        assert.equal(await ws.closed(), 1008);
        up.next(textStream('fine'));
        assert.equal(textOf(await stays.respond({ input: '3' })), 'fine');
    });
});
