/* metrics.test.mjs -- GET /metrics: who may read it, in which form, and what it says. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import test, { after, before, beforeEach, describe } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { Captures } from '../lib/check.mjs';
import { ask, get, open } from '../lib/client.mjs';
import { pair, startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { declared, sharedGateway, shown } from '../lib/mcp.mjs';
import { startMcp, TOOLS } from '../lib/mcp_server.mjs';
import { declaredFamilies, OPEN_METRICS, readPage, restless, scrape, scrapeUntil } from '../lib/metrics.mjs';
import { callStream, chunk, failure, frames, HANG, stream, textStream } from '../lib/upstream.mjs';

const status = async (daemon, options) => (await ask(daemon, undefined, { method: 'GET', path: '/metrics', ...options })).status;
const daemonWith = async (t, ...args) => {
    const daemon = await startDaemon({ args });
    t.after(() => daemon.stop());
    return daemon;
};
const bearer = (key) => ({ headers: { authorization: `Bearer ${key}` } });

describe('who may read the metrics', () => {
    test('auto: whoever asks from this machine, and not through a proxy', async (t) => {
        const daemon = await daemonWith(t);
        assert.equal(await status(daemon), 200);
        assert.equal(await status(daemon, { method: 'HEAD' }), 200);
        assert.equal(await status(daemon, { method: 'POST' }), 405);
        for (const header of ['x-forwarded-for', 'forwarded'])
            assert.equal(await status(daemon, { headers: { [header]: 'for=192.0.2.1' } }), 404);
        assert.equal(await status(daemon, { headers: { origin: 'https://elsewhere.example' } }), 403);
    });

    test('auto: nobody, while keys are configured', async (t) => {
        const daemon = await daemonWith(t, '--api-key', 'sk-any-key');
        assert.equal(await status(daemon), 404);
        assert.equal(await status(daemon, bearer('sk-any-key')), 404);
    });

    test('key: one that may administer', async (t) => {
        const file = folder(t, 'keys');
        const hash = (key) => import('node:crypto').then(({ createHash }) => createHash('sha256').update(key).digest('hex'));
        writeFileSync(file, `ci ${await hash('sk-of-a-client')}\nops ${await hash('sk-of-the-operator')} admin\n`, { mode: 0o600 });
        const daemon = await daemonWith(t, '--metrics', 'key', '--api-keys-file', file);
        assert.equal(await status(daemon), 401);
        assert.equal(await status(daemon, bearer('sk-of-a-client')), 403);
        assert.equal(await status(daemon, bearer('sk-of-the-operator')), 200);
    });

    test('open: everybody', async (t) => {
        const daemon = await daemonWith(t, '--metrics', 'open', '--api-key', 'sk-any-key');
        assert.equal(await status(daemon), 200);
        assert.equal(await status(daemon, { headers: { 'x-forwarded-for': '192.0.2.1' } }), 200);
    });

    test('off: nobody, whatever the method', async (t) => {
        const daemon = await daemonWith(t, '--metrics', 'off');
        for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS'])
            assert.equal(await status(daemon, { method }), 404, method);
        assert.equal(await status(daemon, { path: '//metrics' }), 404);
    });

    test('a listener with +metrics serves them with keys too, unless they are off', async (t) => {
        for (const [metrics, expected] of [['auto', 200], ['key', 200], ['off', 404]]) {
            const daemon = await startDaemon({ exact: true, args: ['--listen', '127.0.0.1:0,127.0.0.1:0+metrics', '--metrics', metrics, '--api-key', 'sk-any-key'] });
            t.after(() => daemon.stop());
            const [, port] = await daemon.logged(/listening address=[^ ]*,127\.0\.0\.1:(\d+)\+metrics/);
            assert.equal(await status({ origin: `http://127.0.0.1:${port}` }), expected, metrics);
        }
    });
});

describe('the page', () => {
    test('has every family of the table from the first scrape on, in both formats', async (t) => {
        const daemon = await daemonWith(t);
        const declared = declaredFamilies();
        for (const accept of [undefined, OPEN_METRICS]) {
            const page = await scrape(daemon, { accept });
            const inPage = [...page.families].map(([name, { type }]) => (type === 'unknown' ? [name, 'counter'] : [accept && type === 'counter' ? `${name}_total` : name, type]));
            assert.deepEqual(inPage.sort(), [...declared].map(([name, { type }]) => [name, type]).sort());
            assert.deepEqual(page.crookedHistograms, []);
            for (const { name, samples } of page.families.values()) {
                for (const { labels } of samples)
                    assert.deepEqual(Object.keys(labels).filter((label) => label !== 'le' && !(declared.get(name) ?? declared.get(`${name}_total`)).labels.includes(label)), [], name);
            }
        }
    });

    test('is the same twice but for numbers', async (t) => {
        const daemon = await daemonWith(t);
        const names = async () => (await get(daemon, '/metrics')).text.replace(/ [-0-9.]+$/gm, '');
        await names();
        await names();
        assert.equal(await names(), await names());
    });

    test('has the type that was asked for, and is compressed for whoever takes that', async (t) => {
        const daemon = await daemonWith(t);
        const typeFor = async (accept) => (await get(daemon, '/metrics', { headers: { accept } })).headers['content-type'];
        assert.equal(await typeFor('*/*'), 'text/plain; version=0.0.4; charset=utf-8');
        assert.equal(await typeFor(`${OPEN_METRICS};version=1.0.0;q=0.5,text/plain;q=0.5`), 'application/openmetrics-text; version=1.0.0; charset=utf-8');
        assert.equal(await typeFor(`${OPEN_METRICS};q=0.2,text/plain;q=0.5`), 'text/plain; version=0.0.4; charset=utf-8');
        const packed = await get(daemon, '/metrics', { headers: { 'accept-encoding': 'gzip' } });
        assert.equal(packed.headers['content-encoding'], 'gzip');
        readPage(gunzipSync(packed.bytes).toString());
        const head = await ask(daemon, undefined, { method: 'HEAD', path: '/metrics' });
        assert.equal(head.text, '');
        assert.ok(Number(head.headers['content-length']) > 1000);
    });

    test('many scrapes at a time are answered one after the other', async (t) => {
        const daemon = await daemonWith(t, '--workers', '4');
        const answers = await Promise.all(Array.from({ length: 40 }, () => status(daemon)));
        assert.deepEqual([...new Set(answers)].filter((code) => code !== 503), [200]);
    });
});

