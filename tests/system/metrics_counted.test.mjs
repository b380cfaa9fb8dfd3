/* metrics_counted.test.mjs -- what happens is counted: families whose numbers are made far from the turn. */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { accepted, become } from '../lib/background.mjs';
import { ask, get, open } from '../lib/client.mjs';
import { pair, startDaemon } from '../lib/daemon.mjs';
import { declared, gateway, shown } from '../lib/mcp.mjs';
import { failed, LOST, rpcError, startMcp, TOOLS } from '../lib/mcp_server.mjs';
import { scrape, scrapeUntil } from '../lib/metrics.mjs';
import { codeGateway, noSandbox, WITH_CODE } from '../lib/sandbox.mjs';
import { callStream, chunk, failure, frames, HANG, json, startUpstream, stream, textStream, usageChunk } from '../lib/upstream.mjs';

const FAKE = { tools: [declared('fake')] };

describe('requests to MCP servers', () => {
    const COUNT = 'mcp_client_operation_duration_seconds_count';

    for (const [transport, network_transport] of [['stdio', 'pipe'], ['http', 'tcp'], ['sse', 'tcp']])
        test(`are counted by method, ${transport}`, async (t) => {
            const fake = await startMcp({ transport, tools: TOOLS });
            const g = await gateway(t, { servers: { fake } });
            g.up.next(callStream([shown('fake', 'echo'), { message: 'hi' }, 'c1']), textStream('Done.'));
            await g.respond(FAKE);
            const page = await scrape(g.daemon);
            const of = (mcp_method_name) => page.value(COUNT, { mcp_method_name, network_transport });
            for (const method of ['initialize', 'tools/list', 'tools/call'])
                assert.equal(of(method), 1, method);
            assert.equal(page.samples(COUNT, { mcp_method_name: 'tools/call' })[0].labels.error_type, undefined);
            assert.deepEqual(page.crookedHistograms, []);
        });

    test('that fail are counted once, with a word for it', async (t) => {
        const tools = { refuses: () => { throw rpcError(-32000, 'no'); }, fails: () => failed('no'), leaves: () => LOST };
        const fake = await startMcp({ tools });
        const g = await gateway(t, { servers: { fake } });
        for (const [tool, error_type] of [['refuses', 'rpc_error'], ['fails', 'tool_error'], ['leaves', 'closed']]) {
            g.up.next(callStream([shown('fake', tool), {}, 'c1']), textStream('Done.'));
            await g.respond(FAKE);
            assert.equal((await scrape(g.daemon)).value(COUNT, { mcp_method_name: 'tools/call', error_type }), 1, error_type);
        }
        assert.equal((await scrape(g.daemon)).value(COUNT, { mcp_method_name: 'tools/call' }), 3);
    });

    test('that time out are counted as that', async (t) => {
        const fake = await startMcp({ tools: { waits: (_, { ended }) => ended } });
        const g = await gateway(t, { servers: { fake }, args: ['--mcp-call-timeout', '50ms'] });
        g.up.next(callStream([shown('fake', 'waits'), {}, 'c1']), textStream('Done.'));
        await g.respond(FAKE);
        assert.equal((await scrape(g.daemon)).value(COUNT, { mcp_method_name: 'tools/call', error_type: 'timeout' }), 1);
    });
});

describe('sandboxes', { concurrency: false, skip: noSandbox }, () => {
    const starts = (page, result) => page.value('antiphon_sandbox_starts_total', { result });

    test('are counted while they are there, and their starts', async (t) => {
        const g = await codeGateway(t);
        const first = await scrape(g.daemon);
        assert.deepEqual([first.value('antiphon_sandbox_containers'), starts(first)], [0, 0], 'the one that is tried at the start is no container');
        g.up.next(callStream(['code_interpreter', { code: '6 * 7' }, 'c1']), textStream('Done.'));
        const { output: [{ container_id }] } = await g.respond(WITH_CODE);
        const page = await scrape(g.daemon);
        assert.deepEqual([page.value('antiphon_sandbox_containers'), starts(page, 'ok'), starts(page, 'error')], [1, 1, 0]);
        await ask(g.daemon, undefined, { method: 'DELETE', path: `/v1/containers/${container_id}` });
        assert.equal((await scrape(g.daemon)).value('antiphon_sandbox_containers'), 0);
    });
});

