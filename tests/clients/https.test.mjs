/* https.test.mjs -- the official SDK over TLS, with a CA of one's own as its users give it:
 * NODE_EXTRA_CA_CERTS, which node reads when it starts. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import test from 'node:test';
import { Authority } from '../lib/certs.mjs';
import { startDaemon } from '../lib/daemon.mjs';
import { startUpstream, textStream } from '../lib/upstream.mjs';

const TASK = `
import OpenAI from 'openai';
const client = new OpenAI({ baseURL: process.env.BASE, apiKey: 'sk-test', maxRetries: 0 });
try {
    const whole = await client.responses.create({ model: 'm', input: 'Hi' });
    let streamed = '';
    for await (const event of await client.responses.create({ model: 'm', input: 'Hi', stream: true }))
        streamed += event.type === 'response.output_text.delta' ? event.delta : '';
    const kept = await client.responses.retrieve(whole.id);
    console.log(JSON.stringify({ whole: whole.output_text, streamed, kept: kept.output_text }));
} catch (error) {
    console.log(JSON.stringify({ error: String(error.cause?.code ?? error.cause?.cause?.code ?? error) }));
}`;

async function task(env) {
    const child = spawn(process.execPath, ['--input-type=module', '-e', TASK], { cwd: import.meta.dirname, env: { PATH: process.env.PATH, ...env }, stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    for await (const part of child.stdout.setEncoding('utf8'))
        text += part;
    return JSON.parse(text);
}

test('openai over https, which it believes with the CA and not without', async (t) => {
    const authority = new Authority(t), { cert, key } = authority.make('server');
    const up = await startUpstream();
    t.after(() => up.close());
    const daemon = await startDaemon({ exact: true, upstream: up.url, args: ['--listen', '127.0.0.1:0+tls', '--tls-cert', cert, '--tls-key', key] });
    t.after(() => daemon.stop());
    up.always(textStream('Hello world'));
    const BASE = `https://localhost:${daemon.port}/v1`;
    assert.deepEqual(await task({ BASE, NODE_EXTRA_CA_CERTS: authority.ca }), { whole: 'Hello world', streamed: 'Hello world', kept: 'Hello world' });
    assert.deepEqual(await task({ BASE }), { error: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' });
});
