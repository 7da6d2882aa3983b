// Package config reads the file in which a person configures their daemon, $SUBSTRAT_HOME/substrat.toml, and answers
// questions on it.
//
// Reading is strict: a key that is not known, a value of the wrong type or out of range is an error with the file and the
// line, so that a typing mistake never means "no limit". A file that is not there means the defaults. The package never
// writes, never watches, and knows neither agents nor teams: it is asked with their paths and roles.
//
// # Patterns
//
// An agent pattern is a path: "*" stands for one name or a part of one, "**" for any number of names, also none. "lead/**"
// is lead and everything under it, "lead/*" its children, "*/coder" the coder of every team, "**" everybody.
// A text pattern (commands, files) has "*" for any text. Both match the whole.
package config
