package sandbox

// Profile is what one process may see and do. All paths are absolute and clean.
type Profile struct {
	// Workspace is a directory of the host, shown at its own path.
	Workspace string
	// WorkspaceReadOnly shows it read-only.
	WorkspaceReadOnly bool
	// WorkspaceConfig are directories shown read-only inside the workspace, over whatever is there. At is required and
	// lies inside Workspace.
	WorkspaceConfig []Bind
	// Home is the private home, always writable. The zero value means no home.
	Home Bind
	// Binds are further host paths, read-only unless Write.
	Binds []Bind
	// Links are symbolic links made in the sandbox.
	Links []Link
	// Etc is a directory that PrepareEtc made, shown as /etc. Empty means that the files are mounted one by one, which is
	// slower.
	Etc string
	// HostNetwork keeps the host's network. Otherwise there is only an empty loopback, and abstract sockets are gone.
	HostNetwork bool
	// Door keeps the network that bwrap is started in, which the caller made: a namespace with an egress door. Names are asked of its
	// loopback.
	Door bool
	// Set and Unset change the environment inside. They do not reach bwrap itself, which a variable such as LD_PRELOAD
	// would run code in, outside.
	Set   map[string]string
	Unset []string
	// LastStep, where set, gives what is to run in place of the argv that it is given: a program inside that checks the mounts, takes
	// rights away and becomes the process. Write are the places that can be written. Without it what runs is ours, not an agent.
	LastStep func(mounts []Mounted, write, argv []string) ([]string, error)
	// Nested says that the process makes sandboxes of its own.
	Nested bool
	// TmpBytes is the size of each private tmpfs, 0 for the kernel's default.
	TmpBytes int64
	// Terminal keeps the session of whoever starts the sandbox, so that the process has that one's terminal and job control. It is for a
	// person's shell behind a LastStep that refuses to push input back into terminals; an agent never has it.
	Terminal bool
	// Dir is the working directory inside; empty means the workspace.
	Dir string
}

// Bind shows a host path inside the sandbox.
type Bind struct {
	Host string
	// At is where the process sees it; empty means at its own path.
	At    string
	Write bool
	// Optional binds are left out when Host does not exist.
	Optional bool
}

// Mounted is what the profile put at a place, as it was looked at: Dev and Ino are the file or directory.
type Mounted struct {
	At       string
	ReadOnly bool
	Dev, Ino uint64
}

// Link is a symbolic link at At that points to Target. Target may be relative.
type Link struct {
	Target, At string
}

func (b Bind) at() string {
	if b.At == "" {
		return b.Host
	}
	return b.At
}
