/* proxies.test.mjs -- who the client is, behind proxies (OPERATIONS 6.1, 6.3): PROXY headers, and
 * X-Forwarded-For of those that are trusted. The log says whom the gateway takes for the client. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import test, { describe } from 'node:test';
import { startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { patience } from '../lib/patience.mjs';

let asked = 0;

/* A request to the demo, and the id by which the log knows it. */
function request(headers = {}) {
    const body = JSON.stringify({ model: 'demo', input: 'Hi' }), id = `req_${++asked}`;
    const lines = Object.entries({ host: 'localhost', 'content-type': 'application/json', 'content-length': body.length,
        'x-request-id': id, connection: 'close', ...headers }).flatMap(([name, values]) => [values].flat().map((value) => `${name}: ${value}\r\n`));
    return { id, bytes: Buffer.from(`POST /v1/responses HTTP/1.1\r\n${lines.join('')}\r\n${body}`) };
}

/* Sends pieces, each when the one before is out, and gives all that comes until the other side closes. */
async function talk(place, ...pieces) {
    const socket = net.connect(place).setNoDelay(true);
    const late = setTimeout(() => socket.destroy(new Error('the gateway does not close')), patience(20_000));
    let text = '';
    socket.setEncoding('latin1').on('data', (part) => (text += part)).on('error', () => {});
    await once(socket, 'connect');
    for (const piece of pieces)
        await new Promise((done) => socket.write(piece, done));
    if (!socket.closed)
        await once(socket, 'close');
    clearTimeout(late);
    return text;
}

const clientOf = async (daemon, id) => (await daemon.logged(new RegExp(`turn .*client=(\\S+) .*request_id=${id}|turn .*request_id=${id} .*client=(\\S+)`))).slice(1).find(Boolean);

async function gateway(t, ...args) {
    const daemon = await startDaemon({ exact: true, args });
    t.after(() => daemon.stop());
    return daemon;
}

const MARK = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const block = (command, family, rest) => Buffer.concat([MARK, Buffer.from([0x20 | command, family, rest.length >> 8, rest.length & 255]), Buffer.from(rest)]);
const V4 = [192, 0, 2, 7, 198, 51, 100, 1, 1, 2, 3, 4];

