/* mcp_server.test.mjs -- the scripted MCP server keeps to the protocol, over
 * each of its transports. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import test from 'node:test';
import { LOST, MODERN, http, startMcp } from './mcp_server.mjs';

const TYPES = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const request = (id, method, params) => ({ jsonrpc: '2.0', id, method, params });
const HELLO = request(0, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } });
const call = (id, name, args) => request(id, 'tools/call', { name, arguments: args });

async function started(t, options) {
    const server = await startMcp(options);
    t.after(() => server.close());
    return server;
}

const post = (server, message, headers = {}) => fetch(server.url, { method: 'POST', headers: { ...TYPES, ...headers }, body: JSON.stringify(message) });

/* The messages in an answer, whatever its form. */
async function messages(answer) {
    const body = await answer.text();
    if (!answer.headers.get('content-type').startsWith('text/event-stream'))
        return [JSON.parse(body)];
    return body.split(/\n\n/).flatMap((event) => event.match(/^data: (.+)$/m)?.slice(1).map((data) => JSON.parse(data)) ?? []);
}

async function session(server) {
    const answer = await post(server, HELLO);
    await answer.text();
    return { 'mcp-session-id': answer.headers.get('mcp-session-id'), 'mcp-protocol-version': '2025-11-25' };
}

for (const answer of ['sse', 'json', 'sse-length', 'sse-close']) {
    test(`a call over Streamable HTTP is answered as ${answer}`, async (t) => {
        const server = await started(t, { style: { answer } });
        const headers = await session(server);
        const [{ result }] = await messages(await post(server, call(1, 'echo', { message: 'hi' }), headers));
        assert.deepEqual(result, { content: [{ type: 'text', text: 'Echo: hi' }] });
        assert.deepEqual(server.calls.map(({ name, id }) => [name, id]), [['echo', 1]]);
    });
}

test('a session that was forgotten is lost', async (t) => {
    const server = await started(t);
    const headers = await session(server);
    for (const status of [404, 400]) {
        server.forgetSessions(status);
        assert.equal((await post(server, request(1, 'ping'), headers)).status, status);
    }
});

test('a postponed answer is fetched by the id of the first event', async (t) => {
    const server = await started(t, { style: { priming: { retry: 10 }, polling: true } });
    const headers = await session(server);
    const primed = await (await post(server, call(1, 'add', { a: 1, b: 2 }), headers)).text();
    const [, id] = primed.match(/^id: (\S+)\nretry: 10\ndata: \n\n$/);
    const [{ result }] = await messages(await fetch(server.url, { headers: { ...headers, accept: 'text/event-stream', 'last-event-id': id } }));
    assert.equal(result.content[0].text, '3');
});

test('what is told unasked comes on the GET stream, progress on that of the call', async (t) => {
    const server = await started(t, { tools: { slow: async (_, one) => (one.progress(1), 'done') } });
    const headers = await session(server);
    const stream = await fetch(server.url, { headers: { ...headers, accept: 'text/event-stream' } });
    server.changeTools({});
    const { value } = await stream.body.getReader().read();
    assert.match(Buffer.from(value).toString(), /tools\/list_changed/);
    server.changeTools({ slow: async (_, one) => (one.progress(1), 'done') });
    const said = await messages(await post(server, { ...call(1, 'slow', {}), params: { name: 'slow', arguments: {}, _meta: { progressToken: 7 } } }, headers));
    assert.deepEqual([said[0].params, said[1].result.content[0].text], [{ progressToken: 7, progress: 1 }, 'done']);
});

test('HTTP alone may be the answer, or no answer', async (t) => {
    const server = await started(t, { tools: { teapot: () => http(418, 'short'), lost: () => LOST } });
    const headers = await session(server);
    const answer = await post(server, call(1, 'teapot', {}), headers);
    assert.deepEqual([answer.status, await answer.text()], [418, 'short']);
    await assert.rejects(post(server, call(2, 'lost', {}), headers).then((it) => it.text()));
});

test('a modern server insists on its headers', async (t) => {
    const server = await started(t, { era: 'modern' });
    const _meta = { 'io.modelcontextprotocol/protocolVersion': MODERN, 'io.modelcontextprotocol/clientCapabilities': {} };
    const one = request(1, 'tools/call', { name: 'echo', arguments: { message: 'x' }, _meta });
    const headers = { 'mcp-protocol-version': MODERN, 'mcp-method': 'tools/call', 'mcp-name': '=?base64?ZWNobw==?=' };
    assert.equal((await messages(await post(server, one, headers)))[0].result.resultType, 'complete');
    const refused = await post(server, one, { ...headers, 'mcp-name': 'add' });
    assert.deepEqual([refused.status, (await refused.json()).error.code], [400, -32020]);
    assert.equal((await messages(await post(server, HELLO)))[0].error.code, -32022);
});

test('HTTP+SSE: the stream names the endpoint and has the answers', async (t) => {
    const server = await started(t, { transport: 'sse' });
    assert.equal((await post(server, HELLO)).status, 404);
    const reader = (await fetch(server.url)).body.pipeThrough(new TextDecoderStream()).getReader();
    const [, endpoint] = (await reader.read()).value.match(/^event: endpoint\ndata: (\S+)\n\n$/);
    const accepted = await fetch(new URL(endpoint, server.url), { method: 'POST', body: JSON.stringify(HELLO) });
    assert.equal(accepted.status, 202);
    assert.match((await reader.read()).value, /"protocolVersion":"2025-11-25"/);
    await reader.cancel();
});

test('stdio: a process that says what the test makes of its lines', async (t) => {
    const server = await started(t, { transport: 'stdio' });
    const { command, args } = server.entry;
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const ask = async (message) => {
        child.stdin.write(`${JSON.stringify(message)}\n`);
        return JSON.parse((await lines.next()).value);
    };
    assert.equal((await ask(HELLO)).result.protocolVersion, '2025-11-25');
    assert.equal((await ask(call(1, 'echo', { message: 'hi' }))).result.content[0].text, 'Echo: hi');
    await server.until(() => server.process.hello);
    assert.equal(server.process.hello.pid, child.pid);
    child.stdin.end();
    assert.deepEqual(await once(child, 'exit'), [0, null]);
    await server.process.ended;
});
