/* upstreams.mjs -- several servers of Chat Completions, each of which can be told how to behave, and which count
 * what is asked of them.
 *
 *     const rigs = await startRigs(t, { a: { limit: 4 }, b: { kind: 'llama.cpp', slots: 2 } });
 *     rigs.a.behave(FAULTS.busy(), 3);                  // its next three rounds; without a number, all
 *     rigs.b.usually(talk({ deltas: 20, pause: 5 }));   // what it does otherwise
 *     await rigs.a.kill(); await rigs.a.revive();
 *     rigs.a.rounds[0].body                             // a round is one POST that asks a model
 *     await rigs.check();                               // no limit was passed, no turn was in two rounds at once
 *
 * A way to behave is an answer of upstream.mjs, or a function of the round and the rig that gives one. What is asked
 * of a server to find out what it is and how it feels stands apart, in `checks`: it is answered as such servers do.
 *
 * `limit` is how many rounds there may be at once. A round counts from its request until its last piece is written,
 * so that whoever has read that can come back at once. One that the gateway leaves is over when its connection closes,
 * news that may come after the request that took its place: such rounds are not held against anybody.
 */
import assert from 'node:assert/strict';
import { NoCache, SlotCache, promptOf } from './kv_cache.mjs';
import { patience } from './patience.mjs';
import { HANG, chunk, completionChunk, completionUsage, frames, json, startUpstream, stream, usageChunk, words } from './upstream.mjs';
import { FAULTS } from './upstream_faults.mjs';

const ASKS_MODEL = /^\/v1\/(chat\/completions|completions|embeddings|rerank|audio\/transcriptions)$/;
const GRACE_MS = 100; /* in which the news of a connection that was closed arrives */
const UNREAD = new NoCache(); /* what is refused leaves no trace */

export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/* What is seen, as soon as it is as wanted. */
export async function until(look, met = Boolean, ms = 10_000) {
    for (const deadline = performance.now() + patience(ms); ; await pause(5)) {
        const seen = await look();
        if (met(seen))
            return seen;
        assert.ok(performance.now() < deadline, `never seen: ${met}, but ${JSON.stringify(seen)}`);
    }
}

/* What `one` gives for 0 to n - 1, each when the one before is over. */
export async function several(n, one) {
    const all = [];
    for (let i = 0; i < n; i++)
        all.push(await one(i));
    return all;
}

/* ---- rounds at once ---- */

class Running {
    #rounds = new Set();
    #suspects = 0;
    most = 0;
    faults = [];

    constructor(name, limit) {
        Object.assign(this, { name, limit });
    }

    get size() {
        return this.#rounds.size;
    }

    enter(round) {
        this.#rounds.add(round);
        this.most = Math.max(this.most, this.size);
        if (this.size > this.limit)
            this.#suspect([...this.#rounds]);
    }

    leave(round) {
        this.#rounds.delete(round);
    }

    #suspect(rounds) {
        this.#suspects++;
        setTimeout(() => {
            this.#suspects--;
            const meant = rounds.filter(({ isLeft }) => !isLeft);
            if (meant.length > this.limit)
                this.faults.push(`${this.name}: ${meant.length} rounds at once: ${meant.map(({ question }) => JSON.stringify(question)).join(', ').slice(0, 500)}`);
        }, GRACE_MS);
    }

    async settle() {
        await until(() => this.#suspects, (n) => n === 0);
        return this.faults;
    }
}

/* All rounds of all rigs by what they ask: a turn asks one upstream at a time. Only for tests in which every turn
 * asks something else. */
class Ledger {
    #running = new Map();

