/* templates.test.mjs -- chat templates of real models accept what the gateway makes of a history.
 *
 * What a template refuses is an error of its server, for this request and for every later one of the
 * conversation. So each template gets each shape of request, as each server prepares the messages,
 * and renders them: once behind a gateway that knows the model by its name, once behind one that
 * knows nothing but what the template says (template_words.c), which servers of the kind of llama.cpp
 * show.
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
import { startUpstream } from '../lib/upstream.mjs';
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

/* Every shape, by every server, through a gateway to which the model has this name. */
async function checkTemplate(both, model, file) {
    const text = readFileSync(file, 'utf8');
    const render = renderer(text);
    const servers = Object.entries(SERVERS).map(([name, make]) => [name, make(text, render)]);
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

const own = filesIn(OWN);
const real = filesIn(REAL);

suite('templates of our own, known by their text', own, learntArgs(own), numbered(own));
suite('templates of real models, known by name', real, [], nameOf, { skip });
suite('templates of real models, known by their text', real, learntArgs(real), numbered(real), { skip });