describe('PROXY headers', { concurrency: false }, () => {
    const headers = [
        ['version 1', Buffer.from('PROXY TCP4 192.0.2.7 198.51.100.1 54321 443\r\n'), '192.0.2.7'],
        ['version 1 with IPv6', Buffer.from('PROXY TCP6 2001:db8::7 ::1 54321 443\r\n'), '2001:db8::7'],
        ['version 1 of nobody', Buffer.from('PROXY UNKNOWN\r\n'), '127.0.0.1'],
        ['version 2', block(1, 0x11, V4), '192.0.2.7'],
        ['version 2 with more behind the addresses', block(1, 0x11, [...V4, ...Buffer.alloc(300, 5)]), '192.0.2.7'],
        ['LOCAL', block(0, 0, []), '127.0.0.1'],
    ];

    for (const [name, header, client] of headers) {
        test(`${name}: the client is ${client}`, async (t) => {
            const daemon = await gateway(t, '--listen', '127.0.0.1:0+proxy');
            for (const cut of [[], [1], [header.length - 1], [header.length], [header.length + 1], [3, header.length + 40]]) {
                const { id, bytes } = request();
                const all = Buffer.concat([header, bytes]), at = [0, ...cut, all.length];
                const got = await talk(daemon.port, ...at.slice(1).map((end, i) => all.subarray(at[i], end)));
                assert.match(got, /^HTTP\/1\.1 200 /);
                assert.equal(await clientOf(daemon, id), client);
            }
        });
    }

    test('byte by byte, and for all requests of the connection', async (t) => {
        const daemon = await gateway(t, '--listen', '127.0.0.1:0+proxy');
        const first = request({ connection: 'keep-alive' }), second = request();
        const got = await talk(daemon.port, ...[...headers[3][1]].map((byte) => Buffer.from([byte])), first.bytes, second.bytes);
        assert.equal(got.match(/HTTP\/1\.1 200 /g).length, 2);
        for (const { id } of [first, second])
            assert.equal(await clientOf(daemon, id), '192.0.2.7');
    });

    for (const [name, bytes] of [['a request', request().bytes], ['an unknown version', block(1, 0x11, V4).fill(0x31, 12, 13)], ['a line that is none', 'PROXY TCP4 a b 1 2\r\n'], ['nothing, for too long', '']]) {
        test(`${name} in place of a header: the connection is closed, without an answer`, async (t) => {
            const daemon = await gateway(t, '--listen', '127.0.0.1:0+proxy');
            assert.equal(await talk(daemon.port, bytes), '');
            await daemon.logged(/warn proxy_header_refused client=127\.0\.0\.1 listener=127\.0\.0\.1:0\+proxy error="no PROXY header: /);
            const { id, bytes: good } = request();
            await talk(daemon.port, Buffer.concat([headers[0][1], good]));
            assert.equal(await clientOf(daemon, id), '192.0.2.7', 'others are served');
        });
    }

    test('without the mark a header is a malformed request', async (t) => {
        const daemon = await gateway(t, '--listen', '127.0.0.1:0');
        assert.match(await talk(daemon.port, headers[0][1]), /^HTTP\/1\.1 400 /);
    });

    test('connections count for the client of the header, and not for the balancer', async (t) => {
        const path = folder(t, 's');
        const daemon = await gateway(t, '--listen', `127.0.0.1:0+proxy,unix:${path}+metrics`, '--max-connections-per-client', '1', '--max-connections', '10');
        const held = net.connect(daemon.port).on('error', () => {});
        t.after(() => held.destroy());
        held.write(Buffer.concat([headers[0][1], request({ connection: 'keep-alive' }).bytes]));
        await once(held, 'data');
        assert.match(await talk(daemon.port, Buffer.concat([headers[3][1], request().bytes])), /^HTTP\/1\.1 503 [^]*Too many connections are open from your address/);
        assert.match(await talk(daemon.port, Buffer.concat([headers[1][1], request().bytes])), /^HTTP\/1\.1 200 /, 'another client');
        const page = await talk({ path }, 'GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
        assert.equal(page.match(/^antiphon_rejected_total\{reason="client_connections"\} (\d+)$/m)?.[1], '1');
    });

    test('a gateway that ends does not wait for a header', async (t) => {
        const daemon = await gateway(t, '--listen', '127.0.0.1:0+proxy', '--workers', '1');
        const silent = net.connect(daemon.port).on('error', () => {});
        await once(silent, 'connect');
        await talk(daemon.port, Buffer.concat([headers[0][1], request().bytes])); /* by now it is accepted */
        const closed = once(silent, 'close');
        daemon.child.kill('SIGTERM');
        await closed;
        assert.equal((await daemon.exited).code, 0);
    });
});

describe('trusted proxies', { concurrency: false }, () => {
    const cases = [
        ['nobody is trusted', [], { 'x-forwarded-for': '192.0.2.9' }, '127.0.0.1'],
        ['the proxy is trusted', ['127.0.0.0/8'], { 'x-forwarded-for': '192.0.2.9' }, '192.0.2.9'],
        ['what the client said of others does not count', ['127.0.0.1'], { 'x-forwarded-for': '192.0.2.1, 192.0.2.9' }, '192.0.2.9'],
        ['a chain of proxies', ['127.0.0.1,10.0.0.0/8'], { 'x-forwarded-for': ['192.0.2.1, 192.0.2.9', '10.0.0.1, 10.2.3.4'] }, '192.0.2.9'],
        ['another proxy is trusted', ['10.0.0.0/8'], { 'x-forwarded-for': '192.0.2.9, 10.0.0.1' }, '127.0.0.1'],
        ['the proxy names nobody', ['127.0.0.1'], {}, '127.0.0.1'],
        ['the proxy hides the client', ['127.0.0.1'], { 'x-forwarded-for': 'unknown' }, '127.0.0.1'],
    ];

    for (const [name, trusted, sent, client] of cases) {
        test(`${name}: the client is ${client}`, async (t) => {
            const daemon = await gateway(t, '--listen', '127.0.0.1:0', ...trusted.flatMap((list) => ['--trusted-proxies', list]));
            const { id, bytes } = request(sent);
            assert.match(await talk(daemon.port, bytes), /^HTTP\/1\.1 200 /);
            assert.equal(await clientOf(daemon, id), client);
        });
    }

    test('what a proxy says of the scheme is counted as such, if it is trusted', async (t) => {
        const path = folder(t, 's');
        for (const [trusted, schemes] of [['127.0.0.1', ['https']], ['10.0.0.0/8', ['http']]]) {
            const daemon = await startDaemon({ exact: true, args: ['--listen', `127.0.0.1:0,unix:${path}+metrics`, '--trusted-proxies', trusted] });
            assert.match(await talk(daemon.port, request({ 'x-forwarded-proto': 'https' }).bytes), /^HTTP\/1\.1 200 /);
            const page = await talk({ path }, 'GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
            const seen = page.matchAll(/^http_server_request_duration_seconds_count\{.*http_route="\/v1\/responses".*url_scheme="(\w+)"\} 1$/gm);
            assert.deepEqual([...seen].map(([, scheme]) => scheme), schemes);
            await daemon.stop();
        }
    });

    test('unix stands for all who come to a Unix socket', async (t) => {
        const path = folder(t, 's');
        for (const [args, client] of [[[], 'unix'], [['--trusted-proxies', 'unix'], '192.0.2.9']]) {
            const daemon = await startDaemon({ exact: true, args: ['--listen', `unix:${path}`, ...args] });
            const { id, bytes } = request({ 'x-forwarded-for': '192.0.2.9' });
            await talk({ path }, bytes);
            assert.equal(await clientOf(daemon, id), client);
            await daemon.stop();
        }
    });

    test('behind a PROXY header its client is the peer', async (t) => {
        const daemon = await gateway(t, '--listen', '127.0.0.1:0+proxy', '--trusted-proxies', '192.0.2.7');
        const { id, bytes } = request({ 'x-forwarded-for': '203.0.113.1' });
        await talk(daemon.port, Buffer.concat([block(1, 0x11, V4), bytes]));
        assert.equal(await clientOf(daemon, id), '203.0.113.1');
    });

    test('what is no network ends the start', async () => {
        await assert.rejects(startDaemon({ args: ['--trusted-proxies', '10.0.0.0/33'] }), /--trusted-proxies: "10\.0\.0\.0\/33" is not valid; give a network such as 192\.0\.2\.0\/24, an address, or unix/);
    });
});
