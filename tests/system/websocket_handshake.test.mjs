/* websocket_handshake.test.mjs -- who gets a WebSocket and who does not, and what no message can do
 * to one: bytes on the wire (CONTRACT 6.3). */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { checkError } from '../lib/check.mjs';
import { get } from '../lib/client.mjs';
import { pair, shared } from '../lib/daemon.mjs';
import { peak, resident } from '../lib/memory.mjs';
import { CLOSE, PING, PONG, TEXT, BINARY, acceptOf, closing, connect, dial, frame, handshake } from '../lib/websocket_bytes.mjs';

const KEY = 'sk-a-key';
const prefixed = (key) => `openai-insecure-api-key.${key}`;

/* The next frame of another kind. */
async function nextBut(opcode, socket) {
    for (;;) {
        const next = await socket.frame();
        if (next.opcode !== opcode)
            return next;
    }
}

/* Works both ways, and closes. */
async function checkOpen(socket) {
    assert.equal(socket.status, 101, socket.text);
    socket.say(frame(PING, 'there?'));
    const pong = await nextBut(PING, socket);
    assert.deepEqual([pong.opcode, pong.text], [PONG, 'there?']);
    socket.say(closing(1000));
    assert.equal((await nextBut(PING, socket)).code, 1000);
    await socket.ended;
}

const checkRefused = (socket, status, code) => {
    const error = checkError(socket, status, code, null);
    assert.match(socket.headers['x-request-id'], /^\S+$/);
    assert.equal(socket.headers['sec-websocket-accept'], undefined);
    socket.destroy();
    return error;
};

