/* windows.test.mjs -- how much fits into the models of an upstream: what servers of many kinds tell
 * of that, what clients see of it, and that a change is noticed (CONTRACT 15).
 *
 * What the scripted servers say is recorded, or as they document it: tests/data/upstream_kinds. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import test, { describe } from 'node:test';
import { ask, get, open } from '../lib/client.mjs';
import { BINARY, ENVIRONMENT, startDaemon } from '../lib/daemon.mjs';
import { bytesOf, jsonOf } from '../lib/data.mjs';
import { ABOUT_TIME } from '../lib/patience.mjs';
import { CLOSE, HANG, json, startUpstream, textStream } from '../lib/upstream.mjs';

const told = (name) => ({ status: 200, headers: { 'content-type': 'application/json' }, pieces: [bytesOf('upstream_kinds', name)] });
const NOT_FOUND = json(404, { detail: 'Not Found' });
const of = (paths, headers = {}) => ({ path }) => {
    const answer = paths[path] ?? NOT_FOUND;
    return { ...answer, headers: { ...answer.headers, ...headers } };
};

const LLAMA_CPP = of({ '/v1/models': told('llama_cpp_models.json'), '/props': told('llama_cpp_props.json') }, { server: 'llama.cpp' });
const VLLM = of({ '/v1/models': told('vllm_models.json'), '/version': json(200, { version: '0.11.0' }) });
const SGLANG = of({ '/v1/models': told('sglang_models.json'), '/get_server_info': told('sglang_server_info.json'), '/get_model_info': told('sglang_model_info.json') });
const NEW_SGLANG = of({ '/v1/models': told('sglang_models.json'), '/get_server_info': told('sglang_server_info.json'), '/model_info': told('sglang_model_info.json') });
const LM_STUDIO = of({ '/v1/models': told('lmstudio_models.json'), '/api/v0/models': told('lmstudio_native_models.json') });
const OLLAMA = of({ '/v1/models': told('ollama_models.json'), '/api/version': json(200, { version: '0.12.3' }),
    '/api/ps': told('ollama_ps.json'), '/api/show': told('ollama_show.json') });
const LITELLM = of({ '/v1/models': told('litellm_models.json'), '/model/info': told('litellm_model_info.json') });

const KNOWN = ['context_length', 'context_window', 'max_model_len'];
const known = (n) => Object.fromEntries(KNOWN.map((name) => [name, n]));

/* A server that says the same to the gateway and to clients. */
async function meet(t, said, ...args) {
    const up = await startUpstream();
    up.probed = said;
    up.always((request) => request.method === 'GET' ? up.probed({ ...request, path: request.path.split('?')[0] }) : textStream('Hi'));
    t.after(() => up.close());
    const daemon = await startDaemon({ upstream: up.url, args });
    t.after(() => daemon.stop());
    return { up, daemon };
}

async function models(daemon, path = '/v1/models') {
    const answer = await get(daemon, path);
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
}

const windowOf = async (daemon, id) => (await models(daemon)).data.find((model) => model.id === id).context_length;

/* The catalogue knows guesses as well, and images. */
async function catalogueOf(daemon, id) {
    const { context_window: window, input_modalities: sees } = (await models(daemon, '/v1/models?client_version=0.169.0')).models.find((model) => model.slug === id);
    return [window, sees.join()];
}

const asked = (up) => up.probes.map((probe) => probe.path).join(' ');

