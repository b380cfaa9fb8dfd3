/* page.mjs -- docs/conformance.md, as the results say. */
import { readFileSync } from 'node:fs';

const knownFailures = readFileSync(new URL('known-failures.yml', import.meta.url), 'utf8').match(/(?<=^ +- )\S+/gm);

const row = ({ id, title, passed }) => `| \`${id}\` | ${title} | ${passed ? 'passes' : '**fails**'} |`;

export const page = (results) => `# Conformance

Made by \`make conformance\`, which fails when a result is another one; \`UPDATE=1 make conformance\`
writes it anew.

## Open Responses

The scenarios of the compliance suite of [Open Responses](https://www.openresponses.org), release
2026-04-24, against a gateway with its default settings, an API key and a scripted upstream. Every
event, object and error frame is judged by the schemas of that release. ${results.filter(({ passed }) => passed).length} of ${results.length} pass.

| Scenario | What it asks for | Result |
|---|---|---|
${results.map(row).join('\n')}

## Model Context Protocol

The client scenarios of the package \`@modelcontextprotocol/conformance\` pass for the revisions
2025-11-25 and 2026-07-28, but for these, which ask for OAuth or for elicitation:

${knownFailures.map((name) => `\`${name}\``).join(', ')}.
`;