describe('a handshake', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });

    test('is answered with 101', async () => {
        const socket = await dial(both.daemon, { headers: { 'x-request-id': 'mine' } });
        assert.equal(socket.first, 'HTTP/1.1 101 Switching Protocols');
        assert.equal(socket.headers.upgrade, 'websocket');
        assert.equal(socket.headers.connection, 'Upgrade');
        assert.equal(socket.headers['sec-websocket-accept'], 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
        assert.equal(socket.headers['x-request-id'], 'mine');
        for (const absent of ['sec-websocket-protocol', 'sec-websocket-extensions', 'content-length', 'transfer-encoding'])
            assert.equal(socket.headers[absent], undefined);
        await checkOpen(socket);
    });

    for (const [what, how] of [
        ['/responses', { path: '/responses' }],
        ['a path with a query', { path: '/v1/responses?api-version=1' }],
        ['a path with slashes too many', { path: '//v1//responses' }],
        ['an absolute target', { path: 'http://localhost/v1/responses' }],
        ['headers of Codex', { headers: { 'OpenAI-Beta': 'responses_websockets=2026-02-06', 'x-codex-turn-metadata': '{}', 'session-id': 's', 'thread-id': 't', 'Content-Type': 'application/json', 'Sec-WebSocket-Extensions': 'permessage-deflate; client_max_window_bits' } }],
        ['a media type that has none', { headers: { 'Content-Type': 'text/plain' } }],
        ['names in other cases', { headers: { Connection: undefined, Upgrade: undefined, connection: 'keep-alive, uPGRADE', uPGRADE: 'WebSocket' } }],
        ['a list of upgrades', { headers: { Upgrade: 'h2c, websocket' } }],
        ['an idempotency key, which has no effect', { headers: { 'Idempotency-Key': 'a' } }],
        ['the last request of its connection', { headers: { Connection: 'Upgrade, close' } }],
        ['another key', { headers: { 'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==' } }],
    ])
        test(`with ${what} is right`, async () => {
            const socket = await dial(both.daemon, how);
            const key = how.headers?.['Sec-WebSocket-Key'];
            if (key !== undefined)
                assert.equal(socket.headers['sec-websocket-accept'], acceptOf(key));
            await checkOpen(socket);
        });

    for (const [what, how, about] of [
        ['no key', { headers: { 'Sec-WebSocket-Key': undefined } }, /Sec-WebSocket-Key/],
        ['an empty key', { headers: { 'Sec-WebSocket-Key': '' } }, /Sec-WebSocket-Key/],
        ['a key of 15 bytes', { headers: { 'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAA' } }, /16 bytes/],
        ['a key of 17 bytes', { headers: { 'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAAA=' } }, /16 bytes/],
        ['a key of 18 bytes', { headers: { 'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAAAA' } }, /16 bytes/],
        ['a key that is no base64', { headers: { 'Sec-WebSocket-Key': '!!!!!!!!!!!!!!!!!!!!!!==' } }, /base64/],
        ['a key in letters of URLs', { headers: { 'Sec-WebSocket-Key': '-_-_-_-_-_-_-_-_-_-_-g==' } }, /base64/],
        ['two keys', { headers: { 'Sec-WebSocket-Key': ['dGhlIHNhbXBsZSBub25jZQ==', 'AAAAAAAAAAAAAAAAAAAAAA=='] } }, /once/],
        ['no version', { headers: { 'Sec-WebSocket-Version': undefined } }, /Sec-WebSocket-Version: 13/],
        ['two versions', { headers: { 'Sec-WebSocket-Version': ['13', '8'] } }, /once/],
        ['no Connection', { headers: { Connection: undefined } }, /proxy/],
        ['a Connection that is kept alive', { headers: { Connection: 'keep-alive' } }, /Connection: upgrade/],
        ['no Upgrade', { headers: { Upgrade: undefined } }, /Upgrade: websocket/],
        ['another Upgrade', { headers: { Upgrade: 'h2c' } }, /Upgrade: websocket/],
        ['a body', { headers: { 'Content-Length': '2' } }, /body/],
        ['a body in chunks', { headers: { 'Transfer-Encoding': 'chunked' } }, /body/],
        ['HTTP/1.0', { line: 'GET /v1/responses HTTP/1.0' }, /HTTP\/1\.1/],
        ['an empty subprotocol', { headers: { 'Sec-WebSocket-Protocol': 'a,,b' } }, /Sec-WebSocket-Protocol/],
        ['a subprotocol that is no token', { headers: { 'Sec-WebSocket-Protocol': 'a b' } }, /tokens/],
        ['the same subprotocol twice', { headers: { 'Sec-WebSocket-Protocol': ['a', 'a'] } }, /different/],
        ['many subprotocols', { headers: { 'Sec-WebSocket-Protocol': Array.from({ length: 33 }, (_, i) => `p${i}`).join(',') } }, /32/],
    ])
        test(`with ${what} is malformed`, async () => {
            assert.match(checkRefused(await dial(both.daemon, how), 400, 'bad_request').message, about);
        });

    for (const version of ['8', '14', '', 'thirteen', '13, 8', '0013'])
        test(`of version "${version}" is told which one is spoken`, async () => {
            const socket = await dial(both.daemon, { headers: { 'Sec-WebSocket-Version': version } });
            assert.equal(socket.headers['sec-websocket-version'], '13');
            assert.equal(socket.headers.upgrade, 'websocket');
            checkRefused(socket, 426, 'upgrade_required');
        });

    test('of another method or path is none', async () => {
        checkRefused(await dial(both.daemon, { line: 'PUT /v1/responses HTTP/1.1' }), 405, 'method_not_allowed');
        checkRefused(await dial(both.daemon, { path: '/v1/nothing' }), 404, 'not_found');
        checkRefused(await dial(both.daemon, { path: '/v1/responses/resp_x' }), 404, 'not_found');
        assert.equal((await get(both.daemon, '/v1/responses')).status, 405);
    });

    test('that was refused leaves the connection to HTTP', async () => {
        const socket = await dial(both.daemon, { headers: { 'Sec-WebSocket-Version': '8' } });
        socket.say('GET /health HTTP/1.1\r\nHost: a\r\n\r\n');
        assert.equal((await socket.answer()).status, 200);
        socket.say(handshake());
        await checkOpen(await socket.answer());
    });

    test('may follow requests, and frames may follow it at once', async () => {
        const socket = await dial(both.daemon, { behind: [frame(PING, 'first')] });
        assert.equal((await socket.frame()).text, 'first');
        await checkOpen(socket);
        const another = await dial(both.daemon, { line: `GET /health HTTP/1.1\r\nHost: a\r\n\r\n${handshake().split('\r\n')[0]}`, behind: [frame(PING, 'first')] });
        assert.equal(another.status, 200);
        assert.equal((await another.answer()).status, 101);
        assert.equal((await another.frame()).text, 'first');
        await checkOpen(another);
    });

    test('may come byte by byte', async () => {
        const socket = await dial(both.daemon, { line: 'GET /health HTTP/1.1' });
        for (const byte of handshake())
            socket.socket.write(byte);
        await checkOpen(await socket.answer());
    });

    for (const [offered, answered] of [
        ['realtime', 'realtime'],
        ['realtime, other', 'realtime'],
        [[prefixed('a'), 'realtime'], 'realtime'],
        [`${prefixed('a')}, ${prefixed('b')}`, prefixed('a')],
        [prefixed('a'), prefixed('a')],
        ['openai-insecure-api-key.', 'openai-insecure-api-key.'],
    ])
        test(`that offers ${offered} is answered with ${answered}`, async () => {
            const socket = await dial(both.daemon, { headers: { 'Sec-WebSocket-Protocol': offered } });
            assert.equal(socket.headers['sec-websocket-protocol'], answered);
            await checkOpen(socket);
        });

    for (const [what, origin, host] of [
        ['no origin', undefined, 'gateway.example'],
        ['its own address', 'http://127.0.0.1:8080', '127.0.0.1:8080'],
        ['its own address, at the usual port', 'http://127.0.0.1', '127.0.0.1'],
        ['its own address over TLS', 'https://10.0.0.1', '10.0.0.1:443'],
        ['its own IPv6 address', 'http://[::1]:8080', '[::1]:8080'],
        ['localhost', 'http://localhost:3000', 'LOCALHOST:3000'],
    ])
        test(`of a page of ${what} is taken`, async () => {
            await checkOpen(await dial(both.daemon, { headers: { Origin: origin, Host: host } }));
        });

    for (const [what, origin, host] of [
        ['another site', 'https://evil.example', '127.0.0.1:8080'],
        ['another port', 'http://127.0.0.1:3000', '127.0.0.1:8080'],
        ['another scheme, at its usual port', 'https://127.0.0.1', '127.0.0.1:80'],
        ['a name that was made to lead here', 'http://evil.example', 'evil.example'],
        ['a name of a private network', 'http://gateway.lan', 'gateway.lan'],
        ['a name below localhost', 'http://x.localhost', 'x.localhost'],
        ['a name that looks like an address', 'http://127.0.0.1.evil.example', '127.0.0.1.evil.example'],
        ['an address in another spelling', 'http://2130706433', '2130706433'],
        ['nobody', 'null', '127.0.0.1:8080'],
        ['a program', 'vscode-webview://x', '127.0.0.1:8080'],
        ['something empty', '', '127.0.0.1:8080'],
        ['a user before the host', 'http://a@127.0.0.1', 'a@127.0.0.1'],
    ])
        test(`of a page of ${what} is refused, whatever its browser says`, async () => {
            for (const site of [undefined, 'same-origin', 'cross-site'])
                assert.match(checkRefused(await dial(both.daemon, { headers: { Origin: origin, Host: host, 'Sec-Fetch-Site': site } }), 403, 'permission_denied').message, /cors_origins/);
        });
});