describe('what servers tell', { concurrency: false }, () => {
    for (const [kind, said, paths, wanted] of [
        ['llama.cpp', LLAMA_CPP, '/v1/models /props', { tiny: [4096, 4096, 'text'] }],
        ['ik_llama.cpp', of({ '/v1/models': told('ik_llama_cpp_models.json') }), '/v1/models /props', { tiny: [16384, 16384, 'text'] }],
        ['vLLM', VLLM, '/v1/models /version', { 'qwen3-8b': [40960, 40960, 'text'], 'sql-lora': [undefined, undefined, 'text'] }],
        ['SGLang', SGLANG, '/v1/models /get_server_info /get_model_info', { 'qwen2.5-vl': [51234, 51234, 'text,image'] }],
        ['newer SGLang', NEW_SGLANG, '/v1/models /get_server_info /get_model_info /model_info', { 'qwen2.5-vl': [51234, 51234, 'text,image'] }],
        ['LM Studio', LM_STUDIO, '/v1/models /api/v0/models',
            { 'qwen2-vl-7b-instruct': [undefined, 32768, 'text,image'], 'llama-3.1-8b-instruct': [4096, 4096, 'text'] }],
        ['Ollama', OLLAMA, '/v1/models /api/version /api/ps /api/show',
            { 'llama3.2:latest': [8192, 8192, 'text,image'], 'gemma3:4b': [undefined, undefined, 'text'] }],
        ['LiteLLM', LITELLM, '/v1/models /props /api/version /model/info', { chat: [65536, 65536, 'text'], eyes: [undefined, undefined, 'text,image'] }],
        ['OpenRouter', of({ '/v1/models': told('openrouter_models.json') }), null, { 'maker/large': [262144, 262144, 'text,image'], 'maker/small': [32768, 32768, 'text'] }],
        ['Mistral', of({ '/v1/models': told('mistral_models.json') }), '/v1/models', { 'mistral-medium-2508': [131072, 131072, 'text,image'] }],
        ['Groq', of({ '/v1/models': told('groq_models.json') }), null, { 'openai/gpt-oss-20b': [131072, 131072, 'text'] }],
    ]) {
        test(kind, async (t) => {
            const g = await meet(t, said);
            for (const [id, [window, atMost, sees]] of Object.entries(wanted)) {
                assert.equal((await models(g.daemon)).data.find((model) => model.id === id).context_length ?? undefined, id === 'maker/large' ? 1000000 : window, id);
                assert.deepEqual(await catalogueOf(g.daemon, id), [atMost, sees], id);
            }
            if (paths)
                assert.equal(asked(g.up), paths);
        });
    }

    test('Ollama is asked about one model, the default', async (t) => {
        const g = await meet(t, OLLAMA, '--model', 'small', '--model-alias', 'small=gemma3:4b');
        assert.deepEqual(await catalogueOf(g.daemon, 'gemma3:4b'), [16384, 'text,image']);
        const [show] = g.up.probes.filter((probe) => probe.path === '/api/show');
        assert.deepEqual([show.method, show.body], ['POST', { model: 'gemma3:4b' }]);
        assert.equal(g.up.probes.filter((probe) => probe.method !== 'GET').length, 1);
    });

    test('the operator knows better', async (t) => {
        const g = await meet(t, LLAMA_CPP, '--model-settings', 'tiny context_window=2048 image_input=on');
        assert.deepEqual((await models(g.daemon)).data[0].context_length, 2048);
        assert.deepEqual(await catalogueOf(g.daemon, 'tiny'), [2048, 'text,image']);
    });

    test('an upstream that its URL or the configuration names is asked for its models alone', async (t) => {
        const g = await meet(t, of({ '/v1/models': told('mistral_models.json') }), '--upstream-kind', 'mistral');
        assert.equal(await windowOf(g.daemon, 'mistral-medium-2508'), 131072);
        assert.equal(asked(g.up), '/v1/models');
    });

    test('too large an answer of a native path, and redirects, tell nothing and harm nobody', async (t) => {
        const large = json(200, { default_generation_settings: { n_ctx: 77 }, chat_template: 'x'.repeat(300 * 1024) });
        const g = await meet(t, (request) => request.path === '/props' ? large : LLAMA_CPP(request));
        assert.equal(await windowOf(g.daemon, 'tiny'), 4096);
        const elsewhere = { status: 302, headers: { location: '/v1/models' }, pieces: [] };
        const moved = await meet(t, (request) => request.path === '/props' ? elsewhere : LLAMA_CPP(request));
        assert.equal(await windowOf(moved.daemon, 'tiny'), 4096);
    });

    test('--check-config shows it', async (t) => {
        const up = await startUpstream();
        t.after(() => up.close());
        up.probed = LM_STUDIO;
        const child = spawn(BINARY, ['serve', '--check-config', '--upstream', up.url], { env: ENVIRONMENT });
        let out = '';
        child.stdout.setEncoding('utf8').on('data', (text) => (out += text));
        assert.equal(await new Promise((done) => child.on('close', done)), 0);
        assert.match(out, /^\/\/ kind of the upstream: lmstudio, recognised by models$/m);
        assert.match(out, /^\/\/ model qwen2-vl-7b-instruct: context window 32768 at most, images$/m);
        assert.match(out, /^\/\/ model llama-3\.1-8b-instruct: context window 4096$/m);
    });
});

