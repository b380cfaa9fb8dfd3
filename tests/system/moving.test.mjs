/* moving.test.mjs -- the environments of open-responses-server and vllm-responses, as they are, start a
 * gateway that does what these did. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test, { describe } from 'node:test';
import { ask, get, open } from '../lib/client.mjs';
import { BINARY, ENVIRONMENT, ROOT, launchDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { writeServers } from '../lib/mcp.mjs';
import { startMcp } from '../lib/mcp_server.mjs';
import { startReceiver } from '../lib/otlp.mjs';
import { patience } from '../lib/patience.mjs';
import { callStream, startUpstream, textStream } from '../lib/upstream.mjs';

/* A scripted upstream, and a gateway with that environment alone. */
async function moved(t, env, how = {}) {
    const up = await startUpstream();
    t.after(() => up.close());
    const daemon = launchDaemon({ exact: true, env: env(up), ...how });
    t.after(() => daemon.stop());
    return { up, daemon: await daemon.ready() };
}

const ORS = (up) => ({ OPENAI_BASE_URL_INTERNAL: up.origin, API_ADAPTER_HOST: '127.0.0.1', API_ADAPTER_PORT: '0', OPENAI_API_KEY: 'dummy-key' });
const VR = (up) => ({ VR_LLM_API_BASE: up.url, VR_HOST: '127.0.0.1', VR_PORT: '0', VR_OPENAI_API_KEY: 'k' });
const typesOf = (text) => [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data).type);

describe('the environment of open-responses-server', () => {
    test('gives its events, its key and its address', async (t) => {
        const { up, daemon } = await moved(t, ORS);
        const exchange = open(daemon, { model: 'm', input: [{ type: 'message', role: 'user', content: 'Hi' }], stream: true }, { path: '/responses' });
        const { text, status } = await exchange.done;
        assert.equal(status, 200, text);
        const types = typesOf(text);
        assert.deepEqual(types.slice(0, 2), ['response.created', 'response.in_progress']);
        assert.ok(!types.includes('response.output_item.added'), types.join());
        assert.equal((await up.request()).headers.authorization, 'Bearer dummy-key');
        assert.match(daemon.log, /OPENAI_BASE_URL_INTERNAL is set, so what is not configured is as open-responses-server has it/);
    });

    test('passes other paths on', async (t) => {
        const { up, daemon } = await moved(t, ORS);
        await get(daemon, '/v1/rerank');
        assert.equal((await up.request()).path, '/v1/rerank');
    });

    test('gives every request the tools of its servers, by their own names', async (t) => {
        const fake = await startMcp();
        t.after(() => fake.close());
        const config = folder(t, 'servers_config.json');
        writeServers(config, { fake });
        const { up, daemon } = await moved(t, (u) => ({ ...ORS(u), MCP_SERVERS_CONFIG_PATH: config, MCP_TOOL_REFRESH_INTERVAL: '10' }));
        up.next(callStream(['echo', { message: 'hi' }]), textStream('Done.'));
        const { status, text } = await ask(daemon, { model: 'm', input: 'Say hi' });
        assert.equal(status, 200, text);
        assert.ok(up.requests[0].body.tools.some(({ function: f }) => f.name === 'echo'));
        assert.equal(up.requests[1].body.messages.at(-1).content, '["Echo: hi"]');
    });

    test('tells what has no effect', async (t) => {
        const { daemon } = await moved(t, (u) => ({ ...ORS(u), ANTIPHON_PRESET: 'ors', MAX_CONVERSATION_HISTORY: '9', SKILLS_DIR: 'x', API_ADAPTER_PROT: '1' }));
        for (const line of [/MAX_CONVERSATION_HISTORY has no effect: .*store_max_responses/, /SKILLS_DIR has no effect: /, /API_ADAPTER_PROT.* has no effect: .*did you mean API_ADAPTER_PORT\?/])
            assert.match(daemon.log, line);
        assert.doesNotMatch(daemon.log, /so what is not configured/);
    });

    test('has the log written to its file', async (t) => {
        const file = folder(t, 'api_adapter.log');
        const env = { OPENAI_BASE_URL_INTERNAL: 'http://127.0.0.1:1', LOG_FILE_PATH: file, LOG_LEVEL: 'WARNING', ANTIPHON_STORE: 'memory' };
        const { status, stdout } = spawnSync(BINARY, ['serve', '--check-config', '--upstream-probe-timeout', '0'], { encoding: 'utf8', timeout: patience(10_000), env: { ...ENVIRONMENT, ...env } });
        assert.equal(status, 0);
        assert.ok(stdout.includes(`"log_file": ${JSON.stringify(file)}, // variable LOG_FILE_PATH`), stdout);
        assert.match(stdout, /"log_level": "warn", \/\/ variable LOG_LEVEL/);
    });

    test('is read from .env, which the environment overrules', async (t) => {
        const dotenv = folder(t, '.env');
        const { up, daemon } = await moved(t, (u) => {
            writeFileSync(dotenv, `# otc configure\nOPENAI_BASE_URL_INTERNAL=${u.origin}\nAPI_ADAPTER_HOST=127.0.0.1\nAPI_ADAPTER_PORT=1\nOPENAI_API_KEY='from the file'\nexport OPENAI_API_KEY="file-key"\n`, { mode: 0o600 });
            return { ANTIPHON_PRESET: 'ors', API_ADAPTER_PORT: '0' };
        }, { user: { cwd: dirname(dotenv) } });
        assert.equal((await ask(daemon, { model: 'm', input: 'Hi' })).status, 200);
        assert.equal((await up.request()).headers.authorization, 'Bearer file-key');
        assert.ok(!daemon.log.includes('file-key'));
    });

    test('is not read from .env without being asked for', (t) => {
        const dotenv = folder(t, '.env');
        writeFileSync(dotenv, 'OPENAI_BASE_URL_INTERNAL=http://gpu:8000\n');
        const check = (env) => spawnSync(BINARY, ['serve', '--check-config', '--upstream-probe-timeout', '0'], { encoding: 'utf8', timeout: patience(10_000), cwd: dirname(dotenv), env: { ...ENVIRONMENT, ...env } }).stdout;
        assert.match(check({}), /"upstream": "", \/\/ default/);
        assert.match(check({ ANTIPHON_PRESET: 'ors' }), /"upstream": "http:\/\/gpu:8000\/v1", \/\/ variable OPENAI_BASE_URL_INTERNAL/);
    });
});