describe('keys', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, '--api-key', KEY, '--cors-origins', 'https://chat.example.org,null');

    for (const [what, headers] of [
        ['in Authorization', { Authorization: `Bearer ${KEY}` }],
        ['as subprotocol', { 'Sec-WebSocket-Protocol': prefixed(KEY) }],
        ['as subprotocol behind another one', { 'Sec-WebSocket-Protocol': ['realtime', prefixed(KEY)] }],
        ['in Authorization, with another one that does not count', { Authorization: `Bearer ${KEY}`, 'Sec-WebSocket-Protocol': prefixed('x') }],
        ['of a page that is listed', { Origin: 'https://chat.example.org', 'Sec-WebSocket-Protocol': prefixed(KEY) }],
        ['of a page without origin, when null is listed', { Origin: 'null', 'Sec-WebSocket-Protocol': prefixed(KEY) }],
    ])
        test(`${what} are taken`, async () => {
            const socket = await dial(both.daemon, { headers });
            assert.ok(!both.daemon.log.includes(KEY));
            await checkOpen(socket);
        });

    for (const [what, headers] of [
        ['none', {}],
        ['a wrong one', { Authorization: 'Bearer sk-wrong' }],
        ['a wrong one as subprotocol', { 'Sec-WebSocket-Protocol': prefixed('sk-wrong') }],
        ['a wrong one before the right one', { Authorization: 'Bearer sk-wrong', 'Sec-WebSocket-Protocol': prefixed(KEY) }],
        ['another scheme', { Authorization: `Basic ${KEY}` }],
        ['a malformed handshake besides', { 'Sec-WebSocket-Key': 'x' }],
        ['another version besides', { 'Sec-WebSocket-Version': '8' }],
    ])
        test(`who has ${what} is told so before anything else`, async () => {
            const socket = await dial(both.daemon, { headers });
            assert.equal(socket.headers['www-authenticate'], 'Bearer');
            checkRefused(socket, 401, 'invalid_api_key');
        });

    test('a page is judged before its key', async () => {
        checkRefused(await dial(both.daemon, { headers: { Origin: 'https://evil.example' } }), 403, 'permission_denied');
    });
});

