/* state_model.test.mjs -- any order of requests gives what a simple model says.
 *
 * A few hundred random steps: responses of every kind, conversations, references,
 * deletions, restarts. Beside them runs a model that keeps all items in arrays and
 * copies what a response has seen; it says which messages each request brings to
 * the upstream, what can be continued, and what is listed. ANTIPHON_TEST_SEED
 * plays one run again, ANTIPHON_TEST_STEPS makes it longer. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { Captures } from '../lib/check.mjs';
import { startDaemon } from '../lib/daemon.mjs';
import { SEED, dice } from '../lib/dice.mjs';
import { Api, NOT_FOUND, NO_CONVERSATION, NO_ITEM, NO_PARENT, messagesOf, reference, textOf, user } from '../lib/state.mjs';
import { CLOSE, chunk, frames, startUpstream, stream, textStream } from '../lib/upstream.mjs';

const STEPS = Number(process.env.ANTIPHON_TEST_STEPS ?? 300);
const captures = new Captures();

/* What the upstream is asked for these items: answers in a row are one message. */
function asked(items) {
    const messages = [];
    for (const { role, text } of items) {
        const last = messages.at(-1);
        if (role === 'assistant' && last?.role === role)
            last.content += `\n${text}`;
        else
            messages.push({ role, content: text });
    }
    return messages;
}

/* One run. Items are { id, role, text }; a response has what came before it, its
 * input and its output, and `root`: the conversation in which its chain began, if
 * any. A conversation has its items. */
class Run {
    responses = [];
    conversations = [];
    #count = 0;

    constructor(both, seed) {
        this.both = both;
        this.api = new Api(both, captures);
        this.below = dice(seed);
    }

    pick(list) {
        return list[this.below(list.length)];
    }

    maybe(n) {
        return this.below(n) === 0;
    }

    new(what) {
        return `${what} ${++this.#count}`;
    }

    get living() {
        return this.responses.filter((response) => !response.isDeleted);
    }

    get talks() {
        return this.conversations.filter((conversation) => !conversation.isDeleted);
    }

    /* Items that can be referred to. */
    get items() {
        return [...this.living.flatMap((r) => [...r.input, ...r.output]), ...this.talks.flatMap((c) => c.items)];
    }

    async respond() {
        const parent = this.maybe(2) ? this.pick(this.living.filter((r) => r.status !== 'failed' && !r.isBlurred)) : undefined;
        const talk = !parent && this.maybe(2) ? this.pick(this.talks) : undefined;
        const before = parent ? [...parent.before, ...parent.fresh, ...parent.output] : [...talk?.items ?? []];
        const isNew = (item) => !before.some(({ id }) => id === item.id);
        const others = talk ? this.items : this.items.filter(isNew); /* a conversation takes an id once */
        const refs = this.maybe(4) && others.length > 0 ? [this.pick(others)] : [];
        const fresh = Array.from({ length: 1 + this.below(2) }, () => ({ role: 'user', text: this.new('question') }));
        const ending = this.pick(['completed', 'completed', 'completed', 'incomplete', 'failed']);
        const answer = this.new('answer');
        const request = {
            input: [...refs.map((item) => reference(item.id)), ...fresh.map((item) => user(item.text))],
            previous_response_id: parent?.id, conversation: talk?.id, store: !this.maybe(10),
        };
        this.both.up.next(ending === 'failed' ? stream([...frames(chunk({ content: answer })), CLOSE])
            : textStream(answer, { finish: ending === 'incomplete' ? 'length' : 'stop' }));
        const made = ending === 'failed' || this.maybe(2) ? (await this.api.stream(request)).response : await this.api.respond(request);
        assert.equal(made.status, ending);
        assert.deepEqual(messagesOf(this.both.up), asked([...before, ...refs.filter(isNew), ...fresh]));
        if (request.store)
            await this.keep(made, { before, refs, talk, root: talk ?? parent?.root });
        else
            await this.api.refused('GET', `responses/${made.id}`, undefined, NOT_FOUND);
    }