describe('what changes', { concurrency: false }, () => {
    const turn = { model: 'tiny', input: 'Hi' };
    const list = (models) => json(200, { object: 'list', data: models });
    const llama = (id, n_ctx) => of({ '/v1/models': list([{ id, object: 'model', owned_by: 'llamacpp', meta: { n_ctx, n_ctx_train: 131072 } }]),
        '/props': json(200, { ...jsonOf('upstream_kinds', 'llama_cpp_props.json'), default_generation_settings: { n_ctx } }) }, { server: 'llama.cpp' });
    const logged = (model, tokens, guess = 'no') => new RegExp(`upstream context window"? model="?${model.replaceAll('.', '\\.')}"? tokens=${tokens} guess=${guess}\n`);

    test('what is old is asked again with the next turn', async (t) => {
        const g = await meet(t, llama('tiny', 4096), '--models-refresh', '1s');
        await g.daemon.logged(logged('tiny', 4096));
        g.up.probed = llama('tiny', 8192);
        for (let seen = false; !seen; seen = logged('tiny', 8192).test(g.daemon.log)) {
            assert.equal((await ask(g.daemon, turn)).status, 200);
            await new Promise((done) => setTimeout(done, 200));
        }
        assert.equal(g.daemon.log.match(/upstream recognised/g).length, 1);
    });

    test('another model in its place, as well', async (t) => {
        const g = await meet(t, llama('tiny', 4096), '--models-refresh', '1s');
        await g.daemon.logged(logged('tiny', 4096));
        g.up.probed = llama('huge', 65536);
        for (let seen = false; !seen; seen = logged('huge', 65536).test(g.daemon.log)) {
            assert.equal((await ask(g.daemon, turn)).status, 200);
            await new Promise((done) => setTimeout(done, 200));
        }
    });

    test('a turn after a long rest has what is new', async (t) => {
        const g = await meet(t, llama('tiny', 4096), '--models-refresh', '1s');
        await g.daemon.logged(logged('tiny', 4096));
        g.up.probed = llama('tiny', 8192);
        await new Promise((done) => setTimeout(done, 1500));
        assert.equal((await ask(g.daemon, turn)).status, 200);
        assert.match(g.daemon.log, logged('tiny', 8192)); /* before it was answered */
    });

    test('models_refresh 0 asks once', async (t) => {
        const g = await meet(t, llama('tiny', 4096), '--models-refresh', '0');
        for (let i = 0; i < 3; i++)
            assert.equal((await ask(g.daemon, turn)).status, 200);
        assert.equal(asked(g.up), '/v1/models /props');
    });

    test('a list that is not the known one is shown at once, and has the upstream asked', async (t) => {
        const g = await meet(t, llama('tiny', 4096));
        await g.daemon.logged(logged('tiny', 4096));
        g.up.probed = llama('other', 16384);
        await new Promise((done) => setTimeout(done, 1100)); /* nobody is asked more often than every second */
        assert.equal(await windowOf(g.daemon, 'other'), 16384);
        await g.daemon.logged(logged('other', 16384));
    });

    test('a model that LM Studio loads when it is asked is looked at when it answers', async (t) => {
        const native = jsonOf('upstream_kinds', 'lmstudio_native_models.json');
        const g = await meet(t, LM_STUDIO);
        await g.daemon.logged(logged('qwen2-vl-7b-instruct', 32768, 'yes'));
        Object.assign(native.data[0], { state: 'loaded', loaded_context_length: 8192 });
        Object.assign(native.data[1], { state: 'not-loaded', loaded_context_length: undefined });
        g.up.probed = (request) => request.path === '/api/v0/models' ? json(200, native) : LM_STUDIO(request);
        await new Promise((done) => setTimeout(done, 1100));
        assert.equal((await ask(g.daemon, { model: 'qwen2-vl-7b-instruct', input: 'Hi' })).status, 200);
        await g.daemon.logged(logged('qwen2-vl-7b-instruct', 8192));
        assert.equal(await windowOf(g.daemon, 'qwen2-vl-7b-instruct'), 8192);
        assert.equal(await windowOf(g.daemon, 'llama-3.1-8b-instruct'), undefined); /* a guess now */
    });

    test('so is one that Ollama runs since', async (t) => {
        const running = jsonOf('upstream_kinds', 'ollama_ps.json');
        const g = await meet(t, OLLAMA);
        await g.daemon.logged(logged('llama3.2:latest', 8192));
        Object.assign(running.models[0], { name: 'qwen3:8b', model: 'qwen3:8b', context_length: 4096 });
        g.up.probed = (request) => request.path === '/api/ps' ? json(200, running) : OLLAMA(request);
        await new Promise((done) => setTimeout(done, 1100));
        assert.equal((await ask(g.daemon, { model: 'qwen3:8b', input: 'Hi' })).status, 200);
        await g.daemon.logged(logged('qwen3:8b', 4096));
    });

    test('a server that is silent when it is asked again has not changed', { skip: ABOUT_TIME }, async (t) => {
        const g = await meet(t, llama('tiny', 4096), '--models-refresh', '1s', '--upstream-probe-timeout', '500ms');
        await g.daemon.logged(logged('tiny', 4096));
        g.up.probed = (request) => request.path === '/props' ? { before: [HANG] } : llama('tiny', 8192)(request);
        for (let i = 0; i < 8; i++) {
            assert.equal((await ask(g.daemon, turn)).status, 200);
            await new Promise((done) => setTimeout(done, 300));
        }
        assert.doesNotMatch(g.daemon.log, /tokens=8192/);
    });
});

