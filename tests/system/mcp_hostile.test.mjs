/* mcp_hostile.test.mjs -- MCP servers that mean harm: what they may cost us, and
 * that nobody else pays for it. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { declared, gateway, pause, sharedGateway, shown } from '../lib/mcp.mjs';
import { HANG, TOOLS, rpcError, startMcp } from '../lib/mcp_server.mjs';
import { patience } from '../lib/patience.mjs';
import { callStream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const FAKE = { tools: [declared('fake')] };
const ECHO = [shown('fake', 'echo'), { message: 'hi' }, 'c1'];

/* One call in a response of its own; gives its item. */
async function called(g) {
    g.up.next(callStream(ECHO), textStream('Done.'));
    const { output: [item] } = await g.respond(FAKE);
    return item;
}

for (const transport of ['http', 'sse']) {
    test(`a thousand requests of a server over ${transport} that takes no answers do not cost a connection each`, async (t) => {
        const fake = await startMcp({ transport });
        const answers = () => fake.exchanges.filter(({ method, body }) => method === 'POST' && body && JSON.parse(body).method === undefined).length;
        fake.style.onRequest = ({ method, body }) => (method === 'POST' && JSON.parse(body).method === undefined ? HANG : undefined);
        fake.on('tools/call', (_, { way }) => {
            for (let i = 0; i < 1000; i++)
                way.send({ jsonrpc: '2.0', id: `p${i}`, method: 'ping' });
        });
        const g = await gateway(t, { servers: { fake }, captures });
        assert.equal((await called(g)).output, 'Echo: hi');
        await fake.until(() => answers() > 0);
        assert.ok(answers() <= 64, `${answers()} answers under way`);
    });
}

test('an error of a megabyte is told in a few lines, also when it is about the tools', async (t) => {
    const long = 'no tools today, '.repeat(65_536);
    const fake = await startMcp();
    fake.on('tools/list', () => {
        throw rpcError(-32000, long);
    });
    const g = await gateway(t, { servers: { fake }, wait: false, captures });
    const { fake: { error } } = await g.untilServers((servers) => servers.fake.error);
    assert.match(error, /no tools today/);
    assert.ok(error.length <= 4096, `${error.length} characters`);
    await g.daemon.logged(/mcp_listing_failed/);
    assert.ok(g.daemon.log.length < 32_768, `${g.daemon.log.length} characters in the log`);
});

/* ---- what is no answer to a call */

const JSON_HEAD = { 'content-type': 'application/json' };
const SSE_HEAD = { 'content-type': 'text/event-stream' };
const event = (message) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;

/* As fast as it is read, until the gateway has had enough. */
function withoutEnd(res, piece, socket = res) {
    const go = () => {
        while (!res.destroyed && socket.write(piece))
            ;
        if (!res.destroyed)
            socket.once('drain', go);
    };
    go();
}

const events = (piece) => (res, id) => {
    res.writeHead(200, SSE_HEAD);
    withoutEnd(res, (typeof piece === 'function' ? piece(id) : piece).repeat(100));
};

