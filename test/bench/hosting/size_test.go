package hosting

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var cold = flag.Bool("cold", false, "also measure builds with an empty build cache, which take minutes")

const most = 1.1

// BenchmarkSize compares the first program of docs/author/hosting.md with the same webhook on
// controller-runtime: packages outside the standard library, size of the binary and, with -cold,
// duration of a build with an empty cache.
func BenchmarkSize(b *testing.B) {
	ours, theirs := measure(b, quickStart(b)), measure(b, "./controllerruntime")
	for unit, value := range ours {
		b.ReportMetric(value, unit+":hosting")
		b.ReportMetric(theirs[unit], unit+":controller-runtime")
		ratio := value / theirs[unit]
		b.ReportMetric(ratio, "ratio:"+unit)
		if ratio > most {
			b.Errorf("pkg/hosting has %.2f times the %s of controller-runtime, the limit is %.1f", ratio, unit, most)
		}
	}
	b.ReportMetric(0, "ns/op")
}

func measure(b *testing.B, program string) map[string]float64 {
	b.Helper()
	binary := filepath.Join(b.TempDir(), "program")
	goCommand(b, "", "build", "-o", binary, program)
	info, err := os.Stat(binary)
	if err != nil {
		b.Fatal(err)
	}
	packages := 0
	for name := range strings.Lines(goCommand(b, "", "list", "-deps", program)) {
		if strings.Contains(name, ".") { // packages of the standard library have no dot
			packages++
		}
	}
	values := map[string]float64{"MB": float64(info.Size()) / 1e6, "packages": float64(packages)}
	if *cold {
		began := time.Now()
		goCommand(b, b.TempDir(), "build", "-o", binary, program)
		values["build-s"] = time.Since(began).Seconds()
	}
	return values
}

func quickStart(b *testing.B) string {
	b.Helper()
	page, err := os.ReadFile("../../../docs/author/hosting.md")
	if err != nil {
		b.Fatal(err)
	}
	_, rest, opened := strings.Cut(string(page), "```go\n")
	code, _, closed := strings.Cut(rest, "```\n")
	if !opened || !closed {
		b.Fatal("docs/author/hosting.md has no Go program")
	}
	file := filepath.Join(b.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
		b.Fatal(err)
	}
	return file
}

func goCommand(b *testing.B, cache string, arguments ...string) string {
	b.Helper()
	command := exec.CommandContext(b.Context(), "go", arguments...)
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-buildvcs=false")
	if cache != "" {
		command.Env = append(command.Env, "GOCACHE="+cache)
	}
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		b.Fatalf("%s: %v", command, err)
	}
	return string(output)
}