describe('the environment of vllm-responses', () => {
    test('gives its key, its address and its store', async (t) => {
        const db = folder(t, 'vllm_responses.db');
        const { up, daemon } = await moved(t, (u) => ({ ...VR(u), ANTIPHON_STORE: '', VR_WORKERS: '2', VR_DB_PATH: `sqlite+aiosqlite:///${db}`, VR_REDIS_HOST: 'redis' }));
        const first = (await ask(daemon, { model: 'm', input: 'One' })).json;
        const second = (await ask(daemon, { model: 'm', input: 'Two', previous_responses_id: first.id })).json;
        assert.equal(second.previous_response_id, first.id);
        const { headers, body } = await up.request(1);
        assert.deepEqual([headers.authorization, body.messages.map(({ role }) => role).join()], ['Bearer k', 'user,assistant,user']);
        assert.ok(readFileSync(`${db}.antiphon`).subarray(0, 15).toString() === 'SQLite format 3');
        assert.match(daemon.log, /VR_REDIS_HOST has no effect: /);
    });

    test('switches metrics and traces on and off', async (t) => {
        const receiver = await startReceiver(t);
        const place = async (truth) => (await moved(t, (u) => receiver.env({ ...VR(u), VR_METRICS_ENABLED: truth, VR_TRACING_ENABLED: truth, VR_TRACING_SAMPLE_RATIO: '1' }))).daemon;
        const off = await place('False');
        await ask(off, { model: 'm', input: 'Hi' });
        assert.equal((await get(off, '/metrics')).status, 404);
        await off.stop();
        assert.deepEqual(receiver.spans, [], 'also where an endpoint is set');
        const on = await place('true');
        await ask(on, { model: 'm', input: 'Hi' });
        await receiver.trace();
        assert.equal((await get(on, '/metrics', { headers: { 'x-forwarded-for': '192.0.2.1' } })).status, 200, 'whoever asks');
        for (const daemon of [off, on])
            assert.doesNotMatch(daemon.log, /VR_(METRICS|TRACING)_\w+ has no effect/);
    });

    test('is told what its truths have to be', () => {
        const { status, stderr } = spawnSync(BINARY, ['serve', '--check-config', '--upstream-probe-timeout', '0'], { encoding: 'utf8', timeout: patience(10_000), env: { ...ENVIRONMENT, VR_LLM_API_BASE: 'http://127.0.0.1:1', VR_METRICS_ENABLED: 'perhaps' } });
        assert.notEqual(status, 0);
        assert.match(stderr, /VR_METRICS_ENABLED/);
    });
});

test('docs/moving.md names every variable', () => {
    const page = readFileSync(join(ROOT, 'docs/moving.md'), 'utf8');
    const table = readFileSync(join(ROOT, 'src/config/moving.def'), 'utf8');
    const variables = [...table.matchAll(/^(?:ALIAS|TOLD|SIGN)\(\w+, "(\w+)"/gm)].map(([, name]) => name);
    assert.ok(variables.length > 40);
    assert.deepEqual(variables.filter((name) => !page.includes(`\`${name}\``)), []);
});