describe('a call that is answered with', { concurrency: false }, () => {
    const g = sharedGateway({ before, beforeEach, after }, captures, async () => {
        const [fake, good] = [await startMcp(), await startMcp()];
        Object.assign(fake.entry, { callTimeoutMs: 300, maxCallMs: 600 });
        return { servers: { fake, good } };
    });

    for (const [what, answer] of [
        ['bytes that are no HTTP', (res) => res.socket.end(randomBytes(1000))],
        ['a connection that closes', (res) => res.socket.end()],
        ['interim answers without end', (res) => withoutEnd(res, 'HTTP/1.1 100 Continue\r\n\r\n', res.socket)],
        ['a header without end', (res) => (res.socket.write('HTTP/1.1 200 OK\r\nX-A: '), withoutEnd(res, 'v'.repeat(1000), res.socket))],
        ['bytes that are no JSON', (res) => res.writeHead(200, JSON_HEAD).end(randomBytes(100_000))],
        ['bytes that are no events', (res) => res.writeHead(200, SSE_HEAD).end(randomBytes(100_000))],
        ['arrays inside each other', (res) => res.writeHead(200, JSON_HEAD).end('['.repeat(1_000_000))],
        ['half an event', (res) => res.writeHead(200, SSE_HEAD).write('data: {"jsonrpc"')],
        ['an event without end', (res) => (res.writeHead(200, SSE_HEAD), res.write('data: '), withoutEnd(res, 'x'.repeat(65_536)))],
        ['an error page without end', (res) => (res.writeHead(500), withoutEnd(res, 'x'.repeat(65_536)))],
        ['comments without end', events(': x\n')],
        ['events that have only ids without end', events('id: 1\ndata:\n\n')],
        ['logging without end', events(event({ method: 'notifications/message', params: { level: 'info', data: 'x' } }))],
        ['changes of tools without end', events(event({ method: 'notifications/tools/list_changed' }))],
        ['progress without end', events((id) => event({ method: 'notifications/progress', params: { progressToken: id, progress: 1 } }))],
        ['answers to others without end', events(event({ id: 1e9, result: { content: [] } }))],
        ['its cancellation without end', events((id) => event({ method: 'notifications/cancelled', params: { requestId: id } }))],
    ]) {
        test(`${what}: it fails, and another server answers meanwhile`, async () => {
            const { fake } = g.options.servers;
            fake.style.onRequest = ({ body, res }) => {
                const { method, id } = body ? JSON.parse(body) : {};
                return method === 'tools/call' ? (answer(res, id), HANG) : undefined;
            };
            g.up.always(({ body: { messages } }) => (messages.at(-1).role === 'tool' ? textStream('Done.') : callStream([shown(messages[0].content, 'echo'), { message: 'hi' }, 'c1'])));
            const failing = g.respond({ input: 'fake', ...FAKE });
            const { output: [other] } = await g.respond({ input: 'good', tools: [declared('good')] });
            assert.equal(other.output, 'Echo: hi');
            assert.equal((await failing).output[0].status, 'failed');
        });
    }
});

/* ---- what a file that changes all the time costs */

const filesOf = ({ pid }) => readdirSync(`/proc/${pid}/fd`).length;
const childrenOf = ({ pid }) => readdirSync(`/proc/${pid}/task`).flatMap((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').trim().split(' ')).filter(Boolean);

test('five hundred processes that end at once leave no zombie and no descriptor', async (t) => {
    const crash = (n) => Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`s${i}`, { command: '/bin/sh', args: ['-c', `exit ${i % 7}`, `${n}`] }]));
    const g = await gateway(t, { servers: {}, captures });
    await g.servers(); /* the connection that asks is open */
    const before = filesOf(g.daemon.child);
    for (let n = 0; n < 10; n++) {
        g.reload(crash(n));
        await g.untilServers((servers) => Object.values(servers).length === 50 && Object.values(servers).every(({ error }) => error));
    }
    g.reload({});
    await g.untilServers((servers) => Object.keys(servers).length === 0);
    for (const deadline = performance.now() + patience(10_000); childrenOf(g.daemon.child).length > 0 || filesOf(g.daemon.child) > before + 4; await pause(20))
        assert.ok(performance.now() < deadline, `${childrenOf(g.daemon.child).length} children, ${filesOf(g.daemon.child)} descriptors instead of ${before}`);
});

for (const transport of ['http', 'sse', 'stdio']) {
    test(`over ${transport} no call is lost when the file changes again and again`, async (t) => {
        /* It takes its time: calls are to be under way when the file changes. */
        const fake = await startMcp({ transport, tools: { ...TOOLS, echo: async () => (await pause(30), 'late') } });
        const g = await gateway(t, { servers: { fake }, captures });
        g.up.always(({ body: { messages } }) => (messages.at(-1).role === 'tool' ? textStream('Done.') : callStream(ECHO)));
        let isOver = false;
        const work = async () => {
            while (!isOver)
                assert.equal((await g.respond(FAKE)).output[0].output, 'late');
        };
        const workers = Promise.all(Array.from({ length: 4 }, work));
        for (let n = 1; n <= 20; n++) {
            const begun = fake.calls.length;
            g.reload({ fake: { ...fake.entry, callTimeoutMs: 10_000 + n } });
            await fake.called(begun + 1);
        }
        isOver = true;
        await workers;
    });
}

captures.judge(test);