describe('what errors teach', { concurrency: false }, () => {
    const overflow = (message, more = {}) => json(400, { error: { message, type: 'invalid_request_error', ...more } });
    const SIZE = "This model's maximum context length is 2048 tokens, but the request has 13000.";

    test('both numbers are told in one form, and the window is known from then on', async (t) => {
        for (const [message, more] of [
            ['request (13000 tokens) exceeds the available context size (2048 tokens), try increasing it', { type: 'exceed_context_size_error' }],
            ['the request exceeds the available context size', { type: 'exceed_context_size_error', n_prompt_tokens: 13000, n_ctx: 2048 }],
            ["This model's maximum context length is 2048 tokens. However, your request has 13000 input tokens. Please reduce the length of the input messages."],
            ["The input (13000 tokens) is longer than the model's context length (2048 tokens)."],
            ['Trying to keep the first 13000 tokens when context the overflows. However, the model is loaded with context length of only 2048 tokens, which is not enough.'],
        ]) {
            const g = await meet(t, VLLM);
            assert.equal(await windowOf(g.daemon, 'qwen3-8b'), 40960);
            g.up.next(overflow(message, more));
            const answer = await ask(g.daemon, { model: 'qwen3-8b', input: 'Hi' });
            assert.deepEqual([answer.status, answer.json.error.code, answer.json.error.message], [400, 'context_length_exceeded', SIZE], message);
            assert.equal(await windowOf(g.daemon, 'qwen3-8b'), 2048, message);
        }
    });

    test('a text with less than both numbers stays as it is', async (t) => {
        const g = await meet(t, VLLM);
        g.up.next(overflow('The maximum context length is 2048 tokens.'));
        const { error } = (await ask(g.daemon, { model: 'qwen3-8b', input: 'Hi' })).json;
        assert.deepEqual([error.code, error.message], ['context_length_exceeded', 'The maximum context length is 2048 tokens.']);
        assert.equal(await windowOf(g.daemon, 'qwen3-8b'), 2048);
    });

    test('what cannot be a window, or is greater, teaches nothing', async (t) => {
        const g = await meet(t, VLLM);
        for (const limit of [7, 41000]) {
            g.up.next(overflow(`This model's maximum context length is ${limit} tokens. However, your messages resulted in 50000 tokens.`));
            assert.equal((await ask(g.daemon, { model: 'qwen3-8b', input: 'Hi' })).status, 400);
            assert.equal(await windowOf(g.daemon, 'qwen3-8b'), 40960);
        }
    });

    test('a server that is asked nothing teaches all the same, for as long as that is believed', async (t) => {
        const g = await meet(t, VLLM, '--upstream-kind', 'generic', '--models-refresh', '1s');
        g.up.probed = of({ '/v1/models': json(200, { object: 'list', data: [{ id: 'm', object: 'model' }] }) });
        await new Promise((done) => setTimeout(done, 1100)); /* what is learnt is not as old as the daemon */
        g.up.next(overflow(SIZE));
        assert.equal((await ask(g.daemon, { model: 'm', input: 'Hi' })).status, 400);
        assert.equal(await windowOf(g.daemon, 'm'), 2048);
        await new Promise((done) => setTimeout(done, 1100));
        assert.equal((await ask(g.daemon, { model: 'm', input: 'Hi' })).status, 200);
        assert.equal(await windowOf(g.daemon, 'm'), undefined);
    });
});

