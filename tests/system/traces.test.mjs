/* traces.test.mjs -- spans as a receiver of OTLP gets them: which there are, under which parents, with which
 * attributes, and what is in none of them; and what becomes of them without a receiver. */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { become, accepted } from '../lib/background.mjs';
import { Authority, secureAsk } from '../lib/certs.mjs';
import { ask, open } from '../lib/client.mjs';
import { launchDaemon, startDaemon } from '../lib/daemon.mjs';
import { declared, gateway, shown } from '../lib/mcp.mjs';
import { startMcp } from '../lib/mcp_server.mjs';
import { startReceiver } from '../lib/otlp.mjs';
import { callStream, chunk, CLOSE, failure, frames, HANG, startUpstream, stream, textStream } from '../lib/upstream.mjs';
import { webSocket } from '../lib/websocket.mjs';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const SAMPLED = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'rojo=1,congo=2' };
const none = { keep() {} };

async function traced(t, { args = [], env = {}, ...more } = {}) {
    const receiver = await startReceiver(t);
    const up = await startUpstream();
    t.after(() => up.close());
    const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'test-model', ...args], env: receiver.env(env), ...more });
    t.after(() => daemon.stop());
    return { receiver, up, daemon };
}

/* A parent begins before its children and ends after them, and all of one trace say so. */
function checkTimes(trace) {
    for (const span of trace.spans) {
        assert.ok(span.start > 1_600_000_000_000_000_000n && span.end >= span.start, span.name);
        for (const child of trace.children(span))
            assert.ok(child.start >= span.start && child.end <= span.end, `${child.name} lies within ${span.name}`);
    }
}

const contextIn = ({ headers }) => headers.traceparent?.match(/^00-([0-9a-f]{32})-([0-9a-f]{16})-(0[01])$/)?.slice(1);

test('the scheme of a request is that of its listener, or what a trusted proxy says', async (t) => {
    const authority = new Authority(t), { cert, key } = authority.make('server');
    const { receiver, daemon } = await traced(t, { exact: true, args: ['--listen', '127.0.0.1:0+tls,127.0.0.1:0', '--tls-cert', cert, '--tls-key', key, '--trusted-proxies', '127.0.0.1'] });
    const [, port] = await daemon.logged(/listening address=[^ ]*\+tls,127\.0\.0\.1:(\d+)/);
    const scheme = async (n) => (await receiver.trace(undefined, n)).spans[0].attributes['url.scheme'];
    await secureAsk({ ...authority.options(), port: daemon.port }, { path: '/v1/responses', body: { input: 'Hi' } });
    assert.equal(await scheme(0), 'https');
    await ask({ origin: `http://127.0.0.1:${port}` }, { input: 'Hi' });
    assert.equal(await scheme(1), 'http');
    await ask({ origin: `http://127.0.0.1:${port}` }, { input: 'Hi' }, { headers: { 'x-forwarded-proto': 'https' } });
    assert.equal(await scheme(2), 'https');
});

