package bundle

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"
)

// What reading 1 MiB of a bundle may need.
const (
	maxInput  = 1 << 20
	maxMemory = 64 << 20
	maxCPU    = 2 * time.Second
)

// needs fails the test where a function needs more memory or processor time than reading a bundle may.
func needs(t *testing.T, do func()) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // so that what is live is known at each moment
	runtime.GC()
	before, ended, peak := live(), make(chan struct{}), make(chan uint64)
	go func() {
		most := uint64(0)
		for tick := time.NewTicker(time.Millisecond); ; {
			select {
			case <-tick.C:
				most = max(most, live())
			case <-ended:
				peak <- most
				return
			}
		}
	}()
	start := processorTime(t)
	do()
	took := processorTime(t) - start
	close(ended)
	if most := <-peak; most > before+maxMemory {
		t.Errorf("it needs %d MiB", (most-before)>>20)
	}
	if took > maxCPU {
		t.Errorf("it takes %s of a processor", took)
	}
}

func live() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// FuzzTexts reads a text as each file that a bundle has: none needs more than a bundle may.
func FuzzTexts(f *testing.F) {
	for _, c := range complexTexts {
		f.Add([]byte(c.text))
	}
	f.Add([]byte("apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: a}\nspec: {webhookdefinitions: [" + strings.Repeat("{type: a, rules: [{a: b}]},", 5000) + "]}\n"))
	f.Add([]byte("dependencies: [" + strings.Repeat("{type: olm.constraint, value: {cel: {rule: 'true'}}},", 5000) + "]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > maxInput {
			return
		}
		for _, name := range []string{"manifests/a.yaml", annotationsFile, "metadata/dependencies.yaml", "metadata/properties.yaml"} {
			needs(t, func() { InspectFS(fstest.MapFS{name: {Data: text}}, "fuzz") })
		}
	})
}

// FuzzLayout reads an OCI layout of whatever content.
func FuzzLayout(f *testing.F) {
	const digest = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
	f.Add([]byte(`{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","size":2,"digest":"`+digest+`"}]}`), []byte(`{}`))
	f.Add([]byte(`{"manifests":[{"mediaType":"application/vnd.oci.image.index.v1+json","size":2,"digest":"`+digest+`"}]}`), []byte(`{"manifests":[]}`))
	f.Add([]byte(`{`), []byte(`[`))
	f.Fuzz(func(t *testing.T, index, blob []byte) {
		if len(index)+len(blob) > maxInput {
			return
		}
		dir := t.TempDir()
		must(t, os.MkdirAll(filepath.Join(dir, "blobs", "sha256"), 0o700))
		for name, text := range map[string][]byte{
			"oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`), "index.json": index, "blobs/sha256/" + strings.TrimPrefix(digest, "sha256:"): blob,
		} {
			must(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
		}
		needs(t, func() { _, _ = Open(t.Context(), dir, Registry{}) })
	})
}
