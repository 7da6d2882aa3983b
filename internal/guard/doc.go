// Package guard knows which files of a workspace a program on the user's machine would obey later: configuration, rules and
// hooks of agent CLIs, git's hooks and configuration, what shells and editors run when a directory is opened. It owns the
// table of these files, the list of what to mount over them while an agent runs (Places), and the comparison that tells that
// one was written all the same (Take, Compare). It never mounts anything, never decides what becomes of a finding, runs no
// program, and never follows a link out of the workspace.
//
// There are three ways to hold such a file. Mounts hold at the top of a workspace and in the git directory there, because
// what a mount sits on cannot be renamed or removed from inside, nor what it lies in when that is a mount too. Deeper files
// are only watched: a directory above them can be renamed away with everything in it. What people and agents change every
// day, such as AGENTS.md, is only watched everywhere.
package guard