describe('the spans of a turn', { concurrency: 4 }, () => {
    for (const protocol of ['http/protobuf', 'http/json'])
        for (const isStream of [false, true])
            test(`text, ${isStream ? 'streaming' : 'not streaming'}, by ${protocol}`, async (t) => {
                const { receiver, up, daemon } = await traced(t, { env: { OTEL_EXPORTER_OTLP_PROTOCOL: protocol } });
                const answer = await ask(daemon, { input: 'Hi', stream: isStream, temperature: 0.5, max_output_tokens: 99 });
                const trace = await receiver.trace();
                assert.deepEqual(trace.tree(), ['POST /v1/responses', '  chat test-model', '    POST', '  antiphon.save']);
                checkTimes(trace);
                const [server, chat, attempt] = trace.spans;
                assert.deepEqual(trace.spans.map(({ kind }) => kind), [2, 3, 3, 1]);
                assert.deepEqual(trace.spans.filter(({ error }) => error), []);
                assert.equal(server.attributes['http.response.status_code'], 200);
                assert.equal(server.attributes['http.route'], '/v1/responses');
                assert.equal(server.attributes['server.port'], daemon.port);
                assert.equal(server.attributes['openai.api.type'], 'responses');
                assert.equal(server.attributes['antiphon.outcome'], 'completed');
                assert.equal(server.attributes['antiphon.rounds'], 1);
                assert.equal(server.attributes['gen_ai.usage.input_tokens'], 9);
                assert.equal(server.attributes['client.address'], undefined);
                if (!isStream)
                    assert.equal(server.attributes['gen_ai.response.id'], answer.json.id);
                assert.equal(chat.attributes['gen_ai.operation.name'], 'chat');
                assert.equal(chat.attributes['gen_ai.request.model'], 'test-model');
                assert.equal(chat.attributes['gen_ai.response.model'], 'upstream-model');
                assert.equal(chat.attributes['gen_ai.request.temperature'], 0.5);
                assert.equal(chat.attributes['gen_ai.request.max_tokens'], 99);
                assert.deepEqual(chat.attributes['gen_ai.response.finish_reasons'], ['stop']);
                assert.equal(chat.attributes['server.port'], up.port);
                assert.ok(chat.attributes['gen_ai.response.time_to_first_chunk'] > 0);
                assert.equal(attempt.attributes['http.response.status_code'], 200);
                assert.equal(attempt.attributes['url.full'], undefined);
                assert.deepEqual(contextIn(up.requests[0]), [server.traceId, attempt.spanId, '01']);
                assert.equal(server.resource['service.name'], 'antiphon');
                assert.equal(server.resource['process.pid'], daemon.child.pid);
                assert.match(server.resource['service.instance.id'], /^[0-9a-f]{32}$/);
                assert.equal(server.scope.name, 'antiphon');
                assert.equal(receiver.requests[0].path, '/v1/traces');
            });

    test('the scheme is that by which the client has come', async (t) => {
        const { receiver, daemon } = await traced(t, { args: ['--trusted-proxies', '127.0.0.1'] });
        for (const [n, scheme] of ['http', 'https'].entries()) {
            await ask(daemon, { input: 'Hi' }, { headers: { 'x-forwarded-proto': scheme } });
            const trace = await receiver.trace(({ kind }) => kind === 2, n);
            assert.equal(trace.spans[0].attributes['url.scheme'], scheme);
        }
    });

    test('a loop with two calls of MCP servers', async (t) => {
        const receiver = await startReceiver(t);
        const servers = { fake: await startMcp(), other: await startMcp({ transport: 'stdio' }) };
        const g = await gateway(t, { servers, env: receiver.env() });
        g.up.next(callStream([shown('fake', 'echo'), { message: 'a' }, 'c1'], [shown('other', 'add'), { a: 1, b: 2 }, 'c2']),
            callStream([shown('fake', 'fail'), {}, 'c3']), textStream('Done.'));
        await ask(g.daemon, { input: 'Hi', tools: [declared('fake'), declared('other')] }, { headers: SAMPLED });
        await receiver.trace();
        const trace = receiver.traceOf(TRACE);
        assert.deepEqual(trace.tree().toSorted(), [
            'POST /v1/responses', '  chat test-model', '  chat test-model', '  chat test-model', '    POST', '    POST', '    POST',
            '  execute_tool echo', '  execute_tool add', '  execute_tool fail', '  antiphon.save',
        ].toSorted());
        checkTimes(trace);
        assert.equal(trace.root.parentSpanId, PARENT);
        assert.equal(trace.root.traceState, SAMPLED.tracestate);
        const [echo] = trace.named('execute_tool echo'), [add] = trace.named('execute_tool add'), [fail] = trace.named('execute_tool fail');
        assert.deepEqual([echo.kind, add.kind], [3, 3]);
        assert.equal(echo.attributes['gen_ai.operation.name'], 'execute_tool');
        assert.equal(echo.attributes['gen_ai.tool.call.id'], 'c1');
        assert.equal(echo.attributes['mcp.method.name'], 'tools/call');
        assert.equal(echo.attributes['mcp.protocol.version'], '2025-11-25');
        assert.equal(echo.attributes['network.transport'], 'tcp');
        assert.equal(add.attributes['network.transport'], 'pipe');
        assert.deepEqual([echo.error, fail.error, fail.attributes['error.type']], [false, true, 'tool_error']);
        const call = servers.fake.received.find(({ method, params }) => method === 'tools/call' && params.name === 'echo');
        assert.equal(call.params._meta.traceparent, `00-${TRACE}-${echo.spanId}-01`);
        assert.equal(call.params._meta.tracestate, SAMPLED.tracestate);
        assert.equal(call.headers.traceparent, call.params._meta.traceparent);
        assert.equal(call.headers.tracestate, SAMPLED.tracestate);
        assert.equal(echo.attributes['jsonrpc.request.id'], String(call.id));
        assert.deepEqual(g.up.requests.map((request) => contextIn(request)[0]), [TRACE, TRACE, TRACE]);
        assert.deepEqual(g.up.requests.map(({ headers }) => headers.tracestate), Array(3).fill(SAMPLED.tracestate));
    });

    test('an upstream that refuses', async (t) => {
        const { receiver, up, daemon } = await traced(t);
        up.next(failure(429, 'Too many.'));
        await ask(daemon, { input: 'Hi' });
        const trace = await receiver.trace();
        assert.deepEqual(trace.tree(), ['POST /v1/responses', '  chat test-model', '    POST']);
        assert.deepEqual(trace.spans.map(({ error, attributes }) => [error, attributes['error.type']]),
            [[true, 'rate_limit_exceeded'], [true, '429'], [true, '429']]);
        assert.equal(trace.root.attributes['http.response.status_code'], 429);
    });

    test('what is asked again with less is another attempt of the same question', async (t) => {
        const { receiver, up, daemon } = await traced(t);
        const long = Array.from({ length: 40 }, (_, i) => ({ role: i % 2 ? 'assistant' : 'user', content: `word ${i} `.repeat(20) }));
        up.next(failure(400, "This model's maximum context length is 1000 tokens. However, you requested 2000 tokens.", { code: 'context_length_exceeded' }));
        await ask(daemon, { input: [...long, { role: 'user', content: 'Hi' }], truncation: 'auto' });
        const trace = await receiver.trace();
        assert.deepEqual(trace.tree(), ['POST /v1/responses', '  chat test-model', '    POST', '    POST', '  antiphon.save']);
        const [first, second] = trace.named('POST');
        assert.deepEqual([first.error, second.error], [true, false]);
        assert.equal(second.attributes['http.request.resend_count'], 1);
        assert.equal(trace.named('chat test-model')[0].error, false);
    });

    test('an upstream that nobody reaches', async (t) => {
        const receiver = await startReceiver(t);
        const daemon = await startDaemon({ upstream: 'http://127.0.0.1:1/v1', args: ['--model', 'm'], env: receiver.env() });
        t.after(() => daemon.stop());
        await ask(daemon, { input: 'Hi' });
        const trace = await receiver.trace();
        assert.deepEqual(trace.spans.map(({ attributes }) => attributes['error.type']), Array(3).fill('upstream_unavailable'));
    });

    test('an answer that breaks off', async (t) => {
        const { receiver, up, daemon } = await traced(t);
        up.next(stream([...frames(chunk({ content: 'He' })), CLOSE]));
        await ask(daemon, { input: 'Hi', stream: true });
        const trace = await receiver.trace();
        assert.deepEqual(trace.tree().slice(0, 3), ['POST /v1/responses', '  chat test-model', '    POST']);
        assert.equal(trace.root.attributes['http.response.status_code'], 200);
        assert.equal(trace.root.attributes['antiphon.outcome'], 'failed');
        assert.deepEqual(trace.spans.slice(0, 3).map(({ error }) => error), [true, true, true]);
    });

    test('a client that leaves has not failed', async (t) => {
        const { receiver, up, daemon } = await traced(t);
        up.next(stream([...frames(chunk({ content: 'He' })), HANG]));
        const exchange = open(daemon, { input: 'Hi', stream: true, store: false });
        await exchange.until('response.output_text.delta');
        exchange.destroy();
        const trace = await receiver.trace();
        assert.equal(trace.root.attributes['antiphon.outcome'], 'client_gone');
        assert.deepEqual(trace.spans.map(({ error, attributes }) => [error, attributes['error.type']]),
            [[false, 'client_gone'], [false, 'cancelled'], [false, 'cancelled']]);
    });

    test('a response in the background belongs to the trace of its request', async (t) => {
        const { receiver, daemon } = await traced(t);
        const { id } = await accepted(daemon, { input: 'Hi', background: true }, none);
        await become(daemon, id, 'completed');
        const root = await receiver.until(({ spans }) => spans.find(({ name }) => name === 'antiphon.background'));
        const trace = receiver.traceOf(root.traceId);
        assert.equal(trace.root.name, 'POST /v1/responses');
        assert.equal(trace.root.attributes['antiphon.outcome'], 'queued');
        assert.equal(root.parentSpanId, trace.root.spanId);
        assert.deepEqual(trace.tree(root), ['antiphon.background', '  antiphon.save', '  chat m', '    POST', '  antiphon.save']);
        assert.equal(root.attributes['gen_ai.response.id'], id);
    });

    test('what continues a response loads it', async (t) => {
        const { receiver, daemon } = await traced(t);
        const { json } = await ask(daemon, { input: 'Hi' });
        await ask(daemon, { input: 'And?', previous_response_id: json.id });
        const trace = await receiver.trace(undefined, 1);
        assert.ok(trace.tree().includes('  antiphon.load'));
    });

    test('a summary is below its compaction', async (t) => {
        const { receiver, up, daemon } = await traced(t);
        up.next(textStream('They said hello.'));
        await ask(daemon, { model: 'test-model', input: [{ role: 'user', content: 'Hello' }, { role: 'assistant', content: 'Hi' }] }, { path: '/v1/responses/compact' });
        const trace = await receiver.trace();
        assert.deepEqual(trace.tree().slice(0, 4), ['POST /v1/responses/compact', '  antiphon.compaction', '    chat test-model', '      POST']);
        checkTimes(trace);
    });

    test('each request of a WebSocket is a trace of its own, linked to its connection', async (t) => {
        const { receiver, daemon } = await traced(t);
        const ws = await webSocket(t, daemon, { headers: SAMPLED, captures: none });
        for (const input of ['Hi', 'Ho'])
            await ws.create({ input });
        const [upgrade] = await receiver.until(({ spans }) => spans.filter(({ name }) => name === 'POST /v1/responses').length === 2 &&
            spans.filter(({ name }) => name === 'GET /v1/responses'));
        assert.deepEqual([upgrade.traceId, upgrade.parentSpanId, upgrade.attributes['http.response.status_code']], [TRACE, PARENT, 101]);
        const roots = receiver.spans.filter(({ name }) => name === 'POST /v1/responses');
        assert.equal(new Set([TRACE, ...roots.map(({ traceId }) => traceId)]).size, 3);
        for (const root of roots) {
            assert.equal(root.parentSpanId, undefined);
            assert.deepEqual(root.links, [{ traceId: TRACE, spanId: upgrade.spanId }]);
        }
    });

    test('chat completions with tools, and what is relayed', async (t) => {
        const receiver = await startReceiver(t);
        const g = await gateway(t, { servers: { fake: await startMcp() }, env: receiver.env() });
        const chat = { model: 'test-model', stream: true, messages: [{ role: 'user', content: 'Hi' }] };
        g.up.next(callStream([shown('fake', 'echo'), { message: 'a' }, 'c1']));
        await ask(g.daemon, chat, { path: '/v1/chat/completions', headers: SAMPLED });
        await receiver.trace();
        const trace = receiver.traceOf(TRACE);
        assert.deepEqual(trace.tree().toSorted(), ['POST /v1/chat/completions', '  chat test-model', '    POST', '  execute_tool echo', '  chat test-model', '    POST'].toSorted());
        assert.equal(trace.root.attributes['openai.api.type'], 'chat_completions');
        assert.equal(trace.root.attributes['antiphon.outcome'], 'completed');
        await ask(g.daemon, { model: 'e', input: 'Hi' }, { path: '/v1/embeddings', headers: SAMPLED });
        const relayed = await receiver.until(({ spans }) => spans.find(({ name }) => name === 'POST /v1/embeddings'));
        assert.ok(receiver.spans.some(({ name, parentSpanId }) => name === 'embeddings e' && parentSpanId === relayed.spanId));
        const { headers } = g.up.requests.at(-1);
        assert.equal(headers.traceparent.slice(3, 35), TRACE);
        assert.notEqual(headers.traceparent, SAMPLED.traceparent, 'the client\'s own is not passed on');
        assert.equal(headers.tracestate, SAMPLED.tracestate);
    });
});

