package sandbox

// Places are what a process needs where nothing can be mounted for it: paths of the host, without symbolic links but for the
// system's own.
type Places struct {
	Read, Write []string
	// Dir is where it works.
	Dir string
}
