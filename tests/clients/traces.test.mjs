/* traces.test.mjs -- OpenTelemetry itself: its messages decode what the gateway sends, and a span of its SDK
 * is the parent of the gateway's, whose upstream gets a context that its propagator reads. */
import assert from 'node:assert/strict';
import http from 'node:http';
import { once } from 'node:events';
import test from 'node:test';
import { defaultTextMapGetter, defaultTextMapSetter, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
import root from '@opentelemetry/otlp-transformer/build/src/generated/root.js';
import OpenAI from 'openai';
import { startDaemon } from '../lib/daemon.mjs';
import { declared, gateway, shown } from '../lib/mcp.mjs';
import { startMcp } from '../lib/mcp_server.mjs';
import { patience } from '../lib/patience.mjs';
import { callStream, failure, startUpstream, textStream } from '../lib/upstream.mjs';

const { ExportTraceServiceRequest, ExportTraceServiceResponse } = root.opentelemetry.proto.collector.trace.v1;
const propagator = new W3CTraceContextPropagator();
const hex = (bytes) => Buffer.from(bytes).toString('hex');

/* Answers as a collector does. */
async function startCollector(t) {
    const spans = [];
    const server = http.createServer(async (req, res) => {
        const body = Buffer.concat(await req.toArray());
        const { resourceSpans } = req.headers['content-type'] === 'application/json'
            ? ExportTraceServiceRequest.fromObject(JSON.parse(body))
            : ExportTraceServiceRequest.decode(body);
        for (const { resource, scopeSpans } of resourceSpans)
            spans.push(...scopeSpans.flatMap(({ spans: some }) => some.map((span) => ({ ...span, resource }))));
        res.writeHead(200, { 'content-type': 'application/x-protobuf' });
        res.end(ExportTraceServiceResponse.encode({}).finish());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    return { spans, url: `http://127.0.0.1:${server.address().port}` };
}

async function until(met, ms = 10_000) {
    for (const deadline = performance.now() + patience(ms); ;) {
        if (met())
            return;
        assert.ok(performance.now() < deadline, `never: ${met}`);
        await new Promise((done) => setTimeout(done, 10));
    }
}

const attribute = ({ attributes }, name) => attributes.find(({ key }) => key === name)?.value;

test('a client of the SDK, the gateway and its upstream are one trace', async (t) => {
    const collector = await startCollector(t);
    const up = await startUpstream();
    t.after(() => up.close());
    const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'test-model'],
        env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '50' } });
    t.after(() => daemon.stop());
    const tracer = new BasicTracerProvider().getTracer('test');
    const client = new OpenAI({ baseURL: `${daemon.origin}/v1`, apiKey: 'sk-test', maxRetries: 0 });
    const span = tracer.startSpan('client');
    const headers = {};

    propagator.inject(trace.setSpan(ROOT_CONTEXT, span), headers, defaultTextMapSetter);
    up.next(textStream('Hello there'), failure(500, 'No.'));
    const response = await client.responses.create({ input: 'Hi' }, { headers });
    await assert.rejects(client.responses.create({ input: 'Hi' }, { headers }));
    span.end();

    const { traceId, spanId } = span.spanContext();
    await until(() => collector.spans.filter(({ kind }) => kind === 2).length === 2);
    assert.ok(collector.spans.every((one) => hex(one.traceId) === traceId));
    const [good, bad] = collector.spans.filter(({ kind }) => kind === 2);
    assert.deepEqual([hex(good.parentSpanId), hex(bad.parentSpanId)], [spanId, spanId]);
    assert.equal(good.name, 'POST /v1/responses');
    assert.equal(attribute(good, 'gen_ai.response.id').stringValue, response.id);
    assert.equal(Number(attribute(good, 'http.response.status_code').intValue), 200);
    assert.equal(bad.status.code, SpanStatusCode.ERROR);
    assert.equal(bad.status.message ?? '', '');
    const chat = collector.spans.find(({ name, parentSpanId }) => name === 'chat test-model' && hex(parentSpanId) === hex(good.spanId));
    const attempt = collector.spans.find(({ name, parentSpanId }) => name === 'POST' && hex(parentSpanId) === hex(chat.spanId));
    assert.equal(chat.kind - 1, SpanKind.CLIENT);
    assert.equal(attribute(chat, 'gen_ai.response.finish_reasons').arrayValue.values[0].stringValue, 'stop');
    assert.ok(Number(good.endTimeUnixNano) >= Number(chat.endTimeUnixNano));

    const seen = trace.getSpanContext(propagator.extract(ROOT_CONTEXT, up.requests[0].headers, defaultTextMapGetter));
    assert.deepEqual([seen.traceId, seen.spanId, seen.traceFlags], [traceId, hex(attempt.spanId), 1]);
});

/* The spans below one: the name of each, and those below it. */
const below = (spans, id) => spans.filter(({ parentSpanId }) => hex(parentSpanId) === id)
    .map(({ name, spanId }) => [name, ...below(spans, hex(spanId))]).sort();

test('a turn with two calls of MCP servers is a tree below the span of the client', async (t) => {
    const collector = await startCollector(t);
    const servers = { near: await startMcp({ transport: 'stdio' }), far: await startMcp() };
    const g = await gateway(t, { servers, env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '50' } });
    const client = new OpenAI({ baseURL: `${g.daemon.origin}/v1`, apiKey: 'sk-test', maxRetries: 0 });
    const span = new BasicTracerProvider().getTracer('test').startSpan('client');
    const headers = {};

    propagator.inject(trace.setSpan(ROOT_CONTEXT, span), headers, defaultTextMapSetter);
    g.up.next(callStream([shown('near', 'add'), { a: 1, b: 2 }, 'c1'], [shown('far', 'echo'), { message: 'a' }, 'c2']), textStream('Done.'));
    const response = await client.responses.create({ input: 'Hi', tools: [declared('near'), declared('far')] }, { headers });
    assert.equal(response.output_text, 'Done.');
    span.end();

    const { traceId, spanId } = span.spanContext();
    const ours = () => collector.spans.filter((one) => hex(one.traceId) === traceId);
    await until(() => ours().some(({ kind }) => kind === 2));
    assert.deepEqual(below(ours(), spanId), [['POST /v1/responses', ['antiphon.save'],
        ['chat test-model', ['POST']], ['chat test-model', ['POST']], ['execute_tool add'], ['execute_tool echo']]]);
    const echo = ours().find(({ name }) => name === 'execute_tool echo');
    const call = servers.far.received.find(({ method }) => method === 'tools/call');
    const seen = trace.getSpanContext(propagator.extract(ROOT_CONTEXT, call.headers, defaultTextMapGetter));
    assert.deepEqual([seen.traceId, seen.spanId], [traceId, hex(echo.spanId)]);
});

test('JSON is read as protobuf is', async (t) => {
    const collector = await startCollector(t);
    const up = await startUpstream();
    t.after(() => up.close());
    const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'test-model'],
        env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '50', OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' } });
    t.after(() => daemon.stop());
    await new OpenAI({ baseURL: `${daemon.origin}/v1`, apiKey: 'sk-test' }).responses.create({ input: 'Hi' });
    await until(() => collector.spans.some(({ kind }) => kind === 2));
    const server = collector.spans.find(({ kind }) => kind === 2);
    assert.equal(server.name, 'POST /v1/responses');
    assert.equal(Number(attribute(server, 'http.response.status_code').intValue), 200);
    assert.ok(Number(server.endTimeUnixNano) > Number(server.startTimeUnixNano));
});
