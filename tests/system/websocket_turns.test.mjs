/* websocket_turns.test.mjs -- what turns do is the same over WebSocket: tools of servers, approvals, large
 * requests, slow clients, silence (CONTRACT 6.3). */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { get } from '../lib/client.mjs';
import { pair } from '../lib/daemon.mjs';
import { declared, flowOf, sharedGateway, shown } from '../lib/mcp.mjs';
import { startMcp } from '../lib/mcp_server.mjs';
import { HANG, callStream, chunk, frames, stream, textStream } from '../lib/upstream.mjs';
import { webSocket } from '../lib/websocket.mjs';

const captures = new Captures();
const textOf = (response) => response.output.flatMap((i) => i.content ?? []).map((p) => p.text).join('');
const roles = (request) => request.body.messages.map(({ role }) => role);
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

describe('tools', { concurrency: false }, () => {
    const g = sharedGateway({ before, beforeEach, after }, captures, async () => ({ servers: { fake: await startMcp() } }));
    const open = (t) => webSocket(t, g.daemon, { captures });
    const echo = (message, id = 'c1') => callStream([shown('fake', 'echo'), { message }, id]);
    const tools = (require_approval) => ({ tools: [declared('fake', { require_approval })] });

    test('of a server are called, and what they gave is a part of what is continued', async (t) => {
        const ws = await open(t);
        g.up.next(echo('hi'), textStream('It said hi.'), textStream('It still does.'));
        const one = await ws.respond({ input: 'Say hi', ...tools('never') }, 'a');
        assert.deepEqual(flowOf(ws.messages).slice(0, 3), ['created', 'in_progress', 'output_item.added mcp_call']);
        assert.deepEqual(one.output.map((i) => i.type), ['mcp_call', 'message']);
        await ws.respond({ input: 'And now?', previous_response_id: one.id, ...tools('never') }, 'a');
        assert.deepEqual(roles(g.up.requests[2]), ['user', 'assistant', 'tool', 'assistant', 'user']);
        assert.equal(g.up.requests[2].body.messages[2].content, 'Echo: hi');
        assert.deepEqual(g.up.requests[2].body.messages.slice(0, 3), g.up.requests[1].body.messages, 'the beginning stays as it was');
    });

    test('run after an approval that is kept in memory alone', async (t) => {
        const ws = await open(t);
        g.up.next(echo('hi'), textStream('It said hi.'));
        const one = await ws.respond({ input: 'Say hi', ...tools('always') });
        const [request] = one.output;
        assert.equal(request.type, 'mcp_approval_request');
        const two = await ws.respond({
            input: [{ type: 'mcp_approval_response', approval_request_id: request.id, approve: true }],
            previous_response_id: one.id, ...tools('always'),
        });
        assert.deepEqual(two.output.map((i) => i.type), ['mcp_call', 'message']);
        assert.equal(two.output[0].approval_request_id, request.id);
    });

    test('run side by side in lanes', async (t) => {
        const ws = await open(t);
        g.up.always(({ body }) => {
            const last = body.messages.at(-1);
            return last.role === 'tool' ? textStream(last.content) : echo(last.content);
        });
        for (const lane of ['a', 'b', 'c'])
            ws.create({ input: `of ${lane}`, ...tools('never') }, lane);
        for (let i = 0; i < 3; i++) {
            const end = await ws.next((m) => m.type === 'response.completed');
            assert.equal(textOf(end.response), `Echo: of ${end.stream_id}`);
        }
    });

    test('that were called are stored with a response that continues them', async (t) => {
        const ws = await open(t);
        g.up.next(echo('hi'), textStream('It said hi.'), textStream('Stored.'), textStream('More.'));
        const one = await ws.respond({ input: 'Say hi', ...tools('never') });
        const two = await ws.respond({ input: 'Keep it', previous_response_id: one.id, store: true });
        const items = (await get(g.daemon, `/v1/responses/${two.id}/input_items?order=asc`)).json.data;
        assert.deepEqual(items.map((i) => i.type), ['message', 'mcp_call', 'message', 'message']);
        await ws.respond({ input: 'More', previous_response_id: two.id }, 'other');
        assert.deepEqual(roles(g.up.requests.at(-1)), ['user', 'assistant', 'tool', 'assistant', 'user', 'assistant', 'user']);
    });

    captures.judge(test);
});

describe('a turn', { concurrency: false }, () => {
    test('of a large request keeps its place in its lane', async (t) => {
        const { up, daemon } = await pair(t);
        const ws = await webSocket(t, daemon);
        const long = 'x'.repeat(700_000);
        up.next(textStream('long'), textStream('short'));
        ws.create({ input: long });
        ws.create({ input: 'short' });
        assert.equal(textOf((await ws.ends()).response), 'long');
        assert.equal(textOf((await ws.ends()).response), 'short');
        assert.equal(up.requests[0].body.messages[0].content.length, long.length);
        const next = await ws.respond({ input: 'on', previous_response_id: ws.messages.at(-1).response.id });
        assert.equal(next.status, 'completed');
    });

    test('that says nothing is kept alive by events', async (t) => {
        const { up, daemon } = await pair(t, '--keepalive-interval', '50ms', '--heartbeat-interval', '20ms');
        const ws = await webSocket(t, daemon);
        let release;
        const later = new Promise((done) => (release = done));
        up.next(stream([...frames(chunk({ content: 'on' })), later, ...frames(chunk({}, 'stop'), '[DONE]')]));
        ws.create({ input: 'x' }, 'a');
        const alive = await ws.next((m) => m.type === 'keepalive');
        assert.equal(alive.stream_id, 'a');
        release();
        await ws.ends('a');
        assert.deepEqual(ws.messages.map((m) => m.sequence_number), ws.messages.map((_, i) => i));
    });

    test('of a client that does not read is not read from the upstream either', async (t) => {
        const { up, daemon } = await pair(t, '--websocket-max-pending', '64KiB', '--workers', '1');
        const ws = await webSocket(t, daemon);
        let sent;
        const big = frames(chunk({ content: 'y'.repeat(50_000) }))[0];
        up.next(async () => stream([...frames(chunk({ content: 'on' })), ...Array.from({ length: 300 }, () => big), ...frames(chunk({}, 'stop'), '[DONE]')]));
        ws.create({ input: 'x' }, 'slow');
        await ws.next((m) => m.delta);
        ws.socket.pause();
        for (let i = 0; i < 20; i++) { /* the upstream's bytes stand still when all buffers are full */
            const before = ws.socket.bytesRead;
            await pause(50);
            sent = ws.socket.bytesRead - before;
        }
        assert.equal(sent, 0);
        assert.ok(ws.socket.bytesRead < 10_000_000, `${ws.socket.bytesRead} bytes were sent to a client that does not read`);
        ws.socket.resume();
        const { response } = await ws.ends('slow');
        assert.equal(textOf(response).length, 2 + 300 * 50_000);
    });

    test('is over when its connection is', async (t) => {
        const { up, daemon } = await pair(t);
        const ws = await webSocket(t, daemon);
        up.next(stream([...frames(chunk({ content: 'on' })), HANG]));
        ws.create({ input: 'x' });
        await ws.next((m) => m.delta);
        await ws.close();
        await up.requests[0].closed;
        await daemon.logged(/status=client_gone/);
    });
});