describe('frames that break a rule', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, '--max-body', '64KiB');

    for (const [what, bytes, code] of [
        ['an unmasked frame', frame(TEXT, '{}', { mask: false }), 1002],
        ['a reserved bit', frame(TEXT, '{}', { reserved: 4 }), 1002],
        ['an unknown opcode', frame(3), 1002],
        ['a continuation of nothing', frame(0, 'x'), 1002],
        ['a message within a message', Buffer.concat([frame(TEXT, 'a', { final: false }), frame(TEXT, 'b')]), 1002],
        ['a fragmented ping', frame(PING, '', { final: false }), 1002],
        ['a long ping', frame(PING, 'x'.repeat(126)), 1002],
        ['a close frame with a code that none may have', closing(1005), 1002],
        ['a binary message', frame(BINARY, '{}'), 1003],
        ['text that is none', frame(TEXT, Buffer.from([0xc3, 0x28])), 1007],
        ['a message that is too long', frame(TEXT, 'x', { length: 65537 }), 1009],
        ['a giant', frame(TEXT, 'x', { length: 2n ** 62n }), 1009],
        ['no frames at all', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n', 1002],
    ])
        test(`${what} ends the connection with ${code}`, async () => {
            const socket = await connect(both.daemon, { behind: [bytes] });
            const last = await socket.frame();
            assert.deepEqual([last.opcode, last.code], [CLOSE, code]);
            assert.notEqual(last.words, '');
            await socket.ended;
        });

    test('a close frame is answered with 1000, whatever its code is', async () => {
        for (const bytes of [frame(CLOSE), closing(1000, 'bye'), closing(1001), closing(4000)]) {
            const socket = await connect(both.daemon, { behind: [bytes] });
            assert.equal((await socket.frame()).code, 1000);
            await socket.ended;
        }
    });
});

test('clients that do not answer are dropped', async (t) => {
    const { daemon } = await pair(t, '--websocket-ping-interval', '50ms');
    const silent = await connect(daemon), alive = await connect(daemon);
    const answering = (async () => {
        for (let i = 0; i < 8; i++) {
            const ping = await alive.frame();
            assert.equal(ping.opcode, PING);
            alive.say(frame(PONG, ping.payload));
        }
    })();
    assert.deepEqual([(await silent.frame()).opcode, (await silent.frame()).opcode], [PING, PING]);
    await silent.ended;
    await answering;
    await checkOpen(alive);
});

test('a message that does not arrive ends the connection', async (t) => {
    const { daemon } = await pair(t, '--body-timeout', '100ms');
    for (const half of [frame(TEXT, '{', { final: false }), frame(TEXT, '{', { length: 5000 }), frame(TEXT, '{}').subarray(0, 3)]) {
        const socket = await connect(daemon, { behind: [half] });
        assert.equal((await socket.frame()).code, 1008);
        await socket.ended;
    }
});

test('connections count among all', async (t) => {
    const { daemon } = await pair(t, '--workers', '1', '--max-connections', '2');
    const [one, two] = [await connect(daemon), await connect(daemon)];
    checkRefused(await dial(daemon), 503, 'server_is_overloaded');
    await checkOpen(one);
    await daemon.logged(/connections refused/);
    for (;;) { /* its place is free when it has gone */
        const socket = await dial(daemon);
        if (socket.status === 101) {
            await checkOpen(socket);
            break;
        }
        socket.destroy();
    }
    await checkOpen(two);
});

test('a gateway that ends closes with 1001', async (t) => {
    const { daemon } = await pair(t);
    const sockets = [];
    for (let i = 0; i < 8; i++)
        sockets.push(await connect(daemon));
    const stopped = daemon.stop();
    for (const socket of sockets) {
        assert.equal((await socket.frame()).code, 1001);
        await socket.ended;
    }
    await stopped;
});

/* Whatever is announced or repeated: a connection holds what has come, and that only for a while. */
test('bombs take no more than their bytes', async (t) => {
    const { daemon } = await pair(t, '--workers', '1', '--max-memory', '64MiB', '--max-body', '32MiB');
    const fragments = Buffer.concat(Array.from({ length: 10_000 }, () => frame(0, 'x', { final: false })));
    const empty = Buffer.concat(Array.from({ length: 10_000 }, () => frame(0, '', { final: false })));
    const pings = Buffer.concat(Array.from({ length: 10_000 }, () => frame(PING, 'x'.repeat(125))));
    const sockets = [], before = resident(daemon);
    for (let i = 0; i < 50; i++) {
        sockets.push(await connect(daemon, { behind: [frame(TEXT, 'x', { length: 32 * 2 ** 20 })] }));
        sockets.push(await connect(daemon, { behind: [frame(TEXT, 'x', { final: false }), fragments, empty] }));
    }
    const unread = await connect(daemon);
    unread.socket.pause();
    for (let i = 0; i < 20; i++)
        unread.say(pings);
    await checkOpen(await connect(daemon));
    const taken = peak(daemon) - before;
    assert.ok(taken < 100, `${taken} MiB`);
    for (const socket of [...sockets, unread])
        socket.destroy();
});

test('switched off, a handshake is answered with 426 at once', async (t) => {
    const { daemon } = await pair(t, '--no-websocket');
    for (const path of ['/v1/responses', '/responses']) {
        const error = checkRefused(await dial(daemon, { path }), 426, 'upgrade_required');
        assert.match(error.message, /websocket/);
    }
    checkRefused(await dial(daemon, { headers: { Origin: 'https://evil.example' } }), 403, 'origin_not_allowed');
});