    enter(round) {
        const { question } = round;
        if (!this.#running.has(question))
            this.#running.set(question, new Running('one turn', 1));
        this.#running.get(question).enter(round);
    }

    leave(round) {
        this.#running.get(round.question).leave(round);
    }

    async settle() {
        const all = await Promise.all([...this.#running.values()].map((one) => one.settle()));
        return all.flat();
    }
}

/* ---- ways to behave ---- */

const lastText = (content) => (typeof content === 'string' ? content : content?.map(({ text = '' }) => text).join('') ?? '');

/* What a round asks: the last thing that a user said. */
export function questionOf(body = {}) {
    if (body.messages === undefined)
        return String(body.prompt ?? body.input ?? '');
    return lastText(body.messages.findLast(({ role }) => role === 'user')?.content);
}

const usageOf = ({ prompt, cached }, n) => {
    const { usage, ...more } = usageChunk(prompt, n);
    return { ...more, usage: { ...usage, prompt_tokens_details: { cached_tokens: cached } } };
};

/* The end of a stream in one piece, since the round is over before it is written. */
const chatEnd = (use, n) => frames(chunk({}, 'stop'), usageOf(use, n), '[DONE]').join('');
const completionEnd = ({ prompt }, n) => frames(completionChunk('', 'stop'), completionUsage(prompt, n), '[DONE]').join('');

const wholeChat = (text, use) => json(200, {
    id: 'chatcmpl-1', object: 'chat.completion', created: 1767225600, model: 'upstream-model',
    choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    usage: usageOf(use, words(text).length).usage,
});
const wholeCompletion = (text, use) => json(200, { ...completionChunk(text, 'stop'), usage: completionUsage(use.prompt, words(text).length).usage });
const embedding = () => json(200, { object: 'list', model: 'upstream-model', data: [{ object: 'embedding', index: 0, embedding: [0.25, -0.5] }], usage: { prompt_tokens: 2, total_tokens: 2 } });

/* Says a text, by default who says it: `deltas` pieces with `pause` ms between them, `wait` ms before the first. The
 * prompt that is not cached costs `perToken` ms for each of its tokens. */
export function talk({ text, deltas = 3, pause: between = 0, wait = 0, perToken = 0, until: gate } = {}) {
    return ({ body, path, use }, rig) => {
        const said = text ?? `${rig.name} says ${Array.from({ length: Math.max(0, deltas - 2) }, (_, i) => i).join(' ')}`.trim();
        const before = [wait + perToken * (use.prompt - use.cached), ...(gate === undefined ? [] : [gate])];
        if (path === '/v1/embeddings')
            return { ...embedding(), before };
        const isChat = path === '/v1/chat/completions';
        if (!body.stream)
            return { ...(isChat ? wholeChat : wholeCompletion)(said, use), before };
        const pieces = words(said).flatMap((word, i) => [i === 0 ? 0 : between, ...frames(isChat ? chunk({ content: word }) : completionChunk(word))]);
        return { ...stream([...pieces, (isChat ? chatEnd : completionEnd)(use, words(said).length)]), before, said };
    };
}

/* Says the first delta and then waits for the promise, or forever. */
export const heldAfterFirst = (gate = HANG) => ({ use }, rig) =>
    stream([frames(chunk({ content: rig.name }))[0], gate, chatEnd(use, 1)]);

/* ---- one server ---- */

const SIGNS = { 'llama.cpp': { server: 'llama.cpp' }, vllm: { server: 'uvicorn' }, plain: {} };

/* A model as the list of such a server has it. */
const LISTED = {
    'llama.cpp': (id, window) => ({ id, object: 'model', created: 1767225600, owned_by: 'llamacpp', meta: { n_ctx: window, n_ctx_train: 131072 } }),
    vllm: (id, window) => ({ id, object: 'model', created: 1767225600, owned_by: 'vllm', root: id, parent: null, max_model_len: window }),
    plain: (id) => ({ id, object: 'model' }),
};

let rigsStarted = 0;

/* An address that nobody else has on this machine, so that a port that was given up for a while is not taken by
 * somebody else's connection. */
const ownHost = () => `127.${64 + ((process.pid >> 8) & 63)}.${process.pid & 255}.${1 + (rigsStarted++ % 250)}`;

class Rig {
    rounds = [];
    checks = [];
    health = 'ok'; /* or loading, silent, missing */
    #up;
    #moods = [];
    #usual = talk();
    #ledger;

    constructor(name, { kind = 'plain', models = ['m'], window = 32768, limit = Infinity, slots, cache, ledger } = {}) {
        Object.assign(this, { name, kind, models, window, limit, slots });
        this.cache = cache ?? (slots === undefined ? new NoCache() : new SlotCache({ slots }));
        this.running = new Running(name, limit);
        this.#ledger = ledger;
    }

    async start() {
        this.#up = await startUpstream(undefined, ownHost());
        this.#up.probed = (seen) => this.#look(seen);
        this.#up.always((seen) => (ASKS_MODEL.test(seen.path) && seen.method === 'POST' ? this.#answer(seen) : this.#look(seen)));
        return this;
    }

    get url() {
        return this.#up.url;
    }

    get host() {
        return this.#up.host;
    }

    /* How many requests there were, of whatever kind, that the gateway did not ask for itself. */
    get served() {
        return this.#up.served;
    }

    get questions() {
        return this.rounds.map(({ question }) => question);
    }

    get load() {
        return this.rounds.reduce((sum, { use }) => sum + (use?.prompt ?? 0), 0);
    }

    usually(how) {
        this.#usual = how;
        return this;
    }

    /* Its next `times` rounds; those that follow it are behind what was said before. */
    behave(how, times = Infinity) {
        this.#moods.push({ how, left: times });
        return this;
    }

    /* As it usually is, from the next round on. */
    recover() {
        this.#moods = [];
        this.health = 'ok';
        return this;
    }

    /* As a server that reads its model: every path says so, until it recovers. */
    startLoading() {
        this.health = 'loading';
        return this.behave(FAULTS.loading());
    }

    /* Forgets what it was asked, and how it was to behave. */
    reset() {
        this.rounds = [];
        this.checks = [];
        this.#usual = talk();
        return this.recover();
    }

    kill() {
        return this.#up.kill();
    }

    revive() {
        return this.#up.revive();
    }

    close() {
        return this.#up.close();
    }

    /* The i-th round, as soon as it is there. */
    async round(i = 0, ms = 10_000) {
        await until(() => this.rounds.length, (n) => n > i, ms);
        return this.rounds[i];
    }

    #mood() {
        while (this.#moods.length > 0 && this.#moods[0].left === 0)
            this.#moods.shift();
        if (this.#moods.length === 0)
            return this.#usual;
        this.#moods[0].left--;
        return this.#moods[0].how;
    }

    /* ---- what it says */

    #look({ path }) {
        this.checks.push(path);
        const headers = SIGNS[this.kind];
        if (this.health === 'silent')
            return { before: [HANG] };
        if (this.health === 'loading')
            return FAULTS.loading();
        if (path === '/v1/models')
            return json(200, { object: 'list', data: this.models.map((id) => LISTED[this.kind](id, this.window)) }, headers);
        /* vLLM's /health has no body, that of llama.cpp says how it feels. */
        if (path === '/health' && this.health === 'ok' && this.kind !== 'plain')
            return this.kind === 'vllm' ? { headers, pieces: [] } : json(200, { status: 'ok' }, headers);
        if (path === '/props' && this.kind === 'llama.cpp')
            return json(200, { total_slots: this.slots ?? 1, default_generation_settings: { n_ctx: this.window }, model_path: '/models/m.gguf' }, headers);
        if (path === '/version' && this.kind === 'vllm')
            return json(200, { version: '0.11.0' }, headers);
        return json(404, { detail: 'Not Found' }, headers);
    }

    async #answer({ path, body, raw, headers, closed }) {
        const round = { rig: this, path, body, raw, headers, question: questionOf(body), at: performance.now(), isLeft: false, isOver: false };
        const over = () => this.#end(round);
        this.rounds.push(round);
        this.running.enter(round);
        this.#ledger?.enter(round);
        closed.then(() => {
            round.isLeft = !round.isOver;
            over();
        });
        const how = this.#mood();
        round.isOdd = how !== this.#usual;
        const prompt = promptOf(body ?? {});
        round.use = typeof how === 'function' ? await this.cache.begin(prompt) : await UNREAD.begin(prompt);
        if (round.isOver)
            round.use.end();
        const answer = typeof how === 'function' ? await how(round, this) : how;
        round.said = answer.said;
        return this.#counted(answer, over);
    }

    /* The answer, with the end of the round before its last piece. */
    #counted(answer, over) {
        const { pieces = [] } = answer;
        if (typeof pieces.at(-1) === 'symbol')
            return answer;
        return { ...answer, headers: { ...SIGNS[this.kind], ...answer.headers }, pieces: [...pieces.slice(0, -1), over, ...pieces.slice(-1)] };
    }

    #end(round) {
        if (round.isOver)
            return;
        round.isOver = true;
        round.use?.end(round.said);
        this.running.leave(round);
        this.#ledger?.leave(round);
    }
}

