// Package stored is what the readers of conversations have in common that CLIs keep as JSON in files: lines that may be torn,
// sessions to choose from, and tool calls under the names that everybody uses.
//
// It opens files for reading only, bounds what it takes of them, and knows no CLI.
package stored