describe('responses', () => {
    test('are counted with their rounds, tokens, events and times', async (t) => {
        const { up, daemon } = await pair(t);
        const usage = { prompt_tokens: 30, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 10 } };
        up.always(stream(frames(chunk({ content: 'a' }), chunk({ content: 'b' }), chunk({ content: 'c' }, 'stop'), { ...chunk({}), choices: [], usage }, '[DONE]')));
        await ask(daemon, { input: 'Hi', stream: true });
        /* The end of a request is counted behind its last byte. */
        const page = await scrapeUntil(daemon, (p) => p.value('antiphon_requests_total', { route: '/v1/responses' }) === 1 && restless(p).length === 0);
        const model = { model: 'test-model' };
        assert.equal(page.value('antiphon_responses_total', { ...model, outcome: 'completed' }), 1);
        assert.equal(page.value('antiphon_requests_total', { ...model, route: '/v1/responses' }), 1);
        assert.equal(page.value('antiphon_response_rounds_sum', model), 1);
        assert.equal(page.value('antiphon_tokens_total', { ...model, upstream: 'default', kind: 'input' }), 30);
        assert.equal(page.value('antiphon_tokens_total', { ...model, kind: 'output' }), 3);
        assert.equal(page.value('antiphon_tokens_total', { ...model, kind: 'cached' }), 10);
        assert.equal(page.value('antiphon_events_total', { type: 'response.output_text.delta' }), 3);
        assert.equal(page.value('antiphon_events_total', { type: 'response.completed' }), 1);
        assert.equal(page.value('antiphon_upstream_attempts_total', { upstream: 'default', result: 'ok' }), 1);
        const convention = { gen_ai_operation_name: 'chat', gen_ai_provider_name: 'openai_compatible', gen_ai_request_model: 'test-model' };
        const called = { ...convention, server_address: '127.0.0.1', server_port: new URL(up.url).port };
        for (const family of ['gen_ai_server_request_duration_seconds', 'gen_ai_server_time_to_first_token_seconds', 'gen_ai_server_time_per_output_token_seconds'])
            assert.equal(page.value(`${family}_count`, convention), 1, family);
        for (const family of ['gen_ai_client_operation_duration_seconds', 'gen_ai_client_operation_time_to_first_chunk_seconds'])
            assert.equal(page.value(`${family}_count`, called), 1, family);
        assert.equal(page.value('gen_ai_client_token_usage_sum', { ...called, gen_ai_token_type: 'input' }), 30);
        assert.deepEqual(page.crookedHistograms, []);
        assert.deepEqual(restless(page), []);
    });

    test('are counted with their model, whether their request has a key or is stored', async (t) => {
        const { daemon } = await pair(t);
        for (const store of [true, false])
            await ask(daemon, { input: 'Hi', store }, { headers: { 'idempotency-key': 'k' + store } });
        const page = await scrapeUntil(daemon, (p) => p.value('antiphon_requests_total', { route: '/v1/responses' }) === 2 && restless(p).length === 0);
        assert.equal(page.value('antiphon_requests_total', { model: 'test-model', route: '/v1/responses' }), 2);
    });

    test('that fail are counted with their code, and gauges rest', async (t) => {
        const { up, daemon } = await pair(t);
        up.always(failure(500, 'no'));
        await ask(daemon, { input: 'Hi' });
        up.always(failure(429, 'no'));
        await ask(daemon, { input: 'Hi' });
        await ask(daemon, { input: 7 });
        await up.close();
        await ask(daemon, { input: 'Hi' });
        const page = await scrapeUntil(daemon, (p) => p.value('antiphon_requests_total', { route: '/v1/responses' }) === 4 && restless(p).length === 0);
        assert.equal(page.value('antiphon_responses_total', { outcome: 'failed' }) + page.value('antiphon_responses_total', { outcome: 'rejected' }), 4);
        assert.equal(page.value('antiphon_responses_total', { outcome: 'rejected', code: 'invalid_type' }), 1);
        assert.equal(page.value('antiphon_upstream_attempts_total', { result: 'http_5xx' }), 1);
        assert.equal(page.value('antiphon_upstream_attempts_total', { result: 'http_429' }), 1);
        assert.equal(page.value('antiphon_upstream_attempts_total', { result: 'connect' }), 1);
        assert.equal(page.value('gen_ai_client_operation_duration_seconds_count', { error_type: '500' }), 1);
        assert.equal(page.value('antiphon_responses_total', { model: 'test-model' }), 3, 'the configuration names it; the fourth has no model');
        assert.deepEqual(restless(page), []);
    });

    test('whose client leaves are counted by what was going on', async (t) => {
        const { up, daemon } = await pair(t);
        up.always(stream([...frames(chunk({ content: 'a' })), HANG]));
        const left = open(daemon, { input: 'Hi', stream: true });
        await left.until(() => left.text.includes('output_text.delta'));
        left.request.destroy();
        const page = await scrapeUntil(daemon, (p) => p.value('antiphon_client_disconnects_total', { phase: 'stream' }) === 1 && restless(p).length === 0);
        assert.equal(page.value('antiphon_responses_total', { outcome: 'client_gone' }), 1);
        assert.equal(page.value('antiphon_upstream_attempts_total', { result: 'cancelled' }), 1);
    });

    test('10,000 invented names of models add no series', async (t) => {
        const { up, daemon } = await pair(t, '--metrics-models', '5');
        up.always(({ body }) => (body?.model.startsWith('real') ? textStream('a') : failure(404, 'no such model')));
        const names = (page) => new Set([...page.families.values()].flatMap(({ samples }) => samples.map(({ labels }) => labels.model)));
        await ask(daemon, { model: 'real', input: 'Hi' });
        await ask(daemon, { model: 'invented', input: 'Hi' });
        await scrape(daemon); /* which has series of its own */
        const before = (await get(daemon, '/metrics')).text.split('\n').length;
        const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
        t.after(() => agent.destroy());
        await Promise.all(Array.from({ length: 8 }, async (_, k) => {
            for (let i = 0; i < 1250; i++)
                await ask(daemon, { model: `invented-${k}-${i}`, input: 'Hi' }, { agent });
        }));
        const after = await scrape(daemon);
        assert.equal((await get(daemon, '/metrics')).text.split('\n').length, before);
        assert.deepEqual([...names(after)].sort(), ['_other', 'real', 'test-model', undefined].filter((name) => names(after).has(name)).sort());
        assert.equal(after.value('antiphon_responses_total', { model: '_other' }), 10_001);
        for (let i = 0; i < 10; i++)
            await ask(daemon, { model: `real-${i}`, input: 'Hi' });
        assert.ok(names(await scrape(daemon)).size <= 7, 'metrics_models bounds those that are');
    });
});