describe('the upstream', () => {
    const held = stream([...frames(chunk({ content: 'a' })), HANG]);
    const connections = (page, state) => page.value('antiphon_upstream_connections', { upstream: 'default', state });

    /* Two streams at a time, then one answer that ends. */
    async function checkConnections(up, daemon) {
        up.next(held, held);
        const streams = [1, 2].map(() => open(daemon, { input: 'Hi', stream: true }));
        await Promise.all(streams.map((one) => one.until('output_text.delta')));
        const page = await scrape(daemon);
        assert.equal(page.value('antiphon_upstream_in_flight', { upstream: 'default' }), 2);
        assert.equal(connections(page, 'active'), 2);
        for (const one of streams)
            one.destroy();
        await scrapeUntil(daemon, (p) => p.value('antiphon_upstream_in_flight') === 0 && connections(p, 'active') === 0);
        await ask(daemon, { input: 'Hi' });
        const rested = await scrapeUntil(daemon, (p) => connections(p, 'idle') === 1 && connections(p, 'active') === 0);
        assert.equal(rested.value('antiphon_upstream_in_flight'), 0);
        assert.equal(rested.value('antiphon_routing_total', { upstream: 'default', choice: 'only' }), 3);
    }

    async function checkConnecting(daemon) {
        await ask(daemon, { input: 'Hi' });
        await scrapeUntil(daemon, (p) => connections(p, 'idle') === 1);
        await ask(daemon, { input: 'Hi' });
        const count = (page, phase) => page.value('antiphon_upstream_attempt_seconds_count', { upstream: 'default', phase });
        const page = await scrapeUntil(daemon, (p) => count(p, 'total') === 2);
        assert.deepEqual(['connect', 'first_byte'].map((phase) => count(page, phase)), [1, 2]);
    }

    /* libcurl asks proxies, whatever the URL. */
    const ways = [['our own client', () => []], ['libcurl', ({ origin }) => ['--proxy', origin]]];

    for (const [name, args] of ways) {
        const place = async (t) => {
            const up = await startUpstream();
            t.after(() => up.close());
            const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'test-model', '--workers', '1', ...args(up)] });
            t.after(() => daemon.stop());
            return { up, daemon };
        };

        test(`has its calls and connections told as they are, with ${name}`, async (t) => {
            const { up, daemon } = await place(t);
            await checkConnections(up, daemon);
            if (name === 'libcurl')
                return; /* which does not look at connections that are idle */
            await up.close();
            await scrapeUntil(daemon, (p) => connections(p, 'idle') === 0);
        });

        test(`has the time of connecting counted, where a connection is made, with ${name}`, async (t) => {
            const { daemon } = await place(t);
            await checkConnecting(daemon);
        });
    }
});

describe('routes of operators', () => {
    test('are templates, and what is none of them is _other', async (t) => {
        const daemon = await startDaemon({ exact: true, args: ['--listen', '127.0.0.1:0,127.0.0.1:0+admin'] });
        t.after(() => daemon.stop());
        const [, port] = await daemon.logged(/listening address=[^ ]*,127\.0\.0\.1:(\d+)\+admin/);
        const admin = { origin: `http://127.0.0.1:${port}` };
        await get(admin, '/admin/status');
        await ask(admin, undefined, { path: '/admin/turns/resp_0123456789/cancel' });
        await ask(admin, undefined, { method: 'PUT', path: '/admin/status' });
        await get(admin, '/admin/no-such-thing');
        const count = (page, route, status) => page.value('antiphon_requests_total', { route, status });
        const page = await scrapeUntil(admin, (p) => count(p, '_other', '404') === 1);
        assert.deepEqual([count(page, '/admin/status', '200'), count(page, '/admin/turns/{id}/cancel', '404'), count(page, '_other', '405')], [1, 1, 1]);
        assert.deepEqual(['not_found', 'method'].map((reason) => page.value('antiphon_rejected_total', { reason })), [1, 1]);
        assert.deepEqual([...page.families.values()].flatMap(({ samples }) => samples).filter(({ labels }) => /resp_|no-such/.test(JSON.stringify(labels))), []);
    });
});