describe('what clients see', { concurrency: false }, () => {
    test('members of the upstream are unchanged, and those that clients look for are there', async (t) => {
        const g = await meet(t, LLAMA_CPP);
        const said = jsonOf('upstream_kinds', 'llama_cpp_models.json');
        const shown = await models(g.daemon);
        assert.deepEqual(shown, { ...said, data: said.data.map((model) => ({ ...model, ...known(4096) })) });
        assert.deepEqual(Object.keys(shown), Object.keys(said));
        const head = await get(g.daemon, '/v1/models', { method: 'HEAD' });
        assert.deepEqual([head.status, head.text], [200, '']);
    });

    /* Which member of an entry each reads, the first that is there (CONTRACT 10). */
    for (const [client, source, ...names] of [
        ['opencode', 'tashfeenahmed/freellmapi pull request 309', 'context_length'],
        ['Continue', 'tashfeenahmed/freellmapi pull request 309', 'context_length'],
        ['pi', 'apmantza/pi-free issue 347', 'context_length', 'max_context_length', 'context_window'],
        ['Goose', 'aaif-goose/goose issue 8835', 'max_input_tokens', 'context_length'],
        ['Hermes, of the list', 'NousResearch/hermes-agent pull request 2091', 'context_length'],
        ['Hermes, of vLLM', 'NousResearch/hermes-agent pull request 2091', 'max_model_len'],
        ['what is made for Groq', 'API reference of Groq', 'context_window'],
    ]) {
        test(`${client} finds the window (${source})`, async (t) => {
            for (const [said, id, window] of [[LLAMA_CPP, 'tiny', 4096], [SGLANG, 'qwen2.5-vl', 51234], [LITELLM, 'chat', 65536]]) {
                const g = await meet(t, said);
                /* what the upstream says itself may be more than it has room for, and stays */
                const own = id === 'qwen2.5-vl' && names.includes('max_model_len') ? 128000 : window;
                for (const entry of [(await models(g.daemon)).data.find((model) => model.id === id), await models(g.daemon, `/v1/models/${id}`)])
                    assert.equal(names.map((name) => entry[name]).find((value) => value != null), own, id);
            }
        });
    }

    test('aliases are listed, and found alone', async (t) => {
        const g = await meet(t, LM_STUDIO, ...['gpt-4o=llama-3.1-8b-instruct', 'lost=nothing', '*=llama-3.1-8b-instruct', 'text-embedding-nomic=llama-3.1-8b-instruct'].flatMap((alias) => ['--model-alias', alias]));
        const { data } = await models(g.daemon);
        assert.deepEqual(data.map((model) => model.id), ['qwen2-vl-7b-instruct', 'llama-3.1-8b-instruct', 'text-embedding-nomic', 'gpt-4o']);
        assert.deepEqual(data[3], { ...data[1], id: 'gpt-4o' });
        assert.equal(data[3].context_length, 4096);
        assert.equal(data[2].context_length, 4096); /* what is asked by this name has that much */
        assert.deepEqual(await models(g.daemon, '/v1/models/gpt-4o'), data[3]);
        assert.deepEqual((await models(g.daemon, '/v1/models?client_version=1')).models.map((model) => model.slug), data.map((model) => model.id));
    });

    test('models_extras off passes all on as it is', async (t) => {
        const g = await meet(t, LLAMA_CPP, '--no-models-extras', '--model-alias', 'gpt-4o=tiny');
        for (const path of ['/v1/models', '/v1/models?client_version=1']) {
            g.up.next(told('llama_cpp_models.json'));
            const answer = await get(g.daemon, path);
            assert.deepEqual(answer.bytes, bytesOf('upstream_kinds', 'llama_cpp_models.json'));
        }
        assert.equal((await models(g.daemon, '/v1/models/gpt-4o')).context_length, undefined);
    });

    test('what is no list passes as it is', async (t) => {
        const g = await meet(t, LLAMA_CPP);
        const page = { status: 200, headers: { 'content-type': 'text/html' }, pieces: ['<html>'] };
        for (const [answer, status, text] of [
            [page, 200, '<html>'],
            [json(200, { data: 'none' }), 200, '{"data":"none"}'],
            [{ status: 200, headers: { 'content-type': 'application/json' }, pieces: ['{"data":[}'] }, 200, '{"data":[}'],
            [{ status: 200, pieces: [] }, 200, ''],
            [{ status: 200, headers: { 'content-type': 'application/json', 'content-encoding': 'x-own' }, pieces: ['{"data":[]}'] }, 200, '{"data":[]}'],
            [json(401, { error: { message: 'No key' } }), 401, '{"error":{"message":"No key"}}'],
            [json(500, {}), 500, '{}'],
        ]) {
            g.up.next(answer);
            const got = await get(g.daemon, '/v1/models?client_version=1');
            assert.deepEqual([got.status, got.text], [status, text]);
        }
    });

    test('a list of thousands, and one that is too large to be gone through', async (t) => {
        const many = (n) => ({ object: 'list', data: Array.from({ length: n }, (_, i) => ({ id: `m${i}`, description: 'x'.repeat(900), context_length: i + 300 })) });
        const g = await meet(t, of({ '/v1/models': json(200, many(2500)) }), '--max-line', '4MiB', '--workers', '1');
        const { data, models: catalogue } = await models(g.daemon, '/v1/models?client_version=1');
        assert.equal(data.length, 2500);
        assert.deepEqual(data.map((model) => model.max_model_len), many(2500).data.map((model) => model.context_length));
        assert.equal(catalogue.length, 2500);
        const huge = JSON.stringify(many(6000));
        assert.ok(huge.length > 4 * 1024 * 1024);
        g.up.next(json(200, JSON.parse(huge)));
        assert.equal((await get(g.daemon, '/v1/models')).text, huge);
    });

    test('a catalogue that is too large to be written', async (t) => {
        const many = JSON.stringify({ object: 'list', data: Array.from({ length: 1000 }, (_, i) => ({ id: `m${i}` })) });
        const g = await meet(t, of({ '/v1/models': json(200, JSON.parse(many)) }), '--max-response', '1MiB');
        assert.equal((await get(g.daemon, '/v1/models?client_version=1')).text, many);
        assert.equal((await models(g.daemon)).data.length, 1000);
    });

    test('a body that was rewritten for the upstream is no part of the answer', async (t) => {
        const g = await meet(t, LM_STUDIO, '--model-alias', 'gpt-4o=llama-3.1-8b-instruct');
        const { json: list } = await open(g.daemon, { model: 'gpt-4o' }, { method: 'GET', path: '/v1/models' }).done;
        assert.deepEqual(list, await models(g.daemon));
    });

    test('an upstream that breaks off its list, and one that is not there', async (t) => {
        const g = await meet(t, LLAMA_CPP);
        g.up.next({ status: 200, headers: { 'content-type': 'application/json', 'content-length': '1000' }, pieces: ['{"data":[', CLOSE] });
        assert.equal((await get(g.daemon, '/v1/models')).status, 502);
        await g.up.close();
        assert.equal((await get(g.daemon, '/v1/models')).status, 502);
    });

    test('the demo has a window when the operator says so', async (t) => {
        const daemon = await startDaemon({ args: ['--model-settings', 'demo context_window=1000'] });
        t.after(() => daemon.stop());
        assert.equal(await windowOf(daemon, 'demo'), 1000);
        assert.equal((await models(daemon, '/v1/models/demo')).context_length, 1000);
    });
});