describe('tools', { concurrency: false }, () => {
    const fake = async () => ({ servers: { fake: await startMcp({ tools: TOOLS }) }, args: ['--metrics-tools'] });
    const g = sharedGateway({ before, beforeEach, after }, new Captures(), fake);

    test('are counted by server and outcome, and the server by its state', async () => {
        g.up.next(callStream([shown('fake', 'echo'), { message: 'hi' }, 'c1']), textStream('It said hi.'));
        await g.stream({ tools: [declared('fake')] });
        const page = await scrape(g.daemon);
        const call = { kind: 'mcp', server: 'fake', tool: 'echo', outcome: 'completed' };
        assert.equal(page.value('antiphon_tool_calls_total', call), 1);
        assert.equal(page.value('gen_ai_execute_tool_duration_seconds_count', { gen_ai_tool_type: 'extension', gen_ai_tool_name: 'echo' }), 1);
        assert.equal(page.value('antiphon_mcp_server_state', { server: 'fake', state: 'ready' }), 1);
        assert.equal(page.value('antiphon_mcp_server_state', { server: 'fake' }), 1, 'one state at a time');
        assert.equal(page.value('antiphon_response_rounds_sum'), 2);
        assert.ok(page.value('antiphon_store_operation_seconds_count', { operation: 'save', result: 'ok' }) >= 1);
        assert.ok(page.value('antiphon_store_commits_total') >= 1);
        assert.ok(page.value('antiphon_log_lines_total', { level: 'info' }) >= 1);
    });
});

