// Package workspace makes, compares, merges and removes the directories that agents work in, and reads what a shell left
// behind in one. It owns what is done on the host: directories, git worktrees, the calls of git. It never decides who may
// do so, keeps no state between calls beyond a lock for each repository, and starts no agent.
//
// A repository that an agent could write to is hostile. Git runs programs that a repository's configuration names: hooks,
// core.fsmonitor, filter drivers (clean, smudge, process), merge drivers, diff.external and textconv, gpg, the upload-pack
// of a promisor remote, and whatever the configuration of a submodule says. Some of these have names of the author's
// choosing, so they cannot be switched off one by one. Hence two ways to call git:
//
//   - Calls that read or move refs (see repository) run on the repository itself. None of them touches an index or a file
//     of a work tree, and hooks and transports are switched off from outside.
//   - Calls that read or write files (see shadow) run on a git directory of our own, which borrows the objects and a copy
//     of the index of the repository. Its configuration is written here; only settings on a short list are taken over.
//     So no driver and no filter is defined, whatever .gitattributes says. The price: files that a filter stores
//     elsewhere (large-file storage) are checked out as they are in the repository.
//
// The .git file in an agent's worktree is never followed: the state names the repository, and the repository knows its
// worktrees.
package workspace
