package memory

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFree(t *testing.T) {
	const meminfo = "MemTotal:       16000 kB\nMemFree:        100 kB\nMemAvailable:   8000 kB\nBuffers: 5 kB\n"
	for _, test := range []struct {
		name  string
		files map[string]string
		want  uint64
		ok    bool
	}{
		{"no such file", nil, 0, false},
		{"no such line", map[string]string{"proc/meminfo": "MemTotal: 5 kB\n"}, 0, false},
		{"no number", map[string]string{"proc/meminfo": "MemAvailable: much kB\n"}, 0, false},
		{"too large a number", map[string]string{"proc/meminfo": "MemAvailable: 18446744073709551615 kB\n"}, 0, false},
		{"the machine", map[string]string{"proc/meminfo": meminfo}, 8000 * 1024, true},
		{"an unlimited group", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a\n",
			"cg/a/memory.max": "max\n", "cg/a/memory.current": "500\n"}, 8000 * 1024, true},
		{"its group", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "1:name=x:/y\n0::/a/b\n",
			"cg/a/b/memory.max": "1000\n", "cg/a/b/memory.current": "600\n"}, 400, true},
		{"caches are given back", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a\n", "cg/a/memory.max": "1000\n",
			"cg/a/memory.current": "600\n", "cg/a/memory.stat": "anon 9\ninactive_file 250\n"}, 650, true},
		{"a group above", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n", "cg/a/memory.max": "1000\n",
			"cg/a/memory.current": "900\n", "cg/a/b/memory.max": "800\n", "cg/a/b/memory.current": "100\n"}, 100, true},
		{"slowed before it is refused", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a\n", "cg/a/memory.max": "1000\n",
			"cg/a/memory.high": "700\n", "cg/a/memory.current": "600\n"}, 100, true},
		{"over its limit", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a\n", "cg/a/memory.max": "500\n",
			"cg/a/memory.current": "600\n"}, 0, true},
		{"the root group of a container", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "cg/memory.max": "500\n",
			"cg/memory.current": "100\n"}, 400, true},
		{"a path that leads out", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/../../a\n", "memory.max": "1\n",
			"memory.current": "1\n"}, 8000 * 1024, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			write(t, root, test.files)
			got, ok := free(filepath.Join(root, "proc"), filepath.Join(root, "cg"))
			if got != test.want || ok != test.ok {
				t.Errorf("got %d %v, want %d %v", got, ok, test.want, test.ok)
			}
		})
	}
}

func TestThisMachine(t *testing.T) {
	n, ok := Free()
	if ok != (runtime.GOOS == "linux") || ok && n < 1<<20 {
		t.Errorf("%d bytes, %v", n, ok)
	}
}
