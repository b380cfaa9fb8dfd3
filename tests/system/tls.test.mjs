/* tls.test.mjs -- listeners with +tls: who is let in, what is carried, what is exchanged under way. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import test, { describe } from 'node:test';
import tls from 'node:tls';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Authority, sClient, secureAsk } from '../lib/certs.mjs';
import { BINARY, startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { patience } from '../lib/patience.mjs';
import { chunk, frames, startUpstream, stream, textStream } from '../lib/upstream.mjs';
import { connect, frame, TEXT } from '../lib/websocket_bytes.mjs';

/* An upstream, and a gateway in front of it that speaks TLS only. */
async function gateway(t, authority, ...args) {
    const server = authority.make('server');
    const up = await startUpstream();
    t.after(() => up.close());
    const daemon = await startDaemon({ exact: true, upstream: up.url, args: ['--listen', '127.0.0.1:0+tls', '--model', 'm', '--log-level', 'debug',
        '--tls-cert', server.cert, '--tls-key', server.key, ...args] });
    t.after(() => daemon.stop());
    return { up, daemon, server };
}

const CREATE = { path: '/v1/responses' };
const alert = (n) => new RegExp(`SSL alert number ${n}\\b`);
const LET_IN = /HTTP\/1\.1 200 OK/;

/* Everything that comes back to these bytes, sent without TLS. */
async function plain(port, bytes) {
    const socket = net.connect(port, '127.0.0.1');
    let text = '';
    socket.setEncoding('latin1').on('data', (more) => (text += more)).on('error', () => {});
    socket.end(bytes);
    await once(socket, 'close');
    return text;
}

