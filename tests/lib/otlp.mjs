/* otlp.mjs -- a receiver of spans: OTLP over HTTP, protobuf and JSON, decoded with a reader of its own.
 *
 *     const receiver = await startReceiver();
 *     const env = receiver.env();                        // for the daemon
 *     const trace = await receiver.trace(({ name }) => name === 'POST /v1/responses');
 *     trace.root, trace.children(span), trace.names()
 *
 * A span is { traceId, spanId, parentSpanId, name, kind, start, end, attributes, links, error, resource }
 * with ids in hexadecimal, times as BigInt, and attributes as an object. What is not in the messages of
 * opentelemetry-proto 1.x is a mistake, and so is a text that is no UTF-8.
 */
import assert from 'node:assert/strict';
import http from 'node:http';
import { once } from 'node:events';
import { gunzipSync } from 'node:zlib';
import { patience } from './patience.mjs';

/* ---- protobuf: of each message the fields by number: [name, how it is read, is it a list] */

const bytesAsHex = (bytes) => Buffer.from(bytes).toString('hex');
const utf8 = new TextDecoder('utf-8', { fatal: true });
const text = (bytes) => utf8.decode(bytes);
const number = (n) => n;
const signed = (n) => BigInt.asIntN(64, BigInt(n));
const message = (fields) => (bytes) => decode(bytes, fields());

const VALUE = () => ({
    1: ['stringValue', text], 2: ['boolValue', (n) => n === 1n], 3: ['intValue', signed],
    4: ['doubleValue', (n) => new Float64Array(BigUint64Array.of(n).buffer)[0]], 5: ['arrayValue', message(ARRAY)],
});
const ARRAY = () => ({ 1: ['values', message(VALUE), true] });
const KEY_VALUE = () => ({ 1: ['key', text], 2: ['value', message(VALUE)] });
const LINK = () => ({ 1: ['traceId', bytesAsHex], 2: ['spanId', bytesAsHex] });
const STATUS = () => ({ 2: ['message', text], 3: ['code', Number] });
const SPAN = () => ({
    1: ['traceId', bytesAsHex], 2: ['spanId', bytesAsHex], 3: ['traceState', text], 4: ['parentSpanId', bytesAsHex],
    5: ['name', text], 6: ['kind', Number], 7: ['startTimeUnixNano', number], 8: ['endTimeUnixNano', number],
    9: ['attributes', message(KEY_VALUE), true], 10: ['droppedAttributesCount', Number],
    13: ['links', message(LINK), true], 15: ['status', message(STATUS)], 16: ['flags', Number],
});
const SCOPE = () => ({ 1: ['name', text], 2: ['version', text] });
const SCOPE_SPANS = () => ({ 1: ['scope', message(SCOPE)], 2: ['spans', message(SPAN), true] });
const RESOURCE = () => ({ 1: ['attributes', message(KEY_VALUE), true] });
const RESOURCE_SPANS = () => ({ 1: ['resource', message(RESOURCE)], 2: ['scopeSpans', message(SCOPE_SPANS), true] });
const REQUEST = () => ({ 1: ['resourceSpans', message(RESOURCE_SPANS), true] });

function decode(bytes, fields) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const out = {};
    let at = 0;
    const varint = () => {
        let n = 0n;
        for (let shift = 0n; ; shift += 7n) {
            assert.ok(at < bytes.length, 'a number goes over the end');
            const byte = bytes[at++];
            n |= BigInt(byte & 127) << shift;
            if (byte < 128)
                return n;
        }
    };
    while (at < bytes.length) {
        const tag = varint();
        const field = fields[Number(tag >> 3n)];
        let value;
        assert.ok(field, `there is a field ${tag >> 3n}`);
        if ((tag & 7n) === 0n) {
            value = varint();
        } else if ((tag & 7n) === 1n) {
            value = view.getBigUint64(at, true);
            at += 8;
        } else if ((tag & 7n) === 5n) {
            value = view.getUint32(at, true);
            at += 4;
        } else {
            assert.equal(tag & 7n, 2n, 'a wire type');
            const n = Number(varint());
            assert.ok(at + n <= bytes.length, 'a message goes over the end');
            value = bytes.subarray(at, at += n);
        }
        const [name, read, isList] = field;
        if (isList)
            (out[name] ??= []).push(read(value));
        else
            out[name] = read(value);
    }
    return out;
}