describe('the catalogue of Codex', { concurrency: false }, () => {
    const typeOf = (value) => Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;

    test('it has what the example has', async (t) => {
        const g = await meet(t, LLAMA_CPP, '--model-settings', 'tiny context_window=32768');
        const shown = await models(g.daemon, '/v1/models?x=1&client_version=0.169.0');
        assert.equal(shown.object, 'list');
        assert.equal(shown.data.length, 1);
        const [model] = shown.models, [example] = jsonOf('responses', 'codex_models.json').models;
        assert.deepEqual(Object.keys(model).sort(), Object.keys(example).sort());
        for (const [name, value] of Object.entries(example)) {
            assert.equal(typeOf(model[name]), typeOf(value), name);
            if (!['slug', 'display_name', 'base_instructions'].includes(name))
                assert.deepEqual(model[name], value, name);
        }
        assert.deepEqual([model.slug, model.display_name], ['tiny', 'tiny']);
        assert.ok(model.base_instructions.length > 1000);
        assert.equal((await models(g.daemon, '/v1/models?client_versions=1')).models[0].slug, undefined); /* the upstream's own */
    });

    test('the efforts of a model that is known to take some', async (t) => {
        const g = await meet(t, of({ '/v1/models': told('groq_models.json') }));
        const [model] = (await models(g.daemon, '/v1/models?client_version=1')).models;
        assert.deepEqual(model.supported_reasoning_levels.map((level) => level.effort), ['low', 'medium', 'high']);
        assert.equal(model.truncation_policy.limit, 10000);
        assert.equal(model.auto_compact_token_limit, 104857);
        const router = await meet(t, of({ '/v1/models': told('openrouter_models.json') }));
        const [large, small] = (await models(router.daemon, '/v1/models?client_version=1')).models;
        assert.equal(large.supported_reasoning_levels.length, 3);
        assert.equal(small.supported_reasoning_levels.length, 0);
    });
});