describe('who is let in', { concurrency: false }, () => {
    test('1.2 and 1.3 are spoken, older versions refused by an alert', async (t) => {
        const { daemon } = await gateway(t, new Authority(t));
        for (const version of ['-tls1_2', '-tls1_3'])
            assert.match(await sClient(daemon.port, version), LET_IN, version);
        for (const version of ['-tls1', '-tls1_1'])
            assert.match(await sClient(daemon.port, version, '-cipher', 'DEFAULT@SECLEVEL=0'), alert(70), version);
        await daemon.logged(/debug tls handshake=version client=127\.0\.0\.1 listener=\S+\+tls/);
    });

    test('1.2 is refused where 1.3 is asked for', async (t) => {
        const { daemon } = await gateway(t, new Authority(t), '--tls-min-version', '1.3');
        assert.match(await sClient(daemon.port, '-tls1_3'), LET_IN);
        assert.match(await sClient(daemon.port, '-tls1_2'), alert(70));
    });

    test('http/1.1 is the protocol; a client of h2 alone is told so', async (t) => {
        const { daemon } = await gateway(t, new Authority(t));
        assert.match(await sClient(daemon.port, '-alpn', 'h2,http/1.1'), /ALPN protocol: http\/1\.1/);
        assert.match(await sClient(daemon.port, '-alpn', 'h2'), alert(120));
    });

    test('the name that a client asks for chooses the certificate', async (t) => {
        const authority = new Authority(t), other = authority.make('other', { san: 'DNS:other.example,DNS:*.wild.example' });
        const { daemon } = await gateway(t, authority, '--tls-cert', other.cert, '--tls-key', other.key);
        for (const [name, cn] of [['localhost', 'server'], ['other.example', 'other'], ['a.wild.example', 'other'], ['unknown.example', 'server']])
            assert.match(await sClient(daemon.port, '-servername', name), new RegExp(`subject=CN = ${cn}\\n`), name);
        assert.match(await sClient(daemon.port, '-noservername'), /subject=CN = server\n/);
    });

    test('certificates of clients: none, wrong, expired, right', async (t) => {
        const authority = new Authority(t), stranger = new Authority(t, 'A Stranger').make('alice');
        const alice = authority.make('alice'), bob = authority.make('bob', { days: -1 });
        const show = (c) => ['-cert', c.cert, '-key', c.key];
        const { daemon } = await gateway(t, authority, '--tls-client-ca', authority.ca, '--tls-client-auth', 'require');
        assert.match(await sClient(daemon.port), alert(116), 'certificate_required');
        assert.match(await sClient(daemon.port, '-tls1_2'), alert(40), 'what 1.2 has for that');
        assert.match(await sClient(daemon.port, ...show(stranger)), alert(48), 'unknown_ca');
        assert.match(await sClient(daemon.port, ...show(bob)), alert(45), 'certificate_expired');
        assert.match(await sClient(daemon.port, ...show(alice)), LET_IN);
        await daemon.logged(/debug tls handshake=certificate/);
    });

    test('a certificate names the owner, in place of a key', async (t) => {
        const authority = new Authority(t);
        const alice = authority.options(authority.make('alice', { cn: 'Alice A' })), bob = authority.options(authority.make('bob'));
        const { daemon } = await gateway(t, authority, '--tls-client-ca', authority.ca, '--tls-client-auth', 'optional', '--tls-owner', 'cn', '--api-key', 'sk-of-carol');
        const port = { port: daemon.port };
        const made = await secureAsk({ ...alice, ...port }, { ...CREATE, body: { input: 'Hi' } });
        assert.equal(made.status, 200);
        const path = `/v1/responses/${made.json.id}`;
        assert.equal((await secureAsk({ ...alice, ...port }, { path })).status, 200);
        assert.equal((await secureAsk({ ...bob, ...port }, { path })).status, 404);
        assert.equal((await secureAsk({ ...authority.options(), ...port }, { path })).status, 401);
        assert.equal((await secureAsk({ ...authority.options(), ...port }, { path, headers: { authorization: 'Bearer sk-of-carol' } })).status, 404);
    });

    test('clients without TLS: HTTP is told what to do, HTTP/2 that it is not spoken', async (t) => {
        const authority = new Authority(t), server = authority.make('server');
        const daemon = await startDaemon({ args: ['--listen', '127.0.0.1:0+tls', '--tls-cert', server.cert, '--tls-key', server.key] });
        t.after(() => daemon.stop());
        const [, secure] = await daemon.logged(/listening address=127\.0\.0\.1:\d+,127\.0\.0\.1:(\d+)\+tls /);
        assert.match(await plain(secure, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'), /^HTTP\/1\.1 400 [^]*use https:\/\//);
        assert.match(await plain(secure, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), /^HTTP\/1\.1 400 /);
        assert.match(await plain(secure, '\x80 no TLS'), /^(\x15\x03[^]*)?$/, 'an alert, or nothing');
        assert.match(await plain(daemon.port, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), /^HTTP\/1\.1 505 [^]*connection: close/i);
        await daemon.logged(new RegExp(`curl -N https://127\\.0\\.0\\.1:${secure}/`));
    });
});

describe('places', { concurrency: false }, () => {
    test('who says nothing is shut after head_timeout', async (t) => {
        const { daemon } = await gateway(t, new Authority(t), '--head-timeout', '200ms');
        const socket = net.connect(daemon.port, '127.0.0.1');
        await once(socket.resume(), 'close');
        await daemon.logged(/debug tls handshake=timeout/);
    });

    test('beyond max_connections a connection is shut at once, so nobody is kept waiting', async (t) => {
        const { daemon } = await gateway(t, new Authority(t), '--workers', '1', '--max-connections', '2', '--max-connections-per-client', '2', '--head-timeout', '1h');
        const silent = () => net.connect(daemon.port, '127.0.0.1').on('error', () => {}).resume();
        const kept = [silent(), silent()];
        t.after(() => kept.forEach((socket) => socket.destroy()));
        await Promise.all(kept.map((socket) => once(socket, 'connect')));
        const over = Array.from({ length: 700 }, silent); /* more than places where a 503 is read */
        await Promise.all(over.map((socket) => once(socket, 'close')));
        kept.pop().destroy();
        const socket = tls.connect({ port: daemon.port, host: '127.0.0.1', rejectUnauthorized: false });
        await once(socket, 'secureConnect');
        socket.destroy();
    });
});

describe('what is carried', { concurrency: false }, () => {
    test('a large request, a large answer, and a stream', async (t) => {
        const authority = new Authority(t);
        const { up, daemon } = await gateway(t, authority);
        const options = { ...authority.options(), port: daemon.port };
        const input = 'x'.repeat(5_000_000), text = 'word '.repeat(600_000);
        up.next({ headers: { 'content-type': 'application/json' }, pieces: [JSON.stringify({ ...chunk({}), object: 'chat.completion', choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }] })] });
        const answer = await secureAsk(options, { ...CREATE, body: { input } });
        assert.equal((await up.request(0)).body.messages.at(-1).content, input);
        assert.equal(answer.json.output[0].content[0].text, text);
        up.next(textStream('one two three'));
        const streamed = await secureAsk(options, { ...CREATE, body: { input: 'Hi', stream: true } });
        assert.match(streamed.text, /"delta":"one"[^]*"delta":" three"[^]*response\.completed/);
    });

    test('a slow reader gets all of it, for as long as it reads', async (t) => {
        const authority = new Authority(t);
        const { up, daemon } = await gateway(t, authority, '--send-timeout', '1s');
        const text = 'word '.repeat(800_000);
        up.next({ headers: { 'content-type': 'application/json' }, pieces: [JSON.stringify({ ...chunk({}), object: 'chat.completion', choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }] })] });
        let pauses = 0;
        const answer = await secureAsk({ ...authority.options(), port: daemon.port }, { ...CREATE, body: { input: 'Hi' }, look: async (got) => {
            if (got.length > (pauses + 1) * 300_000 && ++pauses)
                await new Promise((done) => setTimeout(done, 300)); /* a slow reader is the point */
        } });
        assert.equal(answer.json.output[0].content[0].text, text);
    });

    test('who reads nothing any more is given up after send_timeout', async (t) => {
        const authority = new Authority(t);
        const { up, daemon } = await gateway(t, authority, '--send-timeout', '300ms');
        up.next(stream([...Array(200).fill(frames(chunk({ content: 'word '.repeat(20_000) })).join('')), ...frames(chunk({}, 'stop'), '[DONE]')]));
        const socket = tls.connect({ ...authority.options(), port: daemon.port });
        await once(socket, 'secureConnect');
        const body = JSON.stringify({ input: 'Hi', stream: true });
        socket.on('error', () => {}).write(`POST /v1/responses HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
        await daemon.logged(/turn .*status=client_gone/, 15_000);
        socket.destroy();
    });

    test('a WebSocket', async (t) => {
        const authority = new Authority(t);
        const { up, daemon } = await gateway(t, authority);
        daemon.dialTls = () => tls.connect({ ...authority.options(), port: daemon.port });
        up.next(textStream('over a socket'));
        const socket = await connect(daemon);
        socket.say(frame(TEXT, JSON.stringify({ type: 'response.create', input: 'Hi' })));
        for (let event; event?.type !== 'response.completed';) {
            const { opcode, text } = await socket.frame();
            assert.equal(opcode, TEXT, text);
            event = JSON.parse(text);
            if (event.type === 'response.completed')
                assert.equal(event.response.output[0].content[0].text, 'over a socket');
        }
        socket.destroy();
    });

    test('a client that says it has ended is heard, and a stream to it is given up', async (t) => {
        const authority = new Authority(t);
        const { up, daemon } = await gateway(t, authority);
        up.next(stream([...frames(chunk({ content: 'first' })), new Promise(() => {})]));
        const socket = tls.connect({ ...authority.options(), port: daemon.port });
        await once(socket, 'secureConnect');
        const body = JSON.stringify({ input: 'Hi', stream: true });
        socket.write(`POST /v1/responses HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
        await once(socket, 'data');
        socket.end();
        await (await up.request(0)).closed;
        await daemon.logged(/turn .*status=client_gone/);
    });

    test('the last answer of a connection is followed by close_notify', async (t) => {
        const { daemon } = await gateway(t, new Authority(t));
        assert.match(await sClient(daemon.port, '-ign_eof', '-msg'), /<<< TLS 1\.3, Alert \[length 0002\], warning close_notify/);
    });
});