describe('context', { concurrency: 4 }, () => {
    test('what a client does not want traced is not, and its trace goes on', async (t) => {
        const { receiver, up, daemon } = await traced(t);
        await ask(daemon, { input: 'Hi' }, { headers: { traceparent: `00-${TRACE}-${PARENT}-00`, tracestate: 'a=1' } });
        const [trace, span, flags] = contextIn(up.requests[0]);
        assert.deepEqual([trace, flags, up.requests[0].headers.tracestate], [TRACE, '00', 'a=1']);
        assert.notEqual(span, PARENT);
        await ask(daemon, { input: 'Hi' });
        await receiver.trace();
        assert.deepEqual(receiver.spans.filter(({ traceId }) => traceId === TRACE), []);
    });

    test('a malformed one begins another trace, without an error', async (t) => {
        const { receiver, up, daemon } = await traced(t);
        for (const traceparent of ['', 'x', `00-${TRACE.toUpperCase()}-${PARENT}-01`, `ff-${TRACE}-${PARENT}-01`, `00-${TRACE}-0000000000000000-01`])
            assert.equal((await ask(daemon, { input: 'Hi' }, { headers: { traceparent, tracestate: 'a=1' } })).status, 200);
        await receiver.until(({ spans }) => spans.filter(({ kind }) => kind === 2).length === 5);
        for (const { parentSpanId } of receiver.spans.filter(({ kind }) => kind === 2))
            assert.equal(parentSpanId, undefined);
        for (const request of up.requests) {
            assert.notEqual(contextIn(request)[0], TRACE);
            assert.equal(request.headers.tracestate, undefined);
        }
    });

    test('trace_response tells the client, and OTEL_PROPAGATORS=none nobody else', async (t) => {
        const { receiver, up, daemon } = await traced(t, { args: ['--trace-response', '--trace-client-address'], env: { OTEL_PROPAGATORS: 'none' } });
        const { headers } = await ask(daemon, { input: 'Hi' });
        const { root } = await receiver.trace();
        assert.equal(headers.traceparent, `00-${root.traceId}-${root.spanId}-01`);
        assert.equal(root.attributes['client.address'], '127.0.0.1');
        assert.equal(up.requests[0].headers.traceparent, undefined);
    });

    for (const store of [true, false])
        for (const stream of [false, true])
            test(`a request with an Idempotency-Key is one span of a server, as is the one that repeats it (store ${store}, stream ${stream})`, async (t) => {
                const { receiver, up, daemon } = await traced(t, { args: ['--trace-response'] });
                const told = [];
                for (const key of ['a', 'a', 'b']) {
                    const { headers } = await ask(daemon, { input: 'Hi', store, stream }, { headers: { 'idempotency-key': key } });
                    told.push(headers.traceparent);
                }
                const servers = () => receiver.spans.filter(({ kind }) => kind === 2);
                await receiver.until(() => servers().length === told.length);
                const sent = servers().map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`);
                assert.deepEqual(sent.sort(), [...told].sort()); /* workers end theirs in any order */
                assert.deepEqual(up.requests.map((request) => contextIn(request)[0]), [told[0], told[2]].map((text) => text.split('-')[1]));
            });

    test('a server that the request brings gets none', async (t) => {
        const receiver = await startReceiver(t);
        const far = await startMcp();
        t.after(() => far.close());
        const g = await gateway(t, { env: receiver.env(), args: ['--mcp-remote', 'any'], wait: false });
        g.up.next(callStream([shown('far', 'echo'), { message: 'a' }, 'c1']));
        await ask(g.daemon, { input: 'Hi', tools: [declared('far', { server_url: far.url, require_approval: 'never' })] });
        await receiver.trace();
        const call = far.received.find(({ method }) => method === 'tools/call');
        assert.ok(call, 'it was called');
        assert.equal(call.headers.traceparent, undefined);
        assert.equal(call.params._meta?.traceparent, undefined);
    });
});

describe('the receiver', { concurrency: 4 }, () => {
    test('is sent what variables say: headers, gzip, a path of its own, a resource', async (t) => {
        const receiver = await startReceiver(t);
        const up = await startUpstream();
        t.after(() => up.close());
        const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'm'], env: {
            OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.origin}/own/path`, OTEL_BSP_SCHEDULE_DELAY: '50',
            OTEL_EXPORTER_OTLP_HEADERS: 'api-key=abc%20def,x-other=1', OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
            OTEL_SERVICE_NAME: 'gw', OTEL_RESOURCE_ATTRIBUTES: 'service.name=no,deployment.environment=a%2Cb,host.name=h',
        } });
        t.after(() => daemon.stop());
        await ask(daemon, { input: 'Hi' });
        const { root } = await receiver.trace();
        const [{ path, headers }] = receiver.requests;
        assert.deepEqual([path, headers['api-key'], headers['x-other'], headers['content-encoding']], ['/own/path', 'abc def', '1', 'gzip']);
        assert.equal(root.resource['service.name'], 'gw');
        assert.equal(root.resource['deployment.environment'], 'a,b');
        assert.equal(root.resource['host.name'], 'h');
    });

    test('is asked again where it has no time, and not where it refuses', async (t) => {
        const { receiver, daemon } = await traced(t);
        receiver.answer = (_, n) => n === 0 ? { status: 503, headers: { 'retry-after': '1' } } : { status: 200 };
        await ask(daemon, { input: 'Hi' });
        await receiver.trace();
        assert.equal(receiver.requests[0].body.equals(receiver.requests[1].body), true, 'the same bytes again');
        const refused = [];
        receiver.answer = ({ body }) => ({ status: refused.length === 0 ? refused.push(body) && 400 : 200 });
        await ask(daemon, { input: 'Hi' });
        await daemon.logged(/traces dropped_spans=[1-4] message="the receiver answered with status 400"/); /* one batch or more */
        const id = 'c0ffee'.padStart(32, '0');
        await ask(daemon, { input: 'Hi' }, { headers: { traceparent: `00-${id}-00f067aa0ba902b7-01` } });
        await receiver.until(({ spans }) => spans.find(({ traceId }) => traceId === id));
        assert.equal(receiver.requests.filter(({ body }) => body.equals(refused[0])).length, 1);
    });

    test('that takes some of them leaves a line with how many it did not', async (t) => {
        const { receiver, daemon } = await traced(t, { env: { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' } });
        const some = { status: 200, text: '{"partialSuccess":{"rejectedSpans":"1","errorMessage":"no"}}' };
        receiver.answer = (request, n) => (n === 0 ? some : { status: 200 });
        await ask(daemon, { input: 'Hi' });
        await daemon.logged(/traces dropped_spans=1 message="the receiver refused some of them"/);
    });

    test('that is not there delays and fails no request, and is told of in one line', async (t) => {
        const up = await startUpstream();
        t.after(() => up.close());
        const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'm'], env: {
            OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_BSP_SCHEDULE_DELAY: '10', OTEL_BSP_EXPORT_TIMEOUT: '1',
            OTEL_BSP_MAX_QUEUE_SIZE: '8', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '4' } });
        t.after(() => daemon.stop());
        const answers = await Promise.all(Array.from({ length: 40 }, () => ask(daemon, { input: 'Hi' })));
        assert.deepEqual(answers.map(({ status }) => status), Array(40).fill(200));
        await daemon.logged(/traces dropped_spans=\d+/);
        assert.equal(daemon.log.match(/warn traces/g).length, 1);
    });

    test('gets what is left when the gateway ends', async (t) => {
        const receiver = await startReceiver(t);
        const up = await startUpstream();
        t.after(() => up.close());
        const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'm'], env: receiver.env({ OTEL_BSP_SCHEDULE_DELAY: '100000' }) });
        await ask(daemon, { input: 'Hi' });
        assert.equal(receiver.requests.length, 0);
        await daemon.stop();
        assert.equal(receiver.spans.length, 4);
    });
});