/* ---- several ---- */

/* Rigs by their names, as `specs` has them, and `list`; they close when the test is over. `turns: true` has the rigs
 * see to it that no turn asks two of them at once. */
export async function startRigs(t, specs, { turns = false } = {}) {
    const ledger = turns ? new Ledger() : undefined;
    const list = await Promise.all(Object.entries(specs).map(([name, spec]) => new Rig(name, { ...spec, ledger }).start()));
    t.after(() => Promise.all(list.map((rig) => rig.close())));
    return Object.assign(Object.create({
        list,
        get rounds() {
            return list.flatMap(({ rounds }) => rounds).sort((a, b) => a.at - b.at);
        },
        reset: () => list.forEach((rig) => rig.reset()),
        counts: () => Object.fromEntries(list.map(({ name, rounds }) => [name, rounds.length])),
        async check() {
            const faults = await Promise.all([...list.map(({ running }) => running), ...(ledger ? [ledger] : [])].map((one) => one.settle()));
            assert.deepEqual(faults.flat(), []);
        },
    }), Object.fromEntries(list.map((rig) => [rig.name, rig])));
}

/* ---- figures ---- */

/* The greatest share beside the mean one; 1 when all have the same. */
export const imbalance = (numbers) => Math.max(...numbers) / (numbers.reduce((sum, n) => sum + n, 0) / numbers.length);

/* Of all tokens of prompts, how many were known already. */
export function hitRate(rounds) {
    const sum = (what) => rounds.reduce((all, { use }) => all + use[what], 0);
    return sum('cached') / sum('prompt');
}