describe('behind a proxy', { concurrency: false }, () => {
    /* Speaks TLS behind a PROXY header; with `together` both leave in one piece. */
    async function through(port, header, together) {
        const socket = net.connect(port, '127.0.0.1');
        await once(socket, 'connect');
        if (together)
            socket.cork();
        socket.write(header);
        const secure = tls.connect({ socket, rejectUnauthorized: false });
        setImmediate(() => together && socket.uncork());
        await once(secure, 'secureConnect');
        secure.write('GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
        let text = '';
        for await (const part of secure.setEncoding('utf8'))
            text += part;
        return text;
    }

    test('a PROXY header stands in front of the handshake, and names the client', async (t) => {
        const authority = new Authority(t), server = authority.make('server');
        const daemon = await startDaemon({ exact: true, args: ['--listen', '127.0.0.1:0+tls+proxy', '--tls-cert', server.cert, '--tls-key', server.key, '--log-level', 'debug'] });
        t.after(() => daemon.stop());
        for (const together of [false, true])
            assert.match(await through(daemon.port, `PROXY TCP4 203.0.113.${together ? 7 : 8} 192.0.2.1 1000 443\r\n`, together), LET_IN);
        const socket = net.connect(daemon.port, '127.0.0.1').on('error', () => {}).resume();
        socket.write(`PROXY TCP4 203.0.113.9 192.0.2.1 1000 443\r\n${'\x80'.repeat(70_000)}`, 'latin1');
        await daemon.logged(/debug tls handshake=broken client=203\.0\.113\.9 /);
        socket.destroy();
    });
});

describe('exchange', { concurrency: false }, () => {
    test('a new certificate is shown from SIGHUP on, and no stream breaks', async (t) => {
        const authority = new Authority(t);
        const { up, daemon } = await gateway(t, authority);
        const options = { ...authority.options(), port: daemon.port };
        let go;
        up.always(() => stream([...frames(chunk({ content: 'before' })), gate, ...frames(chunk({ content: ' after' }), chunk({}, 'stop'), '[DONE]')]));
        const gate = new Promise((done) => (go = done));
        let begun = 0;
        const streams = Array.from({ length: 20 }, () => {
            let has_begun = false;
            return secureAsk(options, { ...CREATE, body: { input: 'Hi', stream: true }, look: (text) => {
                begun += !has_begun && text.includes('before');
                has_begun ||= text.includes('before');
            } });
        });
        for (let i = 0; begun < streams.length; i++)
            await new Promise((done) => setTimeout(done, 5));
        for (const cn of ['second', 'third']) {
            authority.make('server', { cn });
            daemon.child.kill('SIGHUP');
            await daemon.logged(new RegExp('reload part=tls result=ok[^]*'.repeat(cn === 'second' ? 1 : 2)));
            assert.match(await sClient(daemon.port), new RegExp(`subject=CN = ${cn}\\n`));
        }
        go();
        for (const { text } of await Promise.all(streams))
            assert.match(text, /before[^]* after[^]*response\.completed/);
    });

    test('what cannot be used changes nothing, and is an error in the log', async (t) => {
        const authority = new Authority(t), other = authority.make('other'), old = authority.make('old', { days: -1 });
        const { daemon, server } = await gateway(t, authority);
        copyFileSync(other.key, server.key);
        daemon.child.kill('SIGHUP');
        await daemon.logged(/error reload part=tls result=error error="tls_key \S+: is not the key of/);
        copyFileSync(old.key, server.key);
        copyFileSync(old.cert, server.cert);
        daemon.child.kill('SIGHUP');
        await daemon.logged(/error reload part=tls result=error error="the certificate of localhost has expired on [-\d]+: renew it"/);
        assert.match(await sClient(daemon.port), /subject=CN = server\n[^]*HTTP\/1\.1 200 OK/);
    });

    test('a session is resumed, also after an exchange', async (t) => {
        const authority = new Authority(t);
        const { daemon } = await gateway(t, authority);
        const session = join(folder(t), 'session');
        assert.match(await sClient(daemon.port, '-sess_out', session), /New, TLSv1\.3/);
        authority.make('server');
        daemon.child.kill('SIGHUP');
        await daemon.logged(/reload part=tls result=ok/);
        assert.match(await sClient(daemon.port, '-sess_in', session), /Reused, TLSv1\.3/);
    });
});

describe('the start', { concurrency: false }, () => {
    const refused = (...args) => spawnSync(BINARY, ['serve', '--check-config', '--listen', '127.0.0.1:0+tls', ...args], { encoding: 'utf8', timeout: patience(10_000) });

    test('a pair that cannot be used ends it, and says why', (t) => {
        const authority = new Authority(t), good = authority.make('good'), other = authority.make('other'), old = authority.make('old', { days: -1 });
        for (const [cert, key, message] of [
            [good.cert, other.key, /is not the key of the first certificate/],
            [old.cert, old.key, /the certificate of localhost has expired/],
            [good.key, good.key, /no certificate in PEM form/],
            [good.cert, '/nowhere', /tls_key \/nowhere: No such file/],
        ]) {
            const { status, stderr } = refused('--tls-cert', cert, '--tls-key', key);
            assert.notEqual(status, 0);
            assert.match(stderr, message);
        }
        assert.equal(refused('--tls-cert', good.cert, '--tls-key', good.key).status, 0);
    });

    test('a certificate that expires soon is warned of', async (t) => {
        const authority = new Authority(t), soon = authority.make('soon', { days: 5 });
        const daemon = await startDaemon({ exact: true, args: ['--listen', '127.0.0.1:0+tls', '--tls-cert', soon.cert, '--tls-key', soon.key] });
        t.after(() => daemon.stop());
        await daemon.logged(/warn tls certificate=localhost state="expires soon" until=[-\d]+ days_left=[45]/);
    });

    test('a key that everybody may read is warned of', (t) => {
        const authority = new Authority(t), good = authority.make('good');
        writeFileSync(`${good.key}.open`, readFileSync(good.key), { mode: 0o644 });
        assert.match(refused('--tls-cert', good.cert, '--tls-key', `${good.key}.open`).stderr, /good\.key\.open[^]*chmod/);
    });
});