describe('settings', { concurrency: 4 }, () => {
    test('without any there are no traces', async (t) => {
        const { up, daemon } = await traced(t, { env: { OTEL_TRACES_EXPORTER: 'none' } });
        await ask(daemon, { input: 'Hi' }, { headers: SAMPLED });
        assert.equal(up.requests[0].headers.traceparent, undefined);
    });

    for (const [what, how, expected] of [
        ['traces off, whatever variables say', { args: ['--traces', 'off'] }, 0],
        ['OTEL_SDK_DISABLED', { args: ['--traces', 'otlp'], env: { OTEL_SDK_DISABLED: 'true' } }, 0],
        ['always_off', { env: { OTEL_TRACES_SAMPLER: 'always_off' } }, 0],
        ['trace_sample 0', { args: ['--trace-sample', '0'], env: { OTEL_TRACES_SAMPLER: 'always_on' } }, 0],
        ['a share of all', { env: { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '1' } }, 4],
    ])
        test(what, async (t) => {
            const receiver = await startReceiver(t);
            const up = await startUpstream();
            t.after(() => up.close());
            const daemon = await startDaemon({ upstream: up.url, ...how, args: ['--model', 'm', ...(how.args ?? [])], env: receiver.env(how.env) });
            await ask(daemon, { input: 'Hi' });
            await daemon.stop();
            assert.equal(receiver.spans.length, expected);
        });

    for (const [variable, value, says] of [
        ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', /no gRPC here: write http\/protobuf/],
        ['OTEL_EXPORTER_OTLP_ENDPOINT', 'localhost:4318', /write http:\/\/HOST/],
        ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://user:secret-4711@localhost', /OTEL_EXPORTER_OTLP_HEADERS/],
        ['OTEL_EXPORTER_OTLP_COMPRESSION', 'br', /write gzip or none/],
        ['OTEL_EXPORTER_OTLP_HEADERS', 'secret-4711', /OTEL_EXPORTER_OTLP_HEADERS has an element without a =/],
        ['OTEL_EXPORTER_OTLP_TRACES_TIMEOUT', '10s', /OTEL_EXPORTER_OTLP_TRACES_TIMEOUT.*write a number above 0/],
        ['OTEL_EXPORTER_OTLP_CERTIFICATE', '/nowhere.pem', /no such file/],
        ['OTEL_RESOURCE_ATTRIBUTES', 'a', /OTEL_RESOURCE_ATTRIBUTES has an element/],
        ['OTEL_TRACES_SAMPLER', 'jaeger_remote', /OTEL_TRACES_SAMPLER has to be always_on/],
        ['OTEL_TRACES_SAMPLER_ARG', '2', undefined],
        ['OTEL_TRACES_EXPORTER', 'zipkin', /write otlp or none/],
        ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE', '5000', /OTEL_BSP_MAX_QUEUE_SIZE/],
        ['OTEL_PROPAGATORS', 'b3', /write tracecontext, baggage or none/],
        ['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT', 'EVENT_ONLY', /NO_CONTENT or SPAN_ONLY/],
    ])
        test(`${variable}=${value} ${says ? 'is refused at the start' : 'does not matter'}`, async () => {
            const daemon = launchDaemon({ args: ['--check-config'], env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318', [variable]: value } });
            const { code } = await daemon.exited;
            assert.equal(code, says ? 2 : 0, daemon.log);
            if (says)
                assert.match(daemon.log, says);
            assert.doesNotMatch(daemon.log, /secret-4711/);
        });
});

test('what was said is in the spans where it is asked for, and no credentials', async (t) => {
    const receiver = await startReceiver(t);
    const g = await gateway(t, { servers: { fake: await startMcp() }, args: ['--upstream-key', 'secret-upstream-key'],
        env: receiver.env({ OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'SPAN_ONLY', OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: '2000' }) });
    g.up.next(callStream([shown('fake', 'echo'), { message: 'ping' }, 'c1']), textStream('All "done".'));
    await ask(g.daemon, { instructions: 'Be kind.', input: 'Say it', tools: [declared('fake')] }, { path: '/v1/responses?secret=secret-query' });
    const trace = await receiver.trace();
    const [first, second] = trace.named('chat test-model').map(({ attributes }) => attributes);
    assert.deepEqual(JSON.parse(first['gen_ai.system_instructions']), [{ type: 'text', content: 'Be kind.' }]);
    assert.deepEqual(JSON.parse(first['gen_ai.input.messages']), [{ role: 'user', parts: [{ type: 'text', content: 'Say it' }] }]);
    assert.equal(JSON.parse(second['gen_ai.input.messages']).at(-1).parts[0].response, 'Echo: ping');
    const [said] = JSON.parse(first['gen_ai.output.messages']);
    assert.deepEqual([said.role, said.finish_reason], ['assistant', 'tool_calls']);
    assert.equal(said.parts[0].type, 'tool_call');
    assert.deepEqual(JSON.parse(said.parts[0].arguments), { message: 'ping' });
    assert.deepEqual(JSON.parse(second['gen_ai.output.messages']), [{ role: 'assistant', parts: [{ type: 'text', content: 'All "done".' }], finish_reason: 'stop' }]);
    assert.ok(first['gen_ai.tool.definitions'].startsWith('[{"type":"function","name":"mcp__fake__'));
    const [{ attributes: tool }] = trace.named('execute_tool echo');
    assert.deepEqual(JSON.parse(tool['gen_ai.tool.call.arguments']), { message: 'ping' });
    assert.equal(tool['gen_ai.tool.call.result'], 'Echo: ping');
    for (const { attributes } of receiver.spans)
        for (const value of Object.values(attributes))
            assert.ok(String(value).length <= 2000);
    for (const { body: bytes } of receiver.requests)
        assert.equal(bytes.includes('secret'), false);
});

test('no secret is in any byte that is sent', async (t) => {
    const receiver = await startReceiver(t);
    const fake = await startMcp();
    const g = await gateway(t, { servers: { fake }, args: ['--api-key', 'secret-client-key', '--upstream-key', 'secret-upstream-key'],
        env: receiver.env({ OTEL_EXPORTER_OTLP_HEADERS: 'authorization=secret-receiver-key' }), wait: false });
    const headers = { authorization: 'Bearer secret-client-key', 'x-secret': 'secret-header', cookie: 'secret-cookie' };
    g.up.next(callStream([shown('fake', 'echo'), { message: 'secret-argument' }, 'c1']), textStream('secret-answer'),
        failure(500, 'secret-error'));
    const body = { input: 'secret-prompt', instructions: 'secret-instructions', metadata: { a: 'secret-metadata' }, user: 'secret-user', tools: [declared('fake')] };
    for (let i = 0; i < 2; i++)
        await ask(g.daemon, body, { headers, path: '/v1/responses?secret=secret-query' });
    await receiver.trace(undefined, 1);
    assert.ok(receiver.spans.some(({ name }) => name === 'execute_tool echo'));
    for (const { body: bytes } of receiver.requests)
        assert.equal(bytes.includes('secret'), false, bytes.toString('latin1').match(/.{40}secret.{40}/s)?.[0]);
});