test('metrics_tools tells 200 tools of servers apart, the others are _other', async (t) => {
    const names = Array.from({ length: 210 }, (_, i) => `tool_${i}`);
    const fake = await startMcp({ tools: Object.fromEntries(names.map((name) => [name, () => 'done'])) });
    const g = await gateway(t, { servers: { fake }, args: ['--metrics-tools'] });
    for (let i = 0; i < names.length; i += 70) {
        const calls = names.slice(i, i + 70).map((name) => [shown('fake', name), {}, `call_${name}`]);
        g.up.next(callStream(...calls), textStream('Done.'));
        await g.respond(FAKE);
    }
    const page = await scrape(g.daemon);
    const count = (labels) => page.value('antiphon_tool_calls_total', { kind: 'mcp', server: 'fake', ...labels });
    assert.equal(count(), names.length);
    assert.equal(count({ tool: '_other' }), names.length - 200);
    assert.equal(new Set(page.samples('antiphon_tool_calls_total').map(({ labels }) => labels.tool)).size, 201);
});

describe('relays', () => {
    const usage = { prompt_tokens: 30, completion_tokens: 3, total_tokens: 33, prompt_tokens_details: { cached_tokens: 10 } };
    const messages = [{ role: 'user', content: 'Hi' }];
    const tokens = (page, kind) => page.value('antiphon_tokens_total', { model: 'test-model', upstream: 'default', kind });
    const unknown = (page) => page.value('antiphon_usage_unknown_total', { model: 'test-model' });
    const chat = (daemon, more) => ask(daemon, { model: 'test-model', messages, ...more }, { path: '/v1/chat/completions' });

    test('have their tokens counted, streamed or not', async (t) => {
        const { up, daemon } = await pair(t);
        const message = { role: 'assistant', content: 'no "usage":{"prompt_tokens":99} at all' };
        up.next(json(200, { id: 'c', object: 'chat.completion', model: 'm', choices: [{ index: 0, message, finish_reason: 'stop' }], usage, timings: null }));
        await chat(daemon);
        const pieces = Array.from({ length: 2000 }, (_, i) => chunk({ content: `piece ${i}` }));
        up.next(stream(frames(...pieces, chunk({}, 'stop'), usageChunk(7, 2), '[DONE]')));
        await chat(daemon, { stream: true });
        const page = await scrapeUntil(daemon, (p) => tokens(p, 'input') > 30);
        assert.deepEqual(['input', 'output', 'cached'].map((kind) => tokens(page, kind)), [37, 5, 10]);
        assert.equal(page.value('antiphon_requests_total', { route: '/v1/chat/completions', model: 'test-model' }), 2);
        assert.equal(page.value('gen_ai_client_operation_duration_seconds_count', { gen_ai_operation_name: 'chat', gen_ai_request_model: 'test-model' }), 2);
        assert.equal(unknown(page), 0);
    });

    test('of which the upstream tells no tokens are counted as that', async (t) => {
        const { up, daemon } = await pair(t);
        up.next(stream(frames(chunk({ content: 'a' }, 'stop'), '[DONE]')), failure(500, 'no'));
        await chat(daemon, { stream: true });
        await chat(daemon);
        const page = await scrapeUntil(daemon, (p) => p.value('antiphon_upstream_attempts_total') === 2);
        assert.deepEqual([unknown(page), tokens(page)], [1, 0]);
    });

    test('of embeddings are an operation of their own, and may begin with their tokens', async (t) => {
        const { up, daemon } = await pair(t);
        up.next(json(200, { model: 'm', object: 'list', usage: { prompt_tokens: 5, total_tokens: 5 }, data: [{ embedding: Array(9000).fill(0.5) }] }));
        await ask(daemon, { model: 'test-model', input: 'Hi' }, { path: '/v1/embeddings' });
        const page = await scrapeUntil(daemon, (p) => tokens(p, 'input') === 5);
        assert.equal(page.value('gen_ai_client_token_usage_count', { gen_ai_operation_name: 'embeddings', gen_ai_request_model: 'test-model', gen_ai_token_type: 'input' }), 1);
    });
});