    async keep(made, { before, refs, talk, root }) {
        const itemOf = (item) => ({ id: item.id, role: item.role, text: textOf(item) });
        const input = (await this.api.list(`responses/${made.id}/input_items?order=asc&limit=100`)).map(itemOf);
        assert.deepEqual(input.slice(0, refs.length).map((item) => item.text), refs.map((item) => item.text));
        const fresh = input.filter((item) => !talk?.items.some(({ id }) => id === item.id));
        const kept = { ...made, made, before, input, fresh, output: made.output.map(itemOf), root };
        this.responses.push(kept);
        if (made.status !== 'failed')
            talk?.items.push(...kept.fresh, ...kept.output);
    }

    async converse() {
        const made = await this.api.make('conversations', { items: Array.from({ length: this.below(3) }, () => user(this.new('opening'))) });
        const items = await this.api.list(`conversations/${made.id}/items?order=asc`);
        this.conversations.push({ id: made.id, items: items.map((item) => ({ id: item.id, role: 'user', text: textOf(item) })) });
    }

    async add() {
        const talk = this.pick(this.talks);
        const { data } = await this.api.make(`conversations/${talk.id}/items`, { items: [user(this.new('aside'))] });
        talk.items.push({ id: data[0].id, role: 'user', text: textOf(data[0]) });
    }

    async deleteResponse() {
        const response = this.pick(this.living);
        await this.api.remove(`responses/${response.id}`);
        response.isDeleted = true;
        await this.api.refused('GET', `responses/${response.id}`, undefined, NOT_FOUND);
        await this.api.turnedAway({ previous_response_id: response.id }, NO_PARENT);
        const [item] = response.output;
        if (!this.items.some(({ id }) => id === item.id))
            await this.api.turnedAway({ input: [reference(item.id)] }, NO_ITEM);
    }

    /* It blurs what the conversation's responses, and those that continue them, have
     * seen: the contract does not say whether they still see the item. */
    async deleteItem() {
        const talk = this.pick(this.talks);
        const item = this.pick(talk.items);
        if (item === undefined)
            return;
        await this.api.remove(`conversations/${talk.id}/items/${item.id}`);
        talk.items = talk.items.filter((other) => other !== item);
        for (const response of this.responses)
            response.isBlurred ||= response.root === talk;
    }

    async deleteConversation() {
        const talk = this.pick(this.talks);
        await this.api.remove(`conversations/${talk.id}`);
        talk.isDeleted = true;
        await this.api.turnedAway({ conversation: talk.id }, NO_CONVERSATION);
    }

    /* Whether anything else has changed. */
    async look() {
        const response = this.pick(this.living);
        if (response) {
            assert.deepEqual(await this.api.read(`responses/${response.id}`), response.made);
            const listed = await this.api.list(`responses/${response.id}/input_items?order=asc&limit=100`);
            assert.deepEqual(listed.map((item) => [item.id, textOf(item)]), response.input.map((item) => [item.id, item.text]));
        }
        const talk = this.pick(this.talks);
        if (talk) {
            const { data } = await this.api.read(`conversations/${talk.id}/items?order=asc&limit=100`);
            assert.deepEqual(data.map(textOf), talk.items.slice(0, 100).map((item) => item.text));
        }
    }
}

test('a random life of responses and conversations goes as the model says', async (t) => {
    t.diagnostic(`ANTIPHON_TEST_SEED=${SEED}`);
    const dir = mkdtempSync(join(tmpdir(), 'antiphon-model-'));
    const both = { up: await startUpstream() };
    const start = async () => (both.daemon = await startDaemon({
        upstream: both.up.url, args: ['--store', `sqlite:${join(dir, 'antiphon.db')}`, '--no-store-sync', '--early-error-window', '0'],
    }));
    t.after(async () => {
        await both.daemon?.stop();
        await both.up.close();
        rmSync(dir, { recursive: true });
    });
    await start();
    const run = new Run(both, SEED);
    await run.converse();
    await run.respond();
    for (let step = 0; step < STEPS; step++) {
        const chance = run.below(100);
        if (chance < 60)
            await run.respond();
        else if (chance < 68 || run.talks.length === 0)
            await run.converse();
        else if (chance < 76)
            await run.add();
        else if (chance < 88)
            await (run.living.length > 0 && run.deleteResponse());
        else if (chance < 93)
            await run.deleteItem();
        else if (chance < 98)
            await run.deleteConversation();
        else
            await both.daemon.stop().then(start);
        await run.look();
    }
});

captures.judge(test);