/* ---- both forms, as the tests want them */

const plain = (value = {}) => {
    if ('arrayValue' in value)
        return (value.arrayValue.values ?? []).map(plain);
    const [one] = Object.values(value);
    return 'intValue' in value ? Number(one) : one;
};

const attributesOf = (list = []) => {
    const keys = list.map(({ key }) => key);
    assert.equal(new Set(keys).size, keys.length, `an attribute comes twice: ${keys}`);
    return Object.fromEntries(list.map(({ key, value }) => [key, plain(value)]));
};

const spansOf = (request) => request.resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ scope, spans }) => spans.map((span) => ({
        ...span,
        resource: attributesOf(resource.attributes),
        scope,
        attributes: attributesOf(span.attributes),
        links: span.links ?? [],
        error: span.status?.code === 2,
        start: BigInt(span.startTimeUnixNano),
        end: BigInt(span.endTimeUnixNano),
    }))));

class Trace {
    constructor(spans) {
        this.spans = spans.toSorted((a, b) => Number(a.start - b.start));
        this.root = this.spans.find(({ parentSpanId }) => !this.spans.some(({ spanId }) => spanId === parentSpanId));
    }

    children(span) {
        return this.spans.filter(({ parentSpanId }) => parentSpanId === span.spanId);
    }

    named(name) {
        return this.spans.filter((span) => span.name === name);
    }

    /* The tree as text, a line for each: two spaces for each level. */
    tree(span = this.root, depth = 0) {
        return [`${'  '.repeat(depth)}${span.name}`, ...this.children(span).flatMap((child) => this.tree(child, depth + 1))];
    }
}

class Receiver {
    requests = []; /* { path, headers, body: as it came, spans } */
    answer = () => ({ status: 200 });
    #server = http.createServer((req, res) => this.#serve(req, res));

    async listen() {
        this.#server.listen(0, '127.0.0.1');
        await once(this.#server, 'listening');
        this.port = this.#server.address().port;
        this.origin = `http://127.0.0.1:${this.port}`;
        return this;
    }

    /* A batch is sent soon. */
    env(more = {}) {
        return { OTEL_EXPORTER_OTLP_ENDPOINT: this.origin, OTEL_BSP_SCHEDULE_DELAY: '50', ...more };
    }

    async #serve(req, res) {
        const body = Buffer.concat(await req.toArray());
        const whole = req.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
        const isJson = req.headers['content-type'] === 'application/json';
        const request = { path: req.url, headers: req.headers, body: whole };
        const { status, headers = {}, text: answer = '' } = this.answer(request, this.requests.length);
        if (status === 200)
            request.spans = spansOf(isJson ? JSON.parse(utf8.decode(whole)) : decode(whole, REQUEST()));
        this.requests.push(request);
        res.writeHead(status, { 'content-type': isJson ? 'application/json' : 'application/x-protobuf', ...headers });
        res.end(answer);
    }

    get spans() {
        return this.requests.flatMap(({ spans = [] }) => spans);
    }

    /* Waits until there is something that the function finds. */
    async until(find, ms = 10_000) {
        for (const deadline = performance.now() + patience(ms); ;) {
            const found = find(this);
            if (found)
                return found;
            if (performance.now() > deadline)
                throw new Error(`never came: ${find}\n${JSON.stringify(this.spans.map(({ name, attributes }) => [name, attributes]), null, 1)}`);
            await new Promise((done) => setTimeout(done, 10));
        }
    }

    /* The trace of the n-th span that ends a trace here: one that is a server's, or fits. */
    async trace(fits = ({ kind }) => kind === 2, n = 0) {
        const root = await this.until(({ spans }) => spans.filter(fits)[n]);
        return new Trace(this.spans.filter(({ traceId }) => traceId === root.traceId));
    }

    traceOf(id) {
        return new Trace(this.spans.filter(({ traceId }) => traceId === id));
    }

    close() {
        this.#server.close();
        this.#server.closeAllConnections();
    }
}

export async function startReceiver(t) {
    const receiver = await new Receiver().listen();
    t?.after(() => receiver.close());
    return receiver;
}