describe('responses in the background', () => {
    const counts = (page) => ['queued', 'in_progress'].map((status) => page.value('antiphon_background_responses', { status }));

    test('are counted as they wait and run', async (t) => {
        const { up, daemon } = await pair(t, '--background-running', '1');
        up.always(stream([...frames(chunk({ content: 'a' })), HANG]));
        const ids = [];
        for (let i = 0; i < 3; i++)
            ids.push((await accepted(daemon, {})).id);
        await become(daemon, ids[0], 'in_progress');
        const first = await scrape(daemon);
        assert.deepEqual(counts(first), [2, 1]);
        const loads = (page) => page.value('antiphon_store_operation_seconds_count', { operation: 'load' });
        assert.equal(loads(await scrape(daemon)), loads(first), 'a scrape is no operation of its own');
        for (const id of ids.reverse())
            await ask(daemon, undefined, { path: `/v1/responses/${id}/cancel` });
        await scrapeUntil(daemon, (p) => counts(p).join() === '0,0');
    });
});

describe('memory', () => {
    const bytes = (page, use) => page.value('antiphon_memory_bytes', { use });

    test('of answers and reasoning that are kept is told', async (t) => {
        const { up, daemon } = await pair(t);
        const before = await scrape(daemon);
        assert.deepEqual(['responses', 'reasoning'].map((use) => bytes(before, use)), [0, 0]);
        assert.ok(bytes(before, 'requests') > 0);
        const call = { index: 0, id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } };
        up.next(stream(frames(chunk({ reasoning_content: 'Where shall I look?' }), chunk({ tool_calls: [call] }), chunk({}, 'tool_calls'), '[DONE]')));
        const tools = [{ type: 'function', name: 'look', parameters: {} }];
        await ask(daemon, { input: 'Hi', tools, store: false }, { headers: { 'idempotency-key': 'a-key-of-the-client' } });
        await scrapeUntil(daemon, (p) => bytes(p, 'responses') > 100);
        assert.ok(bytes(await scrape(daemon), 'reasoning') > 0);
    });

    test('of responses that run and are asked for is told', async (t) => {
        const { up, daemon } = await pair(t);
        up.next(stream([...frames(chunk({ content: 'a' })), HANG]));
        const { id } = await accepted(daemon, {});
        await become(daemon, id, 'in_progress');
        await ask(daemon, undefined, { method: 'GET', path: `/v1/responses/${id}` });
        assert.ok(bytes(await scrape(daemon), 'responses') > 0);
        await ask(daemon, undefined, { path: `/v1/responses/${id}/cancel` });
        await scrapeUntil(daemon, (p) => bytes(p, 'responses') === 0);
    });
});

describe('looks at the upstream', () => {
    const looks = (page, result) => page.value('antiphon_upstream_health_checks_total', { upstream: 'default', result });

    test('are counted by what has come of them', async (t) => {
        const { up, daemon } = await pair(t);
        await scrapeUntil(daemon, (p) => looks(p, 'ok') + looks(p, 'loading') === 1 && looks(p, 'fail') === 0);
        await up.close();
        const alone = await startDaemon({ upstream: up.url });
        t.after(() => alone.stop());
        await scrapeUntil(alone, (p) => looks(p, 'fail') === 1);
    });
});

test('all pauses between chunks are counted when the call has ended, whatever their pace', async (t) => {
    const { up, daemon } = await pair(t);
    const pause = (ms) => new Promise((done) => setTimeout(done, ms));
    const pieces = (n) => frames(...Array.from({ length: n }, (_, i) => chunk({ content: `${i} ` })));
    up.next(stream([pieces(3).join(''), pause(40), ...pieces(5), pause(200), ...pieces(2), pieces(20).join(''), ...frames(chunk({}, 'stop'), '[DONE]')]));
    await ask(daemon, { input: 'Hi', stream: true });
    const family = 'gen_ai_client_operation_time_per_output_chunk_seconds';
    const page = await scrapeUntil(daemon, (p) => p.value('antiphon_upstream_in_flight') === 0 && p.value(`${family}_count`) > 0);
    assert.equal(page.value(`${family}_count`), 29);
    assert.equal(page.value('gen_ai_client_operation_time_to_first_chunk_seconds_count'), 1);
    assert.deepEqual(page.crookedHistograms, []);
});
