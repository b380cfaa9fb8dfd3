/* opencode.mjs -- opencode as its users run it, away from their files.
 *
 * It talks to the gateway by the AI SDK's Responses provider, which is part of the program. That comes
 * without opencode-ai, which only chooses it: `npm ci` wants all twelve that this names, for every
 * system and processor, in the lock file, and registries that keep what was asked for lack some.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Desk as ClientDesk } from '../desk.mjs';

const OPENCODE = fileURLToPath(new URL('node_modules/opencode-linux-x64-baseline/bin/opencode', import.meta.url));

const configuration = (base) => ({
    autoupdate: false,
    share: 'disabled',
    model: 'antiphon/test-model',
    enabled_providers: ['antiphon'],
    provider: {
        antiphon: {
            npm: '@ai-sdk/openai',
            name: 'Antiphon',
            options: { baseURL: `${base}/v1`, apiKey: 'sk-test' },
            models: { 'test-model': { name: 'Test', reasoning: true, tool_call: true, limit: { context: 128_000, output: 8_192 } } },
        },
    },
});

/* All that opencode fetches on its own is off: its next version, its list of models, language servers,
 * and the types of its plugins, which it installs from npm beside the configuration. */
const QUIET = {
    OPENCODE_DISABLE_AUTOUPDATE: 'true',
    OPENCODE_DISABLE_MODELS_FETCH: 'true',
    OPENCODE_DISABLE_LSP_DOWNLOAD: 'true',
    OPENCODE_DISABLE_DEFAULT_PLUGINS: 'true',
    OPENCODE_DISABLE_PROJECT_CONFIG: 'true',
    npm_config_offline: 'true',
};

const saidBy = (events) => events.filter(({ type }) => type === 'text').map(({ part }) => part.text);

export class Desk extends ClientDesk {
    /* See task.mjs. */
    tools = {
        write: (file, content) => ({ name: 'write', args: { filePath: this.path(file), content } }),
        read: (file) => ({ name: 'read', args: { filePath: this.path(file) } }),
        shell: (command) => ({ name: 'bash', args: { command, description: 'Does its part' } }),
    };

    /* `opencode run` to its end, see Desk.run(), and the `texts` it showed. */
    async ask(prompt, { goesOn = false } = {}) {
        const { origin } = await this.tap;
        this.keep('config/opencode/opencode.json', configuration(origin));
        const folders = Object.fromEntries(['CONFIG', 'DATA', 'CACHE', 'STATE'].map((kind) => [`XDG_${kind}_HOME`, join(this.home, kind.toLowerCase())]));
        const got = await this.run(OPENCODE, ['run', '--format', 'json', '--auto', ...(goesOn ? ['--continue'] : []), prompt], { ...folders, ...QUIET });
        return { ...got, texts: saidBy(got.events) };
    }
}
