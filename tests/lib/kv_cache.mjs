/* kv_cache.mjs -- what a server still knows of the prompts it has read, so that hit rates can be compared.
 *
 *     const cache = new BlockCache({ tokens: 40_000 });       as vLLM: blocks, the least recently used go
 *     const cache = new SlotCache({ slots: 2 });              as llama.cpp: each slot has the prompt it read last
 *     const use = await cache.begin(promptOf(body));          { prompt, cached }, in tokens
 *     use.end('what the model said');
 *
 * Four characters of the prompt are a token, counted from its beginning, so that equal beginnings have equal
 * tokens. What is modelled is which beginnings are found again; what a running request holds can be pushed out.
 */
const CHARACTERS = 4;

export const tokensOf = (text) => Math.ceil(text.length / CHARACTERS);

const partText = (content) => (typeof content === 'string' ? content : JSON.stringify(content ?? ''));

/* A request as a chat template renders it: tools in front, then the messages, then whose turn it is. */
export function promptOf({ messages = [], tools, prompt }) {
    if (prompt !== undefined)
        return String(prompt);
    const said = messages.map(({ role, content, tool_calls }) => `<|${role}|>${partText(content)}${tool_calls ? JSON.stringify(tool_calls) : ''}<|end|>`);
    return `${tools?.length > 0 ? JSON.stringify(tools) : ''}${said.join('')}<|assistant|>`;
}

/* vLLM's automatic prefix caching (its design document "Automatic Prefix Caching"): a full block of 16 tokens is
 * found by its own tokens and those before it. Blocks are freed from the end of a request, so that of a prompt
 * the end goes first. One token at least is computed, so the last block of a prompt that is known whole is read again. */
export class BlockCache {
    #known = new Map(); /* block behind its predecessor -> its number; in the order of their use */
    #next = 1;

    constructor({ tokens, block = 16 }) {
        this.capacity = Math.floor(tokens / block);
        this.block = block;
    }

    #keysOf(text) {
        const size = this.block * CHARACTERS;
        return Array.from({ length: Math.floor(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size));
    }

    /* Numbers of the blocks of the text, from the first on, as far as they are known. */
    #find(blocks) {
        const found = [];
        for (let last = 0; found.length < blocks.length; found.push(last)) {
            last = this.#known.get(`${last}:${blocks[found.length]}`);
            if (last === undefined)
                break;
        }
        return found;
    }

    /* The text is known from now on, its end least of all. */
    #keep(text) {
        const blocks = this.#keysOf(text);
        const chain = [];
        for (let i = 0, last = 0; i < blocks.length; i++) {
            const key = `${last}:${blocks[i]}`;
            last = this.#known.get(key) ?? this.#next++;
            chain.push([key, last]);
        }
        for (const [key, number] of chain.reverse()) {
            this.#known.delete(key);
            this.#known.set(key, number);
        }
        for (const key of this.#known.keys()) {
            if (this.#known.size <= this.capacity)
                break;
            this.#known.delete(key);
        }
    }

    async begin(text) {
        const prompt = tokensOf(text);
        const blocks = this.#keysOf(text);
        const most = Math.floor((prompt - 1) / this.block);
        const cached = Math.min(this.#find(blocks).length, most) * this.block;
        this.#keep(text);
        return { prompt, cached, end: (answer = '') => this.#keep(text + answer) };
    }
}

function commonLength(a, b) {
    const most = Math.min(a.length, b.length);
    let n = 0;
    while (n < most && a[n] === b[n])
        n++;
    return n;
}

/* llama.cpp's server, tools/server, get_available_slot: of the slots that are free, the one whose prompt has the
 * greatest part of the new one in front, when that is more than --slot-prompt-similarity (0.10); else the one that was
 * used longest ago. Without a free slot the request waits (pull request 9056). Its second cache in main memory is
 * off here, as with --cache-ram 0. */
export class SlotCache {
    #slots;
    #waiting = [];
    #clock = 0;

    constructor({ slots, similarity = 0.1 }) {
        this.#slots = Array.from({ length: slots }, () => ({ text: '', usedAt: 0, busy: false }));
        this.similarity = similarity;
    }

    #choose(text) {
        const free = this.#slots.filter(({ busy }) => !busy);
        const likes = free.map((slot) => ({ slot, part: commonLength(slot.text, text) / Math.max(1, text.length) }));
        const best = likes.reduce((a, b) => (b.part > a.part ? b : a));
        return best.part > this.similarity ? best.slot : free.reduce((a, b) => (b.usedAt < a.usedAt ? b : a));
    }

    async begin(text) {
        while (this.#slots.every(({ busy }) => busy))
            await new Promise((done) => this.#waiting.push(done));
        const slot = this.#choose(text);
        const prompt = tokensOf(text);
        const cached = Math.min(Math.floor(commonLength(slot.text, text) / CHARACTERS), prompt - 1);
        Object.assign(slot, { busy: true, text });
        return { prompt, cached, end: (answer = '') => this.#free(slot, text + answer) };
    }

    #free(slot, text) {
        Object.assign(slot, { busy: false, text, usedAt: ++this.#clock });
        this.#waiting.shift()?.();
    }
}

/* Keeps nothing. */
export class NoCache {
    async begin(text) {
        return { prompt: tokensOf(text), cached: 0, end() {} };
    }
}