describe('requests', () => {
    test('are counted by route and status, and connections by listener', async (t) => {
        const { daemon } = await pair(t);
        await ask(daemon, { input: 'Hi' });
        await get(daemon, '/nowhere/at/all');
        await ask(daemon, '{');
        const page = await scrapeUntil(daemon, (p) => p.value('antiphon_requests_total', { route: '/v1/responses' }) === 2 && p.value('antiphon_connections', { state: 'active' }) === 1);
        assert.equal(page.value('antiphon_requests_total', { route: '/v1/responses', status: '200' }), 1);
        assert.equal(page.value('antiphon_requests_total', { route: '/v1/responses', status: '400' }), 1);
        assert.equal(page.value('antiphon_requests_total', { route: '_other', status: '404' }), 1);
        assert.equal(page.value('antiphon_rejected_total', { reason: 'not_found' }), 1);
        assert.equal(page.value('http_server_request_duration_seconds_count', { http_route: '/v1/responses' }), 2);
        assert.equal(page.value('http_server_active_requests'), 1, 'the scrape');
        assert.ok(page.value('antiphon_connections_total', { listener: '127.0.0.1:0' }) >= 4);
        assert.equal(page.value('antiphon_connections', { state: 'active' }), 1);
        assert.ok(page.value('antiphon_stream_bytes_total', { direction: 'in' }) > 10);
    });
});
