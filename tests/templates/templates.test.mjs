/* templates.test.mjs -- chat templates of real models accept what the gateway makes of a history.
 *
 * What a template refuses is an error of its server, for this request and for every later one of the
 * conversation. So each template gets each shape of request, as each server prepares the messages,
 * and renders them: once behind a gateway that knows the model by its name, once behind one that
 * knows nothing but what the template says (template_words.c). How a gateway comes to read a template
 * is tried with a few: a server that says it is llama.cpp shows each at /props.
 *
 * The templates are those of their makers and no part of this repository: they are read from
 * $ANTIPHON_TEST_TEMPLATES, or ../shared/captures/templates. Those in ./own were written for this
 * test, refuse what theirs refuse, and are always there.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import test, { after, before, describe } from 'node:test';
import { ask } from '../lib/client.mjs';
import { ROOT, startDaemon } from '../lib/daemon.mjs';
import { DATA } from '../lib/data.mjs';
import { json, startUpstream } from '../lib/upstream.mjs';
import { SERVERS } from './prepare.mjs';
import { renderer } from './renderer.mjs';

const OWN = join(ROOT, 'tests/templates/own');
const REAL = resolve(ROOT, process.env.ANTIPHON_TEST_TEMPLATES ?? '../shared/captures/templates');
const WORDS = resolve(ROOT, process.env.ANTIPHON_TEMPLATE_WORDS ?? 'build/release/tests/template_words');
const SHAPES = Object.assign({}, ...['requests', 'more'].map((name) => JSON.parse(readFileSync(join(DATA, `templates/${name}.json`)))));

const skip = !existsSync(REAL) && `no chat templates in ${REAL}: ANTIPHON_TEST_TEMPLATES names another folder`;

const filesIn = (folder) => existsSync(folder)
    ? readdirSync(folder).filter((name) => name.endsWith('.jinja')).sort().map((name) => join(folder, name)) : [];

/* The name that a server gives the model: the file's, with the maker as a folder. */
const MAKERS = ['ByteDance', 'CohereForAI', 'HuggingFaceTB', 'NousResearch', 'deepseek-ai', 'fireworks-ai', 'google',
    'ibm-granite', 'llama-cpp', 'meetkai', 'meta-llama', 'microsoft', 'mistralai', 'moonshotai', 'openai', 'openbmb',
    'poolside', 'tencent', 'unsloth', 'upstage'];

function nameOf(file) {
    const name = basename(file, '.jinja');
    const maker = MAKERS.find((prefix) => name.startsWith(`${prefix}-`));
    return maker === undefined ? name : `${maker}/${name.slice(maker.length + 1)}`;
}

/* What happens to a body behind the gateway: undefined, or what the server answers instead. */
function refusalOf({ messages, tools }, prepare, render) {
    try {
        render(prepare({ messages, tools }));
    } catch (error) {
        return error.message;
    }
}

/* Every shape, by these servers, through a gateway to which the model has this name. */
async function checkTemplate(both, model, file, names = Object.keys(SERVERS)) {
    const text = readFileSync(file, 'utf8');
    const render = renderer(text);
    const servers = names.map((name) => [name, SERVERS[name](text, render)]);
    const refusals = [];
    for (const [shape, request] of Object.entries(SHAPES)) {
        both.up.reset();
        const answer = await ask(both.daemon, { ...request, model, store: false });
        assert.equal(answer.status, 200, `${shape}: ${answer.text}`);
        const { body } = both.up.requests.at(-1);
        for (const [name, prepare] of servers) {
            const refusal = refusalOf(body, prepare, render);
            if (refusal !== undefined)
                refusals.push(`${shape}, ${name}: ${refusal}`);
        }
    }
    assert.deepEqual(refusals, []);
}

function suite(title, files, args, modelOf, options) {
    describe(title, options, () => {
        const both = {};
        before(async () => {
            both.up = await startUpstream();
            both.daemon = await startDaemon({ upstream: both.up.url, args });
        });
        after(() => both.daemon?.stop());
        after(() => both.up?.close());
        for (const file of files)
            test(basename(file, '.jinja'), () => checkTemplate(both, modelOf(file), file));
    });
}

/* A model whose name says nothing: the words come from its template, as lines of model_settings. */
const numbered = (files) => (file) => `m${files.indexOf(file)}`;

const learntArgs = (files) => files.flatMap((file) => {
    const words = execFileSync(WORDS, [file], { encoding: 'utf8' }).trim();
    return words === '' ? [] : ['--model-settings', `${numbered(files)(file)} ${words}`];
});

/* ---- a template that its server shows */

const recorded = (name) => readFileSync(join(DATA, 'upstream_kinds', name), 'utf8');

/* What llama.cpp answers when it is asked who it is, with a model of no name that takes this template. */
function llamaShowing(chat_template) {
    const head = { server: 'llama.cpp' };
    const pages = {
        '/v1/models': json(200, recorded('llama_cpp_models.json'), head),
        '/props': json(200, { ...JSON.parse(recorded('llama_cpp_props.json')), chat_template }, head),
    };
    return ({ path }) => pages[path] ?? json(404, recorded('llama_cpp_not_found.json'), head);
}

async function checkShown(t, file) {
    const up = await startUpstream();
    t.after(() => up.close());
    up.probed = llamaShowing(readFileSync(file, 'utf8'));
    const daemon = await startDaemon({ upstream: up.url });
    t.after(() => daemon.stop());
    await checkTemplate({ up, daemon }, 'tiny', file, ['llama.cpp']);
}

/* One daemon each, hence not all of them: those that refuse most when nobody has read them. */
const SHOWN = ['Apertus-8B-Instruct', 'Mistral-Small-3.2-24B-Instruct-2506', 'NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use',
    'NousResearch-Hermes-3-Llama-3.1-8B-tool_use', 'Qwen3.5-4B', 'google-gemma-2-2b-it', 'meta-llama-Llama-3.1-8B-Instruct',
    'meta-llama-Llama-3.3-70B-Instruct', 'mistralai-Ministral-3-14B-Reasoning-2512', 'mistralai-Mistral-Nemo-Instruct-2407'];

const own = filesIn(OWN);
const real = filesIn(REAL);
const few = real.filter((file) => SHOWN.includes(basename(file, '.jinja')));

suite('templates of our own, known by their text', own, learntArgs(own), numbered(own));
suite('templates of real models, known by name', real, [], nameOf, { skip });
suite('templates of real models, known by their text', real, learntArgs(real), numbered(real), { skip });

describe('templates that llama.cpp shows', { concurrency: false }, () => {
    for (const file of own)
        test(`of our own: ${basename(file, '.jinja')}`, (t) => checkShown(t, file));
    for (const file of few)
        test(basename(file, '.jinja'), (t) => checkShown(t, file));
    test('of real models', { skip }, () => assert.deepEqual(few.map((file) => basename(file, '.jinja')).sort(), [...SHOWN].sort()));
});
