/* mcp_cancel.test.mjs -- who leaves while a tool runs has it cancelled: on every
 * transport, and whatever made them leave. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { open } from '../lib/client.mjs';
import { declared, gateway, sharedGateway, shown } from '../lib/mcp.mjs';
import { startMcp } from '../lib/mcp_server.mjs';
import { ABOUT_TIME } from '../lib/patience.mjs';
import { HANG, callStream, chunk, frames, stream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const HANGING = [shown('fake', 'hang'), {}, 'c1'];
const body = (more = {}) => ({ model: 'm', input: 'Hi', tools: [declared('fake')], ...more });

/* How long a server may take to hear of it; the contract says 100 ms, machines
 * under load say more. */
const SOON_MS = 1000;

for (const [what, options] of [
    ['stdio', { transport: 'stdio' }],
    ['Streamable HTTP', {}],
    ['Streamable HTTP that answers with JSON', { style: { answer: 'json' } }],
    ['HTTP+SSE', { transport: 'sse' }],
]) {
    describe(`over ${what}`, { concurrency: false }, () => {
        const g = sharedGateway({ before, beforeEach, after }, captures, async () => ({ servers: { fake: await startMcp(options) } }));
        const server = () => g.options.servers.fake;

        for (const way of [true, false]) {
            test(`a client of a ${way ? 'streamed' : 'whole'} response that leaves cancels its call, once`, async () => {
                g.up.next(callStream(HANGING));
                const client = open(g.daemon, body({ stream: way }));
                const call = await server().called();
                client.destroy();
                const left = performance.now();
                await server().until(() => call.cancelled);
                const [{ params, at }] = server().of('notifications/cancelled');
                assert.equal(params.requestId, call.id);
                assert.equal(typeof (params.reason ?? ''), 'string');
                assert.ok(ABOUT_TIME || at - left < SOON_MS, `${at - left} ms`);
                assert.equal(g.up.requests.length, 1, 'the model is not asked again');
                g.up.next(callStream([shown('fake', 'echo'), { message: 'hi' }, 'c1']), textStream('Done.'));
                assert.equal((await g.respond(body())).output[0].output, 'Echo: hi');
                assert.equal(server().cancelled.length, 1);
            });
        }

        test('of two calls the one that is done is not cancelled', async () => {
            g.up.next(callStream([shown('fake', 'echo'), { message: 'hi' }, 'c2'], HANGING));
            const client = open(g.daemon, body({ stream: true }));
            await server().called(2);
            await client.until('"output":"Echo: hi"');
            client.destroy();
            const call = server().calls.find(({ name }) => name === 'hang');
            await server().until(() => call.cancelled);
            assert.deepEqual(server().cancelled, [call.id]);
        });
    });
}

for (const transport of ['http', 'sse', 'stdio']) {
    test(`over ${transport} all of a hundred calls are cancelled together`, async (t) => {
        const fake = await startMcp({ transport });
        fake.entry = { ...fake.entry, maxConcurrency: 100 };
        const g = await gateway(t, { servers: { fake }, captures });
        g.up.next(callStream(...Array.from({ length: 100 }, (_, i) => [shown('fake', 'hang'), {}, `c${i}`])));
        const client = open(g.daemon, body());
        await fake.called(100);
        client.destroy();
        await fake.until(() => fake.calls.every(({ cancelled }) => cancelled));
    });
}

describe('a client that leaves', { concurrency: false }, () => {
    const g = sharedGateway({ before, beforeEach, after }, captures, async () => ({ servers: { fake: await startMcp() } }));
    const server = () => g.options.servers.fake;

    test('while the model is asked what to call: the upstream sees it, nothing is called', async () => {
        g.up.next(stream([...frames(chunk({ content: 'Let me' })), HANG]));
        const client = open(g.daemon, body({ stream: true }));
        await client.until('Let me');
        client.destroy();
        await (await g.up.request(0)).closed;
        assert.equal(server().calls.length, 0);
    });

    test('while the model writes the arguments: nothing is called', async () => {
        g.up.next(stream([...frames(chunk({ tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: shown('fake', 'echo'), arguments: '{"mess' } }] })), HANG]));
        const client = open(g.daemon, body({ stream: true }));
        await client.until('mcp_call_arguments.delta');
        client.destroy();
        await (await g.up.request(0)).closed;
        assert.equal(server().calls.length, 0);
    });

    test('in the second round: the upstream sees it', async () => {
        g.up.next(callStream([shown('fake', 'echo'), { message: 'hi' }, 'c1']), stream([...frames(chunk({ content: 'It' })), HANG]));
        const client = open(g.daemon, body({ stream: true }));
        await client.until('"delta":"It"');
        client.destroy();
        await (await g.up.request(1)).closed;
        assert.equal(server().cancelled.length, 0);
    });

    test('while it waits in the queue of a busy server: never called', async (t) => {
        const fake = await startMcp();
        fake.entry.maxConcurrency = 1;
        const busy = await gateway(t, { servers: { fake }, captures });
        busy.up.next(callStream(HANGING), callStream([shown('fake', 'echo'), { message: 'waiting' }, 'c2']));
        const first = open(busy.daemon, body({ stream: true }));
        await fake.called();
        const second = open(busy.daemon, body({ stream: true }));
        await second.until('mcp_call_arguments.done');
        second.destroy();
        first.destroy();
        await fake.until(() => fake.cancelled.length === 1);
        busy.up.next(callStream([shown('fake', 'echo'), { message: 'hi' }, 'c3']), textStream('Done.'));
        await busy.respond(body());
        assert.deepEqual(fake.calls.map(({ name, arguments: { message } }) => message ?? name), ['hang', 'hi']);
    });
});

test('the end of the gateway in a call: the item is incomplete, the response failed, and nobody waits', async (t) => {
    const fake = await startMcp();
    const g = await gateway(t, { servers: { fake }, args: ['--drain-timeout', '200ms'], captures });
    g.up.next(callStream(HANGING));
    const streamed = g.stream(body());
    await fake.called();
    await g.close();
    const { items, response } = await streamed;
    assert.deepEqual(items.map(({ type, status }) => [type, status]), [['mcp_call', 'incomplete']]);
    assert.equal(response.status, 'failed');
});

captures.judge(test);
